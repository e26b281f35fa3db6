"""What the kernels of batch policies share: playing many pulls at once, and drawing what they paid.

These policies look at rewards only through sums over batches. So pulls are counted in bulk (a checkpoint inside a
batch needs nothing else), and the sum of a batch of two-valued rewards is one binomial variable. Other distributions
are drawn reward by reward. ``at_once`` = False does the same for two-valued distributions: the plain form, for tests.
"""

import numpy as np

from bandit_core.jit.decorators import allocating, device_function, inlined
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.labels import relabel_arms, room_for
from bandit_core.kernels.records import Batches, Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.kernels.trial_loop import STOPPED, should_stop, write_checkpoint
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
def _in_turns(  # noqa: PLR0913 (what `pull_in_turns` is called with)
    batches: Batches, members: np.ndarray, size: int, t: int, steps: int, place: int, drawn: bool,
    state: np.ndarray, trial: int,
) -> int:  # fmt: skip
    """See `pull_in_turns`; ``drawn``: rewards of arms whose sums do not wait are drawn here."""
    fresh, pulled, record, rewards = batches.fresh, batches.pulled, batches.record, batches.rewards
    turn = 0  # whose turn it is
    while steps > 0:
        length = min(steps, record.checkpoints[place] - t)
        at = turn
        for _ in range(length if drawn else 0):
            arm = members[at]
            at = at + 1 if at + 1 < size else 0
            if not _by_the_sum(batches, arm):
                uniform = next_uniform(state, trial, 0)
                fresh[arm] += draw_reward(rewards.table, rewards.values, arm, uniform, state, trial)
        rounds = length // size
        for other in range(size):
            pulled[members[other]] += rounds
        for other in range(turn, turn + length - rounds * size):
            pulled[members[other if other < size else other - size]] += 1.0
        turn = (turn + length) % size
        t += length
        steps -= length
        if t == record.checkpoints[place]:
            write_checkpoint(record, trial, place, pulled, rewards.gaps)
            if should_stop(record, place, 1):
                return STOPPED
            place += 1
    return place


@device_function
def count_pulls(
    batches: Batches, members: np.ndarray, size: int, t: int, steps: int, place: int, state: np.ndarray, trial: int
) -> int:
    """`pull_in_turns` where no reward is drawn before its sum is asked for."""
    return _in_turns(batches, members, size, t, steps, place, False, state, trial)


@device_function
def pull_in_turns(
    batches: Batches, members: np.ndarray, size: int, t: int, steps: int, place: int, state: np.ndarray, trial: int
) -> int:
    """Pull the first ``size`` arms of ``members`` in turns, ``steps`` pulls in all, after ``t`` pulls so far.

    Counts the pulls and fills the checkpoints passed, the next of which is at ``place``. Rewards that are drawn one by
    one are added up here, in the order of the pulls; those that are drawn by their sum wait for `fresh_sum`.

    Returns the place of the next checkpoint, or STOPPED.
    """
    drawn = False
    for turn in range(size):
        drawn |= not _by_the_sum(batches, members[turn])
    return _in_turns(batches, members, size, t, steps, place, drawn, state, trial)


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
