"""Reading a sweep: which policy is best at which budget, where privacy is free, where the curve is all noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bandit_core.experiments.curves import line_bounds, may_be_drawn
from bandit_core.experiments.experiment import Experiment
from bandit_core.model.bound import Bound
from bandit_core.simulation.results import LineResult
from bandit_core.simulation.summaries import Reference, reference
from bandit_core.spec.own_data import remembered
from bandit_core.studies.sweep import SweepResult, at_budget, swept_label

FREE_MARGIN = 0.05  # a price within 5% of 1 counts as free
_UNKNOWN = (math.nan,) * 4
NOISE_SHARE = 0.9  # regret above 90% of what choosing blindly costs counts as nothing learned


@dataclass(frozen=True)
class Trace:
    """One line against the budget, at the horizon. Arrays have one entry per budget; NaN where nothing is done.

    ``price_low`` and ``price_high`` are the ends of the 95% interval of the price over pairs of trials.
    """

    line: int
    label: str
    policy: str
    epsilons: np.ndarray
    mean: np.ndarray
    stderr: np.ndarray
    q05: np.ndarray
    q95: np.ndarray
    price: np.ndarray
    price_stderr: np.ndarray
    price_low: np.ndarray
    price_high: np.ndarray
    against: Reference | None  # what the price is relative to


def _at_end(line: LineResult | None) -> tuple[float, float, float, float]:
    if line is None:
        return _UNKNOWN
    low, high = np.quantile(line.regret[:, -1], [0.05, 0.95])
    return float(line.mean[-1]), float(line.stderr[-1]), float(low), float(high)


def _price(line: LineResult, other: LineResult) -> tuple[float, float, float, float]:
    return *line.ratio_to(other), *line.ratio_interval(other)


def traces(result: SweepResult) -> list[Trace]:
    """A `Trace` per line; lines without privacy are flat."""
    experiment = result.experiment
    found = []
    for number, line in enumerate(experiment.lines):
        ends = np.array([_at_end(point.lines[number]) for point in result.results])
        prices, against = [], None
        for point in result.results:
            mine, other = point.lines[number], reference(point, number)
            against = against or other
            prices.append(_UNKNOWN if mine is None or other is None else _price(mine, other.played))
        label = swept_label(line)
        budgets = np.array(result.epsilons)
        mean, stderr, q05, q95 = ends.T
        price, error, low, high = np.array(prices).T
        priced = (price, error, low, high, against)
        found.append(Trace(number, label, line.policy, budgets, mean, stderr, q05, q95, *priced))
    return found


@dataclass(frozen=True)
class Winner:
    """The best private line at one budget, and whether another one cannot be told apart from it."""

    epsilon: float
    line: int
    tied_with: tuple[int, ...]


def frontier(result: SweepResult) -> list[Winner]:
    """The private line with the least mean regret at every budget, and those that the trials cannot tell apart from it.

    That is decided by the 95% interval of the difference over pairs of trials.
    """
    private = [number for number, line in enumerate(result.experiment.lines) if line.epsilon is not None]
    winners = []
    for epsilon, point in zip(result.epsilons, result.results, strict=True):
        done = {number: line for number in private if (line := point.lines[number]) is not None}
        if not done:
            continue
        best = min(done, key=lambda number: float(done[number].mean[-1]))
        others = [number for number in done if number != best]
        tied = tuple(number for number in others if not done[number].difference_interval(done[best])[0] > 0)
        winners.append(Winner(epsilon, best, tied))
    return winners


def blind_regret(experiment: Experiment) -> float:
    """Regret of choosing arms at random: horizon x mean gap. Nothing is learned where a policy comes near it."""
    return experiment.horizon * float((experiment.means.max() - experiment.means).mean())


def free_from(trace: Trace) -> float | None:
    """Smallest budget from which on the price's whole interval stays below ``1 + FREE_MARGIN``.

    None where it never does, and where errors are unknown (a single trial).
    """
    free = trace.price_high <= 1 + FREE_MARGIN
    if not free[-1]:
        return None
    misses = np.flatnonzero(~free)
    return float(trace.epsilons[misses[-1] + 1 if len(misses) else 0])


def cheaper_at(trace: Trace) -> np.ndarray:
    """Budgets at which the price's whole interval lies below 1."""
    return trace.epsilons[trace.price_high < 1]


def noise_until(trace: Trace, experiment: Experiment) -> float | None:
    """Largest budget up to which the line learns next to nothing."""
    noisy = trace.mean >= NOISE_SHARE * blind_regret(experiment)
    if not noisy[0]:
        return None
    learns = np.flatnonzero(~noisy)
    return float(trace.epsilons[(learns[0] if len(learns) else len(noisy)) - 1])


def regime_change(experiment: Experiment) -> float | None:
    """Smallest epsilon with d_eps(mean, best) = d(mean, best) for every arm: the largest difference of their log-odds.

    From there on a trusted curator can do as well in the long run as no one's privacy would (the d_eps bound is met by
    DP-KLUCB and DP-IMED as closely as one likes), below it cannot. Bernoulli arms only (arXiv 2505.05613); None
    otherwise, without gaps, and where an arm always pays the same.
    """
    if any(arm.kind != "bernoulli" for arm in experiment.arms):
        return None
    best = experiment.means.max()
    worse = experiment.means[experiment.means < best]
    if not len(worse):
        return None
    with np.errstate(divide="ignore"):
        change = float((np.log(best / worse) - np.log((1 - best) / (1 - worse))).max())
    return change if math.isfinite(change) else None


@remembered(256)
def bounds_against_epsilon(
    experiment: Experiment, line: int, epsilons: tuple[float, ...]
) -> tuple[tuple[Bound, np.ndarray], ...]:
    """Bounds of a private line that the experiment's view draws, at the horizon, as functions of the budget.

    NaN where they do not apply. Slopes, which speak of no one horizon, only where the view asks for shapes.
    """
    view = experiment.view
    horizon = np.array([float(experiment.horizon)])
    curves: dict[str, tuple[Bound, np.ndarray]] = {}
    for place, epsilon in enumerate(epsilons):
        for bound in line_bounds(at_budget(experiment, epsilon), line):
            if not may_be_drawn(bound, view.shapes, view.worst_case) or not (view.shapes or bound.form == "bound"):
                continue
            _, values = curves.setdefault(bound.label, (bound, np.full(len(epsilons), np.nan)))
            values[place] = bound.values(horizon, experiment.largest_gap)[0]
    return tuple(curves.values())
