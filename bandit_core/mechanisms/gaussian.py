"""Gaussian mechanism for vectors and symmetric matrices (Dwork et al. 2006; analytic form: Balle and Wang 2018).

A user adds normal noise to every number. With L2 sensitivity Delta, noise of standard deviation s gives
(epsilon, delta) local DP exactly when

    Phi(Delta/2s - epsilon s/Delta) - e^epsilon Phi(-Delta/2s - epsilon s/Delta) <= delta      (Balle and Wang, Thm 8).

The classical s = Delta sqrt(2 ln(1.25/delta)) / epsilon satisfies it for epsilon <= 1 only; beyond, the smallest s of
the exact condition is used. A symmetric matrix is released by its upper triangle: mirroring is post-processing.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.mechanisms.description import Mechanism, described, words_of
from bandit_core.spec.errors import InputError, Issue, not_above_0, raise_any
from bandit_core.spec.portable_math import bisected

CLASSICAL_LIMIT = 1.0  # the classical formula is proved up to this epsilon


def smallest_delta(sensitivity: float, sd: float, epsilon: float) -> float:
    """The delta that noise ``sd`` really has at ``epsilon``: exact privacy profile (Balle and Wang 2018, Theorem 8)."""
    from scipy.special import log_ndtr, ndtr  # heavy import, needed only to calibrate

    wide, far = sensitivity / (2 * sd), epsilon * sd / sensitivity
    return float(max(0.0, ndtr(wide - far) - math.exp(min(700.0, epsilon + float(log_ndtr(-wide - far))))))


def smallest_epsilon(sensitivity: float, sd: float, delta: float) -> float:
    """The smallest epsilon at which noise ``sd`` is (epsilon, ``delta``)-private (rounded up)."""
    low, high = 0.0, 1.0
    if smallest_delta(sensitivity, sd, low) <= delta:
        return 0.0
    while smallest_delta(sensitivity, sd, high) > delta:
        low, high = high, 2 * high
    return bisected(low, high, lambda epsilon: smallest_delta(sensitivity, sd, epsilon) > delta)[1]


def classical_sd(sensitivity: float, epsilon: float, delta: float) -> float:
    """Delta sqrt(2 ln(1.25/delta)) / epsilon; a proved mechanism for epsilon <= 1 only."""
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def analytic_sd(sensitivity: float, epsilon: float, delta: float) -> float:
    """The smallest standard deviation that is (epsilon, delta)-private, for any epsilon (rounded up)."""
    low, high = 1e-12 * sensitivity, sensitivity
    while smallest_delta(sensitivity, high, epsilon) > delta:
        low, high = high, 2 * high
    return bisected(low, high, lambda sd: smallest_delta(sensitivity, sd, epsilon) > delta, ratio=True)[1]


def checked_target(sensitivity: float, epsilon: float, delta: float) -> None:
    """Refuse a sensitivity or an epsilon that is not above 0, and a delta outside (0, 1)."""
    wrong = [] if 0 < delta < 1 else [Issue("delta", delta, "a number between 0 and 1")]
    raise_any([*not_above_0(sensitivity=sensitivity, epsilon=epsilon), *wrong])


def gaussian_sd(sensitivity: float, epsilon: float, delta: float) -> float:
    """Standard deviation of the noise: classical for epsilon <= 1, analytic beyond.

    Raises
    ------
    InputError
        When the sensitivity or epsilon is not above 0, or delta is not in (0, 1).
    """
    checked_target(sensitivity, epsilon, delta)
    calibrate = classical_sd if epsilon <= CLASSICAL_LIMIT else analytic_sd
    return calibrate(sensitivity, epsilon, delta)


def release_vectors(vectors: ArrayLike, sd: float, rng: np.random.Generator) -> np.ndarray:
    """Vectors (any shape) with independent N(0, sd^2) on every number."""
    vectors = np.asarray(vectors, float)
    return vectors + sd * rng.standard_normal(vectors.shape)


def release_symmetric(matrices: ArrayLike, sd: float, rng: np.random.Generator) -> np.ndarray:
    """Symmetric matrices, shape (..., d, d), with N(0, sd^2) on every entry of the upper triangle, mirrored below.

    Raises
    ------
    InputError
        When a matrix is not symmetric: the lower triangle would be lost in silence.
    """
    matrices = np.asarray(matrices, float)
    if matrices.ndim < 2 or matrices.shape[-1] != matrices.shape[-2]:
        raise InputError([Issue("matrices", matrices.shape, "square matrices, shape (..., d, d)")])
    if not np.array_equal(matrices, np.swapaxes(matrices, -1, -2)):
        raise InputError([Issue("matrices", "not symmetric", "each matrix must equal its transpose")])
    upper = np.triu(release_vectors(matrices, sd, rng))
    return upper + np.swapaxes(np.triu(upper, 1), -1, -2)


@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Mechanism):
    """Normal noise on one reward in [0, 1]: the scalar form of `release_vectors` with the noise of `gaussian_sd`."""

    delta: float

    def __post_init__(self) -> None:
        gaussian_sd(self.sensitivity, 1.0, self.delta)  # refuses a delta outside (0, 1)

    def sd(self, epsilon: ArrayLike) -> np.ndarray:
        """Standard deviation of the noise, reward units."""
        epsilon = np.asarray(epsilon, float)
        levels, places = np.unique(epsilon, return_inverse=True)
        sds = np.array([gaussian_sd(self.sensitivity, float(level), self.delta) for level in levels])
        return sds[places].reshape(epsilon.shape)

    def _respond(self, rewards: np.ndarray, epsilon: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rewards + self.sd(epsilon) * release_vectors(np.zeros(rewards.shape), 1.0, rng)

    def log_density(self, response: ArrayLike, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        sd = self.sd(epsilon)
        away = (np.asarray(response, float) - np.asarray(reward, float)) / sd
        return -0.5 * away**2 - np.log(sd) - 0.5 * math.log(2 * math.pi)

    def variance(self, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        return self.sd(epsilon) ** 2 + 0.0 * np.asarray(reward, float)


def gaussian_noise(epsilon: float = 1.0, *, delta: float = 0.01) -> GaussianNoise:
    """The mechanism for one reward in [0, 1] at (epsilon, ``delta``).

    >>> round(float(gaussian_noise(delta=0.05).variance(0.5, 1.0)), 3)
    6.438
    """
    return GaussianNoise(delta=delta, outputs="real", domain=(0.0, 1.0), sensitivity=1.0, **words_of("gaussian"))


DESCRIPTION = described("gaussian", gaussian_noise)
