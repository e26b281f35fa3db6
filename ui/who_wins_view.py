"""Who has the lowest regret at every budget and number of users, drawn from the sweep of the Trade-off page."""

from __future__ import annotations

import math
from html import escape

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from plotly.basedatatypes import BaseTraceType
from plotly.subplots import make_subplots

from bandit_core import Experiment
from bandit_core.studies.sweep import SweepResult, swept_label
from bandit_core.studies.tradeoff import First, Map, left_out, weaker, who_wins
from ui import charts, figures, theme, words

LABELS = 5  # numbers named along an axis


def draw(result: SweepResult) -> None:
    """The map."""
    experiment, below = result.experiment, theme.is_phone()
    maps = who_wins(result, experiment.view.hidden)
    if maps:
        how, drawn = (result.content, below), lambda dark: chart(maps, experiment, dark, below)
        figures.draw("who-wins-chart", experiment, drawn, lambda: describe(maps, experiment), *how)
    st.caption(legend(result, maps))


def chart(maps: tuple[Map, ...], experiment: Experiment, dark: bool, below: bool = False) -> go.Figure:
    """A field of cells for each trust model: budgets across, users up, the colour that of who has lost least."""
    rows, columns = (len(maps), 1) if below else (1, len(maps))
    figure = make_subplots(rows, columns, vertical_spacing=0.16 if below else None, horizontal_spacing=0.1)
    colours, bare = theme.line_colours(experiment, dark), {"showgrid": False, "zeroline": False}
    for number, each in enumerate(maps):
        place = {"row": number + 1, "col": 1} if below else {"row": 1, "col": number + 1}
        figure.add_traces(_cells(each, experiment, colours), place["row"], place["col"])
        up, across = (_some(len(values)) for values in (each.users, each.epsilons))
        names = [words.count(each.users[row]) for row in up]
        figure.update_yaxes(title="users", tickvals=up, ticktext=names, **bare, **place)
        title = f"ε, {theme.TRUST_SIGNS[each.privacy]} {theme.TRUST_WORDS[each.privacy]}"
        budgets = [f"{each.epsilons[column]:.2g}" for column in across]
        figure.update_xaxes(title=title, tickvals=across, ticktext=budgets, tickangle=0, **bare, **place)
    charts.style(figure, 420 * rows, dark)
    figure.layout.hovermode = "closest"
    return figure


def _some(count: int) -> list[int]:
    """Places of so many that are named on an axis, the first and the last among them."""
    return [int(place) for place in np.unique(np.linspace(0, count - 1, LABELS).round())]


def _cells(each: Map, experiment: Experiment, colours: list[str]) -> list[BaseTraceType]:
    """The cells of every line that wins some, hatched where the first two are too close to call."""
    drawn: list[BaseTraceType] = []
    message = [[_hover_text(first, experiment) for first in row] for row in each.first]
    for line in sorted({first.line for row in each.first for first in row if first is not None}):
        won = [[1.0 if first is not None and first.line == line else math.nan for first in row] for row in each.first]
        look = {"showscale": False, "showlegend": True, "xgap": 1, "ygap": 1, "hovertemplate": "%{text}<extra></extra>"}
        shades, name = [[0, colours[line]], [1, colours[line]]], escape(swept_label(experiment.lines[line]))
        drawn.append(go.Heatmap(z=won, text=message, name=name, colorscale=shades, **look))
    cells = ((column, row, first) for row, found in enumerate(each.first) for column, first in enumerate(found))
    hatched = [(column, row) for column, row, first in cells if first is not None and not first.clear]
    if hatched:
        x, y = zip(*hatched, strict=True)
        stroke = {"symbol": "line-ne", "size": 13, "line": {"width": 2, "color": "#ffffff"}}
        drawn.append(go.Scatter(x=x, y=y, mode="markers", marker=stroke, hoverinfo="skip", showlegend=False))
    return drawn


def _hover_text(first: First | None, experiment: Experiment) -> str:
    if first is None:
        return ""
    name, parts = escape(swept_label(experiment.lines[first.line])), []
    parts.append(f"<b>{name}</b> loses {first.regret}")
    if math.isfinite(first.price.value):
        parts.append(f"price of privacy {first.price}")
    if first.second is not None:
        other = escape(swept_label(experiment.lines[first.second]))
        parts.append(f"{'ahead of' if first.clear else 'too close to call:'} {other}")
    return "<br>".join(parts)


def legend(result: SweepResult, maps: tuple[Map, ...]) -> str:
    """What is drawn, and who takes no part."""
    experiment = result.experiment
    drawn = (
        "Colour: the policy with the lowest mean regret here, among those with this guarantee. "
        "Hatched: too close to call (95% interval of the difference over pairs of trials)."
        if maps
        else "No policy here can be compared at several numbers of users."
    )
    point = result.results[0].experiment
    weak = weaker(point)
    asks = left_out(point) - weak
    private = [number for number, line in enumerate(experiment.lines) if line.epsilon is not None]
    for numbers, why in ((asks, "made for one number of users"), (weak, "a weaker guarantee than ε")):
        names = [words.plain(swept_label(experiment.lines[number])) for number in private if number in numbers]
        if names:
            drawn += f" Left out, {why}: {', '.join(names)}."
    return drawn


def describe(maps: tuple[Map, ...], experiment: Experiment) -> str:
    """The chart as text, for screen readers."""
    parts = ["Who loses least against the budget and the number of users."]
    for each in maps:
        cells = [first for row in each.first for first in row if first is not None]
        for line in sorted({first.line for first in cells}):
            won = [first for first in cells if first.line == line]
            clear = sum(first.clear for first in won)
            parts.append(
                f"{theme.TRUST_WORDS[each.privacy]}: {swept_label(experiment.lines[line])} in {len(won)} of "
                f"{len(cells)} cells, in {clear} of them clearly."
            )
    return " ".join(parts)
