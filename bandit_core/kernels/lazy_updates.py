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

from bandit_core.jit.decorators import allocating, device_function, inlined, kernel
from bandit_core.kernels.batches import fresh_sum, noise, play_lazily
from bandit_core.kernels.records import Batches, Rewards
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


class State(NamedTuple):
    """What has been released of every arm (arms,), and its index mean + wide sqrt(ln t) + deep ln t."""

    means: np.ndarray
    wide: np.ndarray
    deep: np.ndarray
    sums: np.ndarray
    counts: np.ndarray  # rewards in the released mean
    waiting: np.ndarray  # pulls until the next release


@device_function
def leader(now: int, means: np.ndarray, wide: np.ndarray, deep: np.ndarray) -> tuple[int, bool]:
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


@device_function
def _lasting(arm: int, now: int, last: int, means: np.ndarray, wide: np.ndarray, deep: np.ndarray) -> int:
    """How many steps from ``now``, at most to ``last``, are certainly those of ``arm``, the sure leader at ``now``.

    The difference of two indices is monotone in t, because the arm with fewer released pulls has both terms larger:
    who leads at both ends of a stretch leads throughout.
    """
    ahead, surely = leader(last, means, wide, deep)
    if ahead == arm and surely:
        return last - now + 1
    low = now
    while last - low > 1:
        middle = (low + last) // 2
        ahead, surely = leader(middle, means, wide, deep)
        if ahead == arm and surely:
            low = middle
        else:
            last = middle
    return low - now + 1


@inlined
def _choose(rule: Schedule, known: State, pulled: np.ndarray, t: int, state: np.ndarray, trial: int) -> tuple[int, int]:
    """The leader, and how long it surely leads before its next release."""
    means, wide, deep = known.means, known.wide, known.deep
    arm, surely = leader(t + 1, means, wide, deep)
    last = t + known.waiting[arm]
    return arm, _lasting(arm, t + 1, last, means, wide, deep) if surely and last > t + 1 else 1


@inlined
def batch_of(rule: Schedule, known: State, arm: int) -> int:
    """How many rewards the next release of an arm waits for."""
    if rule.kind == DOUBLING and known.counts[arm] > 0.0:
        return 2 * int(known.counts[arm])
    return rule.first


@inlined
def release(rule: Schedule, known: State, arm: int, total: float, state: np.ndarray, trial: int) -> None:
    """Release the statistic of an arm, whose batch is full and has this sum."""
    fresh = float(batch_of(rule, known, arm))
    if rule.kind == DOUBLING:
        known.counts[arm] = fresh
        known.means[arm] = (total + noise(state, trial, 1.0 / rule.epsilon)) / fresh
    else:
        known.sums[arm] += total
        known.counts[arm] += fresh
        mean = known.sums[arm] / known.counts[arm]
        known.means[arm] = mean + noise(state, trial, known.counts[arm] ** (0.5 * rule.v - 1.0))
    known.waiting[arm] = batch_of(rule, known, arm)
    known.wide[arm] = math.sqrt(rule.per_root / known.counts[arm])
    known.deep[arm] = rule.per_level / (rule.epsilon * known.counts[arm])


@inlined
def count_pulls(
    rule: Schedule, known: State, batches: Batches, arm: int, count: int, state: np.ndarray, trial: int
) -> None:
    """Count the pulls of an arm, and release its statistic if it is due."""
    known.waiting[arm] -= count
    if known.waiting[arm] == 0:
        total = fresh_sum(batches, arm, float(batch_of(rule, known, arm)), state, trial)
        release(rule, known, arm, total, state, trial)


@inlined
def clear(rule: Schedule, known: State) -> None:
    """Forget the last trial."""
    known.sums[:] = 0.0
    known.counts[:] = 0.0
    known.waiting[:] = rule.first


@allocating
def room(arms: int) -> State:
    """Room for what is known."""
    waiting = np.empty(arms, np.int64)
    return State(np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms), waiting)


@kernel
def by_index(state: np.ndarray, rewards: Rewards, at_once: bool, schedule: Schedule, record: Record) -> None:
    """Play one trial per row of ``state``: after ``first`` pulls of each arm in turns always the largest index."""
    known = room(rewards.table.shape[0])
    play_lazily(clear, _choose, count_pulls, schedule, known, state, rewards, at_once, record)
