"""DP-UCB-BOUND, Private-UCB and DP-UCB on counters that are made for a known horizon.

Every arm has a k-ary tree with signed digits or a square-root factorisation (`bandit_core.mechanisms`), whose release
is the arm's sum S plus noise N. The index of an arm with n pulls at step t is

    (S + N) / n + sqrt(2 ln t / n) [or without] + (s sqrt(l) + b l) / n,    l = slope ln t + offset,

where s sqrt(l) + b l covers the noise: with m nodes of Laplace(b) in the sum s = 2 b sqrt(m) (see
`bandit_core.mechanisms.counter.equal_laplace_bound`), and for normal noise s^2 is twice its variance and b = 0. Ties go
to the lowest label, and arms never pulled come first. A step takes one uniform for the reward from the first generator
of the stream, as `ucb` does; the noise comes from the second one.

* own_trees, own_roots: a counter grows with the pulls of its arm. A step draws the noise of the nodes that are new, or
  one normal variable.
* common_roots: every counter grows at every step, with a zero for the arms that are not pulled, and nothing covers the
  noise (DP-UCB): one normal variable for every arm. For trees that is `bandit_core.kernels.signed_trees`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, inlined, kernel
from bandit_core.kernels.curves import play_trials
from bandit_core.kernels.labels import room_for
from bandit_core.kernels.normals import normal
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.signed_trees import Tree
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.mechanisms.signed_digits import count_on, fresh_nodes, signed_noise
from bandit_core.mechanisms.square_root import spread_noise
from bandit_core.model import Record


class Root(NamedTuple):
    """A square root: the standard deviation of each normal variable, and its sums of exponentials (terms,)."""

    sd: float
    weights: np.ndarray
    rates: np.ndarray


class Margin(NamedTuple):
    """The index: ``per_pull`` is 2 for its root, 0 without; ``slope``, ``offset`` of l and ``tail`` = b as above.

    ``spread`` is s for a single node (trees) or for a variance of 1 (square roots).
    """

    per_pull: float
    slope: float
    offset: float
    spread: float
    tail: float


class Game(NamedTuple):
    """The arms by the labels, the counter of each (a `Tree` or a `Root`) and the index."""

    rewards: Rewards
    counter: Any
    margin: Margin


class Trees(NamedTuple):
    """The trees of all arms: ``added`` and ``digits`` (arms, levels), ``removed`` (arms, levels, half + 1).

    ``fresh`` is room for the noise of new nodes.
    """

    added: np.ndarray
    removed: np.ndarray
    digits: np.ndarray
    fresh: np.ndarray


class Roots(NamedTuple):
    """The square roots of all arms: ``held`` (arms, terms), last coefficients and sums of their squares (arms,)."""

    held: np.ndarray
    coefficients: np.ndarray
    lengths: np.ndarray


class Arms(NamedTuple):
    """What every arm has given so far, and its index mean + width sqrt(ln t) + spread sqrt(l) + share b l; (arms,).

    ``counters`` are `Trees` or `Roots`.
    """

    counters: Any
    pulled: np.ndarray
    sums: np.ndarray
    means: np.ndarray
    widths: np.ndarray
    spreads: np.ndarray
    shares: np.ndarray


@inlined
def _pull(game: Game, arms: Arms, arm: int, state: np.ndarray, trial: int) -> None:
    """Draw the reward of an arm."""
    table, values, _, _ = game.rewards
    arms.sums[arm] += draw_reward(table, values, arm, next_uniform(state, trial, 0), state, trial)
    arms.pulled[arm] += 1.0


@inlined
def _learn(game: Game, arms: Arms, arm: int, noise: float, spread: float) -> None:
    """The parts of an arm's index, from the noise of its sum and the square root of what its spread grows with."""
    count = arms.pulled[arm]
    arms.means[arm] = (arms.sums[arm] + noise) / count
    arms.widths[arm] = math.sqrt(game.margin.per_pull * count) / count
    arms.spreads[arm] = game.margin.spread * spread / count
    arms.shares[arm] = 1.0 / count


@inlined
def factors(game: Game, t: int) -> tuple[float, float, float]:
    """What the parts of every index are multiplied by at step ``t``."""
    clock = math.log(t)
    certainty = game.margin.slope * clock + game.margin.offset
    return math.sqrt(clock), math.sqrt(certainty), game.margin.tail * certainty


@inlined
def index_of(arms: Arms, arm: int, level: float, root: float, tail: float) -> float:
    """The index of an arm, by the `factors` of the step."""
    return arms.means[arm] + level * arms.widths[arm] + root * arms.spreads[arm] + tail * arms.shares[arm]


@inlined
def _leader(game: Game, arms: Arms, t: int) -> int:
    """The arm with the largest index at step ``t``."""
    level, root, tail = factors(game, t)
    best, leader = -np.inf, 0
    for arm in range(arms.means.shape[0]):
        index = index_of(arms, arm, level, root, tail)
        if index > best:
            best, leader = index, arm
    return leader


@inlined
def grow_tree(game: Game, arms: Arms, arm: int, state: np.ndarray, trial: int) -> None:
    """One more item in the tree of an arm."""
    added, removed, digits, fresh = arms.counters
    _, half, node_scale = game.counter
    for node in range(fresh_nodes(digits[arm], half)):
        fresh[node] = laplace_noise(next_uniform(state, trial, 4), node_scale)
    count_on(digits[arm], half)
    nodes = 0
    for level in range(digits.shape[1]):
        nodes += abs(digits[arm, level])
    _learn(game, arms, arm, signed_noise(added, removed, arm, digits[arm], half, fresh), math.sqrt(nodes))


