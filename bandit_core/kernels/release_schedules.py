"""Lazy policies: the arm is chosen anew at every step, from statistics that change only at releases.

Arm a's statistic is released after its first ``first`` pulls and then every so many further ones. Between releases
nothing but t moves, so `by_index` finds the step at which the leader changes by bisection on the indices themselves
and the steps before it are played in one go: the cost is one per release, not per step, and the arms are those of a
full scan at every step. For posteriors see `lazy_posterior`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, inlined, kernel, piece
from bandit_core.kernels.batches import fresh_sum, noise, play_batches
from bandit_core.kernels.records import Batches, Rewards
from bandit_core.kernels.streams import beta
from bandit_core.model import Record

DOUBLING, EVERY = range(2)  # when statistics are released: batches of 1, 2, 4, ... fresh rewards; every f pulls
MARGIN = 1e-12  # of an index: far above its rounding, far below what a few steps change


class Schedule(NamedTuple):
    """When statistics are released, with how much noise, and how they make an index.

    The index is mean + sqrt(per_root ln t / n) + per_level ln t / (epsilon n). DOUBLING: the mean is that of the last
    n = 1, 2, 4, ... fresh rewards, their sum with Laplace(1/epsilon) noise. EVERY: the mean of all n = first, 2 first,
    ... rewards with Laplace(n^(v/2 - 1)) noise of its own.
    """

    kind: int
    first: int
    epsilon: float
    v: float
    per_root: float
    per_level: float


class Known(NamedTuple):
    """What has been released of every arm (arms,), and its index mean + wide sqrt(ln t) + deep ln t."""

    means: np.ndarray
    wide: np.ndarray
    deep: np.ndarray
    sums: np.ndarray
    counts: np.ndarray  # rewards in the released mean
    waiting: np.ndarray  # pulls until the next release


@piece
def _leader(now: int, means: np.ndarray, wide: np.ndarray, deep: np.ndarray) -> tuple[int, bool]:
    """The arm with the largest index at step ``now``, and whether it is larger by more than rounding."""
    level = math.log(now)
    root = math.sqrt(level)
    best = -np.inf
    second = -np.inf
    arm = 0
    for other in range(means.shape[0]):
        value = means[other] + (wide[other] * root + deep[other] * level)
        if value > best:
            second = best
            best = value
            arm = other
        elif value > second:
            second = value
    return arm, best - second > MARGIN * (1.0 + abs(best))


@piece
def _lasting(arm: int, now: int, last: int, means: np.ndarray, wide: np.ndarray, deep: np.ndarray) -> int:
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


@inlined
def _choose(rule: Schedule, known: Known, pulled: np.ndarray, t: int, state: np.ndarray, trial: int) -> tuple[int, int]:
    """The leader, and how long it surely leads before its next release."""
    means, wide, deep = known.means, known.wide, known.deep
    arm, surely = _leader(t + 1, means, wide, deep)
    last = t + known.waiting[arm]
    return arm, _lasting(arm, t + 1, last, means, wide, deep) if surely and last > t + 1 else 1


@inlined
def _draw_best(
    rule: Schedule, known: Known, pulled: np.ndarray, t: int, state: np.ndarray, trial: int
) -> tuple[int, int]:
    """The arm with the largest draw from its posterior, for one pull."""
    bonus = 3.0 * math.log2(t + 1) / rule.epsilon
    best = -1.0
    choice = 0
    for arm in range(known.means.shape[0]):
        count = known.counts[arm]
        mean = min(1.0, max(0.0, known.means[arm] + bonus / count))
        theta = beta(state, trial, mean * count + 1.0, (1.0 - mean) * count + 1.0)
        if theta > best:
            best = theta
            choice = arm
    return choice, 1


@inlined
def _release(
    rule: Schedule, known: Known, batches: Batches, arm: int, count: int, state: np.ndarray, trial: int
) -> None:
    """Count the pulls of an arm, and release its statistic if it is due."""
    known.waiting[arm] -= count
    if known.waiting[arm] > 0:
        return
    before = known.counts[arm]
    if rule.kind == DOUBLING:
        fresh = 2.0 * before if before > 0.0 else float(rule.first)
        total = fresh_sum(batches, arm, fresh, state, trial)
        known.counts[arm] = fresh
        known.means[arm] = (total + noise(state, trial, 1.0 / rule.epsilon)) / fresh
        known.waiting[arm] = 2 * int(fresh)
    else:
        known.sums[arm] += fresh_sum(batches, arm, rule.first, state, trial)
        known.counts[arm] = before + rule.first
        mean = known.sums[arm] / known.counts[arm]
        known.means[arm] = mean + noise(state, trial, known.counts[arm] ** (0.5 * rule.v - 1.0))
        known.waiting[arm] = rule.first
    known.wide[arm] = math.sqrt(rule.per_root / known.counts[arm])
    known.deep[arm] = rule.per_level / (rule.epsilon * known.counts[arm])


@inlined
def _clear(rule: Schedule, known: Known) -> None:
    known.sums[:] = 0.0
    known.counts[:] = 0.0
    known.waiting[:] = rule.first


@allocating
def _room(arms: int) -> Known:
    waiting = np.empty(arms, np.int64)
    return Known(np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms), waiting)


@kernel
def by_index(state: np.ndarray, rewards: Rewards, at_once: bool, schedule: Schedule, record: Record) -> None:
    """Play one trial per row of ``state``: after ``first`` pulls of each arm in turns always the largest index."""
    known = _room(rewards.table.shape[0])
    play_batches(_clear, _choose, _release, schedule, known, state, rewards, at_once, record)


# For rewards that are counted late, see `kernels.late_batches`.
clear, leader, draw_best, release, room = _clear, _leader, _draw_best, _release, _room
