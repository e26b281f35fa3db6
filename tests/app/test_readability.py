"""The pages that everyone reads are written in plain English: short sentences, short words."""

import re
import statistics
from collections.abc import Iterator
from typing import Any

import pyphen
import pytest
import screen as on

from ui import menu

PAGES = [page.name for page in menu.pages() if page.section != "Reference"]  # tests/app/test_learn.py judges the course
WRITTEN = ("title", "markdown", "caption", "info", "warning")
SYLLABLES = pyphen.Pyphen(lang="en_US")
MAX_WORDS, MAX_GRADE, FEWEST_WORDS = 30, 8.0, 5


def outside_folds(block: Any) -> Iterator[Any]:
    """Every element that is seen before anything is opened."""
    for child in block.children.values():
        if getattr(child, "children", None) is None:
            yield child
        elif child.type not in ("expandable", "expander", "popover"):
            yield from outside_folds(child)


def sentences(text: str) -> list[str]:
    """Its sentences, without marks of markdown, that are long enough to be judged."""
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"[*`#\\]", "", text))
    parts = re.split(r"(?<=[.!?:;])\s+|\n", plain)
    return [part for part in parts if len(words(part)) >= FEWEST_WORDS]


def words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]+", text)


def grade(sentence: str) -> float:
    """Flesch-Kincaid: the years of school after which a sentence is easy to read."""
    found = words(sentence)
    syllables = sum(len(SYLLABLES.positions(word)) + 1 for word in found)
    return 0.39 * len(found) + 11.8 * syllables / len(found) - 15.59


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_plain_english(page: str) -> None:
    screen = on.visit(page)
    seen = [element.value for element in outside_folds(screen.main) if element.type in WRITTEN]
    helps = [element.help for element in outside_folds(screen.main) if getattr(element, "help", "")]
    found = [part for text in (*seen, *helps) for part in sentences(text)]
    assert len(found) >= 3
    assert [part for part in found if len(words(part)) > MAX_WORDS] == []
    assert statistics.median(map(grade, found)) <= MAX_GRADE
