"""A search for the best arm, then the arm that it recommends, for everyone else: the searches of `kernels.stopping`
over a given number of users.

One trial is the search of `kernels.stopping` from the same stream, user by user: between two decisions the leader and
the challenger take turns, and where their users are odd in number the coin says who begins. So pulls are counted in
bulk, a checkpoint within a turn needs no draw, and a shorter horizon is a prefix of a longer one. A decision that would
come after the last user is not taken.
"""

import numpy as np

from bandit_core.jit.decorators import kernel
from bandit_core.kernels.batches import begin, count_pulls, room_for_batches
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.stopping import Search, decide, learn, nothing
from bandit_core.kernels.trial_loop import STOPPED, write_pulls
from bandit_core.model import Record


@kernel
def search(state: np.ndarray, rewards: Rewards, asked: Search, record: Record) -> None:
    """Play one trial per row of ``state``; ``rewards.means`` are the chances of the bits."""
    arms, horizon = rewards.table.shape[0], record.checkpoints[-1]
    order, batches = room_for_batches(rewards, True, record)
    everyone, pair = np.arange(arms), np.zeros(2, np.int64)
    chances = batches.rewards.means
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        known = nothing(arms)
        t = min(arms, horizon)  # each arm once
        place = count_pulls(batches, everyone, arms, 0, t, 0, state, trial)
        if place == STOPPED:
            return
        for arm in range(arms if t < horizon else 0):
            learn(known, asked, arm, 1, chances, state, trial)
        while t < horizon:
            size, own, _ = decide(known, asked, t, state, trial)
            pair[0], pair[1] = known.pair[0], known.pair[1]
            if 2 * own < size:  # the challenger begins
                pair[0], pair[1] = known.pair[1], known.pair[0]
            steps = horizon - t if size == 0 else min(size, horizon - t)
            place = count_pulls(batches, pair, 1 if size == 0 else 2, t, steps, place, state, trial)
            if place == STOPPED:
                return
            t += steps
            if size > 0 and t < horizon:
                learn(known, asked, known.pair[0], own, chances, state, trial)
                learn(known, asked, known.pair[1], size - own, chances, state, trial)
        write_pulls(record, trial, order, batches.pulled)
