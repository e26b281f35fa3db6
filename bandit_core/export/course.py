"""Lessons in a folder: one file each, and a page that leads to them."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bandit_core.export.page import Positions, as_html, marked_up, page, policy, style_of
from bandit_core.simulation.results import Result
from bandit_core.simulation.sentences import verdict
from bandit_core.spec.errors import InputError, Issue, refuse_if

INDEX = "index.html"


@dataclass(frozen=True)
class Lesson:
    """A finished lesson: what its file in a folder is called (without the ending) and holds, and what an index says."""

    name: str
    title: str
    note: str
    sentence: str
    text: str


def check(out: str | None, specs: Sequence[str]) -> list[str]:
    """The names of the lessons in a folder, where one is asked for: several specs, or no place that ends in .html.

    Raises
    ------
    InputError
        Where nothing could be written there.
    """
    if out is None:
        raise InputError([Issue("out", None, "a file that ends in .html, or a folder for several lessons")])
    path = Path(out)
    alone = path.suffix.lower() == ".html"
    refuse_if(alone and len(specs) > 1, "out", out, "several lessons need a folder")
    there = next(place for place in (path if not alone else path.parent, *path.absolute().parents) if place.exists())
    if not there.is_dir() or (alone and (path.is_dir() or not path.parent.is_dir())):
        raise InputError([Issue("out", out, "is no place where a file can be written")])
    return [] if alone else names(specs)


def names(specs: Sequence[str]) -> list[str]:
    """A file's name for every spec: that of the preset or of its file; numbered where two would be the same."""
    file_names: list[str] = []
    for spec in specs:
        stem = "lesson" if spec == "-" else Path(spec).stem
        name = re.sub(r"[^\w-]+", "-", stem).strip("-") or "lesson"
        name = f"{name}-lesson" if f"{name}.html" == INDEX else name
        same = sum(other == name or other.startswith(f"{name}-") for other in file_names)
        file_names.append(f"{name}-{same + 1}" if same else name)
    return file_names


def _link(name: str, words: str) -> str:
    return f'<a href="{html.escape(name)}.html">{words}</a>'


def _around(names: Sequence[str], place: int) -> str:
    """Links from one lesson of a course to its neighbours."""
    before = _link(names[place - 1], "← Previous") if place else ""
    after = _link(names[place + 1], "Next →") if place + 1 < len(names) else ""
    return f'<nav aria-label="Lessons"><a href="{INDEX}">All lessons</a>{before}{after}</nav>\n'


def lesson(names: Sequence[str], place: int, positions: Positions, results: Sequence[Result], base: str) -> Lesson:
    """The lesson called ``names[place]``, with links to the others; without ``names`` it stands alone.

    Raises
    ------
    InputError
        As `page` does.
    """
    name, around = (names[place], _around(names, place)) if names else ("", "")
    sentence = marked_up(verdict(results[positions.start], as_html))
    text = page(positions, results, base=base, around=around)
    return Lesson(name, positions.title, positions.experiment.note, sentence, text)


def _index(lessons: Sequence[Lesson]) -> str:
    style = style_of(())
    entries = "".join(
        f'<li><h2>{_link(each.name, html.escape(each.title))}</h2><p class="quiet">{html.escape(each.note)}</p>'
        f"<p>{each.sentence}</p></li>"
        for each in lessons
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy(style, "")}">
<meta name="color-scheme" content="light dark"><title>Lessons</title><style>{style}</style></head><body>
<main><h1>What privacy costs a learner</h1><ol>{entries}</ol></main></body></html>
"""


def write(out: str, lessons: Sequence[Lesson]) -> list[Path]:
    """Write the lessons and, into a folder, their index.

    Raises
    ------
    InputError
        Where a file cannot be written.
    """
    path = Path(out)
    texts = {path / f"{each.name}.html" if each.name else path: each.text for each in lessons}
    if path not in texts:
        texts[path / INDEX] = _index(lessons)
    try:
        for place, text in texts.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError([Issue("out", out, f"cannot be written: {' '.join(str(error).split())}")]) from None
    return list(texts)
