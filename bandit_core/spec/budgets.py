"""How the privacy budget epsilon (in nats, per response) is spread over users.

A user with epsilon = 0 shares nothing. Thresholding policies keep the responses of users with
epsilon >= eps_min; `expect_above` gives the integrals that their theory and the V_L, V_B heuristic need.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from bandit_core.spec.field_types import Frozen, Number, Positive, Probability

FIXED, DISCRETE, CLAMPED_GAUSSIAN, UNIFORM, LOGNORMAL = range(5)  # codes shared with kernels/users.py
LARGEST = 1000.0  # beyond this no mechanism differs from no privacy by anything a double can hold
Budget = Annotated[Number, Field(ge=0, le=LARGEST)]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


class BudgetDistribution(Frozen):
    words: ClassVar[str]

    @property
    def name(self) -> str:
        """The law's ``kind``."""
        return str(type(self).model_fields["kind"].default)

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        """Point masses: values (ascending) and probabilities; the rest of the distribution has a density."""
        return np.empty(0), np.empty(0)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the continuous part lives, cut where its mass ends in double precision; None if there is none."""
        return None

    def density(self, epsilon: np.ndarray) -> np.ndarray:
        """Density of the continuous part (zero outside `interval`)."""
        return np.zeros_like(epsilon)

    @property
    def largest(self) -> float:
        """Supremum of the budgets."""
        values, _ = self.atoms
        return float(values[-1])

    def _panels(self, threshold: float) -> np.ndarray:
        """Edges of the quadrature panels above ``threshold``, on the axis of `_to_axis`; empty if nothing is above.

        The union of two families: equally wide ones resolve the density, ones that double resolve functions
        such as 1/epsilon^2 that grow towards 0.
        """
        if self.interval is None:
            return np.empty(0)
        low, high = self.interval
        low = max(low, threshold)
        if low >= high:
            return np.empty(0)
        start = low if low > 0 else high * 1e-12
        doubling = np.geomspace(start, high, 2 + math.ceil(math.log2(high / start)))
        return np.union1d(np.linspace(low, high, 97), doubling[(doubling > low) & (doubling < high)])

    def _to_axis(self, epsilon: np.ndarray) -> np.ndarray:
        """Where the quadrature works: epsilon itself, unless the distribution is smoother in another variable."""
        return epsilon

    def _from_axis(self, place: np.ndarray) -> np.ndarray:
        """Inverse of `_to_axis`."""
        return place

    def _axis_density(self, place: np.ndarray) -> np.ndarray:
        """Density of the continuous part on the axis of `_to_axis`."""
        return self.density(place)

    def expect_above_each(self, function: Callable[[np.ndarray], np.ndarray], thresholds: np.ndarray) -> np.ndarray:
        """``E[function(epsilon) 1{epsilon >= threshold}]`` for each of the thresholds, in one pass.

        Exact sums over atoms; Gauss quadrature over densities, good to a relative 1e-9 for the functions of this
        project (powers of 1/epsilon, coth^2, divergences). Shape of the result: that of ``thresholds``.
        """
        thresholds = np.asarray(thresholds, float)
        total = np.zeros(thresholds.shape)
        values, probabilities = self.atoms
        values, probabilities = values[probabilities > 0], probabilities[probabilities > 0]
        used = values >= thresholds.min(initial=np.inf)
        if used.any():
            values, probabilities = values[used], probabilities[used]
            from_top = np.cumsum((probabilities * function(values))[::-1])[::-1]
            total += np.append(from_top, 0.0)[np.searchsorted(values, thresholds)]
        edges = self._panels(float(thresholds.min(initial=np.inf)))
        if len(edges):
            with np.errstate(divide="ignore"):
                cuts = np.clip(self._to_axis(thresholds), edges[0], edges[-1])
            edges = np.union1d(edges, cuts)
            half = np.diff(edges)[:, None] / 2
            places = edges[:-1, None] + half * (1 + _NODES)
            panels = np.sum(half * _WEIGHTS * function(self._from_axis(places)) * self._axis_density(places), axis=1)
            from_top = np.append(np.cumsum(panels[::-1])[::-1], 0.0)
            total += from_top[np.searchsorted(edges, cuts)]
        return total

    def expect_above(self, function: Callable[[np.ndarray], np.ndarray], threshold: float) -> float:
        """`expect_above_each` for one threshold."""
        return float(self.expect_above_each(function, np.array([threshold]))[0])

    def share_above(self, threshold: float) -> float:
        """``p_0 = P(epsilon >= threshold)``."""
        return self.expect_above(np.ones_like, threshold)

    def candidates(self) -> np.ndarray:
        """Thresholds worth trying, ascending: every atom above 0, and a fine log grid over the continuous part."""
        values, _ = self.atoms
        grid = values[values > 0]
        if self.interval is not None:
            low, high = self.interval
            grid = np.concatenate([grid, np.geomspace(max(low, high * 1e-4), high, 401)[:-1]])
        return np.unique(grid)

    def kernel_form(self) -> tuple[int, np.ndarray, np.ndarray]:
        """Code, parameters (4) and table (rows of cumulative probability and epsilon) as the kernels read them."""
        raise NotImplementedError

    @property
    def fixed(self) -> float | None:
        """The one budget of every user, if there is just one."""
        values, _ = self.atoms
        return float(values[0]) if self.interval is None and len(values) == 1 else None


class Fixed(BudgetDistribution):
    """Every user has the same budget."""

    words: ClassVar[str] = "the same for everybody"
    kind: Literal["fixed"] = "fixed"
    value: Annotated[Number, Field(gt=0, le=LARGEST)]

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([self.value]), np.array([1.0])

    def kernel_form(self) -> tuple[int, np.ndarray, np.ndarray]:
        return FIXED, np.array([self.value, 0.0, 0.0, 0.0]), np.array([[1.0, self.value]])


class _Atomic(BudgetDistribution):
    def kernel_form(self) -> tuple[int, np.ndarray, np.ndarray]:
        values, probabilities = self.atoms
        cumulative = np.cumsum(probabilities)
        cumulative[-1] = 1.0
        return DISCRETE, np.zeros(4), np.column_stack([cumulative, values])


class Discrete(_Atomic):
    """A few groups of users; ``probs`` are their shares (equal when left out)."""

    words: ClassVar[str] = "a few groups of users"
    kind: Literal["discrete"] = "discrete"
    values: Annotated[tuple[Budget, ...], Field(min_length=1, max_length=1000)]
    probs: tuple[Probability, ...] | None = None

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


class EmpiricalEpsilon(_Atomic):
    """Observed budgets, each equally likely."""

    words: ClassVar[str] = "as observed, each value equally likely"
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


class ClampedGaussian(BudgetDistribution):
    """Gaussian; budgets outside [low, high] are moved to the border (Ren et al. 2020, section 4.2)."""

    words: ClassVar[str] = "bell-shaped, cut at both ends"
    kind: Literal["clamped-gaussian"] = "clamped-gaussian"
    mean: Number
    sd: Positive
    low: Budget
    high: Annotated[Number, Field(gt=0, le=LARGEST)]

    @model_validator(mode="after")
    def _ordered(self) -> ClampedGaussian:
        if not self.low < self.high:
            raise ValueError("low must be below high")
        return self

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

    def kernel_form(self) -> tuple[int, np.ndarray, np.ndarray]:
        return CLAMPED_GAUSSIAN, np.array([self.mean, self.sd, self.low, self.high]), np.zeros((1, 2))


class UniformEpsilon(BudgetDistribution):
    """Any budget between ``low`` and ``high``, all equally likely."""

    words: ClassVar[str] = "anything in a range, all equally likely"
    kind: Literal["uniform"] = "uniform"
    low: Budget
    high: Annotated[Number, Field(gt=0, le=LARGEST)]

    @model_validator(mode="after")
    def _ordered(self) -> UniformEpsilon:
        if not self.low < self.high:
            raise ValueError("low must be below high")
        return self

    @property
    def interval(self) -> tuple[float, float]:
        return (self.low, self.high)

    def density(self, epsilon: np.ndarray) -> np.ndarray:
        return np.where((epsilon >= self.low) & (epsilon <= self.high), 1 / (self.high - self.low), 0.0)

    @property
    def largest(self) -> float:
        return self.high

    def kernel_form(self) -> tuple[int, np.ndarray, np.ndarray]:
        return UNIFORM, np.array([self.low, self.high, 0.0, 0.0]), np.zeros((1, 2))


class Lognormal(BudgetDistribution):
    """Half the users are below ``median``; ``sigma`` is the standard deviation of ln epsilon."""

    words: ClassVar[str] = "spread over orders of magnitude"
    kind: Literal["lognormal"] = "lognormal"
    median: Annotated[Number, Field(gt=0, le=LARGEST)]
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

    def kernel_form(self) -> tuple[int, np.ndarray, np.ndarray]:
        return LOGNORMAL, np.array([self.median, self.sigma, 0.0, 0.0]), np.zeros((1, 2))


Epsilon = Annotated[
    Fixed | Discrete | ClampedGaussian | UniformEpsilon | Lognormal | EmpiricalEpsilon,
    Field(discriminator="kind"),
]
DISTRIBUTIONS: dict[str, type[BudgetDistribution]] = {
    distribution.model_fields["kind"].default: distribution
    for distribution in (Fixed, Discrete, ClampedGaussian, UniformEpsilon, Lognormal, EmpiricalEpsilon)
}
