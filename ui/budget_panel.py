"""Where did the budget go: epsilon that one user's reward has spent, against time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from bandit_core.spec.number_text import write_number
from bandit_core.theory import definitions
from ui import charts, diagrams, exports, figures, theme, words

DELTA = 1e-6  # at which a tight account is told


def _private(experiment: Experiment) -> list[int]:
    """The private lines that are drawn."""
    return [number for number in experiment.drawn if experiment.lines[number].entry.privacy != "none"]


def chart(result: Result, dark: bool) -> go.Figure:
    """Accumulated epsilon of one reward's user, a step line per private line."""
    experiment, curves = result.experiment, []
    for number in _private(experiment):
        spent = experiment.lines[number].entry.spent(experiment.setups[number], result.times)
        colour = theme.line_colours(experiment, dark)[number]
        steps = {"line": {"width": 2.5, "color": colour, "shape": "hv"}}
        look = {"hover": "ε = %{y:.4~g}", "more": steps}
        curves.append(charts.line_curve(experiment, number, result.times, spent, colour, **look))
    named = charts.collect_lines(curves, experiment, _private(experiment), charts.MOST)
    users, up = {"title": "users so far", **charts.USERS_LOG}, {"title": f"ε spent on one {_unit(experiment)}"}
    return charts.draw(named, users, {**up, "rangemode": "tozero"}, 360, dark)


def _unit(experiment: Experiment) -> str:
    return "reward" if experiment.visits == 1 else "person"


def arithmetic(experiment: Experiment, number: int) -> str:
    """What one answer of a private line may spend where people come again: basic composition, and what tight allows."""
    line, setup = experiment.lines[number], experiment.setups[number]
    visits, budget = experiment.visits, line.epsilon
    if line.entry.privacy == "none" or budget is None or visits == 1:
        return ""
    if budget.fixed is None:
        return f"One answer may spend the person's ε / {visits}."
    if setup.visits_delta > 0:
        message = f"m = {visits}, ε = {budget.fixed:g} and δ = {write_number(setup.visits_delta)}"
        return (
            f"One answer may spend ε′ = **{setup.fixed_epsilon:.4g}** by tight composition: m randomised responses at "
            "ε′ keep ε and δ where the sum over k of C(m, k) (e^(k ε′) − e^(ε + (m−k) ε′))₊ / (1 + e^ε′)^m is at most "
            f"δ, with {message}. Basic composition would allow ε / m = {budget.fixed / visits:.4g}, with no δ."
        )
    part = f"ε / visits = {budget.fixed:g} / {visits} = **{setup.fixed_epsilon:.4g}**"
    guarantee = line.entry.guarantee(setup)
    if guarantee.delta > 0:
        growth = "m" if guarantee.model == "local" else "m e^((m−1) ε′)"
        return (
            f"One reward may spend ε′ = {part} with δ′ = **{setup.parameters.delta:.2g}**: {visits} of them come to "
            f"m ε′ and {growth} δ′ with m = {visits}, together {guarantee.budget}."
        )
    if line.entry.privacy == "central":
        return (
            f"One reward may spend {part}. A release that adds up all {visits} rewards of a person changes {visits} "
            f"times as much as with one reward; if the rewards are in {visits} releases, their budgets add up."
        )
    tight = definitions.tight_part(budget.fixed, visits, DELTA)
    more = f"{tight:.4g}" if tight > 1.001 * setup.fixed_epsilon else "no more"
    return f"One answer may spend {part} by basic composition; with δ = 10⁻⁶ the tight account would allow {more}."


def draw(result: Result) -> None:
    """The panel: who sees what, the guarantee of every line in words, and the picture."""
    experiment = result.experiment
    dark = theme.is_dark()
    promises = dict.fromkeys(line.entry.privacy for line in experiment.lines)
    for column, privacy in zip(st.columns(max(3, len(promises))), promises, strict=False):
        column.image(diagrams.who_sees_what(privacy, dark), width=diagrams.WIDTH, alt=diagrams.in_words(privacy))
    for number, line in enumerate(experiment.lines):
        guarantee = line.entry.guarantee(experiment.setups[number])
        sign = theme.TRUST_SIGNS[line.entry.privacy]
        promise = guarantee.words.removeprefix("no privacy: ")  # which the sign says, and most such labels, too
        st.markdown(f"{sign} **{words.plain(experiment.label(number))}**: {words.plain(promise)}")
        if message := arithmetic(experiment, number):
            st.caption(message)
    if any(line.entry.privacy != "none" for line in experiment.lines):
        exports.releases_button(experiment)
    if not _private(experiment):
        return
    # Whatever was played: the trials do not matter here.
    alike = experiment.model_copy(update={"seed": 0, "trials": 1})
    what = f"Epsilon spent on one {_unit(experiment)} against the number of users"
    figures.draw("budget", replace(result, experiment=alike, lines=(), companions=()), partial(chart, result), what)
    st.caption(
        f"The largest ε that the releases so far spend on a single {_unit(experiment)}. It is flat where a reward "
        "enters only one release, and grows where a reward is released repeatedly"
        + ("" if experiment.visits == 1 else ", and with the first visits of a person who always returns")
        + ". Local and central ε are different guarantees: the same number does not protect equally. "
        + words.measures(experiment)
    )
