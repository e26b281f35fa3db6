"""Sigmoid first (Ren et al. 2020, section 3.3): any reward is squeezed into (0, 1), then randomised there.

The learner then compares E[sigmoid(reward)], which orders arms like their means when all have the same noise.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.mechanisms.description import Mechanism, described, words_of
from bandit_core.mechanisms.laplace import CTL
from bandit_core.mechanisms.randomised_response import CTB
from bandit_core.spec.portable_math import exp


def sigmoid(reward: ArrayLike) -> np.ndarray:
    """1 / (1 + e^-reward), without overflow."""
    return exp(-np.logaddexp(0.0, -np.asarray(reward, float)))


@dataclass(frozen=True, kw_only=True)
class SigmoidFirst(Mechanism):
    """``inner`` behind a sigmoid; post- and preprocessing that look at no other reward keep its guarantee."""

    inner: Mechanism

    def _respond(self, rewards: np.ndarray, epsilon: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.inner.release(sigmoid(rewards), epsilon, rng)

    def log_density(self, response: ArrayLike, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        return self.inner.log_density(response, sigmoid(reward), epsilon)

    def mean(self, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        return self.inner.mean(sigmoid(reward), epsilon)

    def variance(self, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        return self.inner.variance(sigmoid(reward), epsilon)

    def estimate(self, response: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        return self.inner.estimate(response, epsilon)


def _sigmoid_first(inner: Mechanism) -> SigmoidFirst:
    shape: dict[str, Any] = {"outputs": inner.outputs, "domain": (-math.inf, math.inf), "inner": inner}
    return SigmoidFirst(sensitivity=inner.sensitivity, **shape, **words_of(f"{inner.name}-s"))


CTL_S, CTB_S = _sigmoid_first(CTL), _sigmoid_first(CTB)
DESCRIPTIONS = (described("ctl-s", lambda epsilon: CTL_S), described("ctb-s", lambda epsilon: CTB_S))
