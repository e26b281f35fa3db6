"""Intervals of a mean of runs, and paired tests of two lines at the horizon, corrected for how many there are.

Most runs lose about the same and a few lose much more. Student's interval reaches equally far to both sides and misses
the mean too often then, so `interval` is the union of Student's and of Hall's, which corrects for skewness.
docs/intervals.md says how often it covers the mean, policy by policy (``python -m benchmarks.coverage``), and which
policies have losses too rare for any interval from the runs alone.

A reader looks at mean regrets and their difference: interval and p-value speak of that very number. Wilcoxon's
signed-rank test asks whether differences lie evenly around 0, and a few costly runs, which decide a mean, may weigh
little there. (The verdicts on papers use it, and look at the means as well.)
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from bandit_core.spec.errors import refuse_if
from bandit_core.spec.number_text import with_error

K = TypeVar("K")
CONFIDENCE = 0.95
LEVEL = 0.05


class Interval(NamedTuple):
    """Ends of a confidence interval of a mean, in the unit of the values: numbers, or arrays of shape (columns,)."""

    low: np.ndarray
    high: np.ndarray


class Estimate(NamedTuple):
    """A number with its standard error and the ends of its interval, of 95% unless it is said otherwise.

    Numbers, or arrays of one shape. NaN is what the runs cannot tell: all but the value after a single run.
    """

    value: Any
    stderr: Any = math.nan
    low: Any = math.nan
    high: Any = math.nan

    def differs(self, value: float = 0.0) -> bool:
        """Whether the interval leaves this value out; never where its ends are unknown."""
        return bool(self.low > value or self.high < value)

    def __mul__(self, factor: Any) -> Self:
        """In another unit, of which ``factor`` make one of this unit."""
        return type(self)(*(factor * each for each in self))

    def __str__(self) -> str:
        return with_error(self.value, self.stderr)


NOT_KNOWN = Estimate(math.nan)


def half_width(trials: int, level: float = CONFIDENCE) -> float:
    """Standard errors from a mean to an end of its Student interval; NaN for one trial."""
    from scipy.special import stdtrit

    return float(stdtrit(trials - 1, (1 + level) / 2)) if trials > 1 else math.nan


def _moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard deviation and skewness down the first axis; the last two are 0 where all values are equal."""
    mean = values.mean(axis=0)
    apart = values - mean
    spread = np.sqrt((apart**2).mean(axis=0))
    equal = (np.ptp(values, axis=0) == 0) | (spread <= 1e-12 * np.abs(mean))  # equal values may leave a rounding error
    unit = np.where(equal, 1.0, spread)
    skewness = np.where(equal, 0.0, ((apart / unit) ** 3).mean(axis=0))
    return mean, np.where(equal, 0.0, spread * math.sqrt(len(values) / max(len(values) - 1, 1))), skewness


def interval(values: np.ndarray, level: float = CONFIDENCE) -> Interval:
    """Confidence interval of the mean of independent runs that may be skewed: the union of Student's and Hall's.

    Hall (1992, On the removal of skewness by transformation, J. R. Statist. Soc. B 54) takes the skewness g out of
    W = (sample mean - mean) / sd by the monotone cubic W + g W^2 / 3 + g^2 W^3 / 27 + g / (6 n). Its quantile is
    Student's here. Losses rarer than about 3 in n runs may be absent from the sample: no interval from the runs alone
    can allow for them.

    Parameters
    ----------
    values
        One run in a row, shape (trials,) or (trials, columns).
    level
        Confidence, strictly between 0 and 1.

    Returns
    -------
    low, high
        Shape () or (columns,); NaN for a single run, and both are the mean where all values are equal.

    Raises
    ------
    InputError
        Where there are no values, or ``level`` is no confidence.
    """
    values = np.asarray(values, float)
    refuse_if(len(values) == 0, "values", "no runs", "at least one run")
    refuse_if(not 0 < level < 1, "level", level, "a confidence strictly between 0 and 1")
    mean, spread, skewness = _moments(values)
    trials, errors = len(values), half_width(len(values), level)
    reach, small = errors / math.sqrt(trials), np.abs(skewness) < 1e-6
    skew = np.where(small, 1.0, skewness)

    def untransformed(quantile: float) -> np.ndarray:
        cubed = np.cbrt(1 + skew * (quantile - skew / (6 * trials))) - 1
        return np.where(small, quantile, 3 / skew * cubed)

    low = mean - spread * np.maximum(reach, untransformed(reach))
    return Interval(low, mean - spread * np.minimum(-reach, untransformed(-reach)))


def estimate(values: np.ndarray, level: float = CONFIDENCE) -> Estimate:
    """The mean of runs, shape (trials,), with its `interval`; a single run has no error."""
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return Estimate(float(values.mean()), error, *map(float, interval(values, level)))


