"""The contextual policies as one writes them first in NumPy: a fresh solution for every user. For comparison only."""

from __future__ import annotations

import math

import numpy as np

from bandit_core.mechanisms import l2_ball
from bandit_core.mechanisms.gaussian import gaussian_sd


def _sphere(rng: np.random.Generator, rows: int, d: int) -> np.ndarray:
    x = rng.standard_normal((rows, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _symmetric(rng: np.random.Generator, d: int, sd: float) -> np.ndarray:
    upper = np.triu(sd * rng.standard_normal((d, d)))
    return upper + np.triu(upper, 1).T


def ldp_ols(d: int, arms: int, horizon: int, epsilon: float, delta: float = 0.01, seed: int = 0) -> float:
    """Regret of LDP-OLS, one parameter, contexts on the sphere."""
    rng = np.random.default_rng(seed)
    theta = _sphere(rng, 1, d)[0]
    sigma = gaussian_sd(2, epsilon, delta)
    shift = 2 * sigma * (4 * math.sqrt(d) + 2 * math.log(2 * horizon / 0.1))
    gram, moment, estimate, lost = np.zeros((d, d)), np.zeros(d), np.zeros(d), 0.0
    for t in range(1, horizon + 1):
        x = _sphere(rng, arms, d)
        arm = int(np.argmax(x @ estimate))
        means = x @ theta
        lost += means.max() - means[arm]
        gram += np.outer(x[arm], x[arm]) + _symmetric(rng, d, 2 * sigma)
        moment += means[arm] * x[arm] + sigma * rng.standard_normal(d)
        estimate = np.linalg.solve(gram + shift * math.sqrt(t) * np.eye(d), moment)
    return lost


def ldp_sgd(d: int, arms: int, horizon: int, epsilon: float, seed: int = 0) -> float:
    """Regret of LDP-SGD, one parameter, contexts on the sphere, R = 1."""
    rng = np.random.default_rng(seed)
    theta, estimate, lost = _sphere(rng, 1, d)[0], np.zeros(d), 0.0
    for t in range(1, horizon + 1):
        x = _sphere(rng, arms, d)
        arm = int(np.argmax(x @ estimate))
        means = x @ theta
        lost += means.max() - means[arm]
        gradient = (x[arm] @ estimate - means[arm]) * x[arm]
        gradient /= max(1.0, np.linalg.norm(gradient))
        estimate = estimate - 5 / (t + 1) * l2_ball.release(gradient, epsilon, rng)
    return lost


def ldp_linucb(d: int, arms: int, horizon: int, epsilon: float, delta: float = 0.01, seed: int = 0) -> float:
    """Regret of LDP-LinUCB, one parameter, contexts on the sphere."""
    rng = np.random.default_rng(seed)
    theta = _sphere(rng, 1, d)[0]
    sigma = 6 * math.sqrt(2 * math.log(2.5 / delta)) / epsilon
    v, u, estimate, inverse, beta, lost = np.zeros((d, d)), np.zeros(d), np.zeros(d), np.eye(d), 0.0, 0.0
    log = math.log(horizon)
    for t in range(1, horizon + 1):
        x = _sphere(rng, arms, d)
        arm = int(np.argmax(x @ estimate + beta * np.sqrt(np.einsum("ai,ij,aj->a", x, inverse, x))))
        means = x @ theta
        lost += means.max() - means[arm]
        v += np.outer(x[arm], x[arm]) + _symmetric(rng, d, sigma)
        u += means[arm] * x[arm] + sigma * rng.standard_normal(d)
        upsilon = sigma * math.sqrt(t) * (4 * math.sqrt(d) + 2 * math.log(2 * horizon / 0.1))
        inverse = np.linalg.inv(v + 2 * upsilon * np.eye(d))
        estimate = inverse @ u
        beta = 2 * sigma * math.sqrt(d * log)
        beta += (math.sqrt(3 * upsilon) + sigma * math.sqrt(d * t / upsilon)) * d * log
    return lost


POLICIES = {"ldp-ols": ldp_ols, "ldp-sgd": ldp_sgd, "ldp-linucb": ldp_linucb}
