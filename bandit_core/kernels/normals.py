"""Standard normal variables by the ziggurat of Marsaglia and Tsang (2000), exact up to the grid of 52-bit numbers.

About a third of the time of inverting the distribution function. It takes one word of the stream in 98.8% of the
draws and more in the others, so it serves where the number of words need not be fixed: contexts, whose draws depend
on no policy, and privacy noise, which has the stream's second generator to itself. The word's lowest 8 bits choose
the layer, the ninth the sign, the upper 52 the place; one word for all of them is what Doornik (2005) warns of for
32-bit generators, not for 64 bits with disjoint fields.
"""

import math

import numpy as np
from numba import int64, uint64

from bandit_core.jit.decorators import device_function, inlined
from bandit_core.kernels.streams import HALF_UNIT, next_uniform, next_word
from bandit_core.spec.portable_math import exp

LAYERS = 256
EDGE = 3.6541528853610088  # where the tail begins, for 256 layers
_GRID = 2.0**52


def right_edges(layers: int, edge: float) -> np.ndarray:
    """Right edges of a ziggurat's layers, from the box with the tail to the peak at 0; shape (layers + 1,)."""
    area = edge * math.exp(-0.5 * edge**2) + math.sqrt(math.pi / 2) * math.erfc(edge / math.sqrt(2))
    edges = np.zeros(layers + 1)
    edges[0] = area / math.exp(-0.5 * edge**2)
    edges[1] = edge
    for layer in range(2, layers):
        edges[layer] = math.sqrt(-2 * math.log(area / edges[layer - 1] + math.exp(-0.5 * edges[layer - 1] ** 2)))
    return edges


_EDGES = right_edges(LAYERS, EDGE)
BOUNDS = np.floor(_EDGES[1:] / _EDGES[:-1] * _GRID).astype(np.int64)  # of immediate acceptance, on the grid
WIDTHS = _EDGES[:-1] / _GRID  # of the layers per grid point
HEIGHTS = exp(-0.5 * _EDGES**2)  # the normal curve at the edges
SIGNS = np.array([1.0, -1.0])


@device_function
def _rare(layer: int, value: float, state: np.ndarray, row: int, at: int) -> float:
    """The other 1.2%: the tail, or the part of a layer that the curve cuts; NaN asks for another word."""
    if layer == uint64(0):
        while True:
            beyond = -math.log(next_uniform(state, row, at) + HALF_UNIT) / EDGE
            if -2.0 * math.log(next_uniform(state, row, at) + HALF_UNIT) > beyond * beyond:
                return EDGE + beyond
    height = HEIGHTS[layer] + next_uniform(state, row, at) * (HEIGHTS[layer + uint64(1)] - HEIGHTS[layer])
    return value if height < math.exp(-0.5 * value * value) else math.nan


@inlined
def normal(state: np.ndarray, row: int, at: int) -> float:
    """One standard normal variable from the generator whose four words start at column ``at``."""
    while True:
        word = next_word(state, row, at)
        layer = word & uint64(0xFF)
        place = int64(word >> uint64(12))
        value = place * WIDTHS[layer]
        if place < BOUNDS[layer]:
            return SIGNS[(word >> uint64(8)) & uint64(1)] * value  # a branch would be mispredicted every other time
        value = _rare(layer, value, state, row, at)
        if not math.isnan(value):
            return SIGNS[(word >> uint64(8)) & uint64(1)] * value


@inlined
def fill_in_turn(state: np.ndarray, row: int, at: int, out: np.ndarray) -> None:
    """Fill ``out`` with the next variables of one generator."""
    for place in range(out.shape[0]):
        out[place] = normal(state, row, at)
