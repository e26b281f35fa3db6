"""A search for the best arm, then the arm that it recommends, for everyone else: the searches of `kernels.stopping`
over a given number of users.

One trial is the search of `kernels.stopping` from the same stream, user by user: between two decisions the leader and
the challenger take turns, and where their users are odd in number the coin says who begins. So pulls are counted in
bulk, a checkpoint within a turn needs no draw, and a shorter horizon is a prefix of a longer one. A decision that would
come after the last user is not taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, device_function, inlined, kernel
from bandit_core.kernels.batches import begin, room_for_batches
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.ladder import count_pulls
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.stopping import (
    compare,
    find_pair,
    first_half,
    largest,
    release_mean,
    sure_of,
    until_next,
)
from bandit_core.kernels.trial_loop import STOPPED, write_pulls
from bandit_core.model import Record

_NEVER = 2**62  # users after which a search gives up


class Rule(NamedTuple):
    """When a search ends, see `bandit_core.kernels.stopping`; ``epsilon`` of the noisy means, 0 where bits are seen."""

    delta: float
    rule: int
    growth: float
    epsilon: float


class State(NamedTuple):
    """What is known of every arm (arms,): all of its bits and their ones, or its last phase; and the ``pair`` (2,) of
    arms that play next: leader and challenger."""

    counts: np.ndarray
    ones: np.ndarray
    means: np.ndarray
    fresh: np.ndarray
    lengths: np.ndarray
    phases: np.ndarray
    pair: np.ndarray


@allocating
def _room(arms: int) -> State:
    return State(
        np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms),
        np.zeros(2, np.int64),
    )  # fmt: skip


@inlined
def _clear(known: State) -> None:
    for arm in range(known.counts.shape[0]):
        known.counts[arm] = known.ones[arm] = known.fresh[arm] = known.phases[arm] = 0.0


@device_function
def _learn(known: State, rule: Rule, arm: int, users: int, chances: np.ndarray, state: np.ndarray, trial: int) -> None:
    """Count the answers of an arm's next ``users``; with noisy means they are released when the phase is over."""
    known.counts[arm] += users
    if rule.epsilon == 0.0:
        known.ones[arm] += binomial(users, chances[arm], state, trial)
        known.means[arm] = known.ones[arm] / known.counts[arm]
        return
    known.fresh[arm] += users
    if users > 0 and 2.0 * known.fresh[arm] >= known.counts[arm]:
        release_mean(
            arm, chances, known.means, known.lengths, known.phases, known.fresh, rule.epsilon, state, trial
        )  # fmt: skip


@device_function
def decide(known: State, rule: Rule, t: int, state: np.ndarray, trial: int) -> tuple[int, int]:
    """(users until the next decision, how many of them get the leader); (0, 0) where the leader is recommended."""
    counts, means, pair = known.counts, known.means, known.pair
    pair[0] = largest(means)
    if rule.epsilon == 0.0:
        pair[1], sure = compare(known.ones, counts, pair[0], rule.rule, rule.delta, 0.0)
    else:
        sure = sure_of(pair[0], means, known.lengths, known.phases, rule.rule, rule.delta, rule.epsilon, 0.0)
    if sure:
        return 0, 0
    size = until_next(t, rule.growth, _NEVER)
    if rule.epsilon > 0.0:
        find_pair(means, known.lengths, counts, t, rule.epsilon, 0.0, pair)
        for place in range(2):  # no arm goes beyond the end of its phase
            size = min(size, 2 * int(counts[pair[place]] - 2.0 * known.fresh[pair[place]]))
    return size, first_half(size, state, trial)


@kernel
def search(state: np.ndarray, rewards: Rewards, rule: Rule, record: Record) -> None:
    """Play one trial per row of ``state``; ``rewards.means`` are the chances of the bits."""
    arms, horizon = rewards.table.shape[0], record.checkpoints[-1]
    order, batches = room_for_batches(rewards, True, record)
    known, members, pair = _room(arms), np.empty(arms, np.int64), np.zeros(2, np.int64)
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        _clear(known)
        for arm in range(arms):
            members[arm] = arm
        t = min(arms, horizon)  # each arm once
        place = count_pulls(batches, members, arms, 0, t, 0, state, trial)
        if place == STOPPED:
            return
        for arm in range(arms if t < horizon else 0):
            _learn(known, rule, arm, 1, batches.rewards.means, state, trial)
        while t < horizon:
            size, own = decide(known, rule, t, state, trial)
            pair[0], pair[1] = known.pair[0], known.pair[1]
            if 2 * own < size:  # the challenger begins
                pair[0], pair[1] = known.pair[1], known.pair[0]
            steps = horizon - t if size == 0 else min(size, horizon - t)
            place = count_pulls(batches, pair, 1 if size == 0 else 2, t, steps, place, state, trial)
            if place == STOPPED:
                return
            t += steps
            if size > 0 and t < horizon:
                _learn(known, rule, known.pair[0], own, batches.rewards.means, state, trial)
                _learn(known, rule, known.pair[1], size - own, batches.rewards.means, state, trial)
        write_pulls(record, trial, order, batches.pulled)
