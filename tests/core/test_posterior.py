"""Thompson sampling with few draws: the law of its choices is that of all draws, whatever it knows of the arms."""

import numba
import numpy as np
import pytest
from helpers import least_p
from runs import coins, looped, one_line
from scipy import integrate, stats
from scipy.special import betaincc

from bandit_core.jit.decorators import kernel
from bandit_core.kernels import lazy_posterior, normal_blocks, posterior
from bandit_core.kernels.posterior import UNSETTLED, ArmState, choose, learn, look_at_all, mass_beyond, point_beyond
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal, run_kernel
from bandit_core.simulation.prepared import prepared_lines
from bandit_core.studies.one_run import one_run

SIZE = 1e-3  # of all comparisons of one test together; the seeds are fixed


def arms_with(ones: list[int], pulled: list[int]) -> ArmState:
    """Arms that have given this, looked at as a run does when so many pulls were made."""
    number = len(ones)
    arms = ArmState(*np.zeros((5, number)), np.zeros(2), np.zeros(3, np.int64), normal_blocks.room_for_draws(number))
    normal_blocks.seed_draws(arms.draws, streams(11, 0, 1), 0)
    arms.ones[:], arms.pulled[:] = ones, pulled
    arms.lead[0] = int(np.argmax((arms.ones + 1) / (arms.pulled + 2)))
    look_at_all(arms)  # as a run does now and then
    return arms


def chances_to_win(arms: ArmState) -> np.ndarray:
    """That each arm has the largest draw, by numerical integration."""
    posteriors = [stats.beta(1 + ones, 1 + n - ones) for ones, n in zip(arms.ones, arms.pulled, strict=True)]

    def density(x: float, arm: int) -> float:
        others = [each.cdf(x) for number, each in enumerate(posteriors) if number != arm]
        return posteriors[arm].pdf(x) * np.prod(others)

    points = sorted({float(each.ppf(q)) for each in posteriors for q in (1e-9, 1e-4, 0.02, 0.5, 0.98, 1 - 1e-4)})
    return np.array(
        [integrate.quad(density, 0, 1, args=(arm,), points=points, limit=500)[0] for arm in range(len(posteriors))]
    )


@numba.njit
def chosen(arms: ArmState, state: np.ndarray, times: int) -> np.ndarray:
    counts = np.zeros(arms.ones.shape[0], np.int64)
    for _ in range(times):
        counts[choose(arms, state, 0)] += 1
    return counts


STATES = {
    "nothing known": ([0, 0, 0], [0, 0, 0]),
    "all settled": ([900, 60, 50], [1000, 90, 80]),
    "one unsettled": ([900, 8, 50, 3], [1000, 9, 80, 30]),
    "the leader is passed": ([90, 50, 48, 47], [100, 70, 66, 64]),
    "rare ones": ([40, 3, 0], [1000, 100, 60]),
    "rare zeros": ([999, 98, 40], [1000, 100, 42]),
    "close": ([510, 490], [1000, 1000]),
    "equal": ([50, 50, 50, 50], [100, 100, 100, 100]),
}


@pytest.mark.parametrize("used", [False, True], ids=["fresh", "later"])
@pytest.mark.parametrize("name", STATES)
def test_each_arm_is_chosen_as_often_as_its_draw_is_the_largest(name, used):
    arms = arms_with(*STATES[name])
    if used:  # what is known was found out some answers ago
        for arm in range(len(arms.ones)):
            learn(arms, arm, 1.0)
            learn(arms, arm, 0.0)
    times = 300_000
    counts = chosen(arms, streams(5, 0, 1), times)
    expected = chances_to_win(arms) * times
    assert expected.sum() == pytest.approx(times, rel=1e-6)
    seen = expected >= 5
    rare_seen, rare = counts[~seen].sum(), expected[~seen].sum()
    assert stats.poisson.sf(rare_seen - 1, max(rare, 1e-300)) > SIZE / (4 * len(STATES))
    if seen.sum() > 1:
        ratio = counts[seen].sum() / expected[seen].sum()
        assert stats.chisquare(counts[seen], expected[seen] * ratio).pvalue > SIZE / (4 * len(STATES))


