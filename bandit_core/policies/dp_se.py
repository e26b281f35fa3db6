"""DP-SE (Sajed and Sheffet 2019): successive elimination with a private mean per arm and epoch.

In epoch e every arm that is left is pulled R times, in turns; the mean of these fresh rewards is released with
Laplace(1/(epsilon R)) noise, and arms that lie clearly below the highest are dropped. The last arm is played for good.

Guarantee: epsilon-central DP, pure. Released: one mean per arm and epoch, at the end of the epoch; every reward is
in at most one of them. The policy needs the horizon, through its failure probability beta = 1/T.
Deviations from print: none known. An epoch that the horizon cuts short releases nothing.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bandit_core.kernels import batched
from bandit_core.model import KernelCall, Parameters, RunSetup
from bandit_core.policies import batch_family
from bandit_core.policies.central_family import nominal
from bandit_core.spec.field_types import Number
from bandit_core.theory import central


class EliminationParameters(Parameters):
    """How sure an elimination must be."""

    beta: Annotated[
        Annotated[Number, Field(gt=0, lt=1)] | Literal["auto"],
        Field(description="Probability that a best arm may ever be dropped. auto: 1 / horizon."),
    ] = "auto"


def failure_probability(setup: RunSetup) -> float:
    """``beta``, with "auto" = 1 / horizon."""
    beta = setup.parameters.beta
    return 1 / setup.horizon if beta == "auto" else float(beta)


def _prepare(setup: RunSetup) -> KernelCall:
    settings = (nominal(setup), failure_probability(setup))
    return batch_family.prepare(batched.elimination, setup, *settings)


POLICY = batch_family.pure_policy(
    name="dp-se",
    title="DP-SE",
    paper="Sajed, Sheffet 2019",
    summary="Plays all arms equally often and drops the ones that are clearly worse, comparing noisy means.",
    anytime=False,
    parameters=EliminationParameters,
    prepare=_prepare,
    bounds=batch_family.with_lower_bounds(central.dp_se),
    step_cost=lambda setup: batch_family.cost(setup, look=0.0),  # rounds, each with one look at every arm
    parent="ucb",
    pseudo_code="""S = all arms;  beta = 1 / T
for e = 1, 2, ... while more than one arm is left:
    D = 2^-e;  R = [max(32 ln(8 |S| e^2 / beta) / D^2,  8 ln(4 |S| e^2 / beta) / (epsilon D))] + 1
    pull each arm of S  R times;  m_a = mean of these pulls + Laplace(1 / (epsilon R))
    h = sqrt(ln(8 |S| e^2 / beta) / (2 R));  c = ln(4 |S| e^2 / beta) / (epsilon R)
    drop every arm with  m_a < max m - 2 h - 2 c
play the arm that is left""",
)
