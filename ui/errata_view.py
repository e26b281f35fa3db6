"""The Errata page: what is printed, what it should be, and the live result of each check."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache

import streamlit as st

from bandit_core.literature.erratum import KINDS, Erratum, Kind, Outcome
from bandit_core.literature.papers import errata
from ui import page_fields, page_links, words
from ui.page_fields import Field

ALL = "all papers"
APART: dict[Kind, str] = {
    "sharpening": "True, but a stronger statement holds",
    "gap": "Left open, and it matters",
    "misprint": "Obvious misprints",
    "withdrawn": "Withdrawn: the paper is right",
}


@st.cache_resource(max_entries=1, show_spinner="Checking …")
def outcomes() -> dict[str, Outcome]:
    """The result of every check, by name; misprints by inspection have none."""
    return {erratum.name: found for erratum in errata() if (found := erratum.check()) is not None}


def papers() -> tuple[str, ...]:
    """The papers with an entry."""
    return tuple(dict.fromkeys(erratum.paper for erratum in errata()))


def _author(paper: str) -> str:
    return paper.split(",", maxsplit=1)[0].split(" ", maxsplit=1)[0].lower()


def _short(paper: str) -> str:
    return f"{paper.split(',', maxsplit=1)[0].split(' and ', maxsplit=1)[0]} {paper.rsplit(' ', 1)[-1]}"


def verdict(found: dict[str, Outcome]) -> str:
    """How many checks confirm their erratum, and what is counted apart."""
    errors = [found[erratum.name] for erratum in errata() if erratum.kind == "error"]
    sharpenings, gaps, misprints, withdrawn = (sum(erratum.kind == kind for erratum in errata()) for kind in APART)
    return (
        f"**{sum(outcome.confirmed for outcome in errors)} of {len(errors)}** errors are confirmed by a check on this "
        f"server: the printed version fails, and the corrected one passes.\n\nAlso listed: "
        f"**{sharpenings}** true but improvable, **{gaps}** left open, **{misprints}** obviously misprinted, "
        f"**{withdrawn}** withdrawn."
    )


def choice() -> str:
    """Which paper; kept in the address as its first author's name."""
    names = {"all": ALL} | {_author(paper): paper for paper in papers()}
    help = "List the errors of this paper only."
    chosen = page_fields.ask(Field("paper", "Paper", "all", help, "box", names, key="errata-paper"))
    return names[chosen]


def listing(chosen: str, found: dict[str, Outcome]) -> None:
    """The errata of the chosen paper, each with its check; the one of the address stands open."""
    opened = page_fields.choice("erratum", "", ("", *(erratum.name for erratum in errata())))
    shown = [erratum for erratum in errata() if chosen in (ALL, erratum.paper)]
    groups = {paper: [each for each in shown if each.paper == paper and each.kind == "error"] for paper in papers()}
    groups |= {title: [each for each in shown if each.kind == kind] for kind, title in APART.items()}
    for title, entries in groups.items():
        if not entries:
            continue
        st.header(title)
        if entries[0].kind != "error":
            st.caption(f"{KINDS[entries[0].kind].capitalize()}.")
        for erratum in entries:
            outcome = found.get(erratum.name)
            apart = "" if erratum.kind == "error" else f"{_short(erratum.paper)}, "
            heading = words.sentence(f"{apart}{_heading(erratum)}")
            with st.expander(f"{_sign(outcome)} {heading}", erratum.name == opened, key=f"erratum-{erratum.name}"):
                _one(erratum, outcome)


def _sign(outcome: Outcome | None) -> str:
    if outcome is None:
        return ":material/visibility:"
    return ":material/check_circle:" if outcome.confirmed else ":material/error:"


def _heading(erratum: Erratum) -> str:
    """The place; where a paper has several errata in one place, what each is about."""
    if sum((each.paper, each.place) == (erratum.paper, erratum.place) for each in errata()) == 1:
        return erratum.place
    return f"{erratum.place}: {' '.join(erratum.name.split('-')[1:])}"


@cache  # finding it means reading its whole file
def _source(evidence: Callable[..., object]) -> str:
    return inspect.getsource(evidence)


def _one(erratum: Erratum, outcome: Outcome | None) -> None:
    better = {"sharpening": "Also true", "gap": "Needs", "withdrawn": "Correct"}.get(erratum.kind, "Should be")
    st.markdown(
        f"**Printed:** {erratum.printed}\n\n**{better}:** {erratum.corrected}\n\n**Why:** {erratum.why}"
        + (f"\n\n**Checked:** {outcome.words}" if outcome else "")
    )
    if erratum.evidence is not None:
        st.code(erratum.command, language="bash")
        st.code(_source(erratum.evidence), language="python")
    page = page_links.to(erratum.page)
    st.page_link(page, label=f"See it on {page.title}", icon=":material/arrow_forward:")
