"""UCB1 (Auer, Cesa-Bianchi and Fischer 2002): optimism in the face of uncertainty, without privacy.

Pull each arm once, then the arm with the largest mean + sqrt(alpha ln t / N). Rewards in [0, 1] for the guarantee;
sub-Gaussian rewards of scale at most 1/2 have the same one.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from bandit_core.kernels import index
from bandit_core.model import Guarantee, KernelCall, Parameters, Policy, RunSetup, any_rewards
from bandit_core.model.bound import Bound
from bandit_core.policies import index_family
from bandit_core.spec.field_types import Number
from bandit_core.theory import classic, floors


class UCBParameters(Parameters):
    """Exploration."""

    alpha: Annotated[
        Number, Field(gt=0, le=100, description="Exploration: the index adds sqrt(alpha ln t / N). UCB1 has 2.")
    ] = 2.0


def _prepare(setup: RunSetup) -> KernelCall:
    return index_family.prepare(setup, per_pull=setup.parameters.alpha)


def _bounds(setup: RunSetup) -> list[Bound]:
    return [
        *floors.without_privacy(setup),
        *classic.lower_bounds(setup),
        classic.ucb1(setup),
        *classic.orders(setup),
    ]


POLICY = Policy(
    name="ucb",
    title="UCB",
    paper="Auer, Cesa-Bianchi, Fischer 2002 (UCB1)",
    summary="Plays the arm whose mean could still be the best: estimate plus a margin that shrinks with every pull.",
    privacy="none",
    guarantee_words="none: the learner sees every reward",
    epsilon="none",
    anytime=True,
    parameters=UCBParameters,
    accepts=any_rewards,
    prepare=_prepare,
    bounds=_bounds,
    sampler=lambda setup: index_family.sampler(setup, index.RAW),
    step_cost=index_family.cost(index.RAW),
    held=index_family.held(index.RAW),
    late=True,
    guarantee=lambda setup: Guarantee("none", "no privacy: the learner sees every reward"),
    pseudo_code="""pull each arm once
for t = K+1, K+2, ...:
    pull the arm with the largest  mean_a + sqrt(alpha ln t / N_a)""",
)
