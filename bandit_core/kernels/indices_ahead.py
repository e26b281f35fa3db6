"""Optimistic indices of users: predictor plus bonus |x| in the norm of an inverse.

Until the next solution nothing of an index depends on the users in between: the indices of all who are expected before
it, or before the block of users ends, are computed together, and anew where a solution comes earlier.
"""

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, inlined
from bandit_core.kernels.contexts import Users, column_of
from bandit_core.kernels.contextual import Arrival, highest
from bandit_core.kernels.linalg import add_rows, sum_columns


class Optimism(NamedTuple):
    """What makes an index out of an estimate, and the indices of a block of users."""

    inverses: np.ndarray  # (models, dimension, dimension); of a single model its lower triangle counts
    bonus: np.ndarray  # (1,)
    due: np.ndarray  # (1,), step of the next solution
    ahead: np.ndarray  # (1,), users of the block before this one have their indices; a solution sets it to 0
    indices: np.ndarray  # (users x arms,)
    parts: np.ndarray  # (2, users x arms), room


@allocating
def optimism(users: Users, inverses: np.ndarray, bonus: float, due: int) -> Optimism:
    """No index yet."""
    size, ahead = users.means.size, np.zeros(1, np.int64)
    return Optimism(inverses, np.full(1, bonus), np.full(1, due), ahead, np.empty(size), np.empty((2, size)))


@inlined
def optimistic_arm(known: Optimism, estimate: np.ndarray, now: Arrival) -> int:
    """The arm with the largest  x . theta + bonus |x|."""
    ahead, (block, arms) = known.ahead, now.users.means.shape
    if now.place == 0 or now.place >= ahead[0]:
        ahead[0] = min(block, now.place + max(1, known.due[0] - now.t))
        first, last = column_of(now.users, now.place, 0), column_of(now.users, ahead[0], 0)
        _look_ahead(known, estimate, now.users.x, first, last)
    return highest(known.indices[now.place * arms :], arms)


@inlined
def _look_ahead(known: Optimism, estimate: np.ndarray, x: np.ndarray, first: int, last: int) -> None:
    """The indices for the columns ``first`` to ``last - 1`` and every model.

    Of a single model the inverse's lower triangle is known: half of the squared norm.
    """
    models, squares, sums = estimate.shape[0], known.parts[0, first:last], known.parts[1, first:last]
    for model in range(models):
        inverse, indices = known.inverses[model], known.indices[first * models + model :: models]
        squares[:] = 0.0
        for k in range(x.shape[0]):
            own, half = x[k, first:last], 0.5 * inverse[k, k] if models == 1 else 0.0
            for at in range(own.shape[0]):
                sums[at] = half * own[at]
            add_rows(sums, 1.0, inverse[:, k], x, k + 1 if models == 1 else 0, x.shape[0], first)
            for at in range(own.shape[0]):
                squares[at] += own[at] * sums[at]
        sum_columns(estimate[model], x, first, sums)
        whole = 2.0 if models == 1 else 1.0
        for at in range(sums.shape[0]):
            indices[at] = sums[at] + known.bonus[0] * math.sqrt(max(0.0, whole * squares[at]))
