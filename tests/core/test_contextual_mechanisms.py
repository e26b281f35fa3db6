"""Mechanisms for vectors: calibration, unbiasedness in many dimensions, exact ratios, audits of what policies send."""

import math

import numpy as np
import pytest
from helpers import refused
from scipy import optimize, stats

from bandit_core import Experiment, InputError
from bandit_core.auditing.subjects import audit
from bandit_core.jit.decorators import kernel
from bandit_core.kernels.contextual import Ball, release_into
from bandit_core.kernels.streams import streams
from bandit_core.mechanisms import gaussian, l2_ball
from bandit_core.policies import registry
from bandit_core.policies.contextual import ldp_ols, ldp_sgd, zheng

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


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "delta"), [(0, 1, 0.1), (1, 0, 0.1), (1, 1, 0), (1, 1, 1), (1, -1, 2)]
)
def test_calibration_refuses_nonsense(sensitivity, epsilon, delta):
    with pytest.raises(InputError):
        gaussian.gaussian_sd(sensitivity, epsilon, delta)


def test_symmetric_matrices_stay_symmetric_and_get_the_noise():
    rng = np.random.default_rng(0)
    matrices = np.broadcast_to(np.array([[1.0, 2.0], [2.0, -1.0]]), (40_000, 2, 2))
    released = gaussian.release_symmetric(matrices, 3.0, rng)
    np.testing.assert_array_equal(released, np.swapaxes(released, 1, 2))
    np.testing.assert_allclose(released.mean(axis=0), matrices[0], atol=5 * 3 / 200)
    np.testing.assert_allclose(released.std(axis=0), 3.0, rtol=0.03)
    for wrong in (np.array([[1.0, 2.0], [0.0, 1.0]]), np.zeros(3), np.zeros((2, 3))):
        with pytest.raises(InputError):
            gaussian.release_symmetric(wrong, 1.0, rng)


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


def test_the_ball_refuses_what_lies_outside():
    with refused("vectors[0]", value=pytest.approx(1.1)):
        l2_ball.release([[0.0, 1.1]], 1.0, np.random.default_rng(0))
    for dimension, epsilon, bound in ((0, 1, 1), (2, 0, 1), (2, 1, -1)):
        with pytest.raises(InputError):
            l2_ball.radius(dimension, epsilon, bound)


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
