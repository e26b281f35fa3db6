"""Pictures that several steps share."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bandit_core.simulation.results import Result
from bandit_core.studies.tradeoff import blind_regret
from ui import charts, theme
from ui.learn.step import Message, Number, difference, lost, ratio, size

# Policies whose shades stand for answers behind a coin flip, a curator's sums, and open answers.
PRIVATE, CENTRAL, OPEN = "heldp-ucb-b", "dp-klucb", "ucb"


def frame(result: Result) -> tuple[float, float]:
    """Range (logarithms) of the vertical axis at every position of a slider: from one lost laugh to blind choice."""
    return 0.0, float(np.log10(1.25 * blind_regret(result.experiment)))


def curves(result: Result, at: float, dark: bool, height: int) -> go.Figure:
    """Regret against users in a frame that does not move with the slider."""
    figure = charts.regret_chart(result, dark, height, False, vertical=frame(result))
    figure.update_yaxes(title="laughs lost so far")
    return figure


def plain(figure: go.Figure, dark: bool, height: int) -> go.Figure:
    """The look of all charts, with the legend's room below."""
    charts.style(figure, height, dark)
    figure.update_layout(hovermode="closest")
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        axis.tickformat = charts.NUMBERS
    return figure


def dots(
    figure: go.Figure,
    x: Sequence[float],
    numbers: Sequence[Number],
    name: str,
    colour: str,
    at: float | None = None,
    joined: bool = True,
    symbol: str = "circle",
) -> None:
    """Measured numbers with bars of their intervals; the one ``at`` the slider's position is larger."""
    ends = [(each.value, each.low, each.high) for each in numbers]
    bars: dict[str, Any] = {**charts.error_bars(*np.transpose(ends)), "color": colour}
    figure.add_scatter(
        x=list(x),
        y=[each.value for each in numbers],
        mode="lines+markers" if joined else "markers",
        name=escape(name),
        line={"color": colour, "width": 2},
        marker={"color": colour, "size": [18 if place == at else 8 for place in x], "symbol": symbol},
        error_y={**bars, "thickness": 1.2, "width": 4},
        hovertemplate="%{y:,.3~g}",
    )


def colour(policy: str, dark: bool) -> str:
    """The shade of a policy, as on all other pages."""
    return theme.policy_colour(policy, dark)


def cost(result: Result, one: int, other: int, names: tuple[str, str], unit: str = "laughs") -> Message:
    """What line ``one`` loses more than line ``other``, as far as the errors tell them apart."""
    mine, theirs, extra = lost(result, one), lost(result, other), difference(result, one, other)
    numbers = {"mine": mine, "theirs": theirs}
    both = f"{names[0]} lost **{mine}** {unit} and {names[1]} lost **{theirs}**"
    if extra.verdict == "unclear":
        return Message(f"{both}: this run cannot tell the two apart.", numbers, "unclear")
    numbers["extra"] = size(extra)
    message = f"{both}: **{numbers['extra']}** {'more' if extra.value > 0 else 'fewer'}"
    times = ratio(result, one, other)
    if np.isfinite(times.value) and np.isfinite(times.error):
        numbers["times"] = times
        message += f", which is **{times}** times as many"
    return Message(f"{message}.", numbers, extra.verdict)


def curves_to(result: Result, top: float, dark: bool, height: int) -> go.Figure:
    """Regret against users up to a height that stays, on plain axes."""
    highest = max(float(line.quantile(0.95)[-1]) for line in result.lines if line is not None)
    while top < highest:
        top *= 2
    figure = charts.regret_chart(result, dark, height, False, vertical=(0.0, top))
    figure.update_yaxes(title="laughs lost so far")
    return figure
