"""Private optimism (Zheng et al. 2020): LDP-LinUCB and LDP-GLOC, in dimension D = d, or d x arms in blocks.

With a parameter for each arm a context stands in the block of its arm and the released matrix is D x D, noise
everywhere. Solutions and noise are refreshed as in `least_squares`: with refresh = 0 at every step, else at growing
intervals, with c_t and beta_t of the step when it was solved. Until then nothing of an index depends on the users in
between: the indices of all who are expected before the next solution, or before the block of users ends, are computed
together, and thrown away where a solution comes earlier.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, array_piece, inlined, kernel, piece
from bandit_core.kernels.contexts import Users, column_of, dot, mean_reward, row_of, users_of
from bandit_core.kernels.contextual import clipped, highest, play_users, shrunk
from bandit_core.kernels.least_squares import WAITING, add_noise, add_users, next_due
from bandit_core.kernels.linalg import add_rows, factorise, invert_factored, solve_factored
from bandit_core.kernels.normal_blocks import normals_in_turn
from bandit_core.model import Record
from bandit_core.spec.contexts import IDENTITY, Environment


class Learner(NamedTuple):
    """Noise, exploration and when to solve."""

    link: int
    sd: float  # noise of every released number
    level: float  # 4 sqrt(D) + 2 ln(2T/alpha)
    horizon_log: float  # ln T
    gloc: bool  # LDP-GLOC, not LDP-LinUCB
    zeta: float  # GLOC's gradient step
    slope: float  # least slope of the link
    refresh: float  # next solution when users have grown by this share


class Memory(NamedTuple):
    """What the server keeps, and room to work in."""

    estimate: np.ndarray  # (models, dimension)
    online: np.ndarray  # (models, dimension), GLOC's estimate by gradient steps
    inverses: np.ndarray  # (models, dimension, dimension), blocks on the inverse's diagonal; of one its lower triangle
    gram: np.ndarray  # (D, D), upper triangle
    moment: np.ndarray  # (D,)
    solution: np.ndarray  # (D,); room for noise until the next one
    factor: np.ndarray  # (D, D)
    inverse: np.ndarray  # (D, D)
    shared: np.ndarray  # (models, WAITING, dimension), contexts as they are sent that are not in the sums yet
    waiting: np.ndarray  # (models,), how many these are
    bonus: np.ndarray  # (1,), beta_t
    owed: np.ndarray  # (1,), releases whose noise is not drawn yet
    due: np.ndarray  # (1,), step of the next solution
    indices: np.ndarray  # (users, arms) of a block
    parts: np.ndarray  # (2, users x arms), room
    known: np.ndarray  # (1,), users of the block before this one have their indices


@inlined
def _reset(learner: Learner, memory: Memory) -> None:
    memory.estimate[:] = 0.0
    memory.online[:] = 0.0
    memory.inverses[:] = 0.0
    memory.gram[:] = 0.0
    memory.moment[:] = 0.0
    memory.bonus[0] = 0.0
    memory.owed[0] = 0.0
    memory.waiting[:] = 0
    memory.due[0] = 1
    memory.known[0] = 0


@array_piece
def _look_ahead(memory: Memory, x: np.ndarray, first: int, last: int) -> None:
    """Predictor plus beta_t |x| in the inverse's norm, for the columns ``first`` to ``last - 1`` and every model.

    Of a single model the inverse's lower triangle is known: half of the squared norm.
    """
    models, squares, sums = memory.estimate.shape[0], memory.parts[0, first:last], memory.parts[1, first:last]
    for model in range(models):
        inverse, indices = memory.inverses[model], memory.indices.reshape(-1)[first * models + model :: models]
        squares[:] = 0.0
        for k in range(x.shape[0]):
            own, half = x[k, first:last], 0.5 * inverse[k, k] if models == 1 else 0.0
            for at in range(own.shape[0]):
                sums[at] = half * own[at]
            add_rows(sums, 1.0, inverse[:, k], x, k + 1 if models == 1 else 0, x.shape[0], first)
            for at in range(own.shape[0]):
                squares[at] += own[at] * sums[at]
        sums[:] = 0.0
        add_rows(sums, 1.0, memory.estimate[model], x, 0, x.shape[0], first)
        whole = 2.0 if models == 1 else 1.0
        for at in range(sums.shape[0]):
            sums[at] += memory.bonus[0] * math.sqrt(max(0.0, whole * squares[at]))
        for at in range(sums.shape[0]):
            indices[at] = sums[at]


@inlined
def _choose(learner: Learner, memory: Memory, users: Users, user: int, t: int) -> int:
    known, indices = memory.known, memory.indices
    block, arms = indices.shape
    if user == 0 or user >= known[0]:
        known[0] = min(block, user + max(1, memory.due[0] - t))
        _look_ahead(memory, users.x, column_of(users, user, 0), column_of(users, known[0], 0))
    return highest(indices[user], arms)


@piece
def _follow_gradient(learner: Learner, memory: Memory, users: Users, row: int, model: int, reward: float) -> float:
    """GLOC's noisy gradient step; returns what it now predicts, in place of the reward."""
    online, shared, last = memory.online, memory.shared[model], memory.waiting[model]
    miss = mean_reward(learner.link, clipped(dot(online, model, shared, last), 5.0)) - reward
    length = abs(miss) * math.sqrt(dot(shared, last, shared, last))
    if length > 1.0:  # the gradient's noise is meant for norms of at most 1
        miss /= length
    drawn = memory.solution.reshape(online.shape)
    normals_in_turn(users.state, row, 4, memory.solution)
    for i in range(online.shape[0]):
        for k in range(online.shape[1]):
            slope = miss * shared[last, k] if i == model else 0.0
            online[i, k] -= learner.zeta * (slope + learner.sd * drawn[i, k])
    return clipped(dot(online, model, shared, last), 1.0)  # and so is that of (x . theta) x


