"""Bell-shaped budgets."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from bandit_core.spec.budgets.base import CLAMPED_GAUSSIAN, LARGEST, Budget, BudgetDistribution, Draw
from bandit_core.spec.field_types import Number, Positive, low_below_high


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


class ClampedGaussian(BudgetDistribution):
    """Gaussian; budgets outside [low, high] are moved to the border (Ren et al. 2020, section 4.2)."""

    words: ClassVar[str] = "bell-shaped, cut at both ends"
    example: ClassVar[str] = "clamped-gaussian(1, 1, 0, 100)"
    nats: ClassVar[tuple[str, ...]] = ("mean", "sd", "low", "high")
    code: ClassVar[int] = CLAMPED_GAUSSIAN
    kind: Literal["clamped-gaussian"] = "clamped-gaussian"
    mean: Number
    sd: Positive
    low: Budget
    high: Annotated[Number, Field(gt=0, le=LARGEST)]

    _ordered = model_validator(mode="after")(low_below_high)

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        below = _normal_cdf((self.low - self.mean) / self.sd)
        above = _normal_cdf((self.mean - self.high) / self.sd)
        return np.array([self.low, self.high]), np.array([below, above])

    @property
    def interval(self) -> tuple[float, float] | None:
        nearest = min(max(self.mean, self.low), self.high)  # where the density is largest
        low, high = max(self.low, nearest - 12 * self.sd), min(self.high, nearest + 12 * self.sd)
        return (low, high) if low < high else None

    def density(self, epsilon: np.ndarray) -> np.ndarray:
        z = (epsilon - self.mean) / self.sd
        inside = (epsilon >= self.low) & (epsilon <= self.high)
        return inside * np.exp(-z * z / 2) / (self.sd * math.sqrt(2 * math.pi))

    @property
    def largest(self) -> float:
        return self.high

    @staticmethod
    def sampler(kernels: Any) -> Draw:
        half_unit, normal_quantile = kernels.HALF_UNIT, kernels.normal_quantile

        def draw_clamped_gaussian(form: Any, uniform: Any) -> float:
            return min(max(form[0] + form[1] * normal_quantile(uniform + half_unit), form[2]), form[3])

        return draw_clamped_gaussian


DISTRIBUTION = ClampedGaussian
