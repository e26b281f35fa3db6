"""Mechanisms: exact privacy, moments, losses, vectors, and privacy libraries as oracles."""

import importlib
import itertools
import math
import pkgutil

import numpy as np
import opendp.prelude as opendp
import pytest
from dp_accounting import dp_event, rdp
from dp_accounting.pld import privacy_loss_distribution as pld
from runs import coins, one_line
from scipy import integrate, optimize, stats

from bandit_core import Experiment, InputError, mechanisms
from bandit_core.auditing.subjects import audit
from bandit_core.jit.decorators import kernel
from bandit_core.kernels.contextual import Ball, release_into
from bandit_core.kernels.streams import streams
from bandit_core.mechanisms import CTB, CTB_S, CTL, CTL_S, MECHANISMS, gaussian, l2_ball
from bandit_core.mechanisms import registry as mechanisms_by_name
from bandit_core.mechanisms.l2_ball import ball_along, radius, release
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.mechanisms.losses import chance_of_right_guess, nodes, noise_density, play_round, profile, span
from bandit_core.mechanisms.randomised_response import chance_of_one
from bandit_core.mechanisms.sigmoid import sigmoid
from bandit_core.policies import registry
from bandit_core.policies.central_family import central_release
from bandit_core.policies.contextual import ldp_ols, ldp_sgd, zheng
from bandit_core.studies.production import composed
from bandit_core.theory import definitions

# ---------------------------------------------------------------------------------------------------------------------
# Mechanisms: exact privacy over grids, moments, domains, and the laws that simulation relies on.


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
    """It is a straight line in the response, whose mean the sums and integrals below see by the density."""
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


# ---------------------------------------------------------------------------------------------------------------------
# What mechanisms tell about themselves, against independent sums, integrals and samples; privacy loss; the game.


ANSWERS = [one for one in mechanisms_by_name().values() if one.kind == "answer"]
COUNTERS = [one for one in mechanisms_by_name().values() if one.kind == "counter"]
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
    assert set(mechanisms.MECHANISMS) | set(mechanisms.COUNTERS) | {"gaussian", "l2-ball"} <= set(mechanisms_by_name())
    for name, one in mechanisms_by_name().items():
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


# ---------------------------------------------------------------------------------------------------------------------
# Mechanisms for vectors: calibration, unbiasedness in many dimensions, exact ratios, audits of what policies send.


BUDGETS = [(0.1, 1e-5), (0.5, 0.01), (1.0, 0.01), (1.5, 0.1), (4.0, 1e-6), (50.0, 0.01)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_gaussian_noise_keeps_its_promise_exactly(epsilon, delta):
    for sensitivity in (0.3, 1.0, 2.0):
        sd = gaussian.gaussian_sd(sensitivity, epsilon, delta)
        # delta(epsilon) = integral of (p - e^epsilon q)+ over the two shifted normal distributions, computed on its own
        edge = sensitivity / 2 - epsilon * sd**2 / sensitivity  # where the likelihood ratio is e^epsilon
        real = stats.norm.cdf((edge + 0.0) / sd, 0) - math.exp(epsilon) * stats.norm.cdf((edge - sensitivity) / sd)
        assert real <= delta * (1 + 1e-9)
        assert gaussian.smallest_delta(sensitivity, sd, epsilon) == pytest.approx(max(0, real), rel=1e-6, abs=1e-15)
        if epsilon > 1:
            assert real == pytest.approx(delta, rel=1e-6)  # no more noise than needed
            assert gaussian.smallest_delta(sensitivity, 0.99 * sd, epsilon) > delta


def test_classical_up_to_one_and_analytic_beyond():
    assert gaussian.gaussian_sd(2, 1.0, 0.01) == pytest.approx(2 * math.sqrt(2 * math.log(125)))
    assert gaussian.gaussian_sd(2, 1.01, 0.01) < gaussian.classical_sd(2, 1.01, 0.01)
    # beyond epsilon = 1 the classical formula can break its promise: why the analytic one is needed
    assert gaussian.smallest_delta(1, gaussian.classical_sd(1, 20.0, 0.3), 20.0) > 0.3
    assert gaussian.analytic_sd(1, 1.0, 0.05) <= gaussian.classical_sd(1, 1.0, 0.05)


def test_symmetric_matrices_stay_symmetric_and_get_the_noise():
    rng = np.random.default_rng(0)
    matrices = np.broadcast_to(np.array([[1.0, 2.0], [2.0, -1.0]]), (40_000, 2, 2))
    released = gaussian.release_symmetric(matrices, 3.0, rng)
    np.testing.assert_array_equal(released, np.swapaxes(released, 1, 2))
    np.testing.assert_allclose(released.mean(axis=0), matrices[0], atol=5 * 3 / 200)
    np.testing.assert_allclose(released.std(axis=0), 3.0, rtol=0.03)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 5.0])
