"""What a teacher takes along: sheets for students and for the teacher, and lessons as a file that needs no network."""

from __future__ import annotations

from functools import partial
from html import escape
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
        for teacher, whose in ((False, "Students' sheet"), (True, "Teacher's sheet")):
            for kind, (ending, mime) in KINDS.items():
                st.download_button(
                    f"{whose} ({kind})",
                    data=partial(printed.page, course.LESSONS, teacher, kind),
                    file_name=f"{'teacher' if teacher else 'students'}.{ending}",
                    mime=mime,
                    on_click="ignore",
                    key=f"sheet-{teacher}-{kind}",
                    width="stretch",
                    help="Answers, notes and the maths." if teacher else "Every question and exercise.",
                )

    st.download_button(
        "Slides (HTML)",
        data=partial(printed.slides, course.STEPS),
        file_name="slides.html",
        mime="text/html",
        on_click="ignore",
        key="slides",
        width="stretch",
        help="The ten questions and answers. Page Down steps on; print the file for a PDF.",
    )


def embed() -> None:
    """The code that shows a lesson in a course page."""
    step = st.selectbox("Lesson", course.LESSONS, format_func=course.title, key="embed", help="What the frame shows.")
    fields = {"step": course.address(step), "embed": "true", "controls": "off"}
    where = escape(f"{sharing.base('teach')}/learn?{urlencode(fields)}")
    st.code(f'<iframe src="{where}" width="100%" height="700" title="{escape(step.title)}"></iframe>', language="html")
    st.caption("The host of the lab decides which sites may show it in a frame.")


def sheet(step: Step) -> None:
    """The students' sheet of one lesson."""
    label, made = course.on_button("Sheet", step), partial(printed.page, (step,), False, "HTML")
    _button(label, f"{step.name}-sheet.html", made, "assignment",
            f"sheet-{step.name}", "Question and exercise on one page, to print.")  # fmt: skip


def file(step: Step) -> None:
    """One lesson as a file."""
    label = course.on_button("File", step)
    _button(label, f"{step.name}.html", partial(offline.page, (step,)), "download", f"file-{step.name}",
            "One HTML file that needs no network. It takes some seconds to compute.")  # fmt: skip


def course_file(_: Step) -> None:
    """All lessons as one file."""
    _button("All lessons", "lessons.html", partial(offline.page, course.LESSONS), "download", "file-course",
            "One HTML file that needs no network. It takes up to a minute to compute.")  # fmt: skip


def _button(label: str, name: str, data: partial[str], icon: str, key: str, message: str) -> None:
    st.download_button(
        label, data=data, file_name=name, mime="text/html", on_click="ignore", icon=f":material/{icon}:", key=key,
        help=message,
    )  # fmt: skip
