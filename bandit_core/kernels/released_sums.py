"""Noise of sums that a curator releases again and again: normal noise that hangs together from release to release.

A model has d(d+3)/2 numbers: the upper triangle of its sum of x x^T, row by row, and its sum of r x. Release i has the
noise (sd = 1 here)

* tree: of each node in the binary form of the place, the largest first. A place is the number of the release, or of
  the users if the tree's leaves are users. A node's noise is drawn when it is first read.
* else: sum over j of f_(i-j) Z_j, f being a mixture of exponentials (see `mechanisms.square_root`); with one term that
  does not fall, f = 1, every release has fresh noise and keeps that of all before it.
"""

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, device_function, inlined
from bandit_core.kernels.noisy_sums import NoisySums
from bandit_core.kernels.normals import fill_in_turn
from bandit_core.kernels.play import Stream

DIAGONAL = math.sqrt(2.0)  # noise on the diagonal, over that beside it


class Counter(NamedTuple):
    """Which noise: a tree with as many levels as there are ``rates``, or exponentials (terms,)."""

    tree: bool
    weights: np.ndarray
    rates: np.ndarray


class Noise(NamedTuple):
    """What is kept of it: of every level or term ``held`` (rows, numbers), and the ``nodes`` of a tree (rows,).

    ``now`` (numbers,) is the noise of the present release, ``fresh`` (numbers,) the last normal variables.
    """

    held: np.ndarray
    nodes: np.ndarray
    now: np.ndarray
    fresh: np.ndarray


@allocating
def no_noise(counter: Counter, numbers: int) -> Noise:
    """Before the first release."""
    rows = counter.rates.shape[0]
    return Noise(np.zeros((rows, numbers)), np.zeros(rows, np.int64), np.zeros(numbers), np.empty(numbers))


@inlined
def numbers_of(models: int, dimension: int) -> int:
    """How many numbers are released at a time."""
    return models * (dimension * (dimension + 3) // 2)


@device_function
def next_noise(counter: Counter, noise: Noise, place: int, stream: Stream) -> None:
    """Make ``noise.now`` that of the release at ``place``, which grows."""
    now = noise.now
    now[:] = 0.0
    if not counter.tree:
        fill_in_turn(stream.words, stream.trial, 4, noise.fresh)
        for term in range(counter.rates.shape[0]):
            held, rate, weight = noise.held[term], counter.rates[term], counter.weights[term]
            for i in range(now.shape[0]):
                held[i] = rate * held[i] + weight * noise.fresh[i]
                now[i] += held[i]
        return
    for level in range(counter.rates.shape[0] - 1, -1, -1):
        node, held = place >> level, noise.held[level]
        if node & 1:
            if noise.nodes[level] != node:
                noise.nodes[level] = node
                fill_in_turn(stream.words, stream.trial, 4, held)
            for i in range(now.shape[0]):
                now[i] += held[i]


@device_function
def with_noise(
    sums: NoisySums, model: int, noise: np.ndarray, sd: float, ratio: float, gram: np.ndarray, moment: np.ndarray
) -> None:
    """The sums of a model with noise: ``sd`` beside the diagonal, ``ratio`` times as much on the vector."""
    d = moment.shape[0]
    at = numbers_of(model, d)
    for i in range(d):
        for j in range(i, d):
            gram[i, j] = sums.grams[model, i, j] + sd * (DIAGONAL if i == j else 1.0) * noise[at]
            at += 1
    for i in range(d):
        moment[i] = sums.moments[model, i] + sd * ratio * noise[at]
        at += 1
