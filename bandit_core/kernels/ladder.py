"""Elimination in batches that grow by a factor; what the server learns of a batch is the only difference.

Every arm that is left is pulled equally often in a batch, in turns; the batch's means decide which arms stay. So a
batch is drawn when it is complete, arm by arm, by as few draws as its distribution allows: bits that users randomise
are binomial whatever the rewards are, sums of two-valued rewards are binomial, and the noise of all users of a batch is
one variable (see `bandit_core.mechanisms.modular_sums`). Other rewards are drawn one by one. ``at_once`` = False does
so for all of them: the plain form, for tests.

Draws: sums of batches from the stream's second generator, as are bits and rounding; of rewards one by one each takes a
uniform of the first; noise takes one (Laplace) or two (discrete Laplace) uniforms of the first, Skellam noise as many
of the second as it needs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel, piece
from bandit_core.kernels.batches import admit_all, begin, noise, room_for_batches, survivors
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.curves import STOPPED, note, note_pulls, passed
from bandit_core.kernels.poisson import poisson
from bandit_core.kernels.records import Batches, Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.modular_sums import decoded, discrete_laplace
from bandit_core.model import Record
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


@piece
def count_pulls(batches: Batches, members: np.ndarray, size: int, t: int, steps: int, place: int, trial: int) -> int:
    """Count ``steps`` pulls of the first ``size`` arms of ``members`` in turns, after ``t`` pulls so far.

    Fills the checkpoints passed, the next of which is at ``place``. Returns the place of the next one, or STOPPED.
    """
    pulled, record = batches.pulled, batches.record
    turn = 0  # whose turn it is
    while steps > 0:
        length = min(steps, record.checkpoints[place] - t)
        rounds = length // size
        for other in range(size):
            pulled[members[other]] += rounds
        for other in range(turn, turn + length - rounds * size):
            pulled[members[other if other < size else other - size]] += 1.0
        turn = (turn + length) % size
        t += length
        steps -= length
        if t == record.checkpoints[place]:
            note(record, trial, place, pulled, batches.rewards.gaps)
            if passed(record, place, 1):
                return STOPPED
            place += 1
    return place


@inlined
def _rounded(value: float, levels: float, state: np.ndarray, trial: int) -> float:
    """A reward on the grid of ``levels``: the level below, or the next one with the chance of the fraction."""
    below = math.floor(value * levels)
    fraction = value * levels - below
    return below + 1.0 if fraction > 0.0 and next_uniform(state, trial, 4) < fraction else below


@inlined
def _rounded_sum(value: float, levels: float, count: float, state: np.ndarray, trial: int) -> float:
    """Sum of ``count`` equal rewards, each rounded by itself."""
    below = math.floor(value * levels)
    return count * below + binomial(count, value * levels - below, state, trial)


@piece
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
            total += _rounded(reward, levels, state, trial)
        else:
            total += reward
    return total


@piece
def learned_mean(ladder: Ladder, number: int, batches: Batches, arm: int, state: np.ndarray, trial: int) -> float:
    """The mean that the server makes of an arm's batch ``number`` (from 0)."""
    learns, count, contrast = ladder.learns, ladder.lengths[number], ladder.contrast[number]
    levels, spread = ladder.levels[number], ladder.spread[number]
    total = batch_total(batches, arm, count, learns, contrast, levels, state, trial)
    if learns == SUMS:
        return total / count
    if learns == BITS:
        return 0.5 + (total / count - 0.5) / contrast
    if learns == LAPLACE:
        return (total + noise(state, trial, spread)) / count
    if learns == POLYA:
        first = next_uniform(state, trial, 0)
        total += discrete_laplace(first, next_uniform(state, trial, 0), spread)
    else:
        total += poisson(0.5 * spread, state, trial) - poisson(0.5 * spread, state, trial)
    return decoded(total, count * levels, ladder.slack[number]) / (count * levels)


@kernel
def elimination(state: np.ndarray, rewards: Rewards, at_once: bool, ladder: Ladder, record: Record) -> None:
    """Play one trial per row of ``state``: batch by batch, every arm that is left the same number of times.

    A batch that the horizon cuts short is played and releases nothing; so is whatever comes after the last batch.
    """
    arms = rewards.table.shape[0]
    horizon = record.checkpoints[-1]
    order, batches = room_for_batches(rewards, at_once, record)
    members = np.empty(arms, np.int64)
    means = np.empty(arms)
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        admit_all(members)
        size, number, t, place = arms, 0, 0, 0
        while t < horizon:
            steps = horizon - t
            whole = size > 1 and number < ladder.lengths.shape[0] and ladder.lengths[number] * size <= steps
            if whole:
                steps = int(ladder.lengths[number]) * size
            place = count_pulls(batches, members, size, t, steps, place, trial)
            if place == STOPPED:
                return
            t += steps
            if t < horizon:  # later nobody asks any more
                for arm in members[:size]:
                    means[arm] = learned_mean(ladder, number, batches, arm, state, trial)
                if record.signal[0] != 0:
                    return
                size = survivors(members, size, means, ladder.margins[number, size])
                number += 1
        note_pulls(record, trial, order, batches.pulled)


rounded = _rounded  # for `kernels.late_ladder`; renamed, it would be a new version
