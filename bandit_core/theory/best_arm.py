r"""How many users it takes to find the best arm, whoever looks for it: characteristic times, with and without privacy.

A policy is delta-correct when on every instance it stops and is wrong with probability delta at most. Let I(mu, x) be
the most that one pull of an arm of mean mu can tell against mean x. If in another instance nu' some other arm is the
best one, the recommendation tells nu from nu', so by the chain rule up to the stopping time (Garivier and Kaufmann
2016, Theorem 1)

    sum over arms of E[N_a] I(mu_a, mu'_a) >= kl(delta, 1 - delta),   hence   E[users] >= T* kl(delta, 1 - delta),
    1/T* = max over shares w of  min over a != *, x  of  w_* I(mu_*, x) + w_a I(mu_a, x).

* Without privacy I is the Bernoulli divergence kl.
* Under eps-local privacy no channel tells more of two-valued rewards than randomised response, so I is the kl of the
  chances lambda = 1/2 + tanh(eps/2) (mu - 1/2) that its bits are 1.
* With a curator the recommendation and the order of the actions are all that is seen, and I is d_eps: the argument of
  `theory.central.evidence`, for an end that is computed from the same releases. As d_eps(x, y) is at most kl(x, y) and
  eps |x - y|, and kl(delta, 1 - delta) at least ln(1/(3 delta)), this implies the bound with max(T*_kl, T*_TV/eps) and
  ln(1/(3 delta)), and so the form with T*_TV/(6 eps) of Azize, Jourdan, Al Marjani and Basu 2023. T*_TV = 1/gap_min +
  sum of 1/gap_a is the characteristic time of I = |x - y|.

The maximum: let x_a be the share of arm a over that of the best arm. For a given y there is one x_a at which the inner
minimum is y, and at its u_a the slopes of both terms cancel: x_a = -I'(mu_*, u) / I'(mu_a, u), the derivatives being in
u. So T* = min over y of (1 + sum x_a(y)) / y, which is reached where the sum of I(mu_*, u_a) / I(mu_a, u_a) is 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bandit_core.model import PROMISES, Bound, Model, Privacy, RunSetup
from bandit_core.spec import rewards as distributions
from bandit_core.spec.found import fields_of
from bandit_core.spec.own_data import remembered
from bandit_core.theory import central, classic, divergences, stated

_STEPS = 60  # of bisection


@dataclass(frozen=True)
class TimeBound(Bound):
    """A lower bound on the mean number of ``users`` until a decision, which has no curve.

    ``time`` is the characteristic time, in users per nat of certainty.
    """

    time: float = math.inf
    users: float = 0.0


def _slope(rise: np.ndarray, at: np.ndarray, epsilon: float) -> np.ndarray:
    """Derivative of d_eps(mean, u) at u = ``at``, ``rise`` above the mean; with an infinite epsilon that of kl."""
    hidden = -math.expm1(-epsilon)
    with np.errstate(divide="ignore", invalid="ignore"):  # at the ends of a search between means 0 and 1
        return np.asarray(np.minimum(rise / (at * (1 - at)), hidden / (1 - hidden * at)))


def _information(mean: np.ndarray, other: np.ndarray, epsilon: float) -> np.ndarray:
    return divergences.bernoulli_kl(mean, other) if math.isinf(epsilon) else central.d_eps(mean, other, epsilon)


@dataclass(frozen=True)
class _Rivals:
    """The best mean against the others (others,), through a curator with ``epsilon`` or, where infinite, without."""

    best: float
    others: np.ndarray
    epsilon: float

    def at(self, share: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(x_a, I(mu_*, u_a), I(mu_a, u_a)) for u_a so far on the way from the other mean to the best one."""
        gaps = self.best - self.others
        u = self.others + share * gaps
        x = _slope((1 - share) * gaps, 1 - u, self.epsilon) / _slope(share * gaps, u, self.epsilon)
        return x, _information(np.full_like(u, self.best), u, self.epsilon), _information(self.others, u, self.epsilon)

    def shares(self, y: float) -> np.ndarray:
        """How far each u_a is, where the inner minimum is y."""
        low, high = np.zeros_like(self.others), np.ones_like(self.others)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            x, mine, theirs = self.at(middle)
            above = mine + x * theirs > y  # falls on the way to the best mean
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.asarray((low + high) / 2)


