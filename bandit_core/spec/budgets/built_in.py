"""The distributions of budgets that come with the lab."""

import math
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from bandit_core.spec.budgets import base
from bandit_core.spec.field_types import Number, Observed, Positive, low_below_high


class Fixed(base.BudgetDistribution):
    """Every user has the same budget."""

    words: ClassVar[str] = "the same for everyone"
    example: ClassVar[str] = "2"
    nats: ClassVar[tuple[str, ...]] = ("value",)
    code: ClassVar[int] = base.FIXED
    kind: Literal["fixed"] = "fixed"
    value: Annotated[Number, Field(gt=0, le=base.LARGEST)]

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([self.value]), np.array([1.0])

    @property
    def fixed(self) -> float:
        return self.value

    def kernel_form(self) -> tuple[int, np.ndarray, np.ndarray]:
        return self.code, np.array([self.value, 0.0, 0.0, 0.0]), np.array([[1.0, self.value]])


def some_above_0(groups: Any) -> Any:
    """A check of distributions with the field ``values``."""
    if max(groups.values) <= 0:
        raise ValueError("at least one of values must be above 0: from epsilon = 0 nothing can be learned")
    return groups


class Discrete(base.DiscreteBudgets):
    """A few groups of users; ``probs`` are their shares (equal when left out)."""

    words: ClassVar[str] = "a few groups of users"
    example: ClassVar[str] = "discrete(0, 0.2, 1, 2, 100)"
    nats: ClassVar[tuple[str, ...]] = ("values",)
    kind: Literal["discrete"] = "discrete"
    values: Annotated[tuple[base.Budget, ...], Field(min_length=1, max_length=1000)]
    probs: tuple[Annotated[Observed, Field(ge=0, le=1)], ...] | None = None  # one of millions of users may be a group

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.probs is not None:
            if len(self.probs) != len(self.values):
                raise ValueError("probs must have one entry for each of values")
            if abs(math.fsum(self.probs) - 1) > 1e-6:
                raise ValueError("probs must sum to 1")
        return some_above_0(self)

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        weights = np.array(self.probs if self.probs is not None else [1.0] * len(self.values))
        values, place = np.unique(np.array(self.values), return_inverse=True)
        probabilities = np.bincount(place, weights / weights.sum(), minlength=len(values))
        return values[probabilities > 0], probabilities[probabilities > 0]


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


class ClampedGaussian(base.BudgetDistribution):
    """Gaussian; budgets outside [low, high] are moved to the border (Ren et al. 2020, section 4.2)."""

    words: ClassVar[str] = "normal, cut at both ends"
    example: ClassVar[str] = "clamped-gaussian(1, 1, 0, 100)"
    nats: ClassVar[tuple[str, ...]] = ("mean", "sd", "low", "high")
    code: ClassVar[int] = base.CLAMPED_GAUSSIAN
    kind: Literal["clamped-gaussian"] = "clamped-gaussian"
    mean: Number
    sd: Positive
    low: base.Budget
    high: Annotated[Number, Field(gt=0, le=base.LARGEST)]

    _ordered = model_validator(mode="after")(low_below_high)

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        below = _normal_cdf((self.low - self.mean) / self.sd)
        above = _normal_cdf((self.mean - self.high) / self.sd)
        return np.array([self.low, self.high]), np.array([below, above])

    @property
    def interval(self) -> tuple[float, float] | None:
        nearest = min(max(self.mean, self.low), self.high)  # where the density is largest
        low, high = max(self.low, nearest - 12 * self.sd), min(self.high, nearest + 12 * self.sd)
        return (low, high) if low < high else None

    def density(self, epsilon: np.ndarray) -> np.ndarray:
        z = (epsilon - self.mean) / self.sd
        inside = (epsilon >= self.low) & (epsilon <= self.high)
        return inside * np.exp(-z * z / 2) / (self.sd * math.sqrt(2 * math.pi))

    @property
    def largest(self) -> float:
        return self.high

    @staticmethod
    def sampler(kernels: Any) -> base.Draw:
        half_unit, normal_quantile = kernels.HALF_UNIT, kernels.normal_quantile

        def draw_clamped_gaussian(form: Any, uniform: Any) -> float:
            return min(max(form[0] + form[1] * normal_quantile(uniform + half_unit), form[2]), form[3])

        return draw_clamped_gaussian


class UniformEpsilon(base.BudgetDistribution):
    """Any budget between ``low`` and ``high``, all equally likely."""

    words: ClassVar[str] = "uniform in a range"
    example: ClassVar[str] = "uniform(0.1, 3)"
    nats: ClassVar[tuple[str, ...]] = ("low", "high")
    code: ClassVar[int] = base.UNIFORM
    kind: Literal["uniform"] = "uniform"
    low: base.Budget
    high: Annotated[Number, Field(gt=0, le=base.LARGEST)]

    _ordered = model_validator(mode="after")(low_below_high)

    @property
    def interval(self) -> tuple[float, float]:
        return (self.low, self.high)

    def density(self, epsilon: np.ndarray) -> np.ndarray:
        return np.where((epsilon >= self.low) & (epsilon <= self.high), 1 / (self.high - self.low), 0.0)

    @staticmethod
    def sampler(kernels: Any) -> base.Draw:
        def draw_uniform_epsilon(form: Any, uniform: Any) -> float:
            return form[0] + (form[1] - form[0]) * uniform

        return draw_uniform_epsilon


class Lognormal(base.BudgetDistribution):
    """Half the users are below ``median``; ``sigma`` is the standard deviation of ln epsilon."""

    words: ClassVar[str] = "log-normal"
    example: ClassVar[str] = "lognormal(1, 1)"
    nats: ClassVar[tuple[str, ...]] = ("median",)
    code: ClassVar[int] = base.LOGNORMAL
    kind: Literal["lognormal"] = "lognormal"
    median: Annotated[Number, Field(gt=0, le=base.LARGEST)]
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
    def sampler(kernels: Any) -> base.Draw:
        half_unit, normal_quantile = kernels.HALF_UNIT, kernels.normal_quantile

        def draw_lognormal(form: Any, uniform: Any) -> float:
            return form[0] * math.exp(form[1] * normal_quantile(uniform + half_unit))

        return draw_lognormal


class EmpiricalEpsilon(base.DiscreteBudgets):
    """Observed budgets, each equally likely."""

    words: ClassVar[str] = "as observed"
    example: ClassVar[str] = "empirical(0.5, 1, 1, 2)"
    nats: ClassVar[tuple[str, ...]] = ("values",)
    kind: Literal["empirical"] = "empirical"
    values: Annotated[tuple[base.Budget, ...], Field(min_length=1, max_length=1_000_000)]

    _shared = model_validator(mode="after")(some_above_0)

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        values, counts = np.unique(np.array(self.values), return_counts=True)
        return values, counts / len(self.values)
