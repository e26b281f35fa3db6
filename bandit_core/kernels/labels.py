"""Arms have no order: in every trial they carry labels that are drawn at random.

Many policies break ties in favour of the lowest arm, and some meet ties often (an index that cannot exceed 1, say). If
an arm's place in the list were its label, regret would depend on how an experiment is written down. So a kernel knows
arms by labels only: at the start of a trial it arranges the table of rewards and the gaps in the order of
`draw_labels`, and `pulls` are noted under the arm that a label stands for. The order follows from the trial's stream,
hence it is the same for all lines of an experiment, and it takes no draw from the stream.
"""

from typing import Any

import numpy as np
from numba import uint64

from bandit_core.jit.decorators import allocating, device_function, inlined
from bandit_core.kernels.records import Rewards

_GOLDEN = uint64(0x9E3779B97F4A7C15)


@inlined
def _mixed(word: Any) -> Any:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014)."""
    word = (word ^ (word >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> uint64(27))) * uint64(0x94D049BB133111EB)
    return word ^ (word >> uint64(31))


@device_function
def draw_labels(state: np.ndarray, row: int, order: np.ndarray) -> None:
    """Fill ``order`` (arms,) with a random permutation: label i stands for arm ``order[i]``.

    Fisher and Yates' shuffle, by numbers of SplitMix64 seeded with all eight words of the fresh stream.
    """
    seed = uint64(0)
    for word in range(state.shape[1]):
        seed = _mixed(seed + _GOLDEN + state[row, word])
    for label in range(order.shape[0]):
        order[label] = label
    for label in range(order.shape[0] - 1, 0, -1):
        seed += _GOLDEN
        uniform = (_mixed(seed) >> uint64(11)) * 2.0**-53
        other = int(uniform * (label + 1))
        moved = order[label]
        order[label] = order[other]
        order[other] = moved


@device_function
def seed_another(state: np.ndarray, row: int, own: np.ndarray) -> None:
    """Fill ``own`` (1, words) with streams that are independent of that at ``row``, and follow from it, by SplitMix64.

    ``state`` stays as it is.
    """
    seed = uint64(1)
    for word in range(state.shape[1]):
        seed = _mixed(seed + _GOLDEN + state[row, word])
    for word in range(own.shape[1]):
        seed += _GOLDEN
        own[0, word] = _mixed(seed)


@device_function
def arrange(order: np.ndarray, given: np.ndarray, arranged: np.ndarray) -> None:
    """Fill ``arranged`` (arms,) with ``given`` (arms,) in the order of the labels."""
    for label in range(order.shape[0]):
        arranged[label] = given[order[label]]


@device_function
def arrange_rows(order: np.ndarray, given: np.ndarray, arranged: np.ndarray) -> None:
    """The same for tables, one row per arm."""
    for label in range(order.shape[0]):
        for column in range(given.shape[1]):
            arranged[label, column] = given[order[label], column]


@allocating
def room_for(rewards: Rewards) -> Rewards:
    """`Rewards` of the same arms, to be filled by `relabel_arms`."""
    return Rewards(
        np.empty_like(rewards.table), rewards.values, np.empty_like(rewards.means), np.empty_like(rewards.gaps)
    )


@inlined
def relabel_arms(state: np.ndarray, row: int, rewards: Rewards, order: np.ndarray, here: Rewards) -> None:
    """Draw the labels of a trial into ``order`` and fill ``here`` with what a kernel knows of the arms."""
    draw_labels(state, row, order)
    arrange_rows(order, rewards.table, here.table)
    arrange(order, rewards.means, here.means)
    arrange(order, rewards.gaps, here.gaps)
