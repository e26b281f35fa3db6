"""Lazy policies: the arm is chosen anew at every step, from statistics that change only at releases.

Arm a's statistic is released after its first ``first`` pulls and then every so many further ones. Between releases
nothing but t moves, so `BY_INDEX` finds the step at which the leader changes by bisection on the indices themselves
and the steps before it are one batch of `batch_rule.play_batches`, in which most batches release nothing: the cost is
one per release, not per step, and the arms are those of a full scan at every step. For posteriors see `lazy_posterior`.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, device_function, inlined
from bandit_core.kernels.batch_rule import BatchRule, fresh_sum, noise
from bandit_core.kernels.play import Batches, Stream

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
    members: np.ndarray  # all arms, that of the present batch first


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


def choose(rule: Schedule, known: State, pulled: np.ndarray, t: int, stream: Stream) -> tuple[int, int]:
    """Every arm at first; then the leader, for as long as it surely leads before its next release."""
    if t == 0:
        return known.members.shape[0], rule.first
    means, wide, deep = known.means, known.wide, known.deep
    arm, surely = leader(t + 1, means, wide, deep)
    last = t + known.waiting[arm]
    known.members[0] = arm
    return 1, _lasting(arm, t + 1, last, means, wide, deep) if surely and last > t + 1 else 1


@inlined
def batch_of(rule: Schedule, known: State, arm: int) -> int:
    """How many rewards the next release of an arm waits for."""
    if rule.kind == DOUBLING and known.counts[arm] > 0.0:
        return 2 * int(known.counts[arm])
    return rule.first


@inlined
def release(rule: Schedule, known: State, arm: int, total: float, stream: Stream) -> None:
    """Release the statistic of an arm, whose batch is full and has this sum."""
    fresh = float(batch_of(rule, known, arm))
    if rule.kind == DOUBLING:
        known.counts[arm] = fresh
        known.means[arm] = (total + noise(stream.words, stream.trial, 1.0 / rule.epsilon)) / fresh
    else:
        known.sums[arm] += total
        known.counts[arm] += fresh
        mean = known.sums[arm] / known.counts[arm]
        known.means[arm] = mean + noise(stream.words, stream.trial, known.counts[arm] ** (0.5 * rule.v - 1.0))
    known.waiting[arm] = batch_of(rule, known, arm)
    known.wide[arm] = math.sqrt(rule.per_root / known.counts[arm])
    known.deep[arm] = rule.per_level / (rule.epsilon * known.counts[arm])


def fresh_total(rule: Schedule, known: Any, batches: Batches, arm: int, count: int, stream: Stream) -> float:
    """The sum of all rewards since the last release of an arm, where it is due after ``count`` more pulls."""
    known.waiting[arm] -= count
    if known.waiting[arm] > 0:
        return 0.0
    return fresh_sum(batches, arm, float(batch_of(rule, known, arm)), stream.words, stream.trial)


def learn(rule: Schedule, known: State, arm: int, total: float, count: float, stream: Stream) -> None:
    """Release the statistic of an arm if it is due."""
    if known.waiting[arm] == 0:
        release(rule, known, arm, total, stream)


def start(rule: Schedule, arms: int) -> State:
    """Nothing."""
    each = np.zeros((5, arms))
    return State(each[0], each[1], each[2], each[3], each[4], np.full(arms, rule.first), np.arange(arms))


nothing = allocating(start)


BY_INDEX = BatchRule("by_index", start, choose, learn, total=fresh_total)
