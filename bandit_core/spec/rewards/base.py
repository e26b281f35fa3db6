"""What every reward distribution is: its mean, support, moments and quantile, and how kernels read and draw it."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field

from bandit_core.spec.field_types import Kind, Whole
from bandit_core.spec.portable_math import power

TWO_POINT, UNIFORM, GAUSSIAN, PARETO, EMPIRICAL, BETA, STUDENT = range(7)  # codes in the kernels' tables
PARAMETERS = 4  # numbers of a distribution in the kernels' tables
Draw = Callable[..., float]  # draw(table, values, arm, uniform, state, row), see `RewardDistribution.sampler`


@lru_cache(maxsize=8)
def unit_nodes(count: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


class RewardDistribution(Kind):
    """Common to all distributions. ``count`` repeats the arm; the arm itself is the distribution without it."""

    words: ClassVar[str]
    code: ClassVar[int]  # given to a distribution without one when it is found
    count: Annotated[Whole, Field(ge=1, le=10_000)] = 1

    @property
    def expected(self) -> float:
        """Expected reward, in reward units: the first number of the spec if nothing else is said."""
        return self.numbers[0]

    @property
    def support(self) -> tuple[float, float]:
        """Smallest closed interval that holds every reward; the whole line if nothing else is said."""
        return (-math.inf, math.inf)

    def expect(self, function: Callable[[np.ndarray], np.ndarray]) -> float:
        """``E[function(reward)]``: exact for discrete distributions, Gauss quadrature over the quantile otherwise."""
        nodes, weights = unit_nodes()
        return float(np.sum(weights * function(self.quantile(nodes))))

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        """Inverse of the distribution function at ``probability`` (any shape)."""
        raise NotImplementedError

    def raw_moment(self, order: float) -> float:
        """``E|reward|^order``; infinite where the distribution has no such moment. In reward units to that order."""
        return self.expect(lambda reward: power(np.abs(reward), order))

    @property
    def moment_limit(self) -> float:
        """Raw moments are finite below this order, and infinite from it on where it is finite."""
        return math.inf

    @staticmethod
    def sampler(kernels: Any) -> Draw:
        """How one reward is drawn: plain Python that `bandit_core.kernels.rewards` compiles.

        ``kernels`` is `bandit_core.kernels.streams`, for its constants and compiled pieces. The function that is
        given back, ``draw(table, values, arm, uniform, state, row)``, finds the parameters in ``table[arm, 1:]`` and
        uses ``uniform``, in [0, 1); more come from the second generator, ``kernels.next_uniform(state, row, 4)``.
        """
        raise NotImplementedError

    def row(self) -> tuple[float, ...]:
        """The distribution as the kernel reads it: code and `PARAMETERS` numbers."""
        return (self.code, *self.parameters, *[0.0] * (PARAMETERS - len(self.parameters)))

    @property
    def values_for_kernel(self) -> np.ndarray:
        """A table of any length, which the sampler finds in ``values`` from the place that is its first parameter."""
        return np.empty(0)

    @property
    def atoms(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Values and probabilities of a discrete distribution; None for a continuous one."""
        return None

    @property
    def single(self) -> Self:
        """The same distribution, once."""
        return self.model_copy(update={"count": 1}) if self.count != 1 else self

    def inside(self, low: float, high: float) -> bool:
        """Whether every reward lies in [low, high]."""
        least, most = self.support
        return low <= least and most <= high


class DiscreteDistribution(RewardDistribution):
    """A distribution that is known by its `atoms`."""

    def expect(self, function: Callable[[np.ndarray], np.ndarray]) -> float:
        assert self.atoms is not None
        values, probabilities = self.atoms
        return float(np.sum(probabilities * function(values)))

    def quantile(self, probability: np.ndarray) -> np.ndarray:
        assert self.atoms is not None
        values, probabilities = self.atoms
        place = np.searchsorted(np.cumsum(probabilities)[:-1], probability, side="right")
        return values[place]
