"""Explore: the regret of the chosen policies on the chosen arms."""

import ui.opening  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from bandit_core.spreadsheets import defused_frame
from ui import budget_panel, charts, exports, panels, runner, shell, state, theme, words

shell.enter()

experiment = state.experiment()
title, note = words.heading(experiment)
st.title(words.plain(title))
if note:
    st.caption(words.plain(note))

result = runner.shared_result()
if result is None:
    result = runner.preview_of(experiment)
    if result is None:
        shell.leave()
    st.info(words.preview(result, experiment), icon=":material/preview:")

st.markdown(words.verdict(result))
st.plotly_chart(
    charts.regret_chart(result, theme.is_dark(), direct_labels=not theme.is_phone()),
    config=charts.CONFIG,
    key="regret-chart",
    alt=charts.describe(result),
)
st.caption(words.legend(max(line.count for line in result.lines if line), experiment.view.band))
panels.cards(result)

pulls, bounds, budget, table, code, download = st.tabs(
    ["Pulls per arm", "Bounds", "Budget", "Table", "Code", "Download"]
)
with pulls:
    picture = charts.pulls_chart(result, theme.is_dark())
    st.plotly_chart(picture, config=charts.CONFIG, key="pulls", alt=charts.read_aloud(picture, "Pulls per arm"))
with bounds:
    panels.bounds_table(result)
with budget:
    budget_panel.draw(result)
with table:
    st.dataframe(defused_frame(result.curves), hide_index=True, width="stretch", alt="Regret curves as a table")
with code:
    st.caption("Run this where the project is installed; it prints the numbers of this picture.")
    st.code(exports.snippet(experiment), language="python")
with download:
    exports.downloads(result)
panels.explanation(result)
