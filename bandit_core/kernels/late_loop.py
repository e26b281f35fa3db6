"""Late feedback for policies with a memory of their own, see `kernels.play`: one plain loop, user by user.

Rewards are counted in the order of the users, so the n-th reward of an arm that is counted is that of the arm's n-th
user. Whatever follows from n and from the number of that user, such as the bound of a truncation, is what it is without
lateness; only the choices in between know less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bandit_core.jit.decorators import expanded, inlined
from bandit_core.kernels.curves import note, note_pulls, passed
from bandit_core.kernels.labels import relabel_arms
from bandit_core.kernels.play import Late, room_to_wait
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.model import Record

STAGE, SIZE, TURN, BEGAN = range(4)  # of the present batch or epoch: which, arms left, whose turn, its first user


@inlined
def all_left(left: Any) -> None:
    """Every arm is left, and ``left.place`` is that of the first stage."""
    for arm in range(left.members.shape[0]):
        left.members[arm] = arm
    left.place[STAGE] = 0
    left.place[SIZE] = left.members.shape[0]
    left.place[TURN] = 0


@inlined
def last_in_turn(left: Any) -> int:
    """Of the arms that are left, first of ``left.members``, none has been shown less often than the last."""
    return left.members[left.place[SIZE] - 1]


@inlined
def next_in_turn(left: Any) -> int:
    """The arm whose turn it is."""
    turn = left.place[TURN]
    left.place[TURN] = turn + 1 if turn + 1 < left.place[SIZE] else 0
    return left.members[turn]


@expanded
def play_and_learn(  # noqa: PLR0913 (see `batches.play_batches`)
    clear: Callable[..., None],
    choose: Callable[..., int],
    learn: Callable[..., None],
    game: Any,
    known: Any,
    late: Late,
    state: np.ndarray,
    rewards: Rewards,
    record: Record,
) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints; ``game.rewards`` is by the labels.

    ``clear(known)`` forgets the last trial, ``choose(game, known, t, counted, state, trial)`` gives the arm for user t
    when the rewards of the first ``counted`` users are counted, and ``learn(game, known, arm, reward, user, state,
    trial)`` counts that of a user. ``known.pulled`` has the pulls of every arm, ``known.waiting`` those whose reward
    is not counted yet; both are kept here.
    """
    waiting, order = room_to_wait(late, record.checkpoints[-1]), np.empty(rewards.table.shape[0], np.int64)
    size, table, values = waiting.arms.shape[0], game.rewards.table, game.rewards.values
    for trial in range(state.shape[0]):
        relabel_arms(state, trial, rewards, order, game.rewards)
        clear(known)
        known.pulled[:] = 0.0
        known.waiting[:] = 0.0
        counted = 0
        place = 0
        for t in range(1, record.checkpoints[-1] + 1):
            if (t - 1) % late.batch == 0:
                while counted < t - 1 - late.delay:
                    first = counted % size
                    counted += 1
                    arm = waiting.arms[first]
                    known.waiting[arm] -= 1.0
                    learn(game, known, arm, waiting.responses[first], counted, state, trial)
            arm = choose(game, known, t, counted, state, trial)
            last = (t - 1) % size
            waiting.arms[last] = arm
            waiting.responses[last] = draw_reward(table, values, arm, next_uniform(state, trial, 0), state, trial)
            known.waiting[arm] += 1.0
            known.pulled[arm] += 1.0
            if t == record.checkpoints[place]:
                note(record, trial, place, known.pulled, game.rewards.gaps)
                if passed(record, place, 1):
                    return
                place += 1
        note_pulls(record, trial, order, known.pulled)
