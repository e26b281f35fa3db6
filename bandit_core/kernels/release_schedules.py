"""Lazy policies: the arm is chosen anew at every step, from statistics that change only at releases.

Arm a's statistic is released after its first ``first`` pulls and then every so many further ones. Between releases
nothing but t moves, so `by_index` finds the step at which the leader changes by bisection on the indices themselves
and the steps before it are played in one go: the cost is one per release, not per step, and the arms are those of a
full scan at every step. `thompson` draws posteriors at every step and therefore costs per step.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel, piece
from bandit_core.kernels.batches import STOPPED, begin, fresh_sum, noise, pull_in_turns, room_for_batches
from bandit_core.kernels.curves import note_pulls
from bandit_core.kernels.streams import beta

DOUBLING, EVERY = range(2)  # when statistics are released: batches of 1, 2, 4, ... fresh rewards; every f pulls
MARGIN = 1e-12  # of an index: far above its rounding, far below what a few steps change


@inlined
def _index(arm, level, root, means, wide, deep):
    """mean + wide sqrt(ln t) + deep ln t."""
    return means[arm] + (wide[arm] * root + deep[arm] * level)


@piece
def _leader(now, means, wide, deep):
    """The arm with the largest index at step ``now``, and whether it is larger by more than rounding."""
    level = math.log(now)
    root = math.sqrt(level)
    best = -np.inf
    second = -np.inf
    arm = 0
    for other in range(means.shape[0]):
        value = _index(other, level, root, means, wide, deep)
        if value > best:
            second = best
            best = value
            arm = other
        elif value > second:
            second = value
    return arm, best - second > MARGIN * (1.0 + abs(best))


@piece
def _lasting(arm, now, last, means, wide, deep):
    """How many steps from ``now``, at most to ``last``, are certainly those of ``arm``, the sure leader at ``now``.

    The difference of two indices is monotone in t, because the arm with fewer released pulls has both terms larger:
    who leads at both ends of a stretch leads throughout.
    """
    leader, surely = _leader(last, means, wide, deep)
    if leader == arm and surely:
        return last - now + 1
    low = now
    while last - low > 1:
        middle = (low + last) // 2
        leader, surely = _leader(middle, means, wide, deep)
        if leader == arm and surely:
            low = middle
        else:
            last = middle
    return low - now + 1


class Schedule(NamedTuple):
    """When statistics are released, with how much noise, and how they make an index."""

    kind: int
    first: int
    epsilon: float
    v: float
    per_root: float
    per_level: float


@kernel
def by_index(state, rewards, at_once, schedule, record):
    """Play one trial per row of ``state``, filling the outputs at the checkpoints.

    The arm with the largest mean + sqrt(per_root ln t / n) + per_level ln t / (epsilon n) is pulled, ties to the
    lowest label, after ``first`` pulls of each arm in turns. DOUBLING: the mean is that of the last n = 1, 2, 4, ...
    fresh rewards, their sum with Laplace(1/epsilon) noise. EVERY: the mean of all n = first, 2 first, ... rewards with
    Laplace(n^(v/2 - 1)) noise of its own.
    """
    kind, first, epsilon, v, per_root, per_level = schedule
    arms = rewards.table.shape[0]
    horizon = record.checkpoints[-1]
    order, batches = room_for_batches(rewards, at_once, record)
    pulled = batches.pulled
    everyone = np.arange(arms)
    members = np.zeros(1, np.int64)
    means = np.empty(arms)
    wide = np.empty(arms)
    deep = np.empty(arms)
    sums = np.empty(arms)
    counts = np.empty(arms)  # rewards in the released mean
    waiting = np.empty(arms, np.int64)  # pulls until the next release
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        sums[:] = 0.0
        counts[:] = 0.0
        t = min(horizon, arms * first)
        place = pull_in_turns(batches, everyone, arms, 0, t, 0, state, trial)
        if place == STOPPED:
            return
        opening = 0  # the next arm whose first statistic is to be released
        while t < horizon:
            batch = first
            if opening < arms:
                arm = opening
                opening += 1
            else:
                arm, surely = _leader(t + 1, means, wide, deep)
                last = min(t + waiting[arm], horizon)
                steps = _lasting(arm, t + 1, last, means, wide, deep) if surely and last > t + 1 else 1
                members[0] = arm
                place = pull_in_turns(batches, members, 1, t, steps, place, state, trial)
                if place == STOPPED:
                    return
                t += steps
                waiting[arm] -= steps
                if waiting[arm] > 0 or t == horizon:
                    continue
                if kind == DOUBLING:
                    batch = 2 * int(counts[arm])
            total = fresh_sum(batches, arm, batch, state, trial)
            if kind == DOUBLING:
                counts[arm] = batch
                means[arm] = (total + noise(state, trial, 1.0 / epsilon)) / batch
                waiting[arm] = 2 * batch
            else:
                counts[arm] += batch
                sums[arm] += total
                means[arm] = sums[arm] / counts[arm] + noise(state, trial, counts[arm] ** (0.5 * v - 1.0))
                waiting[arm] = first
            wide[arm] = math.sqrt(per_root / counts[arm])
            deep[arm] = per_level / (epsilon * counts[arm])
        note_pulls(record, trial, order, pulled)


@kernel
def thompson(state, rewards, at_once, epsilon, record):
    """Play one trial per row of ``state``: lazily released means, posteriors drawn at every step.

    After one pull of each arm, the arm with the largest draw from Beta(m n + 1, (1-m) n + 1) is pulled, where m is
    the released mean + 3 log2(t) / (epsilon n), clipped to [0, 1], and n = 1, 2, 4, ... the fresh rewards in it.
    """
    arms = rewards.table.shape[0]
    horizon = record.checkpoints[-1]
    order, batches = room_for_batches(rewards, at_once, record)
    pulled = batches.pulled
    everyone = np.arange(arms)
    members = np.zeros(1, np.int64)
    means = np.empty(arms)
    counts = np.empty(arms)
    waiting = np.empty(arms, np.int64)
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        t = min(horizon, arms)
        place = pull_in_turns(batches, everyone, arms, 0, t, 0, state, trial)
        if place == STOPPED:
            return
        for arm in range(arms if t < horizon else 0):
            counts[arm] = 1.0
            means[arm] = fresh_sum(batches, arm, 1, state, trial) + noise(state, trial, 1.0 / epsilon)
            waiting[arm] = 2
        while t < horizon:
            bonus = 3.0 * math.log2(t + 1) / epsilon
            best = -1.0
            arm = 0
            for other in range(arms):
                count = counts[other]
                mean = min(1.0, max(0.0, means[other] + bonus / count))
                theta = beta(state, trial, mean * count + 1.0, (1.0 - mean) * count + 1.0)
                if theta > best:
                    best = theta
                    arm = other
            members[0] = arm
            place = pull_in_turns(batches, members, 1, t, 1, place, state, trial)
            if place == STOPPED:
                return
            t += 1
            waiting[arm] -= 1
            if waiting[arm] == 0 and t < horizon:
                count = 2.0 * counts[arm]
                total = fresh_sum(batches, arm, count, state, trial)
                means[arm] = (total + noise(state, trial, 1.0 / epsilon)) / count
                counts[arm] = count
                waiting[arm] = int(2.0 * count)
        note_pulls(record, trial, order, pulled)
