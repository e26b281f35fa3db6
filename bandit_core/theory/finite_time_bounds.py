r"""Lower bounds that hold at every number of users, not only in the long run.

All four compare the instance nu with another one nu' on which a policy would have to play differently. Let H be what
the policy has seen after T pulls, and Z in [0, 1] anything computed from it. By the chain rule and because computing
loses information (Garivier, Menard and Stoltz 2019, inequality 6)

    sum over arms b of E_nu[N_b(T)] I(nu_b, nu'_b)  >=  KL(law of H under nu, under nu')  >=  kl(E_nu Z, E_nu' Z),   (1)

where I is the most that one pull can tell (`Evidence`), and kl the divergence of two coins. What a pull tells depends
on the promise of privacy:

* without privacy the reward itself, KL(nu_b, nu'_b);
* under local privacy one private answer: `local.evidence`;
* with a trusted curator H are the actions alone, and I is d_eps at every T: `central.evidence`.

**Every policy.** Each trial lists the arms in a random order, so a policy is as good on nu as on nu with arm a and the
best arm exchanged: P(A_t = a) and P(A_t = best) change places. With p and q_a for these two chances at time t, the
first inequality of (1) for t - 1 pulls, and the divergence of what is played next (best, a, or another), give

    (p - q_a) ln(p / q_a)  <=  E[N_a] I(nu_a, nu_*) + E[N_*] I(nu_*, nu_a)  <=  (t - 1) I_a

with I_a the larger one of both, as at most t - 1 pulls went to the two. The cost of pull t is at least the least sum
of gap_a q_a over all chances that satisfy this for every worse arm; the set is convex, so one number p has to be
searched. The first pull costs the mean gap. Nothing is assumed of the policy: it may know all the means, only not which
arm has which.

**(i) to (iii).** nu' differs from nu in one worse arm a only, so the left side of (1) is E[N_a] I. With Z = N_a(T)/T:

(i) a policy that pulls an arm at least T/K times in expectation once it is made the best (nu'_a as close above mu_* as
    one likes): n_a I_a >= kl(n_a/T, 1/K) unless n_a >= T/K.
(ii) a policy that gives 90% of the pulls to the best arms when arm a is made equal to the m best ones; in a random
    order each of these m + 1 has the same share: n_a I_a >= kl(n_a/T, 0.9/(m + 1)) unless n_a is larger than that.
(iii) a policy that loses at most B when arm a is raised to mu_* + eta: everything but arm a costs at least eta there,
    so E_nu'[N_a] >= T - B/eta and n_a >= kl(n_a/T, 1 - B/(eta T)) / I_a(eta) for every eta. B is twice the asymptotic
    bound at T.

The bound is the sum of gap_a n_a at the smallest n_a that satisfies the inequality. (i) to (iii) say nothing of a
policy outside their class, whose members a test looks for by simulation; they are not drawn beside curves.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bandit_core.model import Bound, Model, RunSetup
from bandit_core.spec import rewards as distributions
from bandit_core.spec.own_data import remembered
from bandit_core.theory import classic, divergences
from bandit_core.theory.stated import stated

MAX_DISTRIBUTIONS = 64  # of the worse arms, those with the smallest gaps; leaving others out can only lower a bound
SHARE = 0.9  # of the pulls, for the best arms in (ii)
_LONGEST = 10**9
_RAISES = np.append(np.geomspace(3e-4, 0.3, 40), np.linspace(0.35, 0.98, 10))  # eta in (iii), of the room above mu_*
_NOTHING_TO_LEARN = "all arms are equally good, so nothing can be lost"
# ln(p/q) = u from (1 - e^-u) u, by a table and one step of Newton's method.
_U = np.concatenate([np.geomspace(1e-9, 1.0, 1000), np.linspace(1.0, 760.0, 4000)[1:]])
_HEIGHT = -np.expm1(-_U) * _U


@dataclass(frozen=True)
class Evidence:
    """The most that one pull can tell about one reward distribution versus another, in nats, under one promise of
    privacy.

    ``distributions(distribution, other)`` for any two distributions (infinity where nothing better is known),
    ``chances(p, q)`` for rewards of two amounts with chances p and q of the higher one (arrays that broadcast).
    ``words`` say what it is, ``symbol`` is its formula.
    """

    model: Model
    distributions: Callable[[distributions.RewardDistribution, distributions.RewardDistribution], float]
    chances: Callable[[np.ndarray, np.ndarray], np.ndarray]
    words: str
    symbol: str


PLAIN = Evidence(
    "none",
    divergences.relative_entropy,
    divergences.bernoulli_kl,
    "what one reward tells is its KL divergence",
    r"\mathrm{KL}(\nu_a,\nu_*)",
)


@dataclass(frozen=True)
class _Rivals:
    """The worse arms by law: ``gaps``, ``counts``, what a pull tells about ``toward`` = I(nu_a, nu_*) and ``away`` =
    I(nu_*, nu_a), each of shape (distributions,). ``chances`` of the higher amount, if there are only two amounts."""

    evidence: Evidence
    gaps: np.ndarray
    counts: np.ndarray
    toward: np.ndarray
    away: np.ndarray
    chances: np.ndarray | None
    best_chance: float
    unit: float  # difference of the two amounts, reward units
    best: int  # number of best arms
    arms: int
    mean_gap: float

    @property
    def slope(self) -> float:
        """Sum of gap / I over the worse arms, the constant before ln t of the asymptotic bound."""
        return classic.per_log(np.repeat(self.gaps, self.counts), np.repeat(self.toward, self.counts))

    @cached_property
    def raised(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of eta, reward units, and what a pull of each distribution tells then; shapes (etas,) and
        (distributions, etas).
        """
        assert self.chances is not None
        room = 1 - self.best_chance
        return _RAISES * room * self.unit, self.evidence.chances(
            self.chances[:, None], self.best_chance + _RAISES * room
        )

    @property
    def every_policy(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of users and the floor of every policy there; between them it lies above the straight line."""
        evidence = np.maximum(self.toward, self.away)
        rivals = zip(evidence.tolist(), self.gaps.tolist(), self.counts.tolist(), strict=True)
        return _every_policy(tuple(rivals), self.best, self.mean_gap)


@remembered(256)  # one for all lines of a promise; without privacy, for all budgets
def _every_policy(
    rivals: tuple[tuple[float, float, int], ...], best: int, mean_gap: float
) -> tuple[np.ndarray, np.ndarray]:
    """`_Rivals.every_policy` where ``rivals`` has what a pull tells, gap and count of each distribution."""
    evidence, gaps, counts = (np.array(column) for column in zip(*rivals, strict=True))
    times = np.unique(np.append(np.arange(1.0, 33.0), np.geomspace(32, _LONGEST, 300).round()))
    cost = np.append(mean_gap, least_cost((times[1:, None] - 1) * evidence, gaps, counts, best))
    return times, np.cumsum(cost * np.diff(times, prepend=0.0))  # the cost falls: each step at its last value


def _two_amounts(setup: RunSetup, binary: classic.BinaryArms, evidence: Evidence) -> tuple[np.ndarray, ...]:
    """Gaps, counts, toward, away and chances of the worse arms."""
    gaps = classic.true_gaps(setup)
    worse, best = gaps > 0, np.array(binary.chances.max())
    chances, place, counts = np.unique(binary.chances[worse], return_index=True, return_counts=True)
    chances, place, counts = chances[-MAX_DISTRIBUTIONS:], place[-MAX_DISTRIBUTIONS:], counts[-MAX_DISTRIBUTIONS:]
    return gaps[worse][place], counts, evidence.chances(chances, best), evidence.chances(best, chances), chances


def _other_distributions(setup: RunSetup, evidence: Evidence) -> tuple[np.ndarray, ...]:
    """Gaps, counts, toward and away; the last two infinite where the best arms have different distributions."""
    best, worse = classic.distinct_distributions(setup)
    worse = sorted(worse, key=lambda each: each[1])[:MAX_DISTRIBUTIONS]
    gaps, counts = np.array([gap for _, gap, _ in worse]), np.array([count for _, _, count in worse], int)
    if len(best) > 1:
        return gaps, counts, np.full(len(worse), np.inf), np.full(len(worse), np.inf)
    toward = np.array([evidence.distributions(distribution, best[0]) for distribution, _, _ in worse])
    away = np.array([evidence.distributions(best[0], distribution) for distribution, _, _ in worse])
    return gaps, counts, toward, away


def _rivals(setup: RunSetup, evidence: Evidence) -> _Rivals:
    binary = classic.binary_arms(setup)
    gaps, counts, toward, away, *chances = (
        _two_amounts(setup, binary, evidence) if binary is not None else _other_distributions(setup, evidence)
    )
    all_gaps = classic.true_gaps(setup)
    best, arms, mean_gap = int((all_gaps == 0).sum()), len(setup.arms), float(all_gaps.mean())
    seen = (evidence, gaps, counts, toward, away)
    if binary is None:
        return _Rivals(*seen, None, math.nan, math.nan, best, arms, mean_gap)
    unit = binary.high - binary.low
    return _Rivals(*seen, chances[0], float(binary.chances.max()), unit, best, arms, mean_gap)


# --- the inequalities -------------------------------------------------------------------------------------------------


def least_cost(information: np.ndarray, gaps: np.ndarray, counts: np.ndarray, best: int) -> np.ndarray:
    """The least sum of gap x chance over the chances of the next pull that ``information`` allows.

    Parameters
    ----------
    information
        Most that is known, in nats, about a worse arm of each distribution versus a best one; shape (times,
        distributions).
    gaps, counts
        Gap (reward units) and number of the arms of each distribution, shape (distributions,).
    best
        Number of best arms.

    Returns
    -------
    ndarray
        Shape (times,), reward units. With p for a best arm each worse one has at least the q with
        (p - q) ln(p / q) = information; what is left over goes where it costs least.
    """
    low, high = np.full(len(information), 1e-9), np.full(len(information), 1.0 / best)
    for _ in range(43):  # the cost is convex in p, and the chances rise with it: the largest p at which it still falls
        p = (low + high) / 2
        rate = np.minimum(information / p[:, None], 755.0)
        u = np.interp(rate, _HEIGHT, _U)  # of ln(p / q): (1 - e^-u) u is the rate
        shrunk = np.exp(-u)
        u = (u - ((1 - shrunk) * u - rate) / (1 - shrunk + u * shrunk)).clip(1e-300, 760.0)
        ratio, rest = np.exp(-u), -np.expm1(-u)
        chances = counts * p[:, None] * ratio
        slope = counts * ratio * (u + rest) / (ratio * u + rest)  # of the chances, in p
        fits = best * p + chances.sum(axis=1) <= 1
        goes_on = fits & (slope @ (gaps - gaps.min()) < best * gaps.min())
        low, high = np.where(goes_on, p, low), np.where(goes_on, high, p)
    return np.asarray(gaps.min() * (1 - best * high) + chances @ (gaps - gaps.min()))


def _coin_kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """kl(p, q) for 0 < p <= q < 1, in its plain form: quick, and as exact as a search for its level needs."""
    return p * np.log(p / q) + (1 - p) * (np.log1p(-p) - np.log1p(-q))


def fewest_pulls(t: np.ndarray, information: np.ndarray, share: np.ndarray) -> np.ndarray:
    """The least n <= ``share`` x t with n x ``information`` >= kl(n/t, share), for shares in (0, 1).

    Arguments broadcast.

    >>> float(fewest_pulls(np.array(1e4), np.array(0.0444), np.array(0.45)).round(1))
    13.2
    """
    t, information, share = np.broadcast_arrays(np.asarray(t, float), information, share)
    low, high = np.zeros(t.shape), np.array(share, float)
    for _ in range(45):
        middle = (low + high) / 2
        with np.errstate(invalid="ignore", over="ignore"):
            enough = ~(t * middle * information < _coin_kl(middle, share))
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(t * low)


def _at_share(rivals: _Rivals, t: np.ndarray, share: float) -> np.ndarray:
    """Forms (i) and (ii): sum of gap x fewest pulls at one share; shape of ``t``."""
    return np.asarray(fewest_pulls(t[..., None], rivals.toward, np.array(share)) @ (rivals.gaps * rivals.counts))


def _fast_learner(rivals: _Rivals, t: np.ndarray) -> np.ndarray:
    """Form (iii): the largest n_a over a grid of eta, with B twice the asymptotic bound; shape of ``t``."""
    raises, tells = rivals.raised
    total = np.zeros(t.shape)
    for place, users in enumerate(t):
        share = 1 - 2 * rivals.slope * np.log(users) / (raises * users)
        says = share > 0
        if users > 1 and says.any():
            pulls = fewest_pulls(users, tells[:, says], share[says]).max(axis=1)
            total[place] = pulls @ (rivals.gaps * rivals.counts)
    return total


# --- the bounds -------------------------------------------------------------------------------------------------------


def _forms(evidence: Evidence) -> list[Bound]:
    """The floor of every policy and the forms (i) to (iii), in words and formulas."""
    said: dict[str, Any] = {"model": evidence.model, "symbol": evidence.symbol, "evidence": evidence.words}
    return [stated(key, **said) for key in ("floor-of-every-policy", "floor-i", "floor-ii", "floor-iii")]


def finite_time(setup: RunSetup, evidence: Evidence) -> list[Bound]:
    """The floor of every policy, and the forms (i) to (iii) for policies of a class; what does not apply is hidden.

    Parameters
    ----------
    setup
        Any arms. Arms that all pay one of the same two amounts have every form, other distributions those that need no
        distribution better than the best one.
    evidence
        What one pull tells under the promise of privacy: `PLAIN`, `local.evidence` or `central.evidence`.
    """
    bounds = _forms(evidence)
    if not classic.true_gaps(setup).any():
        return [bound.ruled_out(_NOTHING_TO_LEARN) for bound in bounds]
    rivals = _rivals(setup, evidence)
    curves = (
        lambda t: np.interp(t, *rivals.every_policy),
        lambda t: _at_share(rivals, t, 1 / rivals.arms),
        lambda t: _at_share(rivals, t, SHARE / (rivals.best + 1)),
        lambda t: _fast_learner(rivals, t),
    )
    bounds = [bound.with_curve(curve) for bound, curve in zip(bounds, curves, strict=True)]
    if not np.isfinite(rivals.toward).any():
        why = classic.BEST_IS_PERFECT if rivals.best_chance >= 1 else _UNKNOWN
        bounds[1:] = [bound.ruled_out(why) for bound in bounds[1:]]
    elif rivals.chances is None:
        bounds[3] = bounds[3].ruled_out("derived for arms that all pay one of the same two amounts")
    elif rivals.best_chance >= 1:
        bounds[3] = bounds[3].ruled_out(classic.BEST_IS_PERFECT)
    return bounds


_UNKNOWN = "the divergence between these distributions is infinite or not known here"


def without_privacy(setup: RunSetup) -> list[Bound]:
    """The floors for every policy, private or not: privacy can only hide information."""
    return finite_time(setup, PLAIN)


def lower_bounds(setup: RunSetup) -> list[Bound]:
    """What every policy must lose without privacy, at every number of users and in the long run."""
    return [*without_privacy(setup), *classic.lower_bounds(setup)]
