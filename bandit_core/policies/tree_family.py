"""Shared by the policies whose sums come from a counter for each arm: from an instance to its kernel's numbers."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from bandit_core.kernels import late_trees, signed_trees, trees
from bandit_core.kernels.records import rewards_of
from bandit_core.mechanisms import Binary, Hybrid, SignedDigits
from bandit_core.mechanisms.counter import depth
from bandit_core.model import Guarantee, KernelCall, Release, RunSetup
from bandit_core.policies import index_family
from bandit_core.policies.central_family import central_release, nominal, pure
from bandit_core.spec.field_types import Number

Gamma = Annotated[
    Annotated[Number, Field(gt=0, lt=1)] | Literal["t^-4"],
    Field(
        description="Chance that the noise leaves its margin at one step: t^-4, so that all steps together hardly "
        "ever fail, or a constant."
    ),
]


def hybrid_counter(setup: RunSetup) -> Hybrid:
    """The counter of each arm, by the parameter ``accounting``."""
    printed = setup.parameters.accounting == "paper"
    return (Hybrid.as_printed if printed else Hybrid.calibrated)(nominal(setup))


def hybrid_guarantee(setup: RunSetup) -> Guarantee:
    """A reward enters the counter of one arm only, so the run keeps what that counter keeps."""
    return pure(setup, hybrid_counter(setup).total_epsilon / nominal(setup))


def hybrid_spending(setup: RunSetup, times: np.ndarray) -> np.ndarray:
    """Epsilon that one reward has spent after t pulls in the worst case (all of them of one arm); shape (times,)."""
    return hybrid_counter(setup).spent(times)


def hybrid_releases(setup: RunSetup) -> list[Release]:
    """A reward enters one block and the nodes of one tree; the row of the tree is that of the last one, the deepest."""
    counter, levels = hybrid_counter(setup), int(depth(setup.horizon))
    found = [
        central_release("the sum of a block of an arm's items", 1.0, 1 / counter.block_epsilon, "once, at 2^k items")
    ]
    if levels > 1:
        scale, at = levels / counter.tree_epsilon, f"when a node of the tree after {2 ** (levels - 1):,} items is full"
        found.append(central_release("a node of a tree over an arm's items", 1.0, scale, at, levels - 1))
    return found


def binary_releases(counter: Binary) -> list[Release]:
    """A reward enters a node of every level of its arm's tree."""
    levels = int(depth(counter.horizon))
    return [
        central_release("a node of the tree over an arm's rewards", 1.0, counter.node_scale, "when it is full", levels)
    ]


def signed_releases(counter: SignedDigits) -> list[Release]:
    """A reward enters a node of every level of its arm's tree."""
    at = "with the first sum that it is part of, which may be before the reward comes"
    return [central_release("a node of the k-ary tree over an arm's items", 1.0, counter.node_scale, at, counter.depth)]


def per_pull(setup: RunSetup) -> float:
    """2 if the index has the root sqrt(2 ln t / n), by the parameter ``index``, else 0."""
    return 2.0 if setup.parameters.index == "with root" else 0.0


def prepare(
    setup: RunSetup,
    *,
    counter: Binary | Hybrid,
    per_pull: float = 2.0,
    shape: int = trees.FLAT,
    slope: float = 0.0,
    offset: float = 0.0,
    common: bool = False,
) -> KernelCall:
    """The kernel of the counters (see `bandit_core.kernels.trees` for the meaning of the numbers)."""
    if isinstance(counter, Hybrid):
        counters = trees.Counters(True, 1 / counter.block_epsilon, 1 / counter.tree_epsilon)
    else:
        counters = trees.Counters(False, 0.0, counter.node_scale)
    margin = trees.Margin(per_pull, shape, slope, offset)
    arguments = (rewards_of(setup), counters, margin)
    if not setup.feedback.immediate:
        late_kernel = late_trees.common_counters if common else late_trees.own_counters
        return KernelCall(late_kernel, (*arguments, index_family.late(setup)), len(setup.arms))
    kernel = trees.common_counters if common else trees.own_counters
    return KernelCall(kernel, arguments, len(setup.arms))


def prepare_signed(setup: RunSetup, counter: SignedDigits, per_pull: float) -> KernelCall:
    """The kernel of k-ary trees that all grow at every step."""
    tree = signed_trees.Tree(counter.depth, counter.half, counter.node_scale)
    arguments = (rewards_of(setup), tree, per_pull)
    if not setup.feedback.immediate:
        return KernelCall(late_trees.common_trees, (*arguments, index_family.late(setup)), len(setup.arms))
    return KernelCall(signed_trees.common_trees, arguments, len(setup.arms))
