"""Shared by the policies whose sums come from a counter for each arm: from an instance to its kernel's numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, ValidationInfo

from bandit_core.kernels import common_counters, covered_counters, late_covered, late_trees, signed_trees, trees
from bandit_core.kernels.records import rewards_of
from bandit_core.mechanisms import Binary, Counter, Hybrid, SignedDigits, SquareRoot
from bandit_core.mechanisms.counter import depth
from bandit_core.mechanisms.square_root import exponentials
from bandit_core.model import Guarantee, KernelCall, Parameters, Release, RunSetup
from bandit_core.model.bound import Bound
from bandit_core.policies import index_family
from bandit_core.policies.central_family import approximate, central_release, nominal, pure
from bandit_core.spec import field_types
from bandit_core.spec.field_types import Number

Gamma = Annotated[
    Annotated[Number, Field(gt=0, lt=1)] | Literal["t^-4"],
    Field(
        description="Chance that the noise leaves its margin at one step: t^-4, so that all steps together hardly "
        "ever fail, or a constant."
    ),
]

PRINTED = ("hybrid", "binary")  # counters of the papers; the others need the horizon, and no bound is proved for them
COUNTERS = (
    "k-ary: a tree with many branches and signed digits, for a horizon that is known; in long runs much less noise at "
    "the same epsilon. square-root: normal noise that is spread over later sums, often less still, for a weaker "
    "promise, (epsilon, delta)."
)


def _of_square_root(delta: float | Literal["auto"], given: ValidationInfo) -> float | Literal["auto"]:
    """Refuse a delta beside a counter that has none; ``given`` are the fields before it."""
    if delta != "auto" and given.data.get("counter", "square-root") != "square-root":
        raise ValueError("leave it out, or set counter to square-root: the promise of the others has no delta")
    return delta


Delta = Annotated[
    Annotated[field_types.Delta, Field(gt=0, lt=1)] | Literal["auto"],
    AfterValidator(_of_square_root),
    Field(
        description="The delta of the promise (epsilon, delta) that counter square-root keeps; the others have none. "
        "auto: 1e-6.",
        json_schema_extra={"with": {"counter": "square-root"}},
    ),
]


def other_counter(setup: RunSetup, split: int = 1) -> SignedDigits | SquareRoot:
    """The counter that stands in place of the printed one; ``split`` is how many share the budget."""
    epsilon = nominal(setup) / split
    if setup.parameters.counter == "k-ary":
        return SignedDigits(epsilon, setup.horizon)
    return SquareRoot(epsilon, setup.horizon, setup.parameters.delta)


def in_place_of_printed(setup: RunSetup) -> bool:
    """Whether the line has another counter than that of its paper."""
    return setup.parameters.counter not in PRINTED


def settle(setup: RunSetup) -> Parameters:
    """A delta for the counter that has one, none for the others."""
    parameters: Parameters = setup.parameters
    if setup.parameters.counter != "square-root":
        return parameters.model_copy(update={"delta": None})
    return parameters.model_copy(update={"delta": 1e-6}) if setup.parameters.delta == "auto" else parameters


def refuse_with_others(setup: RunSetup) -> str | None:
    """Words of refusal for what the papers print about their own counter only."""
    chosen = setup.parameters.counter
    if in_place_of_printed(setup) and getattr(setup.parameters, "accounting", "tight") == "paper":
        return f"accounting is paper; allowed with counter {chosen}: tight, as the paper has no such counter"
    if in_place_of_printed(setup) and getattr(setup.parameters, "version", "AAAI") != "AAAI":
        return (
            f"version is {setup.parameters.version}; leave it out with counter {chosen}: both versions are margins for "
            "hybrid counters, and this one has a margin of its own"
        )
    return None


def hybrid_counter(setup: RunSetup) -> Hybrid:
    """The counter of each arm, by the parameter ``accounting``."""
    printed = setup.parameters.accounting == "paper"
    return (Hybrid.as_printed if printed else Hybrid.calibrated)(nominal(setup))


def counter_of(setup: RunSetup) -> Hybrid | SignedDigits | SquareRoot:
    """The counter of each arm of `dp_ucb` and `dp_ucb_bound`."""
    return other_counter(setup) if in_place_of_printed(setup) else hybrid_counter(setup)


def guarantee(setup: RunSetup) -> Guarantee:
    """A reward enters the counter of one arm only, so the run keeps what that counter keeps."""
    return kept(setup, counter_of(setup))


def spending(setup: RunSetup, times: np.ndarray) -> np.ndarray:
    """Epsilon that one reward has spent after t pulls in the worst case (all of them of one arm); shape (times,)."""
    return counter_of(setup).spent(times)


def releases(setup: RunSetup) -> list[Release]:
    """What one reward is part of."""
    counter = counter_of(setup)
    return _hybrid_releases(setup, counter) if isinstance(counter, Hybrid) else other_releases(counter)


def _hybrid_releases(setup: RunSetup, counter: Hybrid) -> list[Release]:
    """A reward enters one block and the nodes of one tree; the row of the tree is that of the last one, the deepest."""
    levels = int(depth(setup.horizon))
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


def kept(setup: RunSetup, counter: Counter) -> Guarantee:
    """What a run keeps whose arms each have this counter."""
    if isinstance(counter, SquareRoot):
        return approximate(setup, counter.epsilon, counter.delta)
    return pure(setup, counter.total_epsilon / nominal(setup))


def other_releases(counter: SignedDigits | SquareRoot) -> list[Release]:
    """A reward enters a node of every level of its arm's tree, or one vector with normal noise on every entry."""
    if isinstance(counter, SignedDigits):
        at = "with the first sum that it is part of, which may be before the reward comes"
        return [
            central_release("a node of the k-ary tree over an arm's items", 1.0, counter.node_scale, at, counter.depth)
        ]
    return [
        Release(
            mechanism="gaussian",
            released="an arm's items times the square root of the counting matrix, which tell its running sums",
            unit="one reward",
            at="entry by entry, as items come in",
            norm="L2",
            sensitivity=counter.sensitivity,
            scale=counter.sd,
        )
    ]


