"""HeLDP-UCB-B: Ren, Zhou, Liu, Shroff 2020.

Each user answers with one coin-flipped bit; UCB on the corrected averages.

    for t = 1, 2, ...:
        pull the arm with the largest  u_a   (infinite before its first kept response)
        the user answers with epsilon and a bit x from CTB (randomised response of the reward)
        if epsilon >= eps_min:
            N_a += 1;  s_a += g(x; epsilon);  B_a += beta(epsilon)
        u_a = s_a / N_a + sqrt(2 B_a ln t) / N_a

HeLDP-UCB-BS: Ren, Zhou, Liu, Shroff 2020.

For rewards without limits: squeezed into (0, 1) by a sigmoid, then one coin-flipped bit.

    for t = 1, 2, ...:
        pull the arm with the largest  u_a   (infinite before its first kept response)
        the user answers with epsilon and a bit x from CTB-S (randomised response of the sigmoid of the reward)
        if epsilon >= eps_min:
            N_a += 1;  s_a += g(x; epsilon);  B_a += beta(epsilon)
        u_a = s_a / N_a + sqrt(2 B_a ln t) / N_a

Agent 4 of the paper. g(x; eps) = 1/2 +- coth(eps/2)/2 is unbiased, and beta(eps) = coth(eps/2)^2.

Guarantee: each reward is eps_t-locally private.
Deviations from print: Curator 3 and Lemma 9 have epsilon where e^epsilon is meant; corrected here.

HeLDP-UCB-L: Ren, Zhou, Liu, Shroff 2020.

Each user adds Laplace noise to the reward; UCB with a margin that covers the noise.

    for t = 1, 2, ...:
        if some arm has  A_a <= 4 ln t / eps_min^2:  pull it
        else pull the arm with the largest  u_a   (infinite before its first kept response)
        the user answers with epsilon and x from CTL (reward + Laplace(1/epsilon))
        if epsilon >= eps_min:
            N_a += 1;  s_a += x;  A_a += 1 / epsilon^2
        u_a = s_a / N_a + sqrt(2 ln t / N_a) + sqrt(32 A_a ln t) / N_a

HeLDP-UCB-LS: Ren, Zhou, Liu, Shroff 2020.

For rewards without limits: squeezed into (0, 1) by a sigmoid, then Laplace noise.

    for t = 1, 2, ...:
        if some arm has  A_a <= 4 ln t / eps_min^2:  pull it
        else pull the arm with the largest  u_a   (infinite before its first kept response)
        the user answers with epsilon and x from CTL-S (sigmoid of the reward + Laplace(1/epsilon))
        if epsilon >= eps_min:
            N_a += 1;  s_a += x;  A_a += 1 / epsilon^2
        u_a = s_a / N_a + sqrt(2 ln t / N_a) + sqrt(32 A_a ln t) / N_a

Agent 2 of the paper. The concentration of Laplace sums needs the forced pulls (lowest arm first). Guarantee: each
reward is eps_t-locally private.
Deviations from print: line 4 reads A before it exists at time t; the value of t - 1 is meant.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

from bandit_core.kernels import index
from bandit_core.model import Bound, KernelCall, Policy, RunSetup, any_rewards
from bandit_core.policies import index_family, local_family
from bandit_core.theory import local

Upper = Callable[[RunSetup], list[Bound]]


def _policy(
    upper: Upper,
    index: Callable[[float], dict[str, Any]],
    *,
    release: int,
    rule: Literal["v_l", "v_b"],
    squash: bool = False,
    step: float = 1.0,
    **fields: Any,
) -> Policy:
    """An entry: ``index(eps_min)`` gives the numbers of its index, ``step`` is the cost of one pull.

    ``squash``: for rewards without limits, of which users answer with the sigmoid.
    """

    def prepare(setup: RunSetup) -> KernelCall:
        eps_min = setup.parameters.eps_min
        return index_family.prepare(setup, release=release, squash=squash, eps_min=eps_min, **index(eps_min))

    return local_family.policy(
        parameters=local_family.ThresholdParameters,
        accepts=any_rewards if squash else local_family.bounded_rewards(fields["name"] + "s"),
        prepare=prepare,
        bounds=lambda setup: [*local.lower_bounds(setup), *upper(setup)],
        resolve=lambda parameters, epsilon: local_family.resolve_threshold(parameters, epsilon, rule),
        refuses=local_family.refuse_if_nobody_is_left,
        step_cost=index_family.cost(step),
        **fields,
    )


def _with_sigmoid(
    name: Literal["heldp-ucb-l", "heldp-ucb-b"], upper: Upper, releases: Callable[[str], Any], sent: str, **fields: Any
) -> Iterator[Policy]:
    """The policy, and the one for rewards without limits."""
    yield _policy(upper, name=name, releases=releases(f"{sent}the reward"), **fields)
    squeezed = {"squash": True, "name": f"{name}s", "releases": releases(f"{sent}the sigmoid of the reward")}
    yield _policy(partial(local.through_sigmoid, parent=name), **squeezed, **fields)


_bits = _with_sigmoid(
    "heldp-ucb-b", local.heldp_ucb_b, local_family.random_bits, "a bit for ",
    release=index.BITS, rule="v_b", index=lambda eps_min: dict(per_spread=2.0),
)  # fmt: skip
_noisy = _with_sigmoid(
    "heldp-ucb-l", local.heldp_ucb_l, local_family.noisy_answers, "",
    release=index.LAPLACE, rule="v_l", step=2.0,
    index=lambda eps_min: dict(per_pull=2.0, per_spread=32.0, forced=4 / eps_min**2),
)  # fmt: skip
POLICIES = (*_bits, *_noisy)
