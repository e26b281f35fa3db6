"""The gallery of ready-made experiments: cards of six subjects, found by title, method or paper."""

from functools import cache
from typing import Any

import streamlit as st

from bandit_core.experiments.presets import Preset, presets
from bandit_core.spec.number_text import count
from ui import page_requirements, state, words
from ui.player.slider import small

PAPERS = "papers"
SUBJECTS = {"features": "features", "robust": "heavy tails", "spread": "budgets of their own", "trusted": "trust"}
FIRST = "first steps"
QUICK = "-quick"
COLUMNS = 3


@cache
def _subject(preset: Preset) -> str:
    """Under which of the six subjects an experiment stands."""
    if preset.group not in ("Start", "Lessons"):
        return PAPERS
    kinds = (kind for kind in SUBJECTS if not page_requirements.KINDS[kind].lacks(preset.experiment))
    return SUBJECTS[kind] if (kind := next(kinds, "")) else FIRST


@cache
def _found_by(preset: Preset) -> str:
    """What a search looks in."""
    methods = (f"{line.policy} {line.entry.title} {line.entry.paper}" for line in preset.experiment.lines)
    return " ".join((preset.name, preset.title, preset.note, preset.group, *methods)).lower()


def _cards(kind: str, subject: str, asked: str) -> list[Preset]:
    """The experiments of a subject that a page can show; with a search of all subjects. Quick ones have no own card."""
    lacks, sought = page_requirements.KINDS[kind].lacks, asked.lower().split()
    return [
        preset
        for preset in presets()
        if not preset.name.endswith(QUICK) and not lacks(preset.experiment)
        if (all(word in _found_by(preset) for word in sought) if sought else _subject(preset) == subject)
    ]


def _open(name: str, label: str, help: str) -> None:
    chosen: dict[str, Any] = {"on_click": state.open_preset, "args": (name,)}
    if st.button(label, key=f"example-{name}", help=help, width="stretch", **chosen):
        st.rerun()  # which closes the gallery


@st.dialog("Examples", width="large")
def _gallery(kind: str) -> None:
    left, right = st.columns([2, 1], vertical_alignment="bottom")
    subjects = [each for each in (FIRST, *reversed(SUBJECTS.values()), PAPERS) if _cards(kind, each, "")]
    subject = left.pills("Subject", subjects, default=subjects[0], required=True, label_visibility="collapsed")
    asked = right.text_input("Search", placeholder="title, method or paper", label_visibility="collapsed")
    found, names = _cards(kind, subject, asked), {preset.name for preset in presets()}
    if not found:
        st.caption("Nothing found. Try a method (UCB) or an author (Ren).")
    for start in range(0, len(found), COLUMNS):
        for column, preset in zip(st.columns(COLUMNS), found[start : start + COLUMNS], strict=False):
            with column.container(border=True, height="stretch"):
                sentence = words.plain(preset.note.partition(". ")[0].partition(": ")[0].rstrip("."))
                users = f"{count(preset.experiment.horizon)} users"
                small(preset.name, f"Small picture of the curves, without numbers: {preset.title}")
                st.markdown(f"**{words.plain(preset.title)}**  \n{sentence}. *{users}*")
                _open(preset.name, "Open", preset.title)
                if f"{preset.name}{QUICK}" in names:
                    _open(f"{preset.name}{QUICK}", "Quick version", f"{preset.title}, with fewer users or trials.")


def button(kind: str) -> None:
    """Opens the gallery of the experiments that a page can show."""
    if st.button("Examples", icon=":material/apps:", help="Ready-made experiments by subject.", width="stretch"):
        _gallery(kind)
