"""DP-UCB (Tossou and Dimitrakakis 2016, Algorithm 2): counters that all grow at every step.

When an arm is pulled, its reward goes into its counter and a zero into the counters of all other arms, so that all
sums carry noise of the same scale; the index then needs no margin for it. After one pull of each arm, pull the one with
the largest  S / n + sqrt(2 ln t / n),  S being the counter's noisy sum and n the real pulls.

Guarantee: epsilon-central DP with accounting "tight" (both parts of the counter at epsilon / 2); as printed both
parts have the full epsilon, and a reward enters both: 2 epsilon.
Deviations from print: "Algorithm 1 with nu = 0" is S / n alone; the root, which the text and the proofs have, is added
(parameter ``index``). The counter is the hybrid one, as in the paper; parameter ``counter`` offers the k-ary tree with
signed digits, which has a tenth of its noise but must know the horizon; no bound on regret is proved for it here.
Beware: the counters grow with t while an arm's pulls may not, and nothing in the index covers
that noise, so an arm with few pulls can look far better or worse than it is.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from bandit_core.mechanisms import Hybrid, SignedDigits
from bandit_core.model import Guarantee, KernelCall, Policy, Release, RunSetup
from bandit_core.model.bound import Bound
from bandit_core.policies import index_family, tree_family
from bandit_core.policies.central_family import ReadIndexParameters, nominal, pure, unit_rewards
from bandit_core.theory import central


class DPUCBParameters(ReadIndexParameters):
    """Privacy accounting, reading of the index, and the counter of each arm."""

    counter: Annotated[
        Literal["hybrid", "k-ary"],
        Field(
            description="hybrid: as in the paper, for any number of users. k-ary: a tree with many branches and signed "
            "digits, for a horizon that is known; much less noise at the same epsilon."
        ),
    ] = "hybrid"


def _counter(setup: RunSetup) -> Hybrid | SignedDigits:
    """The counter of each arm; all of them count every step."""
    if setup.parameters.counter == "k-ary":
        return SignedDigits(nominal(setup), setup.horizon)
    return tree_family.hybrid_counter(setup)


def _prepare(setup: RunSetup) -> KernelCall:
    counter, per_pull = _counter(setup), tree_family.per_pull(setup)
    if isinstance(counter, SignedDigits):
        return tree_family.prepare_signed(setup, counter, per_pull)
    return tree_family.prepare(setup, counter=counter, per_pull=per_pull, common=True)


def _refuses(setup: RunSetup) -> str | None:
    if (setup.parameters.counter, setup.parameters.accounting) != ("k-ary", "paper"):
        return None
    return "accounting is paper; allowed with counter k-ary: tight, as the paper has no such counter"


def _guarantee(setup: RunSetup) -> Guarantee:
    """A reward enters the counter of one arm only, so the run keeps what that counter keeps."""
    return pure(setup, _counter(setup).total_epsilon / nominal(setup))


def _spending(setup: RunSetup, times: np.ndarray) -> np.ndarray:
    return _counter(setup).spent(times)


def _releases(setup: RunSetup) -> list[Release]:
    counter = _counter(setup)
    if isinstance(counter, SignedDigits):
        return tree_family.signed_releases(counter)
    return tree_family.hybrid_releases(setup)


def _held(setup: RunSetup, rows: int) -> float:
    if setup.parameters.counter != "k-ary":
        return index_family.held_late(setup, rows)
    tree = SignedDigits(nominal(setup), setup.horizon)
    return index_family.held_late(setup, rows) + len(setup.arms) * tree.depth * (tree.half + 2)


def _bounds(setup: RunSetup) -> list[Bound]:
    upper = central.dp_ucb(setup)
    if setup.parameters.counter != "hybrid":
        upper = [bound.ruled_out("it is proved for hybrid counters") for bound in upper]
    return [*central.lower_bounds(setup, _guarantee(setup)), *upper]


POLICY = Policy(
    name="dp-ucb",
    title="DP-UCB",
    paper="Tossou, Dimitrakakis 2016, Algorithm 2",
    summary="UCB on noisy running sums that all carry the same noise, as if it were not there.",
    privacy="central",
    guarantee_words="epsilon-central DP (pure) when accounted tightly; as printed 2 epsilon",
    epsilon="one",
    anytime=True,
    parameters=DPUCBParameters,
    accepts=unit_rewards,
    prepare=_prepare,
    late=True,
    bounds=_bounds,
    guarantee=_guarantee,
    refuses=_refuses,
    spending=_spending,
    releases=_releases,
    parent="ucb",
    pseudo_code="""one counter for each arm: hybrid (tight: epsilon / 2 for its blocks and for its trees) or k-ary
pull each arm once
for t = K+1, K+2, ...:
    S_a = noisy sum of arm a from its counter
    pull the arm with the largest  S_a / N_a + sqrt(2 ln t / N_a)
    insert its reward into its counter, and 0 into the counters of all other arms""",
    step_cost=lambda setup: 1.0 + 0.35 * len(setup.arms),
    held=_held,
)
