"""Heavy tails: what it costs to count large rewards as 0, and why private methods do."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from ui import charts, exports, figures, lab_parts, page_frame, runner, state
from ui.heavy_tails import setting, theory, view
from ui.menu import Page

PAGE = Page(
    title="Heavy tails",
    icon="ssid_chart",
    place=5,
    fields="rewards against C old orders",
    old_fields="instance law v budget trust users printed",
    sidebar="arms budget lines own T n seed show price band runs hide",
    shows="robust",
    epsilon_above=True,
)
page_frame.enter()

st.title("Heavy tails: what if a few rewards outweigh all others?")
st.markdown(
    "One sale in a thousand can outweigh all others. The private methods count every reward beyond a level B as 0: "
    "then noise in proportion to B hides any single reward."
)
whole = state.experiment()
left, right = st.columns(2)
with left:
    lab_parts.epsilon(whole)
with right:
    view.exponent(whole)
chosen, experiment = setting.of(whole), setting.playable(whole)
result = runner.result_of(experiment, "heavy")
if result is not None:
    played = charts.without_bounds(result)
    lab_parts.regret("heavy-regret", played)
    st.caption(view.band_words(played))
if warning := view.no_help_words(experiment):
    st.info(warning)
title = "Change the arms, the rewards or the trust"
lab_parts.fold(title, "heavy-controls", lambda: view.controls(whole, chosen))
lab_parts.fold("What the cut-off throws away", "heavy-cut-off", lambda: view.cut_off(chosen, experiment), "rewards")
lab_parts.fold("How wild may the rewards be?", "heavy-v-fold", lambda: view.against_v(chosen, experiment), "against")
lab_parts.fold(
    "What theory says",
    "heavy-theory",
    lambda: theory.draw(experiment, result, chosen.trust == "local"),
    *("C", "old", "orders"),
)
lab_parts.fold("How is this computed?", "explanation", lambda: view.constants(chosen, experiment, result))
if result is not None:
    figures.fold_for_print(exports.for_file(played), exports.file_name(experiment))
