"""Explore, then commit: every arm in turns for a number of users, the arm with the largest mean for all others.

Nothing that happens in the test decides anything before its end, so where arms pay one of two amounts, or users answer
with bits, each arm's sum is one binomial draw. Other rewards are drawn one by one, in the order of the pulls. After
the decision nothing is drawn.
"""

from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import device_function, kernel
from bandit_core.kernels.batch_rule import begin, count_pulls, fresh_sum, noise, pull_in_turns, room_for_batches
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.play import STOPPED, Batches, Rewards, write_pulls
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


@device_function
def _winner(batches: Batches, plan: Plan, state: np.ndarray, trial: int) -> int:
    """The arm with the largest mean after the test; of equal ones the lowest label, one that no one tried last."""
    best, highest = 0, -np.inf
    for arm in range(batches.pulled.shape[0]):
        count = batches.pulled[arm]
        if count == 0.0:
            continue
        if plan.bits:
            total = binomial(count, batches.rewards.means[arm], state, trial)
        else:
            total = fresh_sum(batches, arm, count, state, trial)
        if plan.scale > 0.0:
            total += noise(state, trial, plan.scale)
        if total / count > highest:
            best, highest = arm, total / count
    return best


@kernel
def explore_then_commit(state: np.ndarray, rewards: Rewards, plan: Plan, record: Record) -> None:
    """Play one trial per row of ``state``, filling the outputs at the checkpoints."""
    arms, horizon = rewards.table.shape[0], record.checkpoints[-1]
    at_once, users = plan.at_once, min(plan.users, horizon)
    for arm in range(arms):
        at_once &= rewards.table[arm, 0] == TWO_POINT
    order, batches = room_for_batches(rewards, at_once, record)
    everyone, winner = np.arange(arms), np.zeros(1, np.int64)
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        if plan.bits:
            place = count_pulls(batches, everyone, arms, 0, users, 0, state, trial)
        else:
            place = pull_in_turns(batches, everyone, arms, 0, users, 0, state, trial)
        if place == STOPPED:
            return
        if users < horizon:
            winner[0] = _winner(batches, plan, state, trial)
            if count_pulls(batches, winner, 1, users, horizon - users, place, state, trial) == STOPPED:
                return
        write_pulls(record, trial, order, batches.pulled)
