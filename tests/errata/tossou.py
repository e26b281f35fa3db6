"""Errata of Tossou and Dimitrakakis 2016, Algorithms for Differentially Private Multi-Armed Bandits."""

import math
from collections.abc import Callable

import numpy as np

from bandit_core.literature.erratum import Check
from bandit_core.mechanisms import Hybrid
from bandit_core.mechanisms.counter import laplace_sum_bound
from bandit_core.theory import definitions

_SQRT_8 = math.sqrt(8)


def _margin(pulls: int, t: float, epsilon: float) -> float:
    """nu / n of Algorithm 1 as printed."""
    rest = pulls - 2 ** math.floor(math.log2(pulls))
    with np.errstate(divide="ignore"):
        return float(4 * _SQRT_8 / epsilon * math.log(t) * (np.log2(np.float64(rest)) + 1)) / pulls


def exploration() -> Check:
    pulls, t, epsilon = 50, 1e4, 100.0
    chance = math.sqrt(2 * math.log(t) / pulls)  # an estimate of 50 rewards is off by more with chance t^-4 only

    def margin(root: bool) -> float:
        return _margin(pulls, t, epsilon) + root * chance

    measure = "margin of an arm after 50 of 10,000 pulls at ε = 100, compared with what chance alone needs"
    return Check(measure, "at least", chance, margin, False, True)


def logarithm_of_zero() -> Check:
    pulls, t, epsilon = 64, 1e4, 1.0
    spread = math.sqrt(Hybrid.as_printed(epsilon).variance(pulls)) / pulls  # of the noise in that arm's mean

    def margin(alone: bool) -> float:
        return 4 * _SQRT_8 / epsilon * math.log(t) / pulls if alone else _margin(pulls, t, epsilon)

    measure = "margin of an arm after 64 pulls, a power of two, compared with the standard deviation of its noise"
    return Check(measure, "at least", spread, margin, False, True)


def hybrid_budget() -> Check:
    # Item 513 lies in the nodes of its tree that end at 513, 514, 516, ..., 768, and in the block that ends at 1,024.
    ends = [512 + 2**level for level in range(9)] + [1024]

    def spent(counter: Callable[[float], Hybrid]) -> float:
        return float(sum(1 / counter(1.0).noise_scales(end)[-1] for end in ends))

    measure = "ε that item 513 spends in all noisy sums of the hybrid counter that it is part of, for a budget of 1"
    return Check(measure, "at most", 1.0, spent, Hybrid.as_printed, Hybrid.calibrated)


def noise_bound() -> Check:
    nodes, scale, gamma, pulls = 20, 20.0, 0.1, 2**21 - 1
    rng = np.random.default_rng(0)
    wanted = float(np.quantile(np.abs(rng.laplace(0, scale, (20_000, nodes)).sum(axis=1)), 1 - gamma))

    def bound(printed: bool) -> float:
        if printed:
            return _SQRT_8 * math.log(2 / gamma) * (math.log(pulls) + 1)
        return float(laplace_sum_bound(np.full(nodes, scale), gamma))

    measure = "bound on the noise of 20 nodes of scale 20 that may fail with chance 0.1, compared with 20,000 draws"
    return Check(measure, "at least", wanted, bound, True, False)


def summation_index() -> Check:
    v, delta, pulls = 1.1, math.exp(-10), 10_000
    n = np.arange(1.0, pulls + 1)
    each = n ** (-v / 2)
    spread = math.sqrt(2 * math.log(1 / delta) * float(np.sum(each**2)))
    wanted = min(float(np.sum(each)), float(np.sum(each * np.expm1(each))) + spread)

    def theorem(under_the_sum: np.ndarray) -> float:
        return float(np.sum(each * np.expm1(under_the_sum ** (-v / 2)))) + spread

    measure = "ε after 10,000 releases (v = 1.1), compared with the composition added up term by term"
    return Check(measure, "equal to", wanted, theorem, np.full(pulls, float(pulls)), n, tolerance=1e-6)


_PULLS = 100_000  # of the paper's experiments


def _exact_epsilon(interval: int, v: float, delta: float) -> float:
    """The smallest epsilon of the releases about an arm's first reward in `_PULLS` pulls, at ``delta``.

    The privacy losses of the releases are independent and add up, so their characteristic functions are multiplied and
    turned back by a Fourier transform. The loss of Laplace noise with the budget e is e with probability 1/2, -e with
    e^-e / 2, and between them it has the density e^((x - e)/2) / 4.
    """
    places, step = 1024, 1 / 64
    frequency = 2 * math.pi * np.fft.fftfreq(places, step)
    half = 0.5 + 1j * frequency
    log_total = np.zeros(places, complex)
    for budget in (interval * np.arange(1.0, _PULLS // interval + 1)) ** (-v / 2):
        ends = np.exp(half * budget)
        part = ends / np.exp(budget / 2) / 2 + np.exp(-budget / 2) / ends / 2
        log_total += np.log(part + np.exp(-budget / 2) * (ends - 1 / ends) / half / 4)
    chance = np.fft.fft(np.exp(log_total)).real / places
    loss = np.fft.fftfreq(places, 1 / places) * step

    def excess(epsilon: float) -> float:
        above = loss > epsilon
        return float(np.sum(chance[above] * -np.expm1(epsilon - loss[above])))

    low, high = 0.0, 8.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > delta else (low, middle)
    return high


def release_interval() -> Check:
    epsilon, delta, v = 1.0, math.exp(-10), 1.1

    def kept(rule: definitions.Rule) -> float:
        return _exact_epsilon(definitions.release_interval(epsilon, delta, v, rule), v, delta)

    measure = "ε that DP-UCB-INT really keeps in 100,000 pulls of an arm when asked for ε = 1 (v = 1.1, δ = e^-10)"
    return Check(measure, "at most", epsilon, kept, "as printed", "calibrated")
