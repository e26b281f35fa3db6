"""The parts of the page Trust: who sees what, why a curator costs less, the budget, and what each level loses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bandit_core import Experiment
from bandit_core.experiments.presets import shared_budget
from bandit_core.model import MEASURES, PROMISES, Measure, Privacy
from bandit_core.simulation.results import Result
from bandit_core.studies.tradeoff import CLEARLY, Step, best_lines, by_level, kept, ladder, level_of, steps
from ui import charts, diagrams, figures, lab_parts, page_links, shared, theme, words


def who_sees_what(dark: bool, features: bool, result: Result | None) -> None:
    """A drawing for each privacy level, and below it what the level loses, where that is known."""
    lost = {} if result is None else losses(result)
    most = max(lost.values(), default=0.0) or 1.0
    with st.container(key="trust-who", horizontal=True, gap="xsmall"):
        for level in diagrams.WITH_FEATURES if features else diagrams.LEVELS:
            cost = (lost[level] / most, f"loses {words.number(lost[level], 2)}") if level in lost else None
            drawn, alt = diagrams.who_sees_what(level, dark, features, cost), diagrams.in_words(level, features)
            st.image(drawn, width=diagrams.WIDTH, alt=f"{alt}; {cost[1]}" if cost else alt)


def shown(result: Result) -> Result:
    """The lines that the levels stand on, without bounds; labels leave out the ε that all share: the slider says it."""
    drawn = charts.without_bounds(by_level(result))
    shared_by_all = shared_budget(result.experiment)
    if shared_by_all is None or shared_by_all.fixed is None:
        return drawn
    lines = tuple(
        line.model_copy(update={"label": (line.label or "").partition(", {epsilon}")[0] or None})
        for line in drawn.experiment.lines
    )
    return replace(drawn, experiment=drawn.experiment.with_lines(lines))


def losses(result: Result) -> dict[Privacy, float]:
    """The lost rewards of each privacy level at the horizon: those of the best line that it stands on."""
    lost: dict[Privacy, float] = {}
    for line, used in best_lines(result).items():
        played, level = result.lines[used], level_of(result.experiment, line)
        if played is not None:
            lost[level] = min(lost.get(level, math.inf), float(played.mean[-1]))
    return lost


def why(dark: bool) -> None:
    """Why a curator costs less: many noises beside one."""
    left, right = st.container(key="trust-why").columns(2, vertical_alignment="center", gap="medium")
    left.image(diagrams.noises(dark), width=diagrams.NOISE_WIDTH, alt=diagrams.noises_in_words())
    far, near = math.sqrt(2 * diagrams.USERS), math.sqrt(2)  # Laplace noise of scale 1
    right.markdown(
        f"**Why a curator costs less: one noise instead of {diagrams.USERS}.** Each dot is a sum of {diagrams.USERS} "
        f"answers at ε = 1. The sum is off by about {words.number(far, 2)} if every user adds noise, and by about "
        f"{words.number(near, 2)} if a curator adds one noise to it: {far / near:.0f} times less, at any other ε, too."
    )


def slider(experiment: Experiment) -> None:
    """The budget that the private methods share, as a control of the experiment."""
    message = f"How much may be learned about one user's {_private(experiment)}, by whoever the level hides it from."
    if not lab_parts.epsilon(experiment, "trust-epsilon", message):
        st.caption("The private methods have different budgets, so levels differ in ε as well as in trust.")


def _private(experiment: Experiment) -> str:
    return "reward" if experiment.contexts is None else "features, choice and reward"


def _rung(experiment: Experiment, line: int) -> str:
    """Who is trusted, with the delta where there is one: ``a shuffler is trusted, δ = 1e-6``."""
    return ", ".join(filter(None, (PROMISES[level_of(experiment, line)].who, kept(experiment, line).failure)))


def _by_measure(pairs: Sequence[Step]) -> dict[Measure, list[Step]]:
    """The steps of each ladder, pure ones first."""
    ladders: dict[Measure, list[Step]] = {}
    for step in pairs:
        ladders.setdefault(step.measure, []).append(step)
    return ladders


def verdict(result: Result) -> str:
    """What each level loses at the horizon, relative to the one with most trust, no more surely than errors allow."""
    experiment, stand = result.experiment, best_lines(result)
    *private, free = [line for line in ladder(experiment) if result.lines[stand[line]] is not None] or [-1]
    if not private:
        return "" if len(ladder(experiment)) > 1 else "To compare, choose methods of two privacy levels in the sidebar."
    base = result.lines[stand[free]]
    assert base is not None
    failures = {kept(experiment, line).failure for line in private}
    common = failures.pop() if len(failures) == 1 else ""  # the one δ is said once

    def rung(line: int) -> str:
        failure = "" if common else kept(experiment, line).failure
        return PROMISES[level_of(experiment, line)].who + f" ({failure})" * bool(failure)

    message, parts = [], []
    for line in reversed(private):
        played = result.lines[stand[line]]
        assert played is not None
        ratio = f"{words.number(float(played.mean[-1] / base.mean[-1]), 2)} times" if base.mean[-1] > 0 else "more"
        clear = played.difference(base, CLEARLY).differs()
        message.append(f"{rung(line)} {f'**{ratio}**' if clear else '(too close to call)'}")
    for step in steps(result):
        pair = " → ".join(rung(line) for line in (step.stronger, step.weaker))
        if step.same:
            title = words.plain(experiment.lines[step.played[1]].entry.title)
            parts.append(f" {words.sentence(pair)}: nothing saved, because {title} needs less trust and loses least.")
        elif not step.clear and step.weaker != free:
            parts.append(f" {words.sentence(pair)}: too close to call.")
    if len({kept(experiment, line).measure for line in private}) > 1:
        weaker = " or ".join(f"“{rung(line)}”" for line in private if kept(experiment, line).failure)
        parts.append(f" {words.sentence(weaker)} may cost less than more trust: its δ weakens the guarantee.")
    reference, users = PROMISES[level_of(experiment, free)].who, words.count(experiment.horizon)
    at = f" (all at {common})" if common else ""
    return f"Lost rewards after {users} users{at}, compared with {reference}: {', '.join(message)}.{''.join(parts)}"


def saved(played: Result) -> None:
    """What each step of trust saves, as bars and as a table."""
    figures.draw("trust-bars", played, partial(bars, played), "Lost rewards that each step of trust saves")
    st.caption(f"Error bars: 99.7% intervals over pairs of runs. {words.measures(played.experiment)}")
    rows = shared.table("trust-table", played, None, lambda: table(played))
    st.dataframe(rows, hide_index=True, key="trust-table")
    st.page_link(page_links.to("theory"), label="Which guarantee implies which, and why", icon=":material/functions:")


def bars(result: Result, dark: bool) -> go.Figure:
    """A bar for each step of trust: lost rewards that it saves, and the interval that decides if it is clear."""
    experiment, pairs = result.experiment, steps(result)
    ladders, rows, drawn, notes = _by_measure(pairs), [], [], []
    for measure, climbed in ladders.items():
        if len(ladders) > 1:
            rows.append(f"<b>{escape(MEASURES[measure].name)}</b>")
        for step in climbed:
            signs = [PROMISES[level_of(experiment, line)].sign for line in (step.stronger, step.weaker)]
            name = f"{' → '.join(signs)} {_in_two_rows(escape(_rung(experiment, step.weaker)))}"
            whisker = charts.error_bars(*([step.saved[end]] for end in (0, 2, 3)), color=theme.ink(dark), thickness=1.5)
            look: dict[str, Any] = {
                "marker": {"color": theme.LOOKS[level_of(experiment, step.weaker)].colour},
                "error_x": whisker,
            }
            look |= {"orientation": "h", "hovertemplate": "%{x:,.4~g}", "showlegend": False}
            drawn.append(go.Bar(x=[step.saved.value], y=[len(rows)], name=name, **look))
            number = str(step.saved).replace("-", "−")
            end = max(0.0, step.saved.value, float(np.nan_to_num(step.saved.high)))
            note = {"x": end, "y": len(rows), "text": number, "xanchor": "left", "xshift": 4, "showarrow": False}
            notes.append(note)
            rows.append(name)
    ends = [end for step in pairs for end in (step.saved.value, *step.saved[2:]) if math.isfinite(end)]
    low, high = min([0.0, *ends]), max([0.0, *ends])
    wide = (high - low) or 1.0
    across = {"title": "lost rewards saved", "range": [low - 0.05 * wide, high + 1.2 * wide]}
    down: dict[str, Any] = {"tickvals": [*range(len(rows))], "ticktext": rows, "range": [max(1, len(rows)) - 0.5, -0.5]}
    down |= {"automargin": True, "zeroline": False}
    figure = charts.draw(drawn, across, down, 120 + 52 * max(1, len(rows)), dark, closest=True)
    figure.update_layout(bargap=0.35, annotations=notes)
    return figure


def _in_two_rows(rung: str) -> str:
    """The name of a step cut before "is trusted" or its delta, for narrow windows."""
    return rung.replace(", ", ",<br>", 1) if ", " in rung else rung.replace(" is ", "<br>is ", 1)


def table(result: Result) -> pd.DataFrame:
    """A row per guarantee: what the run really keeps, who is trusted with what, and what it loses."""
    experiment, stand = result.experiment, best_lines(result)
    climbed = steps(result)
    rows = []
    for line in ladder(experiment):
        played = result.lines[stand[line]]
        has, promise = kept(experiment, line), PROMISES[level_of(experiment, line)]
        saved = [
            f"{step.saved} after {PROMISES[level_of(experiment, step.stronger)].sign}"
            for step in climbed
            if step.weaker == line
        ]
        rows.append(
            {
                "guarantee": f"{promise.sign} {promise.title}",
                "policy": experiment.lines[stand[line]].entry.title,
                "budget": has.budget or "–",
                "counted in": MEASURES[has.measure].name if has.budget else "–",
                "lost rewards": "–" if played is None else words.with_error(played.mean[-1], played.stderr[-1]),
                "saved by this step": "; ".join(saved) or "–",
                "trusted": promise.trusted,
                "hidden": promise.unit if promise.key == "none" else f"one user's {_private(experiment)}",
            }
        )
    return pd.DataFrame(rows)
