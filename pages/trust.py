"""Trust: what does it save to trust a shuffler, a secure sum or a curator?"""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from functools import partial

import streamlit as st

from ui import lab_parts, page_frame, page_links, runner, shared, state, theme, words
from ui.menu import Page
from ui.trust import view

PAGE = Page(
    title="Whom to trust",
    icon="stairs",
    place=2.5,
    sidebar="arms budget lines own T n seed band runs hide",
    shows="trusted",
    epsilon_above=True,
)
page_frame.enter()

st.title("Whom to trust: what does each step save?")
experiment, dark = state.experiment(), theme.is_dark()
features = experiment.contexts is not None
view.slider(experiment)
opening = st.container()
result = runner.result_of(experiment, "trust")
with opening:
    if result is not None:
        st.markdown(shared.once("trust-verdict", result, None, partial(view.verdict, result)))
    view.who_sees_what(dark, features, result)
if result is None:
    st.info("Nothing computed yet. Press Run, or choose fewer users or trials in the sidebar.")
    page_frame.leave()

band = words.sentence(words.band(max(line.count for line in result.lines if line), experiment.view))
lab_parts.regret(
    "trust-curves", view.shown(result), message="**Lost rewards, user by user**", direct=not theme.is_phone()
)
st.caption(f"{band}.")
view.why(dark)
title = "What each step of trust saves, and what each method guarantees"
lab_parts.fold(title, "trust-steps", partial(view.saved, result), icon=":material/stairs:")
if features:
    st.page_link(page_links.to("contextual"), label="More on Users with features", icon=":material/groups:")
else:
    st.page_link(page_links.to("tradeoff"), label="More on Over ε", icon=":material/balance:")
    st.page_link(page_links.to("contextual"), label="The same where users have features", icon=":material/groups:")
