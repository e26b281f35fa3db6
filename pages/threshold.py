"""Threshold: whose answers are too noisy to keep?"""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
import streamlit as st

from bandit_core.spec.number_text import percent
from ui import charts, exports, figures, page_fields, page_frame, runner, shared, state, theme, threshold_view, words
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

st.title("Below which ε should a user's answer be ignored?")
experiment, dark = state.experiment(), theme.is_dark()
distribution = threshold_view.distribution()
users = distribution.model_dump_json()
search = threshold_view.search(distribution, users)
st.markdown(threshold_view.verdict(search))
threshold = threshold_view.slider(search, users)
st.caption(f"{words.PUBLIC['budgets']} {words.PUBLIC['eps_min']}")
left, right = st.columns(2)
with left:
    st.markdown("**Users' budgets** and the threshold")
    picture = shared.drawing(
        "users",
        experiment,
        (threshold, dark),
        lambda: charts.density_chart(distribution, threshold, dark, height=330),
        lambda _: charts.read_users_aloud(distribution, threshold),
    )
    figures.show(picture, "density")
    st.caption(
        f"Dashed: ε_min = {threshold:.3g}, as the slider says; {percent(distribution.share_above(threshold))} of the "
        "users' answers are kept."
    )
with right:
    st.markdown("**Predicted cost** of each threshold")
    picture = shared.drawing(
        "cost",
        experiment,
        (threshold, dark),
        lambda: threshold_view.cost_chart(search, threshold, dark),
        lambda drawn: charts.read_aloud(drawn, "Predicted cost"),
    )
    figures.show(picture, "cost")
    st.caption(threshold_view.legend(distribution, threshold))
drawn = exports.telling(
    lambda: threshold_view.cost_chart(search, threshold, False),
    lambda: threshold_view.made(experiment, distribution),
    shared.is_own(experiment),
)
figures.fold_for_print(drawn, "predicted-cost")

st.subheader("Is the prediction right?")
st.markdown(
    "The check plays both mechanisms at several thresholds on the experiment's arms, with many users. If the "
    "prediction is right, the points of regret against V lie on a straight line."
)
check = threshold_view.check_experiment(distribution)
if check and page_fields.toggle(
    "Check by simulation",
    "check",
    "check",
    threshold_view.size_words(check),
    on_change=lambda: state.adopt(state.experiment()),  # the sidebar gets the controls of the check
):
    result = runner.result_of(threshold_view.check_users(check), "threshold")
    if result is not None:
        threshold_view.check_panel(result)
threshold_view.explanation()