@inlined
def grow_root(game: Game, arms: Arms, arm: int, state: np.ndarray, trial: int) -> None:
    """One more item in the square root of an arm."""
    sd, weights, rates = game.counter
    held, coefficients, lengths = arms.counters
    count = arms.pulled[arm]
    if count > 1.0:
        coefficients[arm] *= (count - 1.5) / (count - 1.0)
    lengths[arm] += coefficients[arm] * coefficients[arm]
    noise = spread_noise(held, arm, weights, rates, sd * normal(state, trial, 4))
    _learn(game, arms, arm, noise, math.sqrt(lengths[arm]))


@inlined
def grow_in_common(game: Game, arms: Arms, state: np.ndarray, trial: int) -> None:
    """One more item in the square root of every arm; nothing covers the noise."""
    sd, weights, rates = game.counter
    for arm in range(arms.sums.shape[0]):
        noise = spread_noise(arms.counters.held, arm, weights, rates, sd * normal(state, trial, 4))
        if arms.pulled[arm] > 0.0:
            _learn(game, arms, arm, noise, 0.0)


@inlined
def _play_trees(game: Game, arms: Arms, first: int, last: int, choice: int, state: np.ndarray, trial: int) -> int:
    """Play the pulls from ``first`` to ``last``, the first of them of label ``choice - 1``; the next such number."""
    choice -= 1
    for t in range(first, last + 1):
        _pull(game, arms, choice, state, trial)
        grow_tree(game, arms, choice, state, trial)
        choice = _leader(game, arms, t + 1)
    return choice + 1


@inlined
def _play_roots(game: Game, arms: Arms, first: int, last: int, choice: int, state: np.ndarray, trial: int) -> int:
    """The same with square roots."""
    choice -= 1
    for t in range(first, last + 1):
        _pull(game, arms, choice, state, trial)
        grow_root(game, arms, choice, state, trial)
        choice = _leader(game, arms, t + 1)
    return choice + 1


@inlined
def _play_common(game: Game, arms: Arms, first: int, last: int, choice: int, state: np.ndarray, trial: int) -> int:
    """The same with square roots that all grow at every step."""
    choice -= 1
    for t in range(first, last + 1):
        _pull(game, arms, choice, state, trial)
        grow_in_common(game, arms, state, trial)
        choice = _leader(game, arms, t + 1)
    return choice + 1


@inlined
def _clear(arms: Arms) -> None:
    arms.pulled[:] = 0.0
    arms.sums[:] = 0.0
    arms.means[:] = np.inf
    arms.widths[:] = 0.0
    arms.spreads[:] = 0.0
    arms.shares[:] = 0.0


@inlined
def clear_trees(arms: Arms) -> None:
    """Forget the last trial."""
    _clear(arms)
    arms.counters.added[:] = 0.0
    arms.counters.removed[:] = 0.0
    arms.counters.digits[:] = 0


@inlined
def clear_roots(arms: Arms) -> None:
    """Forget the last trial."""
    _clear(arms)
    arms.counters.held[:] = 0.0
    arms.counters.coefficients[:] = 1.0
    arms.counters.lengths[:] = 0.0


@allocating
def _arms(counters: Any, count: int) -> Arms:
    pulled, sums, means = np.empty(count), np.empty(count), np.empty(count)
    return Arms(counters, pulled, sums, means, np.empty(count), np.empty(count), np.empty(count))


@allocating
def root_arms(root: Root, count: int) -> Arms:
    """Room for so many arms with square roots."""
    return _arms(Roots(np.empty((count, root.rates.shape[0])), np.empty(count), np.empty(count)), count)


@allocating
def tree_arms(tree: Tree, count: int) -> Arms:
    """Room for so many arms with trees."""
    levels, half, _ = tree
    trees = Trees(
        np.empty((count, levels)), np.empty((count, levels, half + 1)), np.empty((count, levels), np.int64),
        np.empty(levels * half + 1),
    )  # fmt: skip
    return _arms(trees, count)


@kernel
def own_trees(state: np.ndarray, rewards: Rewards, tree: Tree, margin: Margin, record: Record) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints."""
    game, arms = Game(room_for(rewards), tree, margin), tree_arms(tree, rewards.table.shape[0])
    play_trials(clear_trees, _play_trees, game, arms, state, rewards, record)


@kernel
def own_roots(state: np.ndarray, rewards: Rewards, root: Root, margin: Margin, record: Record) -> None:
    """The same with square roots."""
    game = Game(room_for(rewards), root, margin)
    play_trials(clear_roots, _play_roots, game, root_arms(root, rewards.table.shape[0]), state, rewards, record)


@kernel
def common_roots(state: np.ndarray, rewards: Rewards, root: Root, margin: Margin, record: Record) -> None:
    """The same with square roots that all grow at every step; the margin is that of the index without noise."""
    game = Game(room_for(rewards), root, margin)
    play_trials(clear_roots, _play_common, game, root_arms(root, rewards.table.shape[0]), state, rewards, record)
