"""Elementary functions that give the same bits on every processor, for what kernels are called with.

NumPy computes many numbers at once by whatever vector units there are, and the last bit depends on them. Here each
number is computed by itself, by the C library, as inside kernels: about 0.1 microseconds a number. What is too large
for a double is infinite.

Bisection: the number up to which something holds.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike


def _one_by_one(function: Callable[..., float], numbers: int = 1) -> Callable[..., np.ndarray]:
    def unless_too_large(*each: float) -> float:
        try:
            return function(*each)
        except OverflowError:
            return math.inf

    quick, patient = np.frompyfunc(function, numbers, 1), np.frompyfunc(unless_too_large, numbers, 1)

    def of_arrays(*arrays: ArrayLike) -> np.ndarray:
        try:
            return np.asarray(quick(*arrays), float)
        except OverflowError:
            return np.asarray(patient(*arrays), float)

    return of_arrays


exp = _one_by_one(math.exp)
expm1 = _one_by_one(math.expm1)
log = _one_by_one(math.log)
power = _one_by_one(math.pow, 2)
tanh = _one_by_one(math.tanh)


def bisected(
    low: float, high: float, holds: Callable[[float], bool], close: float = 0.0, steps: int = 200, ratio: bool = False
) -> tuple[float, float]:
    """The ends of what is left of an interval: ``holds`` is true at the lower end and false at the upper one.

    It ends with neighbouring doubles, with ends no farther apart than ``close`` times the upper one, or after so many
    ``steps``. ``ratio``: it halves the ratio of the ends, not their distance.
    """
    for _ in range(steps):
        middle = math.sqrt(low * high) if ratio else (low + high) / 2
        if not low < middle < high or high - low <= close * high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high
