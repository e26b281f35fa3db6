"""Mechanisms: exact privacy over grids, moments, domains, and the laws that simulation relies on."""

import math

import numpy as np
import pytest
from scipy import stats

from bandit_core import InputError
from bandit_core.mechanisms import CTB, CTB_S, CTL, CTL_S, MECHANISMS
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.mechanisms.randomised_response import chance_of_one
from bandit_core.mechanisms.sigmoid import sigmoid

EVERY = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
EPSILONS = (0.05, 0.2, 1.0, 3.0, 10.0)


def rewards_of(mechanism) -> list[float]:
    if mechanism.domain == (0.0, 1.0):
        return [0.0, 0.1, 0.5, 0.93, 1.0]
    return [-800.0, -3.0, 0.0, 0.4, 6.0, 800.0]


def responses_of(mechanism) -> np.ndarray:
    return np.array([0.0, 1.0]) if mechanism.outputs == "bit" else np.linspace(-30, 30, 601)


@EVERY
def test_the_ratio_holds_for_budgets_beyond_the_range_of_e_to_the_epsilon(mechanism):
    rewards = rewards_of(mechanism)
    ratio = mechanism.log_ratio(responses_of(mechanism), rewards[-1], rewards[0], 1000.0)
    assert ratio.max() == pytest.approx(1000.0)


@EVERY
def test_an_estimate_is_right_on_average(mechanism):
    """It is a straight line in the response, whose mean test_losses.py sees by the density."""
    for reward in rewards_of(mechanism):
        fed = reward if mechanism.domain == (0.0, 1.0) else float(sigmoid(reward))
        assert mechanism.estimate(mechanism.mean(reward, 0.5), 0.5) == pytest.approx(fed, abs=1e-9)
        zero, one, half = (mechanism.estimate(response, 0.5) for response in (0.0, 1.0, 0.5))
        assert half == pytest.approx((zero + one) / 2, abs=1e-12)


@EVERY
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_releases_follow_the_stated_law(mechanism, epsilon):
    rng = np.random.default_rng(5)
    for reward in rewards_of(mechanism):
        responses = mechanism.release(np.full(20_000, reward), epsilon, rng)
        mean = float(mechanism.mean(reward, epsilon))
        if mechanism.outputs == "bit":
            ones = int(responses.sum())
            assert set(np.unique(responses)) <= {0.0, 1.0}
            assert stats.binomtest(ones, 20_000, mean).pvalue > 1e-4
        else:
            assert stats.kstest(responses, stats.laplace(mean, 1 / epsilon).cdf).pvalue > 1e-4


@EVERY
def test_release_broadcasts_and_repeats_with_its_generator(mechanism):
    rewards = np.array([[0.2, 0.7, 1.0]])
    budgets = np.array([[0.5], [4.0]])
    first, again = (mechanism.release(rewards, budgets, np.random.default_rng(3)) for _ in range(2))
    assert first.shape == (2, 3)
    np.testing.assert_array_equal(first, again)
    assert mechanism.release(0.5, 1.0, np.random.default_rng(0)).shape == ()


@pytest.mark.parametrize(("mechanism", "instead"), [(CTL, CTL_S), (CTB, CTB_S)], ids=["ctl", "ctb"])
@pytest.mark.parametrize("bad", [1.5, -0.01, math.nan, math.inf])
def test_a_reward_outside_the_domain_is_refused_in_words(mechanism, instead, bad):
    with pytest.raises(InputError) as refusal:
        mechanism.release([0.5, bad], 1.0, np.random.default_rng(0))
    problem = refusal.value.issues[0]
    assert problem.path == "rewards[1]"
    assert repr(problem.value) == repr(bad)
    assert instead.title.split(" (")[0] in problem.allowed
    if math.isfinite(bad):
        assert instead.release([0.5, bad], 1.0, np.random.default_rng(0)).shape == (2,)


@EVERY
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_an_epsilon_that_shares_nothing_is_refused_in_words(mechanism, bad):
    with pytest.raises(InputError, match="shares nothing"):
        mechanism.release([0.5, 0.5], [1.0, bad], np.random.default_rng(0))


@EVERY
def test_what_is_no_number_is_refused(mechanism):
    with pytest.raises(InputError):
        mechanism.release([math.nan], 1.0, np.random.default_rng(0))


def test_an_arm_that_always_pays_one_is_estimated_as_one_when_noise_is_off():
    rng = np.random.default_rng(0)
    estimates = CTB.estimate(CTB.release(np.ones(100), 1000.0, rng), 1000.0)
    np.testing.assert_array_equal(estimates, np.ones(100))
    assert CTL.estimate(CTL.release(np.ones(10_000), 1000.0, rng), 1000.0).mean() == pytest.approx(1, abs=1e-3)


def test_randomised_response_depends_on_the_mean_reward_only():
    """E[chance of 1] over any law of rewards is the chance at their mean: why a simulation draws no reward."""
    rewards = np.random.default_rng(2).beta(0.4, 1.3, 1000)
    for epsilon in EPSILONS:
        assert CTB.mean(rewards, epsilon).mean() == pytest.approx(float(CTB.mean(rewards.mean(), epsilon)))


def test_unit_constants_of_the_corrected_formula():
    assert float(CTB.mean(0.9, 1.0)) == pytest.approx(0.68485, abs=5e-6)
    e = math.exp(0.7)
    assert float(CTB.mean(0.3, 0.7)) == pytest.approx((0.3 * e + 0.7) / (e + 1))
    assert chance_of_one(0.3, math.tanh(0.35)) == float(CTB.mean(0.3, 0.7))  # what the kernels compile


def test_laplace_noise_is_the_inverse_of_its_distribution_function():
    for u in np.linspace(0, 1, 101)[:-1]:
        noise = laplace_noise(u, 2.5)
        assert stats.laplace(scale=2.5).cdf(noise) == pytest.approx(u, abs=1e-12)
    assert math.isfinite(laplace_noise(0.0, 1.0)) and math.isfinite(laplace_noise(1 - 2.0**-52, 1.0))
    assert laplace_noise(0.0, 1.0) == -laplace_noise(1 - 2.0**-52, 1.0)


def test_sigmoid_never_overflows():
    np.testing.assert_array_equal(sigmoid([-1e4, 0.0, 1e4]), [0.0, 0.5, 1.0])
