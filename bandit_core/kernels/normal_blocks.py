"""Many normal or beta variables at once, by lanes of generators that step together (see `normals`)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import int64, uint64

from bandit_core.jit.decorators import allocating, device_function, inlined
from bandit_core.kernels.normals import SIGNS, normal, right_edges
from bandit_core.kernels.play import seed_another
from bandit_core.kernels.streams import HALF_UNIT, UNIT, fill_words, next_uniform, uniform_of
from bandit_core.spec.portable_math import exp

# ---------------------------------------------------------------------------------------------------------------------
# Many standard normal variables at once: the ziggurat of `normals`, over lanes of generators that step together.
#
# Every lane is a xoshiro256++ generator of its own (see `streams`). What the box of a layer settles at once is computed
# for all lanes together; with 1024 layers that leaves 0.3%, which are mended one by one, in their order, from
# the first generator of the trial's stream. Every variable is computed by itself in IEEE arithmetic, so that no machine
# has other numbers. A word's lowest 10 bits choose the layer, the eleventh the sign, the upper 52 the place: the middle
# of one of 2^52 cells, so that no variable is 0.


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


# ---------------------------------------------------------------------------------------------------------------------
# Beta variables from normal variables and uniforms that are drawn a block at a time, by lanes (see `normal_blocks`).
#
# A beta variable is x / (x + y) of two gamma variables, and these come from normal ones by rejection (Marsaglia and
# Tsang 2000): with d = shape - 1/3, c = 1 / sqrt(9 d), a normal z and a uniform u, d (1 + c z)^3 is kept if
#
#     ln u < z^2 / 2 + d (1 - (1 + c z)^3 + 3 ln(1 + c z)).
#
# Pairs (z, u) depend on nothing, so a block of them is drawn at once, and each try takes the next one. The logarithms
# are rarely needed: write y = c z. For y >= 0 the right side is at least -c^2 z^4 / 12, as ln(1 + y) is at least the
# first four terms of its series; for -1/2 <= y < 0 all further terms together are at least -|y|^5 / (5 (1 - |y|)), so
# it is at least -(c^2 z^4 / 12) (1 + 0.8 |y| / (1 - |y|)) >= -0.15 c^2 z^4. As ln u <= u - 1, a try is kept if u < 1 -
# 0.15 c^2 z^4 and y >= -1/2: all but 1 in 200 from shape 10 on.


ROWS = 8  # of a block
PAIRS = ROWS * LANES
OWN = 8  # words of the seeds before the lanes: a generator for what lanes leave open, and one for who wants it
SURE = 0.15  # a try is kept if its uniform is below 1 - SURE c^2 z^4


class Draws(NamedTuple):
    """Generators of a trial, what they have drawn, and what was computed of every arm's two gamma variables."""

    seeds: np.ndarray  # (1, OWN + 4 LANES) uint64
    lanes: np.ndarray  # (4, LANES), part of ``seeds``
    words: np.ndarray  # (LANES,) uint64, room
    normals: np.ndarray  # (PAIRS,)
    uniforms: np.ndarray  # (PAIRS,), never 0
    used: np.ndarray  # (1,) int64, pairs of the block that are used
    fitted: np.ndarray  # (arms,), 1.0 where the next two hold for the arm's present posterior
    shifts: np.ndarray  # (2, arms), d of both
    spreads: np.ndarray  # (2, arms), c of both
    gammas: np.ndarray  # (2, arms), the variables where all arms draw


@allocating
def room_for_draws(arms: int) -> Draws:
    """Room for the draws of so many arms, not seeded yet."""
    seeds, block, each = np.empty((1, OWN + 4 * LANES), np.uint64), np.empty((2, PAIRS)), np.empty((3, 2, arms))
    lanes, words, used = seeds.reshape(-1)[OWN:].reshape((4, LANES)), np.empty(LANES, np.uint64), np.empty(1, np.int64)
    return Draws(seeds, lanes, words, block[0], block[1], used, np.empty(arms), each[0], each[1], each[2])


@inlined
def seed_draws(draws: Draws, state: np.ndarray, trial: int) -> None:
    """Generators of their own for a trial, which follow from its fresh stream; that stays as it is."""
    seed_another(state, trial, draws.seeds)
    draws.used[0] = PAIRS
    draws.fitted[:] = 0.0


