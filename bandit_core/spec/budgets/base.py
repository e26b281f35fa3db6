"""What every distribution of budgets is: atoms, density, integrals above a threshold, and how kernels draw from it.

A user with epsilon = 0 shares nothing. Thresholding policies keep the responses of users with epsilon >= eps_min;
`expect_above` gives the integrals that their theory and the V_L, V_B heuristic need.
"""

import math
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field

from bandit_core.spec.field_types import Kind, Number

FIXED, DISCRETE, CLAMPED_GAUSSIAN, UNIFORM, LOGNORMAL = range(5)  # codes in the kernels
PARAMETERS = 4  # numbers of a distribution in the kernels
LARGEST = 1e6  # from 1000 on no mechanism differs from no privacy by anything a double can hold
Budget = Annotated[Number, Field(ge=0, le=LARGEST)]
Draw = Callable[..., float]  # draw(form, uniform), see `BudgetDistribution.sampler`

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


class BudgetDistribution(Kind):
    """Common to all distributions. ``example`` shows in the sidebar how one is written; ``nats`` names the fields that
    are budgets, in which the distribution scales.
    """

    words: ClassVar[str]
    example: ClassVar[str]
    nats: ClassVar[tuple[str, ...]]
    code: ClassVar[int]  # given to a distribution without one when it is found

    def divided(self, parts: int) -> Self:
        """How epsilon / ``parts`` is spread: what is left for one of so many equal answers."""

        def part(value: float | tuple[float, ...]) -> float | tuple[float, ...]:
            return tuple(each / parts for each in value) if isinstance(value, tuple) else value / parts

        return self if parts == 1 else self.model_copy(update={name: part(getattr(self, name)) for name in self.nats})

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
        return float(self.atoms[0][-1] if self.interval is None else self.interval[1])

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

    @staticmethod
    def sampler(kernels: Any) -> Draw:
        """How one user's budget is drawn: plain Python that `bandit_core.kernels.users` compiles.

        ``kernels`` is `bandit_core.kernels.streams`, for its constants and compiled pieces. The function that is given
        back, ``draw(form, uniform)``, finds the parameters in ``form`` and inverts ``uniform``, in [0, 1): it must not
        fall as ``uniform`` grows.
        """
        raise NotImplementedError

    def kernel_form(self) -> tuple[int, np.ndarray, np.ndarray]:
        """Code, parameters (4) and table (rows of cumulative probability and epsilon) as the kernels read them."""
        form = np.zeros(PARAMETERS)
        form[: len(self.parameters)] = self.parameters
        return self.code, form, np.zeros((1, 2))

    @property
    def fixed(self) -> float | None:
        """The one budget of every user, if there is just one."""
        values, _ = self.atoms
        return float(values[0]) if self.interval is None and len(values) == 1 else None


class DiscreteBudgets(BudgetDistribution):
    """A distribution that is known by its `atoms`."""

    code: ClassVar[int] = DISCRETE

    def kernel_form(self) -> tuple[int, np.ndarray, np.ndarray]:
        values, probabilities = self.atoms
        cumulative = np.cumsum(probabilities)
        cumulative[-1] = 1.0
        return self.code, np.zeros(4), np.column_stack([cumulative, values])