@pytest.mark.parametrize(
    ("a", "b", "bar"), [(61.0, 31.0, 0.78), (2.0, 40.0, 0.2), (400.0, 3.0, 0.998), (1.0, 9.0, 0.4)]
)
def test_points_beyond_the_bar_are_those_of_the_posterior(a, b, bar):
    law, state = stats.beta(a, b), streams(7, 0, 1)
    chance = 1.5 * mass_beyond(a, b, bar)
    assert law.sf(bar) <= mass_beyond(a, b, bar) < 1
    found = np.array([point_beyond(state, 0, a, b, bar, chance) for _ in range(40_000)])
    passed = found[~np.isnan(found)]
    assert stats.binomtest(len(passed), len(found), law.sf(bar) / chance).pvalue > SIZE / 8
    assert stats.kstest(passed, lambda x: 1 - law.sf(x) / law.sf(bar)).pvalue > SIZE / 8


@pytest.mark.parametrize("seed", range(4))
def test_a_chance_is_never_below_the_mass_that_it_stands_for(seed):
    """Also between two looks, whatever the answers, and for the leader as for the others."""
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.02, 0.98, 5)
    arms, state = arms_with([0] * 5, [0] * 5), streams(seed, 0, 1)
    mass, looked = mass_beyond.py_func, 0
    for _ in range(1_500):
        arm = choose(arms, state, 0)
        learn(arms, arm, float(rng.random() < means[arm]))
        for each in np.flatnonzero(arms.spare > UNSETTLED):
            a, b, bar = 1 + arms.ones[each], 1 + arms.pulled[each] - arms.ones[each], arms.bar[0]
            a, b, bar = (b, a, 1 - bar) if each == arms.lead[0] else (a, b, bar)
            assert betaincc(a, b, bar) <= mass(a, b, bar) <= arms.chances[each]
            looked += 1
    assert looked > 1_000
    assert arms.lead[2] == np.sum(arms.spare < 0) and arms.bar[1] == pytest.approx(np.prod(1 - arms.chances), rel=1e-12)


@kernel
def _draw_each(state, a, b, out):
    """Rows of draws: in even ones all arms draw together, in odd ones one after the other."""
    draws = normal_blocks.room_for_draws(a.shape[0])
    normal_blocks.seed_draws(draws, state, 0)
    for row in range(out.shape[0]):
        for arm in range(a.shape[0]):
            normal_blocks.fit(draws, arm, a[arm], b[arm])
        if row % 2 == 0:
            normal_blocks.largest_draw(draws, a.shape[0])
        for arm in range(a.shape[0]):
            if row % 2 == 0:
                out[row, arm] = draws.gammas[0, arm] / (draws.gammas[0, arm] + draws.gammas[1, arm])
            else:
                out[row, arm] = normal_blocks.draw_beta(draws, arm)


SHAPES = np.array([[1, 1], [1, 30], [1.4, 1.1], [2, 2], [3, 40.5], [9, 1], [25, 25], [500, 90], [30_000, 70_000.0]]).T


def test_draws_are_beta_variables_and_know_nothing_of_each_other():
    out = np.empty((40_000, SHAPES.shape[1]))
    _draw_each(streams(3, 0, 1), *np.ascontiguousarray(SHAPES), out)
    for (a, b), values in zip(SHAPES.T, out.T, strict=True):
        for part in (values[::2], values[1::2]):
            assert stats.kstest(part, stats.beta(a, b).cdf).pvalue > SIZE / 50
    normal = stats.norm.ppf(stats.beta(*SHAPES).cdf(out))
    between = np.corrcoef(normal[1:].T, normal[:-1].T)[np.triu_indices(18, 1)]  # of arms, in a row and the next one
    assert np.abs(between).max() < stats.norm.isf(SIZE / (2 * len(between))) / np.sqrt(len(out))


