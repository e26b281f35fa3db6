"""Random numbers of the kernels: the generator bit for bit, every law in distribution (fixed seeds, stated tests)."""

import math
from statistics import NormalDist
from typing import ClassVar

import batch_reference
import numpy as np
import pytest
import reference
from helpers import chi_square_p
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from pydantic import TypeAdapter
from scipy import stats

from bandit_core.jit.decorators import kernel
from bandit_core.kernels import binomial
from bandit_core.kernels import streams as kernel_streams
from bandit_core.kernels.play import draw_labels
from bandit_core.kernels.rewards import draw_reward, sigmoid
from bandit_core.kernels.streams import beta, fill_words, gamma, next_uniform, normal_quantile, streams
from bandit_core.kernels.users import draw_epsilon
from bandit_core.spec import budgets, rewards

# ---------------------------------------------------------------------------------------------------------------------
# Random numbers of the kernels: the generator bit for bit, every law in distribution (fixed seeds, stated tests).


# Published first outputs of xoshiro256++ from the state 1, 2, 3, 4.
PUBLISHED = [
    41943041,
    58720359,
    3588806011781223,
    3591011842654386,
    9228616714210784205,
    9973669472204895162,
    14011001112246962877,
    12406186145184390807,
    15849039046786891736,
    10450023813501588000,
]
DRAWS = 20_000
LEAST_P = 1e-4  # a right sampler fails once in ten thousand seeds; the seeds are fixed


@njit
def labels(rows, arms):
    """The arm that each label stands for, shape (trials, arms)."""
    orders = np.empty((rows.shape[0], arms), np.int64)
    for row in range(rows.shape[0]):
        draw_labels(rows, row, orders[row])
    return orders


def test_labels_are_a_random_order_that_takes_no_draw():
    """As the reference shuffles; every one of the 24 orders of four arms equally often (chi-square)."""
    rows = streams(3, 0, DRAWS)
    before = rows.copy()
    orders = labels(rows, 4)
    np.testing.assert_array_equal(rows, before)
    for row, order in list(zip(rows, orders, strict=True))[:50]:
        assert reference.Stream(row).labels(4) == order.tolist()
    codes, counts = np.unique(orders @ [1, 10, 100, 1000], return_counts=True)
    assert len(codes) == 24
    assert stats.chisquare(counts).pvalue > LEAST_P
    uniforms = np.array([reference.Stream(row).uniform() for row in rows[:4000]])
    table = np.histogram2d(uniforms, orders[:4000, 0], bins=(10, 4))[0]
    assert stats.chi2_contingency(table).pvalue > LEAST_P  # the first reward's draw does not know the order


def test_the_reference_generator_is_xoshiro256_plus_plus():
    generator = reference.Generator([1, 2, 3, 4])
    assert [generator.next_word() for _ in PUBLISHED] == PUBLISHED


@pytest.mark.parametrize("at", [0, 4], ids=["steps", "rejections"])
def test_both_generators_of_a_stream_give_the_published_numbers(at):
    state = np.array([[1, 2, 3, 4] * 2], np.uint64)
    drawn = [next_uniform(state, 0, at) for _ in PUBLISHED]
    assert drawn == [(word >> 12) * 2.0**-52 for word in PUBLISHED]
    assert state[0, 4 - at : 8 - at].tolist() == [1, 2, 3, 4]  # the other one has not moved


def test_lanes_side_by_side_draw_what_each_draws_alone():
    rows = streams(3, 0, 7)
    lanes, words = np.ascontiguousarray(rows[:, :4].T), np.empty(7, np.uint64)
    together = []
    for _ in range(5):
        fill_words(lanes, words)
        together.append((words >> np.uint64(12)) * 2.0**-52)
    alone = [[next_uniform(rows, lane, 0) for lane in range(7)] for _ in range(5)]
    np.testing.assert_array_equal(together, alone)


def test_streams_belong_to_seed_and_trial_alone():
    np.testing.assert_array_equal(streams(9, 0, 20)[5:8], streams(9, 5, 8))
    assert len(np.unique(np.concatenate([streams(9, 0, 500), streams(10, 0, 500)]), axis=0)) == 1000


def test_normal_quantile_against_the_standard_library():
    tails = 2.0 ** -np.arange(2.0, 54.0)
    for p in np.concatenate([np.linspace(0.001, 0.999, 999), tails, 1 - tails[:-1]]):
        assert normal_quantile(p) == pytest.approx(NormalDist().inv_cdf(p), rel=1e-13, abs=1e-15)


