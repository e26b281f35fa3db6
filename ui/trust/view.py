"""The parts of the page Trust: the budget, what each step saves, where lines change places, and who sees what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment
from bandit_core.experiments.shared_budget import at_shared, shared_budget
from bandit_core.model import MEASURES, PROMISES, Guarantee, Privacy
from bandit_core.simulation.results import Result
from bandit_core.studies.sweep import SweepResult
from bandit_core.studies.trust_steps import Crossing, Step, budget_crossings, crossings, ladder, steps
from ui import charts, diagrams, epsilon_grid, page_fields, theme, tradeoff_view, words

GRID = epsilon_grid.between(0.1, 10)


def _privacy(experiment: Experiment, line: int) -> Privacy:
    return experiment.lines[line].entry.privacy


def slider(experiment: Experiment) -> None:
    """The budget that the private lines share, as a control of the experiment."""
    shared = shared_budget(experiment)
    if shared is None or shared.fixed is None:
        st.caption("The lines have budgets of their own, which the labels tell: their steps compare different ε.")
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
        lambda chosen: at_shared(experiment, float(chosen)),
    )


def _step_words(experiment: Experiment, step: Step) -> str:
    """The step in words: ``nobody is trusted → a shuffler is trusted``."""
    return " → ".join(PROMISES[_privacy(experiment, line)].who for line in (step.stronger, step.weaker))


def verdict(result: Result) -> str:
    """What each step saves at the horizon, no more surely than the errors allow."""
    experiment, found = result.experiment, steps(result)
    if not found:
        return "Lines of two promises at least are needed to see what trust saves: choose some in the sidebar."
    told = []
    for step in found:
        amount = f"**{words.with_error(abs(step.saved), step.stderr)}**"
        saves = f"{'saves' if step.saved > 0 else 'costs'} {amount}" if step.clear else "makes no clear difference"
        told.append(f"{_step_words(experiment, step)} {saves}")
    users = words.count(experiment.horizon)
    return f"Lost rewards after {users} users, step by step: {'; '.join(told)}."


def bars(result: Result, dark: bool) -> go.Figure:
    """A bar for each step of trust: lost rewards that it saves, with two standard errors to each side."""
    experiment, found = result.experiment, steps(result)
    figure = go.Figure()
    for step in found:
        stronger, weaker = (PROMISES[_privacy(experiment, line)] for line in (step.stronger, step.weaker))
        name, error = f"{stronger.sign} → {weaker.sign} {escape(weaker.who)}", float(np.nan_to_num(step.stderr))
        figure.add_bar(
            x=[step.saved],
            y=[name],
            name=name,
            orientation="h",
            marker={"color": theme.LOOKS[weaker.key].colour},
            error_x={"array": [2 * error], "color": theme.ink(dark), "thickness": 1.5},
            hovertemplate="%{x:,.4~g}",
            showlegend=False,
        )
        figure.add_annotation(
            x=max(0.0, step.saved) + 2 * error,
            y=name,
            text=words.with_error(step.saved, step.stderr),
            xanchor="left",
            xshift=4,
            showarrow=False,
        )
    charts.style(figure, 120 + 56 * max(1, len(found)), dark)
    figure.update_layout(hovermode="closest", bargap=0.35)
    ends = [step.saved + side * 2 * float(np.nan_to_num(step.stderr)) for step in found for side in (-1, 1)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    wide = (high - low) or 1.0
    figure.update_xaxes(title="lost rewards saved by this step", range=[low - 0.05 * wide, high + 0.6 * wide])
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def unlike_steps(result: Result) -> str:
    """Which budgets are not pure, and that a step between two measures is not one of trust alone."""
    experiment, found = result.experiment, steps(result)
    kept = [line.entry.guarantee(setup) for line, setup in zip(experiment.lines, experiment.setups, strict=True)]
    unlike = any(
        kept[step.stronger].measure != kept[step.weaker].measure for step in found if _both_private(kept, step)
    )
    told = "A step between a line with a δ and one without changes what is promised, not only whom one trusts."
    return " ".join(filter(None, (words.measures(experiment), told if unlike else "")))


def _both_private(kept: Sequence[Guarantee], step: Step) -> bool:
    return "none" not in (kept[step.stronger].model, kept[step.weaker].model)


def _told(experiment: Experiment, what: str, found: Sequence[Crossing], where: Callable[[Crossing], str]) -> str:
    if not found:
        return f"{what}, no two of these lines clearly change places."
    named = [(words.plain(_name(experiment, each.first)), words.plain(_name(experiment, each.then)))
             for each in found]  # fmt: skip
    told = [f"from **{one}** to **{other}** {where(each)}" for each, (one, other) in zip(found, named, strict=True)]
    return f"{what}, lines clearly change places: {'; '.join(told)}."


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
        lambda each: f"between {words.number(each.low)} and {words.number(each.high)} users",
    )


def along_budgets(result: SweepResult) -> str:
    """Between which budgets two lines change places at the horizon."""
    return _told(
        result.experiment,
        f"As ε grows, at {words.count(result.experiment.horizon)} users",
        budget_crossings(result),
        lambda each: f"between ε = {each.low:g} and {each.high:g}",
    )


def budgets(experiment: Experiment) -> tuple[float, ...]:
    """The budgets of the second picture, among them that of the slider."""
    here = tradeoff_view.marked(experiment)
    return tuple(sorted({*epsilon_grid.curve(GRID[0], GRID[-1], tradeoff_view.POINTS), *([here] if here else [])}))


def table(result: Result) -> pd.DataFrame:
    """A row per promise: what the run really keeps, who is trusted with what, and what it loses."""
    experiment = result.experiment
    saved = {step.weaker: step for step in steps(result)}
    rows = []
    for line in ladder(experiment):
        entry, played = experiment.lines[line].entry, result.lines[line]
        kept, promise = entry.guarantee(experiment.setups[line]), entry.promise
        step = saved.get(line)
        rows.append(
            {
                "promise": f"{promise.sign} {promise.title}",
                "policy": entry.title,
                "budget": kept.budget or "–",
                "counted in": MEASURES[kept.measure].name if kept.budget else "–",
                "lost rewards": "–" if played is None else words.with_error(played.mean[-1], played.stderr[-1]),
                "saved by this step": "–" if step is None else words.with_error(step.saved, step.stderr),
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
            entry = experiment.lines[line].entry
            promise = entry.promise
            with column:
                told = diagrams.in_words(entry.privacy)
                st.image(diagrams.who_sees_what(entry.privacy, dark), width=diagrams.WIDTH, alt=told)
                kept = words.plain(words.sentence(entry.guarantee(experiment.setups[line]).words))
                st.markdown(
                    f"**{promise.title}.** {promise.says} Trusted: {promise.trusted}.\n\n{entry.title}: {kept}."
                )
