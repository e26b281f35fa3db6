"""The l2-ball mechanism inside kernels, see `bandit_core.mechanisms.l2_ball`.

A response is a point on a sphere. It is uniform on the sphere and then turned to the side that two coins choose, which
is the same distribution as drawing the half sphere first. At a zero gradient (synthetic updates of arms that were not
chosen) it stays where it is.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import uint64

from bandit_core.jit.decorators import device_function
from bandit_core.kernels.normals import fill_in_turn
from bandit_core.kernels.streams import next_uniform


class Ball(NamedTuple):
    """The l2-ball mechanism at one epsilon."""

    bound: float  # gradients are clipped to this norm
    keep: float  # e^epsilon / (e^epsilon + 1)
    radius: float  # norm of every response


@device_function
def release_into(
    ball: Ball, state: np.ndarray, row: int, gradient: np.ndarray, zero: bool, response: np.ndarray
) -> None:
    """Respond to ``gradient`` (clipped to the ball), or to 0; both vectors have shape (dimension,).

    Draws the direction first, then two coins, from the second generator.
    """
    size, square, along = 0.0, 0.0, 0.0
    while size == 0.0:
        fill_in_turn(state, row, 4, response)
        size, square, along = 0.0, 0.0, 0.0
        for k in range(response.shape[0]):
            drawn, own = response[uint64(k)], gradient[uint64(k)]
            size += drawn * drawn
            square += own * own
            along += own * drawn
    scale = ball.radius / math.sqrt(size)
    coin = next_uniform(state, row, 4)
    other_coin = next_uniform(state, row, 4)
    length = min(ball.bound, math.sqrt(square))
    if not zero and length > 0.0:
        rounded_up = coin < 0.5 + 0.5 * length / ball.bound
        kept = other_coin < ball.keep
        if (along > 0.0) != (rounded_up == kept):
            scale = -scale
    for k in range(response.shape[0]):
        response[k] *= scale
