"""The words of the lab: one file of terms, shown by the Glossary page."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import streamlit as st

from ui import page_fields, page_links
from ui.page_fields import Field

_FILE = Path(__file__).with_name("glossary.toml")


@dataclass(frozen=True)
class Term:
    """One word, with other names for it, what it means, and the page where it is seen."""

    name: str
    group: str
    page: str
    words: str
    other: tuple[str, ...] = ()

    def matches(self, text: str) -> bool:
        """Whether the text occurs in the name, another name or the sentence."""
        return any(text.lower() in each.lower() for each in (self.name, *self.other, self.words))


@cache
def terms() -> tuple[Term, ...]:
    """Every term, in the order of the file."""
    documents = tomllib.loads(_FILE.read_text(encoding="utf-8"))["term"]
    return tuple(Term(**{**each, "other": tuple(each.get("other", ()))}) for each in documents)


def search() -> tuple[Term, ...]:
    """The search box; the terms that match it."""
    field = Field(
        "term", "Search", "", "Part of a term, of another name for it, or of its explanation.", "text",
        key="glossary-term",
    )  # fmt: skip
    text = page_fields.ask(field, max_chars=60, placeholder="for example: budget").strip()
    named = tuple(term for term in terms() if text.lower() in (each.lower() for each in (term.name, *term.other)))
    return named or tuple(term for term in terms() if term.matches(text))


def listing(found: tuple[Term, ...]) -> None:
    """The terms by group, each with a link to the page where it is seen."""
    if not found:
        st.info("No term has these words. Try a shorter one.")
    place = st.container(key="glossary")
    for group in dict.fromkeys(term.group for term in found):
        place.subheader(group)
        for term in sorted((term for term in found if term.group == group), key=lambda term: term.name.lower()):
            left, right = place.columns([5, 1], vertical_alignment="center")
            other = f" *(also: {', '.join(term.other)})*" if term.other else ""
            left.markdown(f"**{term.name}**{other}: {term.words[0].lower() + term.words[1:]}")
            right.page_link(page_links.to(term.page), icon=":material/arrow_forward:")


def footer() -> None:
    """What the lab is not, at the end of every page."""
    st.caption(
        "A simulator: it does not protect real data.",
        text_alignment="center",
    )
