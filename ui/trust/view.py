"""The parts of the page Trust: the budget, what each step saves, where lines change places, and who sees what."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment
from bandit_core.experiments.shared_budget import at_shared, shared_budget
from bandit_core.model import MEASURES, PROMISES, Measure
from bandit_core.simulation.results import Result
from bandit_core.studies import best_by_trust
from bandit_core.studies.sweep import SweepResult, distinct_lines
from bandit_core.studies.trust_steps import (
    Crossing,
    Step,
    budget_crossings,
    crossings,
    kept,
    ladder,
    level_of,
    standing,
    steps,
)
from ui import charts, diagrams, epsilon_grid, page_fields, theme, tradeoff_view, words

GRID = epsilon_grid.between(0.1, 10)


def slider(experiment: Experiment) -> None:
    """The budget that the private lines share, as a control of the experiment."""
    shared = shared_budget(experiment)
    if shared is None or shared.fixed is None:
        st.caption("The private lines have different budgets, so their steps change ε as well as trust.")
        return
    page_fields.changes(
        "trust-epsilon",
        shared.fixed,
        partial(
            st.select_slider,
            "Privacy budget ε, the same for all: ← more private · less regret →",
            sorted({*GRID, shared.fixed}),
            shared.fixed,
            format_func=lambda value: f"{value:g}",
            help="How much may be learned about one user's reward, by whoever the promise hides it from.",
        ),
        lambda chosen: best_by_trust.moved(experiment, float(chosen)),
    )


def _rung(experiment: Experiment, line: int) -> str:
    """Who is trusted, with the delta where there is one: ``a shuffler is trusted, δ = 1e-6``."""
    return ", ".join(filter(None, (PROMISES[level_of(experiment, line)].who, kept(experiment, line).failure)))


def _step_words(experiment: Experiment, step: Step) -> str:
    """The step in words: ``nobody is trusted → a secure sum is trusted``."""
    return " → ".join(_rung(experiment, line) for line in (step.stronger, step.weaker))


def _by_measure(found: Sequence[Step]) -> dict[Measure, list[Step]]:
    """The steps of each ladder, pure ones first."""
    ladders: dict[Measure, list[Step]] = {}
    for step in found:
        ladders.setdefault(step.measure, []).append(step)
    return ladders


def verdict(result: Result) -> str:
    """What each step saves at the horizon, no more surely than the errors allow."""
    experiment, found = result.experiment, steps(result)
    if not found:
        return "To see what trust saves, choose lines of at least two promises in the sidebar."
    users, ladders = words.count(experiment.horizon), _by_measure(found)
    told = []
    for measure, climbed in ladders.items():
        head = f"{words.sentence(MEASURES[measure].name)}: " if len(ladders) > 1 else ""
        told.append(words.sentence(f"{head}{'; '.join(_saved(experiment, step) for step in climbed)}."))
    return f"Lost rewards after {users} users, step by step. {' '.join(told)}"


def _saved(experiment: Experiment, step: Step) -> str:
    """What one step saves, or costs."""
    if step.same:
        title = words.plain(experiment.lines[step.played[1]].entry.title)
        return f"{_step_words(experiment, step)}: nothing, {title} needs less trust and loses least"
    amount = f"**{words.with_error(abs(step.saved), step.stderr)}**"
    saves = f"{amount} {'fewer' if step.saved > 0 else 'more'}" if step.clear else "no clear difference"
    return f"{_step_words(experiment, step)}: {saves}"


def bars(result: Result, dark: bool) -> go.Figure:
    """A bar for each step of trust: lost rewards that it saves, and the interval that decides if it is clear."""
    experiment, found = result.experiment, steps(result)
    figure, ladders, rows = go.Figure(), _by_measure(found), []
    for measure, climbed in ladders.items():
        if len(ladders) > 1:
            rows.append(f"<b>{escape(MEASURES[measure].name)}</b>")
        for step in climbed:
            signs = [PROMISES[level_of(experiment, line)].sign for line in (step.stronger, step.weaker)]
            rows.append(f"{' → '.join(signs)} {_in_two_rows(escape(_rung(experiment, step.weaker)))}")
            _bar(figure, len(rows) - 1, rows[-1], step, theme.LOOKS[level_of(experiment, step.weaker)].colour, dark)
    charts.style(figure, 120 + 52 * max(1, len(rows)), dark)
    figure.update_layout(hovermode="closest", bargap=0.35)
    ends = [end for step in found for end in (step.saved, step.low, step.high) if math.isfinite(end)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    wide = (high - low) or 1.0
    figure.update_xaxes(title="lost rewards saved", range=[low - 0.05 * wide, high + 1.2 * wide])
    places = list(range(len(rows)))
    figure.update_yaxes(
        tickvals=places, ticktext=rows, range=[max(1, len(rows)) - 0.5, -0.5], automargin=True, zeroline=False
    )
    return figure


def _in_two_rows(rung: str) -> str:
    """The name of a step cut before "is trusted" or its delta, for narrow windows."""
    return rung.replace(", ", ",<br>", 1) if ", " in rung else rung.replace(" is ", "<br>is ", 1)


def _bar(figure: go.Figure, place: int, name: str, step: Step, colour: str, dark: bool) -> None:
    """One step, with its whisker and its number."""
    whisker = charts.error_bars([step.saved], [step.low], [step.high])
    figure.add_bar(
        x=[step.saved],
        y=[place],
        name=name,
        orientation="h",
        marker={"color": colour},
        error_x={**whisker, "color": theme.ink(dark), "thickness": 1.5},
        hovertemplate="%{x:,.4~g}",
        showlegend=False,
    )
    figure.add_annotation(
        x=max(0.0, step.saved, float(np.nan_to_num(step.high))),
        y=place,
        text=words.with_error(step.saved, step.stderr).replace("-", "−"),
        xanchor="left",
        xshift=4,
        showarrow=False,
    )


def unlike_steps(result: Result) -> str:
    """Which budgets are not pure, and why their steps stand apart."""
    apart = any(
        kept(result.experiment, step.stronger).measure != step.measure
        for step in steps(result)
        if step.measure != "pure"
    )
    told = (
        "Promises with a δ have steps of their own, because they promise less than pure ones whoever is trusted. Their "
        "first step begins at a pure line, which keeps the promise with a δ, too; that step changes both whom one "
        "trusts and what is promised."
    )
    return " ".join(filter(None, (words.measures(result.experiment), told if apart else "")))


def _told(experiment: Experiment, what: str, found: Sequence[Crossing], at: Callable[[float], str]) -> str:
    if not found:
        return f"{what}, the order of no two of these lines clearly changes."
    told = []
    for each in found:
        first, then = (words.plain(_name(experiment, line)) for line in (each.first, each.then))
        told.append(f"**{first}** loses less at {at(each.low)}, **{then}** at {at(each.high)}")
    return f"{what}, the order of lines clearly changes: {'; '.join(told)}."


def _name(experiment: Experiment, line: int) -> str:
    """The promise of a line, which no budget changes, with its policy."""
    entry = experiment.lines[line].entry
    return f"{entry.promise.sign} {entry.title}"


def along_users(result: Result) -> str:
    """Between which numbers of users two lines change places."""
    return _told(
        result.experiment,
        "As users come",
        crossings(result),
        lambda users: f"{words.number(users)} users",
    )


def along_budgets(result: SweepResult) -> str:
    """Between which budgets two lines change places at the horizon."""
    return _told(
        result.experiment,
        f"As ε grows, at {words.count(result.experiment.horizon)} users",
        budget_crossings(result),
        lambda epsilon: f"ε = {epsilon:g}",
    )


def budgets(experiment: Experiment) -> tuple[float, ...]:
    """The budgets of the second picture, among them that of the slider."""
    here = tradeoff_view.marked(experiment)
    return tuple(sorted({*epsilon_grid.curve(GRID[0], GRID[-1], tradeoff_view.POINTS), *([here] if here else [])}))


def of_all_budgets(experiment: Experiment) -> Experiment:
    """What is played at every budget: of Home's picture the methods of the smallest one, too."""
    here = best_by_trust.position(experiment)
    if here is None:
        return distinct_lines(experiment)
    return at_shared(best_by_trust.moved(experiment, GRID[0]), here)


