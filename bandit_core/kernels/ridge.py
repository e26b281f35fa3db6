"""Inverses of regularised sums of x x^T, by rank-one updates, and the arm that could be best by them.

The norm of a context in a model's inverse takes d^2 multiplications. It is computed only where the arm could have the
largest index if the inverse stretched its context by the largest of all eigenvalues. These only shrink as users come
(an update subtracts a positive semidefinite matrix), so a bound of them stays one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, array_piece, device_function, inlined
from bandit_core.kernels.contexts import Users, column_of, predict, row_of
from bandit_core.kernels.contextual import highest
from bandit_core.kernels.linalg import add_rows
from bandit_core.kernels.vectors import square_columns

FEW_FEATURES = 8  # features, up to which the norms of all contexts cost less than bounds that spare some
ROUNDING = 1e-9  # of what an index can be, far above that of its operations


class Inverses(NamedTuple):
    """The inverse of each model, and room to work in."""

    inverses: np.ndarray  # (models, dimension, dimension)
    image: np.ndarray  # (dimension,), the inverse times x
    largest: np.ndarray  # (models,), no eigenvalue of the inverse is larger
    squares: np.ndarray  # of the norms of the block's contexts, a number for each column of ``users.x``
    tops: np.ndarray  # (arms,), no index of the present user is larger
    counted: np.ndarray  # (2,), users in the inverses, and after how many the eigenvalues are bounded anew


@allocating
def inverses_of(ridge: float, users: Users) -> Inverses:
    """Those of ``ridge`` x I."""
    models, d = users.theta.shape
    inverses = np.zeros((models, d, d))
    for model in range(models):
        for i in range(d):
            inverses[model, i, i] = 1.0 / ridge
    largest, squares = np.full(models, 1.0 / ridge), np.empty(users.x.shape[1])
    return Inverses(inverses, np.empty(d), largest, squares, np.empty(users.order.shape[0]), np.zeros(2, np.int64))


@device_function
def _bound_eigenvalues(inverses: np.ndarray, largest: np.ndarray) -> None:
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
def _bound_indices(known: Inverses, estimate: np.ndarray, users: Users, user: int, width: float) -> None:
    """No index of this user is larger than ``known.tops``; predictors into ``users.scores``."""
    scores, largest, squares, tops = users.scores, known.largest, known.squares, known.tops
    if user == 0:
        _square(users.x, squares)
    predict(users, user, estimate)
    for arm in range(tops.shape[0]):
        square = squares[column_of(users, user, arm)]
        tops[arm] = scores[arm] + width * math.sqrt(largest[row_of(arm, estimate)] * square)


@inlined
def _transform(inverse: np.ndarray, x: np.ndarray, image: np.ndarray, total: float) -> float:
    """The inverse times ``x`` into ``image``, along rows, as it is symmetric; ``total`` + x . image is returned."""
    image[:] = 0.0
    add_rows(image, 1.0, x, inverse, 0, image.shape[0], 0)
    for k in range(image.shape[0]):
        total += x[k] * image[k]
    return total


@device_function
def _bonus(known: Inverses, users: Users, user: int, arm: int, width: float) -> float:
    """``width`` |x| in the inverse's norm, for the context of an arm."""
    x, inverse = users.x[:, column_of(users, user, arm)], known.inverses[row_of(arm, known.inverses)]
    return width * math.sqrt(max(0.0, _transform(inverse, x, known.image, 0.0)))


@inlined
def _arm_by_all_norms(known: Inverses, estimate: np.ndarray, users: Users, user: int, width: float) -> int:
    """The arm of `optimistic_arm`, for one parameter."""
    scores, squares, arms = users.scores, known.squares, users.order.shape[0]
    predict(users, user, estimate)
    square_columns(known.inverses[0], users.x, column_of(users, user, 0), arms, squares)
    for arm in range(arms):
        scores[arm] += width * math.sqrt(max(0.0, squares[arm]))
    return highest(scores, arms)


@inlined
def _arm_by_bounds(known: Inverses, estimate: np.ndarray, users: Users, user: int, width: float) -> int:
    """The same arm by the norms of those arms only that could have the largest index."""
    scores, tops = users.scores, known.tops
    _bound_indices(known, estimate, users, user, width)
    first = highest(tops, tops.shape[0])
    scores[first] += _bonus(known, users, user, first, width)
    bar = scores[first] - ROUNDING * (abs(scores[first]) + abs(tops[first]))
    for arm in range(tops.shape[0]):
        if arm != first and tops[arm] >= bar:
            scores[arm] += _bonus(known, users, user, arm, width)
        elif arm != first:
            scores[arm] = -math.inf
    return highest(scores, tops.shape[0])


@inlined
def optimistic_arm(known: Inverses, estimate: np.ndarray, users: Users, user: int, width: float) -> int:
    """Arm with the largest predictor plus ``width`` |x| in the inverse's norm."""
    if estimate.shape[0] == 1 and users.x.shape[0] <= FEW_FEATURES:
        return _arm_by_all_norms(known, estimate, users, user, width)
    return _arm_by_bounds(known, estimate, users, user, width)


@array_piece
def _subtract(inverse: np.ndarray, image: np.ndarray, share: float) -> None:
    """Take ``share`` x image image^T from the inverse."""
    for i in range(image.shape[0]):
        own, weight = inverse[i], image[i]
        for j in range(image.shape[0]):
            own[j] -= weight * image[j] * share


@inlined
def add_context(known: Inverses, model: int, context: np.ndarray) -> float:
    """Add x x^T to the matrix behind an inverse (Sherman and Morrison). Afterwards ``known.image`` times what is
    returned is the new inverse times x.
    """
    inverse, image = known.inverses[model], known.image
    share = 1.0 / _transform(inverse, context, image, 1.0)
    _subtract(inverse, image, share)
    return share


@inlined
def bound_again(known: Inverses) -> None:
    """Bound the eigenvalues anew where the users have grown by a sixteenth; asked after every user."""
    known.counted[0] += 1
    if known.counted[0] > known.counted[1]:
        known.counted[1] = known.counted[0] + known.counted[0] // 16
        _bound_eigenvalues(known.inverses, known.largest)
