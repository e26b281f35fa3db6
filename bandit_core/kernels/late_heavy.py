"""Elimination for heavy-tailed rewards with late feedback, see `kernels.heavy` and `kernels.late_loop`.

The arms that are left are shown in turns until R rewards of each are counted, of users whom the epoch itself has met.
All of these that are counted by then enter the released mean; who is counted later is not used, as a device truncates
with the bound of the epoch that it is shown an arm in. The noise of a mean of n of them is Laplace(2 B / (n eps)), or
Laplace(2 B / eps) on every reward (local). Which users these are follows from choices and the calendar, so every reward
is in one released mean at most, as without lateness.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel, piece
from bandit_core.kernels.batches import survivors
from bandit_core.kernels.heavy import Elimination, epoch_numbers
from bandit_core.kernels.labels import room_for
from bandit_core.kernels.late_loop import (
    BEGAN,
    SIZE,
    STAGE,
    TURN,
    all_left,
    last_in_turn,
    next_in_turn,
    play_and_learn,
)
from bandit_core.kernels.play import Late
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.model import Record

LENGTH, BOUND, THRESHOLD = range(3)


class Epochs(NamedTuple):
    """The arms by the labels, and the rule of `kernels.heavy.elimination`."""

    rewards: Rewards
    rule: Elimination


class Left(NamedTuple):
    """The arms that are left, first of ``members``; of every arm what the present epoch has counted, (arms,)."""

    members: np.ndarray
    counts: np.ndarray
    sums: np.ndarray  # of truncated rewards (local: with their noise)
    means: np.ndarray
    pulled: np.ndarray
    waiting: np.ndarray
    place: np.ndarray  # (4,)
    epoch: np.ndarray  # (3,), the length maybe infinite


@piece
def _begin(game: Epochs, left: Left, t: int) -> None:
    """Begin an epoch with user ``t``; without an end for a single arm."""
    left.place[STAGE] += 1
    left.place[TURN], left.place[BEGAN] = 0, t
    left.counts[:] = 0.0
    left.sums[:] = 0.0
    left.epoch[:] = np.inf
    if left.place[SIZE] > 1:
        epoch = epoch_numbers(game.rule, left.place[STAGE], left.place[SIZE])
        left.epoch[LENGTH], left.epoch[BOUND], left.epoch[THRESHOLD] = epoch.length, epoch.bound, epoch.threshold


@piece
def _release(game: Epochs, left: Left, state: np.ndarray, trial: int) -> None:
    """Publish the means of an epoch and drop arms."""
    for turn in range(left.place[SIZE]):
        arm = left.members[turn]
        left.means[arm] = left.sums[arm] / left.counts[arm]
        if not game.rule.local:
            scale = 2.0 * left.epoch[BOUND] / (left.counts[arm] * game.rule.epsilon)
            left.means[arm] += laplace_noise(next_uniform(state, trial, 4), scale)
    left.place[SIZE] = survivors(left.members, left.place[SIZE], left.means, left.epoch[THRESHOLD])


@inlined
def _in_turns(game: Epochs, left: Left, t: int, counted: int, state: np.ndarray, trial: int) -> int:
    if t == 1:
        _begin(game, left, t)
    elif left.counts[last_in_turn(left)] >= left.epoch[LENGTH]:
        _release(game, left, state, trial)
        _begin(game, left, t)
    return next_in_turn(left)


@inlined
def _count(game: Epochs, left: Left, arm: int, reward: float, user: int, state: np.ndarray, trial: int) -> None:
    if user < left.place[BEGAN] or left.place[SIZE] == 1:
        return
    left.counts[arm] += 1.0
    if abs(reward) <= left.epoch[BOUND]:
        left.sums[arm] += reward
    if game.rule.local:
        scale = 2.0 * left.epoch[BOUND] / game.rule.epsilon
        left.sums[arm] += laplace_noise(next_uniform(state, trial, 4), scale)


@kernel
def elimination(state: np.ndarray, rewards: Rewards, rule: Elimination, late: Late, record: Record) -> None:
    """`kernels.heavy.elimination` with late feedback; every reward is drawn by itself."""
    arms = rewards.table.shape[0]
    left = Left(
        np.empty(arms, np.int64), np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms),
        np.empty(4, np.int64), np.empty(3),
    )  # fmt: skip
    play_and_learn(all_left, _in_turns, _count, Epochs(room_for(rewards), rule), left, late, state, rewards, record)
