"""The last screen of the course: its sentences, the ways on, and a page to print."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from ui import figures, page_links
from ui.learn import answers, course, player, quiz


def draw(go: Callable[[str], None]) -> None:
    """The whole screen; ``go`` leads to another one."""
    st.title("What you have seen")
    st.markdown("\n".join(f"{number}. {step.so}" for number, step in enumerate(course.STEPS, 1)))
    label, look = "Print these sentences (HTML)", {"icon": ":material/print:", "key": "learn-print"}
    figures.download(st, label, quiz.sentences, "ten-sentences.html", "One page.", "content", **look)
    own, lab = st.columns(2)
    with own.container(border=True, height="stretch"):
        st.markdown("#### Use your own numbers\nWhat would privacy cost in your experiment?")
        st.page_link(page_links.to("your-numbers"), label="Enter your numbers", icon=":material/arrow_forward:")
    with lab.container(border=True, height="stretch"):
        st.markdown("#### Try everything\nAll methods and all settings of the simulation.")
        st.page_link(page_links.to("explore"), label="Open Explore", icon=":material/arrow_forward:")
    with st.container(horizontal=True):
        about = "A short quiz, with a code that your teacher can check."
        answers.button("Five questions", "learn-quiz", about, go, "quiz", icon="quiz", type="primary")
        more = {step.name: step.title for step in course.EXTRAS} | {player.NAME: player.TITLE}
        for name, title in more.items():
            answers.button(title, f"learn-extra-{name}", "One more screen.", go, name)
