"""Does a better counter make a better bandit? Policies that play on running sums, and one that needs none."""

from __future__ import annotations

import math

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from bandit_core import InputError, load_preset, simulate
from bandit_core.experiments.experiment import Experiment
from ui import charts, gallery, render_lock, theme, words

PRESET = "better-counters"
_SURE = 3.0  # standard errors of a paired difference


def experiment_at(epsilon: float) -> Experiment:
    """The lesson's experiment with all its budgets at ``epsilon``."""
    lesson = load_preset(PRESET)
    lines = lesson.spec()["lines"]
    budget = {"kind": "fixed", "value": epsilon}
    return lesson.with_changes(
        lines=[{**line, "epsilon": budget} if "epsilon" in line else line for line in lines], title="", note=""
    )


@st.cache_data(max_entries=32, show_spinner=False)
def _losses(epsilon: float) -> np.ndarray:
    """Regret of every line and trial at the end, shape (lines, trials)."""
    lines = simulate(experiment_at(epsilon)).lines
    return np.array([line.regret[:, -1] for line in lines if line is not None])


def verdict(losses: np.ndarray) -> str:
    """What the four lines say: without privacy, hybrid counter, k-ary counter, batches; shape (lines, trials)."""
    _, hybrid, signed, batches = losses.mean(axis=1)

    def surely(less: np.ndarray, more: np.ndarray) -> bool:
        apart = more - less
        return bool(apart.mean() > _SURE * apart.std(ddof=1) / math.sqrt(len(apart)))

    gain = (
        f"DP-UCB loses **{words.count(round(hybrid))}** on hybrid counters, **{words.count(round(signed))}** on k-ary"
    )
    gain += " trees"
    if surely(losses[2], losses[1]):
        gain += ": a better counter helps"
    rest = "DP-KLUCB, which publishes one noisy sum for each batch and needs no counter, loses "
    rest += f"**{words.count(round(batches))}**"
    if surely(losses[3], losses[2]):
        return f"{gain}. Still, {rest}, which is less."
    if surely(losses[2], losses[3]):
        return f"{gain}. Here running sums are ahead: {rest}."
    return f"{gain}. {rest}, which {losses.shape[1]} runs cannot tell apart from the k-ary trees."


def chart(losses: np.ndarray, experiment: Experiment) -> go.Figure:
    """Mean loss of every line with twice its standard error."""
    dark = theme.is_dark()
    labels = [experiment.label(line) for line in range(len(experiment.lines))]
    colours = theme.line_colours(experiment, dark)
    figure = go.Figure()
    figure.add_bar(
        x=losses.mean(axis=1),
        y=labels,
        orientation="h",
        marker_color=colours,
        showlegend=False,
        name="loss",
        error_x={"array": 2 * losses.std(axis=1, ddof=1) / math.sqrt(losses.shape[1]), "color": theme.quiet(dark)},
        hovertemplate="%{x:.0f}<extra></extra>",
    )
    charts.style(figure, 260, dark)
    figure.update_layout(hovermode="closest")
    figure.update_xaxes(title=f"regret after {words.count(experiment.horizon)} users", rangemode="tozero")
    figure.update_yaxes(autorange="reversed", automargin=True, title=None)
    return figure


def draw(epsilon: float) -> None:
    """The whole part."""
    experiment = experiment_at(epsilon)
    st.markdown("**Does a better counter make a better bandit?** Played now, all private lines at equal ε")
    try:
        with render_lock.computing():
            losses = _losses(epsilon)
    except InputError as refused:  # more than this server computes
        st.info(str(refused))
        return
    figure = chart(losses, experiment)
    told = charts.read_aloud(figure, "Regret of bandits on two counters and of one without counters")
    st.plotly_chart(figure, key="sums-bandits", config=charts.CONFIG, alt=told)
    means = " and ".join(f"{mean:g}" for mean in experiment.means)
    st.caption(
        f"{verdict(losses)} Arms that pay with chance {means}; {words.count(experiment.horizon)} users, "
        f"{experiment.trials} runs, bars with two standard errors."
    )
    gallery.link_to_explore("Explore this experiment", experiment)