def test_radius_of_the_ball_mechanism(epsilon):
    assert l2_ball.radius(2, 1.0, 2.0) == pytest.approx(6.798, abs=5e-4)
    assert l2_ball.radius(1, epsilon, 3.0) == pytest.approx(3 / math.tanh(epsilon / 2))
    wide = l2_ball.radius(10**6, epsilon)  # gamma itself overflows from dimension 343
    assert wide == pytest.approx(math.sqrt(math.pi * 10**6 / 2) / math.tanh(epsilon / 2), rel=1e-5)


@pytest.mark.parametrize("dimension", [1, 2, 3, 5, 10, 20])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_ball_mechanism_is_unbiased(dimension, share):
    rng = np.random.default_rng(dimension)
    x = rng.normal(size=dimension)
    x *= share * 1.5 / np.linalg.norm(x)
    z = l2_ball.release(np.broadcast_to(x, (40_000, dimension)), 1.0, rng, bound=1.5)
    reach = l2_ball.radius(dimension, 1.0, 1.5)
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), reach)
    assert np.abs(z.mean(axis=0) - x).max() < 5 * reach / math.sqrt(dimension * 40_000)


@kernel
def _release(state, ball, gradient, zero, out):
    for row in range(out.shape[0]):
        release_into(ball, state, 0, gradient, zero, out[row])


def released(gradient: np.ndarray, epsilon: float, limit: float, count: int, seed: int = 0, zero: bool = False):
    """What LDP-SGD's kernel sends for one gradient, ``count`` times."""
    out = np.empty((count, len(gradient)))
    ball = Ball(limit, keep=1 / (1 + math.exp(-epsilon)), radius=l2_ball.radius(len(gradient), epsilon, limit))
    _release(streams(seed, 0, 1), ball, gradient, zero, out)
    return out


@pytest.mark.parametrize("dimension", [1, 2, 6, 20])
def test_the_kernel_sends_what_the_mechanism_sends(dimension):
    rng = np.random.default_rng(7)
    x = rng.normal(size=dimension)
    for length in (0.4, 3.0):  # inside the ball, and clipped to it
        gradient = length * x / np.linalg.norm(x)
        z = released(gradient, 1.0, 1.0, 40_000)
        clipped = gradient * min(1.0, 1 / length)
        reach = l2_ball.radius(dimension, 1.0)
        assert np.abs(z.mean(axis=0) - clipped).max() < 5 * reach / math.sqrt(dimension * 40_000)
        direct = l2_ball.release(np.broadcast_to(clipped, z.shape), 1.0, rng)
        along = [each @ x for each in (z, direct)]
        assert stats.ks_2samp(*along).pvalue > 1e-4
    hidden = released(x, 1.0, 1.0, 40_000, zero=True)  # a synthetic update looks at no gradient
    same = released(np.zeros(dimension), 1.0, 1.0, 40_000)
    np.testing.assert_array_equal(hidden, same)
    assert np.abs(hidden.mean(axis=0)).max() < 5 * l2_ball.radius(dimension, 1.0) / math.sqrt(dimension * 40_000)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_no_two_vectors_are_told_apart_by_more_than_epsilon(dimension, epsilon):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, dimension))
    points *= (rng.random(40) ** 0.3 / np.linalg.norm(points, axis=1))[:, None]
    points[0] = 0.0
    points[1] = points[3] / np.linalg.norm(points[3])
    points[2] = -points[1]
    z = rng.normal(size=(200, 1, dimension))
    density = l2_ball.log_density(z, points, epsilon)
    ratio = density.max(axis=1) - density.min(axis=1)
    assert ratio.max() <= epsilon + 1e-12
    assert ratio.max() == pytest.approx(epsilon)
    opposite = l2_ball.log_density(np.stack([z[0, 0], -z[0, 0]]), points[:, None], epsilon)
    np.testing.assert_allclose(np.exp(opposite).mean(axis=1), 1.0)  # a density: the two half spheres share all mass


