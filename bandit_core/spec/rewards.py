"""Reward distributions: what an arm pays. Rewards are in reward units; every distribution knows its mean, support and
moments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Annotated, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import Field, model_validator

from bandit_core.spec.field_types import Frozen, Number, Positive, Probability, Whole

TWO_POINT, UNIFORM, GAUSSIAN, PARETO, EMPIRICAL, BETA, STUDENT = range(7)  # codes shared with kernels/rewards.py
MOST_OBSERVED = 1_000_000  # values of one empirical arm, repetitions included
T = TypeVar("T")
ROW = 5  # numbers per arm in the kernel's table: code and four parameters


@lru_cache(maxsize=8)
def _unit_nodes(count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


class RewardDistribution(Frozen):
    """Common to all distributions. ``count`` repeats the arm; the arm itself is the distribution without it."""

    words: ClassVar[str]
    count: Annotated[Whole, Field(ge=1, le=10_000)] = 1

    @property
    def name(self) -> str:
        """The law's ``kind``."""
        return str(type(self).model_fields["kind"].default)

    @property
    def expected(self) -> float:
        """Expected reward, in reward units."""
        raise NotImplementedError

    @property
    def support(self) -> tuple[float, float]:
        """Smallest closed interval that holds every reward."""
        raise NotImplementedError

    def expect(self, function: Callable[[np.ndarray], np.ndarray]) -> float:
        """``E[function(reward)]``: exact for discrete distributions, Gauss quadrature over the quantile otherwise."""
        nodes, weights = _unit_nodes()
        return float(weights @ function(self.quantile(nodes)))

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        """Inverse of the distribution function at ``probability`` (any shape)."""
        raise NotImplementedError

    def raw_moment(self, order: float) -> float:
        """``E|reward|^order``; infinite where the distribution has no such moment. In reward units to that order."""
        return self.expect(lambda reward: np.abs(reward) ** order)

    @property
    def moment_limit(self) -> float:
        """Raw moments are finite below this order, and infinite from it on where it is finite."""
        return math.inf

    def row(self) -> tuple[float, ...]:
        """The distribution as the kernel reads it: code and up to four parameters."""
        raise NotImplementedError

    @property
    def values_for_kernel(self) -> np.ndarray:
        """For the empirical distribution only: observed values, each equally likely; with counts, values and then the
        cumulative counts up to each of them.
        """
        return np.empty(0)

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Values and probabilities of a discrete distribution; None for a continuous one."""
        return None

    @property
    def single(self) -> RewardDistribution:
        """The same distribution, once."""
        return self.model_copy(update={"count": 1}) if self.count != 1 else self

    def inside(self, low: float, high: float) -> bool:
        """Whether every reward lies in [low, high]."""
        return low <= self.support[0] and self.support[1] <= high


class _Discrete(RewardDistribution):
    def expect(self, function: Callable[[np.ndarray], np.ndarray]) -> float:
        assert self.atoms is not None
        values, probabilities = self.atoms
        return float(probabilities @ function(values))

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        assert self.atoms is not None
        values, probabilities = self.atoms
        place = np.searchsorted(np.cumsum(probabilities)[:-1], probability, side="right")
        return values[place]


class Bernoulli(_Discrete):
    """Pays 1 with probability ``mean``, else 0."""

    words: ClassVar[str] = "pays 1 or 0"
    kind: Literal["bernoulli"] = "bernoulli"
    mean: Probability

    @property
    def expected(self) -> float:
        return self.mean

    @property
    def support(self) -> tuple[float, float]:
        return (0.0, 1.0)

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([0.0, 1.0]), np.array([1 - self.mean, self.mean])

    def row(self) -> tuple[float, ...]:
        return (TWO_POINT, 0.0, 1.0, self.mean, 0.0)


class TwoPoint(_Discrete):
    """Pays ``high`` with probability ``p_high``, else ``low``."""

    words: ClassVar[str] = "pays one of two amounts"
    kind: Literal["two-point"] = "two-point"
    low: Number
    high: Number
    p_high: Probability

    @model_validator(mode="after")
    def _ordered(self) -> TwoPoint:
        if not self.low < self.high:
            raise ValueError("low must be below high")
        return self

    @property
    def expected(self) -> float:
        return self.low + (self.high - self.low) * self.p_high

    @property
    def support(self) -> tuple[float, float]:
        return (self.low, self.high)

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([self.low, self.high]), np.array([1 - self.p_high, self.p_high])

    def row(self) -> tuple[float, ...]:
        return (TWO_POINT, self.low, self.high, self.p_high, 0.0)


class Uniform(RewardDistribution):
    """Pays any amount between ``low`` and ``high``, all equally likely."""

    words: ClassVar[str] = "pays any amount in a range, all equally likely"
    kind: Literal["uniform"] = "uniform"
    low: Number
    high: Number

    @model_validator(mode="after")
    def _ordered(self) -> Uniform:
        if not self.low < self.high:
            raise ValueError("low must be below high")
        return self

    @property
    def expected(self) -> float:
        return (self.low + self.high) / 2

    @property
    def support(self) -> tuple[float, float]:
        return (self.low, self.high)

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        return self.low + (self.high - self.low) * probability

    def row(self) -> tuple[float, ...]:
        return (UNIFORM, self.low, self.high, 0.0, 0.0)


class Beta(RewardDistribution):
    """Pays an amount in [0, 1] with density proportional to x^(a-1) (1-x)^(b-1)."""

    words: ClassVar[str] = "pays an amount between 0 and 1, bell- or U-shaped"
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
        from scipy.special import betaincinv  # heavy import, needed by few views

        return betaincinv(self.a, self.b, probability)

    def raw_moment(self, order: float) -> float:
        a, b = self.a, self.b
        return math.exp(math.lgamma(a + order) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(a + b + order))

    def row(self) -> tuple[float, ...]:
        return (BETA, self.a, self.b, 0.0, 0.0)


class Gaussian(RewardDistribution):
    """Pays a normally distributed amount: unbounded on both sides."""

    words: ClassVar[str] = "pays a normally distributed amount, without limits"
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
        nodes, weights = _unit_nodes(12)
        z = -12 + 24 * (np.arange(panels)[:, None] + nodes) / panels
        density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return float(np.sum(weights * function(self.mean + self.sd * z) * density) * 24 / panels)

    def row(self) -> tuple[float, ...]:
        return (GAUSSIAN, self.mean, self.sd, 0.0, 0.0)


class Pareto(RewardDistribution):
    """Pays at least ``scale = mean (shape-1)/shape``; moments of order ``shape`` and above are infinite."""

    words: ClassVar[str] = "pays little most of the time and very much now and then"
    kind: Literal["pareto"] = "pareto"
    mean: Positive
    shape: Annotated[Number, Field(gt=1)]

    @property
    def expected(self) -> float:
        return self.mean

    @property
    def scale(self) -> float:
        """Smallest reward."""
        return self.mean * (self.shape - 1) / self.shape

    @property
    def support(self) -> tuple[float, float]:
        return (self.scale, math.inf)

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        return self.scale * (1 - probability) ** (-1 / self.shape)

    def raw_moment(self, order: float) -> float:
        if order >= self.shape:
            return math.inf
        return self.shape * self.scale**order / (self.shape - order)

    @property
    def moment_limit(self) -> float:
        return self.shape

    def row(self) -> tuple[float, ...]:
        return (PARETO, self.scale, -1 / self.shape, 0.0, 0.0)


class Student(RewardDistribution):
    """Pays ``mean`` + ``scale`` x Student's t with ``df`` degrees of freedom: heavy on both sides, symmetric."""

    words: ClassVar[str] = "pays around its mean most of the time, and very far from it, on either side, now and then"
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

    def row(self) -> tuple[float, ...]:
        return (STUDENT, self.mean, self.scale, self.df, 0.0)


