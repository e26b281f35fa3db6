"""DP-UCB (Tossou and Dimitrakakis 2016, Algorithm 2): hybrid counters that all grow at every step.

When an arm is pulled, its reward goes into its counter and a zero into the counters of all other arms, so that all
sums carry noise of the same scale; the index then needs no margin for it. After one pull of each arm, pull the one with
the largest  S / n + sqrt(2 ln t / n),  S being the counter's noisy sum and n the real pulls.

Guarantee: epsilon-central DP with accounting "tight" (both parts of the counter at epsilon / 2); as printed both
parts have the full epsilon, and a reward enters both: 2 epsilon.
Deviations from print: "Algorithm 1 with nu = 0" is S / n alone; the root, which the text and the proofs have, is added
(parameter ``index``). Beware: the counters grow with t while an arm's pulls may not, and nothing in the index covers
that noise, so an arm with few pulls can look far better or worse than it is.
"""

from __future__ import annotations

from bandit_core.model import KernelCall, Policy, RunSetup
from bandit_core.model.bound import Bound
from bandit_core.policies import tree_family
from bandit_core.policies.central_family import ReadIndexParameters, unit_rewards
from bandit_core.theory import central


def _prepare(setup: RunSetup) -> KernelCall:
    return tree_family.prepare(
        setup,
        counter=tree_family.hybrid_counter(setup), per_pull=tree_family.per_pull(setup), common=True,
    )  # fmt: skip


def _bounds(setup: RunSetup) -> list[Bound]:
    return [*central.lower_bounds(setup, tree_family.hybrid_guarantee(setup)), *central.dp_ucb(setup)]


POLICY = Policy(
    name="dp-ucb",
    title="DP-UCB",
    paper="Tossou, Dimitrakakis 2016, Algorithm 2",
    summary="UCB on noisy running sums that all carry the same noise, as if it were not there.",
    privacy="central",
    guarantee_words="epsilon-central DP (pure) when accounted tightly; as printed 2 epsilon",
    epsilon="one",
    anytime=True,
    parameters=ReadIndexParameters,
    accepts=unit_rewards,
    prepare=_prepare,
    bounds=_bounds,
    guarantee=tree_family.hybrid_guarantee,
    spending=tree_family.hybrid_spending,
    releases=tree_family.hybrid_releases,
    parent="ucb",
    pseudo_code="""one hybrid counter for each arm  (tight: epsilon / 2 for its blocks and for its trees)
pull each arm once
for t = K+1, K+2, ...:
    S_a = noisy sum of arm a from its counter
    pull the arm with the largest  S_a / N_a + sqrt(2 ln t / N_a)
    insert its reward into its counter, and 0 into the counters of all other arms""",
    step_cost=lambda setup: 1.0 + 0.35 * len(setup.arms),
)
