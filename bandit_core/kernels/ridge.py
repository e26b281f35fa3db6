"""LinUCB and greedy least squares, without privacy: ridge regression by rank-one updates of its inverse.

LinUCB asks for the norm of a context in a model's inverse, d^2 multiplications, only where the arm could have the
largest index if the inverse stretched its context by the largest of all eigenvalues. These only shrink as users come
(an update subtracts a positive semidefinite matrix), so a bound of them stays one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, array_piece, inlined, kernel, piece
from bandit_core.kernels.contexts import Users, column_of, predict, predictor, row_of, users_of
from bandit_core.kernels.contextual import greedy_arm, highest, play_users
from bandit_core.kernels.linalg import add_rows
from bandit_core.kernels.vectors import square_columns
from bandit_core.model import Record
from bandit_core.spec.contexts import Environment

FEW = 8  # features, up to which the norms of all contexts cost less than bounds that spare some
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
    squares: np.ndarray  # of the norms of the block's contexts, a number for each column of ``users.x``
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


@array_piece
def _square(x: np.ndarray, squares: np.ndarray) -> None:
    """Squared norms of the columns of ``x``."""
    squares[:] = 0.0
    for k in range(x.shape[0]):
        for at in range(squares.shape[0]):
            squares[at] += x[k, at] * x[k, at]


@inlined
def _bound_indices(memory: Memory, users: Users, user: int, width: float) -> None:
    """No index of this user is larger than ``memory.tops``; predictors into ``users.scores``."""
    scores, largest, squares, tops = users.scores, memory.largest, memory.squares, memory.tops
    if user == 0:
        _square(users.x, squares)
    predict(users, user, memory.estimate)
    for arm in range(tops.shape[0]):
        square = squares[column_of(users, user, arm)]
        tops[arm] = scores[arm] + width * math.sqrt(largest[row_of(arm, memory.estimate)] * square)


@inlined
def _transform(inverse: np.ndarray, x: np.ndarray, at: int, image: np.ndarray) -> None:
    """The inverse times column ``at`` of ``x``, along rows, as the inverse is symmetric."""
    image[:] = 0.0
    add_rows(image, 1.0, x[:, at], inverse, 0, image.shape[0], 0)


@piece
def _bonus(memory: Memory, users: Users, user: int, arm: int, width: float) -> float:
    """``width`` |x| in the inverse's norm, for the context of an arm."""
    x, at, image = users.x, column_of(users, user, arm), memory.image
    _transform(memory.inverses[row_of(arm, memory.estimate)], x, at, image)
    square = 0.0
    for k in range(image.shape[0]):
        square += x[k, at] * image[k]
    return width * math.sqrt(max(0.0, square))


@inlined
def _arm_by_all_norms(memory: Memory, users: Users, user: int, width: float) -> int:
    """Arm with the largest predictor plus ``width`` |x| in the inverse's norm, for one parameter."""
    scores, squares, arms = users.scores, memory.squares, users.order.shape[0]
    predict(users, user, memory.estimate)
    square_columns(memory.inverses[0], users.x, column_of(users, user, 0), arms, squares)
    for arm in range(arms):
        scores[arm] += width * math.sqrt(max(0.0, squares[arm]))
    return highest(scores, arms)


@inlined
def _arm_by_bounds(memory: Memory, users: Users, user: int, width: float) -> int:
    """The same arm by the norms of those arms only that could have the largest index."""
    scores, tops = users.scores, memory.tops
    _bound_indices(memory, users, user, width)
    first = highest(tops, tops.shape[0])
    scores[first] += _bonus(memory, users, user, first, width)
    bar = scores[first] - ROUNDING * (abs(scores[first]) + abs(tops[first]))
    for arm in range(tops.shape[0]):
        if arm != first and tops[arm] >= bar:
            scores[arm] += _bonus(memory, users, user, arm, width)
        elif arm != first:
            scores[arm] = -math.inf
    return highest(scores, tops.shape[0])


@inlined
def _choose(learner: Learner, memory: Memory, users: Users, user: int, t: int) -> int:
    if t <= learner.warm_up:
        return (t - 1) % users.order.shape[0]
    if learner.width == 0.0:
        return greedy_arm(users, user, memory.estimate)
    if memory.estimate.shape[0] == 1 and users.x.shape[0] <= FEW:
        return _arm_by_all_norms(memory, users, user, learner.width)
    return _arm_by_bounds(memory, users, user, learner.width)


@array_piece
def _subtract(inverse: np.ndarray, image: np.ndarray, share: float) -> None:
    """Take ``share`` x image image^T from the inverse."""
    for i in range(image.shape[0]):
        own, weight = inverse[i], image[i]
        for j in range(image.shape[0]):
            own[j] -= weight * image[j] * share


@inlined
def _learn(learner: Learner, memory: Memory, users: Users, row: int, at: int, t: int, arm: int, reward: float) -> None:
    x, image, model = users.x, memory.image, row_of(arm, memory.estimate)
    inverse = memory.inverses[model]
    d = image.shape[0]
    miss = reward - predictor(x, at, memory.estimate, model)
    _transform(inverse, x, at, image)
    spread = 1.0
    for i in range(d):
        spread += image[i] * x[i, at]
    share = 1.0 / spread
    for i in range(d):
        memory.estimate[model, i] += image[i] * miss * share
    _subtract(inverse, image, share)
    if learner.width > 0.0:
        memory.users[0] += 1
        if memory.users[0] > memory.users[1]:
            memory.users[1] = memory.users[0] + memory.users[0] // 16
            bound_eigenvalues(memory.inverses, memory.largest)


@allocating
def room(environment: Environment, users: Users) -> Memory:
    """Room for the models and the users of a block, not filled yet."""
    models, d = environment.models, environment.dimension
    return Memory(
        np.empty((models, d)), np.empty((models, d, d)), np.empty(d), np.empty(models), np.empty(users.x.shape[1]),
        np.empty(environment.arms), np.empty(2, np.int64),
    )  # fmt: skip


@kernel
def play(state: np.ndarray, environment: Environment, learner: Learner, record: Record) -> None:
    """One trial per row of ``state``."""
    users = users_of(environment, state, record.signal)
    memory = room(environment, users)
    play_users(_reset, _choose, _learn, learner, memory, environment, users, record)


reset, choose, learn = _reset, _choose, _learn  # for `kernels.late_contextual`; renamed, they would be new versions
