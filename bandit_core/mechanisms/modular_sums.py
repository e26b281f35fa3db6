r"""Sums modulo m of whole numbers that users have added noise to (Chowdhury and Zhou 2023): no one adds noise to a sum.

A batch of l users, a promise of epsilon. The user rounds the reward x in [0, 1] to g levels at random, floor(x g) +
Bernoulli(fraction), adds a share of noise and sends the result modulo m. Secure aggregation shows the server the sum of
all messages modulo m and nothing else. With m = l g + 2 tau + 1 the server subtracts m from what is above l g + tau; if
the noise is within +-tau that is the noisy sum itself, and it is divided by g l.

* ``PolyaSum``: g = ceil(epsilon sqrt l), shares P - P' with independent P, P' ~ Polya(1/l, a), a = e^(-epsilon/g), tau
  = ceil(g ln(2/p)/epsilon). A Polya(r, a) variable is negative binomial of real order r, with generating function
  ((1-a)/(1-a z))^r. So l of order 1/l sum to (1-a)/(1-a z): a geometric variable. The difference of two such has
  P(k) = (1-a)/(1+a) a^|k|, the discrete Laplace distribution: one reward moves the sum by g at most, so no probability
  by more than a^-g = e^epsilon. Pure, and what is done with a sum later (the modulus) gives nothing away. Simulation
  draws this one noise for the l shares.
* ``SkellamSum``: g = ceil(s e sqrt l), shares are differences of Poisson variables of mean g^2/(2 e^2 l): their sum is
  Skellam of variance V = g^2/e^2, the difference of two Poisson variables of mean V/2. Renyi divergences of order a are
  a e^2/2 and a little: `bandit_core.theory.accounting.skellam_renyi`. As cosh u - 1 <= u^2/2/(1 - u/3), the noise is
  beyond sqrt(2 V x) + x/3 on one side with chance at most e^-x; tau takes x = ln(4/p). (Print has the larger
  2 (g/e) sqrt(ln(2/p)) + sqrt(2) ln(2/p), from a coarser tail.)

Chance that the modulus spoils a sum: the noise is beyond +-tau. Discrete Laplace: 2 a^(tau+1)/(1+a) <= p/2; Skellam:
2 e^-x = p/2. This is for one sum: it does not shrink with the number of sums that a run releases.

Neighbours are two batches of the same l users in which one reward differs; all l add their shares. With fewer shares
the noise is no discrete Laplace any more and the promise is weaker: a batch is released only when it is complete.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.jit.decorators import inlined
from bandit_core.mechanisms.batch import Batch, batch_delta
from bandit_core.mechanisms.description import described
from bandit_core.spec.portable_math import bisected

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


DESCRIPTIONS = (described("polya-sum", polya_sum), described("skellam-sum", skellam_sum))