# ------------------------------------------------------------------------------------------------------------------
# Audits: along the direction that tells most, each claims its own (epsilon, delta) and half the noise fails


def instance_of(policy: str, epsilon: float, structure: str = "single", **params):
    spec = {
        "contexts": {"dimension": 3, "arms": 2, "structure": structure},
        "lines": [{"policy": policy, "epsilon": {"kind": "fixed", "value": epsilon}, "params": params}],
    }
    return Experiment.model_validate(spec).setups[0]


def joint_release(x: np.ndarray, reward: float, matrix_sd: float, vector_sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Upper triangle of x x^T and r x, in units of their noise."""
    upper = np.triu_indices(len(x))
    return np.concatenate([np.outer(x, x)[upper] / matrix_sd, reward * x / vector_sd])


@pytest.mark.parametrize(
    ("epsilon", "bound", "reward_bound"), [(0.5, 1, 1), (1, 3, 1), (1, 0.5, 2), (4, 1, 1), (30, 2, 3)]
)
@pytest.mark.parametrize("structure", ["single", "multi"])
@pytest.mark.parametrize("accounting", ["paper", "tight"])
def test_ols_noise_covers_every_pair_of_users(epsilon, bound, reward_bound, structure, accounting):
    instance = instance_of(
        "ldp-ols", epsilon, structure, delta=0.05, context_bound=bound, reward_bound=reward_bound,
        accounting=accounting,
    )  # fmt: skip
    _, matrix_sd, vector_sd = ldp_ols.noise(instance)
    x = bound * np.eye(3)[0]  # -x is the farthest from it, see below
    distance = float(np.linalg.norm(np.subtract(*(
        joint_release(each, reward_bound, matrix_sd, vector_sd) for each in (x, -x)
    ))))  # fmt: skip
    assert gaussian.smallest_delta(distance, 1.0, epsilon) <= 0.05 * (1 + 1e-9)
    if accounting == "tight":  # and the noise is not wasted on it
        assert gaussian.smallest_delta(distance, 0.999, epsilon) > 0.05
    kept = registry()["ldp-ols"].guarantee(instance).epsilon
    assert kept == pytest.approx(gaussian.smallest_epsilon(distance, 1.0, 0.05), rel=1e-6, abs=1e-9)


def test_the_printed_variance_fails_for_large_contexts():
    """2 C_B in place of 2 C_B^2 on the matrix keeps the promise up to C_B = sqrt 2 and breaks it beyond."""
    angles = np.linspace(0, np.pi, 721)
    for bound, safe in ((1.0, True), (1.4, True), (2.0, False), (4.0, False)):
        x = joint_release(np.array([bound, 0.0]), 1.0, 2 * bound, bound)
        others = [bound * np.array([math.cos(angle), math.sin(angle)]) for angle in angles]
        farthest = max(
            np.linalg.norm(x - joint_release(y, sign, 2 * bound, bound)) for y in others for sign in (-1.0, 1.0)
        )
        assert (farthest <= 2 + 1e-9) == safe


def into_ball(v: np.ndarray) -> np.ndarray:
    """Onto the border if outside."""
    return v / max(1.0, float(np.linalg.norm(v)))


def triangle(x: np.ndarray) -> np.ndarray:
    """Upper triangle of x x^T."""
    return np.outer(x, x)[np.triu_indices(len(x))]


def ols_message(part: np.ndarray) -> np.ndarray:
    """What a user of LDP-OLS sends, in units of its noise; ``part``: context and reward."""
    x, reward = into_ball(part[:-1]), np.clip(part[-1], -1, 1)
    return np.concatenate([triangle(x) / 2, reward * x])


def linucb_message(part: np.ndarray) -> np.ndarray:
    x, reward = into_ball(part[:-1]), np.clip(part[-1], -1, 1)
    return np.concatenate([triangle(x), reward * x])


def gloc_message(part: np.ndarray) -> np.ndarray:
    """Two vectors along x: the gradient, clipped to norm 1 (the miss may be large), and w x with |w| at most 1."""
    x, miss = into_ball(part[:-1]), part[-1]
    return np.concatenate([triangle(x), into_ball(10 * miss * x), np.clip(miss, -1, 1) * x])


def farthest(message, dimension: int, arms_differ: bool = False) -> float:
    """Largest squared distance of two users' messages, by maximisation from many starts."""
    rng = np.random.default_rng(0)

    def minus(parts: np.ndarray) -> float:
        first, second = message(parts[: dimension + 1]), message(parts[dimension + 1 :])
        if arms_differ:  # zeros for the other arm
            return -float(first @ first + second @ second)
        return -float((first - second) @ (first - second))

    starts = rng.normal(size=(30, 2 * dimension + 2))
    return -min(optimize.minimize(minus, start, method="L-BFGS-B").fun for start in starts)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize(
    ("message", "arms_differ", "most"),
    [
        (ols_message, False, 4.0),
        (ols_message, True, 2.5),
        (linucb_message, False, 4.5),
        (linucb_message, True, 4.0),
        (gloc_message, False, 8.0),
        (gloc_message, True, 6.0),
    ],
)
def test_joint_sensitivities_by_maximisation(message, arms_differ, most, dimension):
    found = farthest(message, dimension, arms_differ)
    assert found <= most * (1 + 1e-9)
    if dimension == 1 and message is linucb_message and not arms_differ:
        assert found == pytest.approx(4)  # no angle but 0 in one dimension
    else:
        assert found == pytest.approx(most, rel=2e-3)


def test_the_sensitivities_in_use_are_those():
    assert ldp_ols.SENSITIVITY**2 == 4
    assert {releases: value**2 for releases, value in zheng.SENSITIVITY.items()} == pytest.approx({2: 4.5, 3: 8.0})


@pytest.mark.parametrize("releases", [2, 3])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0, 100.0, 1000.0])
def test_zhengs_noise_keeps_its_promise_for_every_epsilon(releases, epsilon):
    sensitivity = zheng.SENSITIVITY[releases]
    tight, printed = (zheng.noise_sd(epsilon, 0.01, releases, word) for word in ("tight", "paper"))
    assert tight <= printed
    assert gaussian.smallest_delta(sensitivity, tight, epsilon) <= 0.01 * (1 + 1e-9)
    assert gaussian.smallest_delta(sensitivity, 0.999 * tight, epsilon) > 0.01
    assert gaussian.smallest_delta(sensitivity, printed, epsilon) <= 0.01 * (1 + 1e-9)
    assert printed >= 6 * math.sqrt(2 * math.log(1.25 * releases / 0.01)) / epsilon


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_messages_about_different_arms_give_away_epsilon_together(dimension, epsilon):
    """LDP-SGD with a parameter for each arm: one user's gradient and zeros, another's zeros and gradient."""
    rng = np.random.default_rng(dimension)
    users = rng.normal(size=(2, 60, dimension))
    users *= (rng.random((2, 60, 1)) ** 0.2) / np.linalg.norm(users, axis=2, keepdims=True)
    users[:, :2] /= np.linalg.norm(users[:, :2], axis=2, keepdims=True)  # some gradients of the largest norm
    answers = rng.normal(size=(2, 200, 1, dimension))
    nothing = np.zeros(dimension)
    first, second = (
        l2_ball.log_density(z, user, epsilon) - l2_ball.log_density(z, nothing, epsilon)
        for z, user in zip(answers, users, strict=True)
    )
    loss = first.max(axis=0)[:, None] - second.min(axis=0)[None, :]  # message of arm a, then that of arm b
    assert loss.max() <= epsilon + 1e-12
    assert loss[:2, :2].max() == pytest.approx(epsilon)
    assert max(first.max(), -second.min()) < epsilon  # the two halves of the sum are different
    instance = instance_of("ldp-sgd", epsilon, "multi")
    assert ldp_sgd.release_epsilon(instance) == registry()["ldp-sgd"].guarantee(instance).epsilon == epsilon
    printed = instance_of("ldp-sgd", epsilon, "multi", accounting="paper")
    assert ldp_sgd.release_epsilon(printed) == registry()["ldp-sgd"].guarantee(printed).epsilon == epsilon / 2
    assert ldp_sgd.release_epsilon(instance_of("ldp-sgd", epsilon, "single", accounting="paper")) == epsilon


