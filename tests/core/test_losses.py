"""What mechanisms tell about themselves, against independent sums, integrals and samples; privacy loss; the game."""

from __future__ import annotations

import importlib
import itertools
import math
import pkgutil

import numpy as np
import pytest
from scipy import integrate, stats

from bandit_core import InputError, mechanisms
from bandit_core.kernels import heavy as heavy_kernels
from bandit_core.mechanisms import Binary, Hybrid, gaussian, registry
from bandit_core.mechanisms.l2_ball import ball_along, radius, release
from bandit_core.mechanisms.losses import chance_of_right_guess, nodes, noise_density, play_round, profile, span
from bandit_core.model import Signal

ANSWERS = [one for one in registry().values() if one.kind == "answer"]
COUNTERS = [one for one in registry().values() if one.kind == "counter"]
EACH = pytest.mark.parametrize("described", ANSWERS, ids=lambda described: described.name)
PURE = pytest.mark.parametrize("described", [one for one in ANSWERS if one.pure], ids=lambda described: described.name)


def ends(mechanism):
    return tuple(end if math.isfinite(end) else math.copysign(40.0, end) for end in mechanism.domain)


def inner(mechanism):
    low, high = ends(mechanism)
    return [low, low + 0.3 * (high - low), (low + high) / 2, high]


# ---- Descriptions ----


def test_every_mechanism_file_is_found_and_tells_all():
    described = [
        module.name
        for module in pkgutil.iter_modules(mechanisms.__path__)
        if {"DESCRIPTION", "DESCRIPTIONS"} & set(vars(importlib.import_module(f"bandit_core.mechanisms.{module.name}")))
    ]
    assert {"binary", "gaussian", "laplace", "randomised_response", "sigmoid"} <= set(described)
    assert set(mechanisms.MECHANISMS) | set(mechanisms.COUNTERS) | {"gaussian", "l2-ball"} <= set(registry())
    for name, one in registry().items():
        assert one.name == name
        for text in (one.title, one.paper, one.words, one.guarantee, one.sensitivity, *vars(one.formulas).values()):
            assert text.strip()
        for latex in vars(one.formulas).values():
            assert latex.count("{") == latex.count("}")
        assert ("(pure)" in one.guarantee) == one.pure


@EACH
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_a_density_is_one_in_all_and_has_the_stated_mean_and_variance(described, epsilon):
    mechanism = described.make(epsilon)
    for value in inner(mechanism):
        responses, weights = nodes(mechanism, ends(mechanism), epsilon)
        mass = weights * np.exp(mechanism.log_density(responses, value, epsilon))
        mean = float(mechanism.mean(value, epsilon))
        assert mass.sum() == pytest.approx(1, abs=2e-5)
        assert mass @ responses == pytest.approx(mean, abs=2e-4 / epsilon)
        assert mass @ (responses - mean) ** 2 == pytest.approx(float(mechanism.variance(value, epsilon)), rel=5e-4)


@EACH
def test_samples_have_the_stated_mean_and_variance(described):
    rng = np.random.default_rng(11)
    mechanism = described.make(0.8)
    for value in inner(mechanism):
        sent = mechanism.release(np.full(40_000, value), 0.8, rng)
        variance = float(mechanism.variance(value, 0.8))
        assert sent.mean() == pytest.approx(float(mechanism.mean(value, 0.8)), abs=4.5 * math.sqrt(variance / 40_000))
        spread = sent - sent.mean()
        assert (spread**2).mean() == pytest.approx(variance, abs=5 * (spread**2).std() / 200 + 1e-12)


@PURE
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_the_largest_log_ratio_is_epsilon(described, epsilon):
    mechanism = described.make(epsilon)
    responses, _ = nodes(mechanism, ends(mechanism), epsilon)
    largest = max(
        float(np.nanmax(mechanism.log_ratio(responses, first, second, epsilon)))
        for first, second in itertools.permutations(inner(mechanism), 2)
    )
    assert largest == pytest.approx(epsilon, rel=1e-9)


def test_the_ball_is_told_by_one_coordinate():
    """Samples of the whole vector, seen along its direction, follow the stated density; both ways of sampling agree."""
    for dimension in (2, 3, 6):
        along = ball_along(dimension=dimension)
        rng = np.random.default_rng(dimension)
        vectors = np.zeros((30_000, dimension))
        vectors[:, 0] = 0.6
        seen = release(vectors, 1.3, rng)[:, 0]
        np.testing.assert_array_less(np.abs(seen), along.reach(1.3))
        grid, weights = nodes(along, (-1.0, 1.0), 1.3)
        cumulative = np.cumsum(weights * np.exp(along.log_density(grid, 0.6, 1.3)))
        assert stats.kstest(seen, lambda z, g=grid, c=cumulative: np.interp(z, g, c)).pvalue > 1e-4
        assert along.reach(1.3) == radius(dimension, 1.3)
    with pytest.raises(InputError, match="randomised response"):
        ball_along(dimension=1)


