"""Could the difference of two lines be luck? Paired tests at the horizon, corrected for how many they are.

The test is Student's for pairs, because a reader looks at mean regrets and their difference: interval and p-value then
speak of that very number. Wilcoxon's signed-rank test asks whether differences lie evenly around 0, and a few costly
runs, which decide a mean, may weigh little there. (The verdicts on papers use it, and look at the means as well.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bandit_core.simulation.results import LineResult

CONFIDENCE = 0.95
LEVEL = 0.05


def half_width(trials: int) -> float:
    """Standard errors from a mean to an end of its Student interval of `CONFIDENCE`; NaN for one trial."""
    from scipy.special import stdtrit

    return float(stdtrit(trials - 1, (1 + CONFIDENCE) / 2)) if trials > 1 else math.nan


@dataclass(frozen=True)
class Difference:
    """Final mean regret of the ``first`` line minus that of the ``second``, in reward units, over ``pairs`` of trials.

    ``low`` and ``high`` are the ends of its interval of `CONFIDENCE`, ``p_value`` is two-sided. Both are about this
    difference alone; ``p_corrected`` is about all of them together. NaN is what the trials cannot tell.
    """

    first: int
    second: int
    pairs: int
    difference: float
    low: float
    high: float
    p_value: float
    p_corrected: float

    @property
    def clear(self) -> bool:
        """Whether the corrected p-value is at most `LEVEL`; else the difference could be luck."""
        return self.p_corrected <= LEVEL


def paired_test(first: LineResult, second: LineResult) -> tuple[int, float, float, float, float]:
    """Student's t test of the difference of two lines over the trials that both have.

    The p-value is never below 2^(1 - pairs), that of a sign test whose pairs all agree: where few regrets are possible,
    some pairs may differ by nearly the same amount by chance, and then there is no spread to measure luck by.
    So fewer than six pairs are never clear at 0.05.

    Returns
    -------
    pairs, difference, low, high, p_value
        In reward units. The interval is NaN where all pairs differ by the same amount, and the p-value, too, where
        there are fewer than two pairs.
    """
    from scipy.special import stdtr

    pairs = len(np.intersect1d(first.trials, second.trials))
    difference, error = first.difference_to(second)
    if pairs < 2:
        return pairs, difference, math.nan, math.nan, math.nan
    size = max(abs(float(first.mean[-1])), abs(float(second.mean[-1])))
    least = 2.0 ** (1 - pairs)
    if error <= 1e-12 * size:  # all pairs alike, but for rounding
        return pairs, difference, math.nan, math.nan, least if abs(difference) > 1e-12 * size else 1.0
    half = half_width(pairs) * error
    p_value = 2 * float(stdtr(pairs - 1, -abs(difference) / error))
    return pairs, difference, difference - half, difference + half, max(p_value, least)


def holm(p_values: Sequence[float]) -> np.ndarray:
    """P-values, shape (tests,), corrected for their number (Holm 1979); NaN stays NaN and does not count.

    The chance that any true equality gets one of at most 0.05 is at most 0.05, however the tests depend on each other.
    """
    found = np.array(p_values, float)
    order = np.argsort(found)[: np.count_nonzero(~np.isnan(found))]  # NaN is sorted to the end
    steps = np.arange(len(order), 0, -1) * found[order]
    found[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return found


def differences(lines: Sequence[LineResult | None]) -> list[Difference]:
    """Every pair of lines that has trials, in their order, corrected together."""
    done = [(number, line) for number, line in enumerate(lines) if line is not None]
    found = [(first, second, *paired_test(line, other)) for (first, line), (second, other) in combinations(done, 2)]
    corrected = holm([each[-1] for each in found])
    return [Difference(*each, float(p)) for each, p in zip(found, corrected, strict=True)]
