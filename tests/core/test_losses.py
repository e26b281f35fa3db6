"""What mechanisms tell about themselves, against independent sums, integrals and samples; privacy loss; the game."""

import importlib
import itertools
import math
import pkgutil

import numpy as np
import pytest
from scipy import integrate, stats

from bandit_core import InputError, mechanisms
from bandit_core.mechanisms import gaussian, registry
from bandit_core.mechanisms.l2_ball import ball_along, radius, release
from bandit_core.mechanisms.losses import chance_of_right_guess, nodes, noise_density, play_round, profile, span

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
