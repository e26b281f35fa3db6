"""Theory: what "private" may mean, and what it must cost."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from functools import partial

import streamlit as st

from bandit_core.experiments import catalogue
from ui import lab_parts, page_frame, page_links, state, theme
from ui.menu import Page
from ui.theory import view

PAGE = Page(
    title="Theory",
    icon="functions",
    place=8,
    section="Reference",
    fields="promise about laws kind bound axis old",
    sidebar="arms budget lines own T",
    shows="usual",
)
page_frame.enter()

st.title("Theory: what can be promised, at what cost?")
st.markdown("Choose what “private” means.")
dark = theme.is_dark()
promise = view.choice()
view.pictures(promise, dark)
view.in_words(promise)

experiment = state.experiment()
found = catalogue.entries(experiment)
st.markdown(view.verdict(experiment, found))
title, every = f"All {len(found)} bounds", partial(view.draw, experiment, found)
asking = "about", "laws", "kind", "bound", "axis", "old"
lab_parts.fold(title, "theory-bounds", every, *asking, icon=":material/table:")
st.page_link(page_links.to("errata"), label="Errors in the papers", icon=":material/spellcheck:")