def test_the_gaussian_refuses_a_delta_that_is_none():
    for wrong in (0.0, 1.0, -0.1):
        with pytest.raises(InputError, match="delta"):
            gaussian.gaussian_noise(delta=wrong)


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.2])
def test_smallest_epsilon_is_the_inverse_of_smallest_delta(delta):
    for sd in (0.3, 1.0, 4.0):
        epsilon = gaussian.smallest_epsilon(1.0, sd, delta)
        found = gaussian.smallest_delta(1.0, sd, epsilon)
        assert found <= delta * (1 + 1e-9)
        assert epsilon == 0 or gaussian.smallest_delta(1.0, sd, 0.999 * epsilon) > delta


# ---- The privacy loss ----


def test_the_profile_of_pure_mechanisms_ends_at_epsilon():
    for described in ANSWERS:
        if described.pure:
            delta, above = profile(described.make(1.0), ends(described.make(1.0)), 1.0, [0.999, 1.0, 1.5])
            assert delta[0] > 0 and list(delta[1:]) == [0, 0]
            assert above[0] > 0 and list(above[1:]) == [0, 0]


def test_the_profile_of_the_gaussian_is_the_exact_one():
    mechanism, levels = gaussian.gaussian_noise(delta=0.05), np.array([0.0, 0.4, 1.0, 1.7])
    delta, above = profile(mechanism, (0.0, 1.0), 1.0, levels)
    sd = float(mechanism.sd(1.0))
    exact = [gaussian.smallest_delta(1.0, sd, float(level)) for level in levels]
    np.testing.assert_allclose(delta, exact, rtol=1e-4, atol=1e-9)
    # The loss of normal noise is normal, with mean 1/2s^2 and variance 1/s^2.
    np.testing.assert_allclose(above, stats.norm(0.5 / sd**2, 1 / sd).sf(levels), rtol=2e-2)
    assert np.all(delta <= above)
    assert delta[2] <= 0.05


def test_the_profile_of_laplace_noise_is_the_integral():
    laplace = mechanisms.CTL
    (delta,), _ = profile(laplace, (0.0, 0.7), 2.0, [0.5])

    def excess(y):
        return max(
            0.0, np.exp(laplace.log_density(y, 0.0, 2.0)) - math.exp(0.5) * np.exp(laplace.log_density(y, 0.7, 2.0))
        )

    expected = integrate.quad(excess, -15, 15, points=[0, 0.1, 0.2, 0.3, 0.7], limit=400)[0]
    assert delta == pytest.approx(expected, rel=1e-4)


def test_what_is_drawn_holds_both_inputs():
    low, high = span(mechanisms.CTL, (0.2, 0.9), 1.0)
    assert low < 0.2 and high > 0.9
    ball = ball_along(dimension=4)
    assert span(ball, (0.0, 1.0), 1.0) == (-radius(4, 1.0), radius(4, 1.0))


# ---- The game ----


@EACH
def test_a_round_repeats_grows_and_keeps_to_the_odds(described):
    mechanism = described.make(0.5)
    for seed in range(12):
        short, long = (play_round(mechanism, described.inputs, 0.5, n, seed) for n in (5, 20))
        assert short.truth == long.truth and len(long.log_odds) == 21
        np.testing.assert_array_equal(short.responses, long.responses[:5])
        np.testing.assert_array_equal(short.log_odds, long.log_odds[:6])
        if described.pure:
            assert np.all(np.abs(long.log_odds) <= long.most + 1e-9)
    steps = [
        float(mechanism.log_ratio(response, *described.inputs, 0.5)) for response in long.responses
    ]  # one by one, as told
    np.testing.assert_allclose(np.diff(long.log_odds), steps, atol=1e-12)


def test_who_follows_the_odds_is_right_as_often_as_told():
    rounds = [play_round(mechanisms.CTB, (0.0, 1.0), 0.6, 7, seed) for seed in range(1500)]
    described = np.array([chance_of_right_guess(float(game.log_odds[-1])) for game in rounds])
    right = np.array([(game.log_odds[-1] > 0) == (game.truth == 0) for game in rounds])
    spread = math.sqrt(float((described * (1 - described)).sum()))
    assert abs(right.sum() - described.sum()) < 4 * spread
    assert 0.4 < np.mean([game.truth for game in rounds]) < 0.6


