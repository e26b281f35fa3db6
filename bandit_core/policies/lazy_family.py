"""What lazy policies share: the arm is chosen for every user, from statistics that change only at releases.

The statistic of an arm is released when so many more of its rewards are counted (see
`bandit_core.kernels.lazy_updates`, which plays the rule by sums of batches where rewards are counted at once).
Every arm is shown in turns until the first rewards of each are counted.
"""

import math
from typing import NamedTuple

import numpy as np

from bandit_core.kernels import lazy_updates
from bandit_core.kernels.lazy_updates import Schedule, leader, nothing, release
from bandit_core.kernels.play import NOTHING, Belief, Now, Rule, Stream, User, around


class State(NamedTuple):
    """What is released; of every arm (arms,) the sum of its rewards since then, and the last draw, if any."""

    released: lazy_updates.State
    fresh: np.ndarray
    thetas: np.ndarray


def start(numbers: Schedule, arms: int) -> State:
    """Nothing."""
    return State(nothing(numbers, arms), np.zeros(arms), np.full(arms, np.nan))


def choose(numbers: Schedule, known: State, now: Now, stream: Stream) -> int:
    """In turns at first; then the arm with the largest index."""
    means, wide, deep = known.released.means, known.released.wide, known.released.deep
    if now.counted < means.shape[0] * numbers.first:
        return (now.t - 1) % means.shape[0]
    arm, _ = leader(now.t, means, wide, deep)
    return arm


def learn(numbers: Schedule, known: State, arm: int, response: float, user: User, stream: Stream) -> None:
    """Add the reward; release the statistic when the batch is full, that of each arm for the first time together."""
    known.fresh[arm] += response
    known.released.waiting[arm] -= 1
    beginning = known.fresh.shape[0] * numbers.first
    for each in range(known.fresh.shape[0]):
        if user.number == beginning or (user.number > beginning and each == arm and known.released.waiting[arm] == 0):
            release(numbers, known.released, each, known.fresh[each], stream)
            known.fresh[each] = 0.0


def belief(numbers: Schedule, known: State, arm: int, t: int) -> Belief:
    """The released mean, give or take the margin of the index."""
    if known.released.counts[arm] == 0.0:
        return NOTHING
    level = math.log(t)
    margin = known.released.wide[arm] * math.sqrt(level) + known.released.deep[arm] * level
    return around(known.released.means[arm], margin, known.released.means[arm] + margin)


RULE = Rule("lazily", start, choose, learn, belief)
