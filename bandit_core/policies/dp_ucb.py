"""DP-UCB: Tossou, Dimitrakakis 2016, Algorithm 2.

UCB on noisy running sums that all carry the same noise, as if it were not there.

    one counter for each arm: hybrid (tight: epsilon / 2 for its blocks and for its trees), k-ary or
    square root
    pull each arm once
    for t = K+1, K+2, ...:
        S_a = noisy sum of arm a from its counter
        pull the arm with the largest  S_a / N_a + sqrt(2 ln t / N_a)
        insert its reward into its counter, and 0 into the counters of all other arms

Promise: epsilon-central DP (pure) when accounted tightly; as printed 2 epsilon; (epsilon, delta) with counter
square-root

All sums carry noise of the same scale, so the index needs no margin for it. N_a are the real pulls.

Guarantee: epsilon-central DP with accounting "tight" (both parts of the counter at epsilon / 2); as printed both
parts have the full epsilon, and a reward enters both: 2 epsilon.
Deviations from print: "Algorithm 1 with nu = 0" is S / n alone; the root, which the text and the proofs have, is added
(parameter ``index``). The counter is the hybrid one, as in the paper; parameter ``counter`` offers two that must know
the horizon: the k-ary tree with signed digits, which has a tenth of its noise, and the square root of the counting
matrix, whose normal noise is often smaller still and keeps (epsilon, delta) only. No bound on regret is proved for them
here. Beware: the counters grow with t while an arm's pulls may not, and nothing in the index covers that noise, so an
arm with few pulls can look far better or worse than it is.

DP-UCB-BOUND: Tossou, Dimitrakakis 2016, Algorithm 1.

UCB on noisy running sums, with a margin that covers their noise.

    one counter for each arm: hybrid (tight: epsilon / 2 for its blocks and for its trees), k-ary or
    square root
    pull each arm once
    for t = K+1, K+2, ...:
        S_a = noisy sum of arm a from its counter
        n' = N_a - 2^floor(log2 N_a)
        nu_a = (4 sqrt(8) / epsilon) ln t (log2 n' + 1)         (factor 1 at n' = 0; doubled when tight)
               k-ary: b (2 sqrt(m l) + l),  l = ln(2 t^4),  m nodes of Laplace(b) in S_a
               square root: sd of the noise in S_a times sqrt(8 ln t)
        pull the arm with the largest  S_a / N_a + sqrt(2 ln t / N_a) + nu_a / N_a
        insert its reward into its counter

Promise: epsilon-central DP (pure) when accounted tightly; as printed 2 epsilon; (epsilon, delta) with counter
square-root

nu bounds the noise of a sum (equation 2.2 of the paper at failure probability ~ t^-4):
(4 sqrt(8) / epsilon) ln t (log2 n' + 1) with n' = n - 2^floor(log2 n) in the AAAI version, and
(sqrt(8) / epsilon) ln(4 t^4) (ln n + 1) in the arXiv version; at powers of two the last factor is 1 in both.

Guarantee: epsilon-central DP with accounting "tight" (both parts of the counter at epsilon / 2, nu doubled).
As printed both parts have the full epsilon, and a reward enters both: 2 epsilon.
Deviations from print: Algorithm 1 leaves out sqrt(2 ln t / n), which the text and the proofs have (parameter
``index``); log2 n' is undefined at n' = 0, where only the logarithmic mechanism speaks and the factor is 1.
Parameter ``counter`` offers two counters that must know the horizon, each with a margin that its noise after n pulls
leaves with chance t^-4 at most, for every n and t (proof: `tree_family.prepare_covered`): the k-ary tree with signed
digits, where m nodes of Laplace(b) give nu = b (2 sqrt(m l) + l), l = ln(2 t^4), and the square root of the counting
matrix, whose normal noise of standard deviation s gives nu = s sqrt(8 ln t) and keeps (epsilon, delta) only. No bound
on regret is proved for them here.
"""

import math
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.kernels.play import Rule, Stream, User, empty_nodes, empty_roots, node_noise, root_noise
from bandit_core.kernels.play import empty_trees as empty
from bandit_core.kernels.play import tree_noise as noise
from bandit_core.model import Bound, KernelCall, RunSetup
from bandit_core.policies import tree_family
from bandit_core.policies.central_family import ReadIndexParameters
from bandit_core.policies.tree_family import Gamma
from bandit_core.policies.ucb import index  # on the noisy means
from bandit_core.theory import central


class DPUCBParameters(ReadIndexParameters):
    """Privacy accounting, reading of the index, and the counter of each arm."""

    counter: Annotated[
        Literal["hybrid", "k-ary", "square-root"],
        Field(description=f"hybrid: as in the paper, for any number of users. {tree_family.COUNTERS}"),
    ] = "hybrid"
    delta: tree_family.Delta = "auto"


