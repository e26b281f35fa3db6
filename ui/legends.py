"""Short legends: at most eight entries, so that they can be read from the last row and fit below a chart on a phone."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from bandit_core import Experiment
from ui import theme
from ui.curve import Curve

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
