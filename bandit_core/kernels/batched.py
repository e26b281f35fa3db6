"""Policies that commit to an arm for a whole batch: AdaP-UCB, AdaP-KLUCB, DP-KLUCB, DP-IMED, and elimination (DP-SE).

An arm is chosen when a batch starts; what happens within it decides nothing, so the cost is one choice per batch.
Each batch's sum is released once, with Laplace noise. Ties go to the lowest label
(see `kernels.labels`): the papers choose an arg max and say nothing of equal indices, which are common where an index
cannot exceed 1, so the random labels decide among them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel, piece
from bandit_core.kernels.batches import (
    admit_all,
    begin,
    fresh_sum,
    noise,
    play_batches,
    pull_in_turns,
    room_for_batches,
    survivors,
)
from bandit_core.kernels.curves import STOPPED, note_pulls
from bandit_core.kernels.divergence import d_eps, largest_mean, largest_private_mean
from bandit_core.kernels.records import Batches, Rewards
from bandit_core.model import Record

ADAP_UCB, ADAP_KLUCB, DP_KLUCB, DP_IMED = range(4)


class Commitment(NamedTuple):
    """Which index decides, with its numbers, and how batches grow: by the factor ``growth``, by one pull at least.

    ``first`` pulls of each arm come before. The AdaP rules estimate an arm by its last batch alone, the DP rules by all
    its batches together with the noise of each.
    """

    rule: int
    epsilon: float
    alpha: float
    growth: float
    first: int


class Known(NamedTuple):
    """What has been released of every arm (arms,): the sums, of how many rewards, and their means."""

    sums: np.ndarray
    counts: np.ndarray
    means: np.ndarray


@inlined
def _clipped(value: float) -> float:
    return min(1.0, max(0.0, value))


@piece
def _index(rule: Commitment, mean: float, count: float, level: float) -> float:
    """Index of one arm at the start of a batch; ``level`` is ln t. At most 1 for the rules with a divergence."""
    epsilon, alpha = rule.epsilon, rule.alpha
    if rule.rule == ADAP_UCB:
        return mean + math.sqrt(alpha * level / (2.0 * count)) + alpha * level / (epsilon * count)
    if rule.rule == ADAP_KLUCB:
        return largest_mean(_clipped(mean + alpha * level / (epsilon * count)), alpha * level / count)
    return largest_private_mean(_clipped(mean), level / count, epsilon)


@inlined
def _most_likely(rule: Commitment, known: Known) -> int:
    """The arm that DP-IMED chooses."""
    means, counts = known.means, known.counts
    highest = -np.inf
    for arm in range(means.shape[0]):
        highest = max(highest, means[arm])
    least = np.inf
    choice = 0
    for arm in range(means.shape[0]):
        value = math.log(counts[arm])
        if means[arm] < highest:
            value += counts[arm] * d_eps(_clipped(means[arm]), _clipped(highest), rule.epsilon)
        if value < least:
            least = value
            choice = arm
    return choice


@inlined
def _optimistic(rule: Commitment, known: Known, t: int) -> int:
    """The arm with the largest index."""
    level = math.log(t)
    best = -np.inf
    choice = 0
    for arm in range(known.means.shape[0]):
        value = _index(rule, known.means[arm], known.counts[arm], level)
        if value > best:
            best = value
            choice = arm
            if rule.rule != ADAP_UCB and value >= 1.0:
                break  # no index is larger, and ties go to the lowest label
    return choice


@inlined
def _choose(
    rule: Commitment, known: Known, pulled: np.ndarray, t: int, state: np.ndarray, trial: int
) -> tuple[int, int]:
    arm = _most_likely(rule, known) if rule.rule == DP_IMED else _optimistic(rule, known, t + 1)
    return arm, max(1, int(rule.growth * pulled[arm]) - int(pulled[arm]))


@inlined
def _release(
    rule: Commitment, known: Known, batches: Batches, arm: int, count: int, state: np.ndarray, trial: int
) -> None:
    total = fresh_sum(batches, arm, count, state, trial) + noise(state, trial, 1.0 / rule.epsilon)
    if rule.rule in (ADAP_UCB, ADAP_KLUCB):
        known.sums[arm] = 0.0
        known.counts[arm] = 0.0
    known.sums[arm] += total
    known.counts[arm] += count
    known.means[arm] = known.sums[arm] / known.counts[arm]


@inlined
def _clear(rule: Commitment, known: Known) -> None:
    known.sums[:] = 0.0
    known.counts[:] = 0.0


@kernel
def by_index(state: np.ndarray, rewards: Rewards, at_once: bool, commitment: Commitment, record: Record) -> None:
    """Play one trial per row of ``state``, filling the outputs at the checkpoints."""
    arms = rewards.table.shape[0]
    known = Known(np.empty(arms), np.empty(arms), np.empty(arms))
    play_batches(_clear, _choose, _release, commitment, known, state, rewards, at_once, record)


@piece
def _epoch(epoch: int, size: int, steps: int, epsilon: float, beta: float) -> tuple[int, float]:
    """Pulls of each arm in an epoch, 0 where it does not fit into so many steps, and how far below the best is out."""
    sampling = math.log(8.0 * size * epoch * epoch / beta)
    privacy = math.log(4.0 * size * epoch * epoch / beta)
    depth = 2.0**epoch
    wanted = max(32.0 * sampling * depth * depth, 8.0 * privacy * depth / epsilon) + 1.0
    if size == 1 or wanted * size > steps:
        return 0, 0.0
    length = int(wanted)
    return length, 2.0 * math.sqrt(sampling / (2.0 * length)) + 2.0 * privacy / (length * epsilon)


@kernel
def elimination(
    state: np.ndarray, rewards: Rewards, at_once: bool, epsilon: float, beta: float, record: Record
) -> None:
    """Play one trial per row of ``state``: in epochs, every arm that is left the same number of times.

    Epoch e with D = 2^-e pulls each arm of S exactly R = [max(32 ln(8 |S| e^2 / beta) / D^2,
    8 ln(4 |S| e^2 / beta) / (epsilon D)) + 1] times, in turns, releases the mean of these pulls with
    Laplace(1/(epsilon R)) noise, and drops every arm that lies more than 2 h + 2 c below the highest.
    """
    arms = rewards.table.shape[0]
    horizon = record.checkpoints[-1]
    order, batches = room_for_batches(rewards, at_once, record)
    members = np.empty(arms, np.int64)
    means = np.empty(arms)
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        admit_all(members)
        size, epoch, t, place = arms, 0, 0, 0
        while t < horizon:
            epoch += 1
            length, margin = _epoch(epoch, size, horizon - t, epsilon, beta)
            steps = length * size if length > 0 else horizon - t
            place = pull_in_turns(batches, members, size, t, steps, place, state, trial)
            if place == STOPPED:
                return
            t += steps
            if t < horizon:
                for arm in members[:size]:
                    total = fresh_sum(batches, arm, length, state, trial) + noise(state, trial, 1.0 / epsilon)
                    means[arm] = total / length
                size = survivors(members, size, means, margin)
        note_pulls(record, trial, order, batches.pulled)


clear, choose, release = _clear, _choose, _release  # for rewards that are counted late, see `kernels.late_batches`
