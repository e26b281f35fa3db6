"""Amounts of two parts as typed: most users bring nothing, the others an amount with a lognormal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bandit_core.data.observations import Option
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.rewards import MAX_OBSERVED, Arm
from bandit_core.studies.business_case import observed_arms
from bandit_core.studies.draws import Options

PARTS = 50  # of equal weight, that stand for the amounts of those who buy
LARGEST = 1e9  # amount


def purchases(mean: float, sd: float) -> np.ndarray:
    """Means of `PARTS` equally large parts of a lognormal distribution, ascending; their mean is its mean.

    >>> amounts = purchases(40.0, 60.0)
    >>> round(float(amounts.mean()), 9), bool((np.diff(amounts) > 0).all())
    (40.0, True)

    Raises
    ------
    InputError
        Where the mean or the standard deviation is out of its range.
    """
    from scipy.special import ndtr, ndtri  # heavy import

    if issues := [
        Issue(name, value, f"a number above {low:g}, at most {high:g}")
        for name, value, low, high in (("mean purchase", mean, 0, LARGEST), ("standard deviation", sd, 0, 20 * mean))
        if not low < value <= high
    ]:
        raise InputError(issues)
    below = ndtr(ndtri(np.arange(PARTS + 1) / PARTS) - math.sqrt(math.log1p((sd / mean) ** 2)))
    return mean * PARTS * np.diff(below)


@dataclass(frozen=True)
class Sales:
    """Options as arms in [0, 1], what 0 and 1 stand for, the limits in these units, and the amounts themselves."""

    options: Options
    low: float
    high: float
    clip: tuple[float, float] | None
    amounts: tuple[Option, ...]


def sales(names: Sequence[str], rates: Options, mean: float, sd: float, limit: float) -> Sales:
    """Options of which the arms of ``rates`` say how many users buy; what lies above ``limit`` is cut with privacy.

    Raises
    ------
    InputError
        Where an amount is out of its range.
    """
    amounts = purchases(mean, sd)
    if not 0 < limit <= LARGEST:
        raise InputError([Issue("largest amount", limit, f"a number above 0, at most {LARGEST:g}")])

    def made(arms: Sequence[Arm]) -> tuple[Option, ...]:
        return tuple(_option(name, arm.expected, amounts) for name, arm in zip(names, arms, strict=True))

    middle = made(rates.arms)
    arms, low, high, clip = observed_arms(middle, (0.0, limit))
    draws = tuple(observed_arms(made(each), (0.0, limit))[0] for each in rates.draws)
    ranges = tuple((least * mean / high, most * mean / high) for least, most in rates.ranges)
    return Sales(Options(arms, ranges, draws), low, high, clip, middle)


def _option(name: str, rate: float, amounts: np.ndarray) -> Option:
    """As if so many users had been observed that the share of those who bought is right to one in a million."""
    if rate == 0:
        return Option(name, np.zeros(1), np.ones(1, int))
    each = max(1, int(0.999 * rate * MAX_OBSERVED / PARTS))
    nothing = round(each * PARTS * (1 - rate) / rate)
    counts = np.array([nothing, *[each] * PARTS])
    return Option(name, np.array([0.0, *amounts])[counts > 0], counts[counts > 0])
