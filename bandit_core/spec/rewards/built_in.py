"""The reward distributions that come with the lab."""

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import scipy
from pydantic import Field, model_validator

from bandit_core.spec.field_types import Number, Observed, Positive, Probability, Whole, low_below_high
from bandit_core.spec.portable_math import exp, power
from bandit_core.spec.rewards import base


class Bernoulli(base.DiscreteDistribution):
    """Pays 1 with probability ``mean``, else 0."""

    words: ClassVar[str] = "pays 1 or 0"
    code: ClassVar[int] = base.TWO_POINT
    kind: Literal["bernoulli"] = "bernoulli"
    mean: Probability

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, 1.0)

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([0.0, 1.0]), np.array([1 - self.mean, self.mean])

    @property
    def parameters(self) -> tuple[float, ...]:
        return (0.0, 1.0, self.mean)


class Beta(base.RewardDistribution):
    """Pays an amount in [0, 1] with density proportional to x^(a-1) (1-x)^(b-1)."""

    words: ClassVar[str] = "pays an amount between 0 and 1, bell- or U-shaped"
    code: ClassVar[int] = base.BETA
    kind: Literal["beta"] = "beta"
    a: Annotated[Positive, Field(le=1e6)]
    b: Annotated[Positive, Field(le=1e6)]

    @property
    def expected(self) -> float:
        return self.a / (self.a + self.b)

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, 1.0)

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        return scipy.special.betaincinv(self.a, self.b, probability)

    def raw_moment(self, order: float) -> float:
        a, b = self.a, self.b
        return math.exp(math.lgamma(a + order) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(a + b + order))

    @staticmethod
    def sampler(kernels: Any) -> base.Draw:
        half_unit, beta = kernels.HALF_UNIT, kernels.beta

        def draw_beta(table: Any, values: Any, arm: Any, uniform: Any, state: Any, row: Any) -> float:
            a = table[arm, 1]
            b = table[arm, 2]
            if b == 1.0:
                return (uniform + half_unit) ** (1.0 / a)
            if a == 1.0:
                return 1.0 - (1.0 - uniform) ** (1.0 / b)
            return beta(state, row, a, b)

        return draw_beta


class _Between(base.RewardDistribution):
    low: Number
    high: Number

    _ordered = model_validator(mode="after")(low_below_high)

    @property
    def support(self) -> tuple[float, float]:
        return (self.low, self.high)


class Uniform(_Between):
    """Pays any amount between ``low`` and ``high``, all equally likely."""

    words: ClassVar[str] = "pays any amount in a range, all equally likely"
    code: ClassVar[int] = base.UNIFORM
    kind: Literal["uniform"] = "uniform"

    @property
    def expected(self) -> float:
        return (self.low + self.high) / 2

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        return self.low + (self.high - self.low) * probability

    @staticmethod
    def sampler(kernels: Any) -> base.Draw:
        def draw_uniform(table: Any, values: Any, arm: Any, uniform: Any, state: Any, row: Any) -> float:
            return table[arm, 1] + (table[arm, 2] - table[arm, 1]) * uniform

        return draw_uniform


class TwoPoint(_Between, base.DiscreteDistribution):
    """Pays ``high`` with probability ``p_high``, else ``low``."""

    words: ClassVar[str] = "pays one of two amounts"
    code: ClassVar[int] = base.TWO_POINT
    kind: Literal["two-point"] = "two-point"
    p_high: Probability

    @property
    def expected(self) -> float:
        return self.low + (self.high - self.low) * self.p_high

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([self.low, self.high]), np.array([1 - self.p_high, self.p_high])


class Gaussian(base.RewardDistribution):
    """Pays a normally distributed amount: unbounded on both sides."""

    words: ClassVar[str] = "pays a normally distributed amount, without limits"
    code: ClassVar[int] = base.GAUSSIAN
    kind: Literal["gaussian"] = "gaussian"
    mean: Number
    sd: Positive

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        return self.mean + self.sd * scipy.special.ndtri(probability)

    def expect(self, function: Callable[[np.ndarray], np.ndarray]) -> float:
        # Panels of at most a reward unit: one rule for the whole line is 0.006 off for a sigmoid at sd = 20.
        panels = min(4000, math.ceil(24 * max(1.0, self.sd)))
        nodes, weights = base.unit_nodes(12)
        z = -12 + 24 * (np.arange(panels)[:, None] + nodes) / panels
        density = exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return float(np.sum(weights * function(self.mean + self.sd * z) * density) * 24 / panels)

    @staticmethod
    def sampler(kernels: Any) -> base.Draw:
        half_unit, normal_quantile = kernels.HALF_UNIT, kernels.normal_quantile

        def draw_gaussian(table: Any, values: Any, arm: Any, uniform: Any, state: Any, row: Any) -> float:
            return table[arm, 1] + table[arm, 2] * normal_quantile(uniform + half_unit)

        return draw_gaussian


