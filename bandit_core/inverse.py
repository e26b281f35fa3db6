"""From a wish to a budget: the smallest epsilon, or the fewest users, that meet a goal.

A goal is a limit on a quantity that falls as the budget grows: regret at the horizon, the price against no privacy,
or the share of users who do not get the best arm at the end. The search bisects a fixed lattice of budgets
(eight per doubling), so that its simulations are found in the cache when the question, or a similar one, is asked
again, and the answer is always the same. Trials share their random streams across budgets, which keeps the curve
smooth. The stated interval holds every budget that the data at two standard errors do not rule out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bandit_core.engine import simulate
from bandit_core.experiment import Experiment
from bandit_core.problems import InvalidInput, Problem
from bandit_core.results import LineResult, Result
from bandit_core.store import Store
from bandit_core.summaries import baseline
from bandit_core.sweep import at_budget

PER_DOUBLING = 8
LOWEST, HIGHEST = -64, 48  # lattice places: 2^-8 to 2^6
Kind = Literal["regret", "price", "missed"]


@dataclass(frozen=True)
class Goal:
    """``kind`` at most ``limit``: lost reward, price (ratio), or the share of the last pulls that miss the best."""

    kind: Kind
    limit: float

    def measure(self, result: Result, line: int) -> tuple[float, float]:
        """The quantity at the horizon and its standard error."""
        chosen = result.lines[line]
        assert chosen is not None
        if self.kind == "regret":
            return float(chosen.mean[-1]), float(chosen.stderr[-1])
        if self.kind == "price":
            base = baseline(result.experiment, line)
            other = result.lines[base] if base is not None else None
            return chosen.ratio_to(other) if other is not None else (math.nan, math.nan)
        return _missed(chosen, result.times)


def _missed(line: LineResult, times: np.ndarray) -> tuple[float, float]:
    """Share of the last tenth of the run that did not go to a best arm, with its standard error."""
    start = min(int(np.searchsorted(times, 0.9 * times[-1])), len(times) - 2) if len(times) > 1 else None
    won = line.best_pulls[:, -1] - (line.best_pulls[:, start] if start is not None else 0.0)
    share = 1 - won / (times[-1] - (times[start] if start is not None else 0))
    error = share.std(ddof=1) / math.sqrt(len(share)) if len(share) > 1 else math.nan
    return float(share.mean()), float(error)


@dataclass(frozen=True)
class Point:
    """One searched budget (or horizon): the measured quantity and its standard error."""

    at: float
    value: float
    stderr: float


@dataclass(frozen=True)
class Answer:
    """The smallest value that meets the goal, the interval the data allow, and everything that was searched.

    ``best`` is None where even the largest value searched misses the goal; ``low`` is None where even the
    smallest meets it.
    """

    best: float | None
    low: float | None
    high: float | None
    points: tuple[Point, ...]


def _place(lattice: int) -> float:
    return 2.0 ** (lattice / PER_DOUBLING)


def _search(measure: Callable[[int], tuple[float, float]], limit: float, first: int, last: int) -> Answer:
    """Bisect for the first lattice place whose value, and value plus or minus two errors, is within the limit."""
    seen: dict[int, tuple[float, float]] = {}

    def value(place: int, errors: float) -> float:
        if place not in seen:
            seen[place] = measure(place)
        mean, stderr = seen[place]
        if errors == 0:
            return mean
        return mean + errors * (stderr if math.isfinite(stderr) else math.inf)  # a single trial proves nothing

    def first_within(errors: float) -> int | None:
        if not value(last, errors) <= limit:  # also where there is no value, as a price without anything to compare
            return None
        low, high = first - 1, last  # everything up to low misses, high is within
        while high - low > 1:
            middle = (low + high) // 2
            if value(middle, errors) <= limit:
                high = middle
            else:
                low = middle
        return high

    best, optimist, pessimist = (first_within(errors) for errors in (0.0, -2.0, 2.0))
    points = tuple(Point(_place(place), *seen[place]) for place in sorted(seen))
    return Answer(
        best=None if best is None else _place(best),
        low=None if optimist is None or optimist == first else _place(optimist - 1),
        high=None if pessimist is None else _place(pessimist),
        points=points,
    )


def smallest_epsilon(
    experiment: Experiment,
    line: int,
    goal: Goal,
    jobs: int | None = None,
    on_point: Callable[[float], None] | None = None,
    store: Store | None = None,
) -> Answer:
    """The smallest budget at which ``line`` meets ``goal`` with the experiment's arms, horizon and trials.

    ``on_point`` hears every budget before it is simulated; an exception in it ends the search.
    """
    base = baseline(experiment, line)
    kept = [number for number in (base, line) if number is not None]
    lines = [experiment.spec()["lines"][number] for number in kept]
    small = experiment.with_changes(lines=lines, view={})
    place = len(kept) - 1

    def measure(lattice: int) -> tuple[float, float]:
        if on_point is not None:
            on_point(_place(lattice))
        result = simulate(at_budget(small, _place(lattice)), jobs, store=store)
        return goal.measure(result, place)

    return _search(measure, goal.limit, LOWEST, HIGHEST)


def fewest_users(
    experiment: Experiment,
    line: int,
    goal: Goal,
    jobs: int | None = None,
    on_point: Callable[[float], None] | None = None,
    store: Store | None = None,
) -> Answer:
    """The shortest horizon at which ``line`` misses the best arm no more often than ``goal`` allows.

    The lattice of horizons has eight places per doubling, from 8 up to the experiment's horizon.

    Raises
    ------
    InvalidInput
        For another kind of goal: regret and price do not fall as users arrive. For fewer than 16 users.
    """
    if goal.kind != "missed":
        raise InvalidInput([Problem("goal", goal.kind, "the fewest users can be searched for 'missed' only")])
    if experiment.horizon < 16:
        raise InvalidInput([Problem("horizon", experiment.horizon, "at least 16 users to search in")])
    lines = [experiment.spec()["lines"][line]]

    def measure(lattice: int) -> tuple[float, float]:
        horizon = round(_place(lattice))
        if on_point is not None:
            on_point(float(horizon))
        result = simulate(experiment.with_changes(lines=lines, horizon=horizon, view={}), jobs, store=store)
        return goal.measure(result, 0)

    last = math.floor(math.log2(experiment.horizon) * PER_DOUBLING)
    found = _search(measure, goal.limit, PER_DOUBLING * 3, last)
    best, low, high = (None if at is None else float(round(at)) for at in (found.best, found.low, found.high))
    points = tuple(Point(float(round(point.at)), point.value, point.stderr) for point in found.points)
    return Answer(best, low, high, points)
