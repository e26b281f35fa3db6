"""k-ary tree with signed digits (Andersson, Pagh and Torkamani 2024, arXiv 2408.07021): sums that may subtract nodes.

The items are the leaves of a tree in which k nodes, k odd, make one of the next level; every node is the sum of its
leaves plus its own Laplace noise. The number n of items is written with the digits -(k-1)/2, ..., (k-1)/2: from the
highest digit on, a digit d > 0 adds the next d nodes of its level, and d < 0 subtracts the |d| nodes that end where the
sum stands. So a level costs (k - 1/k) / 4 noises on average in place of (k - 1) / 2. An item lies in one node of each
of the h levels, the fewest with (k^h - 1) / 2 >= T, and each node has Laplace(h / epsilon) noise. The mean over n of
the variance is about (k - 1/k) h^3 / (2 epsilon^2), and k is chosen so that this is smallest.

Proof of privacy, for items that may be chosen one by one after what was released. A node that is subtracted may hold
items that are not there yet; its noise is drawn in advance. Let v run over nodes, Z_v be their noise, and c_v(t) in
{-1, 0, 1} the part of v in the sum at t. The nodes make up the first t items exactly: the sum of c_v(t) over the nodes
that hold item i is 1 for i <= t, else 0 (*). So the release S_t + sum_v c_v(t) Z_v is known from the items so far, and
needs none that come later. Now let item i be x or x' (both chosen after the releases before i). Map the noise by
Z_v -> Z_v + x - x' for the nodes that hold i, at most h of them. By (*) no release before i is moved by this, however
early a noise was drawn, so x - x' is the same before and after, the map preserves volume and can be undone; and each
release from i on is moved by x - x', which makes up for the other item, so whoever chooses the later items sees
the same and chooses the same. Hence both games have the same releases, and the density of the noise changes
by at most a factor e^(|x - x'| epsilon / h) in each of h nodes: epsilon-DP for the whole sequence.
"""

from dataclasses import dataclass
from itertools import count as count_up
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.jit.decorators import device_function, kernel
from bandit_core.mechanisms.counter import Noise, TreeCounter
from bandit_core.mechanisms.description import described
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.spec.errors import refuse_if