@device_function
def _fill(draws: Draws) -> None:
    """A block of pairs."""
    fill_normals(draws.lanes, draws.words, draws.normals.reshape((ROWS, LANES)), draws.seeds, 0)
    for row in range(ROWS):
        fill_words(draws.lanes, draws.words)
        for lane in range(LANES):
            draws.uniforms[row * LANES + lane] = uniform_of(draws.words[lane]) + HALF_UNIT


@inlined
def _need(draws: Draws, pairs: int) -> int:
    """Where so many unused pairs stand, which are used now: the rest of a block is left if it is too short."""
    used = draws.used[0]
    if used + pairs > PAIRS:
        _fill(draws)
        used = 0
    draws.used[0] = used + pairs
    return used


@inlined
def fit(draws: Draws, arm: int, a: float, b: float) -> None:
    """Keep what both gamma variables of Beta(a, b) need, a and b at least 1."""
    if draws.fitted[arm] == 0.0:
        draws.fitted[arm] = 1.0
        draws.shifts[0, arm] = a - 1.0 / 3.0
        draws.shifts[1, arm] = b - 1.0 / 3.0
        draws.spreads[0, arm] = 1.0 / math.sqrt(9.0 * draws.shifts[0, arm])
        draws.spreads[1, arm] = 1.0 / math.sqrt(9.0 * draws.shifts[1, arm])


@device_function
def _kept(z: float, u: float, d: float, c: float) -> bool:
    """Whether a try is kept, by its definition."""
    v = 1.0 + c * z
    v = v * v * v
    return v > 0.0 and math.log(u) < 0.5 * z * z + d - d * v + d * math.log(v)


@inlined
def _gamma(draws: Draws, which: int, arm: int) -> float:
    """A gamma variable of scale 1 for the first or second parameter of an arm."""
    d, c = draws.shifts[which, arm], draws.spreads[which, arm]
    while True:
        at = _need(draws, 1)
        z, u = draws.normals[at], draws.uniforms[at]
        v = 1.0 + c * z
        square = c * z * z
        if (v >= 0.5 and u < 1.0 - SURE * square * square) or _kept(z, u, d, c):
            return d * v * v * v


@inlined
def draw_beta(draws: Draws, arm: int) -> float:
    """A draw for an arm that is fitted."""
    for which in range(2):
        draws.gammas[which, arm] = _gamma(draws, which, arm)
    return draws.gammas[0, arm] / (draws.gammas[0, arm] + draws.gammas[1, arm])


@device_function
def _try(d: np.ndarray, c: np.ndarray, z: np.ndarray, u: np.ndarray, out: np.ndarray) -> int:
    """A try for a gamma variable of each d; NaN where it is not surely kept, and how many these are."""
    missed = int64(0)
    for place in range(out.shape[0]):
        v = 1.0 + c[place] * z[place]
        square = c[place] * z[place] * z[place]
        kept = (v >= 0.5) & (u[place] < 1.0 - SURE * square * square)
        out[place] = d[place] * v * v * v if kept else math.nan
        missed += int64(not kept)
    return missed


@device_function
def _mend(draws: Draws, which: int, at: int, first: int, last: int) -> None:
    """Settle by the definition who was not surely kept, and then draw anew for who was not kept."""
    gammas, d, c = draws.gammas[which], draws.shifts[which], draws.spreads[which]
    for arm in range(first, last):
        z, u = draws.normals[at + arm - first], draws.uniforms[at + arm - first]
        if math.isnan(gammas[arm]) and _kept(z, u, d[arm], c[arm]):
            v = 1.0 + c[arm] * z
            gammas[arm] = d[arm] * v * v * v
    for arm in range(first, last):
        if math.isnan(gammas[arm]):
            gammas[arm] = _gamma(draws, which, arm)


@inlined
def largest_draw(draws: Draws, arms: int) -> int:
    """Draw for all arms, which are fitted: the one with the largest draw."""
    gammas = draws.gammas
    for first in range(0, arms, PAIRS):
        last = min(arms, first + PAIRS)
        for which in range(2):
            at = _need(draws, last - first)
            end = at + last - first
            d, c, out = draws.shifts[which, first:last], draws.spreads[which, first:last], gammas[which, first:last]
            if _try(d, c, draws.normals[at:end], draws.uniforms[at:end], out) > 0:
                _mend(draws, which, at, first, last)
    best, choice = -1.0, 0
    for arm in range(arms):
        theta = gammas[0, arm] / (gammas[0, arm] + gammas[1, arm])
        if theta > best:
            best, choice = theta, arm
    return choice
