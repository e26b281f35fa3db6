"""Rewards of two amounts."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import model_validator

from bandit_core.spec.field_types import Number, Probability, low_below_high
from bandit_core.spec.rewards.base import TWO_POINT, DiscreteDistribution


class TwoPoint(DiscreteDistribution):
    """Pays ``high`` with probability ``p_high``, else ``low``."""

    words: ClassVar[str] = "pays one of two amounts"
    code: ClassVar[int] = TWO_POINT
    kind: Literal["two-point"] = "two-point"
    low: Number
    high: Number
    p_high: Probability

    _ordered = model_validator(mode="after")(low_below_high)

    @property
    def expected(self) -> float:
        return self.low + (self.high - self.low) * self.p_high

    @property
    def support(self) -> tuple[float, float]:
        return (self.low, self.high)

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([self.low, self.high]), np.array([1 - self.p_high, self.p_high])


DISTRIBUTION = TwoPoint
