"""A practitioner's question: typed rates as arms, and what each trust model loses."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bandit_core.data.observations import MAX_OPTIONS, Option
from bandit_core.model import PROMISES, Privacy
from bandit_core.simulation.results import Result
from bandit_core.simulation.summaries import reference
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.field_types import SMALLEST
from bandit_core.spec.number_text import write_number
from bandit_core.spec.rewards import Arm, Bernoulli
from bandit_core.studies.goal_search import Goal, Kind, no_better_than

GOALS: tuple[Kind, ...] = ("price", "extra", "regret", "percent")
UNKNOWN: Literal["?"] = "?"  # a lift of which nothing is known
Lift = float | tuple[float, float] | Literal["?"]  # exact, anything between two ends, or not known
_RANGE = re.compile(r"(-?[\d.]+)(?:-|to|\.\.)(-?[\d.]+)")
LITTLE = 0.9  # a loss above this share of what choosing at random loses: next to nothing is learned


def goal(kind: Kind, limit: float, low: float, high: float) -> Goal:
    """A limit in the asker's unit, whose rewards lie between ``low`` and ``high``, as a goal for rewards in [0, 1]."""
    scale = high - low
    return Goal(kind, limit / scale if kind in ("extra", "regret") else limit, low / scale)


def read_lifts(text: str) -> list[Lift]:
    """Expected lifts from text: ``5, 8-15 %, ?``; with semicolons or line breaks between them, commas are decimal.

    Raises
    ------
    InputError
        With every part that is neither a number, nor a range, nor ``?``.
    """
    parts = re.split(r"[;\n]", text.replace(",", ".")) if re.search(r"[;\n]", text) else text.split(",")
    lifts: list[Lift] = []
    issues = []
    for place, part in enumerate(filter(None, (part.strip() for part in parts))):
        lift = _read_lift(part)
        if lift is None:
            issues.append(Issue(f"lifts[{place}]", part, "numbers, ranges or ?, with commas between: 5, 8-15, ?"))
        else:
            lifts.append(lift)
    if not issues and not 1 <= len(lifts) < MAX_OPTIONS:
        issues.append(Issue("lifts", len(lifts), f"between 1 and {MAX_OPTIONS - 1} of them"))
    if issues:
        raise InputError(issues)
    return lifts


def _read_lift(text: str) -> Lift | None:
    """A number, two in ascending order, or ``?``; None where it is none of them."""
    text = re.sub(r"\s|%", "", re.sub("[−–]", "-", text)).removeprefix("+")
    if text == UNKNOWN:
        return UNKNOWN
    found = _RANGE.fullmatch(text)
    try:
        ends = [float(end) for end in (found.groups() if found else (text,))]
    except ValueError:
        return None
    if not all(map(math.isfinite, ends)) or ends[0] > ends[-1]:
        return None
    return (ends[0], ends[1]) if len(ends) == 2 else ends[0]


def typed_arms(
    baseline: float, lifts: Sequence[float], relative: bool, limits: tuple[float, float] = (0.0, 1.0)
) -> tuple[Bernoulli, ...]:
    """The baseline and an option per lift, rescaled to [0, 1].

    Of typed options only the mean is known. Between given limits the distribution that varies most pays the smallest or
    the largest amount, so this is what they are taken for: a safe assumption, as it takes longest to learn.

    Parameters
    ----------
    baseline
        Mean reward of the first option.
    lifts
        What each further option adds: a share of the baseline where ``relative`` (0.08: 8% more), else reward units.
    limits
        Smallest and largest reward of one user.

    Raises
    ------
    InputError
        With every option whose mean lies outside the limits.
    """
    low, high = limits
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError([Issue("limits", [low, high], "the smallest reward must be below the largest one")])
    means = [baseline, *(baseline * (1 + lift) if relative else baseline + lift for lift in lifts)]
    issues = [
        Issue(f"option {number}", f"{mean:.6g}", f"a mean between {low:g} and {high:g}")
        for number, mean in enumerate(means)
        if not low <= mean <= high
    ]
    if issues:
        raise InputError(issues)
    chances = [min(1.0, max(0.0, (mean - low) / (high - low))) for mean in means]
    issues = [
        Issue(f"option {number}", f"{mean:.6g}", f"{low:g}, or more by at least {write_number(SMALLEST)} of the range")
        for number, (mean, chance) in enumerate(zip(means, chances, strict=True))
        if 0 < chance < SMALLEST
    ]
    if issues:
        raise InputError(issues)
    return tuple(Bernoulli(mean=chance) for chance in chances)


