"""Plotly figures of results and bounds, the same on screen and in exports."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from dataclasses import replace
from html import escape, unescape
from textwrap import wrap
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io as pio

from bandit_core.experiments.experiment import budget_words
from bandit_core.model import Privacy
from bandit_core.model.bound import Bound
from bandit_core.simulation.results import Drawable, LineResult, Result, band
from bandit_core.simulation.summaries import QUANTITY_WORDS, drawn_bounds, scale
from bandit_core.spec.notation import write_epsilon
from bandit_core.spec.number_text import percent
from bandit_core.spec.rewards import each
from bandit_core.studies.trust_steps import level_of
from ui import legends, stylesheet, theme, words

SAMPLE_RUNS = 20
MAX_DIRECT_LABELS = 6
MAX_BUDGET_GROUPS = 12
SIZE = 14  # of words and numbers in a picture, in pixels
ROW, LABEL = 16, 116  # letters and pixels, at most, of a row of a label at the end of a curve
ROW_HEIGHT = 17  # pixels
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


def _template(dark: bool) -> go.layout.Template:
    """The look of a chart on light or dark ground. Plotly's own templates style thirty kinds of charts: ten times the
    work for every picture, and some kilobytes on the way to every visitor."""
    ink, grid = theme.ink(dark), "#283442" if dark else "#EBF0F8"
    axis = {
        "automargin": True,
        "gridcolor": grid,
        "linecolor": grid,
        "tickfont": {"color": ink},
        "ticklabeloverflow": "allow",  # there is room for them; looking whether there is takes a browser long
        "ticks": "",
        "exponentformat": "none",
        "title": {"font": {"color": ink, "size": SIZE}, "standoff": 15},
        "zerolinecolor": grid,
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
        kept = np.where(values > 0, values, np.nan) if log else values
    return kept.astype(np.float32)


def marked(privacy: Privacy, colour: str, points: int) -> dict[str, Any]:
    """Line and markers of a policy's curve: now and then the sign of its trust model, for eyes that see no hue."""
    few = max(3, points // 40)
    return {
        "mode": "lines+markers",
        "line": {"width": 2.5, "color": colour},
        "marker": {"symbol": theme.MARKERS[privacy], "size": 8, "maxdisplayed": few, "color": colour},
    }


def error_bars(values: Any, low: Any, high: Any) -> dict[str, Any]:
    """Bars from ``low`` to ``high`` around ``values``, as Plotly takes them; none where an end is NaN."""
    above, below = np.subtract(high, values), np.subtract(values, low)
    return {"type": "data", "symmetric": False, "array": np.nan_to_num(above), "arrayminus": np.nan_to_num(below)}


def _add_line(figure: go.Figure, result: Drawable, number: int, colour: str) -> np.ndarray | None:
    """Band, sample runs and mean of one line; returns the mean as drawn."""
    experiment, view = result.experiment, result.experiment.view
    line, divisor = result.lines[number], scale(result, number, view.quantity)
    if line is None or divisor is None:
        return None
    label, log = experiment.label(number), view.y == "log"
    level = level_of(experiment, number)
    group = {"legendgroup": f"line-{number}"}
    quiet = {"hoverinfo": "skip", "showlegend": False, **group}
    if line.count > 1:
        edges = (edge / divisor for edge in band(line, view.band))  # without gaps, which spoil a filled area
        low, high = (_shown(np.maximum(edge, 1e-9) if log else edge, log) for edge in edges)
        figure.add_scatter(x=result.times, y=high, mode="lines", line={"width": 0}, **quiet)
        fill = theme.transparent(colour, 0.15)
        figure.add_scatter(
            x=result.times, y=low, mode="lines", line={"width": 0}, fill="tonexty", fillcolor=fill, **quiet
        )
    if view.runs and isinstance(line, LineResult):
        for run in line.regret[:SAMPLE_RUNS]:
            thin = {"width": 0.7, "color": theme.transparent(colour, 0.45)}
            figure.add_scatter(x=result.times, y=_shown(run / divisor, log), mode="lines", line=thin, **quiet)
    mean = _shown(line.mean / divisor, log)
    figure.add_scatter(
        x=result.times,
        y=mean,
        name=f"{theme.TRUST_SIGNS[level]} {escape(label)}",
        **marked(level, colour, len(mean)),
        hovertemplate="%{y:,.4~g}",
        **group,
    )
    return mean


def _bounds_of(result: Drawable, visible: list[int]) -> list[tuple[Bound, np.ndarray, list[int]]]:
    """Every bound to draw once, as it is shown, and the lines it speaks of (many bounds hold for several lines)."""
    return drawn_bounds(result, visible, lambda values: _shown(values, result.experiment.view.y == "log"))


def _add_bounds(figure: go.Figure, result: Drawable, visible: list[int], colours: list[str]) -> int:
    """Draw them, each kind with one entry in the legend; returns the number of entries."""
    drawn = []
    for bound, values, lines in _bounds_of(result, visible):
        shared = len(lines) > 1 and len(lines) == len(visible)
        several = len(lines) > 1 and not shared
        private = result.experiment.lines[lines[-1]].entry.privacy
        figure.add_scatter(
            x=result.times,
            y=values,
            mode="lines",
            name=f"{bound.sign} {bound.label}",
            line={
                "width": 1.5,
                "color": theme.GREY if shared else theme.TRUST_COLOURS[private] if several else colours[lines[0]],
                "dash": theme.dash(bound),
            },
            legendgroup="bounds" if len(lines) > 1 else f"line-{lines[0]}",
            hovertemplate="%{y:,.3~g}",
        )
        drawn.append((bound, figure.data[-1]))
    return legends.collect_bounds(figure, result.experiment, drawn)


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


def _rows(label: str) -> list[str]:
    """A label cut between words into at most three rows of `ROW` characters; "ε = 1" stays together if it fits."""
    joined = re.sub(r" ([=~]) ", "\u00a0\\1\u00a0", label)
    rows = wrap(joined, ROW) or [label]
    return rows if len(rows) <= 3 else [*rows[:2], rows[2][: ROW - 1] + "…"]


def _apart(wanted: list[float], labels: list[list[str]], room: float) -> list[float]:
    """Where labels stand, from the lowest to the highest, in pixels above the axis: where they are wanted, pushed up
    where they would overlap, and down again where the last would leave the ``room``.
    """
    halves = [ROW_HEIGHT * len(rows) / 2 for rows in labels]
    places: list[float] = []
    reached = -math.inf
    for place, half in zip(wanted, halves, strict=True):
        places.append(max(place, reached + half))
        reached = places[-1] + half
    for number, half in reversed(list(enumerate(halves))):
        places[number] = min(places[number], room - half)
        room = places[number] - half
    return places


def _add_direct_labels(
    figure: go.Figure,
    result: Drawable,
    curves: dict[int, np.ndarray],
    colours: list[str],
    height: int,
    dark: bool,
    vertical: tuple[float, float],
) -> None:
    """Names at the right ends of the curves, in short rows (phones are narrow); see `_apart`.

    ``vertical`` is the range of the vertical axis.
    """
    view, experiment = result.experiment.view, result.experiment
    low, high = vertical
    longest = max((len(row) for number in curves for row in _rows(experiment.label(number))), default=0)
    figure.layout.xaxis.domain = (0, 1 - min(0.2, (8 + 7 * longest) / stylesheet.WIDE))
    ends = {number: float(curve[-1]) for number, curve in curves.items() if np.isfinite(curve[-1])}
    ends = {number: np.log10(y) if view.y == "log" else y for number, y in ends.items() if view.y != "log" or y > 0}
    room = height - 130
    numbers = sorted(ends, key=lambda number: ends[number])
    labels = [_rows(experiment.label(number)) for number in numbers]
    wanted = [(ends[number] - low) / (high - low) * room for number in numbers]
    for number, rows, place, there in zip(numbers, labels, wanted, _apart(wanted, labels, room), strict=True):
        figure.add_annotation(
            x=np.log10(result.times[-1]) if view.x == "log" else result.times[-1],
            y=ends[number],
            text="<br>".join(escape(row) for row in rows),
            hovertext=escape(experiment.label(number)),
            align="left",
            width=LABEL,
            font={"color": theme.as_text(colours[number], dark), "size": 13},
            xanchor="left",
            xshift=6,
            yshift=there - place,
            showarrow=False,
        )


def without_bounds(result: Result) -> Result:
    """The same curves without theory, for pages where it has a place (and controls) of its own."""
    view = result.experiment.view.model_copy(update={"bounds": False})
    return replace(result, experiment=result.experiment.model_copy(update={"view": view}))


def curve(
    figure: go.Figure, x: Any, y: Any, name: str, colour: str, hover: str, dash: str | None = None, width: float = 2.5,
    **more: Any,
) -> None:  # fmt: skip
    """Add a curve; ``hover`` is what stands beside the pointer, as a template."""
    line = {"color": colour, "width": width} | ({"dash": dash} if dash else {})
    figure.add_scatter(x=x, y=y, name=name, line=line, hovertemplate=hover, **({"mode": "lines"} | more))


def regret_chart(
    result: Drawable,
    dark: bool = False,
    height: int = 420,
    direct_labels: bool = True,
    vertical: tuple[float, float] | None = None,
    since: int = 1,
) -> go.Figure:
    """Mean curves with bands, optional runs and bounds, drawn as the experiment's view says.

    Curves are labelled at their ends unless there are many, or no room for it (``direct_labels``): a legend inside the
    picture takes the labels' place where the window is narrow (ui/stylesheet.py). ``vertical`` is the
    range of the vertical axis (logarithms on a log axis) where it is not to follow the curves; the horizontal one
    begins at ``since`` users.
    """
    experiment, view = result.experiment, result.experiment.view
    figure = go.Figure()
    colours = theme.line_colours(experiment, dark)
    visible = [number for number in range(len(experiment.lines)) if number not in view.hidden]
    means = {number: _add_line(figure, result, number, colours[number]) for number in visible}
    curves = {number: mean for number, mean in means.items() if mean is not None}
    direct = direct_labels and len(visible) <= MAX_DIRECT_LABELS
    if direct:
        for trace in figure.data:
            trace.legend = legends.NARROW
            if trace.name:  # a long name in a narrow window's legend would leave the curves no room
                trace.name = "<br>".join(map(escape, _rows(unescape(trace.name))))
    kinds = _add_bounds(figure, result, visible, colours) if view.bounds else 0
    if not direct:
        legends.collect_lines(figure, experiment, visible, colours, legends.MOST - kinds)
    rows = kinds if direct else len(legends.entries(figure))
    style(figure, height + 22 * -(-rows // 3), dark)
    bands = [trace.y for trace in figure.data if trace.line.width == 0]
    highest = max((float(np.nanmax(edge)) for edge in bands if np.isfinite(edge).any()), default=0.0)
    low, high = vertical or vertical_range(curves, view.y == "log", highest)
    if direct:
        figure.layout[legends.NARROW] = legends.INSIDE
        _add_direct_labels(figure, result, curves, colours, height, dark, (low, high))
    ends = np.array([since, max(2 * since, result.times[-1])])
    decades = np.log10(ends)
    steps = {**USERS_LOG, "range": decades} if view.x == "log" else {"type": "linear", **USERS, "range": ends}
    as_amounts = AMOUNTS if ends[1] <= FEW_USERS else {}  # so that both axes write 1,000
    figure.update_xaxes(title="users so far", **steps, **as_amounts)
    figure.update_yaxes(
        title=QUANTITY_WORDS[view.quantity], type=view.y, range=(low, high), **ticks(view.y == "log", low, high)
    )
    return figure


def name_band(figure: go.Figure, result: Drawable) -> go.Figure:
    """The same with the band in the legend, for readers who see no caption."""
    counts = [line.count for line in result.lines if line is not None]
    if max(counts, default=0) > 1:
        message = words.sentence(words.band(max(counts), result.experiment.view, min(counts)))
        look = {"width": 9, "color": "rgba(107,114,128,0.3)"}
        figure.add_scatter(x=[None], y=[None], mode="lines", name=message, line=look, hoverinfo="skip")
        figure.layout.height += 22
    return figure


def add_ghosts(figure: go.Figure, before: Result, now: Result, dark: bool) -> None:
    """The curves of an earlier picture as thin lines behind those that have changed since, named "before"."""
    ghosts: list[go.Scatter] = []
    for number, (old, new) in enumerate(zip(before.lines, now.lines, strict=True)):
        if old is None or new is None or np.array_equal(old.mean, new.mean):
            continue
        distribution = before.experiment.lines[number].epsilon
        label = "before" if distribution is None else f"before: {budget_words(distribution)}"
        ghosts.append(
            go.Scatter(
                x=before.times,
                y=_shown(old.mean, now.experiment.view.y == "log"),
                mode="lines",
                name=label,
                line={"width": 1, "color": theme.line_colours(now.experiment, dark)[number]},
                legend=figure.data[0].legend,
                legendgroup="before",
                showlegend=not ghosts,
                hovertemplate="%{y:,.4~g}",
            )
        )
    figure.add_traces(ghosts)


def describe(result: Drawable) -> str:
    """The chart's content as text, for screen readers."""
    experiment = result.experiment
    parts = [f"{QUANTITY_WORDS['regret']} against the number of users, up to {words.count(experiment.horizon)}."]
    for number, line in enumerate(result.lines):
        if line is not None:
            end = words.with_error(float(line.mean[-1]), float(line.stderr[-1]))
            parts.append(f"{experiment.label(number)} ends at {end} ({line.count} trials).")
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
    kept = (
        ""
        if threshold is None
        else f" Threshold at {threshold:.3g}: {percent(epsilon.share_above(threshold))} of the users are kept."
    )
    return f"How the budget ε is spread over users: {write_epsilon(epsilon)[:300]}.{kept}"


def pulls_chart(result: Result, dark: bool = False) -> go.Figure:
    """Mean pulls per arm at the horizon, a dot per line; equal arms are averaged into one group.

    Dots, as a log axis has no zero from which a bar could grow.
    """
    experiment = result.experiment
    figure, drawn = go.Figure(), []
    colours = theme.line_colours(experiment, dark)
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(each(experiment.single_arms, lambda arm: f"{words.number(arm.expected)} {arm.name}")):
        groups.setdefault(name, []).append(place)
    if experiment.contexts is not None:  # no arm is better than another for everyone
        groups = {str(place + 1): [place] for place in range(experiment.arm_count)}
    names = [f"{name} × {len(members)}" if len(members) > 1 else name for name, members in groups.items()]
    for number, line in enumerate(result.lines):
        if line is None or number in experiment.view.hidden:
            continue
        mean = line.pulls.mean(axis=0)
        heights = [float(mean[members].mean()) for members in groups.values()]
        privacy = experiment.lines[number].entry.privacy
        figure.add_scatter(
            x=names,
            y=heights,
            mode="markers",
            name=f"{theme.TRUST_SIGNS[privacy]} {escape(experiment.label(number))}",
            marker={
                "symbol": theme.MARKERS[privacy].replace("-ns", "-ew"),
                "size": 12,
                "color": colours[number],
                "line": {"width": 3, "color": colours[number]} if privacy == "none" else None,
            },
            legendgroup=f"line-{number}",
            hovertemplate="%{y:,.4~g}",
        )
        drawn.append(number)
    legends.collect_lines(figure, experiment, drawn, colours, legends.MOST)
    style(figure, 400, dark)
    figure.update_layout(scattermode="group", scattergap=0.4, hovermode="x")
    pulled = np.concatenate([np.asarray(trace.y, float) for trace in figure.data] or [np.ones(1)])
    positive = np.log10(pulled[pulled > 0]) if (pulled > 0).any() else np.zeros(1)
    axis = ticks(True, float(positive.min()) - 0.3, float(positive.max()))
    figure.update_yaxes(type="log", title="pulls per arm (mean over trials)", **axis)
    figure.update_xaxes(title="arm: mean and distribution" if experiment.contexts is None else "arm", type="category")
    return figure


def sparkline(result: Drawable, dark: bool = False, width: int = 260, height: int = 110) -> str:
    """A small SVG of the mean curves on the axes of the large chart, made from the same numbers."""
    experiment = result.experiment
    colours = theme.line_colours(experiment, dark)
    users = np.log(result.times) if experiment.view.x == "log" else result.times
    horizontal = users / max(users[-1], 1)
    log = experiment.view.y == "log"
    curves = [(number, line.mean) for number, line in enumerate(result.lines) if line is not None]
    if log:
        curves = [(number, np.log(np.maximum(mean, 0.1))) for number, mean in curves]
    top = max((float(mean.max()) for _, mean in curves), default=1.0)
    bottom = min((float(mean.min()) for _, mean in curves), default=0.0)
    span = (top - bottom) or 1.0
    kept = np.unique(np.append(np.arange(0, len(result.times), max(1, len(result.times) // 50)), len(result.times) - 1))
    paths = []
    for number, mean in curves:
        points = " ".join(
            f"{4 + (width - 8) * x:.1f},{height - 4 - (height - 8) * (y - bottom) / span:.1f}"
            for x, y in zip(horizontal[kept], mean[kept], strict=True)
        )
        paths.append(
            f'<polyline points="{points}" fill="none" stroke="{colours[number]}" stroke-width="2.2" '
            'stroke-linejoin="round"/>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{"".join(paths)}</svg>'
    )


def density_chart(epsilon, threshold: float | None, dark: bool = False, height: int = 130) -> go.Figure:  # type: ignore[no-untyped-def]
    """How the budget is spread over users: a bar for each of a few groups, else a linear axis; a line at the threshold.

    The axis of a density ends where a hundredth of the users is left.
    """
    figure = go.Figure()
    colour = "#58b7e0" if dark else "#0b6e99"
    values, shares = (part[epsilon.atoms[1] > 1e-6] for part in epsilon.atoms)
    names = [f"ε = {value:g}" if value > 0 else "ε = 0: shares nothing" for value in values]
    message = [f"{name}: {percent(share)} of users" for name, share in zip(names, shares, strict=True)]
    grouped = epsilon.interval is None and len(values) <= MAX_BUDGET_GROUPS
    if epsilon.interval is not None:
        places = epsilon.candidates()
        last = bisect_left(places, True, key=lambda place: epsilon.share_above(place) < 0.01)
        top = float(places[min(last, len(places) - 1)])
        grid = np.linspace(max(float(places[0]), 1e-3 * top), top, 200)
        look = {"mode": "lines", "fill": "tozeroy", "line": {"color": colour, "width": 1.5}}
        figure.add_scatter(x=grid, y=epsilon.density(grid), hovertemplate="ε = %{x:.3~g}<extra></extra>", **look)
    if grouped:
        bars = {"marker": {"color": colour}, "width": 0.6, "hovertemplate": "%{text}<extra></extra>"}
        figure.add_bar(x=[f"{value:g}" for value in values], y=shares, text=message, textposition="none", **bars)
    elif len(values):
        gap = np.full(len(shares), np.nan)  # one curve for all, however many there are
        figure.add_scatter(
            x=np.column_stack([values, values, gap]).ravel(),
            y=np.column_stack([np.zeros(len(shares)), shares, gap]).ravel(),
            text=np.repeat(message, 3),
            mode="lines+markers",
            line={"color": colour, "width": 5},
            marker={"size": 7, "color": colour},
            hovertemplate="%{text}<extra></extra>",
        )
    if threshold is not None:
        place = np.searchsorted(values, threshold) - 0.5 if grouped else threshold
        figure.add_vline(x=place, line={"dash": "dash", "width": 1.5, "color": "#888888"})
    style(figure, height, dark)
    figure.update_layout(showlegend=False, hovermode="closest")
    figure.update_xaxes(title="ε of a user", type="category" if grouped else "linear", rangemode="tozero")
    whole = epsilon.interval is None  # a density has no share at any one place
    title = "share of users" if whole and height >= 200 else None
    figure.update_yaxes(title=title, showticklabels=whole, tickformat=".0%", nticks=4, rangemode="tozero")
    return figure
