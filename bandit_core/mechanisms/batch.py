"""Batches: users send something each, and the server sees one number: shuffled bits, or a sum modulo m."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.jit.decorators import inlined
from bandit_core.mechanisms.description import described
from bandit_core.spec.errors import Issue, not_above_0, raise_any
from bandit_core.spec.portable_math import bisected

# ---------------------------------------------------------------------------------------------------------------------
# A whole batch as one mechanism: its users send something each, the server sees one number.


@dataclass(frozen=True, kw_only=True)
class Batch(ABC):
    """A batch of ``users`` with rewards in [0, 1]. What is protected is one of them; their number is public."""

    users: int

    @abstractmethod
    def release(self, rewards: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        """What the server sees of batches of rewards, user by user; shape (..., users) in, (...,) out."""

    @abstractmethod
    def estimate(self, seen: ArrayLike) -> np.ndarray:
        """Estimate of the mean reward of the batch from what the server sees; unbiased but for a rare overflow."""

    @abstractmethod
    def law(self, ones: int) -> tuple[np.ndarray, np.ndarray]:
        """Everything that the server may see (outcomes,), and its chances, if ``ones`` users have 1 and the rest 0."""


def batch_delta(first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
    """Delta at ``epsilon`` of two distributions over the same outcomes; the larger of both orders."""
    growth = np.exp(min(700.0, epsilon))
    return float(max(np.maximum(p - growth * q, 0).sum() for p, q in ((first, second), (second, first))))


def batch_epsilon(first: np.ndarray, second: np.ndarray, delta: float) -> float:
    """The smallest epsilon that two distributions keep at ``delta`` (rounded up); infinite where none does.

    >>> round(batch_epsilon(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 0.0), 6)  # ln 3
    1.098612
    """
    if batch_delta(first, second, 700.0) > delta:
        return np.inf
    return bisected(0.0, 700.0, lambda epsilon: batch_delta(first, second, epsilon) > delta, steps=60)[1]


# ---------------------------------------------------------------------------------------------------------------------
# A shuffled batch of bits: users randomise a little, a shuffler takes the names off (Cheu et al. 2019).
#
# Each of n users has a bit and tells the truth with probability 1 - g, else a uniform bit; a reward in [0, 1] is first
# rounded to a bit at random. The shuffler passes the bits on in random order, so the server learns how many are 1 and
# nothing else. The elimination of Tenenbaum, Kaplan, Mansour and Stemmer 2021 sums its batches this way.
#
# How private the count is, exactly: who is noisy does not depend on anyone's bit, so tell the server that too (it can
# only know more). Of the other n - 1 users N ~ Bin(n - 1, g) are noisy; the bits of the rest can be subtracted. What is
# left is C ~ Bin(N, 1/2) plus the victim's answer, which is the truth with probability 1 - h and false with h = g/2:
#
#     P(k | 1) = (1-h) c(k-1) + h c(k),   P(k | 0) = (1-h) c(k) + h c(k-1),   c(k) = P(C = k),
#
# and delta(e) = E_N sum_k max(P(k | 0) - e^e P(k | 1), 0); the other order is its mirror image. As c(k)/c(k-1) =
# (N-k+1)/k falls with k, so does the ratio of the two, hence the sum runs over k <= t, where
#
#     delta_N = A F(t) - B F(t-1),   A = 1 - h - e^e h,   B = e^e (1-h) - h,   F(k) = P(C <= k),
#     t = ceil((N+1) A / (A+B)) - 1,
#
# which falls with N, as one more fair coin only hides more: where N may be very many numbers they are taken in groups,
# each for the smallest in it. It is 0 where A <= 0, that is g >= 2/(1 + e^e): then each answer is e-locally private by
# itself. This is an upper bound on what the shuffled count gives away; g follows by bisection (rounded up by 1e-4 of
# itself at most) and never exceeds 2/(1 + e^e). So small batches fall back to local randomised response: the fewer
# users there are to hide among, the more each of them hides alone.
#
# The closed form of print, g = 64 ln(4/delta) / (e^2 n), is meant for e up to 1. It needs about thirteen times as many
# noisy users as the account: 973 in place of 73 at e = 1, delta = 1e-6, n = 1000. Its proof was not at hand, so it is
# used where the account confirms it (for e of 20 among 10^9 users it does not), and the account's own g elsewhere.
#
# Neighbours are two batches of the same public size n in which one reward differs. If fewer than n users take part with
# the g of n, there are fewer to hide among: `shuffle_delta` says what is left of the promise.


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


# ---------------------------------------------------------------------------------------------------------------------
# Sums modulo m of whole numbers that users have added noise to (Chowdhury and Zhou 2023): no one adds noise to a sum.
#
# A batch of l users, a promise of epsilon. The user rounds the reward x in [0, 1] to g levels at random, floor(x g) +
# Bernoulli(fraction), adds a share of noise and sends the result modulo m. Secure aggregation shows the server the sum
# of all messages modulo m and nothing else. With m = l g + 2 tau + 1 the server subtracts m from what is above l g +
# tau; if the noise is within +-tau that is the noisy sum itself, and it is divided by g l.
#
# * ``PolyaSum``: g = ceil(epsilon sqrt l), shares P - P' with independent P, P' ~ Polya(1/l, a), a = e^(-epsilon/g),
#   tau = ceil(g ln(2/p)/epsilon). A Polya(r, a) variable is negative binomial of real order r, with generating function
#   ((1-a)/(1-a z))^r. So l of order 1/l sum to (1-a)/(1-a z): a geometric variable. The difference of two such has P(k)
#   = (1-a)/(1+a) a^|k|, the discrete Laplace distribution: one reward moves the sum by g at most, so no probability by
#   more than a^-g = e^epsilon. Pure, and what is done with a sum later (the modulus) gives nothing away. Simulation
#   draws this one noise for the l shares.
# * ``SkellamSum``: g = ceil(s e sqrt l), shares are differences of Poisson variables of mean g^2/(2 e^2 l): their sum
#   is Skellam of variance V = g^2/e^2, the difference of two Poisson variables of mean V/2. Renyi divergences of order
#   a are a e^2/2 and a little: `bandit_core.theory.definitions.skellam_renyi`. As cosh u - 1 <= u^2/2/(1 - u/3), the
#   noise is beyond sqrt(2 V x) + x/3 on one side with chance at most e^-x; tau takes x = ln(4/p). (Print has the larger
#   2 (g/e) sqrt(ln(2/p)) + sqrt(2) ln(2/p), from a coarser tail.)
#
# Chance that the modulus spoils a sum: the noise is beyond +-tau. Discrete Laplace: 2 a^(tau+1)/(1+a) <= p/2; Skellam:
# 2 e^-x = p/2. This is for one sum: it does not shrink with the number of sums that a run releases.
#
# Neighbours are two batches of the same l users in which one reward differs; all l add their shares. With fewer shares
# the noise is no discrete Laplace any more and the promise is weaker: a batch is released only when it is complete.


_WIDE = 45.0  # nats of probability that are left out of a distribution


@inlined
def discrete_laplace(first: float, second: float, rate: float) -> float:
    """Discrete Laplace noise, P(k) proportional to e^(-``rate`` |k|), by inversion of two uniforms in [0, 1)."""
    return math.floor(-math.log1p(-first) / rate) - math.floor(-math.log1p(-second) / rate)


@inlined
def decoded(total: float, most: float, slack: float) -> float:
    """The sum that the server believes in: ``total`` modulo m = ``most`` + 2 ``slack`` + 1, from -slack on."""
    modulus = most + 2.0 * slack + 1.0
    rest = total - modulus * math.floor(total / modulus)
    return rest - modulus if rest > most + slack else rest


def levels(epsilon: float, users: int, scale: float = 1.0) -> int:
    """g = ceil(scale epsilon sqrt(users)): the levels that rewards are rounded to."""
    return max(1, math.ceil(scale * epsilon * math.sqrt(users)))


def polya_slack(epsilon: float, levels: int, chance: float) -> int:
    """tau = ceil(g ln(2/p)/epsilon), in levels."""
    return math.ceil(levels * math.log(2 / chance) / epsilon)


def skellam_slack(variance: float, chance: float) -> int:
    """tau = ceil(sqrt(2 V x) + x/3) with x = ln(4/p), in levels."""
    x = math.log(4 / chance)
    return math.ceil(math.sqrt(2 * variance * x) + x / 3)


@dataclass(frozen=True, kw_only=True)
class ModularSum(Batch):
    """The server sees a sum modulo m; users round to ``levels`` and add noise, ``slack`` is tau."""

    levels: int
    slack: int

    @property
    def modulus(self) -> int:
        """m = l g + 2 tau + 1."""
        return self.users * self.levels + 2 * self.slack + 1

    @abstractmethod
    def shares(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        """Noise that single users add, whole numbers."""

    @abstractmethod
    def log_mass(self, noise: ArrayLike) -> np.ndarray:
        """ln of the probability of so much noise on the sum."""

    def messages(self, rewards: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        """What users send, whole numbers from 0 to m - 1, for batches of rewards in [0, 1], shape (..., users)."""
        scaled = np.asarray(rewards, float) * self.levels
        rounded = np.floor(scaled + rng.random(scaled.shape))
        return (rounded + self.shares(scaled.shape, rng)).astype(np.int64) % self.modulus

    @property
    @abstractmethod
    def reach(self) -> int:
        """Noise beyond this has a chance that no double tells from 0."""

    def release(self, rewards: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        return self.messages(rewards, rng).sum(axis=-1) % self.modulus

    def estimate(self, seen: ArrayLike) -> np.ndarray:
        total = np.asarray(seen, np.int64)
        most = self.users * self.levels
        return np.where(total > most + self.slack, total - self.modulus, total) / most

    def law(self, ones: int) -> tuple[np.ndarray, np.ndarray]:
        noise = np.arange(-self.reach, self.reach + 1)
        chances = np.zeros(self.modulus)
        np.add.at(chances, (noise + ones * self.levels) % self.modulus, np.exp(self.log_mass(noise)))
        return np.arange(float(self.modulus)), chances


@dataclass(frozen=True, kw_only=True)
class PolyaSum(ModularSum):
    """Shares of discrete Laplace noise of ``epsilon`` / g a level."""

    epsilon: float

    @classmethod
    def of(cls, users: int, epsilon: float, chance: float = 0.1) -> Self:
        """The printed mechanism; ``chance`` is p."""
        g = levels(epsilon, users)
        return cls(users=users, levels=g, slack=polya_slack(epsilon, g, chance), epsilon=epsilon)

    def shares(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        stop = -math.expm1(-self.epsilon / self.levels)
        plus, minus = (rng.negative_binomial(1 / self.users, stop, shape) for _ in range(2))
        return plus - minus

    def log_mass(self, noise: ArrayLike) -> np.ndarray:
        rate = self.epsilon / self.levels
        return math.log(math.tanh(rate / 2)) - rate * np.abs(np.asarray(noise, float))

    @property
    def reach(self) -> int:
        return math.ceil(_WIDE * self.levels / self.epsilon)


@dataclass(frozen=True, kw_only=True)
class SkellamSum(ModularSum):
    """Shares of Skellam noise of ``variance`` V on the whole sum, in squared levels."""

    variance: float

    @classmethod
    def of(cls, users: int, rate: float, scale: float = 10.0, chance: float = 0.1) -> Self:
        """Noise of Renyi divergence about a ``rate``^2/2 at every order a; ``scale`` is s, ``chance`` p."""
        g = levels(rate, users, scale)
        variance = (g / rate) ** 2
        return cls(users=users, levels=g, slack=skellam_slack(variance, chance), variance=variance)

    def shares(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        mean = self.variance / (2 * self.users)
        return rng.poisson(mean, shape) - rng.poisson(mean, shape)

    def log_mass(self, noise: ArrayLike) -> np.ndarray:
        from scipy.special import ive  # heavy import, needed only for densities

        with np.errstate(divide="ignore"):  # P(k) = e^-V I_|k|(V)
            return np.log(ive(np.abs(np.asarray(noise, float)), self.variance))

    @property
    def reach(self) -> int:
        return math.ceil(math.sqrt(2 * self.variance * _WIDE) + _WIDE / 3)


def skellam_delta(made: SkellamSum, epsilon: float) -> float:
    """Delta at which one sum keeps ``epsilon``, exactly.

    Skellam noise is a sum of independent log-concave variables and so log-concave: the outcomes that are more than
    e^epsilon times as likely without a shift d are a half-line, so delta is the largest of F(t) - e^epsilon F(t - d)
    and grows with d. The farthest that one reward moves the sum, by all levels, is the worst.
    """
    noise = np.arange(-made.reach, made.reach + made.levels + 1)
    return batch_delta(np.exp(made.log_mass(noise)), np.exp(made.log_mass(noise - made.levels)), epsilon)


def polya_sum(epsilon: float = 1.0, *, users: int = 1000) -> PolyaSum:
    """The printed mechanism with p = 0.1.

    >>> polya_sum(1.0, users=64).modulus, polya_sum(1.0, users=64).levels
    (561, 8)
    """
    return PolyaSum.of(users, epsilon)


def skellam_sum(epsilon: float = 1.0, *, users: int = 1000, delta: float = 1e-6) -> SkellamSum:
    """Just enough noise for (epsilon, ``delta``) of one sum, with s = 10 and p = 0.1.

    >>> made = skellam_sum(1.0, users=64, delta=0.01)
    >>> 0.0099 < skellam_delta(made, 1.0) <= 0.01
    True
    """

    def is_kept(rate: float) -> bool:
        return skellam_delta(SkellamSum.of(users, rate), epsilon) <= delta

    return SkellamSum.of(users, bisected(0.0, math.sqrt(2 * epsilon) + 10.0, is_kept, 1e-6, 50)[0])


DESCRIPTIONS = (
    described("shuffled-bits", shuffled_bits),
    described("polya-sum", polya_sum),
    described("skellam-sum", skellam_sum),
)
