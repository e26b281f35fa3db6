"""Observed budgets."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from bandit_core.spec.budgets.base import Budget, DiscreteBudgets


class EmpiricalEpsilon(DiscreteBudgets):
    """Observed budgets, each equally likely."""

    words: ClassVar[str] = "as observed, each value equally likely"
    example: ClassVar[str] = "empirical(0.5, 1, 1, 2)"
    nats: ClassVar[tuple[str, ...]] = ("values",)
    kind: Literal["empirical"] = "empirical"
    values: Annotated[tuple[Budget, ...], Field(min_length=1, max_length=1_000_000)]

    @model_validator(mode="after")
    def _some_share(self) -> EmpiricalEpsilon:
        if max(self.values) <= 0:
            raise ValueError("at least one of values must be above 0: from epsilon = 0 nothing can be learned")
        return self

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        values, counts = np.unique(np.array(self.values), return_counts=True)
        return values, counts / len(self.values)


DISTRIBUTION = EmpiricalEpsilon
