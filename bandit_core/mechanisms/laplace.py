"""Laplace mechanism (Ren et al. 2020, Curator 1, CTL; Dwork et al. 2006)."""

import math

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.jit.decorators import inlined, kernel
from bandit_core.mechanisms.description import Mechanism, described, words_of


@inlined
def laplace_noise(uniform: float, scale: float) -> float:
    """Laplace(scale) noise by inversion of one uniform in [0, 1) (on a grid of 2^-52, so never infinite)."""
    centred = (uniform - 0.5) + 2.0**-53
    return scale * math.copysign(math.log(1.0 - 2.0 * abs(centred)), centred)


@kernel
def _add_noise(rewards: np.ndarray, uniforms: np.ndarray, scales: np.ndarray, responses: np.ndarray) -> None:
    for place in range(rewards.shape[0]):
        responses[place] = rewards[place] + laplace_noise(uniforms[place], scales[place])


class Laplace(Mechanism):
    """Adds Laplace(sensitivity / epsilon) noise: any pair of rewards moves the density by at most e^epsilon."""

    def _respond(self, rewards: np.ndarray, epsilon: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        # The noise of the simulation itself, so that an audit of this method audits what the policies use.
        responses = np.empty(rewards.size)
        uniforms = rng.integers(0, 2**52, rewards.size) * 2.0**-52
        _add_noise(rewards.ravel(), uniforms, self.sensitivity / epsilon.ravel(), responses)
        return responses.reshape(rewards.shape)

    def log_density(self, response: ArrayLike, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        rate = np.asarray(epsilon, float) / self.sensitivity
        return np.log(rate / 2) - rate * np.abs(np.asarray(response, float) - np.asarray(reward, float))

    def variance(self, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        return 2 * (self.sensitivity / np.asarray(epsilon, float)) ** 2 + 0.0 * np.asarray(reward, float)


CTL = Laplace(outputs="real", domain=(0.0, 1.0), sensitivity=1.0, instead="CTL-S", **words_of("ctl"))
DESCRIPTION = described("ctl", lambda epsilon: CTL)
