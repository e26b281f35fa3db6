"""Budgets of their own: ignore answers below a threshold, or weigh each by its noise?"""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from functools import partial

import streamlit as st

from ui import exports, figures, lab_parts, page_frame, state, threshold_view
from ui.menu import Page

PAGE = Page(
    title="Budgets of their own",
    icon="filter_alt",
    place=4,
    fields="check",
    sidebar="budget check:arms check:seed",
    shows="spread",
)
page_frame.enter()

st.title("Ignore noisy answers, or weigh each by its noise?")
experiment = state.experiment()
distribution = threshold_view.distribution(experiment)
users = distribution.model_dump_json()
search = threshold_view.search(distribution)
threshold = threshold_view.slider(search, users)
st.markdown(threshold_view.verdict(search))
make = partial(threshold_view.cost_chart, search, threshold)
figures.draw("cost", experiment, make, "Predicted cost", threshold, tall=True)
st.caption(threshold_view.legend(search, distribution, threshold))
drawn = exports.telling(
    partial(make, False),
    lambda: threshold_view.made(experiment, distribution),
)
lab_parts.fold("Change the users", "threshold-others", lambda: threshold_view.other_users(experiment, distribution))
lab_parts.fold(
    "Which users are kept?",
    "threshold-kept",
    lambda: threshold_view.kept_users(experiment, distribution, threshold),
)
lab_parts.fold("Is the prediction right?", "threshold-check", lambda: threshold_view.check_fold(distribution), "check")
lab_parts.fold("How is this computed?", "explanation", threshold_view.explanation)
figures.fold_for_print(drawn, "predicted-cost")