def test_the_gaussian_does_leave_the_cone():
    """Its loss has no largest value: what the page says must be seen to happen."""
    mechanism = gaussian.gaussian_noise(delta=0.2)
    crossed = sum(
        bool(np.any(np.abs(np.diff(play_round(mechanism, (0.0, 1.0), 1.0, 30, seed).log_odds)) > 1.0))
        for seed in range(20)
    )
    assert crossed > 0


# ---- Counters ----


def test_the_density_of_a_sum_is_right():
    scales = [1.0, 1.0]  # two equal Laplace variables: (1 + |x|) e^-|x| / 4
    x = np.array([-3.0, 0.0, 0.5, 4.0])
    np.testing.assert_allclose(noise_density(scales, x), (1 + np.abs(x)) * np.exp(-np.abs(x)) / 4, rtol=1e-4)
    grid = np.linspace(-60, 60, 24_001)
    density = noise_density([0.5, 2.0, 3.0], grid)
    assert density.sum() * 0.005 == pytest.approx(1, abs=1e-4)
    assert (density * grid**2).sum() * 0.005 == pytest.approx(2 * (0.25 + 4 + 9), rel=1e-3)


@pytest.mark.parametrize("described", COUNTERS, ids=lambda described: described.name)
def test_noise_of_counters_has_the_stated_variance(described):
    counter = described.make(0.7, **({"horizon": 12} if described.settings else {}))
    released = counter.release(np.zeros((30_000, 12)), np.random.default_rng(4))
    for count in (1, 2, 5, 8, 11):
        seen = released[:, count - 1]
        assert seen.mean() == pytest.approx(0, abs=4.5 * seen.std() / math.sqrt(30_000))
        assert (seen**2).mean() == pytest.approx(counter.variance(count), abs=5 * (seen**2).std() / math.sqrt(30_000))
    assert counter.total_epsilon == pytest.approx(0.7)
    assert np.all(counter.spent(np.arange(13)) <= 0.7 * (1 + 1e-12))


def test_variances_are_those_of_the_formulas():
    """The formulas on screen, written once more in plain numbers."""
    ones = [count.bit_count() for count in range(1, 65)]
    for count in range(1, 65):
        k = int(math.log2(count))
        assert Binary(2.0, 64).variance(count) == pytest.approx(2 * ones[count - 1] * 7**2 / 4)
        rest = (count - 2**k).bit_count()
        assert Hybrid.calibrated(2.0).variance(count) == pytest.approx((8 * (k + 1) + 8 * (k + 1) ** 2 * rest) / 4)


def test_no_reward_spends_more_than_epsilon_in_the_adaptive_tree():
    """DPRUCB's level and node scale are the paper's; each node of a reward moves by at most twice its level."""
    from bandit_core import Experiment
    from bandit_core.policies import dp_robust_ucb, heavy_family

    document = {
        "arms": [{"kind": "two-point", "low": 0, "high": 1, "p_high": 0.5}],
        "lines": [{"policy": "dp-robust-ucb", "epsilon": {"kind": "fixed", "value": 0.4}, "params": {"u": 1.5}}],
        "horizon": 500,
        "trials": 1,
    }
    [instance] = Experiment.model_validate(document).setups
    seen = {}

    def tap(state, rewards, truncation, record):
        seen.update(truncation._asdict())

    original = heavy_kernels.by_index
    try:
        heavy_kernels.by_index = tap
        dp_robust_ucb.POLICY.play(instance, np.zeros((1, 8), np.uint64), np.array([500]), Signal())
    finally:
        heavy_kernels.by_index = original
    assert heavy_family.heavy is heavy_kernels

    def level(n):
        return seen["level"] * n ** (1 - seen["exponent"])

    for n in (1, 20, 400):
        assert level(n) == pytest.approx((0.4 * 1.5 * n / math.log(500) ** 1.5) ** (1 / (1 + instance.parameters.v)))
    for n in range(1, 501):
        paid, end = 0.0, n
        while end <= 500:  # the nodes that hold the reward: its own, and every later end of a block around it
            paid += 2 * level(n) / (seen["node_scale"] * level(end))
            end += end & -end
        assert paid <= 0.4 * (1 + 1e-9), n
