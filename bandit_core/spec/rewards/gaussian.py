"""Normally distributed rewards."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np

from bandit_core.spec.field_types import Number, Positive
from bandit_core.spec.portable_math import exp
from bandit_core.spec.rewards.base import GAUSSIAN, Draw, RewardDistribution, unit_nodes


class Gaussian(RewardDistribution):
    """Pays a normally distributed amount: unbounded on both sides."""

    words: ClassVar[str] = "pays a normally distributed amount, without limits"
    code: ClassVar[int] = GAUSSIAN
    kind: Literal["gaussian"] = "gaussian"
    mean: Number
    sd: Positive

    @property
    def expected(self) -> float:
        return self.mean

    @property
    def support(self) -> tuple[float, float]:
        return (-math.inf, math.inf)

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        from scipy.special import ndtri

        return self.mean + self.sd * ndtri(probability)

    def expect(self, function: Callable[[np.ndarray], np.ndarray]) -> float:
        # Panels of at most a reward unit: one rule for the whole line is 0.006 off for a sigmoid at sd = 20.
        panels = min(4000, math.ceil(24 * max(1.0, self.sd)))
        nodes, weights = unit_nodes(12)
        z = -12 + 24 * (np.arange(panels)[:, None] + nodes) / panels
        density = exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return float(np.sum(weights * function(self.mean + self.sd * z) * density) * 24 / panels)

    @staticmethod
    def sampler(kernels: Any) -> Draw:
        half_unit, normal_quantile = kernels.HALF_UNIT, kernels.normal_quantile

        def draw_gaussian(table: Any, values: Any, arm: Any, uniform: Any, state: Any, row: Any) -> float:
            return table[arm, 1] + table[arm, 2] * normal_quantile(uniform + half_unit)

        return draw_gaussian


DISTRIBUTION = Gaussian
