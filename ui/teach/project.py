"""A lesson on a projector: the full window, large letters, one picture, one slider, and keys."""

from __future__ import annotations

from typing import Any

import streamlit as st

from bandit_core.spec.number_text import number
from ui import lesson, page_fields, state, stylesheet
from ui.learn import answers, course
from ui.learn.course import Step, with_unit
from ui.learn.measured import Number
from ui.player.slider import or_small
from ui.teach import board
from ui.teach.board import Room
from ui.words import unbroken

LOOK: dict[str, Any] = {"height": "56vh", "size": lesson.SIZE, "projected": True}  # of the picture
LECTURE = "15"  # what the field ``plan`` says where Next leads through the quarter of an hour alone
_SHOWN = "project-shown"  # names of the lessons whose answer was shown in this visit


def _shown() -> set[str]:
    shown: set[str] = st.session_state.setdefault(_SHOWN, set())
    return shown


def _go(step: Step, room: Room | None) -> None:
    """Callback: another lesson, and the class goes along."""
    if room is not None:
        board.lead(room, step)
    else:
        state.keep_page_fields({"step": course.address(step), "at": None, answers.OTHER: None})


def open_window(step: Step, plan: str | None = None) -> None:
    """Callback: a lesson fills the window. A link to the page that one is on would lose its fields."""
    st.query_params["controls"] = "off"
    _at(step, plan)


def _at(step: Step, plan: str | None) -> None:
    fields = {"step": course.address(step), "plan": plan}
    state.keep_page_fields({**fields, "at": None, answers.OTHER: None, "class": None, "key": None})


def _close(step: Step) -> None:
    """Callback: the page Teach again."""
    st.query_params.pop("controls", None)
    _at(step, None)


def draw() -> None:
    """The whole window."""
    room = board.room()
    field = page_fields.choice("step", "1", course.ADDRESSES)
    step = course.ADDRESSES[field] if room is None else course.named(room.now.step)
    answers.check(step)
    lecture = page_fields.choice("plan", "all", ("all", LECTURE)) == LECTURE and step in course.LECTURE
    shown = room.now.revealed if room is not None else step.name in _shown()
    st.html(stylesheet.PROJECT)
    with st.container(key="project"):
        title, way = st.columns(2, vertical_alignment="center")
        title.title(course.title(step))
        with way:
            _way(step, room, course.LECTURE if lecture else course.LESSONS)
        with or_small(step.name):
            if shown:
                _answer(step, room)
            else:
                st.markdown(step.idea)
                _question(step, room)
    st.html(f"<script>{stylesheet.asset('project.js')}</script>", unsafe_allow_javascript=True)


def _way(step: Step, room: Room | None, lessons: tuple[Step, ...]) -> None:
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        for name, by, icon, about in (
            ("Back", -1, "arrow_back", "Key Page Up: the lesson before."),
            ("Next", 1, "arrow_forward", "Key Page Down: the next lesson."),
        ):
            other = course.beside(step, by, lessons)
            key, last = f"project-{name.lower()}", other is None
            answers.button(name, key, about, _go, other, room, icon=icon, disabled=last)
        if room is not None:
            board.closer(room)
        answers.button("Close", "project-close", "Back to Teach. A class goes on.", _close, step, icon="close")


def _question(step: Step, room: Room | None) -> None:
    asked, right = st.columns(2, gap="large") if room is not None else (st.container(), st.container())
    with asked:
        if room is not None and step.coins:
            st.subheader(step.coins)
            board.share_now(room.code, step)
        else:
            st.subheader(unbroken(step.asks()))
            if step.options:
                st.markdown("\n".join(f"- {label}" for label in step.options))
        if room is not None:
            board.join(room, right)
            return
        about = "Key R. Shows the answer."
        answers.button("Reveal", "project-reveal", about, _shown().add, step.name, type="primary")
        answers.scene(step, **LOOK | {"height": "max(40vh, 100vh - 27rem)"})


def _answer(step: Step, room: Room | None) -> None:
    if room is not None and step.coins:
        st.subheader(step.coins)
        board.share(room, step)
        st.markdown(f"**So: {step.so}**")
        return
    measured = step.measured(step.content(step.slider.start), step.slider.start)
    if room is not None and not board.draws(room):
        _asked(step, measured, False)
        board.guessed(room, step, measured)
        return
    step = _asked(step, measured, True)
    with st.container(key="project-picture"):
        answers.played(step, guess={}, **LOOK)
    if room is not None:
        board.follow(room)


def _asked(step: Step, measured: Number, choices: bool) -> Step:
    """The question, with its choices (those that fit ticked), a second slider, and the answer in large digits."""
    question, other, answer = st.columns([5, 2, 3] if step.other else [8, 0.01, 3], vertical_alignment="center")
    fits = [step.guess.fits(place, measured) for place in range(len(step.options))]
    shown = [f"**✓ {label}**" if fit else label for label, fit in zip(step.options, fits, strict=True)]
    question.markdown(f"**{unbroken(step.asks())}**\n\n{' · '.join(shown) if choices else ''}")
    exact = f"Measured ({measured}: one standard error)" if measured.error else "Measured"
    answer.metric(exact, with_unit(number(measured.value, 2), step.unit))
    with other:
        return answers.other(step) if choices else step
