"""Trade-off: how much privacy can you afford?"""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from bandit_core.studies.sweep import distinct_lines
from ui import charts, page_frame, runner, state, theme, tradeoff_view
from ui.menu import Page

PAGE = Page(title="Trade-off", icon="balance", place=2, fields="from to goal limit")
page_frame.enter()

experiment = distinct_lines(state.experiment())
st.title("How much privacy can you afford?")
if experiment.contexts is not None:
    st.info("This page compares arms; the experiment has users with features. Their page is Contextual.")
    page_frame.leave()
if not tradeoff_view.has_private_lines(experiment):
    st.info("None of the policies is private, so there is nothing to trade. Add one in the sidebar.")
    page_frame.leave()

epsilons, quantity = tradeoff_view.controls()
result = runner.sweep_of(experiment, epsilons)
if result is None:
    st.info("Nothing computed yet. Press Run, or choose fewer users or trials in the sidebar.")
    page_frame.leave()

st.markdown(tradeoff_view.verdict(result))
chosen = st.plotly_chart(
    tradeoff_view.chart(result, quantity, theme.is_dark()),
    config=charts.CONFIG,
    key="tradeoff-chart",
    on_select="rerun",
    selection_mode="points",
    alt=tradeoff_view.describe(result),
)
st.caption(tradeoff_view.legend(result))
tradeoff_view.opened_point(result, chosen)
tradeoff_view.question(experiment)
tradeoff_view.tables(result)
tradeoff_view.explanation(experiment)