def table(result: Result) -> pd.DataFrame:
    """A row per promise: what the run really keeps, who is trusted with what, and what it loses."""
    experiment, stand = result.experiment, standing(result)
    climbed = steps(result)
    rows = []
    for line in ladder(experiment):
        played = result.lines[stand[line]]
        has, promise = kept(experiment, line), PROMISES[level_of(experiment, line)]
        saved = [
            f"{words.with_error(step.saved, step.stderr)} after {PROMISES[level_of(experiment, step.stronger)].sign}"
            for step in climbed
            if step.weaker == line
        ]
        rows.append(
            {
                "promise": f"{promise.sign} {promise.title}",
                "policy": experiment.lines[stand[line]].entry.title,
                "budget": has.budget or "–",
                "counted in": MEASURES[has.measure].name if has.budget else "–",
                "lost rewards": "–" if played is None else words.with_error(played.mean[-1], played.stderr[-1]),
                "saved by this step": "; ".join(saved) or "–",
                "trusted": promise.trusted,
                "hidden": promise.unit,
            }
        )
    return pd.DataFrame(rows)


def who_sees_what(experiment: Experiment, dark: bool) -> None:
    """A drawing for each promise of the ladder, with its guarantee in words, three beside each other."""
    rungs = ladder(experiment)
    for start in range(0, len(rungs), 3):
        for column, line in zip(st.columns(3), rungs[start : start + 3], strict=False):
            entry, level = experiment.lines[line].entry, level_of(experiment, line)
            promise = PROMISES[level]
            with column:
                told = diagrams.in_words(level)
                st.image(diagrams.who_sees_what(level, dark), width=diagrams.WIDTH, alt=told)
                told_of = words.plain(words.sentence(kept(experiment, line).words))
                st.markdown(
                    f"**{promise.title}.** {promise.says} Trusted: {promise.trusted}.\n\n{entry.title}: {told_of}."
                )
