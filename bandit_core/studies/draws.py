"""Options whose means are not known exactly: lifts typed as ranges or as unknown, and means within their intervals.

`DRAWS` sets of options stand for what is not known. Simulated runs are spread evenly over them, so a mean over the runs
is a mean over what is not known, too, and its spread has two sources: chance, and the options.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bandit_core.data.observations import Option
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.field_types import SMALLEST
from bandit_core.spec.rewards import Arm, Bernoulli, Empirical, TwoPoint
from bandit_core.studies.business_case import Lift, typed_arms

DRAWS = 20
REACH = 0.2  # share of the baseline that a lift may lie above or below it, where nothing is known of it
_COUNTED = 10**6  # weights of amounts become counts that sum to about this
_STEEPEST = 500.0  # of the exponent in `_tilted`


@dataclass(frozen=True)
class Options:
    """Options with rewards in [0, 1], ``ranges`` of their means, and ``draws``: both are empty where all is exact."""

    arms: tuple[Arm, ...]
    ranges: tuple[tuple[float, float], ...] = ()
    draws: tuple[tuple[Arm, ...], ...] = ()


def strata(parts: int) -> np.ndarray:
    """Chances that fill (0, 1) evenly for each of so many parts, shape (DRAWS, parts): a Latin hypercube.

    >>> sorted(strata(3)[:, 1].round(3).tolist())[:3]
    [0.025, 0.075, 0.125]
    """
    random = np.random.default_rng(0)
    return np.stack([(random.permutation(DRAWS) + 0.5) / DRAWS for _ in range(parts)], axis=1)


def typed_options(
    baseline: float, lifts: Sequence[Lift], relative: bool, limits: tuple[float, float] = (0.0, 1.0)
) -> Options:
    """As `typed_arms`, where a lift may also be a range, in which every value is equally likely, or ``?``.

    ``?`` is anything from `REACH` of the baseline below it to as much above. The arms are those in the middle.

    Raises
    ------
    InputError
        With every option whose mean can lie outside the limits.
    """
    if issues := [
        Issue(f"lifts[{place}]", list(lift), "the smaller end first")
        for place, lift in enumerate(lifts)
        if isinstance(lift, tuple) and not lift[0] <= lift[1]
    ]:
        raise InputError(issues)
    reach = REACH if relative else REACH * abs(baseline)
    ends = [(-reach, reach) if lift == "?" else lift if isinstance(lift, tuple) else (lift, lift) for lift in lifts]
    sides = [typed_arms(baseline, [pair[side] for pair in ends], relative, limits) for side in (0, 1)]
    ranges = tuple((min(pair), max(pair)) for pair in zip(*([arm.mean for arm in arms] for arms in sides), strict=True))
    if all(low == high for low, high in ranges):
        return Options(sides[0])
    middle = typed_arms(baseline, [(low + high) / 2 for low, high in ends], relative, limits)
    draws = [
        [low + chance * (high - low) for chance, (low, high) in zip(row, ranges, strict=True)]
        for row in strata(len(ranges)).tolist()
    ]
    return Options(middle, ranges, tuple(tuple(Bernoulli(mean=_chance(mean)) for mean in row) for row in draws))


def shares(lifts: Sequence[Lift]) -> list[Lift]:
    """Lifts in percent as shares."""
    return [
        lift if lift == "?" else (lift[0] / 100, lift[1] / 100) if isinstance(lift, tuple) else lift / 100
        for lift in lifts
    ]


def _chance(mean: float) -> float:
    """A chance that an option takes: 0, or large enough."""
    return mean if mean == 0 else min(max(mean, SMALLEST), 1.0)


def observed_draws(options: Sequence[Option], arms: Sequence[Arm], scale: float) -> tuple[tuple[Arm, ...], ...]:
    """Observed options with means from what the data allow; none where an option leaves its own error unknown.

    A rate has a uniform prior. The mean of amounts is normal around the observed one; the weights of the amounts then
    change by an exponential factor, which moves the mean and keeps every amount.

    Parameters
    ----------
    options, arms
        What was observed, and the same as arms.
    scale
        What a reward of 1 of an arm is worth.
    """
    if any(option.interval is None for option in options):
        return ()
    return tuple(
        tuple(_redrawn(*each, scale) for each in zip(options, arms, row, strict=True))
        for row in strata(len(options)).tolist()
    )


def _redrawn(option: Option, arm: Arm, chance: float, scale: float) -> Arm:
    """The arm with the mean below which the true one lies with this chance."""
    from scipy.special import betaincinv, ndtri  # heavy import

    if option.yes_or_no:
        won = option.mean * option.count
        moved = float(betaincinv(1 + won, 1 + option.count - won, chance)) - option.mean
    else:
        moved = float(ndtri(chance)) * option.sd / math.sqrt(option.count)
    return _moved(arm, moved / scale)


def _moved(arm: Arm, by: float) -> Arm:
    """The arm with another mean and the same rewards."""
    mean = arm.expected + by
    if isinstance(arm, Bernoulli):
        return Bernoulli(mean=_chance(mean))
    if isinstance(arm, TwoPoint):
        share = (mean - arm.low) / (arm.high - arm.low)
        return arm.model_copy(update={"p_high": min(max(share, SMALLEST), 1 - SMALLEST)})
    return _tilted(arm, mean) if isinstance(arm, Empirical) and len(arm.values) > 1 else arm


def _tilted(arm: Empirical, mean: float) -> Empirical:
    """The same values with weights times exp(slope x value), so that the mean becomes this one."""
    from scipy.optimize import brentq  # heavy import

    values, weights = arm.atoms
    places = (values - values[0]) / (values[-1] - values[0])
    wanted = (mean - values[0]) / (values[-1] - values[0])

    def tilted(slope: float) -> np.ndarray:
        grown = weights * np.exp(slope * (places - (slope > 0)))
        return grown / grown.sum()

    def off(slope: float) -> float:
        return float(tilted(slope) @ places) - wanted

    inside = off(-_STEEPEST) < 0 < off(_STEEPEST)
    slope = brentq(off, -_STEEPEST, _STEEPEST) if inside else math.copysign(_STEEPEST, wanted - 0.5)
    counts = np.maximum(np.round(tilted(slope) * (_COUNTED - len(values))), 1).astype(int)
    return Empirical(values=tuple(values.tolist()), counts=tuple(counts.tolist()))


def unknown_share(values: np.ndarray, trials: np.ndarray, draws: int) -> float:
    """Share of the variance over runs that lies between the draws, in [0, 1]; NaN where runs are too few.

    Parameters
    ----------
    values, trials
        A number of each run, and its number, shape (runs,): run i plays draw i modulo ``draws``.

    >>> unknown_share(np.array([1.0, 5.0, 1.0, 5.0]), np.arange(4), 2)
    1.0
    """
    groups = [mine for place in range(draws) if len(mine := values[trials % draws == place])]
    if len(groups) < 2 or min(map(len, groups)) < 2:
        return math.nan
    within = float(np.mean([mine.var(ddof=1) for mine in groups]))
    means = np.array([mine.mean() for mine in groups])
    between = max(0.0, float(means.var(ddof=1)) - within / float(np.mean([len(mine) for mine in groups])))
    return between / (between + within) if between + within > 0 else 0.0


def chances_of_being_best(options: Sequence[Option], draws: int = 20_000) -> np.ndarray:
    """How likely each option has the largest true mean, given its observations; shape (options,).

    Rates have a uniform prior; amounts are taken as normally distributed around the observed mean. Where an option
    leaves its own error unknown (see `Option.interval`) nothing can be said: all NaN.
    """
    random = np.random.default_rng(0)
    samples = np.empty((len(options), draws))
    for place, option in enumerate(options):
        if option.yes_or_no:
            won = option.mean * option.count
            samples[place] = random.beta(1 + won, 1 + option.count - won, draws)
        elif option.interval is None:
            return np.full(len(options), np.nan)
        else:
            samples[place] = random.normal(option.mean, option.sd / math.sqrt(option.count), draws)
    return np.bincount(samples.argmax(axis=0), minlength=len(options)) / draws
