"""Uniform rewards."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import model_validator

from bandit_core.spec.field_types import Number, low_below_high
from bandit_core.spec.rewards.base import UNIFORM, Draw, RewardDistribution


class Uniform(RewardDistribution):
    """Pays any amount between ``low`` and ``high``, all equally likely."""

    words: ClassVar[str] = "pays any amount in a range, all equally likely"
    code: ClassVar[int] = UNIFORM
    kind: Literal["uniform"] = "uniform"
    low: Number
    high: Number

    _ordered = model_validator(mode="after")(low_below_high)

    @property
    def expected(self) -> float:
        return (self.low + self.high) / 2

    @property
    def support(self) -> tuple[float, float]:
        return (self.low, self.high)

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        return self.low + (self.high - self.low) * probability

    @staticmethod
    def sampler(kernels: Any) -> Draw:
        def draw_uniform(table: Any, values: Any, arm: Any, uniform: Any, state: Any, row: Any) -> float:
            return table[arm, 1] + (table[arm, 2] - table[arm, 1]) * uniform

        return draw_uniform


DISTRIBUTION = Uniform
