"""Thompson sampling with beta posteriors: plain, and behind randomised response (TS-CF).

At every step each arm draws theta ~ Beta(1 + ones, 1 + zeros) and the arm with the largest theta is pulled. A response
is one bit; its chance of being 1 is all that a simulation needs. The bit takes one uniform of the stream's first
generator a step, the posteriors draw from the second one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel
from bandit_core.kernels.curves import play_trials
from bandit_core.kernels.labels import room_for
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.streams import beta, next_uniform
from bandit_core.model import Record


class Game(NamedTuple):
    """The arms by the labels; their means are the chances of a 1."""

    rewards: Rewards


class Arms(NamedTuple):
    """What every arm has given so far (arms,)."""

    ones: np.ndarray
    pulled: np.ndarray


@inlined
def _clear(arms: Arms) -> None:
    arms.ones[:] = 0.0
    arms.pulled[:] = 0.0


@inlined
def _play(game: Game, arms: Arms, first: int, last: int, window: int, state: np.ndarray, trial: int) -> int:
    """Play the pulls from ``first`` to ``last``."""
    for _ in range(first, last + 1):
        best = -1.0
        choice = 0
        for arm in range(arms.ones.shape[0]):
            theta = beta(state, trial, 1.0 + arms.ones[arm], 1.0 + arms.pulled[arm] - arms.ones[arm])
            if theta > best:
                best = theta
                choice = arm
        arms.ones[choice] += next_uniform(state, trial, 0) < game.rewards.means[choice]
        arms.pulled[choice] += 1.0
    return window


@kernel
def thompson(state: np.ndarray, rewards: Rewards, record: Record) -> None:
    """Play one trial per row of ``state``, filling the outputs at the checkpoints."""
    arms = rewards.table.shape[0]
    play_trials(_clear, _play, Game(room_for(rewards)), Arms(np.empty(arms), np.empty(arms)), state, rewards, record)
