"""Which promise implies which and at what price, and what releases add up to."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from bandit_core.model import PROMISES, Model, Promise
from bandit_core.spec.found import all_fields
from bandit_core.spec.portable_math import bisected

# ---------------------------------------------------------------------------------------------------------------------
# Which promise of privacy implies which, and at what price.
#
# The promises themselves stand in `bandit_core.model.promises`; those that no policy keeps, and the budgets between
# them and central DP, are after Basu, Dimitrakakis and Tossou 2019.


DEFINITIONS: dict[Model, Promise] = {key: promise for key, promise in PROMISES.items() if promise.formula}


_BUDGETS: dict[str, Callable[[float, int], float]] = {
    "ε": lambda epsilon, horizon: epsilon,
    "2ε": lambda epsilon, horizon: 2 * epsilon,
    "(T − 1) ε": lambda epsilon, horizon: max(horizon - 1, 0) * epsilon,
}


@dataclass(frozen=True)
class Implication:
    """``source`` at epsilon implies ``target`` at ``budget(epsilon, horizon)``; ``mark`` is that budget in words."""

    source: Model
    target: Model
    mark: str
    why: str

    def budget(self, epsilon: float, horizon: int) -> float:
        """Epsilon of the target for so many users."""
        return _BUDGETS[self.mark](epsilon, horizon)

    @property
    def lasting(self) -> bool:
        """Whether the budget stays the same for any number of users."""
        return self.budget(1.0, 10) == self.budget(1.0, 20)


_STATED = [*all_fields(__file__).values()]
IMPLICATIONS = (
    *(
        Implication(promise.key, target, "ε", promise.why)
        for promise in DEFINITIONS.values()
        for target in (promise.weaker, *promise.also)
        if target in DEFINITIONS
    ),
    *(Implication(**each) for each in _STATED if "mark" in each),
)
NOT_IMPLIED: tuple[tuple[Model, Model, str], ...] = (
    *(
        (target, each.key, each.not_back)
        for each in PROMISES.values()
        for target in (each.weaker, *each.also)
        if target and each.not_back
    ),
    *((each["source"], each["target"], each["why"]) for each in _STATED if "mark" not in each),
)


# ---------------------------------------------------------------------------------------------------------------------
# What releases add up to: composition, and the accounts of DP-UCB-INT (Tossou and Dimitrakakis 2016, section 3.3).
#
# Two ways of adding up, the smaller one where a delta is allowed: plain sums, and Renyi divergences (`laplace_renyi`,
# `gaussian_renyi`), which simply add up over releases that depend on each other (Mironov 2017, Proposition 1) and are
# turned into an epsilon at the end by `renyi_epsilon`.
#
# Everything here is about one reward. Rewards of different arms never meet (an arm's releases use its own rewards
# only), so the account of a run is that of its most pulled arm.
#
# DP-UCB-INT releases the mean of an arm at n = f, 2f, 3f, ... pulls with Laplace noise of scale n^(v/2 - 1); one reward
# moves that mean by at most 1/n, so the release is n^(-v/2)-private (Lemma 3.1). The very first reward is in all of
# them, so the budgets to add up are (jf)^(-v/2), j = 1, 2, ... An e-private release has a Renyi divergence of order a
# of at most a e^2 / 2 (Bun and Steinke 2016, Proposition 3.3: it is e^2/2-zCDP), so a run that never ends has at most a
# S / 2 with S = f^-v zeta(v), the sum of squared budgets. No horizon enters, and the interval that keeps a target can
# be found by hand. (Adding up `laplace_renyi` term by term would allow f = 90 in place of 93 at epsilon 1, delta e^-10,
# v = 1.1, and 4,062 in place of 4,142 at epsilon 0.1.)


Rule = Literal["paper", "advanced", "tight", "as printed", "calibrated"]  # the last two: older words for the first two
_FIRST = 64  # terms summed one by one before the rest is taken from the Euler-Maclaurin formula
_BERNOULLI = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600)
WHOLE_ORDERS = np.unique(np.rint(np.exp(np.linspace(math.log(2), math.log(1e9), 3000))))
ORDERS = 1 + np.exp(np.linspace(-9, 22, 6201))  # of Renyi divergences; each alone gives a true bound


@lru_cache(maxsize=64)
def _log_ways(times: int) -> np.ndarray:
    """Logarithms of the binomial coefficients of ``times``, shape (times + 1,)."""
    return np.array(
        [math.lgamma(times + 1) - math.lgamma(k + 1) - math.lgamma(times - k + 1) for k in range(times + 1)]
    )


def tight_delta(epsilon: float, part: float, times: int) -> float:
    """The smallest delta at which ``times`` adaptive releases, each ``part``-private, are (epsilon, delta)-private.

    Kairouz, Oh and Viswanath 2015, Theorem 3.3: no releases are worse than randomised responses, and of those the
    hockey-stick divergence is a sum over how many of them tell the truth.

    >>> tight_delta(2.0, 0.5, 4), round(tight_delta(0.0, 1.0, 1), 6) == round(math.tanh(0.5), 6)
    (0.0, True)
    """
    true = np.arange(times + 1)
    chances = _log_ways(times) - times * np.logaddexp(0.0, part)  # logarithms, without what each truth is worth
    gain = -np.expm1(np.minimum(0.0, epsilon + (times - 2 * true) * part))
    return float(np.sum(np.exp(chances + true * part) * gain))


@lru_cache(maxsize=4096)
def tight_part(epsilon: float, times: int, delta: float) -> float:
    """The most that each of ``times`` adaptive releases may spend if all are to be (epsilon, delta)-private.

    By bisection over `tight_delta`, from below, within a relative 1e-12; never less than epsilon / times.

    >>> round(tight_part(1.0, 1, 0.0), 6), round(tight_part(1.0, 100, 1e-6), 4) > 0.01
    (1.0, True)
    """
    return bisected(epsilon / times, epsilon + 50.0, lambda part: tight_delta(epsilon, part, times) <= delta, 1e-12)[0]


@lru_cache(maxsize=4096)
def tight_epsilon(part: float, times: int, delta: float) -> float:
    """Epsilon at ``delta`` of ``times`` adaptive releases, each ``part``-private: the inverse of `tight_part`.

    By bisection over `tight_delta`, from above; never more than times x part.

    >>> round(tight_epsilon(tight_part(2.0, 30, 1e-6), 30, 1e-6), 9), tight_epsilon(0.5, 4, 0.0)
    (2.0, 2.0)
    """
    low, high = 0.0, part * times
    while delta > 0 and high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if tight_delta(middle, part, times) <= delta else (middle, high)
    return high


def laplace_renyi(orders: np.ndarray, epsilon: float) -> np.ndarray:
    """Renyi divergence of one Laplace release: noise of scale sensitivity / ``epsilon`` (Mironov 2017, Table II).

    Parameters
    ----------
    orders
        Orders a > 1, any shape; the result has the same, in nats. Never above ``a epsilon^2 / 2`` nor ``epsilon``.

    >>> laplace_renyi(np.array([2.0, 1e6]), 1.0).round(4)
    array([0.6191, 1.    ])
    """
    a = np.asarray(orders, float)
    if math.isinf(epsilon):
        return np.full(a.shape, math.inf)
    up = np.log(a / (2 * a - 1)) + (a - 1) * epsilon
    down = np.log((a - 1) / (2 * a - 1)) - a * epsilon
    most = np.minimum(epsilon, a * epsilon**2 / 2)
    # Small budgets have no digits left after the cancellation, and lie next to the bound anyway.
    return most if epsilon < 1e-4 else np.clip(np.logaddexp(up, down) / (a - 1), 0.0, most)


def gaussian_renyi(orders: np.ndarray, distance: float) -> np.ndarray:
    """Renyi divergence of normal noise, ``distance`` = L2 sensitivity / standard deviation (Mironov 2017, Prop. 7)."""
    return np.asarray(orders, float) * distance**2 / 2


def skellam_renyi(orders: np.ndarray, levels: float, variance: float, total: float | None = None) -> np.ndarray:
    """Renyi divergence of Skellam noise of ``variance`` on a whole number that one reward moves by ``levels`` at most.

    Agarwal, Kairouz and Liu 2021, Theorem 3.5, for whole orders a >= 2: a D^2/(2 V) + min(((2a-1) D^2 + 6 D)/(4 V^2),
    3 D/(2 V)). As published; the tests find it above the divergence itself wherever they enumerate it. Of several
    independent numbers the divergences add up: ``levels`` is the Euclidean distance then, and ``total`` the sum of the
    absolute ones, in place of the single D.

    >>> skellam_renyi(np.array([2.0, 10.0]), 20.0, 400.0).round(4)  # a/2 and a little
    array([1.0021, 5.0121])
    """
    a, total = np.asarray(orders, float), levels if total is None else total
    more = np.minimum(((2 * a - 1) * levels**2 + 6 * total) / (4 * variance**2), 3 * total / (2 * variance))
    return a * levels**2 / (2 * variance) + more


def skellam_epsilon(rate: float, levels: int, delta: float) -> float:
    """Epsilon at ``delta`` of Skellam noise of variance (levels / ``rate``)^2, by whole orders.

    >>> round(skellam_epsilon(0.2, 4, 1e-6), 3)
    0.901
    """
    divergences = skellam_renyi(WHOLE_ORDERS, levels, (levels / rate) ** 2)
    return float(renyi_epsilon(divergences, delta, WHOLE_ORDERS))


@lru_cache(maxsize=4096)
def skellam_rate(epsilon: float, delta: float, users: int, scale: float) -> float:
    """The largest rate e (rounded down) whose Skellam noise keeps (``epsilon``, ``delta``) on batches of ``users``.

    A batch rounds to g = ceil(``scale`` e sqrt(users)) levels and has noise of variance g^2/e^2. Larger batches have
    more levels, and `skellam_renyi` falls with them at a given e: the smallest batch of a run decides.

    >>> round(skellam_rate(1.0, 1e-6, 4, 10.0), 3)
    0.22
    """

    def is_kept(rate: float) -> bool:
        return skellam_epsilon(rate, max(1, math.ceil(scale * rate * math.sqrt(users))), delta) <= epsilon

    return bisected(0.0, math.sqrt(2 * epsilon) + 1.0, is_kept, 1e-9, 100)[0]


def renyi_epsilon(divergences: np.ndarray, delta: float, orders: np.ndarray = ORDERS) -> np.ndarray:
    """The smallest epsilon that Renyi divergences at ``orders`` prove at ``delta``.

    min over a of R(a) + ln(1 - 1/a) - (ln delta + ln a)/(a - 1), never below 0 (Canonne, Kamath and Steinke 2020,
    Proposition 12).

    Parameters
    ----------
    divergences
        R, shape (..., orders), nats.

    >>> round(float(renyi_epsilon(gaussian_renyi(ORDERS, 0.25), 1e-5)), 3)
    1.012
    """
    spare = np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)
    return np.maximum(0.0, np.min(np.asarray(divergences, float) + spare, axis=-1))


def zcdp_epsilon(rho: np.ndarray | float, delta: float) -> np.ndarray:
    """Epsilon at ``delta`` of releases that are ``rho``-zCDP together; shape of ``rho``.

    >>> round(float(zcdp_epsilon(0.5, 1e-6)), 3)
    5.222
    """
    return renyi_epsilon(np.asarray(rho, float)[..., None] * ORDERS, delta)


def zcdp_rho(epsilon: float, delta: float) -> float:
    """The largest rho with rho + 2 sqrt(rho ln(1/delta)) <= ``epsilon``: what a policy of that budget spends.

    Bun and Steinke 2016, Proposition 1.3; the epsilon of `zcdp_epsilon` is never larger.

    >>> round(zcdp_rho(1.0, 1e-6), 5)
    0.01747
    """
    chance = math.log(1 / delta)
    return (epsilon / (math.sqrt(epsilon + chance) + math.sqrt(chance))) ** 2


def _beyond(start: np.ndarray, power: float) -> np.ndarray:
    """``sum of j^-power for j >= start`` by the Euler-Maclaurin formula; where it diverges, up to a constant."""
    total = start ** (1 - power) / (power - 1) + start**-power / 2
    rising = power * start ** (-power - 1)
    for order, weight in enumerate(_BERNOULLI):
        total = total + weight * rising
        rising = rising * (power + 2 * order + 1) * (power + 2 * order + 2) / start**2
    return total


def _power_sums(count: np.ndarray, power: float) -> np.ndarray:
    """``sum of j^-power for j = 1 .. count`` for whole counts (any shape; inf needs power > 1), to 12 digits."""
    head = np.append(0.0, np.cumsum(np.arange(1.0, _FIRST) ** -power))
    endless, few = np.isinf(count), count < _FIRST
    last = np.where(endless | few, _FIRST, count).astype(float)
    rest = np.where(endless, 0.0, _beyond(last, power) - last**-power)
    return np.where(
        few, head[np.where(few, count, 0).astype(int)], head[-1] + _beyond(np.array(_FIRST * 1.0), power) - rest
    )


def zeta(v: float) -> float:
    """Riemann's zeta function at v > 1.

    >>> round(zeta(1.1), 4), round(zeta(2.0) * 6 / math.pi**2, 12)
    (10.5844, 1.0)
    """
    return float(_power_sums(np.array(math.inf), v))


def input_epsilon(epsilon: float, delta: float, v: float) -> float:
    """Corollary 3.2: the epsilon' to run DP-UCB-INT with so that Corollary 3.1 states ``epsilon`` in the limit.

    Solves ``2 zeta(v) x^2 + x sqrt(2 zeta(v) ln(1/delta)) = epsilon``.

    >>> round(input_epsilon(1.0, math.exp(-10), 1.1), 5), round(input_epsilon(0.1, math.exp(-10), 1.1), 7)
    (0.06296, 0.0068057)
    """
    chance, scale = math.log(1 / delta), 8 * zeta(v)
    # The difference of the two roots of the paper, written so that a small epsilon loses no digits.
    return 4 * epsilon / scale / (math.sqrt((chance + 4 * epsilon) / scale) + math.sqrt(chance / scale))


@lru_cache(maxsize=4096)
def release_interval(epsilon: float, delta: float, v: float, rule: Rule = "tight") -> int:
    """Pulls of an arm between two releases of DP-UCB-INT (f) for a target ``epsilon``.

    ``paper``: ceil(1/epsilon'), which spends more than the target. ``advanced``: ceil(epsilon'^(-2/v)), which makes
    f^-v zeta(v), the sum of squared budgets, no larger than the epsilon'^2 zeta(v) that Corollary 3.2 reckons with.
    ``tight``: the smallest with which `interval_epsilon` keeps the target however long the run.

    >>> [release_interval(1.0, math.exp(-10), 1.1, rule) for rule in ("paper", "advanced", "tight")]
    [16, 153, 93]
    """
    run_with = input_epsilon(epsilon, delta, v)
    if rule in ("paper", "as printed"):
        return max(1, math.ceil(1 / run_with))
    enough = max(1, math.ceil(run_with ** (-2 / v)))
    if rule in ("advanced", "calibrated"):
        return enough
    # enough is no promise yet, only never too few by the tight account
    return bisect_left(range(enough), True, 1, key=lambda each: bool(interval_epsilon(each, v, delta) <= epsilon))


def interval_epsilon(interval: int, v: float, delta: float, pulls: np.ndarray | float = math.inf) -> np.ndarray:
    """Epsilon really spent on an arm's first reward by releases at ``interval``, 2 ``interval``, ... up to ``pulls``.

    Parameters
    ----------
    pulls
        Pulls of the arm, any shape; infinite (the default) for a run that never ends.

    Returns
    -------
    ndarray
        Shape of ``pulls``. The smaller of the plain sum and of what zCDP gives at ``delta``, 0 before the first
        release; it never falls with ``pulls``. (Advanced composition is never the smallest of the three.)

    >>> [round(float(interval_epsilon(f, 1.1, math.exp(-10))), 3) for f in (16, 93, 153)]
    [2.939, 0.994, 0.735]
    """
    pulls = np.asarray(pulls, float)
    releases, places = np.unique(np.floor(pulls / interval), return_inverse=True)
    unit = interval ** (-v / 2)  # budget of the first release
    plain = np.where(np.isinf(releases), math.inf, unit * _power_sums(np.where(np.isinf(releases), 0, releases), v / 2))
    spent = np.minimum(plain, zcdp_epsilon(unit**2 * _power_sums(releases, v) / 2, delta))
    return spent[places].reshape(pulls.shape)
