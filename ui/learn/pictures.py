"""The pictures of lessons, by kind, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import plotly.graph_objects as go

from bandit_core.simulation.results import Result
from bandit_core.spec.field_types import Frozen
from bandit_core.studies.tradeoff import blind_regret
from ui import charts, theme
from ui.learn.measured import Number

if TYPE_CHECKING:
    from ui.learn.step import Step

# Policies whose shades stand for answers behind a coin flip, a curator's sums, and open answers.
PRIVATE, CENTRAL, OPEN = "heldp-ucb-b", "dp-klucb", "ucb"
TIPS = 1000


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
    """

    kind: Literal["own", "curves", "blind", "dots", "bars"] = "own"
    x: dict[str, Any] = {}
    y: dict[str, Any] = {}
    top: float | None = None
    series: tuple[Series, ...] = ()
    places: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    legend: bool = True


def curves(step: Step, result: Result, at: float, dark: bool, height: int) -> go.Figure:
    """Regret against users in a frame that does not move with the slider."""
    top = step.picture.top or 1.25 * blind_regret(result.experiment)
    log = result.experiment.view.y == "log"
    while not log and top < max(float(line.quantile(0.95)[-1]) for line in result.lines if line is not None):
        top *= 2
    vertical = (0.0, float(np.log10(top)) if log else top)
    figure = charts.regret_chart(charts.without_bounds(result), dark, height, False, vertical=vertical)
    figure.update_yaxes(step.picture.y)
    return figure


def blind(step: Step, result: Result, at: float, dark: bool, height: int) -> go.Figure:
    """Regret of one learner against users, beside choosing blindly."""
    loss = blind_regret(result.experiment)
    figure = charts.regret_chart(result, dark, height, False, vertical=(0.0, 1.05 * loss))
    figure.data[-1].name = "the learner"
    look: dict[str, Any] = {"hover": "%{y:,.3~g}", "width": 2, "dash": "dash"}
    chance = charts.Curve([1, at], [loss / at, loss], "choosing blindly (on average)", theme.quiet(dark), **look)
    figure.add_traces([*chance.traces()])
    figure.update_layout(showlegend=True)
    figure.update_xaxes(type="linear", range=[1, at], exponentformat="B", dtick=None)
    figure.update_yaxes(title="laughs lost so far", type="linear", dtick=None)
    return figure


def _dots(step: Step, result: Any, at: float, dark: bool, height: int) -> go.Figure:
    """Numbers at every place; a vertical axis without a range ends above all of them."""
    curves, high = [], []
    for each in step.picture.series:
        numbers = [step.number(result, each.numbers, place) for place in step.places]
        high += [number.high for number in numbers if np.isfinite(number.high)]
        shade = colour(each.policy, dark)
        curves.append(dots(step.places, numbers, each.name, shade, None if each.still else at, symbol=each.symbol))
    return _with_axes(step, curves, dark, height, {"range": [0, 1.05 * max(high, default=1.0)]})


def bars(step: Step, result: Any, at: float, dark: bool, height: int) -> go.Figure:
    """The same as bars, with the one at the slider's position full."""
    [series], drawn = step.picture.series, []
    for name, place in zip(step.picture.names, step.places, strict=True):
        number = step.number(result, series.numbers, place)
        look = {
            "marker": {"color": colour(series.policy, dark), "opacity": 1.0 if place == at else 0.45},
            "error_y": {"type": "data", "array": [2 * number.error], "color": colour(OPEN, dark)},
            "hovertemplate": "%{y:,.3~g}",
        }
        drawn.append(go.Bar(x=[name], y=[number.value], name=series.name.format(step.slider.words(place)), **look))
    return _with_axes(step, drawn, dark, height, {})


def _with_axes(step: Step, curves: Sequence[Any], dark: bool, height: int, y: dict[str, Any]) -> go.Figure:
    figure = draw(curves, step.picture.x, y | step.picture.y, dark, height)
    if not step.picture.legend:
        figure.layout.showlegend = False
    return figure


KINDS: dict[str, Callable[[Step, Any, float, bool, int], go.Figure]] = {
    "curves": curves, "blind": blind, "dots": _dots, "bars": bars
}  # fmt: skip


def tips(step: Step, dark: bool, height: int) -> go.Figure:
    """Many rewards of the best arm, one after the other, before the guess."""
    experiment = step.experiment(step.slider.start)
    paid = experiment.arms[0].quantile(np.random.default_rng(experiment.seed).random(TIPS))
    curve = marks(np.arange(1, TIPS + 1), paid, "tips", {"color": colour(OPEN, dark), "size": 5}, "%{y:.2~f}")
    across = {"title": f"{TIPS:,} tips, one after the other", "range": [0, TIPS + 1]}
    figure = draw([curve], across, {"title": "size of the tip", "rangemode": "tozero"}, dark, height)
    figure.layout.showlegend = False
    return figure


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
