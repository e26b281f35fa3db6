r"""Critical values of tests of two or more options, with one look or several: Dunnett, Hsu, group-sequential.

A difference from the baseline is compared with a boundary in standard errors. With one look, z_{1-alpha/2} for two
options, z_{1-alpha} one-sided. With K > 2 options the differences share the baseline's mean. Where it has r users for
one of each other option, their correlation is rho = 1 / (1 + r), and the critical value d of Dunnett (1955, A multiple
comparison procedure for comparing several treatments with a control) solves

    1 - alpha = E[ (Phi((d + sqrt(rho) U) / sqrt(1 - rho)) - Phi((-d + sqrt(rho) U) / sqrt(1 - rho)))^(K - 1) ],  (**)

U standard normal; one-sided without the second term. One-sided with r = 1 it also names the best option: that one must
beat each of the others by d, so the chance to name one that is not the best is at most alpha (Hsu 1984, Constrained
simultaneous confidence intervals for multiple comparisons with the best). Where all others are equally good, the best
beats them with the chance E[Phi(sqrt(2) (theta - d) + U)^(K - 1)], theta its lead in standard errors.

A test with looks compares at times t_1 < ... < t_k = 1, shares of all users, with boundaries c_j, and ends where a
difference lies beyond. What users add has independent increments, so Z_j sqrt(t_j) = B(t_j) with a Brownian motion B of
drift theta. Lan and DeMets (1983, Discrete sequential boundaries for clinical trials) spend alpha by a function a(t):

    P(first |Z_j| >= c_j is at look j) = a(t_j) - a(t_{j-1}),   a(1) = alpha,                                     (***)

* ``obrien-fleming``: a(t) = 2 - 2 Phi(z_{1-alpha/2} / sqrt(t)), one-sided 1 - Phi(z_{1-alpha} / sqrt(t)): early looks
  need overwhelming evidence. Some programs spend 2 - 2 Phi(z_{1-alpha/4} / sqrt(t)) on each side: their first
  boundaries are higher (five looks at level .05: 4.88 in place of 4.38), the last one is lower (2.03 for 2.06);
* ``pocock``: a(t) = alpha ln(1 + (e - 1) t): each look needs about the same.

For two options the integrals of (***) run over what has not ended yet (Armitage, McPherson and Rowe 1969), with
Gauss-Legendre nodes between the boundaries of the look before. For more they are counted for the largest difference on
paths of the joint normal, always the same ones.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy

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