def observed_arms(
    options: Sequence[Option], limits: tuple[float, float]
) -> tuple[tuple[Arm, ...], float, float, tuple[float, float] | None]:
    """Observed rewards as arms in [0, 1], what 0 and 1 stand for, and the limits of a private method in these units.

    The limits are None where they cut nothing.

    Raises
    ------
    InputError
        Where the limits are none.
    """
    cut = sum(option.outside(*limits) for option in options) > 0
    low = min(limits[0], *(option.low for option in options))
    high = max(limits[1], *(option.high for option in options))
    options = [option.rescaled(low, high) for option in options]
    ends = tuple((limit - low) / (high - low) for limit in limits)
    clip = (ends[0], ends[1]) if cut else None
    return tuple(option.arm(clip) for option in options), low, high, clip


@dataclass(frozen=True)
class Cost:
    """What one trust model loses over all users, in the unit of the rewards.

    ``extra`` is the loss beyond no privacy (over pairs of trials), ``price`` the ratio to it; NaN for no privacy
    itself and where the loss without privacy is 0. ``stderr`` are standard errors, ``low`` and ``high`` the ends of
    95% intervals (NaN for a single trial).
    """

    line: int
    privacy: Privacy
    label: str
    lost: float
    lost_stderr: float
    lost_low: float
    lost_high: float
    extra: float
    extra_stderr: float
    extra_low: float
    extra_high: float
    price: float
    price_stderr: float
    trials: int

    @property
    def price_of_privacy(self) -> Literal["more", "less", "open"]:
        """Whether more or less is lost than without privacy, or the interval of the difference leaves it open."""
        if self.extra_low > 0:
            return "more"
        return "less" if self.extra_high < 0 else "open"  # also where the ends are unknown

    def learned(self, blind: float) -> Literal["much", "little", "nothing"]:
        """How much was learned where choosing at random loses ``blind``: nothing if that is not more beyond doubt."""
        if no_better_than(self.lost, self.lost_high, blind):
            return "nothing"
        return "little" if self.lost >= LITTLE * blind else "much"


def costs(result: Result, scale: float = 1.0, levels: Sequence[Privacy] = ()) -> list[Cost]:
    """A `Cost` per finished line; ``scale`` is what a reward of 1 stands for.

    ``levels`` is the trust model that each line stands for (default: that of the promise which its policy keeps).
    """
    rows = []
    for number, line in enumerate(result.lines):
        if line is None:
            continue
        chosen = result.experiment.lines[number]
        extra = extra_stderr = extra_low = extra_high = price = price_stderr = math.nan
        if (against := reference(result, number)) is not None:
            extra, extra_stderr = (scale * value for value in line.difference_to(against.played))
            extra_low, extra_high = (scale * end for end in line.difference_interval(against.played))
            price, price_stderr = line.ratio_to(against.played)
        low, high = line.final_interval()
        rows.append(
            Cost(
                line=number,
                privacy=levels[number] if levels else chosen.entry.privacy,
                label=PROMISES[levels[number]].who if levels else chosen.written_label or chosen.entry.title,
                lost=scale * float(line.mean[-1]),
                lost_stderr=scale * float(line.stderr[-1]),
                lost_low=scale * low,
                lost_high=scale * high,
                extra=extra,
                extra_stderr=extra_stderr,
                extra_low=extra_low,
                extra_high=extra_high,
                price=price,
                price_stderr=price_stderr,
                trials=line.count,
            )
        )
    return rows
