"""Elementary functions that give the same bits on every processor, for what kernels are called with.

NumPy computes many numbers at once by whatever vector units there are, and the last bit depends on them. Here each
number is computed by itself, by the C library, as inside kernels: about 0.1 microseconds a number. What is too large
for a double is infinite.
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
