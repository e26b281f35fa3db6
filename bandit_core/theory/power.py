"""How many users an A/B test needs, and the critical values of tests of several options, with looks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy

from bandit_core.mechanisms.batch import levels, noisy_share
from bandit_core.model import Privacy
from bandit_core.spec.budgets import LARGEST
from bandit_core.spec.errors import InputError, Issue, raise_any, refuse_if
from bandit_core.spec.field_types import SMALLEST
from bandit_core.spec.later import pd
from bandit_core.spec.number_text import write_number

# ---------------------------------------------------------------------------------------------------------------------
# Critical values of tests of two or more options, with one look or several: Dunnett, Hsu, group-sequential.
#
# A difference from the baseline is compared with a boundary in standard errors. With one look, z_{1-alpha/2} for two
# options, z_{1-alpha} one-sided. With K > 2 options the differences share the baseline's mean. Where it has r users for
# one of each other option, their correlation is rho = 1 / (1 + r), and the critical value d of Dunnett (1955, A
# multiple comparison procedure for comparing several treatments with a control) solves
#
#     1 - alpha = E[ (Phi((d + sqrt(rho) U) / sqrt(1 - rho)) - Phi((-d + sqrt(rho) U) / sqrt(1 - rho)))^(K - 1) ],  (**)
#
# U standard normal; one-sided without the second term. One-sided with r = 1 it also names the best option: that one
# must beat each of the others by d, so the chance to name one that is not the best is at most alpha (Hsu 1984,
# Constrained simultaneous confidence intervals for multiple comparisons with the best). Where all others are equally
# good, the best beats them with the chance E[Phi(sqrt(2) (theta - d) + U)^(K - 1)], theta its lead in standard errors.
#
# A test with looks compares at times t_1 < ... < t_k = 1, shares of all users, with boundaries c_j, and ends where a
# difference lies beyond. What users add has independent increments, so Z_j sqrt(t_j) = B(t_j) with a Brownian motion B
# of drift theta. Lan and DeMets (1983, Discrete sequential boundaries for clinical trials) spend alpha by a function
# a(t):
#
#     P(first |Z_j| >= c_j is at look j) = a(t_j) - a(t_{j-1}),   a(1) = alpha,
# (***)
#
# * ``obrien-fleming``: a(t) = 2 - 2 Phi(z_{1-alpha/2} / sqrt(t)), one-sided 1 - Phi(z_{1-alpha} / sqrt(t)): early looks
#   need overwhelming evidence. Some programs spend 2 - 2 Phi(z_{1-alpha/4} / sqrt(t)) on each side: their first
#   boundaries are higher (five looks at level .05: 4.88 in place of 4.38), the last one is lower (2.03 for 2.06);
# * ``pocock``: a(t) = alpha ln(1 + (e - 1) t): each look needs about the same.
#
# For two options the integrals of (***) run over what has not ended yet (Armitage, McPherson and Rowe 1969), with
# Gauss-Legendre nodes between the boundaries of the look before. For more they are counted for the largest difference
# on paths of the joint normal, always the same ones.


Array = npt.NDArray[np.float64]
Paths = npt.NDArray[np.float32]
Spending = Literal["obrien-fleming", "pocock"]
NODES = 61  # of each integral; 121 give the same eight digits
PATHS, FEWEST_PATHS = 400_000, 40_000
MOST_NORMALS = 40_000_000  # that all paths take together, unless there are too few paths then
FAR = 9.0  # standard deviations beyond which nothing is


def normal_quantile(probability: float) -> float:
    """z: the standard normal is below it with this probability."""
    return float(scipy.special.ndtri(probability))


def _mean_over_shared(chance: Callable[[Array], Array]) -> float:
    """E[chance(U)], U standard normal."""
    places = np.linspace(-9.0, 9.0, 4001)
    weights = np.exp(-0.5 * places**2)
    return float(weights @ chance(places) / weights.sum())


@lru_cache(maxsize=512)
def critical_value(alpha: float = 0.05, options: int = 2, sides: int = 2, split: float = 1.0) -> float:
    """Standard errors that a difference from the baseline must exceed in a test with one look: d of (**).

    ``split`` is r. For two options it is the normal quantile.

    >>> round(critical_value(), 3), round(critical_value(options=5), 3), round(critical_value(options=5, sides=1), 3)
    (1.96, 2.442, 2.16)
    """
    if options == 2:
        return -normal_quantile(alpha / sides)
    shared, own = math.sqrt(1 / (1 + split)), math.sqrt(split / (1 + split))

    def any_alarm(critical: float, place: Array) -> Array:
        outside = scipy.special.ndtr((-critical - shared * place) / own)
        if sides == 2:
            outside = outside + scipy.special.ndtr((-critical + shared * place) / own)
        return np.asarray(-np.expm1((options - 1) * np.log1p(-np.minimum(outside, 1 - 1e-16))))

    def beyond(critical: float) -> float:
        return _mean_over_shared(lambda place: any_alarm(critical, place)) - alpha

    return float(scipy.optimize.brentq(beyond, -5.0 if sides == 1 else 1e-9, 30.0, xtol=1e-12))


def spent(time: float, alpha: float = 0.05, spending: Spending = "obrien-fleming", sides: int = 2) -> float:
    """a(t): the part of the level ``alpha`` that may be used until the share ``time`` of all users.

    >>> [round(spent(time), 5) for time in (0.2, 0.6, 1.0)]
    [1e-05, 0.0114, 0.05]
    """
    if spending == "pocock":
        return alpha * math.log1p((math.e - 1) * time)
    return sides * float(scipy.special.ndtr(normal_quantile(alpha / sides) / math.sqrt(time)))


def crossings(times: Sequence[float], boundaries: Sequence[float], drift: float = 0.0, sides: int = 2) -> Array:
    """Chance to cross each boundary first, shape (2, looks), above and below, of one difference with ``drift``.

    With one side there is no boundary below.

    >>> round(float(crossings((1.0,), (1.96,)).sum()), 4)
    0.05
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    places, mass, before = np.zeros(1), np.ones(1), 0.0
    crossed = np.zeros((2, len(times)))
    for look, (time, boundary) in enumerate(zip(times, boundaries, strict=True)):
        step, high = math.sqrt(time - before), boundary * math.sqrt(time)
        low = -high if sides == 2 else min(0.0, drift * time) - FAR * math.sqrt(time)
        middle = places + drift * (time - before)
        crossed[0, look] = mass @ scipy.special.ndtr((middle - high) / step)
        if sides == 2:
            crossed[1, look] = mass @ scipy.special.ndtr((low - middle) / step)
        if look == len(times) - 1:
            break
        ahead = (high + low + (high - low) * nodes) / 2
        density = np.exp(-0.5 * ((ahead[:, None] - middle) / step) ** 2) / (step * math.sqrt(2 * math.pi))
        places, mass, before = ahead, (high - low) / 2 * weights * (density @ mass), time
    return crossed


