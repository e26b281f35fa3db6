"""What the users of a batch add up to, for elimination in batches that grow by a factor.

Every arm that is left is pulled equally often in a batch, in turns; the batch's means decide which arms stay. So a
batch is drawn when it is complete, arm by arm, by as few draws as its distribution allows: bits that users randomise
are binomial whatever the rewards are, sums of two-valued rewards are binomial, and the noise of all users of a batch is
one variable (see `bandit_core.mechanisms.modular_sums`). Other rewards are drawn one by one. ``at_once`` = False does
so for all of them: the plain form, for tests.

Draws: sums of batches from the stream's second generator, as are bits and rounding; of rewards one by one each takes a
uniform of the first; noise takes one (Laplace) or two (discrete Laplace) uniforms of the first, Skellam noise as many
of the second as it needs.
"""

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import device_function, inlined
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.records import Batches
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.spec.rewards import TWO_POINT

SUMS, LAPLACE, BITS, POLYA, SKELLAM = range(5)  # what the server learns; from POLYA on sums modulo m
_LOOK = 65_536  # rewards drawn one by one between two looks at the signal


class Ladder(NamedTuple):
    """What the server learns, and what `bandit_core.theory.ladder.Steps` says of each batch; ``margins``: 2 radii."""

    learns: int
    lengths: np.ndarray
    margins: np.ndarray
    contrast: np.ndarray
    levels: np.ndarray
    spread: np.ndarray
    slack: np.ndarray


@inlined
def rounded(value: float, levels: float, state: np.ndarray, trial: int) -> float:
    """A reward on the grid of ``levels``: the level below, or the next one with the chance of the fraction."""
    below = math.floor(value * levels)
    fraction = value * levels - below
    return below + 1.0 if fraction > 0.0 and next_uniform(state, trial, 4) < fraction else below


@inlined
def _rounded_sum(value: float, levels: float, count: float, state: np.ndarray, trial: int) -> float:
    """Sum of ``count`` equal rewards, each rounded by itself."""
    below = math.floor(value * levels)
    return count * below + binomial(count, value * levels - below, state, trial)


@device_function
def batch_total(
    batches: Batches, arm: int, count: float, learns: int, contrast: float, levels: float, state: np.ndarray, trial: int
) -> float:
    """What the users of a batch add up to before noise is added to the sum: rewards, bits that are 1, or levels."""
    rewards, signal = batches.rewards, batches.record.signal
    if learns == BITS and batches.at_once:
        return binomial(count, 0.5 + contrast * (rewards.means[arm] - 0.5), state, trial)
    table = rewards.table
    if batches.at_once and table[arm, 0] == TWO_POINT:
        low, high = table[arm, 1], table[arm, 2]
        ones = binomial(count, table[arm, 3], state, trial)
        if learns >= POLYA:
            total = _rounded_sum(low, levels, count - ones, state, trial)
            return total + _rounded_sum(high, levels, ones, state, trial)
        return low * (count - ones) + high * ones
    total = 0.0
    for user in range(int(count)):
        if user % _LOOK == 0 and signal[0] != 0:
            break
        reward = draw_reward(table, rewards.values, arm, next_uniform(state, trial, 0), state, trial)
        if learns == BITS:
            total += 1.0 if next_uniform(state, trial, 4) < 0.5 + contrast * (reward - 0.5) else 0.0
        elif learns >= POLYA:
            total += rounded(reward, levels, state, trial)
        else:
            total += reward
    return total
