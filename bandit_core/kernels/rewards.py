"""Drawing rewards from the table of `bandit_core.spec.rewards.tables`, one uniform each."""

import math

import numpy as np

from bandit_core.jit.decorators import device_function, inlined
from bandit_core.kernels import streams
from bandit_core.kernels.chain import chain
from bandit_core.spec.rewards import DISTRIBUTIONS, TWO_POINT

_draw_one = chain({each.code: each.sampler(streams) for each in DISTRIBUTIONS.values() if each.code != TWO_POINT})


@device_function
def _draw_other(table: np.ndarray, values: np.ndarray, arm: int, uniform: float, state: np.ndarray, row: int) -> float:
    return _draw_one(table[arm, 0], table, values, arm, uniform, state, row)


@inlined
def draw_reward(table: np.ndarray, values: np.ndarray, arm: int, uniform: float, state: np.ndarray, row: int) -> float:
    """One reward of ``arm``. Beta distributions with a, b != 1 and Student's take further draws from the second
    generator.
    """
    if table[arm, 0] == TWO_POINT:
        return table[arm, 2] if uniform < table[arm, 3] else table[arm, 1]
    return _draw_other(table, values, arm, uniform, state, row)


@inlined
def sigmoid(reward: float) -> float:
    """1 / (1 + e^-reward): any reward into (0, 1)."""
    return 1.0 / (1.0 + math.exp(-reward))
