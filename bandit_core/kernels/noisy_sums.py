"""Sums of x x^T and of weights times x in normal noise, as least squares of users with local privacy need them.

Every release adds a noise matrix of full rank, so no rank-one formula applies, and a fresh solution costs d^3/6
multiplications. The server's sums may be refreshed at growing intervals instead: after step t the next solution is due
at t + max(1, floor(refresh t)). Between solutions only the sum of the noise matters, and a sum of n normal variables of
variance s^2 is one of variance n s^2: it is drawn at once when it is needed. With refresh = 0 both happen at every
step, exactly as the policies are defined.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, device_function, inlined
from bandit_core.kernels.contexts import Users, row_of
from bandit_core.kernels.linalg import add_rows
from bandit_core.kernels.normal_blocks import normals_in_turn
from bandit_core.kernels.play import Stream

WAITING = 32  # users whose contexts are added to the sums together, where no solution comes before


class NoisySums(NamedTuple):
    """Sums for each model, or one with a block for each model, and what is not in them yet."""

    grams: np.ndarray  # (sums, size, size), upper triangles
    moments: np.ndarray  # (sums, size)
    owed: np.ndarray  # (sums,), releases whose noise is not drawn yet
    shared: np.ndarray  # (models, WAITING, dimension), contexts as they are sent
    waiting: np.ndarray  # (models,), how many these are


@allocating
def noisy_sums(users: Users, sums: int) -> NoisySums:
    """Nothing, in so many sums: one, or one for each model."""
    models, d = users.theta.shape
    size = models * d // sums
    shared, waiting = np.empty((models, WAITING, d)), np.zeros(models, np.int64)
    return NoisySums(np.zeros((sums, size, size)), np.zeros((sums, size)), np.zeros(sums), shared, waiting)


@inlined
def next_due(t: int, refresh: float) -> int:
    """When the solution after step t is to be renewed."""
    return t + max(1, int(refresh * t))


@device_function
def _add_users(gram: np.ndarray, start: int, shared: np.ndarray, count: int) -> None:
    """Add x x^T for the first ``count`` rows x of ``shared``, to the block that begins at ``start``."""
    d = shared.shape[1]
    for i in range(d):
        add_rows(gram[start + i, start + i : start + d], 1.0, shared[:, i], shared, 0, count, i)


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
        normals_in_turn(state, row, 4, drawn)
        for j in range(own.shape[0]):
            own[j] += scale * gram_sd * drawn[j]
    normals_in_turn(state, row, 4, room)
    for i in range(size):
        moment[i] += scale * moment_sd * room[i]


@inlined
def add_shared(sums: NoisySums, model: int, weight: float) -> None:
    """Count the next context of ``sums.shared``: x x^T, and ``weight`` times x."""
    shared, waiting, own = sums.shared[model], sums.waiting, row_of(model, sums.moments)
    context, moment = shared[waiting[model]], sums.moments[own]
    start = (model - own) * shared.shape[1]
    for k in range(shared.shape[1]):
        moment[start + k] += weight * context[k]
    waiting[model] += 1
    if waiting[model] == WAITING:
        _add_users(sums.grams[own], start, shared, WAITING)
        waiting[model] = 0


@device_function
def add_waiting(sums: NoisySums, own: int) -> None:
    """Add the contexts that wait to a sum."""
    for model in range(sums.waiting.shape[0]):
        if row_of(model, sums.moments) == own:
            _add_users(sums.grams[own], (model - own) * sums.shared.shape[2], sums.shared[model], sums.waiting[model])
            sums.waiting[model] = 0


@device_function
def complete(sums: NoisySums, own: int, gram_sd: float, moment_sd: float, stream: Stream, room: np.ndarray) -> None:
    """Add the contexts that wait to a sum, and the noise that is owed; ``room`` is of its size."""
    add_waiting(sums, own)
    _add_noise(stream.words, stream.trial, sums.grams[own], sums.moments[own], sums.owed[own], gram_sd, moment_sd, room)
    sums.owed[own] = 0.0
