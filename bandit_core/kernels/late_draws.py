"""Gaussian Thompson sampling with late feedback, see `kernels.gaussian_posterior` and `kernels.late_loop`.

Arms are shown in turns until ``first`` rewards of each are counted; so every draw is around a mean of that many at
least, as without lateness. The normal variables come from the stream's second generator.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel
from bandit_core.kernels.feedback import Late
from bandit_core.kernels.gaussian_posterior import Game
from bandit_core.kernels.labels import room_for
from bandit_core.kernels.late_loop import play_and_learn
from bandit_core.kernels.normals import normal
from bandit_core.kernels.records import Rewards
from bandit_core.model import Record


class Known(NamedTuple):
    """What is counted of every arm, and who was shown it (arms,)."""

    sums: np.ndarray
    counts: np.ndarray
    pulled: np.ndarray
    waiting: np.ndarray


@inlined
def _clear(known: Known) -> None:
    known.sums[:] = 0.0
    known.counts[:] = 0.0


@inlined
def _choose(game: Game, known: Known, t: int, counted: int, state: np.ndarray, trial: int) -> int:
    count = known.sums.shape[0]
    choice = (t - 1) % count
    if counted >= count * game.first:
        best = -np.inf
        for arm in range(count):
            n = known.counts[arm] + 1.0
            theta = known.sums[arm] / n + math.sqrt(game.factor / n) * normal(state, trial, 4)
            if theta > best:
                best = theta
                choice = arm
    return choice


@inlined
def _learn(game: Game, known: Known, arm: int, reward: float, user: int, state: np.ndarray, trial: int) -> None:
    known.sums[arm] += reward
    known.counts[arm] += 1.0


@kernel
def thompson(state: np.ndarray, rewards: Rewards, factor: float, first: int, late: Late, record: Record) -> None:
    """`kernels.gaussian_posterior.thompson` with late feedback."""
    arms = rewards.table.shape[0]
    known = Known(np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms))
    play_and_learn(_clear, _choose, _learn, Game(room_for(rewards), factor, first), known, late, state, rewards, record)
