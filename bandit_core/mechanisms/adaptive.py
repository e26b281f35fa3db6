"""Adaptive tree (Tao, Wu, Zhao and Wang 2022, Algorithm 2): running sums of rewards that have no largest value.

The n-th item counts 0 where it exceeds the level B_n = (eps u n / ln^1.5 T)^(1/(1+v)), which grows with n; the node
closed at the n-th item has noise Laplace(2 B_n / eps'), eps' = eps / (floor(log2 T) + 1). No earlier item was larger
than B_n, so an item moves each of its nodes by at most 2 B_n, and there are at most floor(log2 T) + 1 of them. The
paper writes log T without a base; base 2 is what makes the whole sequence epsilon-DP. An epsilon above 1 counts as 1
in the level, as in the policy that plays on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bandit_core.mechanisms.binary import Binary
from bandit_core.mechanisms.description import Audited, Formulas, counter
from bandit_core.spec.errors import InputError, Issue


@dataclass(frozen=True)
class AdaptiveTree(Binary):
    """The tree for items whose absolute moment of order 1 + ``v`` is at most ``u``, in item units to that power.

    >>> counter = AdaptiveTree(epsilon=1.0, horizon=7)
    >>> [round(counter.level(n), 3) for n in (1, 7)]
    [0.514, 1.881]
    """

    v: float = 0.5
    u: float = 1.0
    name: ClassVar[str] = "adaptive-tree"
    title: ClassVar[str] = "Adaptive tree"
    paper: ClassVar[str] = "Tao, Wu, Zhao, Wang 2022, Algorithm 2"
    words: ClassVar[str] = "A tree for rewards of any size: what is too large counts 0, and what is too large grows."
    guarantee_words: ClassVar[str] = "epsilon-DP for every item of the stream, however large, over all releases (pure)"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.v <= 1 or not 0 < self.u < math.inf:
            raise InputError([Issue("v, u", (self.v, self.u), "v in (0, 1] and u above 0")])

    def level(self, count: int) -> float:
        """B_n: the size beyond which item number ``count`` counts 0."""
        log_t = math.log(max(2, self.horizon))
        return float((min(1.0, self.epsilon) * self.u * count / log_t**1.5) ** (1 / (1 + self.v)))

    # An item is in as many nodes as in the binary tree, and spends less in those that close at a higher level.
    overstates: ClassVar[bool] = True

    def _scale_at(self, count: int) -> float:
        """Scale of the noise of the node that is closed at item number ``count``."""
        return 2 * self.level(count) * self.node_scale

    def noise_scales(self, count: int) -> np.ndarray:
        scales, left = [], count
        while left:
            scales.append(self._scale_at(left))
            left &= left - 1
        return np.array(scales[::-1])

    def span(self, count: int) -> tuple[float, float]:
        return -self.level(count), self.level(count)

    def fresh_scale(self, count: int) -> float:
        super().fresh_scale(count)  # refuses what lies beyond the horizon
        return self._scale_at(count)

    def _taken(self, items: np.ndarray, count: int) -> np.ndarray:
        if not np.all(np.isfinite(items)):
            raise InputError([Issue("item", float(items[~np.isfinite(items)][0]), "a finite number")])
        return np.where(np.abs(items) <= self.level(count), items, 0.0)


DESCRIPTION = counter(
    AdaptiveTree,
    make=lambda epsilon, *, horizon: AdaptiveTree(epsilon, horizon),
    audited=Audited(
        items=8,
        item=5,  # spends most
        nodes=((5, 4), (6, 4), (8, 0)),
        words="Within 8 items no item spends more than 0.66 epsilon.",
        inputs="item 5 of 8 is the largest or the smallest that counts (B or -B), all others are 0",
        seen="the noisy sums of which the item is part, each cut to [-B, B], added up",
    ),
    settings=("horizon",),
    sensitivity="2 B_n: an item of [-B_n, B_n] changes, where B_n grows with n",
    formulas=Formulas(
        density=r"\hat S_t=\sum_{i\le t}x_i\,1[|x_i|\le B_i]"
        r"+\sum_{\text{nodes of }t}\mathrm{Lap}\Big(\frac{2B_nL}\epsilon\Big),"
        r"\quad B_n=\Big(\frac{\epsilon u n}{\ln^{1.5}T}\Big)^{\frac1{1+v}}",
        loss=r"\ln\frac{p(\hat S_{1..T}\mid x)}{p(\hat S_{1..T}\mid x')}\le L\cdot\frac{\epsilon}{L}=\epsilon,"
        r"\quad L=\lfloor\log_2T\rfloor+1",
        mean=r"\mathbb E[\hat S_t]=\sum_{i\le t}x_i\,1[|x_i|\le B_i]",
        variance=r"\operatorname{Var}[\hat S_t]=\sum_{n\in\text{nodes of }t}\frac{8B_n^2L^2}{\epsilon^2}",
    ),
    remark="Its noise is wider than that of the others because it protects items of any size, not only of [0, 1]. "
    "Drawn for v = 0.5 and u = 1; epsilon above 1 counts as 1 in B.",
)
