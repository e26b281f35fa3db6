"""LinUCB and greedy least squares, without privacy: ridge regression by rank-one updates of its inverse.

LinUCB asks for the norm of a context in a model's inverse, d^2 multiplications, only where the arm could have the
largest index if the inverse stretched its context by the largest of all eigenvalues. These only shrink as users come
(an update subtracts a positive semidefinite matrix), so a bound of them stays one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, inlined, kernel, piece
from bandit_core.kernels.contexts import Users, arms_of, predictor, row_of, users_of
from bandit_core.kernels.contextual import greedy_arm, optimistic_arm, play_users
from bandit_core.kernels.linalg import quadratic
from bandit_core.model import Record
from bandit_core.spec.contexts import Environment

FEW = 4  # features, below which a norm costs less than a bound
ROUNDING = 1e-9  # of what an index can be, far above that of its operations


class Learner(NamedTuple):
    """Regularisation and exploration."""

    ridge: float  # weight of |theta|^2
    width: float  # the index adds width |x| in the inverse's norm; 0: greedy
    warm_up: int  # round-robin users at first; 0 with one parameter


class Memory(NamedTuple):
    """What the server keeps of each model, and room to work in."""

    estimate: np.ndarray  # (models, dimension)
    inverses: np.ndarray  # (models, dimension, dimension)
    image: np.ndarray  # (dimension,), the inverse times x
    largest: np.ndarray  # (models,), no eigenvalue of the inverse is larger
    tops: np.ndarray  # (arms,), no index of the present user is larger
    users: np.ndarray  # (2,), learned from, and after how many the eigenvalues are bounded anew


@inlined
def _reset(learner: Learner, memory: Memory) -> None:
    memory.estimate[:] = 0.0
    memory.inverses[:] = 0.0
    for model in range(memory.inverses.shape[0]):
        for i in range(memory.inverses.shape[1]):
            memory.inverses[model, i, i] = 1.0 / learner.ridge
    memory.largest[:] = 1.0 / learner.ridge
    memory.users[:] = 0


@piece
def bound_eigenvalues(inverses: np.ndarray, largest: np.ndarray) -> None:
    """By the largest sum of a row's absolute values (Gershgorin)."""
    for model in range(inverses.shape[0]):
        largest[model] = 0.0
        for i in range(inverses.shape[1]):
            total = 0.0
            for j in range(inverses.shape[2]):
                total += abs(inverses[model, i, j])
            largest[model] = max(largest[model], total)


@inlined
def _highest_top(memory: Memory, x: np.ndarray, width: float) -> int:
    """The arm whose index can be largest, from bounds of all indices."""
    estimate, largest, tops = memory.estimate, memory.largest, memory.tops
    highest = 0
    for arm in range(tops.shape[0]):
        i, model = row_of(arm, x), row_of(arm, estimate)
        predicted = 0.0
        square = 0.0
        for k in range(x.shape[1]):
            predicted += x[i, k] * estimate[model, k]
            square += x[i, k] * x[i, k]
        tops[arm] = predicted + width * math.sqrt(largest[model] * square)
        if tops[arm] > tops[highest]:
            highest = arm
    return highest


@piece
def _index(estimate: np.ndarray, inverses: np.ndarray, x: np.ndarray, width: float, arm: int) -> float:
    square = quadratic(inverses[row_of(arm, estimate)], x, row_of(arm, x))
    return predictor(x, estimate, arm) + width * math.sqrt(max(0.0, square))


@inlined
def _optimistic_arm(memory: Memory, x: np.ndarray, width: float) -> int:
    """`contextual.optimistic_arm`, with fewer norms."""
    estimate, inverses, tops = memory.estimate, memory.inverses, memory.tops
    first = _highest_top(memory, x, width)
    likely = _index(estimate, inverses, x, width, first)
    bar = likely - ROUNDING * (abs(likely) + abs(tops[first]))
    choice = first
    best = -math.inf
    for arm in range(tops.shape[0]):
        if tops[arm] >= bar:
            index = likely if arm == first else _index(estimate, inverses, x, width, arm)
            if index > best:
                best = index
                choice = arm
    return choice


@inlined
def _choose(learner: Learner, memory: Memory, x: np.ndarray, t: int) -> int:
    if t <= learner.warm_up:
        return (t - 1) % arms_of(x, memory.estimate)
    if learner.width > 0.0:
        if x.shape[1] < FEW:
            return optimistic_arm(x, memory.estimate, memory.inverses, learner.width)
        return _optimistic_arm(memory, x, learner.width)
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
    if learner.width > 0.0:
        memory.users[0] += 1
        if memory.users[0] > memory.users[1]:
            memory.users[1] = memory.users[0] + memory.users[0] // 16
            bound_eigenvalues(inverses, memory.largest)


@allocating
def room(environment: Environment) -> Memory:
    """Room for the models, not filled yet."""
    models, d = environment.models, environment.dimension
    inverses, tops = np.empty((models, d, d)), np.empty(environment.arms)
    return Memory(np.empty((models, d)), inverses, np.empty(d), np.empty(models), tops, np.empty(2, np.int64))


@kernel
def play(state: np.ndarray, environment: Environment, learner: Learner, record: Record) -> None:
    """One trial per row of ``state``."""
    memory = room(environment)
    users = users_of(environment, state, record.signal)
    play_users(_reset, _choose, _learn, learner, memory, environment, users, record)


reset, choose, learn = _reset, _choose, _learn  # for `kernels.late_contextual`; renamed, they would be new versions
