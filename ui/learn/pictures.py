"""What a lesson's file says of its picture, and what the pictures of all lessons share."""

from collections.abc import Sequence
from html import escape
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from bandit_core.spec.field_types import Frozen
from ui import charts, theme
from ui.learn.measured import Number

# Policies whose shades stand for answers behind a coin flip, a curator's sums, and open answers.
PRIVATE, CENTRAL, OPEN = "heldp-ucb-b", "dp-klucb", "ucb"


class Series(Frozen):
    """Numbers by their name, at all places; ``still``: they do not follow the slider."""

    numbers: str
    name: str
    policy: str
    symbol: str = "circle"
    still: bool = False


class Picture(Frozen):
    """What is drawn, as a step's file says it; ``x`` and ``y`` as Plotly takes axes.

    ``kind``: curves of regret, the same against blind choice, ``series`` of dots or of bars (``names`` below them) at
    ``places`` (else at all positions of the slider), or a picture of its own, which what was sampled draws. ``top`` is
    the upper end of curves in the place of what blind choice loses; on a plain axis it is doubled until all fit.
    ``bounds``: with the corridor of the first private line.
    """

    kind: Literal["own", "curves", "blind", "dots", "bars"] = "own"
    x: dict[str, Any] = {}
    y: dict[str, Any] = {}
    top: float | None = None
    series: tuple[Series, ...] = ()
    places: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    legend: bool = True
    bounds: bool = False


def draw(curves: Sequence[Any], x: dict[str, Any], y: dict[str, Any], dark: bool, height: int) -> go.Figure:
    """The look of all charts, with the legend's room below."""
    return charts.draw(curves, charts.AMOUNTS | x, charts.AMOUNTS | y, height, dark, closest=True)


def dots(
    x: Sequence[float],
    numbers: Sequence[Number],
    name: str,
    colour: str,
    at: float | None = None,
    joined: bool = True,
    symbol: str = "circle",
) -> charts.Curve:
    """Measured numbers with bars of their intervals; the one ``at`` the slider's position is larger."""
    values, low, high = np.transpose([(each.value, each.low, each.high) for each in numbers])
    marker = {"color": colour, "size": [18 if place == at else 8 for place in x], "symbol": symbol}
    bars = charts.error_bars(values, low, high, color=colour, thickness=1.2, width=4)
    more = {"mode": "lines+markers" if joined else "markers", "marker": marker, "error_y": bars}
    return charts.Curve([*x], values, escape(name), colour, "%{y:,.3~g}", width=2, more=more)


def marks(x: Any, y: Any, name: str, marker: dict[str, Any], hover: str, **fields: Any) -> charts.Curve:
    """Marks, whose name does not stand under the pointer."""
    more = {"mode": "markers", "marker": marker}
    return charts.Curve(x, y, name, hover=f"{hover}<extra></extra>", more=more, **fields)


def colour(policy: str, dark: bool) -> str:
    """The shade of a policy, as on all other pages."""
    return theme.policy_colour(policy, dark)
