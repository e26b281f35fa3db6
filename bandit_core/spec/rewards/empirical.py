"""Observed rewards."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from bandit_core.spec.field_types import Observed, Whole
from bandit_core.spec.rewards.base import EMPIRICAL, DiscreteDistribution, Draw

MAX_OBSERVED = 1_000_000  # values of one empirical arm, repetitions included


class Empirical(DiscreteDistribution):
    """Pays one of the observed ``values``, each as often as it was observed: ``counts`` times (once when left out)."""

    words: ClassVar[str] = "pays what was observed, each value as often as it was"
    code: ClassVar[int] = EMPIRICAL
    kind: Literal["empirical"] = "empirical"
    values: Annotated[tuple[Observed, ...], Field(min_length=1, max_length=MAX_OBSERVED)]
    counts: tuple[Annotated[Whole, Field(ge=1, le=MAX_OBSERVED)], ...] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Empirical:
        if self.counts is not None:
            if len(self.counts) != len(self.values):
                raise ValueError("counts must have one entry for each of values")
            if sum(self.counts) > MAX_OBSERVED:
                raise ValueError(f"counts must sum to at most {MAX_OBSERVED}")
        return self

    @property
    def expected(self) -> float:
        if self.counts is None:
            return math.fsum(self.values) / len(self.values)
        total = math.fsum(value * count for value, count in zip(self.values, self.counts, strict=True))
        return total / sum(self.counts)

    @property
    def support(self) -> tuple[float, float]:
        return (min(self.values), max(self.values))

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        values, place = np.unique(np.array(self.values), return_inverse=True)
        counts = np.bincount(place, self.counts)
        return values, counts / counts.sum()

    @property
    def values_for_kernel(self) -> np.ndarray:
        # The values; with counts also the cumulative counts up to each of them.
        values = np.array(self.values)
        return values if self.counts is None else np.concatenate([values, np.cumsum(self.counts)])

    @property
    def parameters(self) -> tuple[float, ...]:
        counted = self.counts is not None
        observed = sum(self.counts) if self.counts is not None else len(self.values)
        # First number: where the values begin; third: different values, where they are counted.
        return (0.0, float(observed), float(len(self.values)) if counted else 0.0)

    @staticmethod
    def sampler(kernels: Any) -> Draw:
        def draw_empirical(table: Any, values: Any, arm: Any, uniform: Any, state: Any, row: Any) -> float:
            first = int(table[arm, 1])
            place = int(uniform * table[arm, 2])
            different = int(table[arm, 3])
            if different == 0:
                return values[first + place]
            low = 0  # different values, and behind them how many observations there are up to each
            high = different - 1
            while low < high:
                middle = (low + high) // 2
                if place < values[first + different + middle]:
                    high = middle
                else:
                    low = middle + 1
            return values[first + low]

        return draw_empirical


DISTRIBUTION = Empirical
