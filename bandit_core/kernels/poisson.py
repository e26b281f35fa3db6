"""Poisson variables in constant time, whatever their mean.

Hormann 1993, "The transformed rejection method for generating Poisson random variables", algorithm PTRS, for means from
10 on, else inversion. All uniforms come from the second generator of the trial's stream, because the rejection takes as
many as it needs.
"""

import math

import numpy as np

from bandit_core.jit.decorators import device_function
from bandit_core.kernels.binomial import stirling_rest
from bandit_core.kernels.streams import next_uniform

FEWEST = 10.0  # mean from which the rejection's hat was proved to cover the probabilities
_HALF_LN_2_PI = 0.5 * math.log(2.0 * math.pi)


@device_function
def _by_inversion(mean: float, state: np.ndarray, row: int) -> float:
    """Walk up the distribution function; the mean is below ten, so the walk is short."""
    probability = math.exp(-mean)
    rest = next_uniform(state, row, 4)
    k = 0.0
    while rest >= probability > 1e-300:  # what is left of the uniform there is rounding
        rest -= probability
        k += 1.0
        probability *= mean / k
    return k


@device_function
def log_mass(k: float, mean: float) -> float:
    """ln P(k), written in the distance from the mean: little cancels, however large the mean."""
    away = (k + 1.0 - mean) / mean
    return mean * away - (k + 0.5) * math.log1p(away) - 0.5 * math.log(mean) - _HALF_LN_2_PI - stirling_rest(k)


@device_function
def _by_rejection(mean: float, state: np.ndarray, row: int) -> float:
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    hat = 1.1239 + 1.1328 / (b - 3.4)
    squeeze = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u = next_uniform(state, row, 4) - 0.5
        v = next_uniform(state, row, 4)
        room = 0.5 - abs(u)
        if room <= 0.0:
            continue
        k = math.floor((2.0 * a / room + b) * u + mean + 0.43)
        if room >= 0.07 and v <= squeeze:
            return k
        if k < 0.0 or (room < 0.013 and v > room):
            continue
        if v <= 0.0 or math.log(v * hat / (a / (room * room) + b)) <= log_mass(k, mean):
            return k


@device_function
def poisson(mean: float, state: np.ndarray, row: int) -> float:
    """Number of events of which ``mean`` are expected; a whole number, as float."""
    if mean <= 0.0:
        return 0.0
    return _by_inversion(mean, state, row) if mean < FEWEST else _by_rejection(mean, state, row)
