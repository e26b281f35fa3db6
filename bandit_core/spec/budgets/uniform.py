"""Budgets in a range."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from bandit_core.spec.budgets.base import LARGEST, UNIFORM, Budget, BudgetDistribution, Draw
from bandit_core.spec.field_types import Number, low_below_high


class UniformEpsilon(BudgetDistribution):
    """Any budget between ``low`` and ``high``, all equally likely."""

    words: ClassVar[str] = "anything in a range, all equally likely"
    example: ClassVar[str] = "uniform(0.1, 3)"
    nats: ClassVar[tuple[str, ...]] = ("low", "high")
    code: ClassVar[int] = UNIFORM
    kind: Literal["uniform"] = "uniform"
    low: Budget
    high: Annotated[Number, Field(gt=0, le=LARGEST)]

    _ordered = model_validator(mode="after")(low_below_high)

    @property
    def interval(self) -> tuple[float, float]:
        return (self.low, self.high)

    def density(self, epsilon: np.ndarray) -> np.ndarray:
        return np.where((epsilon >= self.low) & (epsilon <= self.high), 1 / (self.high - self.low), 0.0)

    @property
    def largest(self) -> float:
        return self.high

    @staticmethod
    def sampler(kernels: Any) -> Draw:
        def draw_uniform_epsilon(form: Any, uniform: Any) -> float:
            return form[0] + (form[1] - form[0]) * uniform

        return draw_uniform_epsilon


DISTRIBUTION = UniformEpsilon
