"""Budgets of their own: ignore answers below a threshold, or weigh each by its noise?"""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from functools import partial
from typing import Any

import streamlit as st

from bandit_core.spec import own_data
from ui import exports, figures, lab_parts, page_frame, state, threshold_view
from ui.menu import Page

PAGE = Page(
    title="Budgets of their own",
    icon="filter_alt",
    place=4,
    fields="check min",
    sidebar="budget arms T n seed",
    shows="spread",
)
page_frame.enter()

st.title("Budgets of their own: ignore noisy answers, or weigh them?")
experiment = state.experiment()
distribution = threshold_view.distribution(experiment)
search = threshold_view.search(distribution)
threshold = threshold_view.slider(search, distribution)
st.markdown(threshold_view.verdict(search))
make = partial(threshold_view.cost_chart, search, distribution, threshold)
move: Any = {"on_select": own_data.bound(threshold_view.clicked), "selection_mode": "points"}
figures.draw("cost", experiment, make, "Predicted cost", threshold, tall=True, **move)
st.caption(threshold_view.legend(search, distribution, threshold))
threshold_view.simulated(experiment, distribution, threshold, search.best_b)
drawn = exports.telling(
    partial(make, False),
    lambda: threshold_view.made(experiment, distribution),
)
lab_parts.fold("Change the users", "threshold-others", lambda: threshold_view.other_users(experiment, distribution))
lab_parts.fold("Is the prediction right?", "threshold-check", lambda: threshold_view.check_fold(distribution), "check")
lab_parts.fold("How is this computed?", "explanation", threshold_view.explanation)
lab_parts.fold_for_print(drawn, "predicted-cost")
