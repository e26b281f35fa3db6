"""Elimination on batches of users who share the noise, with late feedback: see `kernels.ladder` and `late_loop`.

The noise is shared out for a batch of exactly so many users of each arm. They are the first whom the batch meets;
whoever is shown an arm while their rewards are on the way is not asked for an answer. So a batch is what it is without
lateness, only that it takes longer, and every reward is in one at most. Answers are drawn one by one when rewards are
counted, the noise of a whole batch when it is complete.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel, piece
from bandit_core.kernels.batches import survivors
from bandit_core.kernels.labels import room_for
from bandit_core.kernels.ladder import BITS, POLYA, Ladder, rounded
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
from bandit_core.kernels.poisson import poisson
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.modular_sums import decoded, discrete_laplace
from bandit_core.model import Record


class Game(NamedTuple):
    """The arms by the labels, and the batches."""

    rewards: Rewards
    ladder: Ladder


class Left(NamedTuple):
    """The arms that are left, first of ``members``; of every arm what the present batch has answered, (arms,)."""

    members: np.ndarray
    counts: np.ndarray
    totals: np.ndarray
    means: np.ndarray
    pulled: np.ndarray
    waiting: np.ndarray
    place: np.ndarray  # (4,)


@inlined
def _clear(left: Left) -> None:
    all_left(left)
    left.counts[:] = 0.0
    left.totals[:] = 0.0
    left.place[BEGAN] = 1


@inlined
def _open(game: Game, left: Left) -> bool:
    """Whether the present batch is one that is ever complete."""
    return left.place[SIZE] > 1 and left.place[STAGE] < game.ladder.lengths.shape[0]


@piece
def _mean(game: Game, left: Left, arm: int, state: np.ndarray, trial: int) -> float:
    """The mean that the server makes of an arm's complete batch, as `kernels.ladder.learned_mean`."""
    ladder, number, total = game.ladder, left.place[STAGE], left.totals[arm]
    count, spread = ladder.lengths[number], ladder.spread[number]
    if ladder.learns == BITS:
        return 0.5 + (total / count - 0.5) / ladder.contrast[number]
    if ladder.learns == POLYA:
        first = next_uniform(state, trial, 0)
        total += discrete_laplace(first, next_uniform(state, trial, 0), spread)
    else:
        total += poisson(0.5 * spread, state, trial) - poisson(0.5 * spread, state, trial)
    most = count * ladder.levels[number]
    return decoded(total, most, ladder.slack[number]) / most


@piece
def _end_batch(game: Game, left: Left, t: int, state: np.ndarray, trial: int) -> None:
    """Learn the means of a batch, drop arms, and begin the next one with user ``t``."""
    number, size = left.place[STAGE], left.place[SIZE]
    for turn in range(size):
        left.means[left.members[turn]] = _mean(game, left, left.members[turn], state, trial)
    left.place[SIZE] = survivors(left.members, size, left.means, game.ladder.margins[number, size])
    left.place[STAGE] = number + 1
    left.place[TURN], left.place[BEGAN] = 0, t
    left.counts[:] = 0.0
    left.totals[:] = 0.0


@inlined
def _choose(game: Game, left: Left, t: int, counted: int, state: np.ndarray, trial: int) -> int:
    if _open(game, left) and left.counts[last_in_turn(left)] >= game.ladder.lengths[left.place[STAGE]]:
        _end_batch(game, left, t, state, trial)
    return next_in_turn(left)


@inlined
def _learn(game: Game, left: Left, arm: int, reward: float, user: int, state: np.ndarray, trial: int) -> None:
    """Add a user's answer, if the user is of the batch: a bit, or a level, without a share of the noise."""
    ladder, number = game.ladder, left.place[STAGE]
    if user < left.place[BEGAN] or not _open(game, left) or left.counts[arm] >= ladder.lengths[number]:
        return
    left.counts[arm] += 1.0
    if ladder.learns == BITS:
        truth = 0.5 + ladder.contrast[number] * (reward - 0.5)
        left.totals[arm] += 1.0 if next_uniform(state, trial, 4) < truth else 0.0
    else:
        left.totals[arm] += rounded(reward, ladder.levels[number], state, trial)


@kernel
def elimination(state: np.ndarray, rewards: Rewards, ladder: Ladder, late: Late, record: Record) -> None:
    """`kernels.ladder.elimination` with late feedback, where users share the noise."""
    arms = rewards.table.shape[0]
    left = Left(
        np.empty(arms, np.int64), np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms),
        np.empty(4, np.int64),
    )  # fmt: skip
    play_and_learn(_clear, _choose, _learn, Game(room_for(rewards), ladder), left, late, state, rewards, record)