def interval_of_difference(first: np.ndarray, second: np.ndarray, level: float = CONFIDENCE) -> Interval:
    """Confidence interval of the difference of the means of two independent groups of runs, shape (trials,) each.

    Zou and Donner's (2008, Statist. Med. 27, 1693) combination of the `interval` of each group. NaN where one has a
    single run.
    """
    mine, theirs = interval(first, level), interval(second, level)
    one, other = np.mean(first), np.mean(second)
    below, above = np.hypot(one - mine.low, theirs.high - other), np.hypot(mine.high - one, other - theirs.low)
    return Interval(one - other - below, one - other + above)


def share_limits(count: Any, trials: int, tail: float = (1 - CONFIDENCE) / 2) -> Interval:
    """Clopper and Pearson's exact limits of a chance that was seen ``count`` times in ``trials``; arrays or numbers.

    Each limit is wrong with probability ``tail`` at most.

    >>> low, high = share_limits(0, 1000)
    >>> float(low), round(float(high), 4)
    (0.0, 0.0037)
    """
    from scipy.special import betaincinv  # heavy import

    some, few = np.maximum(count, 1), np.minimum(count, trials - 1)
    low = np.where(np.greater(count, 0), betaincinv(some, trials - some + 1, tail), 0.0)
    return Interval(low, np.where(np.less(count, trials), betaincinv(few + 1, trials - few, 1 - tail), 1.0))


def most_mean(mean: Any, sd: Any, runs: Any, largest: Any, error: float = 1e-4) -> Any:
    """Upper limit of the mean of values from 0 to ``largest``, whatever their distribution; arrays or numbers.

    ``mean`` and ``sd`` are those of so many ``runs``, two at least. It is wrong with probability ``error`` at most
    (Maurer and Pontil 2009, Theorem 4), and so high that losses too rare for the runs are in it.
    """
    log = math.log(2 / error)
    return mean + sd * np.sqrt(2 * log / runs) + largest * 7 * log / (3 * (runs - 1))


def p_value(values: np.ndarray, mean: float = 0.0) -> float:
    """Two-sided p-value of the hypothesis that runs, shape (trials,), have this mean: the test that `interval` inverts.

    The larger one of Student's and Hall's, so it is below 0.05 exactly where the 95% interval leaves the mean out.
    NaN for a single run; 1 or 0 where all values are equal.
    """
    from scipy.special import stdtr

    values = np.asarray(values, float)
    trials = len(values)
    if trials < 2:
        return math.nan
    average, spread, skewness = (float(each) for each in _moments(values))
    if spread == 0:
        return 1.0 if abs(average - mean) <= 1e-12 * max(abs(average), abs(mean)) else 0.0
    plain = (average - mean) / spread
    skewed = plain + skewness * plain**2 / 3 + skewness**2 * plain**3 / 27 + skewness / (6 * trials)
    nearest = 0.0 if plain * skewed <= 0 else min(abs(plain), abs(skewed))
    return 2 * float(stdtr(trials - 1, -math.sqrt(trials) * nearest))


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


def least_p(pairs: int) -> float:
    """The smallest p-value that so many pairs can give: that of a sign test whose pairs all agree; NaN below two."""
    return 2.0 ** (1 - pairs) if pairs > 1 else math.nan


def not_beaten(groups: Iterable[Collection[K]], means: Mapping[K, float], even: Collection[tuple[K, K]]) -> set[K]:
    """Of each group of several the one with the least mean, and those that a test of a pair in ``even`` left open."""
    best = set[K]()
    for group in groups:
        if len(group) > 1:
            first = min(group, key=means.__getitem__)
            best |= {first, *(each for each in group if (first, each) in even or (each, first) in even)}
    return best


def holm(p_values: Sequence[float]) -> np.ndarray:
    """P-values, shape (tests,), corrected for their number (Holm 1979); NaN stays NaN and does not count.

    The chance that any true equality gets one of at most 0.05 is at most 0.05, however the tests depend on each other.
    """
    corrected = np.array(p_values, float)
    order = np.argsort(corrected)[: np.count_nonzero(~np.isnan(corrected))]  # NaN is sorted to the end
    steps = np.arange(len(order), 0, -1) * corrected[order]
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return corrected


def differences(lines: Sequence[Any]) -> list[Difference]:
    """Every pair of lines (`LineResult`, or None) that has trials, in their order, corrected together."""
    done = [(number, line) for number, line in enumerate(lines) if line is not None]
    tests: list[tuple[Any, ...]] = [
        (first, second, *line.paired_test(other)) for (first, line), (second, other) in combinations(done, 2)
    ]
    corrected = holm([each[-1] for each in tests])
    return [Difference(*(*each, float(p))) for each, p in zip(tests, corrected, strict=True)]
