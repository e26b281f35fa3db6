"""What a teacher takes along: sheets for students and for the teacher, and lessons as a file that needs no network."""

from __future__ import annotations

from functools import partial
from html import escape
from urllib.parse import urlencode

import streamlit as st

from ui import figures, sharing
from ui.learn import course, printed
from ui.learn.step import Step
from ui.teach import offline

KINDS = {"HTML": "html", "Markdown": "md"}  # endings of files


def sheets(_: Step) -> None:
    """All sheets, behind one button."""
    with st.popover("Choose a sheet", icon=":material/assignment:", help="Students' and teacher's sheets."):
        for teacher, name in ((False, "students"), (True, "teacher")):
            whose = "Teacher's sheet" if teacher else "Students' sheet"
            help = "Answers, notes and the maths." if teacher else "Every question and exercise."
            for kind, ending in KINDS.items():
                made, key = partial(printed.page, course.LESSONS, teacher, kind), f"sheet-{teacher}-{kind}"
                figures.download(st, f"{whose} ({kind})", made, f"{name}.{ending}", help, key=key)
    about = "The ten questions and answers. Page Down steps on; print the file for a PDF."
    figures.download(st, "Slides (HTML)", partial(printed.slides, course.STEPS), "slides.html", about, key="slides")


def embed() -> None:
    """The code that shows a lesson in a course page."""
    step = st.selectbox("Lesson", course.LESSONS, format_func=course.title, key="embed", help="What the frame shows.")
    fields = {"step": course.address(step), "embed": "true", "controls": "off"}
    where = escape(f"{sharing.base('teach')}/learn?{urlencode(fields)}")
    st.code(f'<iframe src="{where}" width="100%" height="700" title="{escape(step.title)}"></iframe>', language="html")
    st.caption("The host of the lab decides which sites may show it in a frame.")


def sheet(step: Step) -> None:
    """The students' sheet of one lesson."""
    made = partial(printed.page, (step,), False, "HTML")
    about = "Question and exercise on one page, to print."
    look = {"icon": ":material/assignment:", "key": f"sheet-{step.name}"}
    figures.download(st, course.on_button("Sheet", step), made, f"{step.name}-sheet.html", about, "content", **look)


def lecture() -> None:
    """The sheet and the plan of the quarter of an hour."""
    sheet = partial(printed.page, course.LECTURE, False, "HTML")
    figures.download(st, "One sheet", sheet, "sheet.html", "The three to fill in.", "content", key="lecture-sheet")
    about = "What to ask, press and say, minute by minute, on one page."
    figures.download(st, "One plan", printed.plan, "plan.html", about, "content", key="lecture-plan")


def file(step: Step) -> None:
    """One lesson as a file."""
    about = "One HTML file that needs no network, with the slider."
    made, look = partial(offline.page, (step,)), {"icon": ":material/download:", "key": f"file-{step.name}"}
    figures.download(st, course.on_button("File", step), made, f"{step.name}.html", about, "content", **look)


def course_file(_: Step) -> None:
    """All lessons as one file."""
    about = "One HTML file that needs no network, with all sliders."
    made, look = partial(offline.page, course.LESSONS), {"icon": ":material/download:", "key": "file-course"}
    figures.download(st, "All lessons", made, "lessons.html", about, "content", **look)
