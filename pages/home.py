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

alone, phone = state.lesson(), theme.is_phone()
st.title("What does privacy cost?")
if not alone:
    st.markdown(SENTENCE)
epsilon = ask(gallery.HOME)
experiment = gallery.home_experiment(epsilon)
covered = lesson.covered("home")
found = runner.result_of(experiment, "home", along=True)
if found is not None:
    whole = found
    result = lesson.without_private(whole) if covered else whole
    direct = not (phone or alone)
    before = None if covered else gallery.ghosts(result)
    make = partial(gallery.home_chart, result, before, direct_labels=direct, alone=alone)
    figures.draw("home", result, make, partial(charts.describe, result), direct, alone, before and before.content)
    page_lock.shown()
    if not covered:
        verdict = shared.once("home-verdict", whole, None, lambda: gallery.verdict(whole, epsilon))
        st.markdown(verdict, help=f"{gallery.methods(epsilon)} {gallery.marks(found, before)}")
    if not alone:
        st.caption(words.odds(epsilon))
if alone:
    lesson.foot(menu.named("home"))
    page_frame.leave()
gallery.link_to_explore("Open this picture in Explore", experiment)
gallery.doors()
gallery.cards()
