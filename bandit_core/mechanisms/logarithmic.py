"""Logarithmic mechanism (Chan, Shi and Song 2011): sums of an endless stream, released only at 1, 2, 4, 8, ... items.

Each block of items between two releases gets one Laplace(1 / epsilon) variable, and the noises of all blocks stay in
the sum. An item sits in one block, so the whole sequence is epsilon-DP.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.jit.decorators import inlined, kernel
from bandit_core.mechanisms.counter import BinaryCounter, depth
from bandit_core.mechanisms.description import Audited, Formulas, counter
from bandit_core.mechanisms.laplace import laplace_noise


@inlined
def block_noise(held: np.ndarray, row: int, fresh: float) -> float:
    """Noise in the sum released at a power of two, where ``fresh`` is the noise of the newest block."""
    total = held[row, 1] + fresh
    held[row, 1] = total
    return total


@kernel
def _advance(held: np.ndarray, uniforms: np.ndarray, scale: float, noises: np.ndarray) -> None:
    for row in range(held.shape[0]):
        noises[row] = block_noise(held, row, laplace_noise(uniforms[row], scale))


@dataclass(frozen=True)
class Logarithmic(BinaryCounter):
    """The logarithmic mechanism. Between two powers of two the last released sum stands.

    >>> Logarithmic(epsilon=0.5).noise_scales(5)  # blocks 1, 2, 3-4
    array([2., 2., 2.])
    """

    epsilon: float
    name: ClassVar[str] = "logarithmic"
    title: ClassVar[str] = "Logarithmic mechanism"
    paper: ClassVar[str] = "Chan, Shi, Song 2011, section 3.4"
    words: ClassVar[str] = "A noisy sum is released whenever the number of items has doubled."
    guarantee_words: ClassVar[str] = "epsilon-DP for every item of the stream, over all releases (pure)"

    @property
    def budgets(self) -> tuple[float, ...]:
        return (self.epsilon,)

    def noise_scales(self, count: int) -> np.ndarray:
        return np.full(int(depth(count)), 1 / self.epsilon)

    def spent(self, count: ArrayLike) -> np.ndarray:
        return np.where(np.asarray(count) >= 1, self.epsilon, 0.0)

    def fresh_scale(self, count: int) -> float:
        return 1 / self.epsilon if count.bit_count() == 1 else 0.0

    def _advance(self, held: np.ndarray, bits: int, uniforms: np.ndarray, scale: float, noises: np.ndarray) -> None:
        _advance(held, uniforms, scale, noises)


DESCRIPTION = counter(
    Logarithmic,
    make=Logarithmic,
    audited=Audited(
        items=1,
        item=1,
        nodes=((1, 0),),
        inputs="the first item is 0 or 1",
        seen="the first released sum, cut to [0, 1]",
    ),
    sensitivity="1: one item of [0, 1] changes; it lies in one block",
    formulas=Formulas(
        density=r"\hat S_t=\sum_{i\le 2^k}x_i+\sum_{j=0}^{k}\mathrm{Lap}\Big(\frac1\epsilon\Big),"
        r"\quad k=\lfloor\log_2t\rfloor",
        loss=r"\ln\frac{p(\hat S\mid x)}{p(\hat S\mid x')}\le\epsilon\quad\text{(one block)}",
        mean=r"\mathbb E[\hat S_t]=\sum_{i\le 2^{\lfloor\log_2t\rfloor}}x_i",
        variance=r"\operatorname{Var}[\hat S_t]=\frac{2(\lfloor\log_2t\rfloor+1)}{\epsilon^2}",
    ),
    remark="Between two powers of two the last sum stands still: little noise, but up to half "
    "of the items are missing.",
)
