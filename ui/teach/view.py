"""The page Teach: four ways into a lesson, and the lessons."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ui import page_fields, page_links, state
from ui.learn import answers, classroom, course, player, quiz
from ui.learn.step import Step
from ui.player.view import small
from ui.teach import board, paper, project

COLUMNS = 3
WAYS = (
    ("Project a lesson", "Full window, large letters, one slider. Press R to reveal the answer."),
    ("Let the class guess", "Phones scan a code and follow you. No app, no names."),
    ("Exercise sheet", "Questions for students; answers and notes for you."),
    ("Offline file", "All lessons in one file. The fastest choice for a slow network."),
)


def draw() -> None:
    """The whole page."""
    if state.lesson():
        project.draw()
        return
    page_fields.choice("step", "1", course.ADDRESSES)
    answers.check()
    st.title("Teach what privacy costs")
    st.markdown("The class guesses first, then looks.")
    board.room()
    _again()
    actions: tuple[Callable[[Step], None], ...] = (_project_first, _guess, paper.sheets, paper.course_file)
    for column, (title, message), act in zip(st.columns(4), WAYS, actions, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"## {title}\n{message}")
            act(course.LESSONS[0])
    _lecture()
    st.header("The lessons")
    for start in range(0, len(course.LESSONS), COLUMNS):
        row = course.LESSONS[start : start + COLUMNS]
        for column, step in zip(st.columns(COLUMNS), row, strict=False):
            with column.container(border=True, height="stretch"):
                _card(step)
    _game()
    with st.expander("Put a lesson into a course page", icon=":material/code:"):
        paper.embed()
    with st.expander("Check the code of a quiz", icon=":material/quiz:"):
        quiz.check()


def _lecture() -> None:
    """Three lessons in order, for a quarter of an hour."""
    with st.container(border=True, key="lecture"):
        st.markdown(f"## Fifteen minutes\nThree lessons: {' · '.join(map(course.title, course.LECTURE))}")
        with st.container(horizontal=True):
            about, first = "The full window. Next leads through these three.", course.LECTURE[0]
            look = {"icon": "co_present", "type": "primary"}
            answers.button(
                "Project these three", "open-lecture", about, project.open_window, first, project.LECTURE, **look
            )
            paper.lecture()


def _again() -> None:
    """The class that this visitor leads already."""
    led = board.led_class()
    if led is not None:
        label, about = f"Go on with class {led[0]}", "Opens it in the full window."
        answers.button(label, "class-go-on", about, board.full_window, *led, icon="groups")


def _game() -> None:
    """The screen that is no lesson with a slider."""
    with st.container(border=True):
        st.markdown(f"**{player.TITLE}** · on phones, or one student at the projector")
        fields = {"step": player.NAME, "controls": "off"}
        st.page_link(page_links.to("learn"), label="Open", icon=":material/sports_esports:", query_params=fields,
                     help="Thirty users, four jokes. Then again behind a coin.")  # fmt: skip


def _project_first(step: Step) -> None:
    _project(step, "Project lesson 1", "open-project")


def _project(step: Step, label: str, key: str) -> None:
    about = "The full window. Page Down leads to the next lesson."
    answers.button(label, key, about, project.open_window, step, icon="co_present")


def _guess(step: Step, label: str = "Open a class", key: str = "class-open") -> None:
    if not classroom.offered():
        st.caption("This server holds no classes.")
        return
    about = "Phones join by a code and guess. A class lives four hours after its last action."
    answers.button(label, key, about, board.open_class, step, icon="groups")


def _card(step: Step) -> None:
    small(step.name, f"Small picture of: {step.title}")
    st.markdown(f"**{course.title(step)}**")
    with st.container(key=f"teach-card-{step.name}"):
        _project(step, course.on_button("Project", step), f"open-project-{step.name}")
        _guess(step, course.on_button("Guess", step), f"class-open-{step.name}")
        paper.sheet(step)
        paper.file(step)
