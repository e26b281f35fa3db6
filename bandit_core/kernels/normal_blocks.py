"""Many standard normal variables at once: the ziggurat of `normals`, over lanes of generators that step together.

Every lane is a xoshiro256++ generator of its own (see `streams`). What the box of a layer settles at once is computed
for all lanes together; with 1024 layers that leaves 0.3%, which are mended one by one, in their order, from
the first generator of the trial's stream. Every variable is computed by itself in IEEE arithmetic, so that no machine
has other numbers. A word's lowest 10 bits choose the layer, the eleventh the sign, the upper 52 the place: the middle
of one of 2^52 cells, so that no variable is 0.
"""

import math

import numpy as np
from numba import int64, uint64

from bandit_core.jit.decorators import device_function, inlined
from bandit_core.kernels.normals import SIGNS, normal, right_edges
from bandit_core.kernels.streams import HALF_UNIT, UNIT, fill_words, next_uniform
from bandit_core.spec.portable_math import exp

LANES = 32  # generators that step together
LAYERS = 1024
EDGE = 4.038849846109505  # where the tail begins, for 1024 layers


EDGES = right_edges(LAYERS, EDGE)
HEIGHTS = exp(-0.5 * EDGES**2)
_WIDTHS = EDGES * UNIT  # of a layer's cells


@device_function
def _rare(layer: int, place: float, state: np.ndarray, row: int) -> float:
    """Where the curve cuts a layer: the place if it is below the curve, else another variable; and the tail."""
    if layer == 0:
        beyond = -math.log(next_uniform(state, row, 0) + HALF_UNIT) / EDGE
        while -2.0 * math.log(next_uniform(state, row, 0) + HALF_UNIT) <= beyond * beyond:
            beyond = -math.log(next_uniform(state, row, 0) + HALF_UNIT) / EDGE
        return math.copysign(EDGE + beyond, place)
    height = HEIGHTS[layer] + next_uniform(state, row, 0) * (HEIGHTS[layer + 1] - HEIGHTS[layer])
    return place if height < math.exp(-0.5 * place * place) else normal(state, row, 0)


@inlined
def fill_normals(lanes: np.ndarray, words: np.ndarray, out: np.ndarray, state: np.ndarray, row: int) -> None:
    """Fill ``out`` (rows, LANES) with standard normal variables.

    ``lanes`` is (4, LANES), ``words`` (LANES,) uint64 is room.
    """
    for each in range(out.shape[0]):
        fill_words(lanes, words)
        rare = 0
        for lane in range(LANES):
            word = words[lane]
            layer = int64(word & uint64(LAYERS - 1))
            place = (int64(word >> uint64(12)) + 0.5) * _WIDTHS[layer]
            rare += place >= EDGES[layer + 1]
            out[each, lane] = SIGNS[(word >> uint64(10)) & uint64(1)] * place
        if rare > 0:
            for lane in range(LANES):
                layer = int64(words[lane] & uint64(LAYERS - 1))
                if abs(out[each, lane]) >= EDGES[layer + 1]:
                    out[each, lane] = _rare(layer, out[each, lane], state, row)
