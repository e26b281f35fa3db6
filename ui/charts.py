"""Plotly figures of results and bounds, from curves; the same on screen and in exports."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape, unescape
from textwrap import wrap
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio
from plotly.basedatatypes import BaseTraceType

from bandit_core import Experiment
from bandit_core.experiments.catalogue import ABOVE, RATE, Corridor, further, in_focus
from bandit_core.experiments.experiment import budget_words
from bandit_core.model import Bound, Privacy
from bandit_core.simulation.results import QUANTITY_WORDS, Drawable, LineResult, Result, band, line_corridor, scale
from bandit_core.spec.budgets import BudgetDistribution
from bandit_core.spec.notation import write_epsilon
from bandit_core.spec.number_text import percent
from bandit_core.spec.rewards import each
from bandit_core.studies.tradeoff import level_of
from ui import stylesheet, theme, words

# ---------------------------------------------------------------------------------------------------------------------
# A curve of a picture, as all charts and legends hand it around.


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve or points of a picture; a bound is one, too (see `charts.bound_curve`).

    ``low`` and ``high`` are the edges of a band around it, of opacity ``shade``. ``level`` gives it now and then the
    marker of that trust model, for eyes that see no hue. A click on an entry of the legend hides its whole ``group``;
    what is not ``listed`` has no entry. Without ``hover`` (a template) the pointer shows nothing. ``more`` is what else
    Plotly takes.
    """

    x: Any
    y: Any
    name: str = ""
    colour: str = theme.GREY
    hover: str = "%{y:,.4~g}"
    dash: str | None = None
    width: float = 2.5
    level: Privacy | None = None
    low: Any = None
    high: Any = None
    shade: float = 0.15
    group: str | None = None
    listed: bool = True
    legend: str | None = None
    rank: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def traces(self) -> Iterator[go.Scatter]:
        """What Plotly draws: the band, then the curve."""
        shared = {"legendgroup": self.group, "legend": self.legend}
        if self.low is not None:
            edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, **shared}
            low, high, known = self.low, self.high, np.isfinite(self.low) & np.isfinite(self.high)
            x = self.x if known.all() else np.asarray(self.x)[known]  # a filled area with gaps is drawn across them
            yield go.Scatter(x=x, y=high[known], **edge)
            yield go.Scatter(
                x=x, y=low[known], fill="tonexty", fillcolor=theme.transparent(self.colour, self.shade), **edge
            )
        look: dict[str, Any] = {"mode": "lines", "line": {"color": self.colour, "width": self.width, "dash": self.dash}}
        if self.level is not None:
            few = max(3, len(self.y) // 40)
            marker = {"symbol": theme.MARKERS[self.level], "size": 8, "maxdisplayed": few, "color": self.colour}
            look |= {"mode": "lines+markers", "marker": marker}
        look |= {"hovertemplate": self.hover} if self.hover else {"hoverinfo": "skip"}
        look |= {"name": self.name or None, "showlegend": None if self.listed else False, "legendrank": self.rank}
        yield go.Scatter(x=self.x, y=self.y, **look | shared | dict(self.more))


# ---------------------------------------------------------------------------------------------------------------------
# Short legends: at most eight entries, so that they can be read from the last row and fit below a chart on a phone.


MOST = 8
AFTER = 1100  # rank of bounds: below all lines, though they are drawn before them (Plotly's usual rank is 1000)
NARROW = "legend2"  # of curves with names at their ends, seen where these have no room
INSIDE = {
    "x": 0.02, "y": 0.98, "font": {"size": 13}, "bgcolor": "rgba(0,0,0,0)", "groupclick": "togglegroup",
    "tracegroupgap": 0,
}  # fmt: skip


def collect(curves: Sequence[Curve], mine: Sequence[Curve], entry: Curve, **look: Any) -> list[Curve]:
    """The curves with one entry, which looks like ``entry``, for all that are ``mine``; a click on it hides them all.

    They keep their own names where the pointer is.
    """
    empty: dict[str, Any] = {"x": [None], "y": [None], "hover": "", "low": None, "high": None, "more": {}}
    shared = [replace(each, group=look["group"], listed=False) if each in mine else each for each in curves]
    return [*shared, replace(entry, **empty, **look)]


def collect_lines(curves: Sequence[Curve], experiment: Experiment, numbers: Sequence[int], room: int) -> list[Curve]:
    """The curves with an entry per line; where that is more than ``room`` one per policy, or else one per trust model.

    Everything drawn for line n must have the legend group ``line-n``.
    """
    lines = experiment.lines
    finest: tuple[Callable[[int], Hashable], ...] = (
        lambda number: number,
        lambda number: lines[number].policy,
        lambda number: lines[number].entry.privacy,
    )
    for group_of in finest:
        groups: dict[Hashable, list[int]] = {}
        for number in numbers:
            groups.setdefault(group_of(number), []).append(number)
        if len(groups) <= room:
            break
    collected = list(curves)
    for group, members in groups.items():
        if len(members) > 1:
            first = lines[members[0]].entry
            title = first.title if group == lines[members[0]].policy else theme.TRUST_WORDS[first.privacy]
            theirs = [each for each in curves if each.group in {f"line-{number}" for number in members}]
            middle = f"line-{members[len(members) // 2]}"
            entry = next(each for each in theirs if each.group == middle and each.level)
            name = f"{theme.TRUST_SIGNS[first.privacy]} {escape(title)}: {len(members)} lines"
            collected = collect(collected, theirs, entry, name=name, group=f"lines {group}", level=first.privacy)
    return collected


# ---------------------------------------------------------------------------------------------------------------------
# Plotly figures of results and bounds, the same on screen and in exports.


SAMPLE_RUNS = 20
MAX_DIRECT_LABELS = 6
MAX_BUDGET_GROUPS = 12
SIZE = 14  # of words and numbers in a picture, in pixels
ROW, LABEL = 16, 116  # letters and pixels, at most, of a row of a label at the end of a curve
LEGEND_ROW, LEGEND_HEIGHT = 28, 300  # letters of its rows, and pixels of the plot, where a legend is in the picture
MARGINS = 130  # pixels above and below a plot, together
ROW_HEIGHT, APART = 17, 5  # pixels of a row, and between the labels of two curves
LETTER, LONGEST, PLOTS = 6.3, 20, (600, 215)  # pixels of a letter, letters of a row, widths of plots
SCALES = (1, 1.5, 2)  # how much higher a plot may be, as it fills half of a window
CORRIDOR = "corridor"  # what its curves are marked by
MOST_NAMED = 3  # further bounds in a legend
NEAR = 1.0  # powers of ten by which a log axis grows for an edge of the corridor
NEAR_ZERO = 0.05  # of the height of a picture: a bound that is lower on a linear axis is not drawn there
MODE_BAR = 38  # pixels above every chart that belong to its buttons
CONFIG = {
    "displaylogo": False,
    "displayModeBar": "hover",
    "modeBarButtonsToRemove": ["zoom2d", "pan2d", "select2d", "lasso2d", "autoScale2d"],
    "toImageButtonOptions": {"format": "svg", "filename": "private-bandit-lab"},
}
# Plotly takes every touch of a chart for the beginning of a drag. What it is not told of, the browser treats as
# everywhere: a swipe scrolls, and a tap becomes a click of the mouse, which shows the numbers and chooses a point.
SWIPE = """document.addEventListener("touchstart", event => {
  if (event.target.closest?.(".js-plotly-plot .draglayer")) event.stopPropagation();
}, { capture: true, passive: true });
"""


def grid(dark: bool) -> str:
    """The colour of the lines behind curves."""
    return "#283442" if dark else "#EBF0F8"


def _template(dark: bool) -> go.layout.Template:
    """The look of a chart on light or dark ground. Plotly's own templates style thirty kinds of charts: ten times the
    work for every picture, and some kilobytes on the way to every visitor."""
    ink = theme.ink(dark)
    axis = {
        "automargin": True,
        "gridcolor": grid(dark),
        "linecolor": grid(dark),
        "tickfont": {"color": ink},
        "ticklabeloverflow": "allow",  # there is room for them; looking whether there is takes a browser long
        "ticks": "",
        "exponentformat": "none",
        "title": {"font": {"color": ink, "size": SIZE}, "standoff": 15},
        "zerolinecolor": grid(dark),
        "zerolinewidth": 2,
    }
    everywhere = {"autotypenumbers": "strict", "font": {"color": ink}, "hoverlabel": {"align": "left"}}
    return go.layout.Template(layout={**everywhere, "xaxis": axis, "yaxis": axis})


TEMPLATES = {False: "lab-light", True: "lab-dark"}
for _dark, _name in TEMPLATES.items():
    pio.templates[_name] = _template(_dark)


def style(figure: go.Figure, height: int, dark: bool) -> None:
    """What all charts have in common (set one by one: `update_layout` takes four times as long)."""
    layout = figure.layout
    layout.template = TEMPLATES[dark]
    layout.height = height
    layout.margin = {"l": 10, "r": 10, "t": MODE_BAR if height >= 200 else 10, "b": 10}
    layout.hovermode = "x unified"
    layout.paper_bgcolor = layout.plot_bgcolor = "rgba(0,0,0,0)"
    layout.font.color, layout.font.size = theme.ink(dark), SIZE
    layout.hoverlabel.font.size = SIZE
    layout.modebar = {"bgcolor": "rgba(0,0,0,0)", "color": theme.quiet(dark), "activecolor": theme.ink(dark)}
    layout.legend = {
        "orientation": "h",
        "xref": "container",
        "x": 0,
        "yref": "container",  # it makes its own room, below the title of the axis
        "yanchor": "bottom",
        "y": 0,
        "font": {"size": SIZE},
        "groupclick": "togglegroup",
    }
    for axis in (*figure.select_xaxes(), *figure.select_yaxes()):
        axis.tickfont.size = SIZE


def _shown(values: np.ndarray, log: bool) -> np.ndarray:
    """Values as float32 (half the payload); on a log axis what is not positive is left out."""
    with np.errstate(invalid="ignore"):
        positive = np.where(values > 0, values, np.nan) if log else values
    return positive.astype(np.float32)


def error_bars(values: Any, low: Any, high: Any, **look: Any) -> dict[str, Any]:
    """Bars from ``low`` to ``high`` around ``values``, as Plotly takes them; none where an end is NaN."""
    above, below = np.subtract(high, values), np.subtract(values, low)
    ends = {"array": np.nan_to_num(above), "arrayminus": np.nan_to_num(below)}
    return {"type": "data", "symmetric": False, **ends, **look}


def line_curve(experiment: Experiment, number: int, x: Any, y: Any, colour: str, **fields: Any) -> Curve:
    """What an experiment's line does, with its name and the marker of its trust model."""
    level = level_of(experiment, number)
    name = f"{theme.TRUST_SIGNS[level]} {escape(experiment.label(number))}"
    return Curve(x, y, colour=colour, **{"name": name, "level": level, "group": f"line-{number}", **fields})


def bound_curve(bound: Bound, x: Any, values: Any, colour: str, **fields: Any) -> Curve:
    """A bound as a curve, whose dashes say which kind it is."""
    named: dict[str, Any] = {"name": f"{bound.sign} {bound.label}", "dash": theme.dash(bound), "width": 1.5}
    return Curve(x, values, colour=colour, **{**named, "hover": "%{y:,.3~g}", "rank": AFTER, **fields})


@dataclass(frozen=True)
class Mark:
    """A straight line across a picture at an ``x`` or a ``y``, with words at its end."""

    x: Any = None
    y: Any = None
    dash: str | None = "dash"
    colour: str = "#888888"
    text: str = ""
    place: str = "top right"


def draw(
    curves: Iterable[Curve | BaseTraceType],
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    height: int,
    dark: bool,
    marks: Iterable[Mark] = (),
    closest: bool = False,
) -> go.Figure:
    """The picture of curves (or of other traces of Plotly's) over two axes.

    ``closest``: the pointer shows one point, not all curves at its place.
    """
    figure = go.Figure(
        [trace for curve in curves for trace in (curve.traces() if isinstance(curve, Curve) else (curve,))]
    )
    style(figure, height, dark)
    add_marks(figure, marks)
    if closest:
        figure.layout.hovermode = "closest"
    figure.layout.xaxis.update(x)
    figure.layout.yaxis.update(y)
    return figure


def add_marks(figure: go.Figure, marks: Iterable[Mark], **where: Any) -> None:
    """Draw them, in one part of a picture with several."""
    for mark in marks:
        look: dict[str, Any] = {"line": {"dash": mark.dash, "width": 1.5, "color": mark.colour}, **where}
        look |= {"annotation_text": mark.text, "annotation_position": mark.place} if mark.text else {}
        if mark.y is None:
            figure.add_vline(x=mark.x, **look)
        else:
            figure.add_hline(y=mark.y, **look)


def _line_curves(result: Drawable, number: int, colour: str, **legend: Any) -> list[Curve]:
    """Sample runs of one line, and last its mean with its band; empty where there is nothing to draw."""
    experiment, view = result.experiment, result.experiment.view
    line, divisor = result.lines[number], scale(result, number, view.quantity)
    if line is None or divisor is None:
        return []
    log = view.y == "log"
    edges: tuple[Any, ...] = (None, None)
    if line.count > 1:
        cut = (edge / divisor for edge in band(line, view.band))  # without gaps, which spoil a filled area
        edges = tuple(_shown(np.maximum(edge, 1e-9) if log else edge, log) for edge in cut)
    sampled = line.regret[:SAMPLE_RUNS] if view.runs and isinstance(line, LineResult) else ()
    thin: dict[str, Any] = {"hover": "", "width": 0.7, "group": f"line-{number}", "listed": False, **legend}
    faint = theme.transparent(colour, 0.45)
    runs = [Curve(result.times, _shown(run / divisor, log), colour=faint, **thin) for run in sampled]
    low, high = edges
    mean = line_curve(
        experiment, number, result.times, _shown(line.mean / divisor, log), colour, low=low, high=high, **legend
    )
    if legend:  # a long name in a narrow window's legend would leave the curves no room
        mean = replace(mean, name="<br>".join(map(escape, _rows(unescape(mean.name), LEGEND_ROW))))
    return [*runs, mean]


def corridor_curves(found: Corridor, x: Any, colour: str, log: bool, divisor: Any = 1.0) -> list[Curve]:
    """The corridor of a line at ``x``: an area, its upper and lower edge, and the rate of the long run."""
    lower, upper = (_shown(each / divisor, log) for each in (found.lower, found.upper))
    look: dict[str, Any] = {"colour": colour, "hover": "%{y:,.3~g}", "width": 1.2, "listed": False}
    look |= {"group": f"line-{found.line}", "more": {"meta": CORRIDOR}}
    area = {"low": np.nan_to_num(lower, nan=1e-9), "high": upper, "shade": 0.1}
    more: dict[str, dict[str, Any]] = {ABOVE: area if np.isfinite(found.edge).any() else {}, RATE: {"dash": "dash"}}
    curves = [
        Curve(x, _shown(values / divisor, log), name, **look, **more.get(name, {})) for name, values in found.curves
    ]
    return [each for each in curves if np.nanmax(each.y, initial=0.0) > 0]


def _is_edge(curve: Curve) -> bool:
    """Whether it belongs to a corridor."""
    return curve.more.get("meta") == CORRIDOR


def name_corridor(figure: go.Figure, curves: Iterable[Curve], dark: bool) -> None:
    """Words at the right ends of a corridor's curves, beside the other curves. One that ends outside the frame gets an
    arrow and its value.
    """
    low, high = figure.layout.yaxis.range
    log, room = figure.layout.yaxis.type == "log", figure.layout.height - MARGINS
    drawn = [trace for trace in figure.data if trace.line.width and len(trace.x) > 1]
    taken: list[tuple[float, float]] = []  # the middles of words, and half their heights
    for curve in filter(_is_edge, curves):
        end = math.log10(curve.y[-1]) if log and curve.y[-1] > 0 else float(curve.y[-1])
        place = (end - low) / (high - low)
        if not math.isfinite(end):
            continue
        outside = "↑" if place > 1 else "↓" if place < 0 else ""
        text = f"{outside} {curve.name}: {words.number(float(curve.y[-1]))}" if outside else curve.name
        first = -1 if outside == "↑" or (curve.name != ABOVE and place > 2 * NEAR_ZERO) else 1
        inside = min(max(place, 0.0), 1.0) * room
        rows = [text] if outside or len(text) <= LONGEST else wrap(text, len(text) // 2 + 2)
        half, wide = ROW_HEIGHT * len(rows) / 2, LETTER * max(map(len, rows))
        met = [_heights(figure, drawn, curve, max(0, 1 - wide / plot)) - inside for plot in PLOTS]
        looks = []
        for way in [first * side * far for far in range(12, 44, 4) for side in (1, -1)[: 1 if outside else 2]]:
            hidden = [sum(int((np.abs(each * scale - way) < half).sum()) for scale in SCALES) for each in met]
            said = sum(abs(there - inside - way) < half + other for there, other in taken)
            looks.append((said, hidden, abs(way), way))
        *_, shift = min(looks, key=lambda look: look[:3])  # of equal ones the first
        taken.append((inside + shift, half))
        ink = theme.as_text(curve.colour, dark)
        where = {"xanchor": "right", "align": "right", "xshift": -4, "yanchor": "middle", "yshift": shift}
        _write_at(figure, curve.x[-1], min(max(end, low), high), "<br>".join(rows), ink, where)


def _heights(figure: go.Figure, drawn: Iterable[Any], curve: Curve, since: float) -> np.ndarray:
    """How many pixels above the axis curves run, from a part of the length of one on to its end."""
    (low, high), log = figure.layout.yaxis.range, figure.layout.yaxis.type == "log"
    x, on_log = np.asarray(curve.x, float), figure.layout.xaxis.type == "log"
    parts = np.linspace(since, 1, 60)
    x = x[0] * (x[-1] / x[0]) ** parts if on_log else x[0] + (x[-1] - x[0]) * parts
    with np.errstate(divide="ignore", invalid="ignore"):
        met = np.array([np.interp(x, each.x, each.y, left=np.nan) for each in drawn])
        return ((np.log10(met) if log else met) - low) / (high - low) * (figure.layout.height - MARGINS)


def _write_at(figure: go.Figure, x: float, y: float, text: str, colour: str, where: Mapping[str, Any]) -> None:
    """Words beside the end of a curve."""
    across = math.log10(x) if figure.layout.xaxis.type == "log" else x
    font = {"color": colour, "size": 13}
    figure.add_annotation(x=across, y=y, text=text, font=font, showarrow=False, **where)


NUMBERS = ",~r"  # ticks as people write them: 0.0001 and 20,000, never 100µ
AMOUNTS = {"tickformat": NUMBERS}
USERS = {"exponentformat": "B", "separatethousands": True}  # how many there are: 1,000, 10k, 1M, 1B
FEW_USERS = 1_000_000  # whose numbers have room at an axis when they are written in full
USERS_LOG = {"type": "log", "dtick": 1, **USERS}


def log_step(low: float, high: float) -> int | str:
    """Plotly's step between the ticks of a log axis from ``low`` to ``high`` (logarithms), so that several stand there.

    Powers of ten, or 1-2-5 between them; within a factor of five that could leave none, so ticks are evenly spaced.
    """
    if high - low > 2.5:
        return 1
    if high - low > 0.75 or not high > low:
        return "D2"
    step = (10**high - 10**low) / 5
    unit = 10 ** np.floor(np.log10(step))
    return f"L{unit * next(nice for nice in (1, 2, 5, 10) if nice * unit >= step):.6g}"


def ticks(log: bool, low: float, high: float) -> dict[str, Any]:
    """Format and steps of an axis of amounts from ``low`` to ``high`` (logarithms on a log axis)."""
    return {**AMOUNTS, **({"dtick": log_step(low, high)} if log else {})}


def log_axis(title: str, low: float = 0.0, high: float = 3.0, **more: Any) -> dict[str, Any]:
    """A log axis of amounts between these logarithms (by default one with ticks at powers of ten)."""
    return {"title": title, "type": "log", **ticks(True, low, high), **more}


def vertical_range(curves: dict[int, np.ndarray], log: bool, highest: float = 0.0) -> tuple[float, float]:
    """What of the vertical axis shows the curves: loose bounds are orders of magnitude above them.

    ``highest`` is the top of the shaded bands, which are shown whole on a linear axis unless they dwarf the curves.
    """
    everything = np.concatenate(list(curves.values())) if curves else np.ones(1)
    everything = everything[np.isfinite(everything)]
    top = float(everything.max(initial=0.0)) or 1.0
    if not log:
        return 0.0, max(1.35 * top, min(1.05 * highest, 2.5 * top))
    positive = everything[everything > 0]
    low = max(float(positive.min(initial=top)), top * 1e-5)
    return float(np.log10(low / 1.3)), float(np.log10(top * 8))


def as_text(markup: str) -> str:
    """What a picture says, without Plotly's markup: rows in one, and signs as they are read."""
    return " ".join(unescape(re.sub("<[^<>]*>", " ", markup)).split())


def _rows(label: str, letters: int = ROW) -> list[str]:
    """A label cut between words into at most three rows of so many characters; "ε = 1" stays together if it fits."""
    joined = re.sub(r" ([=~]) ", "\u00a0\\1\u00a0", label)
    rows = wrap(joined, letters) or [label]
    return rows if len(rows) <= 3 else [*rows[:2], rows[2][: letters - 1] + "…"]


def _apart(wanted: list[float], labels: list[list[str]], room: float) -> list[float]:
    """Where labels stand, from the lowest to the highest, in pixels above the axis: where they are wanted, pushed up
    where they would overlap, and down again where the last would leave the ``room``.
    """
    halves = [(ROW_HEIGHT * len(rows) + APART) / 2 for rows in labels]
    places: list[float] = []
    reached = -math.inf
    for place, half in zip(wanted, halves, strict=True):
        places.append(max(place, reached + half))
        reached = places[-1] + half
    for number, half in reversed(list(enumerate(halves))):
        places[number] = min(places[number], room - half)
        room = places[number] - half
    return places


def add_direct_labels(
    figure: go.Figure,
    experiment: Experiment,
    last: float,
    curves: dict[int, np.ndarray],
    colours: list[str],
    height: int,
    dark: bool,
) -> None:
    """Names at the right ends of the curves of lines, which all end at ``last`` on the horizontal axis, in short rows
    (phones are narrow); see `_apart`. A legend inside the picture takes their place where it is narrow.
    """
    figure.layout[NARROW] = INSIDE
    low, high = figure.layout.yaxis.range
    log = figure.layout.yaxis.type == "log"
    longest = max((len(row) for number in curves for row in _rows(experiment.label(number))), default=0)
    figure.layout.xaxis.domain = (0, 1 - min(0.2, (8 + 7 * longest) / stylesheet.WIDE))
    ends = {number: float(curve[-1]) for number, curve in curves.items() if np.isfinite(curve[-1])}
    ends = {number: np.log10(y) if log else y for number, y in ends.items() if not log or y > 0}
    room = height - MARGINS
    once = {(end, experiment.label(number)): number for number, end in ends.items()}  # where curves are one
    numbers = sorted(once.values(), key=lambda number: ends[number])
    labels = [_rows(experiment.label(number)) for number in numbers]
    wanted = [(ends[number] - low) / (high - low) * room for number in numbers]
    for number, rows, place, there in zip(numbers, labels, wanted, _apart(wanted, labels, room), strict=True):
        text, colour = "<br>".join(map(escape, rows)), theme.as_text(colours[number], dark)
        where = {"align": "left", "width": LABEL, "xanchor": "left", "xshift": 6, "yshift": there - place}
        where |= {"hovertext": escape(experiment.label(number)), "name": f"line-{number}"}
        _write_at(figure, last, ends[number], text, colour, where)


def without_bounds(result: Result) -> Result:
    """The same curves without theory, for pages where it has a place (and controls) of its own."""
    view = result.experiment.view.model_copy(update={"bounds": False})
    return replace(result, experiment=result.experiment.model_copy(update={"view": view}))


def regret_chart(
    result: Drawable,
    dark: bool = False,
    height: int = 420,
    direct_labels: bool = True,
    vertical: tuple[float, float] | None = None,
    since: int = 1,
    focus: int | None = None,
    asked: Collection[str] = (),
) -> go.Figure:
    """Mean curves with bands, optional runs and the corridor of one line, drawn as the experiment's view says.

    Curves are labelled at their ends unless there are many, or no room for it (``direct_labels``): a legend inside the
    picture takes the labels' place where the window is narrow (ui/stylesheet.py). ``vertical`` is the
    range of the vertical axis (logarithms on a log axis) where it is not to follow the curves; the horizontal one
    begins at ``since`` users. ``focus`` is the line whose bounds are shown (by itself that `in_focus`), and ``asked``
    are labels of `further` bounds of it.
    """
    experiment, view = result.experiment, result.experiment.view
    colours = theme.line_colours(experiment, dark)
    direct = direct_labels and len(experiment.drawn) <= MAX_DIRECT_LABELS
    legend = {"legend": NARROW} if direct else {}
    lines = {number: _line_curves(result, number, colours[number], **legend) for number in experiment.drawn}
    means = {number: found[-1] for number, found in lines.items() if found}
    curves = [each for found in lines.values() for each in found]
    bounds = _bounds(result, in_focus(experiment) if focus is None else focus, asked, colours) if view.bounds else []
    if not direct_labels:  # there is no room for the words of a corridor in the plot
        bounds = [replace(each, listed=each.listed or _is_edge(each)) for each in bounds]
    more = [each for each in bounds if each.listed]
    if not direct:
        curves = collect_lines(curves, experiment, list(means), MOST - len(more))
    rows = len(more) if direct else sum(bool(each.name and each.listed) for each in (*curves, *more))
    edges = [each.high for each in means.values() if each.high is not None and np.isfinite(each.high).any()]
    highest = max((float(np.nanmax(edge)) for edge in edges), default=0.0)
    ys = {number: each.y for number, each in means.items()}
    low, high = vertical or vertical_range(ys, view.y == "log", highest)
    if view.y == "linear":
        high *= max(1, 0.24 * len(means)) if direct else 1  # a legend in a narrow picture stands above its curves
        bounds = [each for each in bounds if each.name == ABOVE or each.y[-1] > NEAR_ZERO * high]
    elif vertical is None:
        low, high = with_edges(low, high, bounds)
    ends = np.array([since, max(2 * since, result.times[-1])])
    steps = {**USERS_LOG, "range": np.log10(ends)} if view.x == "log" else {"type": "linear", **USERS, "range": ends}
    as_amounts = AMOUNTS if ends[1] <= FEW_USERS else {}  # so that both axes write 1,000
    up = {"title": QUANTITY_WORDS[view.quantity], "type": view.y, "range": (low, high)}
    up |= ticks(view.y == "log", low, high)
    users = {"title": "users so far", **steps, **as_amounts}
    figure = draw([*bounds, *curves], users, up, height + 22 * -(-rows // 3), dark)
    name_corridor(figure, [each for each in bounds if not each.listed], dark)
    if direct:
        add_direct_labels(figure, experiment, float(result.times[-1]), ys, colours, height, dark)
        figure.layout[NARROW].y -= bool(bounds) * ROW_HEIGHT / LEGEND_HEIGHT  # below words of the corridor
    return figure


def with_edges(low: float, high: float, curves: Iterable[Curve]) -> tuple[float, float]:
    """The range of a log axis, wide enough for the ends of a corridor that are near it."""
    ends = [math.log10(each.y[-1]) for each in curves if _is_edge(each) and each.y[-1] > 0]
    near = [end for end in ends if low - NEAR < end < high + NEAR]
    return min([low, *(end - 0.3 for end in near)]), max([high, *(end + 0.4 for end in near)])


def _bounds(result: Drawable, line: int | None, asked: Collection[str], colours: list[str]) -> list[Curve]:
    """The corridor of a line, and the further bounds that are asked for."""
    shown = line_corridor(result, line)
    if line is None or shown is None:
        return []
    found, divisor = shown
    experiment, log, colour = result.experiment, result.experiment.view.y == "log", colours[line]
    curves = corridor_curves(found, result.times, colour, log, divisor)
    lit = [bound for bound in further(experiment, line) if bound.label in asked]
    for bound in lit:
        values = _shown(bound.values(result.times, experiment.largest_gap) / divisor, log)
        curves.append(
            bound_curve(bound, result.times, values, colour, group=f"line-{line}", listed=len(lit) <= MOST_NAMED)
        )
    return curves


def name_band(figure: go.Figure, result: Drawable) -> go.Figure:
    """The same with the band in the legend, for readers who see no caption."""
    counts = [line.count for line in result.lines if line is not None]
    if max(counts, default=0) > 1:
        message = words.sentence(words.band(max(counts), result.experiment.view, min(counts)))
        figure.add_traces([*Curve([None], [None], message, "rgba(107,114,128,0.3)", hover="", width=9).traces()])
        figure.layout.height += 22
    return figure


def add_ghosts(figure: go.Figure, before: Result, now: Result, dark: bool) -> None:
    """The curves of an earlier picture as thin lines behind those that have changed since, named "before"."""
    colours, legend = theme.line_colours(now.experiment, dark), figure.data[0].legend
    fields: dict[str, Any] = {"width": 1, "legend": legend, "group": "before"}
    for number, (old, new) in enumerate(zip(before.lines, now.lines, strict=True)):
        if old is None or new is None or np.array_equal(old.mean, new.mean):
            continue
        distribution = before.experiment.lines[number].epsilon
        label = "before" if distribution is None else f"before: {budget_words(distribution)}"
        mean = _shown(old.mean, now.experiment.view.y == "log")
        figure.add_traces([*Curve(before.times, mean, label, colours[number], **fields).traces()])
        fields["listed"] = False  # one entry for all


def describe(result: Drawable) -> str:
    """The chart's content as text, for screen readers."""
    experiment = result.experiment
    parts = [f"{QUANTITY_WORDS['regret']} against the number of users, up to {words.count(experiment.horizon)}."]
    for number, line in enumerate(result.lines):
        if line is not None:
            end = words.with_error(float(line.mean[-1]), float(line.stderr[-1]))
            parts.append(f"{experiment.label(number)} ends at {end} ({words.count(line.count)} trials).")
    return " ".join(parts)


def _numbers(values: Any) -> np.ndarray | None:
    """Values of an axis as numbers; None where it has names."""
    try:
        return np.asarray(values, float)
    except (TypeError, ValueError):
        return None


def _at(trace: Any, place: int) -> str:
    shown = [
        value if isinstance(value, str) else words.number(float(value)) for value in (trace.x[place], trace.y[place])
    ]
    return f"{shown[0]} at {shown[1]}" if isinstance(trace.y[place], str) else f"{shown[1]} at {shown[0]}"


def read_aloud(figure: go.Figure, what: str) -> str:
    """A picture as text, for screen readers: what it shows, and where every named curve begins and ends."""
    axes = [as_text(axis.title.text) for axis in (figure.layout.xaxis, figure.layout.yaxis) if axis.title.text]
    parts = [f"{what}{f' ({axes[1]} against {axes[0]})' if len(axes) == 2 else ''}."]
    for trace in figure.data:
        if not trace.name or trace.x is None or trace.y is None:
            continue
        values = [axis for axis in map(_numbers, (trace.x, trace.y)) if axis is not None]
        places = np.flatnonzero(np.isfinite(values[-1])) if values else np.array([], int)
        if not len(places):
            continue
        if trace.type == "bar" or len(values) < 2:
            found = ", ".join(_at(trace, place) for place in places[:10])
        elif places[0] == places[-1]:
            found = _at(trace, places[0])
        else:
            found = f"from {_at(trace, places[0])} to {_at(trace, places[-1])}"
        parts.append(f"{as_text(trace.name)}: {found}.")
    return " ".join(parts)


def read_users_aloud(epsilon: Any, threshold: float | None) -> str:
    """The picture of `density_chart` as text."""
    note = (
        ""
        if threshold is None
        else f" Threshold at {threshold:.3g}: {percent(epsilon.share_above(threshold))} of the users are kept."
    )
    return f"How the budget ε is spread over users: {write_epsilon(epsilon)[:300]}.{note}"


def pulls_chart(result: Result, dark: bool = False) -> go.Figure:
    """Mean pulls per arm at the horizon, a dot per line; equal arms are averaged into one group.

    Dots, as a log axis has no zero from which a bar could grow.
    """
    experiment, curves, pulled, visible = result.experiment, [], [], []
    colours = theme.line_colours(experiment, dark)
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(each(experiment.single_arms, lambda arm: f"{words.number(arm.expected)} {arm.kind}")):
        groups.setdefault(name, []).append(place)
    if experiment.contexts is not None:  # no arm is better than another for everyone
        groups = {str(place + 1): [place] for place in range(experiment.arm_count)}
    names = [f"{name} × {len(members)}" if len(members) > 1 else name for name, members in groups.items()]
    for number, line in enumerate(result.lines):
        if line is None or number in experiment.view.hidden:
            continue
        mean, privacy, colour = line.pulls.mean(axis=0), level_of(experiment, number), colours[number]
        heights = [float(mean[members].mean()) for members in groups.values()]
        pulled += heights
        marker = {"symbol": theme.MARKERS[privacy].replace("-ns", "-ew"), "size": 12, "color": colour}
        marker |= {"line": {"width": 3, "color": colour}} if privacy == "none" else {}
        more = {"mode": "markers", "marker": marker, "line": None}
        curves.append(line_curve(experiment, number, names, heights, colour, more=more))
        visible.append(number)
    positive = np.log10([height for height in pulled if height > 0] or [1.0])
    across = {"title": "arm: mean and distribution" if experiment.contexts is None else "arm", "type": "category"}
    up = log_axis("pulls per arm (mean over trials)", float(positive.min()) - 0.3, float(positive.max()))
    figure = draw(collect_lines(curves, experiment, visible, MOST), across, up, 400, dark)
    figure.update_layout(scattermode="group", scattergap=0.4, hovermode="x")
    return figure


def density_chart(
    epsilon: BudgetDistribution, threshold: float | None, dark: bool = False, height: int = 130
) -> go.Figure:
    """How the budget is spread over users: a bar for each of a few groups, else a linear axis; a line at the threshold,
    and grey what lies below it.

    The axis of a density ends where a hundredth of the users is left.
    """
    colour, curves, bars_only = "#58b7e0" if dark else "#0b6e99", [], grouped(epsilon)
    least = threshold or 0.0
    values, shares = (part[epsilon.atoms[1] > 1e-6] for part in epsilon.atoms)
    names = [f"ε = {value:g}" if value > 0 else "ε = 0: shares nothing" for value in values]
    message = [f"{name}: {percent(share)} of users" for name, share in zip(names, shares, strict=True)]
    colours = np.where(values < least, theme.GREY, colour)
    if epsilon.interval is not None:
        grid = np.linspace(*budget_range(epsilon), 200)
        hover, filled = "ε = %{x:.3~g}<extra></extra>", {"fill": "tozeroy"}
        ends = np.clip([grid[0], least, grid[-1]], grid[0], grid[-1])
        for low, high, shade in ((*ends[:2], theme.GREY), (*ends[1:], colour)):
            part = np.unique([low, *grid[(grid > low) & (grid < high)], high])
            if low < high:
                look: dict[str, Any] = {"hover": hover, "width": 1.5, "listed": False, "more": filled}
                curves.append(Curve(part, epsilon.density(part), "", shade, **look))
    if bars_only:
        bars = {"marker": {"color": colours}, "width": 0.6, "hovertemplate": "%{text}<extra></extra>"}
        bars |= {"text": message, "textposition": "none", "showlegend": False}
        curves.append(go.Bar(x=group_names(values), y=shares, **bars))
    elif len(values):
        for shade in dict.fromkeys(colours.tolist()):  # one curve for all of a shade, however many there are
            these = colours == shade
            gap = np.full(these.sum(), np.nan)
            x = np.column_stack([values[these], values[these], gap]).ravel()
            y = np.column_stack([np.zeros(len(gap)), shares[these], gap]).ravel()
            texts = np.repeat(np.array(message)[these], 3)
            dots = {"mode": "lines+markers", "marker": {"size": 7, "color": shade}, "text": texts}
            curves.append(Curve(x, y, "", shade, "%{text}<extra></extra>", width=5, listed=False, more=dots))
    with_shares = epsilon.interval is None  # a density has no share at any one place
    place = np.searchsorted(values, threshold) - 0.5 if bars_only and threshold is not None else threshold
    across = {"title": "ε of a user", "type": "category" if bars_only else "linear", "rangemode": "tozero"}
    up: dict[str, Any] = {
        "title": "share of users" if with_shares and height >= 200 else None,
        "tickformat": ".0%",
        "rangemode": "tozero",
    }
    up |= {"showticklabels": with_shares, "nticks": 4}
    figure = draw(curves, across, up, height, dark, [] if threshold is None else [Mark(place)], closest=True)
    figure.layout.showlegend = False
    return figure


def grouped(epsilon: BudgetDistribution) -> bool:
    """Whether `density_chart` draws a bar for each budget of these users."""
    return epsilon.interval is None and int((epsilon.atoms[1] > 1e-6).sum()) <= MAX_BUDGET_GROUPS


def group_names(values: Iterable[float]) -> list[str]:
    """What groups of users are called on the axis of `density_chart`."""
    return [f"{value:g}" for value in values]


def budget_range(epsilon: BudgetDistribution) -> tuple[float, float]:
    """The ends of the linear axis of `density_chart`: the upper one is where a hundredth of the users is left."""
    places = epsilon.candidates()
    last = bisect_left(places, True, key=lambda place: epsilon.share_above(place) < 0.01)
    top = float(places[min(last, len(places) - 1)])
    return max(float(places[0]), 1e-3 * top), top
