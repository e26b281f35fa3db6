"""Straight loops for the whole registry: one user after the other, all that a policy's definition looks at for each.

Most policies can wait for late rewards, and what plays them then is such a loop (`kernels.late_loop` and its kin), also
where nobody is late: every index, or a draw from every posterior, for every user, every reward by itself. It also hands
every reward through the queue of those that wait. Searches cannot wait; `search` here draws the bit of every user.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from bandit_core.jit.decorators import kernel, piece
from bandit_core.kernels import search as searches
from bandit_core.kernels.curves import note, note_pulls, passed
from bandit_core.kernels.labels import relabel_arms, room_for
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.model import KernelCall, Record
from bandit_core.simulation.prepared import PreparedLine
from bandit_core.spec.feedback import Feedback


class NobodyLate(Feedback):
    """Every reward is counted before the next user comes, and still goes through the loop for late ones."""

    immediate: ClassVar[bool] = False


def straight_call(line: PreparedLine) -> KernelCall:
    """The straight loop of what a line plays.

    Raises
    ------
    LookupError
        Where there is none.
    """
    if line.policy.late:
        return line.policy.prepare(replace(line.setup, feedback=NobodyLate()))
    if line.call.kernel is searches.search:
        return replace(line.call, kernel=search)
    raise LookupError(line.policy.name)


@piece
def _learn(
    known: searches.Known, rule: searches.Rule, arm: int, users: int, bits: np.ndarray, state: np.ndarray, trial: int
) -> None:
    """Count the ``users`` who met an arm since the last decision; ``bits`` (arms,) are the ones not released yet."""
    known.counts[arm] += users
    if rule.epsilon == 0.0:
        known.ones[arm] = bits[arm]
        known.means[arm] = known.ones[arm] / known.counts[arm]
        return
    known.fresh[arm] += users
    if users > 0 and 2.0 * known.fresh[arm] >= known.counts[arm]:  # the end of a phase
        known.lengths[arm] = known.fresh[arm]
        noise = laplace_noise(next_uniform(state, trial, 0), 1.0 / rule.epsilon)
        known.means[arm] = (bits[arm] + noise) / known.fresh[arm]
        known.phases[arm] += 1.0
        known.fresh[arm] = bits[arm] = 0.0


@kernel
def search(state: np.ndarray, rewards: Rewards, rule: searches.Rule, record: Record) -> None:
    """`kernels.search.search` with a bit for every user, also of those who come after the search."""
    arms = rewards.table.shape[0]
    order, here, numbers = np.empty(arms, np.int64), room_for(rewards), np.zeros((8, arms))
    known = searches.Known(
        numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], np.zeros(2, np.int64)
    )  # fmt: skip
    pulled, bits = numbers[6], numbers[7]
    for trial in range(state.shape[0]):
        relabel_arms(state, trial, rewards, order, here)
        numbers[:] = 0.0
        place, size, own, turn = 0, arms, 0, 0  # of the present decision: users, those of the leader, users so far
        for t in range(1, record.checkpoints[-1] + 1):
            if t <= arms:
                arm = t - 1
            else:
                if turn == size:
                    size, own = searches.decide(known, rule, t - 1, state, trial)
                    turn = 0
                arm = known.pair[0]
                if size > 0:
                    arm = known.pair[(turn + (2 * own < size)) % 2]
            turn += 1
            bits[arm] += next_uniform(state, trial, 0) < here.means[arm]
            pulled[arm] += 1.0
            if t <= arms:
                _learn(known, rule, arm, 1, bits, state, trial)
            elif turn == size:
                _learn(known, rule, known.pair[0], own, bits, state, trial)
                _learn(known, rule, known.pair[1], size - own, bits, state, trial)
            if t == record.checkpoints[place]:
                note(record, trial, place, pulled, here.gaps)
                if passed(record, place, 1):
                    return
                place += 1
        note_pulls(record, trial, order, pulled)
