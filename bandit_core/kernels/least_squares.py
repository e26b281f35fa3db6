"""LDP-OLS: greedy on private least squares; and the noisy sums that it shares with `optimism`.

Every release adds a noise matrix of full rank, so no rank-one formula applies, and a fresh solution costs d^3/6
multiplications. The server's sums may be refreshed at growing intervals instead: after step t the next solution is due
at t + max(1, floor(refresh t)). Between solutions only the sum of the noise matters, and a sum of n normal variables of
variance s^2 is one of variance n s^2: it is drawn at once when it is needed. With refresh = 0 both happen at every
step, exactly as the policy is defined.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, inlined, kernel, piece
from bandit_core.kernels.contexts import Users, row_of, users_of
from bandit_core.kernels.contextual import clipped, greedy_after_warm_up, play_users, remember, shrunk
from bandit_core.kernels.linalg import add_rows, factorise, solve_factored, solve_indefinite
from bandit_core.kernels.normal_blocks import normals_in_turn
from bandit_core.model import Record
from bandit_core.spec.contexts import Environment

WAITING = 32  # users whose contexts are added to the sums together, where no solution comes before


class Learner(NamedTuple):
    """Bounds, noise and when to solve."""

    bound: float  # of the norm of a context
    reward_bound: float
    matrix_sd: float  # noise on every entry of a matrix
    vector_sd: float  # and of a vector
    shift: float  # coefficient of sqrt(releases) I
    refresh: float  # next solution when users have grown by this share
    warm_up: int  # round-robin users at first; 0 with one parameter
    spread: float  # h/2 of the elimination; infinite: none


class Memory(NamedTuple):
    """What the server keeps of each model, and room to work in."""

    estimate: np.ndarray  # (models, dimension)
    early: np.ndarray  # (models, dimension), the estimate after the warm-up
    grams: np.ndarray  # (models, dimension, dimension), upper triangles
    moments: np.ndarray  # (models, dimension)
    releases: np.ndarray  # (models,), in the sums with their noise
    owed: np.ndarray  # (models,), releases whose noise is not drawn yet
    due: np.ndarray  # (1,), step of the next solution
    work: np.ndarray  # (dimension, dimension)
    shared: np.ndarray  # (models, WAITING, dimension), contexts as they are sent that are not in the sums yet
    waiting: np.ndarray  # (models,), how many these are


@inlined
def next_due(t: int, refresh: float) -> int:
    """When the solution after step t is to be renewed."""
    return t + max(1, int(refresh * t))


@piece
def add_users(gram: np.ndarray, start: int, shared: np.ndarray, count: int) -> None:
    """Add x x^T for the first ``count`` rows x of ``shared``, to the block that begins at ``start``."""
    d = shared.shape[1]
    for i in range(d):
        add_rows(gram[start + i, start + i : start + d], 1.0, shared[:, i], shared, 0, count, i)


@piece
def add_noise(
    state: np.ndarray, row: int, gram: np.ndarray, moment: np.ndarray, releases: float, gram_sd: float,
    moment_sd: float, room: np.ndarray,
) -> None:  # fmt: skip
    """Add the noise of some releases at once: to the upper triangle, then to the vector; ``room`` is of its size."""
    size = gram.shape[0]
    scale = math.sqrt(releases)
    for i in range(size):
        own, drawn = gram[i, i:], room[i:]
        normals_in_turn(state, row, 4, drawn)
        for j in range(own.shape[0]):
            own[j] += scale * gram_sd * drawn[j]
    normals_in_turn(state, row, 4, room)
    for i in range(size):
        moment[i] += scale * moment_sd * room[i]


@inlined
def _reset(learner: Learner, memory: Memory) -> None:
    memory.estimate[:] = 0.0
    memory.grams[:] = 0.0
    memory.moments[:] = 0.0
    memory.releases[:] = 0.0
    memory.owed[:] = 0.0
    memory.waiting[:] = 0
    memory.due[0] = 1


@piece
def _solve(learner: Learner, memory: Memory, users: Users, row: int) -> None:
    """Draw the noise that is owed, and solve where there was any."""
    for i in range(memory.owed.shape[0]):
        if memory.owed[i] == 0.0 or users.signal[0] != 0:
            continue
        gram, moment, estimate = memory.grams[i], memory.moments[i], memory.estimate[i]
        add_users(gram, 0, memory.shared[i], memory.waiting[i])
        memory.waiting[i] = 0
        matrix_sd, vector_sd = learner.matrix_sd, learner.vector_sd
        add_noise(users.state, row, gram, moment, memory.owed[i], matrix_sd, vector_sd, memory.work[0])
        memory.releases[i] += memory.owed[i]
        memory.owed[i] = 0.0
        ridge = learner.shift * math.sqrt(memory.releases[i])
        if factorise(gram, ridge, memory.work, users.signal):
            solve_factored(memory.work, moment, estimate)
        elif not solve_indefinite(gram, ridge, moment, memory.work, estimate):
            estimate[:] = 0.0


@inlined
def _learn(learner: Learner, memory: Memory, users: Users, row: int, at: int, t: int, arm: int, reward: float) -> None:
    model, owed, waiting = row_of(arm, memory.estimate), memory.owed, memory.waiting
    shared, moment = memory.shared[model, waiting[model]], memory.moments[model]
    reward = clipped(reward * shrunk(users.x, at, learner.bound, shared), learner.reward_bound)
    for k in range(shared.shape[0]):
        moment[k] += reward * shared[k]
    waiting[model] += 1
    if waiting[model] == WAITING:
        add_users(memory.grams[model], 0, memory.shared[model], WAITING)
        waiting[model] = 0
    if t <= learner.warm_up:
        owed[model] += 1.0
    else:  # those who were not chosen release noisy zeros, so that nobody sees who was
        for i in range(owed.shape[0]):
            owed[i] += 1.0
    if t >= memory.due[0] or t == learner.warm_up:
        memory.due[0] = next_due(t, learner.refresh)
        _solve(learner, memory, users, row)
    if t == learner.warm_up:
        remember(memory.estimate, memory.early)


@allocating
def room(environment: Environment) -> Memory:
    """Room for the models, not filled yet."""
    models, d = environment.models, environment.dimension
    small = (models, d)
    return Memory(
        np.empty(small), np.empty(small), np.empty((models, d, d)), np.empty(small), np.empty(models), np.empty(models),
        np.empty(1, np.int64), np.empty((d, d)), np.empty((models, WAITING, d)), np.empty(models, np.int64),
    )  # fmt: skip


@kernel
def play(state: np.ndarray, environment: Environment, learner: Learner, record: Record) -> None:
    """One trial per row of ``state``."""
    memory = room(environment)
    users = users_of(environment, state, record.signal)
    play_users(_reset, greedy_after_warm_up, _learn, learner, memory, environment, users, record)


reset, learn = _reset, _learn  # for `kernels.late_contextual`; renamed, they would be new versions
