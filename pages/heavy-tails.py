"""Heavy tails: what truncation throws away, and why."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import plotly.graph_objects as go
import streamlit as st

from bandit_core.simulation.results import Result
from ui import charts, exports, figures, page_frame, runner, shared, state, theme, words
from ui.heavy_tails import setting, theory, view
from ui.menu import Page

PAGE = Page(
    title="Heavy tails",
    icon="ssid_chart",
    place=5,
    fields="rewards against C old orders",
    old_fields="instance law v budget trust users printed",
    sidebar="arms budget lines own T n seed x y show price band runs hide",
    shows="robust",
)
page_frame.enter()

st.title("What if a few rewards outweigh all others?")
st.markdown(
    "Sales, insurance claims or price jumps have no largest value, and often no finite variance: one reward in a "
    "thousand can outweigh all others. Noise that hides such a reward would hide everything else, too. So the private "
    "policies here **count rewards beyond a level B as 0**. That throws the tail away and makes estimates wrong by a "
    "little (bias), but then noise in proportion to B is enough for privacy. As more rewards arrive, B grows and both "
    "errors shrink."
)
whole = state.experiment()
chosen = view.controls(whole)
experiment = setting.playable(whole)
dark = theme.is_dark()

tail, parts = st.columns(2)
n = view.sample_slider()
with tail:
    st.markdown("**What is thrown away** of the best arm's rewards")
    picture = shared.drawing(
        "tail",
        experiment,
        (n, dark),
        lambda: view.tail_chart(chosen, experiment, n, dark),
        lambda drawn: charts.read_aloud(drawn, "What is thrown away"),
    )
    figures.show(picture, "tail")
    st.caption(view.tail_words(chosen, experiment, n))
with parts:
    st.markdown("**What the estimate loses**: truncation, noise, chance")
    picture = shared.drawing(
        "errors",
        experiment,
        (n, dark),
        lambda: view.error_chart(chosen, experiment, n, dark),
        lambda drawn: charts.read_aloud(drawn, "Bias, noise and chance"),
    )
    figures.show(picture, "errors")
    st.caption(view.error_words(chosen))

st.subheader("Regret")
told = shared.of_experiment("constants", experiment, chosen, lambda: view.constants_words(chosen, experiment))
st.markdown(told)


def chart(result: Result) -> go.Figure:
    """The page's picture of a result."""
    return charts.regret_chart(charts.without_bounds(result), dark)


result = runner.result_of(experiment, "heavy")
if result is not None:
    played = result
    st.markdown(shared.kept("verdict", played, None, lambda: words.verdict(played)))
    picture = shared.picture(
        "heavy",
        played,
        dark,
        lambda: chart(played),
        lambda _: charts.describe(played),
    )
    figures.show(picture, "heavy-regret")
    st.caption(view.band_words(played))
    figures.fold_for_print(exports.for_file(charts.without_bounds(played)), exports.file_name(experiment))
view.link_to_explore(experiment)
view.against_v(chosen, experiment, dark)
view.epoch_table(experiment)
theory.draw(experiment, result, chosen.trust == "local", dark)
