"""Explore, then commit: every arm in turns for a number of users, the arm with the largest mean for all others.

Nothing that happens in the test decides anything before its end, so where arms pay one of two amounts, or users answer
with bits, each arm's sum is one binomial draw. Other rewards are drawn one by one, in the order of the pulls. After
the decision nothing is drawn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import device_function, inlined, kernel
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.labels import relabel_arms, room_for
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.kernels.trial_loop import should_stop, write_checkpoint, write_pulls
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.model import Record
from bandit_core.spec.rewards import TWO_POINT


class Plan(NamedTuple):
    """How the winner is found: after so many ``users``.

    ``bits``: users answer with a bit that is 1 with the chance in `Rewards.means`, else with their reward. ``scale``
    of the Laplace noise in each arm's sum, 0 for none. ``at_once`` = False draws every reward by itself.
    """

    users: int
    bits: bool
    scale: float
    at_once: bool


@inlined
def _count(users: int, arms: int, arm: int) -> int:
    """Pulls of an arm when ``users`` have come in turns."""
    return users // arms + (1 if arm < users % arms else 0)


@device_function
def _draw_in_turns(rewards: Rewards, sums: np.ndarray, first: int, last: int, state: np.ndarray, trial: int) -> None:
    """Add the rewards of pulls ``first`` to ``last - 1`` to the sums of their arms."""
    arms = sums.shape[0]
    for pull in range(first, last):
        arm = pull % arms
        sums[arm] += draw_reward(rewards.table, rewards.values, arm, next_uniform(state, trial, 0), state, trial)


@device_function
def _winner(rewards: Rewards, sums: np.ndarray, plan: Plan, by_the_sum: bool, state: np.ndarray, trial: int) -> int:
    """The arm with the largest mean after the test; of equal ones the lowest label, one that no one tried last."""
    arms = sums.shape[0]
    best = 0
    highest = -np.inf
    for arm in range(arms):
        count = _count(plan.users, arms, arm)
        if count == 0:
            continue
        total = sums[arm]
        if plan.bits:
            total = binomial(count, rewards.means[arm], state, trial)
        elif by_the_sum:
            ones = binomial(count, rewards.table[arm, 3], state, trial)
            total = rewards.table[arm, 1] * (count - ones) + rewards.table[arm, 2] * ones
        if plan.scale > 0.0:
            total += laplace_noise(next_uniform(state, trial, 0), plan.scale)
        if total / count > highest:
            highest = total / count
            best = arm
    return best


@kernel
def explore_then_commit(state: np.ndarray, rewards: Rewards, plan: Plan, record: Record) -> None:
    """Play one trial per row of ``state``, filling the outputs at the checkpoints."""
    arms = rewards.table.shape[0]
    users, checkpoints = plan.users, record.checkpoints
    order = np.empty(arms, np.int64)
    here = room_for(rewards)
    gaps = here.gaps
    pulled = np.empty(arms)
    sums = np.empty(arms)
    by_the_sum = plan.bits or plan.at_once
    if not plan.bits:
        for arm in range(arms):
            by_the_sum &= rewards.table[arm, 0] == TWO_POINT
    for trial in range(state.shape[0]):
        relabel_arms(state, trial, rewards, order, here)
        sums[:] = 0.0
        winner = -1
        t = 0
        for place in range(checkpoints.shape[0]):
            now = checkpoints[place]
            tested = min(now, users)
            if not by_the_sum:
                _draw_in_turns(here, sums, t, tested, state, trial)
            if now > users and winner < 0:
                winner = _winner(here, sums, plan, by_the_sum, state, trial)
            for arm in range(arms):
                pulled[arm] = _count(tested, arms, arm)
            if winner >= 0:
                pulled[winner] += now - users
            write_checkpoint(record, trial, place, pulled, gaps)
            if should_stop(record, place, 1):
                return
            t = tested
        write_pulls(record, trial, order, pulled)
