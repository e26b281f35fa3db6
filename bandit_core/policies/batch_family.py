"""Shared by the policies that see rewards only through sums over batches: from an instance to its kernel's numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field

from bandit_core.kernels import batched, gaussian_batches, late_batches
from bandit_core.kernels.play import Rule
from bandit_core.kernels.records import rewards_of
from bandit_core.model import KernelCall, Parameters, Policy, RunSetup
from bandit_core.model.bound import Bound
from bandit_core.policies import index_family
from bandit_core.policies.central_family import noisy_sums, nominal, pure, unit_rewards
from bandit_core.spec import rewards as distributions
from bandit_core.spec.field_types import Number, Whole
from bandit_core.theory import central

SMALLEST = 1e-6  # budgets below hide everything for longer than any horizon, and their batches overflow


# Those that can wait for rewards, and what plays them then.
_LATE: dict[Callable[..., None], Callable[..., None]] = {
    batched.by_index: late_batches.by_index,
    gaussian_batches.by_index: late_batches.with_normal_noise,
}


class BatchParameters(Parameters):
    """How batches grow."""

    growth: Annotated[
        Number,
        Field(
            gt=1, le=100, description="Each batch lets the arm's pulls grow by this factor, rho (the paper's alpha)."
        ),
    ] = 2.0
    first_batch: Annotated[
        Annotated[Whole, Field(ge=1, le=10**9)] | Literal["auto"],
        Field(
            description="Pulls in an arm's first batch. auto: ceil(5 / epsilon), so that the noise of the first "
            "release is small; with 1 rare runs with linear regret can dominate the mean."
        ),
    ] = "auto"


class ExplorationParameters(Parameters):
    """How optimistic the index is."""

    alpha: Annotated[
        Number, Field(gt=0, le=100, description="Exploration; the paper's regret bound is for values above 3.")
    ] = 3.1


def resolve_first_batch(parameters: BatchParameters, epsilon: Any) -> BatchParameters:
    """Replace ``first_batch = "auto"`` by ceil(5 / epsilon)."""
    if parameters.first_batch != "auto" or epsilon is None or epsilon.fixed is None:
        return parameters
    size = math.ceil(5 / max(SMALLEST, epsilon.fixed))
    return parameters.model_copy(update={"first_batch": size})


def refuse_tiny_budget(setup: RunSetup) -> str | None:
    """Words of refusal for a budget that no horizon can make anything of."""
    if nominal(setup) >= SMALLEST:
        return None
    return f"epsilon is {nominal(setup):g}; allowed: from {SMALLEST:g} on"


def prepare(
    kernel: Callable[..., None], setup: RunSetup, *settings: Any, at_once: bool = True, late: Rule | None = None
) -> KernelCall:
    """A call of a kernel of `bandit_core.kernels.batched` or `bandit_core.kernels.release_schedules`.

    ``settings`` are the numbers that the kernel takes after ``at_once``. ``at_once`` = False draws
    every reward by itself instead of the sum of a batch: other draws, the same distribution. Where rewards are counted
    late, they are drawn so in any case, and the rule ``late`` is played.
    """
    if not setup.feedback.immediate and late is not None:
        return late.call(setup, settings[0])
    if not setup.feedback.immediate:
        arguments = (rewards_of(setup), *settings, index_family.late(setup))
        return KernelCall(_LATE[kernel], arguments, len(setup.arms))
    return KernelCall(kernel, (rewards_of(setup), at_once, *settings), len(setup.arms))


def cost(setup: RunSetup, releases: float | None = None, look: float = 1 / 16) -> float:
    """Rough time of one pull relative to one of ``ucb``.

    Where every arm pays one of two amounts the time goes into ``releases`` (default: batches that double) with one
    look at every arm each, which costs ``look`` pulls for an arm; else into drawing the rewards.
    """
    if not setup.feedback.immediate:
        return index_family.late_cost(setup)
    arms = len(setup.arms)
    if releases is None:
        releases = arms * math.log2(max(1.0, setup.horizon / arms))
    bulk = min(1.0, releases / setup.horizon) * (5 + look * arms)
    return (
        bulk
        if all(arm.row()[0] == distributions.TWO_POINT for arm in distributions.distinct(setup.arms))
        else bulk + 1.0
    )


def cost_of_roots(most: float) -> Callable[[RunSetup], float]:
    """``step_cost`` of a policy whose look at an arm costs up to ``most`` pulls, for a root once batches are long."""
    return lambda setup: cost(setup, look=min(most, setup.horizon / (500 * len(setup.arms))))


def with_lower_bounds(upper: Callable[[RunSetup], list[Bound]]) -> Callable[[RunSetup], list[Bound]]:
    """The central lower bounds, then those of the policy."""
    return lambda setup: [*central.lower_bounds(setup), *upper(setup)]


def pure_policy(**fields: Any) -> Policy:
    """An entry for a policy where every reward enters one release with Laplace noise: epsilon-central DP."""
    return Policy(
        **{
            "privacy": "central",
            "guarantee_words": "epsilon-central DP (pure): every reward enters one release",
            "epsilon": "one",
            "anytime": True,
            "accepts": unit_rewards,
            "refuses": refuse_tiny_budget,
            "guarantee": pure,
            "releases": noisy_sums("the sum of a batch of an arm's rewards (its mean, times a public number)"),
            "step_cost": cost,
            "held": index_family.held_late,
            **fields,
        }
    )
