"""Shared by the policies that see rewards only through sums over batches: from an instance to its kernel's numbers."""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.jit.decorators import inlined
from bandit_core.kernels.batch_rule import BatchRule
from bandit_core.kernels.play import NOTHING, Belief, Stream, piece_of
from bandit_core.model import Bound, Parameters, Policy, RunSetup
from bandit_core.policies import index_family
from bandit_core.policies.central_family import noisy_sums, pure, unit_rewards
from bandit_core.spec import rewards as distributions
from bandit_core.spec.field_types import Number, Whole
from bandit_core.theory import central

SUM = "the sum of a batch of an arm's rewards (its mean, times a public number)"  # that is released
SMALLEST = 1e-6  # budgets below hide everything for longer than any horizon, and their batches overflow


class BatchParameters(Parameters):
    """How batches grow."""

    growth: Annotated[Number, Field(gt=1, le=100)] = 2.0
    """Each batch lets the arm's pulls grow by this factor, rho (the paper's alpha)."""
    first_batch: Annotated[Whole, Field(ge=1, le=10**9)] | Literal["auto"] = "auto"
    """Pulls in an arm's first batch. auto: ceil(5 / epsilon), so that the noise of the first release is small; with 1
    rare runs with linear regret can dominate the mean."""


class ExplorationParameters(Parameters):
    """How optimistic the index is."""

    alpha: Annotated[Number, Field(gt=0, le=100)] = 3.1
    """Exploration; the paper's regret bound is for values above 3."""


def resolve_first_batch(parameters: BatchParameters, epsilon: Any) -> BatchParameters:
    """Replace ``first_batch = "auto"`` by ceil(5 / epsilon)."""
    if parameters.first_batch != "auto" or epsilon is None or epsilon.fixed is None:
        return parameters
    size = math.ceil(5 / max(SMALLEST, epsilon.fixed))
    return parameters.model_copy(update={"first_batch": size})


def refuse_tiny_budget(setup: RunSetup) -> str | None:
    """Words of refusal for a budget that no horizon can make anything of."""
    if setup.fixed_epsilon >= SMALLEST:
        return None
    return f"epsilon is {setup.fixed_epsilon:g}; allowed: from {SMALLEST:g} on"


class Numbers(NamedTuple):
    """The budget, the exploration, the factor by which an arm's pulls grow, and its pulls before any choice."""

    epsilon: float
    alpha: float
    growth: float
    first: int


class State(NamedTuple):
    """The arms, that of the present batch first; of every arm (arms,) sum, number and mean of the rewards released."""

    members: np.ndarray
    sums: np.ndarray
    counts: np.ndarray
    means: np.ndarray


def start(numbers: Any, arms: int) -> State:
    """Nothing."""
    return State(np.arange(arms), np.zeros(arms), np.zeros(arms), np.zeros(arms))


MOST = np.inf  # no index is larger


def index(numbers: Any, mean: float, count: float, level: float) -> float:
    """What decides: the largest mean that an arm may well have, where ``level`` is ln t."""
    raise NotImplementedError


def choose(numbers: Any, known: State, pulled: np.ndarray, t: int, stream: Stream) -> tuple[int, int]:
    """Every arm at first; then the arm with the largest index, until its pulls have grown. Of equal ones, which are
    common where an index cannot exceed 1, that of the lowest label.
    """
    if t == 0:
        return known.members.shape[0], numbers.first
    level, best, highest = math.log(t + 1), 0, -np.inf
    for arm in range(known.means.shape[0]):
        value = index(numbers, known.means[arm], known.counts[arm], level)
        if value > highest:
            best, highest = arm, value
            if value >= MOST:
                break
    return grown(known, best, numbers.growth, pulled)


@inlined
def grown(known: State, arm: int, growth: float, pulled: np.ndarray) -> tuple[int, int]:
    """The batch by which the pulls of an arm grow."""
    known.members[0] = arm
    return 1, max(1, int(growth * pulled[arm]) - int(pulled[arm]))


@inlined
def clipped(value: float) -> float:
    """The nearest number in [0, 1]."""
    return min(1.0, max(0.0, value))


def believe(numbers: Any, known: State, arm: int, t: int) -> Belief:
    """The released mean, and what the index says of it and of its complement."""
    mean, count, level = known.means[arm], known.counts[arm], math.log(t)
    if count == 0.0:
        return NOTHING
    high = index(numbers, mean, count, level)
    return mean, 1.0 - index(numbers, 1.0 - mean, count, level), high, high


def index_rule(name: str, index: Callable[..., float], learn: Callable[..., None], most: float = MOST) -> BatchRule:
    """The rule of an `index` that is never above ``most``, and of what `learn` makes of a batch."""
    parts = {"index": piece_of(index), "MOST": most}
    return BatchRule(name, start, choose, learn, believe, parts=parts, prompt=True)


def two_valued(setup: RunSetup) -> bool:
    """Whether every arm pays one of two amounts, so that the sum of a batch is one draw."""
    return all(arm.row()[0] == distributions.TWO_POINT for arm in distributions.distinct(setup.arms))


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
    return bulk if two_valued(setup) else bulk + 1.0


def cost_of_roots(most: float) -> Callable[[RunSetup], float]:
    """``step_cost`` of a policy whose look at an arm costs up to ``most`` pulls, for a root once batches are long."""
    return lambda setup: cost(setup, look=min(most, setup.horizon / (500 * len(setup.arms))))


def central_policy(upper: Callable[[RunSetup], list[Bound]] = lambda setup: [], **fields: Any) -> Policy:
    """An entry for a policy with a curator: a `pure_policy` that takes late rewards; ``fields`` may say otherwise.

    Its bounds are the central lower bounds on what the run keeps, then ``upper``.
    """
    kept = fields.get("guarantee", pure)
    return Policy(
        **{
            "privacy": "central",
            "guarantee_words": "epsilon-central DP (pure): every reward enters one release",
            "accepts": unit_rewards,
            "refuses": refuse_tiny_budget,
            "guarantee": pure,
            "bounds": lambda setup: [*central.lower_bounds(setup, kept(setup)), *upper(setup)],
            "releases": noisy_sums(SUM),
            "step_cost": cost,
            "late": True,
            "parent": "ucb",
            **fields,
        }
    )


def pure_policy(**fields: Any) -> Policy:
    """An entry for a policy where every reward enters one release with Laplace noise: epsilon-central DP."""
    return central_policy(**{"late": False, "parent": None, **fields})
