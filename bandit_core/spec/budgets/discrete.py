"""Groups of users."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from bandit_core.spec.budgets.base import Budget, DiscreteBudgets
from bandit_core.spec.field_types import Observed


class Discrete(DiscreteBudgets):
    """A few groups of users; ``probs`` are their shares (equal when left out)."""

    words: ClassVar[str] = "a few groups of users"
    example: ClassVar[str] = "discrete(0, 0.2, 1, 2, 100)"
    nats: ClassVar[tuple[str, ...]] = ("values",)
    kind: Literal["discrete"] = "discrete"
    values: Annotated[tuple[Budget, ...], Field(min_length=1, max_length=1000)]
    probs: tuple[Annotated[Observed, Field(ge=0, le=1)], ...] | None = None  # one of millions of users may be a group

    @model_validator(mode="after")
    def _consistent(self) -> Discrete:
        if self.probs is not None:
            if len(self.probs) != len(self.values):
                raise ValueError("probs must have one entry for each of values")
            if abs(math.fsum(self.probs) - 1) > 1e-6:
                raise ValueError("probs must sum to 1")
        if max(self.values) <= 0:
            raise ValueError("at least one of values must be above 0: from epsilon = 0 nothing can be learned")
        return self

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        weights = np.array(self.probs if self.probs is not None else [1.0] * len(self.values))
        values, place = np.unique(np.array(self.values), return_inverse=True)
        probabilities = np.bincount(place, weights / weights.sum(), minlength=len(values))
        return values[probabilities > 0], probabilities[probabilities > 0]


DISTRIBUTION = Discrete
