"""Elementary functions that give the same bits on every processor, for what kernels are called with.

NumPy computes many numbers at once by whatever vector units there are, and the last bit depends on them. Here each
number is computed by itself, by the C library, as inside kernels: about 0.1 microseconds a number. What is too large
for a double is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def _one_by_one(function: Callable[..., float]) -> np.vectorize:
    def value(*numbers: float) -> float:
        try:
            return function(*numbers)
        except OverflowError:
            return math.inf

    return np.vectorize(value, otypes=[float])


exp = _one_by_one(math.exp)
expm1 = _one_by_one(math.expm1)
log = _one_by_one(math.log)
power = _one_by_one(math.pow)
tanh = _one_by_one(math.tanh)
