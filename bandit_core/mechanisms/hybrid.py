"""Hybrid mechanism (Chan, Shi and Song 2011): running sums of an endless stream.

At 2^k items the logarithmic mechanism releases a sum, in which each block of items between two powers of two has one
Laplace variable; from there to 2^(k+1) a fresh binary mechanism of horizon 2^k
adds the items that came since. An item may enter one block and one tree, so the budgets of the two parts add up:
half of epsilon each gives epsilon-DP. Tossou and Dimitrakakis (2016) describe both parts at the full epsilon, which
is 2 epsilon-DP.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.jit.decorators import inlined, kernel
from bandit_core.mechanisms.binary import tree_noise
from bandit_core.mechanisms.counter import BinaryCounter, depth
from bandit_core.mechanisms.description import described
from bandit_core.mechanisms.laplace import laplace_noise


@inlined
def hybrid_noise(held: np.ndarray, row: int, bits: int, fresh: float) -> float:
    """Noise in the sum of the first n items, where n has ``bits`` ones: blocks at ``held[row, 1]``, the tree on top."""
    if bits > 1:
        return tree_noise(held, row, bits, fresh)
    total = held[row, 1] + fresh  # of a new block
    held[row, 1] = total
    return total


@kernel
def _advance(held: np.ndarray, bits: int, uniforms: np.ndarray, scale: float, noises: np.ndarray) -> None:
    for row in range(held.shape[0]):
        noises[row] = hybrid_noise(held, row, bits, laplace_noise(uniforms[row], scale))


@dataclass(frozen=True)
class Hybrid(BinaryCounter):
    """The hybrid mechanism with a budget for the blocks and one for the trees; see `calibrated` and `as_printed`.

    >>> Hybrid.calibrated(1.0).noise_scales(6)  # blocks 1, 2, 3-4 and the tree node 5-6, of depth 3
    array([2., 2., 2., 6.])
    """

    block_epsilon: float
    tree_epsilon: float
    name: ClassVar[str] = "hybrid"
    advance: ClassVar[Any] = staticmethod(_advance)

    @classmethod
    def calibrated(cls, epsilon: float) -> Self:
        """Half of the budget to each part: epsilon-DP."""
        return cls(epsilon / 2, epsilon / 2)

    @classmethod
    def as_printed(cls, epsilon: float) -> Self:
        """The full epsilon to each part, as in Tossou and Dimitrakakis 2016: 2 epsilon-DP."""
        return cls(epsilon, epsilon)

    @property
    def budgets(self) -> tuple[float, ...]:
        return (self.block_epsilon, self.tree_epsilon)

    def noise_scales(self, count: int) -> np.ndarray:
        levels = int(depth(count))
        blocks = np.full(levels, 1 / self.block_epsilon)
        return np.concatenate([blocks, np.full(count.bit_count() - 1, levels / self.tree_epsilon)])

    def spent(self, count: ArrayLike) -> np.ndarray:
        levels = depth(count)
        since = np.asarray(count) - 2.0 ** np.maximum(levels - 1, 0)
        # The first item after 2^(k-1) has been in k - 1 nodes of its tree (of depth k) and then in a block.
        before = np.where(levels >= 3, self.tree_epsilon * (levels - 2) / np.maximum(levels - 1, 1), 0.0)
        now = self.tree_epsilon * depth(np.maximum(since, 0)) / np.maximum(levels, 1)
        return np.where(levels >= 1, np.maximum(self.block_epsilon + before, now), 0.0)

    def fresh_scale(self, count: int) -> float:
        return 1 / self.block_epsilon if count.bit_count() == 1 else count.bit_length() / self.tree_epsilon


DESCRIPTION = described("hybrid", Hybrid.calibrated)
