"""One budget for all."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from bandit_core.spec.budgets.base import FIXED, LARGEST, BudgetDistribution
from bandit_core.spec.field_types import Number


class Fixed(BudgetDistribution):
    """Every user has the same budget."""

    words: ClassVar[str] = "the same for everyone"
    example: ClassVar[str] = "2"
    nats: ClassVar[tuple[str, ...]] = ("value",)
    code: ClassVar[int] = FIXED
    kind: Literal["fixed"] = "fixed"
    value: Annotated[Number, Field(gt=0, le=LARGEST)]

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([self.value]), np.array([1.0])

    @property
    def fixed(self) -> float:
        return self.value

    def kernel_form(self) -> tuple[int, np.ndarray, np.ndarray]:
        return self.code, np.array([self.value, 0.0, 0.0, 0.0]), np.array([[1.0, self.value]])


DISTRIBUTION = Fixed
