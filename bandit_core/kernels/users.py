"""Drawing a user's epsilon by inversion of one uniform, from the form of `BudgetDistribution.kernel_form`."""

import numpy as np

from bandit_core.jit.decorators import device_function, inlined
from bandit_core.kernels import streams
from bandit_core.kernels.chain import chain
from bandit_core.spec.budgets import DISCRETE, DISTRIBUTIONS, FIXED

FEW_GROUPS = 16  # groups among which comparing with all is faster than searching


@inlined
def draw_group(table: np.ndarray, uniform: float) -> int:
    """Row of ``table``, rows (cumulative probability, epsilon), of the user who arrives under a discrete
    distribution.
    """
    last, low = table.shape[0] - 1, 0
    if last < FEW_GROUPS:  # no branch that depends on the draw
        for row in range(last):
            low += uniform >= table[row, 0]
        return low
    high = last
    while low < high:
        middle = (low + high) // 2
        if uniform < table[middle, 0]:
            high = middle
        else:
            low = middle + 1
    return low


_KNOWN = (FIXED, DISCRETE)
_draw_one = chain({each.code: each.sampler(streams) for each in DISTRIBUTIONS.values() if each.code not in _KNOWN})


@device_function
def draw_epsilon(code: int, form: np.ndarray, table: np.ndarray, uniform: float) -> float:
    """Epsilon of the user who arrives."""
    if code == FIXED:
        return form[0]
    if code == DISCRETE:
        return table[draw_group(table, uniform), 1]
    return _draw_one(code, form, uniform)
