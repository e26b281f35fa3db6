"""Heavy tails: what it costs to count large rewards as 0, and why private methods do."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from functools import partial

import streamlit as st

from ui import exports, lab_parts, page_frame, runner, shared, state
from ui.heavy_tails import view
from ui.menu import Page

PAGE = Page(
    title="Heavy tails",
    icon="ssid_chart",
    place=5,
    fields="rewards against focus",
    old_fields="instance law v budget trust users printed C old orders",
    sidebar="arms budget lines own T n seed show price band bounds runs hide",
    shows="robust",
    epsilon_above=True,
)
page_frame.enter()

st.title("Heavy tails: what if a few rewards outweigh all others?")
st.markdown(
    "The private methods count every reward beyond a level B as 0. Then noise in proportion to B hides any one reward."
)
whole = state.experiment()
left, middle, right = st.columns(3)
with left:
    lab_parts.epsilon(whole)
with middle:
    view.exponent(whole)
with right:
    view.trust(whole)
chosen, experiment = view.of(whole), view.playable(whole)
opening, line = st.container(), None
result = runner.result_of(experiment, "heavy")
with opening:
    if result is not None:
        st.markdown(shared.once("losses", result, None, partial(lab_parts.losses, result)))
        view.against_v(chosen, experiment)
if result is not None:
    line = view.curves(experiment, result)
if warning := view.no_help_words(experiment):
    st.info(warning)
lab_parts.fold("Change the arms or the rewards", "heavy-controls", lambda: view.controls(whole, chosen))
lab_parts.fold("What the cut-off throws away", "heavy-cut-off", lambda: view.cut_off(chosen, experiment), "rewards")
if result is not None:
    lab_parts.fold("What theory says", "heavy-theory", partial(view.theory, experiment, result, line))
lab_parts.fold("How is this computed?", "explanation", lambda: view.constants(chosen, experiment, result))
if result is not None:
    lab_parts.fold_for_print(exports.for_file(result), exports.file_name(experiment))