class Numbers(NamedTuple):
    """The counter of each arm; alpha of `ucb`: 2 for an index with its root, 0 without."""

    counter: Any
    alpha: float


class State(NamedTuple):
    """The counters of all arms; of every arm (arms,) its real sum and pulls, and its noisy mean."""

    counters: Any
    sums: np.ndarray
    counts: np.ndarray
    means: np.ndarray


def start(numbers: Numbers, arms: int) -> State:
    """Empty counters; every arm must be tried."""
    return State(empty(numbers.counter, arms), np.zeros(arms), np.zeros(arms), np.full(arms, np.inf))


def learn(numbers: Numbers, known: State, arm: int, response: float, user: User, stream: Stream) -> None:
    """Insert the reward into the arm's counter, and 0 into the counters of all others."""
    known.sums[arm] += response
    known.counts[arm] += 1.0
    for other in range(known.means.shape[0]):
        fresh = noise(numbers.counter, known.counters, other, stream)  # after one more item, the reward or 0
        if known.counts[other] > 0.0:
            known.means[other] = (known.sums[other] + fresh) / known.counts[other]


_COUNTERS: dict[str, dict[str, Any]] = {
    "hybrid": {"empty": empty_nodes, "noise": node_noise},
    "k-ary": {"empty": empty, "noise": noise},
    "square-root": {"empty": empty_roots, "noise": root_noise},
}
RULES = {
    name: Rule(f"on_{name.replace('-', '_')}", start, learn=learn, parts=parts, index=index)
    for name, parts in _COUNTERS.items()
}


def _prepare(setup: RunSetup) -> KernelCall:
    counter, per_pull = tree_family.numbers_of(setup, tree_family.counter_of(setup)), tree_family.per_pull(setup)
    return RULES[setup.parameters.counter].call(setup, Numbers(counter, per_pull))


class DPUCBBoundParameters(ReadIndexParameters):
    """Privacy accounting, reading of the index, form of the margin for noise, and the counter of each arm."""

    version: Annotated[Literal["AAAI", "arXiv"], Field(json_schema_extra={"with": {"counter": "hybrid"}})] = "AAAI"
    """Margin for the noise of hybrid counters: AAAI counts the pulls since the last power of two, arXiv all pulls."""
    gamma: Gamma = "t^-4"
    counter: Annotated[
        Literal["hybrid", "k-ary", "square-root"],
        Field(
            description=f"hybrid: as in the paper, for any number of users. {tree_family.COUNTERS} The margin for "
            "noise follows from the counter."
        ),
    ] = "hybrid"
    delta: tree_family.Delta = "auto"


def _prepare_bound(setup: RunSetup) -> KernelCall:
    parameters, per_pull = setup.parameters, tree_family.per_pull(setup)
    always = parameters.gamma == "t^-4"
    if tree_family.in_place_of_printed(setup):
        counter, slope = tree_family.other_counter(setup), 4.0 if always else 0.0
        offset = 0.0 if always else -math.log(parameters.gamma)
        return tree_family.prepare_covered(setup, counter, per_pull=per_pull, slope=slope, offset=offset)
    printed = tree_family.hybrid_counter(setup)
    scale = math.sqrt(8) / printed.tree_epsilon  # half the budget doubles the margin
    since = parameters.version == "AAAI"
    if always:
        slope, offset = 4.0, 0.0 if since else math.log(4)
    else:
        slope, offset = 0.0, math.log(2 / parameters.gamma)
    return tree_family.prepare(
        setup,
        counter=printed, per_pull=per_pull,
        shape=tree_family.LOG_SINCE if since else tree_family.LOG_PULLS, slope=scale * slope, offset=scale * offset,
    )  # fmt: skip


def _upper(setup: RunSetup) -> list[Bound]:
    upper = tree_family.without_proof(setup, central.dp_ucb_bound(setup), "hybrid")
    why = "it is proved for gamma = t^-4, not for a constant failure probability"
    return [bound.only_if(setup.parameters.gamma == "t^-4", why) for bound in upper]


POLICIES = (
    tree_family.policy(
        name="dp-ucb",
        parameters=DPUCBParameters,
        prepare=_prepare,
        upper=lambda setup: tree_family.without_proof(setup, central.dp_ucb(setup), "hybrid"),
        step_cost=lambda setup: 1.0 + (1.65 if setup.parameters.counter == "square-root" else 0.65) * len(setup.arms),
    ),
    tree_family.policy(
        name="dp-ucb-bound",
        parameters=DPUCBBoundParameters,
        prepare=_prepare_bound,
        upper=_upper,
    ),
)
