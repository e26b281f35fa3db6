"""Bernoulli rewards."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from bandit_core.spec.field_types import Probability
from bandit_core.spec.rewards.base import TWO_POINT, DiscreteDistribution


class Bernoulli(DiscreteDistribution):
    """Pays 1 with probability ``mean``, else 0."""

    words: ClassVar[str] = "pays 1 or 0"
    code: ClassVar[int] = TWO_POINT
    kind: Literal["bernoulli"] = "bernoulli"
    mean: Probability

    @property
    def expected(self) -> float:
        return self.mean

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, 1.0)

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([0.0, 1.0]), np.array([1 - self.mean, self.mean])

    @property
    def parameters(self) -> tuple[float, ...]:
        return (0.0, 1.0, self.mean)


DISTRIBUTION = Bernoulli
