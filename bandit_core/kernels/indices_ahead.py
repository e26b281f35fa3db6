"""Optimistic indices of the users before the next solution, computed together.

What a rule knows has ``estimate`` (models, dimension), ``inverses`` (models, dimension, dimension), ``bonus`` (1,),
``due`` (1,) the step of the next solution, ``indices`` (users, arms) of a block, ``parts`` (2, users x arms) as room,
and ``ahead`` (1,): users of the block before this one have their indices. A solution sets ``ahead`` to 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandit_core.jit.decorators import array_piece, inlined
from bandit_core.kernels.contexts import column_of
from bandit_core.kernels.contextual import Arrival, highest
from bandit_core.kernels.linalg import add_rows


@inlined
def arm_ahead(known: Any, now: Arrival) -> int:
    """The arm with the largest  x . theta + bonus |x|.

    Until the next solution nothing of an index depends on the users in between: the indices of all who are expected
    before it, or before the block of users ends, are computed together, and anew where a solution comes earlier.
    """
    ahead, block = known.ahead, known.indices.shape[0]
    if now.place == 0 or now.place >= ahead[0]:
        ahead[0] = min(block, now.place + max(1, known.due[0] - now.t))
        _look_ahead(known, now.users.x, column_of(now.users, now.place, 0), column_of(now.users, ahead[0], 0))
    return highest(known.indices[now.place], known.indices.shape[1])


@array_piece
def _look_ahead(known: Any, x: np.ndarray, first: int, last: int) -> None:
    """Predictor plus beta_t |x| in the inverse's norm, for the columns ``first`` to ``last - 1`` and every model.

    Of a single model the inverse's lower triangle is known: half of the squared norm.
    """
    models, squares, sums = known.estimate.shape[0], known.parts[0, first:last], known.parts[1, first:last]
    for model in range(models):
        inverse, indices = known.inverses[model], known.indices.reshape(-1)[first * models + model :: models]
        squares[:] = 0.0
        for k in range(x.shape[0]):
            own, half = x[k, first:last], 0.5 * inverse[k, k] if models == 1 else 0.0
            for at in range(own.shape[0]):
                sums[at] = half * own[at]
            add_rows(sums, 1.0, inverse[:, k], x, k + 1 if models == 1 else 0, x.shape[0], first)
            for at in range(own.shape[0]):
                squares[at] += own[at] * sums[at]
        sums[:] = 0.0
        add_rows(sums, 1.0, known.estimate[model], x, 0, x.shape[0], first)
        whole = 2.0 if models == 1 else 1.0
        for at in range(sums.shape[0]):
            sums[at] += known.bonus[0] * math.sqrt(max(0.0, whole * squares[at]))
        for at in range(sums.shape[0]):
            indices[at] = sums[at]
