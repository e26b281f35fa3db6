"""Binomial variables in constant time, so that the sum of a whole batch of two-valued rewards is one draw.

Hormann 1993, "The generation of binomial random variates", algorithm BTRS (transformed rejection with squeeze) where
n min(p, 1-p) >= 10, else inversion. All uniforms come from the second generator of the trial's stream, because the
rejection takes as many as it needs.
"""

import math

import numpy as np

from bandit_core.jit.decorators import device_function, inlined
from bandit_core.kernels.streams import next_uniform

FEWEST = 10.0  # n min(p, 1-p) from which the rejection's hat was proved to cover the probabilities


def _exact_rest(k: int) -> float:
    return math.log(math.factorial(k)) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))


_EXACT = np.array([_exact_rest(k) for k in range(16)])


@inlined
def stirling_rest(k: float) -> float:
    """ln k! - [(k + 1/2) ln(k + 1) - (k + 1) + ln(2 pi)/2], within 1e-11."""
    if k < 16.0:
        return _EXACT[int(k)]
    square = 1.0 / ((k + 1.0) * (k + 1.0))
    return (1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - square / 1680.0) * square) * square) / (k + 1.0)


@device_function
def _by_inversion(count: float, chance: float, state: np.ndarray, row: int) -> float:
    """Walk up the distribution function; the mean is below ten, so the walk is short."""
    odds = chance / (1.0 - chance)
    probability = math.exp(count * math.log1p(-chance))
    rest = next_uniform(state, row, 4)
    k = 0.0
    while rest >= probability and k < count:
        rest -= probability
        k += 1.0
        probability *= odds * (count - k + 1.0) / k
        if probability < 1e-300:  # what is left of the uniform is rounding
            break
    return k


@device_function
def _log_ratio(k: float, count: float, chance: float) -> float:
    """ln of P(k) / P(mode), written in differences from the mode: nothing cancels, however large the count."""
    mode = math.floor((count + 1.0) * chance)
    shift = k - mode
    return (
        shift * math.log(chance / (1.0 - chance) * (count - mode + 1.0) / (mode + 1.0))
        + (count - k + 0.5) * math.log1p(shift / (count - k + 1.0))
        - (k + 0.5) * math.log1p(shift / (mode + 1.0))
        + stirling_rest(mode)
        + stirling_rest(count - mode)
        - stirling_rest(k)
        - stirling_rest(count - k)
    )


@device_function
def _by_rejection(count: float, chance: float, state: np.ndarray, row: int) -> float:
    spread = math.sqrt(count * chance * (1.0 - chance))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * chance
    centre = count * chance + 0.5
    squeeze = 0.92 - 4.2 / b
    while True:
        u = next_uniform(state, row, 4) - 0.5
        v = next_uniform(state, row, 4)
        room = 0.5 - abs(u)
        if room <= 0.0:
            continue
        k = math.floor((2.0 * a / room + b) * u + centre)
        if room >= 0.07 and v <= squeeze:
            return k
        if k < 0.0 or k > count:
            continue
        hat = (2.83 + 5.1 / b) * spread / (a / (room * room) + b)
        if v <= 0.0 or math.log(v * hat) <= _log_ratio(k, count, chance):
            return k


@device_function
def binomial(count: float, chance: float, state: np.ndarray, row: int) -> float:
    """Number of successes in ``count`` trials of probability ``chance``; a whole number, as float."""
    if count <= 0.0 or chance <= 0.0:
        return 0.0
    if chance >= 1.0:
        return float(count)
    count = float(count)
    rarer = min(chance, 1.0 - chance)
    few = _by_inversion(count, rarer, state, row) if count * rarer < FEWEST else _by_rejection(count, rarer, state, row)
    return few if chance <= 0.5 else count - few
