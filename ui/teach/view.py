"""The page Teach: four ways into a lesson, sheets of paper, and files that need no network."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from urllib.parse import urlencode

import streamlit as st

from bandit_core.export.page import PLAYER, as_json, source, style_of
from ui import export_panel, figures, page_fields, page_links, state, stylesheet
from ui.learn import answers, classroom, course, player, quiz
from ui.learn.course import Step, title
from ui.player.slider import small
from ui.teach import board, project
from ui.words import as_html

# ---------------------------------------------------------------------------------------------------------------------
# Lessons as one file that opens without a network: the same player as on the pages, with all that it draws.


MAX_BYTES = 3 * 10**6


def page(lessons: Sequence[Step]) -> str:
    """The file; it draws what Learn draws."""
    parts = []
    for step in lessons:
        parts.append(f'<h2 id="{step.name}">{escape(title(step))}</h2>{_part(step)}')
        if step.second is not None:
            parts.append(f"<h3>{escape(step.second.title)}</h3>{_part(step.second)}")
    contents = "".join(f'<li><a href="#{step.name}">{escape(title(step))}</a></li>' for step in lessons)
    head = f'<nav aria-label="Lessons"><ul>{contents}</ul></nav>' if len(lessons) > 1 else ""
    style = style_of(()) + (PLAYER / "player.css").read_text("utf-8") + stylesheet.asset("offline.css")
    script = (PLAYER / "player.js").read_text("utf-8") + stylesheet.asset("offline.js")
    allowed = {"styles": source(style), "scripts": source(script)}
    body = {"title": "What does privacy cost?", "body": head + "".join(parts)}
    return stylesheet.filled("offline.html", **body, style=style, script=script, **allowed)


def _part(step: Step) -> str:
    """A lesson: the idea, a guess, and the answers."""
    at = step.slider.start
    options = "".join(f"<li>{as_html(message)}</li>" for message in step.options)
    light, dark = (json.loads(answers.document(step, ground, height="20rem")) for ground in (False, True))
    data = {"start": step.slider.stops.index(at), "light": light, "dark": dark}
    said = "".join(f"<li>{each['name']}: {each['words']}</li>" for each in light["positions"])
    return (
        f"<p>{as_html(step.idea)}</p><p><b>Guess first.</b> {as_html(step.asks())}</p><ul>{options}</ul>"
        "<details><summary>Show the answer</summary>"
        f"<p><b>What was asked:</b> {escape(step.answer_to(step.measured(step.content(at), at)))}.</p>"
        f'{(PLAYER / "player.html").read_text("utf-8")}<script type="application/json">{as_json(data)}</script>'
        f"<noscript><p>The picture needs JavaScript, which is off. In words:</p><ul>{said}</ul></noscript></details>"
        f"<details><summary>Exercise</summary><p>{as_html(step.exercise)}</p>"
        f"<details><summary>Its answer</summary><p>{as_html(step.answer)}</p></details></details>"
        f"<details><summary>The maths</summary><p>{as_html(step.exact)}</p></details>"
    )


# ---------------------------------------------------------------------------------------------------------------------
# What a teacher takes along: sheets for students and for the teacher, and lessons as a file that needs no network.


KINDS = {"HTML": "html", "Markdown": "md"}  # endings of files


def sheets(_: Step) -> None:
    """All sheets, behind one button."""
    with st.popover("Choose a sheet", icon=":material/assignment:", help="Students' and teacher's sheets."):
        for teacher, name in ((False, "students"), (True, "teacher")):
            whose = "Teacher's sheet" if teacher else "Students' sheet"
            help = "Answers, notes and the maths." if teacher else "Every question and exercise."
            for kind, ending in KINDS.items():
                made, key = partial(quiz.page, course.LESSONS, teacher, kind), f"sheet-{teacher}-{kind}"
                figures.download(st, f"{whose} ({kind})", made, f"{name}.{ending}", help, key=key)
    about = "The ten questions and answers. Page Down steps on; print the file for a PDF."
    figures.download(st, "Slides (HTML)", partial(quiz.slides, course.STEPS), "slides.html", about, key="slides")


def embed() -> None:
    """The code that shows a lesson in a course page."""
    step = st.selectbox("Lesson", course.LESSONS, format_func=course.title, key="embed", help="What the frame shows.")
    fields = {"step": course.address(step), "embed": "true", "controls": "off"}
    where = escape(f"{export_panel.base_address('teach')}/learn?{urlencode(fields)}")
    st.code(f'<iframe src="{where}" width="100%" height="700" title="{escape(step.title)}"></iframe>', language="html")
    st.caption("The host of the lab decides which sites may show it in a frame.")


def sheet(step: Step) -> None:
    """The students' sheet of one lesson."""
    made = partial(quiz.page, (step,), False, "HTML")
    about = "Question and exercise on one page, to print."
    look = {"icon": ":material/assignment:", "key": f"sheet-{step.name}"}
    figures.download(st, course.on_button("Sheet", step), made, f"{step.name}-sheet.html", about, "content", **look)


def lecture() -> None:
    """The sheet and the plan of the quarter of an hour."""
    sheet = partial(quiz.page, course.LECTURE, False, "HTML")
    figures.download(st, "One sheet", sheet, "sheet.html", "The three to fill in.", "content", key="lecture-sheet")
    about = "What to ask, press and say, minute by minute, on one page."
    figures.download(st, "One plan", quiz.plan, "plan.html", about, "content", key="lecture-plan")


def file(step: Step) -> None:
    """One lesson as a file."""
    about = "One HTML file that needs no network, with the slider."
    made, look = partial(page, (step,)), {"icon": ":material/download:", "key": f"file-{step.name}"}
    figures.download(st, course.on_button("File", step), made, f"{step.name}.html", about, "content", **look)


def course_file(_: Step) -> None:
    """All lessons as one file."""
    about = "One HTML file that needs no network, with all sliders."
    made, look = partial(page, course.LESSONS), {"icon": ":material/download:", "key": "file-course"}
    figures.download(st, "All lessons", made, "lessons.html", about, "content", **look)


# ---------------------------------------------------------------------------------------------------------------------
# The page Teach: four ways into a lesson, and the lessons.


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
    actions: tuple[Callable[[Step], None], ...] = (_project_first, _guess, sheets, course_file)
    for column, (heading, message), act in zip(st.columns(4), WAYS, actions, strict=True):
        with column.container(border=True, height="stretch"):
            st.markdown(f"## {heading}\n{message}")
            act(course.LESSONS[0])
    _lecture()
    st.header("The lessons")
    for start in range(0, len(course.LESSONS), COLUMNS):
        row = course.LESSONS[start : start + COLUMNS]
        for column, step in zip(st.columns(COLUMNS), row, strict=False):
            with column.container(border=True, height="stretch"):
                _card(step)
    _game()
    with st.expander("Put a lesson into a course page", key="teach-embed", icon=":material/code:"):
        embed()
    with st.expander("Check the code of a quiz", key="teach-code", icon=":material/quiz:"):
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
            lecture()


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
        sheet(step)
        file(step)
