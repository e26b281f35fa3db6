"""Drawing a user's epsilon by inversion of one uniform, from the form of `epsilons.kernel_form`."""

from __future__ import annotations

import math

from bandit_core.jit.decorators import inlined, piece
from bandit_core.kernels.streams import HALF_UNIT, normal_quantile
from bandit_core.spec.budgets import CLAMPED_GAUSSIAN, DISCRETE, FIXED, UNIFORM

FEW = 16  # groups among which comparing with all is faster than searching


@inlined
def draw_group(table, uniform):
    """Row of ``table``, rows (cumulative probability, epsilon), of the user who arrives under a discrete
    distribution.
    """
    last = table.shape[0] - 1
    low = 0
    if last < FEW:  # no branch that depends on the draw
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


@piece
def draw_epsilon(code, form, table, uniform):
    """Epsilon of the user who arrives."""
    if code == FIXED:
        return form[0]
    if code == DISCRETE:
        return table[draw_group(table, uniform), 1]
    if code == CLAMPED_GAUSSIAN:
        return min(max(form[0] + form[1] * normal_quantile(uniform + HALF_UNIT), form[2]), form[3])
    if code == UNIFORM:
        return form[0] + (form[1] - form[0]) * uniform
    return form[0] * math.exp(form[1] * normal_quantile(uniform + HALF_UNIT))


@piece
def surely_below(code, form, table, eps_min):
    """A uniform below which every user has epsilon < eps_min, so that most of these need no inversion."""
    low = 0.0
    high = 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        if draw_epsilon(code, form, table, middle) < eps_min:
            low = middle
        else:
            high = middle
    return low - 1e-9