def test_sigmoid_stays_in_its_range():
    assert [sigmoid(x) for x in (-1e4, 0.0, 1e4)] == [0.0, 0.5, 1.0]


@njit
def _gammas(state, shape, out):
    for place in range(out.shape[0]):
        out[place] = gamma(state, 0, shape)


@njit
def _betas(state, a, b, out):
    for place in range(out.shape[0]):
        out[place] = beta(state, 0, a, b)


@njit
def _rewards(state, table, values, out):
    for place in range(out.shape[0]):
        out[place] = draw_reward(table, values, 0, next_uniform(state, 0, 0), state, 0)


@njit
def _epsilons(state, code, form, table, out):
    for place in range(out.shape[0]):
        out[place] = draw_epsilon(code, form, table, next_uniform(state, 0, 0))


def drawn(sampler, *arguments, seed: int = 1) -> np.ndarray:
    out = np.empty(DRAWS)
    sampler(streams(seed, 0, 1), *arguments, out)
    return out


@pytest.mark.parametrize("shape", [0.3, 1.0, 2.5, 400.0])
def test_gamma_variables_follow_their_law(shape):
    assert stats.kstest(drawn(_gammas, shape), stats.gamma(shape).cdf).pvalue > LEAST_P


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (0.5, 0.5), (3.0, 1.0), (2000.0, 900.0)])
def test_beta_variables_follow_their_law(a, b):
    assert stats.kstest(drawn(_betas, a, b), stats.beta(a, b).cdf).pvalue > LEAST_P


def test_every_distribution_with_a_table_finds_its_own():
    class Steps(rewards.RewardDistribution):
        code: ClassVar[int] = 99
        steps: tuple[float, ...]
        parameters: ClassVar[tuple[float, ...]] = (0.0, 2.0)

        @property
        def values_for_kernel(self) -> np.ndarray:
            return np.array(self.steps)

    first, other = Steps(steps=(1.0, 2.0, 3.0)), Steps(steps=(4.0,))
    seen = rewards.Empirical(values=(5.0, 6.0))
    table, values = rewards.tables((first, seen, rewards.Bernoulli(mean=0.5), other, first))
    assert values.tolist() == [1, 2, 3, 5, 6, 4]
    assert table[:, 1].tolist() == [0, 3, 0, 5, 0]
    assert table[[0, 3], 2].tolist() == [2, 2]


def test_a_wrong_law_is_noticed():
    assert stats.kstest(drawn(_gammas, 2.5), stats.gamma(2.6).cdf).pvalue < LEAST_P
    assert stats.kstest(drawn(_betas, 3.0, 1.0), stats.beta(3.0, 1.1).cdf).pvalue < LEAST_P


def reward_law(**fields):
    return TypeAdapter(rewards.Arm).validate_python(fields)


def epsilon_law(**fields):
    return TypeAdapter(budgets.Epsilon).validate_python(fields)


def drawn_of(law) -> np.ndarray:
    """Rewards, or budgets, of a law."""
    if isinstance(law, rewards.RewardDistribution):
        return drawn(_rewards, *rewards.tables((law,)))
    return drawn(_epsilons, *law.kernel_form())


CONTINUOUS = [
    (reward_law(kind="uniform", low=-1, high=3), stats.uniform(-1, 4)),
    (reward_law(kind="gaussian", mean=-2, sd=3), stats.norm(-2, 3)),
    (reward_law(kind="pareto", mean=3, shape=1.5), stats.pareto(1.5, scale=1.0)),
    (reward_law(kind="student", mean=-1, scale=2, df=1.5), stats.t(1.5, -1, 2)),
    (reward_law(kind="beta", a=2, b=1), stats.beta(2, 1)),
    (reward_law(kind="beta", a=1, b=0.5), stats.beta(1, 0.5)),
    (reward_law(kind="beta", a=0.5, b=3), stats.beta(0.5, 3)),
    (epsilon_law(kind="uniform", low=0, high=4), stats.uniform(0, 4)),
    (epsilon_law(kind="lognormal", median=2, sigma=1.5), stats.lognorm(1.5, scale=2)),
]
DISCRETE = [
    reward_law(kind="bernoulli", mean=0.3),
    reward_law(kind="two-point", low=-2, high=5, p_high=0.9),
    reward_law(kind="empirical", values=[1, 4, 4, -7, 0.5]),
    epsilon_law(kind="fixed", value=0.7),
    epsilon_law(kind="discrete", values=[8, 0, 2, 0.5], probs=[0.2, 0.1, 0.4, 0.3]),
    epsilon_law(kind="empirical", values=[1, 1, 3, 0.25]),
]


