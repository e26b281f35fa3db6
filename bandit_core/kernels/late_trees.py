"""Policies whose sums come from counters, with late feedback: see `trees`, `common_counters` and `signed_trees`.

A counter counts rewards in the order of the users, only later: its n-th item is that of the arm's n-th user (the n-th
of all users where all counters grow at every step), so every reward is in the same nodes with the same noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, inlined, kernel
from bandit_core.kernels import signed_trees, trees
from bandit_core.kernels.feedback import Late
from bandit_core.kernels.labels import room_for
from bandit_core.kernels.late_loop import better, play_and_learn
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.counter import set_bits
from bandit_core.mechanisms.hybrid import hybrid_noise
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.mechanisms.signed_digits import count_on, fresh_nodes
from bandit_core.model import Record


class Known(NamedTuple):
    """The counters of `kernels.trees`, whose ``pulled`` are the rewards counted, and who was shown each arm (arms,)."""

    arms: trees.Arms
    pulled: np.ndarray
    waiting: np.ndarray


@inlined
def _clear(known: Known) -> None:
    trees.clear(known.arms)


@inlined
def _choose(game: trees.Game, known: Known, t: int, counted: int, state: np.ndarray, trial: int) -> int:
    level, clock = trees.clocks(game, t)
    best = 0
    highest = -np.inf
    for arm in range(known.pulled.shape[0]):
        index = trees.index_of(known.arms, arm, level, clock)
        if better(index, highest, known.waiting, arm, best):
            highest = index
            best = arm
    return best


@inlined
def _learn(game: trees.Game, known: Known, arm: int, reward: float, user: int, state: np.ndarray, trial: int) -> None:
    arms = known.arms
    count = int(arms.pulled[arm]) + 1
    arms.depths[arm] += set_bits(count) == 1
    arms.pulled[arm] = count
    arms.sums[arm] += reward
    depth = arms.depths[arm]
    arms.means[arm] = (arms.sums[arm] + trees.noise_of(game, arms, arm, count, depth, state, trial)) / count
    arms.widths[arm] = math.sqrt(game.margin.per_pull * count) / count
    arms.margins[arm] = trees.factor(game.margin.shape, count, depth) / count


@inlined
def _learn_in_common(
    game: trees.Game, known: Known, arm: int, reward: float, user: int, state: np.ndarray, trial: int
) -> None:
    """Every counter grows, by a zero where the reward is not of its arm; ``depths[0]`` is that of all."""
    arms = known.arms
    arms.sums[arm] += reward
    arms.pulled[arm] += 1.0
    arms.widths[arm] = math.sqrt(game.margin.per_pull * arms.pulled[arm]) / arms.pulled[arm]
    bits = set_bits(user)
    arms.depths[0] += bits == 1
    scale = game.counters.block_scale if bits == 1 else arms.depths[0] * game.counters.level_scale
    for other in range(known.pulled.shape[0]):
        noise = hybrid_noise(arms.held, other, bits, laplace_noise(next_uniform(state, trial, 4), scale))
        if arms.pulled[other] > 0.0:
            arms.means[other] = (arms.sums[other] + noise) / arms.pulled[other]


@allocating
def _room(rewards: Rewards, counters: trees.Counters, margin: trees.Margin, horizon: int) -> tuple[trees.Game, Known]:
    game, arms = trees.room(rewards, counters, margin, horizon)
    return game, Known(arms, np.empty(rewards.table.shape[0]), np.empty(rewards.table.shape[0]))


@kernel
def own_counters(
    state: np.ndarray, rewards: Rewards, counters: trees.Counters, margin: trees.Margin, late: Late, record: Record
) -> None:
    """`kernels.trees.own_counters` with late feedback."""
    game, known = _room(rewards, counters, margin, record.checkpoints[-1])
    play_and_learn(_clear, _choose, _learn, game, known, late, state, rewards, record)


@kernel
def common_counters(
    state: np.ndarray, rewards: Rewards, counters: trees.Counters, margin: trees.Margin, late: Late, record: Record
) -> None:
    """`kernels.common_counters` with late feedback."""
    game, known = _room(rewards, counters, margin, record.checkpoints[-1])
    play_and_learn(_clear, _choose, _learn_in_common, game, known, late, state, rewards, record)


class Trees(NamedTuple):
    """The trees of `kernels.signed_trees`, whose ``pulled`` are the rewards counted, and what follows (arms,)."""

    arms: signed_trees.Arms
    means: np.ndarray
    pulled: np.ndarray
    waiting: np.ndarray


@inlined
def _clear_trees(known: Trees) -> None:
    signed_trees.clear(known.arms)
    known.means[:] = np.inf


@inlined
def _choose_by_trees(game: signed_trees.Game, known: Trees, t: int, counted: int, state: np.ndarray, trial: int) -> int:
    level = math.sqrt(math.log(t))
    best = 0
    highest = -np.inf
    for arm in range(known.means.shape[0]):
        index = known.means[arm] + level * known.arms.widths[arm]
        if better(index, highest, known.waiting, arm, best):
            highest = index
            best = arm
    return best


@inlined
def _learn_trees(
    game: signed_trees.Game, known: Trees, arm: int, reward: float, user: int, state: np.ndarray, trial: int
) -> None:
    arms = known.arms
    arms.sums[arm] += reward
    arms.pulled[arm] += 1.0
    arms.widths[arm] = math.sqrt(game.per_pull * arms.pulled[arm]) / arms.pulled[arm]
    new = fresh_nodes(arms.digits, game.tree.half)
    count_on(arms.digits, game.tree.half)
    for other in range(known.means.shape[0]):
        noise = signed_trees.noise_of(game, arms, other, new, state, trial)
        if arms.pulled[other] > 0.0:
            known.means[other] = (arms.sums[other] + noise) / arms.pulled[other]


@kernel
def common_trees(
    state: np.ndarray, rewards: Rewards, tree: signed_trees.Tree, per_pull: float, late: Late, record: Record
) -> None:
    """`kernels.signed_trees.common_trees` with late feedback."""
    count, (levels, half, _) = rewards.table.shape[0], tree
    arms = signed_trees.Arms(
        np.empty(count), np.empty(count), np.empty(count), np.empty((count, levels)),
        np.empty((count, levels, half + 1)), np.empty(levels, np.int64), np.empty(levels * half + 1),
    )  # fmt: skip
    known = Trees(arms, np.empty(count), np.empty(count), np.empty(count))
    game = signed_trees.Game(room_for(rewards), tree, per_pull)
    play_and_learn(_clear_trees, _choose_by_trees, _learn_trees, game, known, late, state, rewards, record)