def held(setup: RunSetup, rows: int) -> float:
    """``held`` of policies whose counters may be others than the printed ones."""
    found, arms = index_family.held_late(setup, rows), len(setup.arms)
    if not in_place_of_printed(setup):
        return found
    counter = other_counter(setup)
    if isinstance(counter, SignedDigits):
        return found + arms * (counter.depth * (counter.half + 3) + 6)
    return found + arms * (len(exponentials(setup.horizon)[0]) + 8)


def step_cost(setup: RunSetup, first: float, each: float) -> float:
    """Time of a pull on counters that grow with the pulls of their arm; ``first`` and ``each`` arm where printed."""
    if in_place_of_printed(setup):
        first, each = (1.6 if setup.parameters.counter == "k-ary" else 2.7), 0.065
    return first + each * len(setup.arms)


def without_proof(setup: RunSetup, upper: list[Bound], printed: str) -> list[Bound]:
    """The ``upper`` bounds, ruled out where the counter is not the one that they are proved for."""
    if not in_place_of_printed(setup):
        return upper
    return [bound.ruled_out(f"it is proved for {printed} counters") for bound in upper]


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
    return _call(setup, common_counters.common_counters if common else trees.own_counters, counters, margin)


# What plays each of them where rewards are counted late.
_LATE: dict[Any, Any] = {
    trees.own_counters: late_trees.own_counters,
    common_counters.common_counters: late_trees.common_counters,
    signed_trees.common_trees: late_trees.common_trees,
    covered_counters.own_trees: late_covered.own_trees,
    covered_counters.own_roots: late_covered.own_roots,
    covered_counters.common_roots: late_covered.common_roots,
}


def _call(setup: RunSetup, kernel: Callable[..., None], *arguments: Any) -> KernelCall:
    """The call of a kernel that takes the arms' rewards first, as rewards are counted."""
    if not setup.feedback.immediate:
        kernel, arguments = _LATE[kernel], (*arguments, index_family.late(setup))
    return KernelCall(kernel, (rewards_of(setup), *arguments), len(setup.arms))


def _root(setup: RunSetup, counter: SquareRoot) -> covered_counters.Root:
    return covered_counters.Root(counter.sd, *exponentials(setup.horizon))


def prepare_common(setup: RunSetup, counter: SignedDigits | SquareRoot, per_pull: float) -> KernelCall:
    """The kernel of counters that all grow at every step, with nothing to cover their noise."""
    if isinstance(counter, SignedDigits):
        tree = signed_trees.Tree(counter.depth, counter.half, counter.node_scale)
        return _call(setup, signed_trees.common_trees, tree, per_pull)
    margin = covered_counters.Margin(per_pull, 0.0, 0.0, 0.0, 0.0)
    return _call(setup, covered_counters.common_roots, _root(setup, counter), margin)


def prepare_covered(
    setup: RunSetup,
    counter: SignedDigits | SquareRoot,
    *,
    per_pull: float,
    slope: float,
    offset: float,
    part: float = 1.0,
) -> KernelCall:
    """The kernel of counters that grow with the pulls of their arm, and ``part`` of a margin that covers their noise.

    Noise after n items leaves the whole margin of step t with chance e^-l at most, l = ``slope`` ln t + ``offset``.
    Trees: m nodes of Laplace(b), b (2 sqrt(m l') + l') with l' = l + ln 2 (`counter.equal_laplace_bound`). Square
    roots: P(|N| > x sd) <= e^(-x^2 / 2), so x = sqrt(2 l).
    """
    if isinstance(counter, SignedDigits):
        scale = counter.node_scale
        margin = covered_counters.Margin(per_pull, slope, offset + math.log(2), part * 2 * scale, part * scale)
        tree = signed_trees.Tree(counter.depth, counter.half, scale)
        return _call(setup, covered_counters.own_trees, tree, margin)
    margin = covered_counters.Margin(per_pull, slope, offset, part * math.sqrt(2) * counter.sd, 0.0)
    return _call(setup, covered_counters.own_roots, _root(setup, counter), margin)
