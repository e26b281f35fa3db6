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
from bandit_core.kernels.batches import STOPPED, begin, fresh_sum, noise, pull_in_turns, room_for_batches
from bandit_core.kernels.curves import note_pulls
from bandit_core.kernels.divergence import d_eps, largest_mean, largest_private_mean

ADAP_UCB, ADAP_KLUCB, DP_KLUCB, DP_IMED = range(4)


@inlined
def _clipped(value):
    return min(1.0, max(0.0, value))


@piece
def _index(rule, mean, count, level, epsilon, alpha):
    """Index of one arm at the start of a batch; ``level`` is ln t. At most 1 for the rules with a divergence."""
    if rule == ADAP_UCB:
        return mean + math.sqrt(alpha * level / (2.0 * count)) + alpha * level / (epsilon * count)
    if rule == ADAP_KLUCB:
        return largest_mean(_clipped(mean + alpha * level / (epsilon * count)), alpha * level / count)
    return largest_private_mean(_clipped(mean), level / count, epsilon)


@piece
def _chosen(rule, means, counts, t, epsilon, alpha):
    """The arm of the batch that starts with pull ``t``."""
    arm = 0
    if rule == DP_IMED:
        highest = -np.inf
        for other in range(means.shape[0]):
            highest = max(highest, means[other])
        least = np.inf
        for other in range(means.shape[0]):
            value = math.log(counts[other])
            if means[other] < highest:
                value += counts[other] * d_eps(_clipped(means[other]), _clipped(highest), epsilon)
            if value < least:
                least = value
                arm = other
        return arm
    level = math.log(t)
    best = -np.inf
    for other in range(means.shape[0]):
        value = _index(rule, means[other], counts[other], level, epsilon, alpha)
        if value > best:
            best = value
            arm = other
            if rule != ADAP_UCB and value >= 1.0:
                break  # no index is larger, and ties go to the lowest label
    return arm


class Commitment(NamedTuple):
    """Which index decides, with its numbers, and how batches grow."""

    rule: int
    epsilon: float
    alpha: float
    growth: float
    first: int


@kernel
def by_index(state, rewards, at_once, commitment, record):
    """Play one trial per row of ``state``, filling the outputs at the checkpoints.

    After ``first`` pulls of each arm in turns, the chosen arm is played until its pulls have grown by the factor
    ``growth`` (by one pull at least). The AdaP rules estimate an arm by its last batch alone, the DP rules by all its
    batches together with the noise of each.
    """
    rule, epsilon, alpha, growth, first = commitment
    arms = rewards.table.shape[0]
    horizon = record.checkpoints[-1]
    order, batches = room_for_batches(rewards, at_once, record)
    pulled = batches.pulled
    forgets = rule in (ADAP_UCB, ADAP_KLUCB)
    everyone = np.arange(arms)
    members = np.zeros(1, np.int64)
    means = np.empty(arms)
    sums = np.empty(arms)
    counts = np.empty(arms)  # rewards in the mean
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        sums[:] = 0.0
        counts[:] = 0.0
        t = min(horizon, arms * first)
        place = pull_in_turns(batches, everyone, arms, 0, t, 0, state, trial)
        if place == STOPPED:
            return
        opening = 0  # the next arm whose first batch is to be released
        while t < horizon:
            length = first
            if opening < arms:
                arm = opening
                opening += 1
            else:
                arm = _chosen(rule, means, counts, t + 1, epsilon, alpha)
                before = pulled[arm]
                length = max(1, int(growth * before) - int(before))
                steps = min(length, horizon - t)
                members[0] = arm
                place = pull_in_turns(batches, members, 1, t, steps, place, state, trial)
                if place == STOPPED:
                    return
                t += steps
                if t == horizon:
                    break  # nobody asks for this batch's release any more
            total = fresh_sum(batches, arm, length, state, trial) + noise(state, trial, 1.0 / epsilon)
            if forgets:
                sums[arm] = total
                counts[arm] = length
            else:
                sums[arm] += total
                counts[arm] += length
            means[arm] = sums[arm] / counts[arm]
        note_pulls(record, trial, order, pulled)


@kernel
def elimination(state, rewards, at_once, epsilon, beta, record):
    """Play one trial per row of ``state``: in epochs, every arm that is left the same number of times.

    Epoch e with D = 2^-e pulls each arm of S exactly R = [max(32 ln(8 |S| e^2 / beta) / D^2,
    8 ln(4 |S| e^2 / beta) / (epsilon D)) + 1] times, in turns, releases the mean of these pulls with
    Laplace(1/(epsilon R)) noise, and drops every arm that lies more than 2 h + 2 c below the highest.
    """
    arms = rewards.table.shape[0]
    horizon = record.checkpoints[-1]
    order, batches = room_for_batches(rewards, at_once, record)
    pulled = batches.pulled
    members = np.empty(arms, np.int64)
    means = np.empty(arms)
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        for arm in range(arms):
            members[arm] = arm
        size = arms
        epoch = 0
        t = 0
        place = 0
        while t < horizon:
            epoch += 1
            steps = horizon - t
            length = 0
            sampling = math.log(8.0 * size * epoch * epoch / beta)
            privacy = math.log(4.0 * size * epoch * epoch / beta)
            if size > 1:
                depth = 2.0**epoch
                wanted = max(32.0 * sampling * depth * depth, 8.0 * privacy * depth / epsilon) + 1.0
                if wanted * size <= steps:
                    length = int(wanted)
                    steps = length * size
            place = pull_in_turns(batches, members, size, t, steps, place, state, trial)
            if place == STOPPED:
                return
            t += steps
            if t == horizon:
                break
            highest = -np.inf
            for turn in range(size):
                arm = members[turn]
                total = fresh_sum(batches, arm, length, state, trial) + noise(state, trial, 1.0 / epsilon)
                means[arm] = total / length
                highest = max(highest, means[arm])
            margin = 2.0 * math.sqrt(sampling / (2.0 * length)) + 2.0 * privacy / (length * epsilon)
            left = 0
            for turn in range(size):
                if highest - means[members[turn]] <= margin:
                    members[left] = members[turn]
                    left += 1
            size = left
        note_pulls(record, trial, order, pulled)
