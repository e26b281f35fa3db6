"""Tests behind the verdicts on what papers say: orders over trials, extremes of n runs, printed numbers.

Every test has size `ALPHA`. An order is tested in both directions, each one-sided: a small ``p_for`` supports "the
first is smaller", a small ``p_against`` the contrary. `MARGIN` and `AS_LITTLE` were fixed before any verdict was
computed with them: the first is a round number, the second the usual limit of bioequivalence (80% to 125%).
"""

import math
from dataclasses import dataclass

import numpy as np

ALPHA = 0.05
POWER = 0.8  # that the smallest detectable difference is stated for
MARGIN = 0.1  # of a printed number: within it ours agrees
AS_LITTLE = 1.25  # "as little as" is read as: less than so many times as much
_RESAMPLES = 400


@dataclass(frozen=True)
class Order:
    """Is the first smaller than the second?

    ``gap`` is the mean of the second minus that of the first with its standard error; ``share`` the part of pairs in
    which the first is smaller (ties half); ``effect`` what the test looks at: that share for independent samples, and
    for pairs the part of averages of two differences that are in order; ``per_share`` standard deviations of the test
    statistic per unit of the effect; ``trials`` of each of the two.
    """

    test: str
    p_for: float
    p_against: float
    gap: float
    error: float
    share: float
    effect: float
    per_share: float
    trials: int

    @property
    def in_the_mean(self) -> bool:
        """Whether the mean difference clearly says the same (two-sided z test): a few runs can outweigh most."""
        return self.gap > _z(1 - ALPHA / 2) * self.error

    @property
    def detectable(self) -> float:
        """The effect that is found with probability `POWER` (Noether 1987, normal); at most 1."""
        return min(1.0, 0.5 + (_z(1 - ALPHA) + _z(POWER)) / self.per_share)


def _z(probability: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(probability))


def paired(small: np.ndarray, large: np.ndarray) -> Order:
    """Wilcoxon's signed-rank test over pairs of trials that share their streams; both of shape (trials,)."""
    from scipy.stats import wilcoxon

    gaps = large - small
    error = float(gaps.std(ddof=1) / math.sqrt(len(gaps)))
    p_for, p_against, effect = 1.0, 1.0, 0.5
    if np.any(gaps):  # else nothing can be told
        untied = len(np.unique(np.abs(gaps))) == len(gaps) <= 50 and np.all(gaps != 0)
        method = "exact" if untied else "approx"
        upper = wilcoxon(gaps, alternative="greater", method=method)
        p_for, p_against = float(upper.pvalue), float(wilcoxon(gaps, alternative="less", method=method).pvalue)
        some = int(np.sum(gaps != 0))
        effect = float(upper.statistic) / (some * (some + 1) / 2)
    share = float(np.mean(gaps > 0) + np.mean(gaps == 0) / 2)
    per_share = math.sqrt(3 * len(gaps))
    name = "Wilcoxon signed-rank test"
    return Order(name, p_for, p_against, float(gaps.mean()), error, share, effect, per_share, len(gaps))


def unpaired(small: np.ndarray, large: np.ndarray) -> Order:
    """Mann and Whitney's test of two independent samples, shapes (trials,) and (others,)."""
    from scipy.stats import mannwhitneyu

    below = mannwhitneyu(small, large, alternative="less")
    p_against = float(mannwhitneyu(small, large, alternative="greater").pvalue)
    error = math.hypot(*(sample.std(ddof=1) / math.sqrt(len(sample)) for sample in (small, large)))
    share = 1 - float(below.statistic) / (len(small) * len(large))
    gap, trials = float(large.mean() - small.mean()), min(len(small), len(large))
    per_share = math.sqrt(12 / (1 / len(small) + 1 / len(large)))
    return Order("Mann-Whitney test", float(below.pvalue), p_against, gap, error, share, share, per_share, trials)


def chance_of_narrow(sample: np.ndarray, runs: int, width: float) -> tuple[float, float, float]:
    """Probability that the largest and the smallest of ``runs`` runs lie less than ``width`` apart.

    Estimated from ``sample``, shape (trials,), as if its runs were the distribution; interval of confidence 1 - `ALPHA`
    by the bootstrap, with a lower end that also allows for values which are rarer than the sample can show.

    Returns
    -------
    estimate, low, high
    """
    values, counts = np.unique(sample, return_counts=True)
    generator = np.random.default_rng(0)
    shares = np.vstack([counts, generator.multinomial(len(sample), counts / len(sample), _RESAMPLES)]) / len(sample)
    below = np.concatenate([np.zeros((len(shares), 1)), np.cumsum(shares, axis=1)], axis=1)
    end = np.searchsorted(values, values + width)  # the first value too far above
    inside, above = below[:, end] - below[:, :-1], below[:, end] - below[:, 1:]
    # The smallest run has this value: all lie within the width above it, less that all lie strictly above it.
    chances = np.sum(np.maximum(inside, 0) ** runs - np.maximum(above, 0) ** runs, axis=1)
    low, high = np.quantile(chances[1:], [ALPHA / 2, 1 - ALPHA / 2])
    unseen = 1 - (ALPHA / 2) ** (1 / len(sample))
    ends = chances[0], low * (1 - unseen) ** runs, high
    estimate, low, high = (float(min(1.0, max(0.0, end))) for end in ends)  # sums of powers leave rounding errors
    return estimate, low, high


def two_sided(distance: float) -> float:
    """Probability that a standard normal variable is at least so far from 0."""
    return math.erfc(abs(distance) / math.sqrt(2))


def equivalent(distance: float, error: float, margin: float) -> float:
    """The p value of two one-sided z tests of "the difference is no larger than ``margin``" (Schuirmann 1987).

    ``distance`` is the difference seen, ``error`` its standard error, all in the same unit.

    >>> round(equivalent(0.0, 1.0, 1.645), 3), round(equivalent(1.0, 1.0, 1.0), 3)
    (0.05, 0.5)
    """
    return 0.5 * math.erfc((margin - abs(distance)) / error / math.sqrt(2))


def compatible_range(reported: float, error: float, half: float) -> tuple[float, float]:
    """The measured values that a two-sided z test does not tell from a printed number known to plus or minus ``half``.

    >>> compatible_range(2.0, 0.0, 0.5)
    (1.5, 2.5)
    """
    reach = _z(1 - ALPHA / 2) * error + half
    return reported - reach, reported + reach


def detectable_number(error: float) -> float:
    """The deviation from a printed number that a two-sided test with this standard error finds with `POWER`."""
    return (_z(1 - ALPHA / 2) + _z(POWER)) * error
