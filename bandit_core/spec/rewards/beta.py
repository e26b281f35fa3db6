"""Beta-distributed rewards."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from bandit_core.spec.field_types import Positive
from bandit_core.spec.rewards.base import BETA, Draw, RewardDistribution


class Beta(RewardDistribution):
    """Pays an amount in [0, 1] with density proportional to x^(a-1) (1-x)^(b-1)."""

    words: ClassVar[str] = "pays an amount between 0 and 1, bell- or U-shaped"
    code: ClassVar[int] = BETA
    kind: Literal["beta"] = "beta"
    a: Annotated[Positive, Field(le=1e6)]
    b: Annotated[Positive, Field(le=1e6)]

    @property
    def expected(self) -> float:
        return self.a / (self.a + self.b)

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        from scipy.special import betaincinv  # heavy import, needed by few views

        return betaincinv(self.a, self.b, probability)

    def raw_moment(self, order: float) -> float:
        a, b = self.a, self.b
        return math.exp(math.lgamma(a + order) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(a + b + order))

    @staticmethod
    def sampler(kernels: Any) -> Draw:
        half_unit, beta = kernels.HALF_UNIT, kernels.beta

        def draw_beta(table: Any, values: Any, arm: Any, uniform: Any, state: Any, row: Any) -> float:
            a = table[arm, 1]
            b = table[arm, 2]
            if b == 1.0:
                return (uniform + half_unit) ** (1.0 / a)
            if a == 1.0:
                return 1.0 - (1.0 - uniform) ** (1.0 / b)
            return beta(state, row, a, b)

        return draw_beta


DISTRIBUTION = Beta