class Empirical(_Discrete):
    """Pays one of the observed ``values``, each as often as it was observed: ``counts`` times (once when left out)."""

    words: ClassVar[str] = "pays what was observed, each value as often as it was"
    kind: Literal["empirical"] = "empirical"
    values: Annotated[tuple[Number, ...], Field(min_length=1, max_length=MOST_OBSERVED)]
    counts: tuple[Annotated[Whole, Field(ge=1, le=MOST_OBSERVED)], ...] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Empirical:
        if self.counts is not None:
            if len(self.counts) != len(self.values):
                raise ValueError("counts must have one entry for each of values")
            if sum(self.counts) > MOST_OBSERVED:
                raise ValueError(f"counts must sum to at most {MOST_OBSERVED}")
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
        values = np.array(self.values)
        return values if self.counts is None else np.concatenate([values, np.cumsum(self.counts)])

    def row(self) -> tuple[float, ...]:
        counted = self.counts is not None
        observed = sum(self.counts) if self.counts is not None else len(self.values)
        # First number: offset, set by `tables`; third: different values, where they are counted.
        return (EMPIRICAL, 0.0, float(observed), float(len(self.values)) if counted else 0.0, 0.0)


Arm = Annotated[
    Bernoulli | Beta | Uniform | TwoPoint | Gaussian | Pareto | Student | Empirical, Field(discriminator="kind")
]
DISTRIBUTIONS: dict[str, type[RewardDistribution]] = {
    distribution.model_fields["kind"].default: distribution
    for distribution in (Bernoulli, Beta, Uniform, TwoPoint, Gaussian, Pareto, Student, Empirical)
}


def expand(arms: tuple[RewardDistribution, ...]) -> tuple[RewardDistribution, ...]:
    """Every arm by itself: an entry with ``count`` n stands n times. Equal arms are one object."""
    known: dict[RewardDistribution, RewardDistribution] = {}
    single = []
    for arm in arms:
        once = arm.single
        single += [known.setdefault(once, once)] * arm.count
    return tuple(single)


def distinct(arms: Iterable[RewardDistribution]) -> list[RewardDistribution]:
    """The arms without repetitions of one object (see `expand`), in order."""
    arms = tuple(arms)
    return list(dict(zip(map(id, arms), arms, strict=True)).values())


def each(arms: Iterable[RewardDistribution], function: Callable[[RewardDistribution], T]) -> list[T]:
    """``function(arm)`` for every arm, called once for all arms that are one object (see `expand`)."""
    arms = tuple(arms)
    known = {id(arm): function(arm) for arm in distinct(arms)}
    return [known[number] for number in map(id, arms)]


def rows(arms: tuple[RewardDistribution, ...]) -> np.ndarray:
    """What the kernels read of single arms, but for the place of observed values; shape (arms, ROW)."""
    return np.array(each(arms, lambda arm: arm.row()), float).reshape(len(arms), ROW)


def tables(arms: tuple[RewardDistribution, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Kernel tables of single arms: rows (arms, ROW) and the pooled observed values, once for equal arms."""
    pools: list[np.ndarray] = []
    length = 0

    def pooled(arm: RewardDistribution) -> int:
        nonlocal length
        values = arm.values_for_kernel
        pools.append(values)
        length += len(values)
        return length - len(values)

    table = rows(arms)
    observed = table[:, 0] == EMPIRICAL
    table[observed, 1] = each((arm for arm in arms if isinstance(arm, Empirical)), pooled)
    if len(pools) == 1:
        return table, pools[0]
    return table, np.concatenate(pools) if pools else np.zeros(1)
