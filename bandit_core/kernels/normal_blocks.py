"""Many standard normal variables at once: the ziggurat of `normals`, over lanes of generators that step together.

Every lane is a xoshiro256++ generator of its own (see `streams`). What the box of a layer settles at once is computed
for all lanes by the vector units; with 1024 layers that leaves 0.3%, which are mended one by one, in their order, from
the first generator of the trial's stream. Every variable is computed by itself in IEEE arithmetic, so that no machine
has other numbers. A word's lowest 10 bits choose the layer, the eleventh the sign, the upper 52 the place: the middle
of one of 2^52 cells, so that no variable is 0.

Many of one generator are those of `normals` themselves (`normals_in_turn`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import int64, uint64

from bandit_core.jit.decorators import device_function, inlined
from bandit_core.kernels.normals import BOUNDS, SIGNS, WIDTHS, normal, right_edges
from bandit_core.kernels.streams import HALF_UNIT, UNIT, next_uniform, stepped
from bandit_core.kernels.vectors import LANES, LAYERS, fill_words, lowest_bit, place_in_layers
from bandit_core.spec.portable_math import exp

EDGE = 4.038849846109505  # where the tail begins, for 1024 layers


EDGES = right_edges(LAYERS, EDGE)
HEIGHTS = exp(-0.5 * EDGES**2)
_WIDTHS = EDGES * UNIT  # of a layer's cells


@device_function
def _mend(marks: np.ndarray, words: np.ndarray, out: np.ndarray, state: np.ndarray, row: int) -> None:
    """Where the curve cuts a layer: the place if it is below the curve, else another variable; and the tail."""
    for mark in marks:
        each, left = mark >> LANES, mark & (2**LANES - 1)
        while left != 0:
            lane = lowest_bit(left)
            out[each, lane] = _rare(words[each, lane], out[each, lane], state, row)
            left &= left - 1


@inlined
def _rare(word: Any, place: float, state: np.ndarray, row: int) -> float:
    layer = int64(word & uint64(LAYERS - 1))
    if layer == 0:
        beyond = -math.log(next_uniform(state, row, 0) + HALF_UNIT) / EDGE
        while -2.0 * math.log(next_uniform(state, row, 0) + HALF_UNIT) <= beyond * beyond:
            beyond = -math.log(next_uniform(state, row, 0) + HALF_UNIT) / EDGE
        return math.copysign(EDGE + beyond, place)
    height = HEIGHTS[layer] + next_uniform(state, row, 0) * (HEIGHTS[layer + 1] - HEIGHTS[layer])
    return place if height < math.exp(-0.5 * place * place) else normal(state, row, 0)


@inlined
def fill_normals(
    lanes: np.ndarray, words: np.ndarray, marks: np.ndarray, out: np.ndarray, state: np.ndarray, row: int
) -> None:
    """Fill ``out`` (rows, LANES) with standard normal variables.

    ``lanes`` is (4, LANES); room are ``words`` (rows, LANES) uint64, and ``marks`` (rows,) int64.
    """
    fill_words(lanes, words)
    marked = 0
    for each in range(out.shape[0]):
        left = place_in_layers(words[each], _WIDTHS, EDGES, out[each])
        marks[marked] = each << LANES | left  # no branch here: it would be known late, and often mispredicted
        marked += left != 0
    _mend(marks[:marked], words, out, state, row)


@inlined
def normals_in_turn(state: np.ndarray, row: int, at: int, out: np.ndarray) -> None:
    """Fill ``out`` with the next variables of `normals.normal`, the words of its generator kept in registers meanwhile.

    What its first comparison does not settle is left to `normals.normal` itself.
    """
    a, b, c, d = state[row, at], state[row, at + 1], state[row, at + 2], state[row, at + 3]
    for place in range(out.shape[0]):
        word, next_a, next_b, next_c, next_d = stepped(a, b, c, d)
        layer, value = word & uint64(0xFF), int64(word >> uint64(12))
        if value < BOUNDS[layer]:
            out[place] = SIGNS[(word >> uint64(8)) & uint64(1)] * (value * WIDTHS[layer])
            a, b, c, d = next_a, next_b, next_c, next_d
        else:
            state[row, at], state[row, at + 1], state[row, at + 2], state[row, at + 3] = a, b, c, d
            out[place] = normal(state, row, at)
            a, b, c, d = state[row, at], state[row, at + 1], state[row, at + 2], state[row, at + 3]
    state[row, at], state[row, at + 1], state[row, at + 2], state[row, at + 3] = a, b, c, d
