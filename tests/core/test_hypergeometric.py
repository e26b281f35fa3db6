"""How blocks split: hypergeometric counts and beta shares, against SciPy, from single draws to a thousand million."""

import math

import numpy as np
import pytest
from scipy import stats

from bandit_core.jit.decorators import kernel
from bandit_core.kernels import hypergeometric
from bandit_core.kernels.streams import streams

DRAWS = 100_000
LEAST_P = 1e-4  # a right sampler fails once in ten thousand seeds; the seeds are fixed


@kernel
def fill_counts(state, ones, others, draws, out):
    for place in range(out.shape[0]):
        out[place] = hypergeometric.hypergeometric(ones, others, draws, state, 0)


@kernel
def fill_shares(state, first, rest, out):
    for place in range(out.shape[0]):
        out[place] = hypergeometric.share_of_first(first, rest, state, 0)


def counts_of(ones: int, others: int, draws: int, many: int = DRAWS, seed: int = 1) -> np.ndarray:
    out = np.empty(many)
    fill_counts(streams(seed, 0, 1), float(ones), float(others), float(draws), out)
    return out


def chi_square_p(sample: np.ndarray, law) -> float:
    """p-value of the sample under the law, over at most 60 cells of about equal probability."""
    low, high = law.support()
    reach = 6 * law.std() + 2  # SciPy sums the whole support for every value: take the part that matters
    values = np.arange(max(low, math.floor(law.mean() - reach)), min(high, math.ceil(law.mean() + reach)) + 1)
    below = np.cumsum(law.pmf(values))
    assert abs(below[-1] - 1) < 1e-4
    ends = np.unique(np.searchsorted(below, np.linspace(0, below[-1], 61)[1:-1]))
    ends = ends[ends < len(values) - 1]
    chances = np.diff(np.concatenate([[0.0], below[ends], [below[-1]]])) / below[-1]
    seen = np.bincount(np.searchsorted(values[ends], sample, side="left"), minlength=len(chances))
    large = chances * len(sample) > 5
    expected = chances[large] * len(sample)
    assert expected.sum() > 0.999 * len(sample)
    return float(stats.chi2.sf(((seen[large] - expected) ** 2 / expected).sum(), large.sum() - 1))


CASES = [
    *[(5, 3, 4), (2, 2, 1), (30, 2, 7), (10**6, 10**6, 12), (9, 10**9, 5 * 10**8)],  # by walking
    *[(13, 13, 13), (20, 30, 25), (14, 400, 200), (400, 14, 207), (300, 40, 320), (1000, 1000, 999)],  # by rejection
    *[(10**4, 100, 5000), (10**6, 10**5, 13), (900_000, 100_000, 500_000), (20, 10**7, 10**6)],
    *[(9 * 10**8, 10**8, 5 * 10**8), (5 * 10**8, 5 * 10**8, 999_999_000), (10**9, 300, 7 * 10**8)],
]


@pytest.mark.parametrize(("ones", "others", "draws"), CASES)
def test_the_law_is_hypergeometric(ones, others, draws):
    law = stats.hypergeom(ones + others, ones, draws)
    sample = counts_of(ones, others, draws)
    assert sample.min() >= max(0, draws - others)
    assert sample.max() <= min(ones, draws)
    np.testing.assert_array_equal(sample, np.round(sample))
    assert chi_square_p(sample, law) > LEAST_P
    assert abs(sample.mean() - law.mean()) < 4.5 * law.std() / math.sqrt(DRAWS)


@pytest.mark.parametrize(("ones", "others", "draws"), [(500, 500, 400), (9 * 10**8, 10**8, 5 * 10**8)])
def test_the_check_notices_a_slightly_wrong_law(ones, others, draws):
    spread = stats.hypergeom(ones + others, ones, draws).std()
    share = draws / (ones + others)
    shift = math.ceil(0.05 * spread / share)
    wrong = stats.hypergeom(ones + others, ones + shift, draws)
    assert chi_square_p(counts_of(ones, others, draws), wrong) < LEAST_P


def test_certain_splits():
    cases = [(0, 5, 3, 0), (5, 0, 3, 3), (5, 4, 9, 5), (5, 4, 0, 0), (10**9, 10**9, 2 * 10**9, 10**9)]
    for ones, others, draws, sure in cases:
        np.testing.assert_array_equal(counts_of(ones, others, draws, many=20), sure)


@pytest.mark.parametrize(("first", "rest"), [(1, 1), (1, 7), (3, 1), (4, 4), (50, 950), (10**6, 10**6)])
def test_shares_of_exponential_sums_follow_the_beta_law(first, rest):
    out = np.empty(DRAWS)
    fill_shares(streams(2, 0, 1), float(first), float(rest), out)
    assert stats.kstest(out, stats.beta(first, rest).cdf).pvalue > LEAST_P
    assert stats.kstest(out, stats.beta(first * 1.05, rest).cdf).pvalue < LEAST_P


def test_the_whole_sum_is_the_share_of_all():
    out = np.empty(10)
    fill_shares(streams(2, 0, 1), 6.0, 0.0, out)
    np.testing.assert_array_equal(out, 1.0)
