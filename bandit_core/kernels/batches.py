"""What the kernels of batch policies share: playing many pulls at once, and drawing what they paid.

These policies look at rewards only through sums over batches. So pulls are counted in bulk (a checkpoint inside a
batch needs nothing else), and the sum of a batch of two-valued rewards is one binomial variable. Other distributions
are drawn reward by reward. ``at_once`` = False does the same for two-valued distributions: the plain form, for tests.
"""

from __future__ import annotations

from bandit_core.jit.decorators import inlined, piece
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.curves import note
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.spec.rewards import TWO_POINT

STOPPED = -1


@inlined
def _by_the_sum(laws, arm, at_once):
    return at_once and laws[arm, 0] == TWO_POINT


@piece
def pull_in_turns(
    members, size, t, steps, state, trial, laws, values, at_once, fresh, pulled,
    gaps, checkpoints, place, regret, best_pulls, signal,
):  # fmt: skip
    """Pull the first ``size`` arms of ``members`` in turns, ``steps`` pulls in all, after ``t`` pulls so far.

    Adds to ``pulled`` and fills the checkpoints passed. Rewards that are drawn one by one are added to ``fresh``
    here, in the order of the pulls; those that are drawn by their sum wait for `fresh_sum`.

    Returns the place of the next checkpoint, or STOPPED.
    """
    by_the_sum = True
    for turn in range(size):
        by_the_sum &= _by_the_sum(laws, members[turn], at_once)
    turn = 0  # whose turn it is
    while steps > 0:
        length = min(steps, checkpoints[place] - t)
        if size == 1:
            arm = members[0]
            pulled[arm] += length
            if not by_the_sum:
                total = fresh[arm]
                for _ in range(length):
                    total += draw_reward(laws, values, arm, next_uniform(state, trial, 0), state, trial)
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
                if not _by_the_sum(laws, arm, at_once):
                    fresh[arm] += draw_reward(laws, values, arm, next_uniform(state, trial, 0), state, trial)
                turn = turn + 1 if turn + 1 < size else 0
        t += length
        steps -= length
        if t == checkpoints[place]:
            note(pulled, gaps, trial, place, regret, best_pulls)
            signal[1] += t - (checkpoints[place - 1] if place > 0 else 0)
            place += 1
            if signal[0] != 0:
                return STOPPED
    return place


@piece
def fresh_sum(state, trial, laws, arm, count, at_once, fresh):
    """Sum of the ``count`` rewards of ``arm`` since its last release. They are used up: no reward is summed twice."""
    if _by_the_sum(laws, arm, at_once):
        low = laws[arm, 1]
        ones = binomial(count, laws[arm, 3], state, trial)
        return low * (count - ones) + laws[arm, 2] * ones
    total = fresh[arm]
    fresh[arm] = 0.0
    return total


@inlined
def noise(state, trial, scale):
    """Laplace(scale) noise of one release, from one uniform of the stream."""
    return laplace_noise(next_uniform(state, trial, 0), scale)
