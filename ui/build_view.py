"""What a line would take where people use it: device, server, noise, and what is asked; a plan and no product."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from bandit_core import Experiment
from bandit_core.model import Release
from bandit_core.spec import own_data
from bandit_core.studies import production
from bandit_core.studies.production import LIBRARIES, Plan, program
from ui import lab_parts, page_fields, words
from ui.page_fields import Field

_LEFT, _RIGHT, _BELOW = ("device", "server", "public", "not_hidden"), ("questions",), ("noise",)


def draw(experiment: Experiment, key: str) -> None:
    """The plan of a line of the visitor's choice; ``key`` as of any widget."""
    st.fragment(own_data.bound(_draw))(experiment, key)


def _draw(experiment: Experiment, key: str) -> None:
    st.markdown(f"**If you build this.** {production.NOTICE}")
    line = next((place for place, line in enumerate(experiment.lines) if line.entry.privacy != "none"), 0)
    if len(experiment.lines) > 1:
        help = "The plan depends on the policy, its budget and its parameters."
        labels = {place: experiment.label(place) for place in range(len(experiment.lines))}
        field = Field("line", "Policy", line, help, "box", labels, key=f"{key}-line")
        field = page_fields.about(field, tuple(labels.values()))  # a label may hold its ε
        line = page_fields.draw(field, line, field.key)
    made = production.plan(experiment, line)
    st.caption(words.sentence(words.plain(made.promise)) + ".")
    left, right = st.columns(2, gap="large")
    with left:
        _sections(made, _LEFT)
    with right:
        _sections(made, _RIGHT)
    _sections(made, _BELOW)
    if made.code:
        st.code(made.code, language="python")
    left_out()


def _sections(made: Plan, shown: tuple[str, ...]) -> None:
    for title, name in production.SECTIONS.items():
        if name in shown:
            found = getattr(made, name)
            text = words.plain(found) if isinstance(found, str) else _listed(found)
            st.markdown(f"**{title}**\n\n{text}")


def left_out(besides: tuple[str, ...] = ()) -> None:
    """What a simulation leaves out, but for what the page has said already."""
    texts = [text for text in production.LEFT_OUT.values() if text not in besides]
    lab_parts.fold("What the simulation leaves out", "left-out", lambda: st.markdown(_listed(texts)))


def answer_of(release: Release, delta: float) -> None:
    """Who draws the noise of one answer, and the program that does."""
    st.markdown(words.plain(f"{LIBRARIES[release.mechanism]}."))
    st.code(program(release, delta), language="python")


def _listed(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {words.plain(sentence)}" for sentence in sentences)
