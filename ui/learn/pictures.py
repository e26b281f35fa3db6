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
from ui import charts, lesson, theme
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
    figure = charts.regret_chart(lesson.plain(result), dark, height, False, vertical=vertical)
    figure.update_yaxes(step.picture.y)
    return figure


def blind(step: Step, result: Result, at: float, dark: bool, height: int) -> go.Figure:
    """Regret of one learner against users, beside choosing blindly."""
    loss = blind_regret(result.experiment)
    figure = charts.regret_chart(result, dark, height, False, vertical=(0.0, 1.05 * loss))
    figure.data[-1].name = "the learner"
    chance = "choosing blindly (on average)"
    line(figure, [1, at], [loss / at, loss], chance, theme.quiet(dark), "%{y:,.3~g}", dash="dash")
    figure.update_layout(showlegend=True)
    figure.update_xaxes(type="linear", range=[1, at], exponentformat="B", dtick=None)
    figure.update_yaxes(title="laughs lost so far", type="linear", dtick=None)
    return figure


def _dots(step: Step, found: Any, at: float, dark: bool, height: int) -> go.Figure:
    """Numbers at every place; a vertical axis without a range ends above all of them."""
    figure, high = go.Figure(), []
    for each in step.picture.series:
        numbers = [step.number(found, each.numbers, place) for place in step.places]
        high += [number.high for number in numbers if np.isfinite(number.high)]
        shade = colour(each.policy, dark)
        dots(figure, step.places, numbers, each.name, shade, None if each.still else at, symbol=each.symbol)
    return _with_axes(step, figure, dark, height, {"range": [0, 1.05 * max(high, default=1.0)]})


def bars(step: Step, found: Any, at: float, dark: bool, height: int) -> go.Figure:
    """The same as bars, with the one at the slider's position full."""
    figure = go.Figure()
    [series] = step.picture.series
    for name, place in zip(step.picture.names, step.places, strict=True):
        number = step.number(found, series.numbers, place)
        figure.add_bar(
            x=[name],
            y=[number.value],
            name=series.name.format(step.slider.words(place)),
            marker={"color": colour(series.policy, dark), "opacity": 1.0 if place == at else 0.45},
            error_y={"type": "data", "array": [2 * number.error], "color": colour(OPEN, dark)},
            hovertemplate="%{y:,.3~g}",
        )
    return _with_axes(step, figure, dark, height, {})


def _with_axes(step: Step, figure: go.Figure, dark: bool, height: int, y: dict[str, Any]) -> go.Figure:
    plain(figure, dark, height)
    if not step.picture.legend:
        figure.update_layout(showlegend=False)
    figure.update_xaxes(step.picture.x)
    figure.update_yaxes(y | step.picture.y)
    return figure


KINDS: dict[str, Callable[[Step, Any, float, bool, int], go.Figure]] = {
    "curves": curves, "blind": blind, "dots": _dots, "bars": bars
}  # fmt: skip


def tips(step: Step, dark: bool, height: int) -> go.Figure:
    """Many rewards of the best arm, one after the other, before the guess."""
    experiment = step.experiment(step.slider.start)
    figure = go.Figure()
    paid = experiment.arms[0].quantile(np.random.default_rng(experiment.seed).random(TIPS))
    marks(figure, np.arange(1, TIPS + 1), paid, "tips", {"color": colour(OPEN, dark), "size": 5}, "%{y:.2~f}")
    plain(figure, dark, height)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(title=f"{TIPS:,} tips, one after the other", range=[0, TIPS + 1])
    figure.update_yaxes(title="size of the tip", rangemode="tozero")
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


def line(figure: go.Figure, x: Any, y: Any, name: str, colour: str, hover: str | None, **look: Any) -> None:
    """A line; ``look`` as Plotly takes lines."""
    look = {"color": colour, "width": 2, **look}
    figure.add_scatter(x=x, y=y, mode="lines", name=name, line=look, hovertemplate=hover)


def marks(
    figure: go.Figure, x: Any, y: Any, name: str | None, marker: dict[str, Any], hover: str, **options: Any
) -> None:
    """Marks, whose name does not stand under the pointer."""
    hover += "<extra></extra>"
    figure.add_scatter(x=x, y=y, mode="markers", name=name, marker=marker, hovertemplate=hover, **options)


def colour(policy: str, dark: bool) -> str:
    """The shade of a policy, as on all other pages."""
    return theme.policy_colour(policy, dark)