def test_audit_of_gaussian_noise_with_delta():
    def noisy(factor):
        sd = factor * gaussian.gaussian_sd(2.0, 3.0, 0.05)
        return lambda values, epsilon, rng: gaussian.release_vectors(values, sd, rng)

    assert audit(noisy(1.0), 3.0, [(-1.0, 1.0)], delta=0.05).verdict == "consistent"
    assert audit(noisy(0.5), 3.0, [(-1.0, 1.0)], delta=0.05).verdict == "violates"
    assert audit(noisy(1.0), 3.0, [(-1.0, 1.0)], delta=0.05).lower_bound > 1.0


# ---------------------------------------------------------------------------------------------------------------------
# Privacy libraries as oracles: dp-accounting (privacy loss distributions) and OpenDP know nothing of this project.


opendp.enable_features("contrib")
DELTA = math.exp(-10)
GRID = 1e-3  # of the losses of single releases; the library rounds them up, so its epsilon is an upper bound, too


def loss_distribution(budgets):
    """Of Laplace releases with these budgets, one after the other."""
    total = pld.from_laplace_mechanism(1 / budgets[0], value_discretization_interval=GRID)
    for budget in budgets[1:]:
        total = total.compose(pld.from_laplace_mechanism(1 / budget, value_discretization_interval=GRID))
    return total