@piece
def _solve(learner: Learner, memory: Memory, users: Users, row: int, t: int) -> None:
    """Draw the noise that is owed and solve; the last solution stands where the matrix is not positive definite."""
    sd, size = learner.sd, memory.gram.shape[0]
    models, d = memory.estimate.shape
    for i in range(models):
        add_users(memory.gram, i * d, memory.shared[i], memory.waiting[i])
    memory.waiting[:] = 0
    add_noise(users.state, row, memory.gram, memory.moment, memory.owed[0], sd, sd, memory.solution)
    memory.owed[0] = 0.0
    upsilon = sd * math.sqrt(t) * learner.level
    if not factorise(memory.gram, 2.0 * upsilon, memory.factor, users.signal):
        return
    memory.known[0] = 0
    solve_factored(memory.factor, memory.moment, memory.solution)
    invert_factored(memory.factor, memory.inverse, d if models > 1 else 1, users.signal)
    for i in range(models):
        for k in range(d):
            memory.estimate[i, k] = memory.solution[i * d + k]
            for j in range(d if models > 1 else k + 1):
                memory.inverses[i, k, j] = memory.inverse[i * d + k, i * d + j]
    if learner.gloc:
        memory.bonus[0] = math.sqrt(sd / learner.slope * math.sqrt(size * t))
    else:
        bonus = 2.0 * sd * math.sqrt(size * learner.horizon_log)
        bonus += (math.sqrt(3.0 * upsilon) + sd * math.sqrt(size * t / upsilon)) * size * learner.horizon_log
        memory.bonus[0] = bonus


@inlined
def _learn(learner: Learner, memory: Memory, users: Users, row: int, at: int, t: int, arm: int, reward: float) -> None:
    model, waiting, moment = row_of(arm, memory.estimate), memory.waiting, memory.moment
    shared = memory.shared[model, waiting[model]]
    start = model * shared.shape[0]
    scale = shrunk(users.x, at, 1.0, shared)
    if learner.link == IDENTITY:
        reward *= scale
    weight = _follow_gradient(learner, memory, users, row, model, reward) if learner.gloc else clipped(reward, 1.0)
    for k in range(shared.shape[0]):
        moment[start + k] += weight * shared[k]
    waiting[model] += 1
    if waiting[model] == WAITING:
        add_users(memory.gram, start, memory.shared[model], WAITING)
        waiting[model] = 0
    memory.owed[0] += 1.0
    if t >= memory.due[0]:
        memory.due[0] = next_due(t, learner.refresh)
        _solve(learner, memory, users, row, t)


@allocating
def room(environment: Environment, users: Users) -> Memory:
    """Room for the models and the users of a block, not filled yet."""
    models, d = environment.models, environment.dimension
    block, size = users.means.shape, models * d
    small, large = (models, d), (size, size)
    return Memory(
        np.empty(small), np.empty(small), np.empty((models, d, d)), np.empty(large), np.empty(size), np.empty(size),
        np.empty(large), np.empty(large), np.empty((models, WAITING, d)), np.empty(models, np.int64), np.empty(1),
        np.empty(1), np.empty(1, np.int64), np.empty(block), np.empty((2, block[0] * block[1])), np.empty(1, np.int64),
    )  # fmt: skip


@kernel
def play(state: np.ndarray, environment: Environment, learner: Learner, record: Record) -> None:
    """One trial per row of ``state``."""
    users = users_of(environment, state, record.signal)
    memory = room(environment, users)
    play_users(_reset, _choose, _learn, learner, memory, environment, users, record)


reset, choose, learn = _reset, _choose, _learn  # for `kernels.late_contextual`; renamed, they would be new versions
