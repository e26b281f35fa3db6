"""Counters of sums, one for each arm: what rules on them share.

A counter's release is the sum of an arm's items plus noise (`bandit_core.mechanisms`), which these pieces draw from the
second generator of the stream: a Laplace variable for each item of a binary or hybrid counter, and for each node that
is new of a k-ary tree with signed digits; one normal variable for a square-root factorisation. Of each there are three:
an empty one, the noise when one more item is in it, and the ``spread`` of that noise over that of a single variable.
"""

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, inlined
from bandit_core.kernels.play import Stream, gaussian, laplace
from bandit_core.mechanisms.binary import tree_noise as binary_noise
from bandit_core.mechanisms.counter import set_bits
from bandit_core.mechanisms.hybrid import hybrid_noise
from bandit_core.mechanisms.signed_digits import count_on, fresh_nodes, signed_noise
from bandit_core.mechanisms.square_root import spread_noise

_COLUMNS = 40  # noise terms a binary counter can hold; a horizon of 10^9 needs 31


class Counters(NamedTuple):
    """Their noise: Laplace(``block_scale``) on blocks, Laplace(depth x ``level_scale``) on the nodes of trees.

    Not ``hybrid``: Laplace(``level_scale``) on all nodes.
    """

    hybrid: bool
    block_scale: float
    level_scale: float


class Nodes(NamedTuple):
    """Binary or hybrid counters of all arms: ``held`` noise terms (arms, _COLUMNS), items and their bits (arms,)."""

    held: np.ndarray
    items: np.ndarray
    depths: np.ndarray


@allocating
def empty_nodes(counters: Counters, arms: int) -> Nodes:
    """Without items."""
    return Nodes(np.zeros((arms, _COLUMNS)), np.zeros(arms, np.int64), np.zeros(arms, np.int64))


@inlined
def node_noise(counters: Counters, nodes: Nodes, arm: int, stream: Stream) -> float:
    """Noise of an arm's sum when one more item is in its counter."""
    nodes.items[arm] += 1
    bits = set_bits(nodes.items[arm])
    nodes.depths[arm] += bits == 1
    if counters.hybrid:
        scale = counters.block_scale if bits == 1 else nodes.depths[arm] * counters.level_scale
        return hybrid_noise(nodes.held, arm, bits, laplace(stream, scale))
    return binary_noise(nodes.held, arm, bits, laplace(stream, counters.level_scale))


@inlined
def no_spread(nodes: Nodes, arm: int) -> float:
    """0: the margins of the papers do not follow it."""
    return 0.0


class Tree(NamedTuple):
    """The tree of each arm: ``levels``, the largest digit ``half``, Laplace(``node_scale``) on every node."""

    levels: int
    half: int
    node_scale: float


class Root(NamedTuple):
    """A square root: the standard deviation of each normal variable, and its sums of exponentials (terms,)."""

    sd: float
    weights: np.ndarray
    rates: np.ndarray


class Trees(NamedTuple):
    """The trees of all arms: ``added`` and ``digits`` (arms, levels), ``removed`` (arms, levels, half + 1).

    ``fresh`` is room for the noise of new nodes.
    """

    added: np.ndarray
    removed: np.ndarray
    digits: np.ndarray
    fresh: np.ndarray


class Roots(NamedTuple):
    """The square roots of all arms: ``held`` (arms, terms), and (arms,) items, last coefficients, sums of squares."""

    held: np.ndarray
    items: np.ndarray
    coefficients: np.ndarray
    lengths: np.ndarray


@allocating
def empty_trees(tree: Tree, arms: int) -> Trees:
    """Without items."""
    levels, half, _ = tree
    removed, digits = np.zeros((arms, levels, half + 1)), np.zeros((arms, levels), np.int64)
    return Trees(np.zeros((arms, levels)), removed, digits, np.empty(levels * half + 1))


@allocating
def empty_roots(root: Root, arms: int) -> Roots:
    """Without items."""
    return Roots(np.zeros((arms, root.rates.shape[0])), np.zeros(arms), np.ones(arms), np.zeros(arms))


@inlined
def tree_noise(tree: Tree, trees: Trees, arm: int, stream: Stream) -> float:
    """Noise of an arm's sum when one more item is in its tree."""
    added, removed, digits, fresh = trees
    for node in range(fresh_nodes(digits[arm], tree.half)):
        fresh[node] = laplace(stream, tree.node_scale)
    count_on(digits[arm], tree.half)
    return signed_noise(added, removed, arm, digits[arm], tree.half, fresh)


@inlined
def tree_spread(trees: Trees, arm: int) -> float:
    """The square root of the nodes in an arm's sum."""
    nodes = 0
    for level in range(trees.digits.shape[1]):
        nodes += abs(trees.digits[arm, level])
    return math.sqrt(nodes)


@inlined
def root_noise(root: Root, roots: Roots, arm: int, stream: Stream) -> float:
    """Noise of an arm's sum when one more item is in its square root."""
    return spread_noise(roots.held, arm, root.weights, root.rates, root.sd * gaussian(stream))


@inlined
def root_spread(roots: Roots, arm: int) -> float:
    """The length of the row behind an arm's sum, after `root_noise`: its noise has so many times the deviation sd."""
    roots.items[arm] += 1.0
    count = roots.items[arm]
    if count > 1.0:
        roots.coefficients[arm] *= (count - 1.5) / (count - 1.0)
    roots.lengths[arm] += roots.coefficients[arm] * roots.coefficients[arm]
    return math.sqrt(roots.lengths[arm])
