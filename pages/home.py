"""Start: the whole idea in one gesture, and the ways in."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from functools import partial

import streamlit as st

from ui import charts, figures, gallery, lesson, menu, page_frame, page_lock, runner, shared, state, theme, words
from ui.menu import Page
from ui.page_fields import ask

PAGE = Page(title="Start", icon="home", place=0, section="", fields="eps")
page_frame.enter()

SENTENCE = (
    "A system tries options and watches how people respond. Privacy hides each response in noise, so learning loses "
    "more rewards: the **regret**."
)

lesson_mode, phone = state.lesson(), theme.is_phone()
st.title("What does privacy cost?")
if not lesson_mode:
    st.markdown(SENTENCE)
epsilon = ask(gallery.HOME)
experiment = gallery.home_experiment(epsilon)
hidden = lesson.hides_private_lines("home")
answer = runner.result_of(experiment, "home", with_companions=True)
if answer is not None:
    complete = answer
    result = lesson.without_private(complete) if hidden else complete
    direct = not (phone or lesson_mode)
    before = None if hidden else gallery.ghosts(result)
    make = partial(gallery.home_chart, result, before, direct_labels=direct, lesson_mode=lesson_mode)
    figures.draw("home", result, make, partial(charts.describe, result), direct, lesson_mode, before and before.content)
    page_lock.shown()
    if not hidden:
        verdict = shared.once("home-verdict", complete, None, lambda: gallery.verdict(complete, epsilon))
        st.markdown(verdict, help=f"{gallery.methods(epsilon)} {gallery.marks(answer, before)}")
    if not lesson_mode:
        st.caption(words.odds(epsilon))
if lesson_mode:
    lesson.foot(menu.named("home"))
    page_frame.leave()
gallery.link_to_explore("Open this picture in Explore", experiment)
gallery.doors()
gallery.cards()
