"""Drawing rewards from the table of `bandit_core.spec.rewards.tables`, one uniform each."""

from __future__ import annotations

import math

from bandit_core.jit.decorators import inlined, piece
from bandit_core.kernels.streams import HALF_UNIT, beta, next_uniform, normal_quantile
from bandit_core.spec.rewards import BETA, EMPIRICAL, GAUSSIAN, PARETO, STUDENT, TWO_POINT, UNIFORM


@inlined
def _value_of(values, first, count, observation):
    """Which of ``count`` values an observation is: the first one whose cumulative count exceeds its number."""
    low = 0
    high = count - 1
    while low < high:
        middle = (low + high) // 2
        if observation < values[first + middle]:
            high = middle
        else:
            low = middle + 1
    return low


@piece
def _draw_other(laws, values, arm, uniform, state, row):
    code = laws[arm, 0]
    if code == UNIFORM:
        return laws[arm, 1] + (laws[arm, 2] - laws[arm, 1]) * uniform
    if code == GAUSSIAN:
        return laws[arm, 1] + laws[arm, 2] * normal_quantile(uniform + HALF_UNIT)
    if code == PARETO:
        return laws[arm, 1] * (1.0 - uniform) ** laws[arm, 2]
    if code == EMPIRICAL:
        first = int(laws[arm, 1])
        place = int(uniform * laws[arm, 2])
        if laws[arm, 3] > 0.0:  # different values, and behind them how many observations there are up to each
            place = _value_of(values, first + int(laws[arm, 3]), int(laws[arm, 3]), place)
        return values[first + place]
    if code == STUDENT:  # Bailey 1994: exact, for any degrees of freedom
        df = laws[arm, 3]
        radius = math.sqrt(df * math.expm1(-2.0 / df * math.log(uniform + HALF_UNIT)))
        return laws[arm, 1] + laws[arm, 2] * radius * math.cos(2.0 * math.pi * next_uniform(state, row, 4))
    a = laws[arm, 1]
    b = laws[arm, 2]
    if code == BETA and b == 1.0:
        return (uniform + HALF_UNIT) ** (1.0 / a)
    if code == BETA and a == 1.0:
        return 1.0 - (1.0 - uniform) ** (1.0 / b)
    return beta(state, row, a, b)


@inlined
def draw_reward(laws, values, arm, uniform, state, row):
    """One reward of ``arm``. Beta distributions with a, b != 1 and Student's take further draws from the second
    generator.
    """
    if laws[arm, 0] == TWO_POINT:
        return laws[arm, 2] if uniform < laws[arm, 3] else laws[arm, 1]
    return _draw_other(laws, values, arm, uniform, state, row)


@inlined
def sigmoid(reward):
    """1 / (1 + e^-reward): any reward into (0, 1)."""
    return 1.0 / (1.0 + math.exp(-reward))
