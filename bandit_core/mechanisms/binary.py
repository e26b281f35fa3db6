"""Binary (tree) mechanism (Chan, Shi and Song 2011): running sums of a stream whose length is known beforehand.

The items are the leaves of a binary tree; every node is the sum of its leaves plus its own Laplace noise, and the sum
of the first n items is put together from one node for each 1 in the binary form of n. An item sits in
L = floor(log2 horizon) + 1 nodes, so each node has noise Laplace(L / epsilon). The paper writes log without a base;
base 2 is what makes the whole sequence epsilon-DP.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.jit.decorators import inlined, kernel
from bandit_core.mechanisms.counter import BinaryCounter, TreeCounter, depth
from bandit_core.mechanisms.description import described
from bandit_core.mechanisms.laplace import laplace_noise


@inlined
def tree_noise(held: np.ndarray, row: int, bits: int, fresh: float) -> float:
    """Noise in the sum of the first n items, where n has ``bits`` ones and ``fresh`` is the new node's noise.

    ``held[row, j]`` is the noise of the j largest nodes in the sum. From n - 1 to n the small nodes of the trailing
    ones merge into one new node and the larger ones stay: a stack, so a release costs O(1) and no error builds up.
    """
    total = held[row, bits - 1] + fresh
    held[row, bits] = total
    return total


@kernel
def _advance(held: np.ndarray, bits: int, uniforms: np.ndarray, scale: float, noises: np.ndarray) -> None:
    for row in range(held.shape[0]):
        noises[row] = tree_noise(held, row, bits, laplace_noise(uniforms[row], scale))


@dataclass(frozen=True)
class Binary(TreeCounter, BinaryCounter):
    """The binary mechanism for at most ``horizon`` items.

    >>> counter = Binary(epsilon=1.0, horizon=7)
    >>> counter.noise_scales(6)
    array([3., 3.])
    >>> counter.release([1, 0, 1], np.random.default_rng(0)).shape
    (3,)
    """

    name: ClassVar[str] = "binary"
    advance: ClassVar[Any] = staticmethod(_advance)

    @property
    def node_scale(self) -> float:
        return float(depth(self.horizon)) / self.epsilon

    def noise_scales(self, count: int) -> np.ndarray:
        return np.full(count.bit_count(), self.node_scale)

    def spent(self, count: ArrayLike) -> np.ndarray:
        # The first item enters one more node whenever the count doubles.
        return self.epsilon * np.minimum(depth(count) / depth(self.horizon), 1.0)


DESCRIPTION = described("binary", lambda epsilon, *, horizon: Binary(epsilon, horizon))
