"""Theory: what "private" may mean, and what it must cost."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from bandit_core.experiments import catalogue
from ui import page_frame, page_links, state, theme
from ui.menu import Page
from ui.theory import bounds, definitions

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

st.title("What can be promised, and what must it cost?")
st.markdown(
    "“Private” can mean several things: who is trusted, and what stays hidden from whom? Choose a promise to see what "
    "it hides, and which other promises come with it."
)
dark = theme.is_dark()
promise = definitions.choice()
definitions.pictures(promise, dark)
definitions.in_words(promise)

st.subheader("What theory knows: every bound in one place")
experiment = state.experiment()
found = catalogue.entries(experiment)
st.markdown(bounds.verdict(experiment, found))
shown = bounds.filters(found)
if not shown:
    st.info("No bound has all three properties. Choose “all” in one of them.")
else:
    bounds.table(shown, experiment)
    entry = bounds.choose(shown, found)
    bounds.card(entry, experiment)
    bounds.picture(entry, experiment, dark)
st.page_link(page_links.to("errata"), label="What is printed wrongly in the papers?", icon=":material/spellcheck:")
