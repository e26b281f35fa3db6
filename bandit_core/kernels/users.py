"""Drawing a user's epsilon by inversion of one uniform, from the form of `epsilons.kernel_form`."""

from __future__ import annotations

import math

from bandit_core.epsilons import CLAMPED_GAUSSIAN, DISCRETE, FIXED, UNIFORM
from bandit_core.kernels.compiled import piece
from bandit_core.kernels.streams import HALF_UNIT, normal_quantile


@piece
def draw_epsilon(code, form, table, uniform):
    """Epsilon of the user who arrives; ``table`` has rows (cumulative probability, epsilon)."""
    if code == FIXED:
        return form[0]
    if code == DISCRETE:
        low = 0
        high = table.shape[0] - 1
        while low < high:
            middle = (low + high) // 2
            if uniform < table[middle, 0]:
                high = middle
            else:
                low = middle + 1
        return table[low, 1]
    if code == CLAMPED_GAUSSIAN:
        return min(max(form[0] + form[1] * normal_quantile(uniform + HALF_UNIT), form[2]), form[3])
    if code == UNIFORM:
        return form[0] + (form[1] - form[0]) * uniform
    return form[0] * math.exp(form[1] * normal_quantile(uniform + HALF_UNIT))
