"""DP-UCB-BOUND (Tossou and Dimitrakakis 2016, Algorithm 1): UCB on sums from hybrid counters, with a noise margin.

Each arm has a hybrid counter, which needs no horizon. After one pull of each arm, pull the one with the largest

    S / n + sqrt(2 ln t / n) + nu / n,

where S is the counter's noisy sum and nu bounds its noise (equation 2.2 of the paper at failure probability ~ t^-4):
(4 sqrt(8) / epsilon) ln t (log2 n' + 1) with n' = n - 2^floor(log2 n) in the AAAI version, and
(sqrt(8) / epsilon) ln(4 t^4) (ln n + 1) in the arXiv version; at powers of two the last factor is 1 in both.

Guarantee: epsilon-central DP with accounting "tight" (both parts of the counter at epsilon / 2, nu doubled).
As printed both parts have the full epsilon, and a reward enters both: 2 epsilon.
Deviations from print: Algorithm 1 leaves out sqrt(2 ln t / n), which the text and the proofs have (parameter
``index``); log2 n' is undefined at n' = 0, where only the logarithmic mechanism speaks and the factor is 1.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field

from bandit_core.kernels import trees
from bandit_core.model import KernelCall, Policy, RunSetup
from bandit_core.model.bound import Bound
from bandit_core.policies import index_family, tree_family
from bandit_core.policies.central_family import ReadIndexParameters, unit_rewards
from bandit_core.policies.tree_family import Gamma
from bandit_core.theory import central


class DPUCBBoundParameters(ReadIndexParameters):
    """Privacy accounting, reading of the index, and form of the margin for noise."""

    version: Annotated[
        Literal["AAAI", "arXiv"],
        Field(description="Margin for noise: AAAI counts the pulls since the last power of two, arXiv all pulls."),
    ] = "AAAI"
    gamma: Gamma = "t^-4"


def _prepare(setup: RunSetup) -> KernelCall:
    parameters = setup.parameters
    counter = tree_family.hybrid_counter(setup)
    scale = math.sqrt(8) / counter.tree_epsilon  # half the budget doubles the margin
    printed = parameters.version == "AAAI"
    if parameters.gamma == "t^-4":
        slope, offset = 4.0, 0.0 if printed else math.log(4)
    else:
        slope, offset = 0.0, math.log(2 / parameters.gamma)
    return tree_family.prepare(
        setup,
        counter=counter, per_pull=tree_family.per_pull(setup),
        shape=trees.LOG_SINCE if printed else trees.LOG_PULLS, slope=scale * slope, offset=scale * offset,
    )  # fmt: skip


def _bounds(setup: RunSetup) -> list[Bound]:
    upper = central.dp_ucb_bound(setup)
    if setup.parameters.gamma != "t^-4":
        upper = [
            bound.ruled_out("it is proved for gamma = t^-4, not for a constant failure probability") for bound in upper
        ]
    return [*central.lower_bounds(setup, tree_family.hybrid_guarantee(setup)), *upper]


POLICY = Policy(
    name="dp-ucb-bound",
    title="DP-UCB-BOUND",
    paper="Tossou, Dimitrakakis 2016, Algorithm 1",
    summary="UCB on noisy running sums, with a margin that covers their noise.",
    privacy="central",
    guarantee_words="epsilon-central DP (pure) when accounted tightly; as printed 2 epsilon",
    epsilon="one",
    anytime=True,
    parameters=DPUCBBoundParameters,
    accepts=unit_rewards,
    prepare=_prepare,
    late=True,
    held=index_family.held_late,
    bounds=_bounds,
    guarantee=tree_family.hybrid_guarantee,
    spending=tree_family.hybrid_spending,
    releases=tree_family.hybrid_releases,
    parent="ucb",
    pseudo_code="""one hybrid counter for each arm  (tight: epsilon / 2 for its blocks and for its trees)
pull each arm once
for t = K+1, K+2, ...:
    S_a = noisy sum of arm a from its counter
    n' = N_a - 2^floor(log2 N_a)
    nu_a = (4 sqrt(8) / epsilon) ln t (log2 n' + 1)         (factor 1 at n' = 0; doubled when tight)
    pull the arm with the largest  S_a / N_a + sqrt(2 ln t / N_a) + nu_a / N_a
    insert its reward into its counter""",
    step_cost=lambda setup: 0.4 + 0.065 * len(setup.arms),
)