@pytest.mark.parametrize(("law", "truth"), CONTINUOUS, ids=lambda law: getattr(law, "kind", ""))
def test_continuous_rewards_and_budgets_follow_their_law(law, truth):
    assert stats.kstest(drawn_of(law), truth.cdf).pvalue > LEAST_P


@pytest.mark.parametrize("law", DISCRETE, ids=lambda law: law.kind)
def test_discrete_rewards_and_budgets_follow_their_law(law):
    seen, counts = np.unique(drawn_of(law), return_counts=True)
    outcomes, chances = law.atoms
    np.testing.assert_array_equal(seen, outcomes)
    assert len(outcomes) == 1 or stats.chisquare(counts, DRAWS * chances).pvalue > LEAST_P


def test_a_clamped_gaussian_has_atoms_at_its_borders_and_a_bell_between():
    law = epsilon_law(kind="clamped-gaussian", mean=1, sd=1, low=0, high=2.5)
    budgets = drawn_of(law)
    bell = stats.norm(1, 1)
    low, high = np.count_nonzero(budgets == 0), np.count_nonzero(budgets == 2.5)
    shares = np.array([bell.cdf(0), bell.cdf(2.5) - bell.cdf(0), bell.sf(2.5)])
    assert stats.chisquare([low, DRAWS - low - high, high], DRAWS * shares).pvalue > LEAST_P
    inside = budgets[(budgets > 0) & (budgets < 2.5)]
    assert stats.kstest(inside, stats.truncnorm(-1, 1.5, loc=1).cdf).pvalue > LEAST_P


def test_uniforms_that_must_not_be_zero_are_moved_by_half_their_spacing():
    assert kernel_streams.HALF_UNIT * 2 == kernel_streams.UNIT == 2.0**-52
    assert math.isfinite(normal_quantile(kernel_streams.HALF_UNIT))
    assert math.isfinite(normal_quantile(1 - kernel_streams.UNIT + kernel_streams.HALF_UNIT))


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 40)), min_size=1, max_size=12))
def test_counted_values_are_drawn_as_if_each_observation_stood_there(pairs):
    values, counts = zip(*pairs, strict=True)
    counted = reward_law(kind="empirical", values=values, counts=counts)
    written = reward_law(kind="empirical", values=np.repeat(values, counts).tolist())
    other = reward_law(kind="empirical", values=[7.0, 8.0], counts=[3, 1])  # its table stands before
    rows, pool = rewards.tables((other, counted))
    assert np.array_equal(drawn(_rewards, rows[1:], pool), drawn(_rewards, *rewards.tables((written,))))


def test_equal_arms_share_one_table_and_counts_take_no_room():
    law = reward_law(kind="empirical", values=[0.0, 1.0], counts=[500_000, 500_000], count=3000)
    same = reward_law(kind="empirical", values=[0.0, 1.0], counts=[500_000, 500_000])
    rows, pool = rewards.tables(rewards.expand((law, same)))
    assert rows.shape == (3001, rewards.ROW)
    assert len(pool) == 4


# ---------------------------------------------------------------------------------------------------------------------
# The binomial sampler: the right law for small and huge counts, and the very values of a plain reference.


BINOMIAL_DRAWS = 200_000


@kernel
def fill(state, count, chance, out):
    for place in range(out.shape[0]):
        out[place] = binomial.binomial(count, chance, state, 0)


def draws(count: int, chance: float, many: int = BINOMIAL_DRAWS, seed: int = 1) -> np.ndarray:
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
    assert abs(sample.mean() - law.mean()) < 4.5 * law.std() / math.sqrt(BINOMIAL_DRAWS)
    spread = math.sqrt((law.stats("k") + 2) / BINOMIAL_DRAWS)  # of the sample variance, relative
    assert abs(sample.var() / law.var() - 1) < 4.5 * spread


def test_certain_outcomes():
    for count, chance, sure in ((0, 0.5, 0), (7, 0.0, 0), (7, 1.0, 7), (10**9, 1.0, 10**9)):
        np.testing.assert_array_equal(draws(count, chance, many=10), sure)


@pytest.mark.parametrize(("count", "chance"), [(3, 0.3), (19, 0.51), (25, 0.45), (60, 0.7), (400, 0.2), (8000, 0.55)])
def test_the_same_values_as_the_plain_reference(count, chance):
    generator = reference.Stream(streams(1, 0, 1)[0]).rejections
    expected = [batch_reference.binomial(count, chance, generator.uniform) for _ in range(2000)]
    np.testing.assert_array_equal(draws(count, chance, many=2000), expected)