@kernel
def _choose_each(state, a, b, choices):
    draws = normal_blocks.room_for_draws(a.shape[0])
    normal_blocks.seed_draws(draws, state, 0)
    for arm in range(a.shape[0]):
        normal_blocks.fit(draws, arm, a[arm], b[arm])
    for row in range(choices.shape[0]):
        choices[row] = normal_blocks.largest_draw(draws, a.shape[0])


@pytest.mark.parametrize("number", [1, 2, 33, normal_blocks.PAIRS + 45])
def test_of_any_number_of_equal_arms_each_is_chosen_as_often(number):
    """Also where one block of pairs is not enough for all."""
    choices = np.empty(100 * number, np.int64)
    _choose_each(streams(4, 0, 1), np.full(number, 3.0), np.full(number, 2.0), choices)
    counts = np.bincount(choices, minlength=number)
    assert len(counts) == number
    assert number == 1 or stats.chisquare(counts).pvalue > SIZE / 4


@pytest.mark.parametrize("shape", [1.0, 1.7, 12.0, 900.0])
def test_what_is_surely_kept_would_be_kept_by_the_definition(shape):
    d = shape - 1 / 3
    c = 1 / np.sqrt(9 * d)
    z = np.linspace(max(-0.5 / c, -40), 40, 200_001)
    sure, y = 1 - normal_blocks.SURE * (c * z * z) ** 2, c * z
    z, sure, y = z[sure > 0], sure[sure > 0], y[sure > 0]
    kept = z**2 / 2 + d * (3 * np.log1p(y) - 3 * y - 3 * y**2 - y**3)
    assert (np.log(sure) <= kept + 1e-9).all() and len(z) > 10_000


def law_of(policy: str, means: list[float], epsilon: float, seed: int, every_draw: bool = False):
    (line,) = prepared_lines(one_line(policy, coins(*means), epsilon, 10_000))
    call = line.policy.prepare(looped(line.setup)) if every_draw else line.call
    assert (call.kernel in (posterior.thompson, lazy_posterior.THOMPSON.at_once)) != every_draw
    return run_kernel(call, streams(seed, 0, 400), np.array([100, 2_000, 10_000]), Signal())


@pytest.mark.parametrize(
    ("policy", "means", "epsilon"),
    [
        ("thompson", [0.9, 0.6, 0.3], 1.0),
        ("thompson", [0.5, 0.48], 1.0),
        ("thompson", [0.05, 0.044, 0.04], 1.0),
        ("ts-cf", [0.9, 0.8, 0.7, 0.6], 1.0),
        ("lazy-dp-ts", [0.9, 0.6, 0.3], 1.0),
        ("lazy-dp-ts", [0.5, 0.45], 2.0),
        ("lazy-dp-ts", [0.1, 0.05, 0.04], 8.0),
        ("lazy-dp-ts", [0.9, 0.8, 0.5], 0.3),
    ],
)
def test_whole_runs_have_the_law_of_those_with_all_draws(policy, means, epsilon):
    few = law_of(policy, means, epsilon, seed=1)
    assert least_p(few, law_of(policy, means, epsilon, seed=2, every_draw=True)) > SIZE
    np.testing.assert_array_equal(few.pulls.sum(axis=1), 10_000)


def test_the_comparison_notices_a_slightly_different_policy():
    few = law_of("thompson", [0.9, 0.6, 0.3], 1.0, seed=1)
    assert least_p(few, law_of("thompson", [0.9, 0.68, 0.3], 1.0, seed=2, every_draw=True)) < SIZE


@pytest.mark.parametrize("policy", ["ts-cf", "lazy-dp-ts"])
def test_what_is_watched_has_the_draws_that_decided(policy):
    run = one_run(one_line(policy, coins(0.9, 0.8, 0.3), 2.0, 50_000), users=700)
    assert not run.hides and run.completed == (policy == "ts-cf")
    known = ~np.isnan(run.indices[:, 0])
    assert known.sum() == (700 if policy == "ts-cf" else 700 - 3)
    np.testing.assert_array_equal(run.indices[known].argmax(axis=1), run.arms[known])
