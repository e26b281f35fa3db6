"""Counters made for a known horizon, with late feedback: see `kernels.covered_counters` and `kernels.late_loop`.

As in `kernels.late_trees`, a counter counts rewards in the order of the users, only later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel
from bandit_core.kernels import covered_counters
from bandit_core.kernels.covered_counters import Arms, Game, Margin, Root
from bandit_core.kernels.feedback import Late
from bandit_core.kernels.labels import room_for
from bandit_core.kernels.late_loop import better, play_and_learn
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.signed_trees import Tree
from bandit_core.model import Record


class Known(NamedTuple):
    """The counters, whose ``pulled`` are the rewards counted, and who was shown each arm (arms,)."""

    arms: Arms
    pulled: np.ndarray
    waiting: np.ndarray


@inlined
def _clear_trees(known: Known) -> None:
    covered_counters.clear_trees(known.arms)


@inlined
def _clear_roots(known: Known) -> None:
    covered_counters.clear_roots(known.arms)


@inlined
def _choose(game: Game, known: Known, t: int, counted: int, state: np.ndarray, trial: int) -> int:
    level, root, tail = covered_counters.factors(game, t)
    best = 0
    highest = -np.inf
    for arm in range(known.pulled.shape[0]):
        index = covered_counters.index_of(known.arms, arm, level, root, tail)
        if better(index, highest, known.waiting, arm, best):
            highest = index
            best = arm
    return best


@inlined
def _count(arms: Arms, arm: int, reward: float) -> None:
    arms.sums[arm] += reward
    arms.pulled[arm] += 1.0


@inlined
def _learn_tree(game: Game, known: Known, arm: int, reward: float, user: int, state: np.ndarray, trial: int) -> None:
    _count(known.arms, arm, reward)
    covered_counters.grow_tree(game, known.arms, arm, state, trial)


@inlined
def _learn_root(game: Game, known: Known, arm: int, reward: float, user: int, state: np.ndarray, trial: int) -> None:
    _count(known.arms, arm, reward)
    covered_counters.grow_root(game, known.arms, arm, state, trial)


@inlined
def _learn_in_common(
    game: Game, known: Known, arm: int, reward: float, user: int, state: np.ndarray, trial: int
) -> None:
    _count(known.arms, arm, reward)
    covered_counters.grow_in_common(game, known.arms, state, trial)


@kernel
def own_trees(state: np.ndarray, rewards: Rewards, tree: Tree, margin: Margin, late: Late, record: Record) -> None:
    """`kernels.covered_counters.own_trees` with late feedback."""
    count = rewards.table.shape[0]
    known = Known(covered_counters.tree_arms(tree, count), np.empty(count), np.empty(count))
    game = Game(room_for(rewards), tree, margin)
    play_and_learn(_clear_trees, _choose, _learn_tree, game, known, late, state, rewards, record)


@kernel
def own_roots(state: np.ndarray, rewards: Rewards, root: Root, margin: Margin, late: Late, record: Record) -> None:
    """`kernels.covered_counters.own_roots` with late feedback."""
    count = rewards.table.shape[0]
    known = Known(covered_counters.root_arms(root, count), np.empty(count), np.empty(count))
    game = Game(room_for(rewards), root, margin)
    play_and_learn(_clear_roots, _choose, _learn_root, game, known, late, state, rewards, record)


@kernel
def common_roots(state: np.ndarray, rewards: Rewards, root: Root, margin: Margin, late: Late, record: Record) -> None:
    """`kernels.covered_counters.common_roots` with late feedback."""
    count = rewards.table.shape[0]
    known = Known(covered_counters.root_arms(root, count), np.empty(count), np.empty(count))
    game = Game(room_for(rewards), root, margin)
    play_and_learn(_clear_roots, _choose, _learn_in_common, game, known, late, state, rewards, record)
