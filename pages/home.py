"""Start: the whole idea in one gesture, and the ways in."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from functools import partial

import streamlit as st

from ui import gallery, lesson, menu, page_frame, shared, state, theme, words
from ui.menu import Page
from ui.player import slider as player

PAGE = Page(title="Start", icon="home", place=0, section="", fields="eps")
page_frame.enter()

SENTENCE = (
    "A system tries options and watches how people respond. Privacy hides each response in noise, so learning loses "
    "more rewards: the **regret**."
)

lesson_mode = state.lesson()
st.title("What does privacy cost?")
if not lesson_mode:
    st.markdown(SENTENCE)
hidden = lesson.hides_private_lines("home")
how = theme.is_dark(), lesson_mode, hidden
epsilon = player.value(gallery.HOME)
with player.or_small("trust"):  # it draws the same three curves
    document = shared.once("home", gallery.SHIPPED, how, partial(gallery.document, *how))
    epsilon = player.ask(gallery.HOME, document, epsilon)
    if not hidden:
        verdict = gallery.verdict(gallery.shown(epsilon), epsilon)
        st.markdown(words.unbroken(verdict), help=f"{gallery.methods(epsilon)} {gallery.marks()}")
if not lesson_mode:
    st.caption(words.odds(epsilon))
if lesson_mode:
    lesson.foot(menu.named("home"))
    page_frame.leave()
gallery.link_to_explore("Open this picture in Explore", gallery.home_experiment(epsilon))
gallery.doors()
gallery.cards()