def levels(horizon: int, base: int) -> int:
    """Digits that ``horizon`` needs in an odd ``base`` with digits -(base-1)/2 to (base-1)/2.

    >>> levels(4, 3), levels(5, 3)  # 4 = 1 + 3, 5 = 9 - 3 - 1
    (2, 3)
    """
    return next(digits for digits in count_up(1) if (base**digits - 1) // 2 >= horizon)


def best_base(horizon: int) -> int:
    """The odd base with the smallest (k - 1/k) h^3, the mean variance over all counts that h digits can write.

    >>> [best_base(horizon) for horizon in (10**3, 10**4, 10**5)]
    [13, 29, 23]
    """
    bases = []
    for digits in range(1, horizon.bit_length() + 2):
        base = max(3, round((2 * horizon + 1) ** (1 / digits)) - 3) | 1  # the smallest odd one, but for rounding
        while (base**digits - 1) // 2 < horizon:
            base += 2
        bases.append(base)
    return min(bases, key=lambda base: (base - 1 / base) * levels(horizon, base) ** 3)


@device_function
def fresh_nodes(digits: np.ndarray, half: int) -> int:
    """How many nodes get their noise when the count grows by one; ``digits`` (levels,) of the count, lowest first."""
    wanted = 0
    for level in range(digits.shape[0]):
        if digits[level] < half:
            return wanted + (digits[level] >= 0)
        wanted += half
    return wanted


@device_function
def count_on(digits: np.ndarray, half: int) -> None:
    """Let the count that ``digits`` write grow by one."""
    level = 0
    while digits[level] == half:
        digits[level] = -half
        level += 1
    digits[level] += 1


@device_function
def signed_noise(
    added: np.ndarray, removed: np.ndarray, row: int, digits: np.ndarray, half: int, fresh: np.ndarray
) -> float:
    """Noise in the sum after the count has grown to ``digits``.

    ``fresh`` has the noises of the new nodes, the lowest level first. ``added[row, level]`` is the noise of the nodes
    that are in the sum, ``removed[row, level, m]`` that of the last m of those that are subtracted; its first is 0.
    """
    level, place = 0, 0
    while digits[level] == -half:  # it came from half: the nodes that are subtracted from now on, in turn fewer
        total = 0.0
        for number in range(half):
            total += fresh[place]
            removed[row, level, number + 1] = total
            place += 1
        added[row, level] = 0.0
        level += 1
    if digits[level] > 0:
        added[row, level] += fresh[place]
    noise = 0.0
    for level in range(digits.shape[0]):
        digit = digits[level]
        noise += added[row, level] if digit > 0 else -removed[row, level, -digit]
    return noise


@kernel
def _advance(
    added: np.ndarray, removed: np.ndarray, digits: np.ndarray, half: int, uniforms: np.ndarray, scale: float,
    noises: np.ndarray,
) -> None:  # fmt: skip
    fresh = np.empty(uniforms.shape[1])
    count_on(digits, half)
    for row in range(noises.shape[0]):
        for node in range(fresh.shape[0]):
            fresh[node] = laplace_noise(uniforms[row, node], scale)
        noises[row] = signed_noise(added, removed, row, digits, half, fresh)


@dataclass(frozen=True)
class SignedDigits(TreeCounter):
    """The tree for at most ``horizon`` items; ``base`` is k, odd, and 0 stands for `best_base`.

    >>> counter = SignedDigits(epsilon=1.0, horizon=13, base=3)
    >>> counter.digits(5)  # 5 = 9 - 3 - 1
    array([-1, -1,  1])
    >>> counter.noise_scales(5)
    array([3., 3., 3.])
    """

    base: int = 0
    name: ClassVar[str] = "k-ary"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.base == 0:
            object.__setattr__(self, "base", best_base(self.horizon))
        refuse_if(self.base < 3 or self.base % 2 == 0, "base", self.base, "an odd number, at least 3 (0: the best one)")

    @property
    def depth(self) -> int:
        """Levels of the tree (h), each with a node that an item lies in."""
        return levels(self.horizon, self.base)

    @property
    def half(self) -> int:
        """The largest digit, (k - 1) / 2."""
        return (self.base - 1) // 2

    @property
    def node_scale(self) -> float:
        return self.depth / self.epsilon

    def digits(self, count: int) -> np.ndarray:
        """The digits of ``count``, lowest first; shape (depth,)."""
        found = np.empty(self.depth, np.int64)
        for level in range(self.depth):
            found[level] = (count + self.half) % self.base - self.half
            count = (count - int(found[level])) // self.base
        return found

    def noise_scales(self, count: int) -> np.ndarray:
        return np.full(int(np.abs(self.digits(count)).sum()), self.node_scale)

    def spent(self, count: ArrayLike) -> np.ndarray:
        # The first item is in the first node of every level that a release has made use of.
        largest = [(self.base**digits - 1) // 2 for digits in range(self.depth)]
        return self.epsilon * np.searchsorted(largest, np.asarray(count)) / self.depth

    def noise(self, rng: np.random.Generator, streams: int) -> Noise:
        added, removed = np.zeros((streams, self.depth)), np.zeros((streams, self.depth, self.half + 1))
        digits, noises = np.zeros(self.depth, np.int64), np.zeros(streams)

        def following(count: int) -> np.ndarray:
            scale = self.fresh_scale(count)
            uniforms = rng.integers(0, 2**52, (streams, fresh_nodes(digits, self.half))) * 2.0**-52
            _advance(added, removed, digits, self.half, uniforms, scale, noises)
            return noises

        return following


DESCRIPTION = described("k-ary", lambda epsilon, *, horizon: SignedDigits(epsilon, horizon))
