"""UCB: Auer, Cesa-Bianchi, Fischer 2002 (UCB1).

Plays the arm whose mean could still be the best: estimate plus a margin that shrinks with every pull.

    pull each arm once
    for t = K+1, K+2, ...:
        pull the arm with the largest  mean_a + sqrt(alpha ln t / N_a)

The paper has t - 1 in place of t, the number of earlier plays; the regret bound holds for both. Rewards in [0, 1] for
the guarantee; sub-Gaussian rewards of scale at most 1/2 have the same one. Ties go to the lowest label, and labels are
random (`kernels.play`).
"""

import math
from typing import Annotated, NamedTuple

from pydantic import Field

from bandit_core.kernels.play import Means, Rule
from bandit_core.model import KernelCall, Parameters, Policy, RunSetup
from bandit_core.policies import index_family
from bandit_core.spec.field_types import Number
from bandit_core.theory import classic, finite_time_bounds


class UCBParameters(Parameters):
    """Exploration."""

    alpha: Annotated[Number, Field(gt=0, le=100)] = 2.0
    """Exploration: the index adds sqrt(alpha ln t / N). UCB1 has 2."""


class Numbers(NamedTuple):
    """Exploration."""

    alpha: float


def index(numbers: Numbers, known: Means, arm: int, t: int) -> float:
    """mean + sqrt(alpha ln t / N)."""
    count = known.counts[arm]
    return known.means[arm] + math.sqrt(math.log(t)) * (math.sqrt(numbers.alpha * count) / count)


RULE = Rule("largest_index", index=index)


def _prepare(setup: RunSetup) -> KernelCall:
    alpha = setup.parameters.alpha
    return index_family.call(RULE, setup, Numbers(alpha), index_family.numbers(setup, per_pull=alpha))


POLICY = Policy(
    name="ucb",
    parameters=UCBParameters,
    prepare=_prepare,
    bounds=lambda setup: [*finite_time_bounds.lower_bounds(setup), classic.ucb1(setup), *classic.orders(setup)],
    step_cost=index_family.cost(),
    late=True,
)
