"""Sigmoid first (Ren et al. 2020, section 3.3): any reward is squeezed into (0, 1), then randomised there.

The learner then compares E[sigmoid(reward)], which orders arms like their means when all have the same noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.mechanisms.base import Mechanism
from bandit_core.mechanisms.description import Formulas, answer
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


def _sigmoid_first(inner: Mechanism, title: str, words: str) -> SigmoidFirst:
    return SigmoidFirst(
        name=f"{inner.name}-s",
        title=title,
        paper="Ren, Zhou, Liu, Shroff 2020, section 3.3",
        words=words,
        outputs=inner.outputs,
        domain=(-math.inf, math.inf),
        sensitivity=inner.sensitivity,
        guarantee_words="epsilon-local DP for every reward, however large (pure)",
        inner=inner,
    )


CTL_S = _sigmoid_first(
    CTL,
    "CTL-S (sigmoid, then Laplace)",
    "The user squeezes the reward into (0, 1), adds Laplace noise and sends the sum.",
)
CTB_S = _sigmoid_first(
    CTB,
    "CTB-S (sigmoid, then randomised response)",
    "The user squeezes the reward into (0, 1) and tosses a coin whose bias follows it.",
)

_SENSITIVITY = "1: the sigmoid of a reward, however large, lies in (0, 1)"
_REMARK = "The loss comes near epsilon only for rewards that are far apart, where the sigmoid has its two ends."
DESCRIPTIONS = (
    answer(
        CTL_S,
        sensitivity=_SENSITIVITY,
        inputs=(-4.0, 4.0),
        remark=_REMARK,
        formulas=Formulas(
            density=r"p(y\mid r)=\frac{\epsilon}{2}\,e^{-\epsilon|y-s(r)|},\quad s(r)=\frac1{1+e^{-r}}",
            loss=r"\ln\frac{p(y\mid r)}{p(y\mid r')}=\epsilon\,(|y-s(r')|-|y-s(r)|)",
            mean=r"\mathbb E[Y]=s(r)",
            variance=r"\operatorname{Var}[Y]=\frac{2}{\epsilon^2}",
        ),
    ),
    answer(
        CTB_S,
        sensitivity=_SENSITIVITY,
        inputs=(-4.0, 4.0),
        remark=_REMARK,
        formulas=Formulas(
            density=r"P(Y=1\mid r)=\tfrac12+\tanh\tfrac\epsilon2\,(s(r)-\tfrac12),\quad s(r)=\frac1{1+e^{-r}}",
            loss=r"\ln\frac{P(1\mid r)}{P(1\mid r')}=\ln\frac{s e^{\epsilon}+1-s}{s' e^{\epsilon}+1-s'}",
            mean=r"\mathbb E[Y]=\tfrac12+\tanh\tfrac\epsilon2\,(s(r)-\tfrac12)",
            variance=r"\operatorname{Var}[Y]=\mathbb E[Y]\,(1-\mathbb E[Y])",
        ),
    ),
)
