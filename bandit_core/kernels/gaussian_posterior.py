"""Gaussian Thompson sampling: every arm draws from N(sum / (n + 1), factor / (n + 1)), the largest draw is pulled.

Each arm is pulled ``first`` times in turns before any draw. A step takes one uniform for the reward from the first
generator of the stream, as `ucb` does; the draws come from the second one, a normal variable for every arm.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel
from bandit_core.kernels.curves import play_trials
from bandit_core.kernels.labels import room_for
from bandit_core.kernels.normals import normal
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.model import Record


class Game(NamedTuple):
    """The arms by the labels, the factor of the variance, and how often each arm is pulled before any draw."""

    rewards: Rewards
    factor: float
    first: int


class Arms(NamedTuple):
    """What every arm has given so far (arms,)."""

    sums: np.ndarray
    pulled: np.ndarray


@inlined
def _clear(arms: Arms) -> None:
    arms.sums[:] = 0.0
    arms.pulled[:] = 0.0


@inlined
def _play(game: Game, arms: Arms, first: int, last: int, window: int, state: np.ndarray, trial: int) -> int:
    """Play the pulls from ``first`` to ``last``."""
    table, values, _, _ = game.rewards
    count = arms.sums.shape[0]
    for t in range(first, last + 1):
        choice = (t - 1) % count
        if t > count * game.first:
            best = -np.inf
            for arm in range(count):
                n = arms.pulled[arm] + 1.0
                theta = arms.sums[arm] / n + math.sqrt(game.factor / n) * normal(state, trial, 4)
                if theta > best:
                    best = theta
                    choice = arm
        arms.sums[choice] += draw_reward(table, values, choice, next_uniform(state, trial, 0), state, trial)
        arms.pulled[choice] += 1.0
    return window


@kernel
def thompson(state: np.ndarray, rewards: Rewards, factor: float, first: int, record: Record) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints."""
    arms = rewards.table.shape[0]
    game = Game(room_for(rewards), factor, first)
    play_trials(_clear, _play, game, Arms(np.empty(arms), np.empty(arms)), state, rewards, record)