@lru_cache(maxsize=2)  # up to 32 MB each
def _extremes(times: tuple[float, ...], options: int, split: float) -> tuple[Paths, Paths]:
    """The smallest and the largest B of all differences at each time, (paths, looks): the same paths at every call."""
    random, each, shared = np.random.default_rng(0), (options - 1) * len(times), math.sqrt(1 / (1 + split))
    paths = min(PATHS, max(FEWEST_PATHS, MOST_NORMALS // each))
    steps = np.sqrt(np.diff(times, prepend=0.0), dtype=np.float32)
    lows, highs = [], []
    for part in np.array_split(np.arange(paths), math.ceil(paths * each / 4e6)):
        base = random.standard_normal((len(part), 1, len(times)), np.float32)
        own = random.standard_normal((len(part), options - 1, len(times)), np.float32)
        walks = ((shared * base + math.sqrt(1 - shared**2) * own) * steps).cumsum(axis=2)
        lows.append(walks.min(axis=1))
        highs.append(walks.max(axis=1))
    return np.concatenate(lows), np.concatenate(highs)


def _counted_boundaries(
    times: tuple[float, ...], spends: Sequence[float], options: int, sides: int, split: float
) -> list[float]:
    """The c_j of (***) for the largest of all differences."""
    low, high = _extremes(times, options, split)
    largest = (np.maximum(high, -low) if sides == 2 else high) / np.sqrt(times)
    boundaries, alive = [critical_value(spends[0], options, sides, split)], largest[:, 0] < math.inf
    for look in range(1, len(times)):
        alive &= largest[:, look - 1] < boundaries[-1]
        left = np.sort(largest[alive, look])
        boundaries.append(float(left[-max(1, round(spends[look] * len(largest)))]))
    return boundaries


def _integrated_boundaries(times: Sequence[float], spends: Sequence[float], sides: int) -> list[float]:
    """The c_j of (***) for one difference."""
    boundaries: list[float] = []
    for look, spend in enumerate(spends, 1):

        def beyond(boundary: float, look: int = look, spend: float = spend) -> float:
            return float(crossings(times[:look], (*boundaries, boundary), sides=sides)[:, -1].sum() - spend)

        boundaries.append(float(scipy.optimize.brentq(beyond, -FAR / 2 if sides == 1 else 0.0, 20.0, xtol=1e-10)))
    return boundaries


@dataclass(frozen=True, eq=False)
class Design:
    """A test's boundaries, and how it ends by the difference between the options.

    ``times`` and ``boundaries`` (looks,), the latter in standard errors; ``ends`` (looks, drifts) are the chances that
    the difference is found at each look, for ``drifts`` theta of a fine grid.
    """

    __test__ = False  # it is no test of pytest's

    times: tuple[float, ...]
    boundaries: tuple[float, ...]
    drifts: Array
    ends: Array
    normal: bool  # whether its one statistic is compared once, so that all is closed

    def chance(self, drift: Any) -> Any:
        """Power at these theta, numbers or arrays."""
        if self.normal:
            return scipy.special.ndtr(drift - self.boundaries[0])
        return np.interp(drift, self.drifts, self.ends.sum(axis=0))

    def drift(self, power: float) -> float:
        """The theta that is found with chance ``power``."""
        if self.normal:
            return self.boundaries[0] + normal_quantile(power)
        return float(np.interp(power, self.ends.sum(axis=0), self.drifts))

    def users(self, drifts: Any) -> tuple[float, float]:
        """The mean and the median share of all users after which tests of these theta end, all alike likely."""
        ended = np.array([np.mean(np.interp(drifts, self.drifts, each)) for each in self.ends.cumsum(axis=0)])
        ended[-1] = 1.0  # with the last look every test ends
        return float(np.diff(ended, prepend=0.0) @ self.times), self.times[int(np.searchsorted(ended, 0.5))]


@lru_cache(maxsize=512)
def design_of(
    alpha: float = 0.05,
    options: int = 2,
    best: bool = False,
    sides: int = 2,
    split: float = 1.0,
    looks: int = 1,
    spending: Spending = "obrien-fleming",
) -> Design:
    """The test with so many looks at equal distances; `bandit_core.theory.power.TestPlan` says what is allowed.

    ``best``: the best option must beat all others, which are equally good, else one option its baseline.

    >>> test = design_of(looks=5)
    >>> [round(each, 2) for each in test.boundaries], round(test.drift(0.8), 3)
    ([4.38, 3.1, 2.55, 2.25, 2.06], 2.854)
    """
    drifts = np.linspace(0.0, 12.0, 481)
    times = tuple((look + 1) / looks for look in range(looks))
    spends = np.diff([spent(time, alpha, spending, sides) for time in times], prepend=0.0).tolist()
    if looks == 1:
        boundaries = [critical_value(alpha, options, sides, split)]
    elif options == 2:
        boundaries = _integrated_boundaries(times, spends, sides)
    else:
        boundaries = _counted_boundaries(times, spends, options, sides, split)
    if best and looks == 1:

        def all_beaten(drift: float) -> float:
            lead = math.sqrt(2) * (drift - boundaries[0])
            return _mean_over_shared(lambda place: scipy.special.ndtr(lead + place) ** (options - 1))

        ends = np.array([[all_beaten(drift) for drift in drifts]])
    elif best:
        behind = np.array(boundaries) * np.sqrt(times) - _extremes(times, options, split)[0]
        found = np.minimum.accumulate((behind / times).T)  # from this theta on, by each look
        by_look = np.array([np.searchsorted(np.sort(each), drifts) for each in found]) / found.shape[1]
        ends = np.diff(by_look, axis=0, prepend=0.0)
    elif looks == 1:
        ends = scipy.special.ndtr(drifts - boundaries)[None, :]
    else:
        ends = np.array([crossings(times, boundaries, drift, sides)[0] for drift in drifts]).T
    return Design(times, tuple(boundaries), drifts, ends, looks == 1 and not best)


# ---------------------------------------------------------------------------------------------------------------------
# How many users an A/B test needs: tests of proportions or amounts, with and without privacy, with or without looks.
#
# Options of means p and p + D are to be told apart at level alpha with the given power. Each of n users per option adds
#
# * without privacy the reward itself, of variance p (1 - p) or, where amounts are known, theirs;
# * under local privacy one randomised bit, read as g = 1/2 + coth(epsilon/2) (bit - 1/2), which has mean p and variance
#   coth(epsilon/2)^2 / 4 - (p - 1/2)^2;
# * with a shuffler such a bit, which is uniform with the chance c of `mechanisms.batch` only, so that 1 / (1 -
#   c) stands in place of coth(epsilon/2);
# * with a secure sum the reward, to a sum with the discrete Laplace noise of `mechanisms.batch`;
# * with a trusted curator the reward, to a sum that is released once with Laplace(1/epsilon) noise, so that the mean
#   has variance p (1 - p) / n + 2 / (epsilon n)^2, for amounts their own in place of p (1 - p). A randomised bit of an
#   amount in [0, 1] has the variance above, whatever the amounts are.
#
# With s_0^2, s_1^2 the two variances of one user, r n users of the baseline and v(n) the variance of one noise, the
# means differ by D with the standard deviation that the test needs when
#
#     D^2 = theta^2 [ (s_0^2 / r + s_1^2) / n + L v(n) (1 + 1 / r^2) / n^2 ]                                         (*)
#
# for L blocks of users that are released one after the other (L = 1 without looks): each user is in one block, which
# spends the whole epsilon. The variances are not pooled; who pools them, or uses arcsine square roots, finds a few
# percent more or fewer users where rates are small. The means' distributions are taken as normal, as every textbook
# formula does: with noise in sums that is good where sampling outweighs it, that is n well above 4 / (epsilon^2 (s_0^2
# + s_1^2)). Where a curator's noise outweighs all else, an alpha of .05 of Dunnett's test is really .059 for 2 options,
# and .067, .074, .080, .101 for 3, 4, 5 and 10. theta and the boundaries d are those of
# `bandit_core.theory.power`: theta is d + z_power for one difference and one look. A test that names the best
# option is planned for the hardest case, in which all others are equally good: ``power`` is at least the chance that
# the best beats all of them.


COLUMNS = (
    "trust", "goal", "epsilon", "effect", "power", "users_per_option", "users", "inflation", "users_mean",
    "users_median",
)  # fmt: skip
MAX_OPTIONS = 10_000
MAX_USERS = 10**15  # per option; more is not told apart
MAX_LOOKS, MAX_OPTIONS_WITH_LOOKS = 100, 100
MAX_SPLIT = 1000.0  # users of the baseline for one of another option, or the reverse
TRUSTS: tuple[Privacy, ...] = ("none", "local", "central")
EVERY_TRUST: tuple[Privacy, ...] = ("none", "local", "shuffle", "distributed", "central")
Goal = Literal["best", "baseline"]
Solved = Literal["effect", "power", "epsilon"]


@dataclass(frozen=True)
class TestSize:
    """Users that a test needs: of an option that is not the baseline, and how many times as many as without privacy.

    ``cases`` are the numbers that 10%, half and 90% of several cases need at most, each by itself (None: there is one
    case). ``split`` is the number of users of the baseline for one of another option. With looks, tests of the planned
    effect end after the shares ``mean`` and ``median`` of all users.
    """

    __test__ = False  # it is no test of pytest's

    privacy: Privacy
    epsilon: float | None
    users_per_option: int
    inflation: float
    cases: tuple[int, ...] | None = None
    split: float = 1.0
    mean: float = 1.0
    median: float = 1.0

    def total(self, options: int) -> int:
        """Users of a test of so many options."""
        return self.users_per_option * (options - 1) + math.ceil(self.users_per_option * self.split)


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _not_chances(*pairs: tuple[str, float]) -> list[Issue]:
    """What is wrong with those of these numbers that are no chances between 0 and 1."""
    allowed = f"a number from {write_number(SMALLEST)}, below 1"
    return [Issue(name, each, allowed) for name, each in pairs if not _number(each) or not SMALLEST <= each < 1]


def _variance(mean: Any, reading: float | None) -> Any:
    """Variance of what one user adds to an option's mean: of the reward, or of a bit that is multiplied to be read."""
    return mean * (1 - mean) if reading is None else 0.25 * reading**2 - (mean - 0.5) ** 2


@dataclass(frozen=True)
class TestPlan:
    """How a test decides, and whom its users trust.

    Parameters
    ----------
    alpha, power
        Chance of finding any difference where there is none, and of finding one of the size that is planned for.
    privacy, epsilon, delta
        Who is trusted, the budget of each user (nats; ignored without privacy), and delta (with a shuffler only).
    options
        How many there are, the baseline included.
    goal
        ``baseline``: find one option that beats the baseline (Dunnett); ``best``: name the best one (Hsu). The same for
        two options.
    sides
        2, or 1 where only an option that is better counts. ``best`` of more than two is one-sided by itself.
    split
        Users of the baseline for one of each other option.
    looks, spending
        How often the test looks, and how it spends alpha (see `bandit_core.theory.power`).

    Raises
    ------
    InputError
        With every number that is out of its range.
    """

    __test__ = False

    alpha: float = 0.05
    power: float = 0.8
    privacy: Privacy = "none"
    epsilon: float | None = None
    options: int = 2
    goal: Goal = "baseline"
    sides: int = 2
    split: float = 1.0
    looks: int = 1
    spending: Spending = "obrien-fleming"
    delta: float = 1e-6

    def __post_init__(self) -> None:
        issues = _not_chances(("alpha", self.alpha), ("power", self.power))
        for name, whole, low, high in (
            ("options", True, 2, MAX_OPTIONS),
            ("looks", True, 1, MAX_LOOKS),
            ("sides", True, 1, 2),
            ("split", False, 1 / MAX_SPLIT, MAX_SPLIT),
            ("delta", False, 1e-15, 1e-3),
            *([] if self.privacy == "none" and self.epsilon is None else [("epsilon", False, SMALLEST, LARGEST)]),
        ):
            value = getattr(self, name)
            if not _number(value) or not low <= value <= high or (whole and value != int(value)):
                allowed = f"a {'whole ' * whole}number from {write_number(low)} to {write_number(high)}"
                issues.append(Issue(name, value, allowed))
        words = {"privacy": EVERY_TRUST, "goal": get_args(Goal), "spending": get_args(Spending)}
        wrong = [(name, getattr(self, name)) for name, known in words.items() if getattr(self, name) not in known]
        issues += [Issue(name, word, f"one of {', '.join(words[name])}") for name, word in wrong]
        if not issues and self.power <= self.alpha / self.sides:
            issues.append(Issue("power", self.power, "above alpha / sides, what a test finds by chance"))
        if not issues and self.split != 1 and self.best:
            issues.append(Issue("split", self.split, "1 where the best of several options is to be named"))
        if not issues and self.looks > 1 and self.options > MAX_OPTIONS_WITH_LOOKS:
            issues.append(Issue("options", self.options, f"at most {MAX_OPTIONS_WITH_LOOKS} in a test with looks"))
        raise_any(issues)

    @property
    def best(self) -> bool:
        """Whether the best of more than two options is to be named."""
        return self.goal == "best" and self.options > 2

    @property
    def test(self) -> Design:
        """Boundaries and power by the size of the difference."""
        sides = 1 if self.best else self.sides
        return design_of(self.alpha, self.options, self.best, sides, self.split, self.looks, self.spending)

    def variance(self, users: Any, baseline: Any, effect: Any, amounts: Any = None) -> Any:
        """Variance of the difference of two means: what (*) has in brackets, in squared rewards. Numbers or arrays.

        ``users`` are those of an option that is not the baseline; ``amounts`` as in `sample_size`.
        """
        reading, noise, rounding = self._release(users)
        if amounts is not None and reading is None:
            spread = amounts * (1 + 1 / self.split) / 2 + rounding
        else:
            spread = _variance(baseline, reading) / self.split + _variance(baseline + effect, reading)
        return spread / users + self.looks * noise * (1 + 1 / self.split**2) / users**2

    def _release(self, users: Any) -> tuple[float | None, float, float]:
        """What a bit is multiplied with to be read (None: no bits), v(n), and what rounding adds to both variances.

        v(n) is the variance of the noise on the sum of a block.
        """
        if self.privacy == "none" or self.epsilon is None:
            return None, 0.0, 0.0
        if self.privacy == "local":
            return 1 / math.tanh(self.epsilon / 2), 0.0, 0.0
        if self.privacy == "central":
            return None, 2 / self.epsilon**2, 0.0
        block = max(1, int(users * min(1.0, self.split) / self.looks))
        if self.privacy == "shuffle":
            block = int(1.02 ** int(math.log(block, 1.02)))  # a little too few, so that near numbers share an account
            return 1 / (1 - noisy_share(block, self.epsilon, self.delta)), 0.0, 0.0
        grid = levels(self.epsilon, block)  # rounding to the next level at random varies by 1/4 of its square at most
        return None, 1 / (2 * grid**2 * math.sinh(self.epsilon / grid / 2) ** 2), (1 + 1 / self.split) / (4 * grid**2)

    def chance(self, users: Any, baseline: Any, effect: Any, amounts: Any = None) -> Any:
        """The power with so many users of an option that is not the baseline. Numbers or arrays."""
        return self.test.chance(effect / np.sqrt(self.variance(users, baseline, effect, amounts)))

    def users(self, baseline: Any, effect: Any, amounts: Any = None) -> float:
        """Users of an option that is not the baseline, on average over cases (arrays) or for one; not rounded."""
        return _first(lambda n: float(np.mean(self.chance(n, baseline, effect, amounts))), self.power, MAX_USERS)

    def solve(
        self, which: Solved, users: float, baseline: float, effect: float = SMALLEST, amounts: float | None = None
    ) -> float:
        """What follows from so many users: the smallest effect, the power, or the smallest epsilon; NaN: none does."""
        if which == "power":
            return float(self.chance(users, baseline, effect, amounts))
        if which == "epsilon" and self.privacy == "none":
            return math.nan
        most, least = (1 - baseline, 1e-12) if which == "effect" else (LARGEST, SMALLEST)

        def chance(value: float) -> float:
            plan, gap = (self, value) if which == "effect" else (replace(self, epsilon=value), effect)
            return float(plan.chance(users, baseline, gap, amounts))

        return _first(chance, self.power, most, least) if chance(most) >= self.power else math.nan


def _first(chance: Callable[[float], float], power: float, most: float, least: float = 1.0) -> float:
    """The smallest number from ``least`` to ``most`` with so much power, which grows with it; ``most`` if none has."""
    low, high = math.log(least), math.log(most)
    if chance(most) <= power:
        return most
    if chance(least) >= power:
        return least
    return math.exp(scipy.optimize.brentq(lambda each: chance(math.exp(each)) - power, low, high, xtol=1e-14))


def _plan_for(baselines: Sequence[float], effects: Sequence[float], fields: dict[str, Any]) -> TestPlan:
    """The plan, once it and all cases are in their ranges."""
    issues = _not_chances(*(("baseline", each) for each in baselines), *(("effect", each) for each in effects))
    if not issues:
        pairs = zip(baselines, effects, strict=True)
        issues += [Issue("effect", gap, "baseline + effect at most 1") for low, gap in pairs if low + gap > 1]
    try:
        plan = TestPlan(**fields)
    except InputError as error:
        raise InputError(issues + error.issues) from None
    raise_any(issues)
    return plan


def _whole(users: float) -> int:
    """A number of users per option, rounded up."""
    return MAX_USERS if users >= MAX_USERS else max(1, math.ceil(users * (1 - 1e-11)))


def sample_size(
    baseline: float,
    effect: float,
    alpha: float = 0.05,
    power: float = 0.8,
    privacy: Privacy = "none",
    epsilon: float | None = None,
    options: int = 2,
    amounts: float | None = None,
    **plan: Any,
) -> TestSize:
    """Users per option of a test of ``baseline`` against ``baseline + effect``.

    Parameters
    ----------
    baseline, effect
        The mean of one option, and the smallest difference worth finding; both in [1e-6, 1), their sum at most 1.
    alpha, power, privacy, epsilon, options
        As in `TestPlan`, and so are its other fields, by name.
    amounts
        Sum of the variances of one user's reward with each of both options, where rewards are amounts in [0, 1]; left
        out, they are successes.

    Returns
    -------
    TestSize
        ``users_per_option`` is n of (*) rounded up (at most `MAX_USERS`); ``inflation`` is n over that without
        privacy.

    Raises
    ------
    InputError
        With every number that is out of its range.

    >>> sample_size(0.04, 0.004).users_per_option, sample_size(0.04, 0.004, privacy="local", epsilon=1).users_per_option
    (39473, 942755)
    >>> [sample_size(0.04, 0.004, options=4, goal=goal).users_per_option for goal in ("baseline", "best")]
    [51195, 58162]
    """
    fields = {"alpha": alpha, "power": power, "privacy": privacy, "epsilon": epsilon, "options": options}
    known = None if amounts is None else [amounts]
    return replace(assured_size([baseline], [effect], known, **fields, **plan), cases=None)


def assured_size(
    baselines: Sequence[float], effects: Sequence[float], amounts: Sequence[float] | None = None, **plan: Any
) -> TestSize:
    """Users per option of a test that finds the effect with chance ``power`` on average over several cases.

    That average is the assurance of a test (O'Hagan, Stevens and Campbell 2005, Assurance in clinical trial design).
    ``baselines``, ``effects`` and ``amounts`` (cases,) are as in `sample_size`, for one case so is the answer; ``plan``
    are the fields of `TestPlan`.

    >>> assured_size([0.04], [0.004]).users_per_option, assured_size([0.04, 0.04], [0.003, 0.005]).users_per_option
    (39473, 46802)
    """
    mine = _plan_for(baselines, effects, plan)
    gaps = np.array(effects)
    cases = (np.array(baselines), gaps, None if amounts is None else np.array(amounts))
    users, plain = mine.users(*cases), replace(mine, privacy="none").users(*cases)
    drifts = gaps / np.sqrt(mine.variance(users, *cases))
    order = np.argsort(-drifts)  # the cases from the easiest to the hardest
    ends = [order[max(0, math.ceil(share * len(order)) - 1)] for share in (0.1, 0.5, 0.9)]
    least, middle, most = (_whole(mine.users(*(None if each is None else each[end] for each in cases))) for end in ends)
    budget, parts = None if mine.privacy == "none" else mine.epsilon, mine.test.users(drifts)
    return TestSize(mine.privacy, budget, _whole(users), users / plain, (least, middle, most), mine.split, *parts)


def power_table(  # noqa: PLR0913 - one argument for each thing that is asked
    baseline: float,
    effect: float,
    epsilon: float,
    alpha: float = 0.05,
    power: float = 0.8,
    options: int = 2,
    trusts: Sequence[Privacy] = TRUSTS,
    users: float | None = None,
    solve: Solved = "effect",
    goal: Goal | None = None,
    **plan: Any,
) -> pd.DataFrame:
    """One row per trust and goal, columns `COLUMNS`: what `sample_size` needs, or what so many ``users`` find.

    With ``users``, all options of a test together, their number is given and ``solve`` is searched instead: the
    smallest effect, the power, or the smallest epsilon; NaN where no number is enough. Without ``goal`` there are rows
    for both, unless they are the same test (two options), or shares are unequal.

    Raises
    ------
    InputError
        With every number that is out of its range.
    """
    if users is not None and (not _number(users) or not 2 <= users <= MAX_USERS):
        raise InputError([Issue("users", users, f"a number from 2 to {MAX_USERS:g}, all options together")])
    refuse_if(solve not in get_args(Solved), "solve", solve, f"one of {', '.join(get_args(Solved))}")
    gap = SMALLEST if users is not None and solve == "effect" else effect
    fields = {"alpha": alpha, "power": power, "epsilon": epsilon, "options": options, **plan}
    asked = _plan_for([baseline], [gap], fields | ({"goal": goal} if goal else {}))
    goals: Sequence[Goal] = [goal] if goal else get_args(Goal) if options > 2 and asked.split == 1 else ["baseline"]
    rows = []
    for each, trust in itertools.product(goals, trusts):
        mine, plain = (_plan_for([baseline], [gap], fields | {"goal": each, "privacy": one}) for one in (trust, "none"))
        numbers = {"epsilon": math.nan if trust == "none" else epsilon, "effect": gap, "power": power}
        share = mine.users(baseline, gap) if users is None else users / (options - 1 + mine.split)
        if users is not None and not (trust == "none" and solve == "epsilon"):
            numbers[solve] = mine.solve(solve, share, baseline, gap)
        mine = replace(mine, epsilon=numbers["epsilon"]) if numbers["epsilon"] > 0 else mine
        lead = numbers["effect"] if trust == "none" or numbers["epsilon"] > 0 else math.nan
        noisy, exact = (plan.variance(share, baseline, lead) for plan in (mine, plain))
        parts = (math.nan, math.nan) if math.isnan(lead) else mine.test.users(lead / math.sqrt(noisy))
        size = TestSize(trust, None, _whole(share), noisy / exact, None, mine.split, *parts)
        total = size.total(options) if users is None else users
        row = trust, each, *numbers.values(), size.users_per_option, total, size.inflation
        rows.append((*row, size.mean * total, size.median * total))
    return pd.DataFrame(rows, columns=list(COLUMNS))
