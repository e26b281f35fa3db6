"""What the kernels of batch policies share: playing many pulls at once, and drawing what they paid.

These policies look at rewards only through sums over batches. So pulls are counted in bulk (a checkpoint inside a
batch needs nothing else), and the sum of a batch of two-valued rewards is one binomial variable. Other distributions
are drawn reward by reward. ``at_once`` = False does the same for two-valued distributions: the plain form, for tests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bandit_core.jit.decorators import allocating, device_function, inline_loop, inlined
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.labels import relabel_arms, room_for
from bandit_core.kernels.records import Batches, Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.kernels.trial_loop import STOPPED, should_stop, write_checkpoint, write_pulls
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.model import Record
from bandit_core.spec.rewards import TWO_POINT


@allocating
def room_for_batches(rewards: Rewards, at_once: bool, record: Record) -> tuple[np.ndarray, Batches]:
    """`Batches` to be filled by `begin`, and room for the labels."""
    arms = rewards.table.shape[0]
    order = np.empty(arms, np.int64)
    return order, Batches(room_for(rewards), at_once, np.empty(arms), np.empty(arms), record)


@inlined
def begin(batches: Batches, rewards: Rewards, order: np.ndarray, state: np.ndarray, trial: int) -> None:
    """Begin a trial: draw the labels, forget what was pulled."""
    relabel_arms(state, trial, rewards, order, batches.rewards)
    for arm in range(order.shape[0]):
        batches.fresh[arm] = 0.0
        batches.pulled[arm] = 0.0


@inlined
def _by_the_sum(batches: Batches, arm: int) -> bool:
    return batches.at_once and batches.rewards.table[arm, 0] == TWO_POINT


@inlined
def _reward(batches: Batches, arm: int, state: np.ndarray, trial: int) -> float:
    rewards = batches.rewards
    return draw_reward(rewards.table, rewards.values, arm, next_uniform(state, trial, 0), state, trial)


@device_function
def pull_in_turns(
    batches: Batches, members: np.ndarray, size: int, t: int, steps: int, place: int, state: np.ndarray, trial: int
) -> int:
    """Pull the first ``size`` arms of ``members`` in turns, ``steps`` pulls in all, after ``t`` pulls so far.

    Counts the pulls and fills the checkpoints passed, the next of which is at ``place``. Rewards that are drawn one by
    one are added up here, in the order of the pulls; those that are drawn by their sum wait for `fresh_sum`.

    Returns the place of the next checkpoint, or STOPPED.
    """
    fresh, pulled, record = batches.fresh, batches.pulled, batches.record
    by_the_sum = True
    for turn in range(size):
        by_the_sum &= _by_the_sum(batches, members[turn])
    turn = 0  # whose turn it is
    while steps > 0:
        length = min(steps, record.checkpoints[place] - t)
        if size == 1:
            arm = members[0]
            pulled[arm] += length
            if not by_the_sum:
                total = fresh[arm]
                for _ in range(length):
                    total += _reward(batches, arm, state, trial)
                fresh[arm] = total
        elif by_the_sum:
            rounds = length // size
            for other in range(size):
                pulled[members[other]] += rounds
            for other in range(turn, turn + length - rounds * size):
                pulled[members[other if other < size else other - size]] += 1.0
            turn = (turn + length) % size
        else:
            for _ in range(length):
                arm = members[turn]
                pulled[arm] += 1.0
                if not _by_the_sum(batches, arm):
                    fresh[arm] += _reward(batches, arm, state, trial)
                turn = turn + 1 if turn + 1 < size else 0
        t += length
        steps -= length
        if t == record.checkpoints[place]:
            write_checkpoint(record, trial, place, pulled, batches.rewards.gaps)
            if should_stop(record, place, 1):
                return STOPPED
            place += 1
    return place


@device_function
def fresh_sum(batches: Batches, arm: int, count: float, state: np.ndarray, trial: int) -> float:
    """Sum of the ``count`` rewards of ``arm`` since its last release. They are used up: no reward is summed twice."""
    table = batches.rewards.table
    if _by_the_sum(batches, arm):
        low = table[arm, 1]
        ones = binomial(count, table[arm, 3], state, trial)
        return low * (count - ones) + table[arm, 2] * ones
    total = batches.fresh[arm]
    batches.fresh[arm] = 0.0
    return total


@inlined
def noise(state: np.ndarray, trial: int, scale: float) -> float:
    """Laplace(scale) noise of one release, from one uniform of the stream."""
    return laplace_noise(next_uniform(state, trial, 0), scale)


@inline_loop
def play_lazily(  # noqa: PLR0913 (three pieces, their two records, and what every kernel is called with)
    clear: Callable[..., None],
    choose: Callable[..., tuple[int, int]],
    release: Callable[..., None],
    rule: Any,
    known: Any,
    state: np.ndarray,
    rewards: Rewards,
    at_once: bool,
    record: Record,
) -> None:
    """Play one trial per row of ``state``, filling the record: ``rule.first`` pulls of each arm in turns, then batches.

    ``clear(rule, known)`` forgets the last trial; ``choose(rule, known, pulled, t, state, trial)`` gives the arm of
    the pull after ``t`` and how often it is pulled in a row; ``release(rule, known, batches, arm, count, state,
    trial)`` is told that it was, at first and then after every such row but the last.
    """
    arms = rewards.table.shape[0]
    horizon = record.checkpoints[-1]
    order, batches = room_for_batches(rewards, at_once, record)
    everyone = np.arange(arms)
    members = np.zeros(1, np.int64)
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        clear(rule, known)
        t = min(horizon, arms * rule.first)
        place = pull_in_turns(batches, everyone, arms, 0, t, 0, state, trial)
        if place == STOPPED:
            return
        for arm in range(arms if t < horizon else 0):
            release(rule, known, batches, arm, rule.first, state, trial)
        while t < horizon:
            arm, count = choose(rule, known, batches.pulled, t, state, trial)
            steps = min(count, horizon - t)
            members[0] = arm
            place = pull_in_turns(batches, members, 1, t, steps, place, state, trial)
            if place == STOPPED:
                return
            t += steps
            if t < horizon:  # later no one asks for a release any more
                release(rule, known, batches, arm, steps, state, trial)
        write_pulls(record, trial, order, batches.pulled)


@inlined
def survivors(members: np.ndarray, size: int, means: np.ndarray, margin: float) -> int:
    """Drop from the first ``size`` of ``members`` those whose mean is more than ``margin`` below the highest.

    How many are left; they stand first, in their order.
    """
    highest = -np.inf
    for turn in range(size):
        highest = max(highest, means[members[turn]])
    left = 0
    for turn in range(size):
        if highest - means[members[turn]] <= margin:
            members[left] = members[turn]
            left += 1
    return left
