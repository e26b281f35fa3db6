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

st.title("Theory: what can be promised, at what cost?")
st.markdown("Choose what “private” means.")
dark = theme.is_dark()
promise = definitions.choice()
definitions.pictures(promise, dark)
definitions.in_words(promise)

experiment = state.experiment()
found = catalogue.entries(experiment)
st.markdown(bounds.verdict(experiment, found))
asked = any(state.page_field(name, "") for name in ("about", "laws", "kind", "bound", "axis", "old"))
fold = st.expander(f"All {len(found)} bounds", asked, key="theory-bounds", icon=":material/table:", on_change="rerun")
if fold.open:
    with fold:
        bounds.draw(experiment, found)
st.page_link(page_links.to("errata"), label="Errors in the papers", icon=":material/spellcheck:")
