"""Sums of x x^T and of weights times x in normal noise, as least squares of users with local privacy need them.

Every release adds a noise matrix of full rank, so no rank-one formula applies, and a fresh solution costs d^3/6
multiplications. The server's sums may be refreshed at growing intervals instead: after step t the next solution is due
at t + max(1, floor(refresh t)). Between solutions only the sum of the noise matters, and a sum of n normal variables of
variance s^2 is one of variance n s^2: it is drawn at once when it is needed. With refresh = 0 both happen at every
step, exactly as the policies are defined.
"""

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, device_function, inlined
from bandit_core.kernels.contexts import Users, row_of
from bandit_core.kernels.normals import fill_in_turn
from bandit_core.kernels.play import Stream


class NoisySums(NamedTuple):
    """Sums for each model, or one with a block for each model; and room for a context as it is sent."""

    grams: np.ndarray  # (sums, size, size), upper triangles
    moments: np.ndarray  # (sums, size)
    owed: np.ndarray  # (sums,), releases whose noise is not drawn yet
    shared: np.ndarray  # (dimension,)


@allocating
def noisy_sums(users: Users, sums: int) -> NoisySums:
    """Nothing, in so many sums: one, or one for each model."""
    models, d = users.theta.shape
    size = models * d // sums
    return NoisySums(np.zeros((sums, size, size)), np.zeros((sums, size)), np.zeros(sums), np.empty(d))


@inlined
def next_due(t: int, refresh: float) -> int:
    """When the solution after step t is to be renewed."""
    return t + max(1, int(refresh * t))


@device_function
def _add_noise(
    state: np.ndarray, row: int, gram: np.ndarray, moment: np.ndarray, releases: float, gram_sd: float,
    moment_sd: float, room: np.ndarray,
) -> None:  # fmt: skip
    """Add the noise of some releases at once: to the upper triangle, then to the vector; ``room`` is of its size."""
    size = gram.shape[0]
    scale = math.sqrt(releases)
    for i in range(size):
        own, drawn = gram[i, i:], room[i:]
        fill_in_turn(state, row, 4, drawn)
        for j in range(own.shape[0]):
            own[j] += scale * gram_sd * drawn[j]
    fill_in_turn(state, row, 4, room)
    for i in range(size):
        moment[i] += scale * moment_sd * room[i]


@device_function
def add_shared(sums: NoisySums, model: int, weight: float) -> None:
    """Count the context of ``sums.shared``: x x^T, and ``weight`` times x."""
    x, own = sums.shared, row_of(model, sums.moments)
    gram, moment, start = sums.grams[own], sums.moments[own], (model - own) * x.shape[0]
    for i in range(x.shape[0]):
        moment[start + i] += weight * x[i]
        for j in range(i, x.shape[0]):
            gram[start + i, start + j] += x[i] * x[j]


@device_function
def complete(sums: NoisySums, own: int, gram_sd: float, moment_sd: float, stream: Stream, room: np.ndarray) -> None:
    """Add the noise that is owed to a sum; ``room`` is of its size."""
    _add_noise(stream.words, stream.trial, sums.grams[own], sums.moments[own], sums.owed[own], gram_sd, moment_sd, room)
    sums.owed[own] = 0.0
