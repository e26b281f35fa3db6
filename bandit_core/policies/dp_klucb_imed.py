"""DP-KLUCB and DP-IMED (arXiv 2505.05613): batches that grow by a factor, every one of them remembered.

Each arm keeps a noisy sum S and its pulls n. When an arm is chosen it is played until n has grown by the factor
``growth`` (rho), then S grows by the batch's sum plus Laplace(1/epsilon). Nothing is forgotten, so m batches carry m
noises. With mean m = S/n, [.] clipped to [0, 1], and d_eps(x, y) = min over z between them of eps |z - x| + d(z, y):

    DP-KLUCB  plays the arm with the largest q such that  d_eps([m], q) <= ln t / n
    DP-IMED   plays the arm with the smallest  n d_eps([m], [m*]) + ln n   (ln n alone for the highest mean m*),

where t is the first pull of the batch. Guarantee: epsilon-central DP, pure. Released: one sum per batch; every reward
is in one of them. Both attain the d_eps lower bound up to the factor rho.
Deviations from print: the sizes of the first batches are not known to us. Each arm starts with ``first_batch`` pulls
(default ceil(5/epsilon)), in turns. With single pulls at the start DP-IMED is fragile: a first release whose noise
buries the best arm may never be corrected, and these rare runs of linear regret then dominate the mean.
"""

from __future__ import annotations

from collections.abc import Callable

from bandit_core.kernels import batched
from bandit_core.model import KernelCall, RunSetup
from bandit_core.policies import batch_family
from bandit_core.policies.central_family import nominal
from bandit_core.theory import central


def _preparer(rule: int) -> Callable[[RunSetup], KernelCall]:
    def prepare(setup: RunSetup) -> KernelCall:
        parameters = setup.parameters
        first = min(parameters.first_batch, setup.horizon)
        commitment = batched.Commitment(rule, nominal(setup), 0.0, parameters.growth, first)
        return batch_family.prepare(batched.by_index, setup, commitment)

    return prepare


_PSEUDO_CODE = """pull each arm first_batch times;  S_a = sum + Laplace(1 / epsilon),  n_a = first_batch
repeat, t being the next pull:
    m_a = S_a / n_a
    pull the arm with the {index}
    until its pulls are rho n_a;  S_a += sum of these pulls + Laplace(1 / epsilon)"""

POLICIES = (
    batch_family.pure_policy(
        name="dp-klucb",
        title="DP-KLUCB",
        paper="arXiv 2505.05613",
        summary="kl-UCB with the divergence that central privacy leaves, in growing batches: nearly the least regret.",
        parameters=batch_family.BatchParameters,
        late=True,
        prepare=_preparer(batched.DP_KLUCB),
        bounds=batch_family.with_lower_bounds(central.dp_klucb),
        step_cost=batch_family.cost_of_roots(0.25),
        resolve=batch_family.resolve_first_batch,
        parent="kl-ucb",
        pseudo_code=_PSEUDO_CODE.format(index="largest q with  d_eps([m_a], q) <= ln t / n_a"),
    ),
    batch_family.pure_policy(
        name="dp-imed",
        title="DP-IMED",
        paper="arXiv 2505.05613",
        summary="Plays the arm with the least evidence against it, its pulls counted in; growing batches, no clock.",
        parameters=batch_family.BatchParameters,
        late=True,
        prepare=_preparer(batched.DP_IMED),
        bounds=batch_family.with_lower_bounds(central.dp_imed),
        step_cost=batch_family.cost_of_roots(0.25),
        resolve=batch_family.resolve_first_batch,
        parent="kl-ucb",
        pseudo_code=_PSEUDO_CODE.format(
            index="smallest  n_a d_eps([m_a], [max m]) + ln n_a   (first term 0 for the highest m)"
        ),
    ),
)
