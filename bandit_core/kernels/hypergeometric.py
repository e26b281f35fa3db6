"""How the first part of a shuffled block splits: hypergeometric counts and beta shares, in constant time.

Hypergeometric: a walk for few draws, else ratio of uniforms (Stadlober 1990, algorithm HRUA). All uniforms come from
the second generator of the trial's stream, because rejection takes as many as it needs.
"""

from __future__ import annotations

import math

import numpy as np

from bandit_core.jit.decorators import device_function
from bandit_core.kernels.binomial import stirling_rest
from bandit_core.kernels.streams import HALF_UNIT, beta, next_uniform

WALK_DRAWS = 12.0  # draws up to which walking is cheaper than the set-up of the rejection
_WIDE = 2.0 * math.sqrt(2.0 / math.e)
_FLAT = 3.0 - 2.0 * math.sqrt(3.0 / math.e)


@device_function
def _log_factorial_step(mode: float, shift: float) -> float:
    """ln mode! - ln (mode + shift)! without the part that is linear in the shift beyond ln(mode + shift + 1)."""
    return (
        -(mode + 0.5) * math.log1p(shift / (mode + 1.0))
        - shift * math.log(mode + shift + 1.0)
        + stirling_rest(mode)
        - stirling_rest(mode + shift)
    )


@device_function
def _by_walk(ones: float, others: float, draws: float, state: np.ndarray, row: int) -> float:
    """One draw after the other, without putting back."""
    found = 0.0
    left = ones
    total = ones + others
    for _ in range(int(draws)):
        if next_uniform(state, row, 4) * total < left:
            found += 1.0
            left -= 1.0
        total -= 1.0
    return found


@device_function
def _by_ratio(rare: float, common: float, draws: float, state: np.ndarray, row: int) -> float:
    """``rare <= common`` and ``draws`` at most half of everything."""
    total = rare + common
    share = rare / total
    spread = math.sqrt((total - draws) * draws * share * (1.0 - share) / (total - 1.0) + 0.5)
    width = _WIDE * spread + _FLAT
    centre = draws * share + 0.5
    mode = math.floor((draws + 1.0) * (rare + 1.0) / (total + 2.0))
    end = min(min(draws, rare) + 1.0, math.floor(centre + 16.0 * spread))
    while True:
        x = next_uniform(state, row, 4) + HALF_UNIT
        y = next_uniform(state, row, 4) - 0.5
        w = centre + width * y / x
        if w < 0.0 or w >= end:
            continue
        z = math.floor(w)
        s = z - mode
        # The parts linear in s cancel over the four factorials.
        level = (
            _log_factorial_step(mode, s)
            + _log_factorial_step(rare - mode, -s)
            + _log_factorial_step(draws - mode, -s)
            + _log_factorial_step(common - draws + mode, s)
        )
        if x * (4.0 - x) - 3.0 <= level:
            return z
        if x * (x - level) >= 1.0:
            continue
        if 2.0 * math.log(x) <= level:
            return z


@device_function
def hypergeometric(ones: float, others: float, draws: float, state: np.ndarray, row: int) -> float:
    """Ones among ``draws`` taken from ``ones + others`` without putting back; whole numbers, as float."""
    total = ones + others
    if ones <= 0.0 or draws <= 0.0:
        return 0.0
    if others <= 0.0:
        return draws
    if draws >= total:
        return ones
    taken = min(draws, total - draws)  # what is left behind is a draw, too
    rare = min(ones, others)
    if taken <= WALK_DRAWS:
        found = _by_walk(rare, total - rare, taken, state, row)
    elif rare <= WALK_DRAWS:  # by symmetry: which of the rare ones are among those taken
        found = _by_walk(taken, total - taken, rare, state, row)
    else:
        found = _by_ratio(rare, total - rare, taken, state, row)
    if ones > others:
        found = taken - found
    return ones - found if draws > taken else found


@device_function
def share_of_first(first: float, rest: float, state: np.ndarray, row: int) -> float:
    """Share that the first of ``first + rest`` exponential variables have in their sum."""
    if rest <= 0.0:
        return 1.0
    if first == 1.0:
        return 1.0 - (next_uniform(state, row, 4) + HALF_UNIT) ** (1.0 / rest)
    return beta(state, row, first, rest)
