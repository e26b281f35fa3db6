"""Short legends: at most eight entries, so that they can be read from the last row and fit below a chart on a phone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from html import escape
from typing import Any

import plotly.graph_objects as go

from bandit_core import Experiment
from bandit_core.model.bound import Bound
from ui import theme

MOST = 8
AFTER = 1100  # rank of bounds: below all lines, though they are drawn before them (Plotly's usual rank is 1000)
NARROW = "legend2"  # of curves with names at their ends, seen where these have no room
INSIDE = {"x": 0.02, "y": 0.98, "font": {"size": 13}, "bgcolor": "rgba(0,0,0,0)", "groupclick": "togglegroup"}
_KINDS = {
    "↓": "↓ {} lower bounds",
    "↑": "↑ {} upper bounds",
    "slope:": "{} asymptotic rates",
    "shape:": "{} shapes without constants",
    "no limit:": "{} rates and shapes",
}


def collect(figure: go.Figure, traces: Iterable[go.Scatter], group: str, name: str, **look: Any) -> None:
    """One entry for all of ``traces``, which keep their own names where the pointer is; a click hides them all."""
    for trace in traces:
        trace.legendgroup, trace.showlegend = group, False
    figure.add_scatter(x=[None], y=[None], name=name, legendgroup=group, hoverinfo="skip", **look)


def collect_bounds(figure: go.Figure, experiment: Experiment, drawn: list[tuple[Bound, go.Scatter]]) -> int:
    """One entry for each kind of bound of which there are several; returns the number of their entries.

    Where lines of many promises leave less room, slopes and shapes, neither of them limits, share one.
    """
    kinds: dict[str, list[go.Scatter]] = {}
    for bound, trace in drawn:
        trace.legendrank = AFTER
        kinds.setdefault(bound.sign, []).append(trace)
    promises = {line.entry.privacy for line in experiment.lines}
    if len(kinds) + len(promises) > MOST and {"slope:", "shape:"} <= set(kinds):
        kinds["no limit:"] = [*kinds.pop("slope:"), *kinds.pop("shape:")]
    for sign, traces in kinds.items():
        if len(traces) > 1:
            line = {"color": theme.GREY, "width": 1.5, "dash": traces[0].line.dash}
            collect(
                figure,
                traces,
                f"bounds {sign}",
                _KINDS[sign].format(len(traces)),
                mode="lines",
                line=line,
                legendrank=AFTER,
            )
    return len(kinds)


def collect_lines(figure: go.Figure, experiment: Experiment, numbers: list[int], colours: list[str], room: int) -> None:
    """An entry per line; where that is more than ``room`` one per policy, or else one per trust model.

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
    for group, members in groups.items():
        if len(members) > 1:
            first = lines[members[0]].entry
            title = first.title if group == lines[members[0]].policy else theme.TRUST_WORDS[first.privacy]
            names = {f"line-{number}" for number in members}
            colour = colours[members[len(members) // 2]]
            collect(
                figure,
                [trace for trace in figure.data if trace.legendgroup in names],
                f"lines {group}",
                f"{theme.TRUST_SIGNS[first.privacy]} {escape(title)}: {len(members)} lines",
                mode="lines+markers",
                line={"width": 2.5, "color": colour},
                marker={"symbol": theme.MARKERS[first.privacy], "size": 8},
            )


def entries(figure: go.Figure) -> list[str]:
    """The names in the legend."""
    if figure.layout.showlegend is False:
        return []
    return [trace.name for trace in figure.data if trace.name and trace.showlegend is not False]
