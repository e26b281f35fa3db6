"""Users with features whose rewards are counted late, see `kernels.play`: the learners of the other modules.

The context of the arm played, its label and the reward wait together, and the learner gets them when they are counted,
in the order of the users: what it knows then is what it would know of these users without lateness. A message that
depends on an estimate (LDP-SGD, LDP-GLOC) is made when the reward is counted, with the estimate of that moment. A
warm-up in turns goes on until all of its users are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, expanded, kernel
from bandit_core.kernels import gradient, least_squares, optimism, ridge
from bandit_core.kernels.contexts import (
    Users,
    column_of,
    draw_pool,
    draw_reward,
    draw_theta,
    largest_mean,
    meet,
    users_of,
)
from bandit_core.kernels.contextual import distance, greedy_after_warm_up
from bandit_core.kernels.play import Late
from bandit_core.model import Record
from bandit_core.spec.contexts import Environment


class Waiting(NamedTuple):
    """Who waits to be counted, in a ring: the label of the arm that each played, and the reward, (users,)."""

    arms: np.ndarray
    rewards: np.ndarray


@allocating
def _room(environment: Environment, late: Late, horizon: int, users: Users) -> tuple[Waiting, Users]:
    """The ring, and the users of a trial with its contexts, those of the arms played: columns (dimension, users)."""
    size = min(late.batch + late.delay, horizon)
    waiting = Waiting(np.empty(size, np.int64), np.empty(size))
    then = Users(
        users.state, users.signal, users.order, users.theta, users.pool, users.seeds, users.lanes, users.words,
        users.marks, users.normals, np.empty((environment.dimension, size)), users.room, users.means, users.scores,
    )  # fmt: skip
    return waiting, then


@expanded
def play_users_late(  # noqa: PLR0913 (see `contextual.play_users`)
    reset: Callable[..., None],
    choose: Callable[..., int],
    learn: Callable[..., None],
    learner: Any,
    memory: Any,
    warm_up: int,
    environment: Environment,
    late: Late,
    users: Users,
    record: Record,
) -> None:
    """`contextual.play_users` with late feedback; ``warm_up`` users take turns, and all until these are counted."""
    horizon = record.checkpoints[-1]
    waiting, then = _room(environment, late, horizon, users)
    size = waiting.arms.shape[0]
    for row in range(users.state.shape[0]):
        draw_theta(environment, users, row)
        draw_pool(environment, users, row)
        reset(learner, memory)
        lost, good = 0.0, 0.0
        counted, place = 0, 0
        for t in range(1, horizon + 1):
            user = meet(environment, users, row, t)
            arm = choose(learner, memory, users, user, t if counted >= warm_up else (t - 1) % warm_up + 1)
            top = largest_mean(users, user)
            mean = users.means[user, arm]
            lost += top - mean
            good += mean == top
            record.pulls[row, users.order[arm]] += 1.0
            last = (t - 1) % size
            for k in range(then.x.shape[0]):
                then.x[k, last] = users.x[k, column_of(users, user, arm)]
            waiting.arms[last] = arm
            waiting.rewards[last] = draw_reward(environment, users.state, row, mean)
            while t % late.batch == 0 and counted < t - late.delay:
                first = counted % size
                counted += 1
                learn(learner, memory, then, row, first, counted, waiting.arms[first], waiting.rewards[first])
            if t == record.checkpoints[place]:
                record.regret[row, place] = lost
                record.best_pulls[row, place] = good
                record.error[row, place] = distance(memory.estimate, users.theta)
                record.signal[1] += t - (record.checkpoints[place - 1] if place > 0 else 0)
                place += 1
                if record.signal[0] != 0:
                    return


@kernel
def by_ridge(state: np.ndarray, environment: Environment, learner: ridge.Learner, late: Late, record: Record) -> None:
    """`kernels.ridge` with late feedback."""
    users = users_of(environment, state, record.signal)
    memory = ridge.room(environment, users)
    play_users_late(
        ridge.reset, ridge.choose, ridge.learn, learner, memory, learner.warm_up, environment, late, users, record
    )  # fmt: skip


@kernel
def by_gradient(
    state: np.ndarray, environment: Environment, learner: gradient.Learner, late: Late, record: Record
) -> None:
    """`kernels.gradient` with late feedback."""
    shape = (environment.models, environment.dimension)
    memory = gradient.Memory(np.empty(shape), np.empty(shape), np.empty(shape[1]), np.empty(shape[1]))
    users = users_of(environment, state, record.signal)
    play_users_late(
        gradient.reset, greedy_after_warm_up, gradient.learn, learner, memory, learner.warm_up, environment, late,
        users, record,
    )  # fmt: skip


@kernel
def by_least_squares(
    state: np.ndarray, environment: Environment, learner: least_squares.Learner, late: Late, record: Record
) -> None:
    """`kernels.least_squares` with late feedback."""
    memory = least_squares.room(environment)
    users = users_of(environment, state, record.signal)
    play_users_late(
        least_squares.reset, greedy_after_warm_up, least_squares.learn, learner, memory, learner.warm_up, environment,
        late, users, record,
    )  # fmt: skip


@kernel
def by_optimism(
    state: np.ndarray, environment: Environment, learner: optimism.Learner, late: Late, record: Record
) -> None:
    """`kernels.optimism` with late feedback; it has no warm-up."""
    users = users_of(environment, state, record.signal)
    memory = optimism.room(environment, users)
    play_users_late(
        optimism.reset, optimism.choose, optimism.learn, learner, memory, 0, environment, late, users, record
    )  # fmt: skip
