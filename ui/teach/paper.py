"""What a teacher takes along: sheets for students and for the teacher, and lessons as a file that needs no network."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from ui import sharing
from ui.learn import course, printed
from ui.learn.step import Step
from ui.teach import offline

KINDS = {"HTML": ("html", "text/html"), "Markdown": ("md", "text/markdown")}


def sheets(_: Step) -> None:
    """All sheets, behind one button."""
    with st.popover("Choose a sheet", icon=":material/assignment:", help="Students' and teacher's sheets."):
        for teacher, name in ((False, "students"), (True, "teacher")):
            whose = "Teacher's sheet" if teacher else "Students' sheet"
            help = "Answers, notes and the maths." if teacher else "Every question and exercise."
            for kind, (ending, mime) in KINDS.items():
                made, key = partial(printed.page, course.LESSONS, teacher, kind), f"sheet-{teacher}-{kind}"
                _button(f"{whose} ({kind})", f"{name}.{ending}", made, None, key, help, mime, width="stretch")
    about = "The ten questions and answers. Page Down steps on; print the file for a PDF."
    made = partial(printed.slides, course.STEPS)
    _button("Slides (HTML)", "slides.html", made, None, "slides", about, width="stretch")


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
    label = course.on_button("Sheet", step)
    _button(label, f"{step.name}-sheet.html", made, "assignment", f"sheet-{step.name}", about)


def file(step: Step) -> None:
    """One lesson as a file."""
    about = "One HTML file that needs no network. It takes some seconds to compute."
    made = partial(offline.page, (step,))
    _button(course.on_button("File", step), f"{step.name}.html", made, "download", f"file-{step.name}", about)


def course_file(_: Step) -> None:
    """All lessons as one file."""
    about = "One HTML file that needs no network. It takes up to a minute to compute."
    _button("All lessons", "lessons.html", partial(offline.page, course.LESSONS), "download", "file-course", about)


def _button(
    label: str, name: str, data: partial[str], icon: str | None, key: str, help: str, mime: str = "text/html",
    **options: Any,
) -> None:  # fmt: skip
    icon = icon and f":material/{icon}:"
    st.download_button(
        label, data=data, file_name=name, mime=mime, on_click="ignore", icon=icon, key=key, help=help, **options
    )