@pytest.mark.parametrize(
    ("interval", "v", "releases", "delta"),
    [(93, 1.1, 1, DELTA), (93, 1.1, 5, 1e-3), (93, 1.1, 200, DELTA), (16, 1.1, 100, DELTA), (10, 1.5, 50, 1e-9)],
)
def test_our_account_of_dp_ucb_int_is_never_below_the_loss_distribution_and_not_far_above(interval, v, releases, delta):
    budgets = (interval * np.arange(1.0, releases + 1)) ** (-v / 2)
    oracle = loss_distribution(budgets).get_epsilon_for_delta(delta)
    slack = GRID * math.sqrt(releases)  # what the library's own rounding may add
    ours = float(definitions.interval_epsilon(interval, v, delta, interval * releases))
    assert oracle - slack <= ours <= 1.25 * oracle + slack
    # Through the list of releases, with the divergences of Laplace noise themselves.
    by_list = composed([central_release("", 1.0, 1 / budget, "") for budget in budgets], delta)
    assert oracle - slack <= by_list <= ours * (1 + 1e-3)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_a_whole_run_of_dp_ucb_int_keeps_what_is_promised(epsilon):
    [instance] = one_line("dp-ucb-int", coins(0.9, 0.6), epsilon, 100_000).setups
    policy = registry()["dp-ucb-int"]
    listed = [each for each in policy.releases(instance) for _ in range(each.times)]
    oracle = loss_distribution([each.epsilon for each in listed]).get_epsilon_for_delta(DELTA)
    assert oracle <= policy.guarantee(instance).epsilon <= epsilon
    assert oracle >= 0.25 * epsilon  # though the run was not endless


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
def test_renyi_divergences_of_laplace_and_normal_noise(epsilon):
    orders = np.array([1.5, 3.0, 8.0, 32.0])
    for event, ours in (
        (dp_event.LaplaceDpEvent(1 / epsilon), definitions.laplace_renyi(orders, epsilon)),
        (dp_event.GaussianDpEvent(1 / epsilon), definitions.gaussian_renyi(orders, epsilon)),
    ):
        for order, divergence in zip(orders, ours, strict=True):
            accountant = rdp.RdpAccountant([order])
            accountant.compose(event)
            converted = accountant.get_epsilon(1e-9)
            mine = float(definitions.renyi_epsilon(np.array([divergence]), 1e-9, np.array([order])))
            assert mine == pytest.approx(converted, rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.1), (1.0, 0.01), (4.0, 1e-6)])
