"""The binomial sampler: the right law for small and huge counts, and the very values of a plain reference."""

import math

import batch_reference
import numpy as np
import pytest
import reference
from helpers import chi_square_p
from scipy import stats

from bandit_core.jit.decorators import kernel
from bandit_core.kernels import binomial
from bandit_core.kernels.streams import streams

DRAWS = 200_000


@kernel
def fill(state, count, chance, out):
    for place in range(out.shape[0]):
        out[place] = binomial.binomial(count, chance, state, 0)


def draws(count: int, chance: float, many: int = DRAWS, seed: int = 1) -> np.ndarray:
    out = np.empty(many)
    fill(streams(seed, 0, 1), count, chance, out)
    return out


CASES = [
    *[(1, 0.3), (2, 0.5), (5, 0.95), (19, 0.5), (1000, 1e-3), (10**9, 2e-9)],  # by inversion
    *[(20, 0.5), (21, 0.49), (34, 0.3), (50, 0.8), (153, 0.9), (1000, 0.0101), (10**4, 0.6)],  # by rejection
    *[(10**6, 1e-5), (10**6, 0.3), (10**9, 0.5), (10**9, 0.999), (10**9, 1.1e-8)],
]


@pytest.mark.parametrize(("count", "chance"), CASES)
def test_the_law_is_binomial(count, chance):
    law = stats.binom(count, chance)
    sample = draws(count, chance)
    assert sample.min() >= 0
    assert sample.max() <= count
    np.testing.assert_array_equal(sample, np.round(sample))
    assert chi_square_p(sample, law) > 1e-4
    assert abs(sample.mean() - law.mean()) < 4.5 * law.std() / math.sqrt(DRAWS)
    spread = math.sqrt((law.stats("k") + 2) / DRAWS)  # of the sample variance, relative
    assert abs(sample.var() / law.var() - 1) < 4.5 * spread


@pytest.mark.parametrize(("count", "chance"), [(1000, 0.4), (10**6, 0.9)])
def test_the_check_notices_a_slightly_wrong_law(count, chance):
    spread = math.sqrt(count * chance * (1 - chance))
    shifted = stats.binom(count, chance + 0.03 * spread / count)
    assert chi_square_p(draws(count, chance), shifted) < 1e-4


def test_certain_outcomes():
    for count, chance, sure in ((0, 0.5, 0), (7, 0.0, 0), (7, 1.0, 7), (10**9, 1.0, 10**9)):
        np.testing.assert_array_equal(draws(count, chance, many=10), sure)


@pytest.mark.parametrize(("count", "chance"), [(3, 0.3), (19, 0.51), (25, 0.45), (60, 0.7), (400, 0.2), (8000, 0.55)])
def test_the_same_values_as_the_plain_reference(count, chance):
    generator = reference.Stream(streams(1, 0, 1)[0]).rejections
    expected = [batch_reference.binomial(count, chance, generator.uniform) for _ in range(2000)]
    np.testing.assert_array_equal(draws(count, chance, many=2000), expected)