class Pareto(base.RewardDistribution):
    """Pays at least ``scale = mean (shape-1)/shape``; moments of order ``shape`` and above are infinite."""

    words: ClassVar[str] = "pays little most of the time and very much now and then"
    code: ClassVar[int] = base.PARETO
    kind: Literal["pareto"] = "pareto"
    mean: Positive
    shape: Annotated[Number, Field(gt=1)]

    @property
    def scale(self) -> float:
        """Smallest reward."""
        return self.mean * (self.shape - 1) / self.shape

    @property
    def support(self) -> tuple[float, float]:
        return (self.scale, math.inf)

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        return self.scale * power(1 - probability, -1 / self.shape)

    def raw_moment(self, order: float) -> float:
        if order >= self.shape:
            return math.inf
        return self.shape * self.scale**order / (self.shape - order)

    @property
    def moment_limit(self) -> float:
        return self.shape

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.scale, -1 / self.shape)

    @staticmethod
    def sampler(kernels: Any) -> base.Draw:
        def draw_pareto(table: Any, values: Any, arm: Any, uniform: Any, state: Any, row: Any) -> float:
            return table[arm, 1] * (1.0 - uniform) ** table[arm, 2]

        return draw_pareto


class Student(base.RewardDistribution):
    """Pays ``mean`` + ``scale`` x Student's t with ``df`` degrees of freedom: heavy on both sides, symmetric."""

    words: ClassVar[str] = "pays around its mean most of the time, and very far from it, on either side, now and then"
    code: ClassVar[int] = base.STUDENT
    kind: Literal["student"] = "student"
    mean: Number
    scale: Positive
    df: Annotated[Number, Field(gt=1)]

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        return self.mean + self.scale * scipy.special.stdtrit(self.df, probability)

    def raw_moment(self, order: float) -> float:
        # A normal distribution mixed over its variance: Kummer's function of the former becomes Gauss's.
        if order >= self.df:
            return math.inf
        logarithm = order * (math.log(self.scale) + math.log(self.df) / 2) + (
            math.lgamma((order + 1) / 2) + math.lgamma((self.df - order) / 2) - math.lgamma(self.df / 2)
        )
        away = (self.mean / self.scale) ** 2 / self.df
        series = float(scipy.special.hyp2f1(-order / 2, (self.df - order) / 2, 0.5, -away))
        return math.exp(logarithm) / math.sqrt(math.pi) * series

    @property
    def moment_limit(self) -> float:
        return self.df

    @staticmethod
    def sampler(kernels: Any) -> base.Draw:
        half_unit, next_uniform = kernels.HALF_UNIT, kernels.next_uniform

        def draw_student(table: Any, values: Any, arm: Any, uniform: Any, state: Any, row: Any) -> float:
            df = table[arm, 3]  # Bailey 1994: exact, for any degrees of freedom
            radius = math.sqrt(df * math.expm1(-2.0 / df * math.log(uniform + half_unit)))
            return table[arm, 1] + table[arm, 2] * radius * math.cos(2.0 * math.pi * next_uniform(state, row, 4))

        return draw_student


MAX_OBSERVED = 1_000_000  # values of one empirical arm, repetitions included


class Empirical(base.DiscreteDistribution):
    """Pays one of the observed ``values``, each as often as it was observed: ``counts`` times (once when left out)."""

    words: ClassVar[str] = "pays what was observed, each value as often as it was"
    code: ClassVar[int] = base.EMPIRICAL
    kind: Literal["empirical"] = "empirical"
    values: Annotated[tuple[Observed, ...], Field(min_length=1, max_length=MAX_OBSERVED)]
    counts: tuple[Annotated[Whole, Field(ge=1, le=MAX_OBSERVED)], ...] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
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
    def sampler(kernels: Any) -> base.Draw:
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
