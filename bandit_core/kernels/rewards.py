"""Drawing rewards from the table of `bandit_core.spec.rewards.tables`, one uniform each."""

from __future__ import annotations

import math

from bandit_core.jit.decorators import inlined, piece
from bandit_core.kernels import streams
from bandit_core.kernels.chain import chain
from bandit_core.spec.rewards import DISTRIBUTIONS, TWO_POINT

_draw_one = chain({each.code: each.sampler(streams) for each in DISTRIBUTIONS.values() if each.code != TWO_POINT})


@piece
def _draw_other(laws, values, arm, uniform, state, row):
    return _draw_one(laws[arm, 0], laws, values, arm, uniform, state, row)


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
