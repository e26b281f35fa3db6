"""Budgets over orders of magnitude."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from bandit_core.spec.budgets.base import LARGEST, LOGNORMAL, BudgetDistribution, Draw
from bandit_core.spec.field_types import Number


class Lognormal(BudgetDistribution):
    """Half the users are below ``median``; ``sigma`` is the standard deviation of ln epsilon."""

    words: ClassVar[str] = "spread over orders of magnitude"
    example: ClassVar[str] = "lognormal(1, 1)"
    nats: ClassVar[tuple[str, ...]] = ("median",)
    code: ClassVar[int] = LOGNORMAL
    kind: Literal["lognormal"] = "lognormal"
    median: Annotated[Number, Field(gt=0, le=LARGEST)]
    sigma: Annotated[Number, Field(gt=0, le=10)]

    @property
    def interval(self) -> tuple[float, float]:
        reach = math.exp(12 * self.sigma)
        return (self.median / reach, self.median * reach)

    def density(self, epsilon: np.ndarray) -> np.ndarray:
        z = np.log(epsilon / self.median) / self.sigma
        return np.exp(-z * z / 2) / (epsilon * self.sigma * math.sqrt(2 * math.pi))

    @property
    def largest(self) -> float:
        return math.inf

    # In z = ln(epsilon / median) / sigma the distribution is a standard Gaussian; 1/epsilon^2 moves its mass down by 2
    # sigma.
    def _panels(self, threshold: float) -> np.ndarray:
        low = max(math.log(max(threshold, 1e-300) / self.median) / self.sigma, -12 - 2 * self.sigma)
        high = max(low, 0.0) + 12
        return np.linspace(low, high, 1 + math.ceil((high - low) / min(0.5, 1 / self.sigma)))

    def _to_axis(self, epsilon: np.ndarray) -> np.ndarray:
        return np.log(epsilon / self.median) / self.sigma

    def _from_axis(self, place: np.ndarray) -> np.ndarray:
        return self.median * np.exp(self.sigma * place)

    def _axis_density(self, place: np.ndarray) -> np.ndarray:
        return np.exp(-place * place / 2) / math.sqrt(2 * math.pi)

    def candidates(self) -> np.ndarray:
        reach = math.exp(5 * self.sigma)
        return np.geomspace(self.median / reach, self.median * reach, 401)

    @staticmethod
    def sampler(kernels: Any) -> Draw:
        half_unit, normal_quantile = kernels.HALF_UNIT, kernels.normal_quantile

        def draw_lognormal(form: Any, uniform: Any) -> float:
            return form[0] * math.exp(form[1] * normal_quantile(uniform + half_unit))

        return draw_lognormal


DISTRIBUTION = Lognormal
