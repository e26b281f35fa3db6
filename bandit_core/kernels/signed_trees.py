"""DP-UCB on k-ary trees with signed digits in place of hybrid counters: `common_counters` with less noise.

Every arm has a tree (see `bandit_core.mechanisms.signed_digits`), and all of them grow at every step, with a zero for
the arms that are not pulled. After one pull of each, the arm with the largest  (S + noise) / n + sqrt(2 ln t / n)  is
pulled; ties go to the lowest label. A step takes one uniform for the reward from the first generator of the stream, as
`ucb` does, and one from the second for each new node of each arm: the same number for all arms, about one on average.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel
from bandit_core.kernels.curves import play_trials
from bandit_core.kernels.labels import room_for
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.mechanisms.signed_digits import count_on, fresh_nodes, signed_noise
from bandit_core.model import Record


class Tree(NamedTuple):
    """The tree of each arm: ``levels``, the largest digit ``half``, Laplace(``node_scale``) on every node."""

    levels: int
    half: int
    node_scale: float


class Game(NamedTuple):
    """The arms by the labels, their trees, and 2 for an index with its root, 0 without."""

    rewards: Rewards
    tree: Tree
    per_pull: float


class Arms(NamedTuple):
    """What every arm has given so far (arms,), the noise of its tree, and the digits of the step that all trees share.

    ``added`` (arms, levels), ``removed`` (arms, levels, half + 1), ``digits`` (levels,), ``fresh`` for new noises.
    """

    pulled: np.ndarray
    sums: np.ndarray
    widths: np.ndarray
    added: np.ndarray
    removed: np.ndarray
    digits: np.ndarray
    fresh: np.ndarray


@inlined
def _clear(arms: Arms) -> None:
    arms.pulled[:] = 0.0
    arms.sums[:] = 0.0
    arms.widths[:] = 0.0
    arms.added[:] = 0.0
    arms.removed[:] = 0.0
    arms.digits[:] = 0


@inlined
def _noise(game: Game, arms: Arms, arm: int, new: int, state: np.ndarray, trial: int) -> float:
    """Noise of an arm's sum, of which ``new`` nodes are new."""
    for node in range(new):
        arms.fresh[node] = laplace_noise(next_uniform(state, trial, 4), game.tree.node_scale)
    return signed_noise(arms.added, arms.removed, arm, arms.digits, game.tree.half, arms.fresh)


@inlined
def _play(game: Game, arms: Arms, first: int, last: int, choice: int, state: np.ndarray, trial: int) -> int:
    """Play the pulls from ``first`` to ``last``, the first of them of label ``choice - 1``; the next such number."""
    table, values, _, _ = game.rewards
    choice -= 1
    for t in range(first, last + 1):
        arms.sums[choice] += draw_reward(table, values, choice, next_uniform(state, trial, 0), state, trial)
        arms.pulled[choice] += 1.0
        arms.widths[choice] = math.sqrt(game.per_pull * arms.pulled[choice]) / arms.pulled[choice]
        new = fresh_nodes(arms.digits, game.tree.half)
        count_on(arms.digits, game.tree.half)
        level = math.sqrt(math.log(t + 1))
        best = -np.inf
        for arm in range(arms.sums.shape[0]):
            noise = _noise(game, arms, arm, new, state, trial)
            count = arms.pulled[arm]
            index = (arms.sums[arm] + noise) / count + level * arms.widths[arm] if count > 0.0 else np.inf
            if index > best:
                best = index
                choice = arm
    return choice + 1


@kernel
def common_trees(state: np.ndarray, rewards: Rewards, tree: Tree, per_pull: float, record: Record) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints."""
    count, (levels, half, _) = rewards.table.shape[0], tree
    arms = Arms(
        np.empty(count), np.empty(count), np.empty(count), np.empty((count, levels)),
        np.empty((count, levels, half + 1)), np.empty(levels, np.int64), np.empty(levels * half + 1),
    )  # fmt: skip
    play_trials(_clear, _play, Game(room_for(rewards), tree, per_pull), arms, state, rewards, record)


clear, noise_of = _clear, _noise  # for `kernels.late_trees`; renamed, they would be new versions
