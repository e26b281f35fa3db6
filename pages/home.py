"""Home: the whole idea in one gesture, and the ways in."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import charts, figures, gallery, lesson, menu, page_frame, render_lock, runner, shared, state, theme, words
from ui.menu import Page

PAGE = Page(title="Start", icon="home", place=0, section="", fields="eps")
page_frame.enter()

INTRODUCTION = (
    "A website, a clinic or a phone learns from people: it tries options on them and sees what they like. Privacy "
    "hides each person's answer in noise, so it takes more people to find the best option. The rewards that are lost "
    "until then are called **regret**. Move the slider and see what privacy costs."
)
IN_SHORT = "The more privacy, the more rewards are lost while learning. That loss is called **regret**."

alone, phone = state.lesson(), theme.is_phone()
st.title("What does privacy cost a learner?")
if not alone:
    st.markdown(IN_SHORT if phone else INTRODUCTION)
epsilon = gallery.home_slider(told=not alone)
experiment = gallery.home_experiment(epsilon)
covered = lesson.covered("home")
found = runner.result_of(experiment, "home", along=True)
if found is not None:
    whole = found
    result = lesson.without_private(whole) if covered else whole
    verdict = shared.kept("verdict", whole, None, lambda: words.verdict(whole))
    if not (alone or covered):
        st.markdown(verdict)
    dark, direct = theme.is_dark(), not (phone or alone)
    before = None if covered else gallery.ghosts(result)
    picture = shared.picture(
        "home",
        result,
        (dark, direct, alone, before and before.content),
        lambda: gallery.home_chart(result, before, dark, direct, alone),
        lambda _: charts.describe(result),
    )
    figures.show(picture, "home")
    render_lock.shown()
    if alone and not covered:
        st.markdown(verdict)
    st.caption(gallery.methods(epsilon))
if alone:
    lesson.foot(menu.named("home"))
    page_frame.leave()
if phone:  # there the picture comes first
    st.markdown(INTRODUCTION)
gallery.link_to_explore("Open this picture in Explore", experiment)
gallery.doors()
gallery.cards()