@pytest.mark.parametrize("sensitivity", [ldp_ols.SENSITIVITY, *zheng.SENSITIVITY.values()])
def test_the_noise_of_the_contextual_policies_by_its_loss_distribution(sensitivity, epsilon, delta):
    sd = gaussian.analytic_sd(sensitivity, epsilon, delta)
    oracle = pld.from_gaussian_mechanism(sd, sensitivity=sensitivity, value_discretization_interval=1e-4)
    assert oracle.get_epsilon_for_delta(delta) == pytest.approx(epsilon, abs=3e-4)
    thinner = pld.from_gaussian_mechanism(0.95 * sd, sensitivity=sensitivity, value_discretization_interval=1e-4)
    assert thinner.get_epsilon_for_delta(delta) > epsilon * 1.01


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_randomised_response(epsilon):
    truth = float(CTB.mean(1.0, epsilon))  # chance that a reward of 1 is told as 1
    assert opendp.m.make_randomized_response_bool(truth).map(1) == pytest.approx(epsilon, rel=1e-9)
    loss = pld.from_randomized_response(2 * (1 - truth), 2, value_discretization_interval=1e-4)
    assert loss.get_epsilon_for_delta(0.0) == pytest.approx(epsilon, abs=2e-4)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
def test_laplace_calibration(epsilon):
    scale = math.sqrt(float(CTL.variance(0.5, epsilon)) / 2)
    noise = opendp.m.make_laplace(opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float), scale)
    assert noise.map(1.0) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.2, 1e-3), (1.0, 1e-5), (3.0, 1e-9)])
def test_gaussian_calibration_and_its_zcdp(epsilon, delta):
    sd = gaussian.analytic_sd(1.0, epsilon, delta)
    noise = opendp.m.make_gaussian(opendp.atom_domain(T=float, nan=False), opendp.absolute_distance(T=float), sd)
    rho = noise.map(1.0)
    assert rho == pytest.approx(1 / (2 * sd**2), rel=1e-9)
    by_zcdp = opendp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(delta)  # their conversion is that of our accounts
    assert by_zcdp == pytest.approx(float(definitions.zcdp_epsilon(rho, delta)), rel=2e-3)
    assert by_zcdp >= epsilon * (1 - 1e-9)  # it is an upper bound of what the noise really keeps
