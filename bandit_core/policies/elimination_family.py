"""What policies share that eliminate arms batch by batch: which arms are left, and what is believed of them."""

import math
from typing import Any, NamedTuple

import numpy as np

from bandit_core.kernels.batch_rule import NEVER, survivors
from bandit_core.kernels.play import NOTHING, Belief, Stream

LEFT, NUMBER = range(2)  # arms that are left, and the number of the present batch, from 1
PRESENT, LAST, OWN = range(3)  # margins at the end of the present batch and of the last one; a number of the policy


class State(NamedTuple):
    """The arms, those that are left first; the mean of each in its last batch, (arms,); margins and place (2,)."""

    members: np.ndarray
    means: np.ndarray
    margins: np.ndarray
    place: np.ndarray


def start(numbers: Any, arms: int) -> State:
    """All arms."""
    return State(np.arange(arms), np.zeros(arms), np.zeros(3), np.array([arms, 0]))


def epoch(numbers: Any, known: State, number: int, size: int) -> tuple[int, float]:
    """How often each of ``size`` arms is shown in a batch, and how far below the best is out."""
    raise NotImplementedError


def choose(numbers: Any, known: State, pulled: np.ndarray, t: int, stream: Stream) -> tuple[int, int]:
    """Drop the arms that are clearly worse, and show the others equally often; the last one for good."""
    size, number = known.place[LEFT], known.place[NUMBER] + 1
    if number > 1:
        size = survivors(known.members, size, known.means, known.margins[PRESENT])
    known.place[LEFT], known.place[NUMBER] = size, number
    known.margins[LAST] = known.margins[PRESENT]
    if size == 1:
        return 1, NEVER
    length, known.margins[PRESENT] = epoch(numbers, known, number, size)
    return size, length


def believe(numbers: Any, known: State, arm: int, t: int) -> Belief:
    """The mean, give or take half the margin; minus infinity decides against an arm that is out."""
    if known.place[NUMBER] == 1:
        return NOTHING
    mean, half = known.means[arm], 0.5 * known.margins[LAST]
    for turn in range(known.place[LEFT]):
        if known.members[turn] == arm:
            return mean, mean - half, mean + half, math.nan
    return mean, math.nan, math.nan, -math.inf
