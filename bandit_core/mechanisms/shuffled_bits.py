r"""A shuffled batch of bits: users randomise a little, a shuffler takes the names off (Cheu et al. 2019).

Each of n users has a bit and tells the truth with probability 1 - g, else a uniform bit; a reward in [0, 1] is first
rounded to a bit at random. The shuffler passes the bits on in random order, so the server learns how many are 1 and
nothing else. The elimination of Tenenbaum, Kaplan, Mansour and Stemmer 2021 sums its batches this way.

How private the count is, exactly: who is noisy does not depend on anyone's bit, so tell the server that too (it can
only know more). Of the other n - 1 users N ~ Bin(n - 1, g) are noisy; the bits of the rest can be subtracted. What is
left is C ~ Bin(N, 1/2) plus the victim's answer, which is the truth with probability 1 - h and false with h = g/2:

    P(k | 1) = (1-h) c(k-1) + h c(k),   P(k | 0) = (1-h) c(k) + h c(k-1),   c(k) = P(C = k),

and delta(e) = E_N sum_k max(P(k | 0) - e^e P(k | 1), 0); the other order is its mirror image. As c(k)/c(k-1) =
(N-k+1)/k falls with k, so does the ratio of the two, hence the sum runs over k <= t, where

    delta_N = A F(t) - B F(t-1),   A = 1 - h - e^e h,   B = e^e (1-h) - h,   F(k) = P(C <= k),
    t = ceil((N+1) A / (A+B)) - 1,

which falls with N, as one more fair coin only hides more: where N may be very many numbers they are taken in groups,
each for the smallest in it. It is 0 where A <= 0, that is g >= 2/(1 + e^e): then each answer is e-locally private by
itself. This is an upper bound on what the shuffled count gives away; g follows by bisection (rounded up by 1e-4 of
itself at most) and never exceeds 2/(1 + e^e). So small batches fall back to local randomised response: the fewer users
there are to hide among, the more each of them hides alone.

The closed form of print, g = 64 ln(4/delta) / (e^2 n), is meant for e up to 1. It needs about thirteen times as many
noisy users as the account: 973 in place of 73 at e = 1, delta = 1e-6, n = 1000. Its proof was not at hand, so it is
used where the account confirms it (for e of 20 among 10^9 users it does not), and the account's own g elsewhere.

Neighbours are two batches of the same public size n in which one reward differs. If fewer than n users take part with
the g of n, there are fewer to hide among: `shuffle_delta` says what is left of the promise.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.mechanisms.batch import Batch
from bandit_core.mechanisms.description import described
from bandit_core.spec.errors import Issue, not_above_0, raise_any
from bandit_core.spec.portable_math import bisected

Accounting = Literal["paper", "tight"]
_CUT = 1e-3  # share of delta that the rare numbers of noisy users may count for, all of it as if they gave all away
_GROUPS = 200  # of numbers of noisy users that count alike, as the smallest of them
_NOBODY = 1e-250  # a smaller chance of a uniform bit makes none, and SciPy leaves the range of a double


def local_share(epsilon: float) -> float:
    """Chance of a uniform bit with which each answer is ``epsilon``-locally private by itself: 2 / (1 + e^epsilon)."""
    return 2 * math.exp(-epsilon) / (1 + math.exp(-epsilon))


def shuffle_delta(noisy: float, users: int, epsilon: float, cut: float = 1e-15) -> float:
    """Delta at which a shuffled batch keeps ``epsilon``, an upper bound: see the module.

    Parameters
    ----------
    noisy
        g, the chance that a user sends a uniform bit.
    users
        n, all users of the batch; the victim is one of them.
    cut
        Probability of numbers of noisy users that are not looked at; they count in full.

    >>> round(shuffle_delta(0.5, 1, 1.0), 4)  # alone: 3/4 - e/4
    0.0704
    """
    from scipy.stats import binom  # heavy import, needed only to account

    half = noisy / 2
    growth = math.exp(min(700.0, epsilon))
    above, below = 1 - half - growth * half, growth * (1 - half) - half
    if above <= 0:
        return 0.0
    if noisy < _NOBODY:
        return above
    others = users - 1, noisy  # SciPy would take as long to make a distribution of them as for all else here
    low, high = (0, 0) if users == 1 else (int(binom.ppf(cut / 2, *others)), int(binom.isf(cut / 2, *others)))
    ends = np.unique(np.linspace(low, high + 1, min(_GROUPS, high - low + 1) + 1).astype(np.int64))
    count = ends[:-1]
    edge = np.ceil((count + 1) * above / (above + below)) - 1
    lost = above * binom.cdf(edge, count, 0.5) - below * binom.cdf(edge - 1, count, 0.5)
    chance = binom.pmf(count, *others) if len(count) == high - low + 1 else np.diff(binom.cdf(ends - 1, *others))
    missed = max(0.0, float(binom.cdf(low - 1, *others) + binom.sf(high, *others)))
    return float(chance @ np.maximum(lost, 0.0)) + missed


@lru_cache(maxsize=4096)
def noisy_share(users: int, epsilon: float, delta: float, accounting: Accounting = "tight") -> float:
    """g for a batch of ``users``: ``tight`` by the account, ``paper`` by its closed form; never above `local_share`.

    >>> round(1000 * noisy_share(1000, 1.0, 1e-6)), round(10**4 * noisy_share(10**4, 1.0, 1e-6, "paper"))
    (73, 973)
    >>> round(noisy_share(10, 1.0, 1e-6) / local_share(1.0), 4)  # too few to hide among
    1.0

    Raises
    ------
    InputError
        When epsilon is not above 0, or delta not in (0, 1).
    """
    wrong = [] if 0 < delta < 1 else [Issue("delta", delta, "a number between 0 and 1")]
    raise_any([*not_above_0(epsilon=epsilon), *wrong])
    enough = local_share(epsilon)
    if accounting == "paper":
        printed = min(enough, 64 * math.log(4 / delta) / (epsilon**2 * users))
        if shuffle_delta(printed, users, epsilon, _CUT * delta) <= delta:
            return printed
    low = min(enough, 1 / users) * 1e-3
    if shuffle_delta(low, users, epsilon, _CUT * delta) <= delta:
        return low

    def too_few(share: float) -> bool:
        return shuffle_delta(share, users, epsilon, _CUT * delta) > delta

    return bisected(low, enough, too_few, 1e-4, ratio=True)[1]


@dataclass(frozen=True, kw_only=True)
class ShuffledBits(Batch):
    """The server sees how many bits are 1; each is uniform with probability ``noisy``."""

    noisy: float

    def release(self, rewards: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        rewards = np.asarray(rewards, float)
        truth = rng.random(rewards.shape) < rewards
        uniform = rng.random(rewards.shape) < 0.5
        bits = np.where(rng.random(rewards.shape) < self.noisy, uniform, truth)
        return bits.sum(axis=-1)

    def estimate(self, seen: ArrayLike) -> np.ndarray:
        return 0.5 + (np.asarray(seen, float) / self.users - 0.5) / (1 - self.noisy)

    def law(self, ones: int) -> tuple[np.ndarray, np.ndarray]:
        from scipy.stats import binom  # heavy import, needed only for distributions

        true, false = (
            binom.pmf(np.arange(count + 1), count, chance)
            for count, chance in ((ones, 1 - self.noisy / 2), (self.users - ones, self.noisy / 2))
        )
        return np.arange(self.users + 1.0), np.convolve(true, false)


def shuffled_bits(epsilon: float = 1.0, *, users: int = 1000, delta: float = 1e-6) -> ShuffledBits:
    """A batch with as few noisy users as (epsilon, ``delta``) allows.

    >>> round(shuffled_bits(1.0).noisy, 3)
    0.073
    """
    return ShuffledBits(users=users, noisy=noisy_share(users, epsilon, delta))


DESCRIPTION = described("shuffled-bits", shuffled_bits)
