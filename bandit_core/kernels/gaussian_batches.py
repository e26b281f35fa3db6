"""AdaC-UCB: doubling batches as `batched` plays them for AdaP-UCB, with normal noise on the sum of each.

The index of an arm whose last batch had n rewards is  mean + sqrt((1/(2n) + 2 s^2/n^2) alpha ln t), s being the
standard deviation of the noise on a sum and t the first pull of the batch. Ties go to the lowest label. Each release
takes one uniform of the stream's first generator, whose normal quantile is the noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel
from bandit_core.kernels.batches import fresh_sum, play_batches
from bandit_core.kernels.records import Batches, Rewards
from bandit_core.kernels.streams import HALF_UNIT, next_uniform, normal_quantile
from bandit_core.model import Record


class Doubling(NamedTuple):
    """The standard deviation of the noise on a sum, the exploration, and how often each arm is pulled at first."""

    sd: float
    alpha: float
    first: int


class Known(NamedTuple):
    """Of every arm (arms,): how many rewards its last batch had, and their mean with noise."""

    counts: np.ndarray
    means: np.ndarray


@inlined
def _clear(rule: Doubling, known: Known) -> None:
    known.counts[:] = 0.0
    known.means[:] = 0.0


@inlined
def _choose(rule: Doubling, known: Known, pulled: np.ndarray, t: int, state: np.ndarray, trial: int) -> tuple[int, int]:
    level = rule.alpha * math.log(t + 1)
    best = -np.inf
    choice = 0
    for arm in range(known.means.shape[0]):
        count = known.counts[arm]
        value = known.means[arm] + math.sqrt((0.5 / count + 2.0 * rule.sd * rule.sd / (count * count)) * level)
        if value > best:
            best = value
            choice = arm
    return choice, int(pulled[choice])


@inlined
def _release(
    rule: Doubling, known: Known, batches: Batches, arm: int, count: int, state: np.ndarray, trial: int
) -> None:
    total = fresh_sum(batches, arm, count, state, trial)
    total += rule.sd * normal_quantile(next_uniform(state, trial, 0) + HALF_UNIT)
    known.counts[arm] = count
    known.means[arm] = total / count


@kernel
def by_index(state: np.ndarray, rewards: Rewards, at_once: bool, doubling: Doubling, record: Record) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints."""
    arms = rewards.table.shape[0]
    known = Known(np.empty(arms), np.empty(arms))
    play_batches(_clear, _choose, _release, doubling, known, state, rewards, at_once, record)


clear, choose, release = _clear, _choose, _release  # for rewards that are counted late, see `kernels.late_batches`
