"""Contextual: learning what suits whom, while features and rewards stay on the phones."""

import ui.preload  # noqa: F401 - before all other imports, see there

# isort: split
from functools import partial

import streamlit as st

from bandit_core.studies.tradeoff import levels
from ui import charts, exports, lab_parts, page_frame, panels, runner, shared, state, watch, words
from ui.contextual import data, view
from ui.menu import Page
from ui.trust import view as trust

PAGE = Page(
    title="Users with features",
    icon="groups",
    place=6,
    fields="C orders shapes_beta",
    old_fields="eps d K beta upto",
    sidebar="arms budget lines own batch delay visits T n seed show price band runs hide",
    shows="features",
    epsilon_above=True,
    instead="data-source",
)
page_frame.enter()

st.title("Users with features: personalise without knowing anyone?")
opening = st.container(key="contextual-opening")
with st.expander("Change the users", key="contextual-users"):
    own = data.panel()
    if own is None:
        view.controls(state.experiment())
if own is None:
    experiment, name = state.experiment(), "contextual"
else:
    experiment, name = own.experiment, data.RUN
ladder = len(levels(experiment)) > 2

with opening:
    st.markdown("What suits a person depends on the person's features. Who may see them?")
    if own is None:
        lab_parts.epsilon(experiment)
    else:
        st.subheader(words.plain(experiment.title))
    result = runner.result_of(experiment, name)
    if result is None:
        result = runner.preview_of(experiment)
        if result is not None:
            st.info(words.preview(result, experiment) + view.warm_up_words(result), icon=":material/preview:")
    if result is not None:
        played = charts.without_bounds(result)
        message = shared.once("trust-verdict", result, None, partial(trust.verdict, result)) if ladder else ""
        lab_parts.regret("regret-chart", played, own is None, message, direct=True)
        st.caption(words.sentence(words.band(max(line.count for line in result.lines if line), experiment.view)) + ".")
if result is not None and ladder:
    lab_parts.fold("What each step of trust saves", "contextual-steps", lambda: trust.saved(played))
title = "What leaves the phones if you trust no one"
lab_parts.fold(title, "contextual-messages", lambda: view.messages_panel(experiment))
watch.fold("Watch the messages arrive", experiment, "contextual-watch")
if result is not None:
    lab_parts.fold("How many users get what is best for them?", "contextual-share", lambda: view.learned(played))
    lab_parts.fold(
        "How rare are close calls?",
        "contextual-regimes",
        lambda: view.regimes_panel(played),
        *("C", "orders", "shapes_beta"),
    )
    lab_parts.fold("The methods one by one", "contextual-lines", lambda: panels.lines(played))
    lab_parts.fold_for_print(exports.for_file(played), exports.file_name(experiment))
lab_parts.fold("What is private here, and how?", "explanation", partial(view.explanation, result))
