"""Student-t rewards: heavy on both sides."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from bandit_core.spec.field_types import Number, Positive
from bandit_core.spec.rewards.base import STUDENT, Draw, RewardDistribution


class Student(RewardDistribution):
    """Pays ``mean`` + ``scale`` x Student's t with ``df`` degrees of freedom: heavy on both sides, symmetric."""

    words: ClassVar[str] = "pays around its mean most of the time, and very far from it, on either side, now and then"
    code: ClassVar[int] = STUDENT
    kind: Literal["student"] = "student"
    mean: Number
    scale: Positive
    df: Annotated[Number, Field(gt=1)]

    @property
    def expected(self) -> float:
        return self.mean

    @property
    def support(self) -> tuple[float, float]:
        return (-math.inf, math.inf)

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        from scipy.special import stdtrit

        return self.mean + self.scale * stdtrit(self.df, probability)

    def raw_moment(self, order: float) -> float:
        # A normal distribution mixed over its variance: Kummer's function of the former becomes Gauss's.
        if order >= self.df:
            return math.inf
        from scipy.special import hyp2f1

        logarithm = order * (math.log(self.scale) + math.log(self.df) / 2) + (
            math.lgamma((order + 1) / 2) + math.lgamma((self.df - order) / 2) - math.lgamma(self.df / 2)
        )
        away = (self.mean / self.scale) ** 2 / self.df
        series = float(hyp2f1(-order / 2, (self.df - order) / 2, 0.5, -away))
        return math.exp(logarithm) / math.sqrt(math.pi) * series

    @property
    def moment_limit(self) -> float:
        return self.df

    @staticmethod
    def sampler(kernels: Any) -> Draw:
        half_unit, next_uniform = kernels.HALF_UNIT, kernels.next_uniform

        def draw_student(table: Any, values: Any, arm: Any, uniform: Any, state: Any, row: Any) -> float:
            df = table[arm, 3]  # Bailey 1994: exact, for any degrees of freedom
            radius = math.sqrt(df * math.expm1(-2.0 / df * math.log(uniform + half_unit)))
            return table[arm, 1] + table[arm, 2] * radius * math.cos(2.0 * math.pi * next_uniform(state, row, 4))

        return draw_student


DISTRIBUTION = Student
