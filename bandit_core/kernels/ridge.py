"""LinUCB and greedy least squares, without privacy: ridge regression by rank-one updates of its inverse."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel
from bandit_core.kernels.contexts import Users, arms_of, predictor, row_of, users_of
from bandit_core.kernels.contextual import greedy_arm, optimistic_arm, play_users
from bandit_core.model import Record
from bandit_core.spec.contexts import Environment


class Learner(NamedTuple):
    """Regularisation and exploration."""

    ridge: float  # weight of |theta|^2
    width: float  # the index adds width |x| in the inverse's norm; 0: greedy
    warm_up: int  # round-robin users at first; 0 with one parameter


class Memory(NamedTuple):
    """What the server keeps of each model, and a vector to work in."""

    estimate: np.ndarray  # (models, dimension)
    inverses: np.ndarray  # (models, dimension, dimension)
    image: np.ndarray  # (dimension,), the inverse times x


@inlined
def _reset(learner: Learner, memory: Memory) -> None:
    memory.estimate[:] = 0.0
    memory.inverses[:] = 0.0
    for model in range(memory.inverses.shape[0]):
        for i in range(memory.inverses.shape[1]):
            memory.inverses[model, i, i] = 1.0 / learner.ridge


@inlined
def _choose(learner: Learner, memory: Memory, x: np.ndarray, t: int) -> int:
    if t <= learner.warm_up:
        return (t - 1) % arms_of(x, memory.estimate)
    if learner.width > 0.0:
        return optimistic_arm(x, memory.estimate, memory.inverses, learner.width)
    return greedy_arm(x, memory.estimate)


@inlined
def _learn(learner: Learner, memory: Memory, users: Users, row: int, t: int, arm: int, reward: float) -> None:
    x, image, inverses = users.x, memory.image, memory.inverses
    at, model = row_of(arm, x), row_of(arm, memory.estimate)
    d = image.shape[0]
    spread = 1.0
    miss = reward - predictor(x, memory.estimate, arm)
    for i in range(d):
        total = 0.0
        for j in range(d):
            total += inverses[model, i, j] * x[at, j]
        image[i] = total
        spread += total * x[at, i]
    for i in range(d):
        memory.estimate[model, i] += image[i] * miss / spread
        for j in range(d):
            inverses[model, i, j] -= image[i] * image[j] / spread


@kernel
def play(state: np.ndarray, environment: Environment, learner: Learner, record: Record) -> None:
    """One trial per row of ``state``."""
    models, d = environment.models, environment.dimension
    memory = Memory(np.empty((models, d)), np.empty((models, d, d)), np.empty(d))
    users = users_of(environment, state, record.signal)
    play_users(_reset, _choose, _learn, learner, memory, environment, users, record)


reset, choose, learn = _reset, _choose, _learn  # for `kernels.late_contextual`; renamed, they would be new versions
