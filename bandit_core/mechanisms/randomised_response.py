"""Randomised response (Ren et al. 2020, Curator 3, CTB, with the formula corrected to e^epsilon).

A reward r in [0, 1] becomes 1 with probability (r e^eps + 1 - r) / (e^eps + 1) = 1/2 + tanh(eps/2) (r - 1/2).
The printed formula has epsilon in place of e^epsilon and is not epsilon-LDP. Averaged over rewards of mean mu
the response is Bernoulli(1/2 + tanh(eps/2) (mu - 1/2)), so simulation needs no reward.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.jit.decorators import inlined
from bandit_core.mechanisms.description import Mechanism, described, words_of
from bandit_core.spec.portable_math import tanh


@inlined
def chance_of_one(reward: float, contrast: float) -> float:
    """Probability that the response is 1; ``contrast`` = tanh(epsilon / 2)."""
    return 0.5 + contrast * (reward - 0.5)


class RandomisedResponse(Mechanism):
    """One coin whose bias follows the reward; the two outcomes differ by at most e^epsilon in probability."""

    def _respond(self, rewards: np.ndarray, epsilon: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return (rng.random(rewards.shape) < self.mean(rewards, epsilon)).astype(float)

    def log_density(self, response: ArrayLike, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        # From e^epsilon itself: 1/2 - tanh(epsilon/2)/2 loses all its digits when epsilon is large.
        response, reward, epsilon = (np.asarray(value, float) for value in (response, reward, epsilon))
        with np.errstate(divide="ignore"):
            one = np.logaddexp(np.log(reward) + epsilon, np.log(1 - reward))
            zero = np.logaddexp(np.log(1 - reward) + epsilon, np.log(reward))
        mass = np.where(response == 1, one, zero) - np.logaddexp(0.0, epsilon)
        return np.where((response == 0) | (response == 1), mass, -np.inf)

    def mean(self, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        contrast = tanh(np.asarray(epsilon, float) / 2)
        compiled: Any = chance_of_one  # its plain Python form takes arrays
        return compiled.py_func(np.asarray(reward, float), contrast)

    def variance(self, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        chance = self.mean(reward, epsilon)
        return chance * (1 - chance)

    def estimate(self, response: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        """The map g of Ren et al. 2020, section 3.2: 1/2 +- coth(epsilon/2)/2 (its Lemma 9 with e^epsilon)."""
        return 0.5 + (np.asarray(response, float) - 0.5) / np.tanh(np.asarray(epsilon, float) / 2)


CTB = RandomisedResponse(outputs="bit", domain=(0.0, 1.0), sensitivity=1.0, instead="CTB-S", **words_of("ctb"))
DESCRIPTION = described("ctb", lambda epsilon: CTB)
