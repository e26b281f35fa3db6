"""Where did the budget go: epsilon that one user's reward has spent, against time."""

from __future__ import annotations

from dataclasses import replace
from html import escape

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from ui import charts, diagrams, exports, legends, shared, theme, words


def _private(experiment: Experiment) -> list[int]:
    """The lines that are drawn."""
    return [
        number
        for number, line in enumerate(experiment.lines)
        if line.entry.privacy != "none" and number not in experiment.view.hidden
    ]


def _spent(result: Result) -> list[tuple[int, np.ndarray]]:
    experiment = result.experiment
    return [
        (number, experiment.lines[number].entry.spent(experiment.setups[number], result.times))
        for number in _private(experiment)
    ]


def chart(result: Result, dark: bool) -> go.Figure:
    """Accumulated epsilon of one reward's user, a step line per private line."""
    experiment = result.experiment
    colours = theme.line_colours(experiment, dark)
    figure = go.Figure()
    for number, spent in _spent(result):
        privacy = experiment.lines[number].entry.privacy
        figure.add_scatter(
            x=result.times,
            y=spent,
            line_shape="hv",
            **charts.marked(privacy, colours[number], len(spent)),
            name=f"{theme.TRUST_SIGNS[privacy]} {escape(experiment.label(number))}",
            legendgroup=f"line-{number}",
            hovertemplate="ε = %{y:.4~g}",
        )
    legends.collect_lines(figure, experiment, _private(experiment), colours, legends.MOST)
    charts.style(figure, 360, dark)
    figure.update_xaxes(title="users so far", **charts.USERS_LOG)
    figure.update_yaxes(title="ε spent on one reward", rangemode="tozero")
    return figure


def draw(result: Result) -> None:
    """The panel: who sees what, the guarantee of every line in words, and the picture."""
    experiment = result.experiment
    dark = theme.is_dark()
    found = dict.fromkeys(line.entry.privacy for line in experiment.lines)
    for column, privacy in zip(st.columns(max(3, len(found))), found, strict=False):
        column.image(diagrams.who_sees_what(privacy, dark), width=diagrams.WIDTH, alt=diagrams.in_words(privacy))
    for number, line in enumerate(experiment.lines):
        guarantee = line.entry.guarantee(experiment.setups[number])
        sign = theme.TRUST_SIGNS[line.entry.privacy]
        st.markdown(f"{sign} **{words.plain(experiment.label(number))}**: {words.plain(guarantee.words)}")
    if any(line.entry.privacy != "none" for line in experiment.lines):
        exports.releases_button(experiment)
    if not _private(experiment):
        return
    picture = shared.picture(
        "budget",
        replace(  # whatever was played: the trials do not matter here
            result, experiment=experiment.model_copy(update={"seed": 0, "trials": 1}), lines=(), along=()
        ),
        dark,
        lambda: chart(result, dark),
        lambda drawn: charts.read_aloud(drawn, "Epsilon spent on one reward against the number of users"),
    )
    st.plotly_chart(picture, config=charts.CONFIG, key="budget", alt=picture.alt)
    st.caption(
        "The largest ε that anything published up to then spends on a single user's reward. It is flat where a reward "
        "enters one release only, and grows where it is released again and again. Local and central ε are different "
        "promises: the same number does not protect equally. " + words.measures(experiment)
    )
