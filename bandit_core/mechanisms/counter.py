"""Counters: sums of a stream of rewards, released by a trusted curator while the rewards come in (continual release).

A counter protects one item of the stream: whatever one changes in it, the whole sequence of released sums moves by at
most e^epsilon in probability (and, where the noise is normal, but for delta). `binary`, `hybrid`, `signed_digits`
and `square_root` hold one counter each.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numba import uint64
from numpy.typing import ArrayLike

from bandit_core.jit.decorators import inlined
from bandit_core.mechanisms.losses import noise_density
from bandit_core.spec.errors import InputError, Issue, refuse_if

Noise = Callable[[int], np.ndarray]  # of the sum after so many items, (streams,)
MAX_NODES = 64  # summed noise terms that one release can hold, for any count below 2^63


@inlined
def set_bits(count: int) -> int:
    """Number of ones in ``count`` written in base 2."""
    x = uint64(count)
    x -= (x >> uint64(1)) & uint64(0x5555555555555555)
    x = (x & uint64(0x3333333333333333)) + ((x >> uint64(2)) & uint64(0x3333333333333333))
    x = (x + (x >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
    return (x * uint64(0x0101010101010101)) >> uint64(56)


def depth(count: ArrayLike) -> np.ndarray:
    """Levels of a binary tree over ``count`` items, floor(log2 count) + 1, and 0 for no items.

    Base 2, as an item sits in that many nodes: a budget split by ln(count) would spend 1.44 times as much.
    """
    return np.frexp(np.asarray(count, float))[1]


def laplace_sum_bound(scales: ArrayLike, gamma: float) -> float:
    """What the absolute sum of independent Laplace variables exceeds with probability at most ``gamma``.

    Chan, Shi and Song 2011, Lemma 2.8 and its corollary: sqrt(8 l) max(sqrt(sum b^2), b_max sqrt(l)), l = ln(2/gamma).

    Parameters
    ----------
    scales
        Scales b of the variables, in the unit of the sum; none gives 0.
    gamma
        Probability in (0, 1).

    >>> round(laplace_sum_bound([1.0, 1.0], 0.1), 3)
    8.473
    """
    if not 0 < gamma < 1:
        raise ValueError("gamma is a probability in (0, 1)")
    scales = np.asarray(scales, float)
    rest = math.log(2 / gamma)
    return math.sqrt(8 * rest) * max(
        math.sqrt(float(np.sum(scales**2))), float(scales.max(initial=0.0)) * math.sqrt(rest)
    )


def equal_laplace_bound(count: int, scale: float, gamma: float) -> float:
    """What the absolute sum of ``count`` Laplace variables of one ``scale`` exceeds with chance at most ``gamma``.

    b (2 sqrt(m l) + l) with l = ln(2/gamma), in the unit of b. Proof. E e^(u X / b) = 1 / (1 - u^2) for 0 <= u < 1, so
    for the sum of m of them the log is -m ln(1 - u^2) <= m u^2 / (1 - u^2) <= m u^2 / (1 - u). Hence (Chernoff)
    P(sum > b x) <= exp(-(u x - m u^2 / (1 - u))) for every such u. With x = 2 sqrt(m l) + l and
    u = sqrt(l) / (sqrt(l) + sqrt(m)) the exponent is -l exactly: u x = l (sqrt(l) + 2 sqrt(m)) / (sqrt(l) + sqrt(m)),
    and m u^2 / (1 - u) = l sqrt(m) / (sqrt(l) + sqrt(m)). Both signs: 2 e^-l = gamma. (Boucheron, Lugosi and Massart
    2013, Theorem 2.3, for this sum.)

    >>> round(equal_laplace_bound(4, 1.0, 0.01), 3), round(laplace_sum_bound([1.0] * 4, 0.01), 3)
    (14.506, 14.986)
    """
    if not 0 < gamma < 1:
        raise ValueError("gamma is a probability in (0, 1)")
    rest = math.log(2 / gamma)
    return scale * (2 * math.sqrt(count * rest) + rest)


@dataclass(frozen=True)
class Counter(ABC):
    """A mechanism that releases noisy sums of a stream of items in [0, 1]; usable alone.

    `start` plays it item by item, `release` at once. ``name`` is that of its description.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def total_epsilon(self) -> float:
        """The epsilon that the whole sequence of releases keeps for each item (at delta, where it has one)."""

    @abstractmethod
    def spent(self, count: ArrayLike) -> np.ndarray:
        """The largest epsilon that any single item has spent after ``count`` items; never above `total_epsilon`."""

    @abstractmethod
    def variance(self, count: int) -> float:
        """Variance of the noise after ``count`` >= 1 items, reward units squared."""

    @abstractmethod
    def density(self, count: int, places: ArrayLike) -> np.ndarray:
        """Density of the noise after ``count`` items at ``places``, in reward units."""

    @abstractmethod
    def noise(self, rng: np.random.Generator, streams: int) -> Noise:
        """The noise of ``streams`` counters side by side, to be asked for the counts 1, 2, 3, ... in turn."""

    def start(self, rng: np.random.Generator, streams: int = 1) -> RunningCounter:
        """Begin ``streams`` independent counters side by side."""
        return RunningCounter(self, rng, streams)

    def release(self, items: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        """Released sums after each item; ``items`` has shape (n,) or (streams, n), and so has the result.

        Raises
        ------
        InputError
            When an item lies outside [0, 1], or the counter's horizon is exceeded.
        """
        items = np.asarray(items, float)
        rows = np.atleast_2d(items)
        running = self.start(rng, len(rows))
        return np.array([running.insert(column) for column in rows.T]).T.reshape(items.shape)


class LaplaceCounter(Counter):
    """A counter whose noise is a sum of independent Laplace variables: epsilon-DP without a delta."""

    def __post_init__(self) -> None:
        for budget in self.budgets:
            refuse_if(not 0 < budget < math.inf, "epsilon", budget, "a number above 0")

    @property
    @abstractmethod
    def budgets(self) -> tuple[float, ...]:
        """Privacy budgets (nats) of the parts that every item may enter; they add up."""

    @property
    def total_epsilon(self) -> float:
        return sum(self.budgets)

    @abstractmethod
    def noise_scales(self, count: int) -> np.ndarray:
        """Scales of the Laplace variables in the sum that stands after ``count`` >= 1 items, reward units."""

    @abstractmethod
    def fresh_scale(self, count: int) -> float:
        """Scale of the Laplace variables drawn for item number ``count``."""

    def variance(self, count: int) -> float:
        return float(2 * np.sum(self.noise_scales(count) ** 2))

    def density(self, count: int, places: ArrayLike) -> np.ndarray:
        return noise_density(self.noise_scales(count), places)


@dataclass(frozen=True)
class TreeCounter(LaplaceCounter):
    """One for at most ``horizon`` items, on a tree whose nodes all have the same noise."""

    epsilon: float
    horizon: int

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_horizon(self.horizon)

    @property
    def budgets(self) -> tuple[float, ...]:
        return (self.epsilon,)

    @property
    @abstractmethod
    def node_scale(self) -> float:
        """Scale of the noise of each node, reward units."""

    def fresh_scale(self, count: int) -> float:
        within(count, self.horizon)
        return self.node_scale


class BinaryCounter(LaplaceCounter):
    """One whose sums are put together by the binary form of the count: at most one Laplace variable for an item."""

    # Draws the noise of the next release of every stream, through the compiled step of the simulation.
    advance: ClassVar[Any]

    def noise(self, rng: np.random.Generator, streams: int) -> Noise:
        held, noises = np.zeros((streams, MAX_NODES + 1)), np.zeros(streams)

        def following(count: int) -> np.ndarray:
            scale = self.fresh_scale(count)
            uniforms = rng.integers(0, 2**52, streams) * 2.0**-52
            self.advance(held, count.bit_count(), uniforms, scale, noises)
            return noises

        return following


class RunningCounter:
    """A counter in progress. ``count`` items have been inserted into each of its streams."""

    def __init__(self, counter: Counter, rng: np.random.Generator, streams: int) -> None:
        self.counter = counter
        self.count = 0
        self._noise = counter.noise(rng, streams)
        self._sums = np.zeros(streams)

    def insert(self, item: ArrayLike) -> np.ndarray:
        """Insert one item (one number for all streams, or one per stream) and return the released sums, (streams,).

        Raises
        ------
        InputError
            When an item lies outside [0, 1], or the counter's horizon is exceeded.
        """
        items = np.broadcast_to(np.asarray(item, float), self._sums.shape)
        outside = np.flatnonzero(~((items >= 0) & (items <= 1)))  # catches NaN as well
        if len(outside):
            raise InputError([Issue("item", float(items[outside[0]]), "a number in [0, 1]")])
        noise = self._noise(self.count + 1)
        self.count += 1
        self._sums += items
        return self._sums + noise


def within(count: int, horizon: int) -> None:
    """Refuse item number ``count`` of a counter that was made for ``horizon`` items."""
    refuse_if(count > horizon, "item", count, f"at most {horizon} items, the horizon of this counter")


def checked_horizon(horizon: int) -> None:
    """Refuse a horizon that holds no item."""
    refuse_if(horizon < 1, "horizon", horizon, "a whole number, at least 1")
