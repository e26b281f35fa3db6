"""Pareto rewards: heavy on one side."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from bandit_core.spec.field_types import Number, Positive
from bandit_core.spec.portable_math import power
from bandit_core.spec.rewards.base import PARETO, Draw, RewardDistribution


class Pareto(RewardDistribution):
    """Pays at least ``scale = mean (shape-1)/shape``; moments of order ``shape`` and above are infinite."""

    words: ClassVar[str] = "pays little most of the time and very much now and then"
    code: ClassVar[int] = PARETO
    kind: Literal["pareto"] = "pareto"
    mean: Positive
    shape: Annotated[Number, Field(gt=1)]

    @property
    def expected(self) -> float:
        return self.mean

    @property
    def scale(self) -> float:
        """Smallest reward."""
        return self.mean * (self.shape - 1) / self.shape

    @property
    def support(self) -> tuple[float, float]:
        return (self.scale, math.inf)

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        return self.scale * power(1 - probability, -1 / self.shape)

    def raw_moment(self, order: float) -> float:
        if order >= self.shape:
            return math.inf
        return self.shape * self.scale**order / (self.shape - order)

    @property
    def moment_limit(self) -> float:
        return self.shape

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.scale, -1 / self.shape)

    @staticmethod
    def sampler(kernels: Any) -> Draw:
        def draw_pareto(table: Any, values: Any, arm: Any, uniform: Any, state: Any, row: Any) -> float:
            return table[arm, 1] * (1.0 - uniform) ** table[arm, 2]

        return draw_pareto


DISTRIBUTION = Pareto