def characteristic_time(means: Sequence[float] | np.ndarray, epsilon: float = math.inf) -> float:
    """T* for two-valued rewards of these chances, in users per nat; infinite where the best arm is not alone.

    With ``epsilon`` (nats) what a curator lets through: I = d_eps. For local privacy give the chances of the bits.
    >>> round(characteristic_time([0.6, 0.4]), 3)  # by hand 1 / kl(0.6, 0.5)
    49.663
    """
    ordered = sorted(map(float, means), reverse=True)
    if len(ordered) < 2 or ordered[0] == ordered[1]:
        return math.inf
    return _time(tuple(ordered), epsilon)


@remembered(256)
def _time(means: tuple[float, ...], epsilon: float) -> float:
    """T* for means in descending order, the first alone."""
    rivals = _Rivals(means[0], np.array(means[1:]), epsilon)
    most = float(np.min(_information(np.full_like(rivals.others, rivals.best), rivals.others, epsilon)))
    most = most if math.isfinite(most) else -math.log(1e-300)  # a worse arm that never pays

    def balance(y: float) -> float:
        _, mine, theirs = rivals.at(rivals.shares(y))
        return float(np.log(np.sum(np.maximum(mine, 1e-300) / np.maximum(theirs, 1e-300))))

    from scipy.optimize import brentq  # heavy import

    y = float(brentq(balance, 1e-9 * most, (1 - 1e-9) * most, xtol=1e-14 * most, rtol=1e-13))
    x, _, _ = rivals.at(rivals.shares(y))
    return float((1 + x.sum()) / y)


def variation_time(means: Sequence[float] | np.ndarray) -> float:
    """T*_TV = 1/gap_min + sum of 1/gap_a over the worse arms; infinite where the best arm is not alone."""
    gaps = np.sort(np.max(means) - np.asarray(means, float))[1:]
    return math.inf if not len(gaps) or gaps[0] == 0 else float(1 / gaps[0] + np.sum(1 / gaps))


def certainty(delta: float) -> float:
    """kl(delta, 1 - delta), in nats; 0 from delta = 1/2 on, where a coin is right often enough."""
    return 0.0 if delta >= 0.5 else float(divergences.bernoulli_kl(delta, 1 - delta))


_PLAIN, _LOCAL, _CENTRAL, _VARIATION = (
    TimeBound(curve=stated.nothing, **fields_of(stated.__file__, key))
    for key in (
        "characteristic-time", "characteristic-time-of-bits", "central-characteristic-time",
        "central-total-variation-time",
    )
)  # fmt: skip
_STATED: dict[Model, list[TimeBound]] = {"none": [], "local": [_LOCAL], "central": [_CENTRAL, _VARIATION]}


def time_bounds(
    arms: Sequence[distributions.RewardDistribution],
    delta: float,
    privacy: Privacy = "none",
    epsilon: float | None = None,
    pure: bool = True,
) -> list[TimeBound]:
    """What bounds the mean number of users of every delta-correct policy that keeps the promise ``privacy``.

    The bound without privacy comes first; it holds for all, and it is alone where the promise is not ``pure``. Then
    those of the strongest promise that ``privacy`` implies and that has bounds of its own. ``epsilon`` in nats;
    ``arms`` as in a spec, with counts.
    """
    setup = RunSetup(distributions.expand(tuple(arms)), None, None, 1)
    nearest = next(key for key in PROMISES[privacy].implied() if key in _STATED) if pure else "none"
    stated = [_PLAIN, *_STATED[nearest]]
    binary = classic.binary_arms(setup)
    if binary is None:
        return [bound.ruled_out("derived for arms that all pay one of the same two amounts") for bound in stated]
    chances = binary.chances
    if len(chances) < 2 or np.count_nonzero(classic.true_gaps(setup) == 0) > 1:
        return [bound.ruled_out("several arms are the best: no number of users tells them apart") for bound in stated]
    plain, sure = characteristic_time(chances), certainty(delta)
    bounds = [_at(_PLAIN, plain, sure)]
    if nearest == "none":
        return bounds
    assert epsilon is not None, "a private policy has a budget"
    if nearest == "local":
        bits = 0.5 + math.tanh(epsilon / 2) * (chances - 0.5)
        return [*bounds, _at(_LOCAL, characteristic_time(bits), sure)]
    simple = max(plain, variation_time(chances) / (6 * epsilon))
    private = _at(_CENTRAL, characteristic_time(chances, epsilon), sure)
    return [*bounds, private, _at(_VARIATION, simple, max(0.0, -math.log(3 * delta)))]


def _at(bound: TimeBound, time: float, sure: float) -> TimeBound:
    return replace(bound, time=time, users=time * sure)
