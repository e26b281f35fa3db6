"""HeLDP-UCB-L (Ren, Zhou, Liu, Shroff 2020, Agent 2) and its version for unbounded rewards, HeLDP-UCB-LS.

Each user adds Laplace(1/eps) noise to the reward (mechanism CTL; CTL-S: to its sigmoid). The learner plays the arm
with the largest

    mean + sqrt(2 ln t / N) + sqrt(32 A ln t) / N,   A = sum of 1/eps^2 over the arm's responses,

after a forced pull of any arm with A <= 4 ln t / eps_min^2 (lowest arm first), which the concentration of
Laplace sums needs. Responses of users with eps < eps_min are discarded. Guarantee: each reward is eps_t-locally
private.
Deviations from print: line 4 reads A before it exists at time t; the value of t - 1 is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bandit_core.kernels import index
from bandit_core.model import KernelCall, Policy, RunSetup, any_rewards
from bandit_core.model.bound import Bound
from bandit_core.policies import index_family
from bandit_core.policies.local_family import (
    ThresholdParameters,
    bounded_rewards,
    local_guarantee,
    noisy_answers,
    refuse_if_nobody_is_left,
    resolve_threshold,
)
from bandit_core.theory import local, local_upper


def _preparer(squash: bool) -> Callable[[RunSetup], KernelCall]:
    def prepare(setup: RunSetup) -> KernelCall:
        eps_min = setup.parameters.eps_min
        return index_family.prepare(
            setup,
            release=index.LAPLACE, squash=squash, per_pull=2.0, per_spread=32.0, forced=4 / eps_min**2, eps_min=eps_min,
        )  # fmt: skip

    return prepare


def _bounds(setup: RunSetup) -> list[Bound]:
    return [*local.lower_bounds(setup), *local_upper.heldp_ucb_l(setup)]


def _sigmoid_bounds(setup: RunSetup) -> list[Bound]:
    return [*local.lower_bounds(setup), *local_upper.through_sigmoid(setup, "heldp-ucb-l")]


_PSEUDO_CODE = """for t = 1, 2, ...:
    if some arm has  A_a <= 4 ln t / eps_min^2:  pull it
    else pull the arm with the largest  u_a   (infinite before its first kept response)
    the user answers with epsilon and x from {mechanism}
    if epsilon >= eps_min:
        N_a += 1;  s_a += x;  A_a += 1 / epsilon^2
    u_a = s_a / N_a + sqrt(2 ln t / N_a) + sqrt(32 A_a ln t) / N_a"""

_COMMON: dict[str, Any] = dict(
    paper="Ren, Zhou, Liu, Shroff 2020",
    privacy="local",
    guarantee_words="epsilon-local DP for every reward (pure, each user's own epsilon)",
    epsilon="any",
    anytime=True,
    parameters=ThresholdParameters,
    guarantee=local_guarantee,
    resolve=lambda parameters, epsilon: resolve_threshold(parameters, epsilon, "v_l"),
    refuses=refuse_if_nobody_is_left,
    parent="ucb",
    sampler=lambda setup: index_family.sampler(setup, index.LAPLACE),
    step_cost=index_family.cost(index.LAPLACE, 2.0),
    held=index_family.held(index.LAPLACE),
)

POLICIES = (
    Policy(
        name="heldp-ucb-l",
        title="HeLDP-UCB-L",
        summary="Each user adds Laplace noise to the reward; UCB with a margin that covers the noise.",
        accepts=bounded_rewards("heldp-ucb-ls"),
        prepare=_preparer(squash=False),
        releases=noisy_answers("the reward"),
        bounds=_bounds,
        pseudo_code=_PSEUDO_CODE.format(mechanism="CTL (reward + Laplace(1/epsilon))"),
        **_COMMON,
    ),
    Policy(
        name="heldp-ucb-ls",
        title="HeLDP-UCB-LS",
        summary="For rewards without limits: squeezed into (0, 1) by a sigmoid, then Laplace noise.",
        accepts=any_rewards,
        prepare=_preparer(squash=True),
        releases=noisy_answers("the sigmoid of the reward"),
        bounds=_sigmoid_bounds,
        pseudo_code=_PSEUDO_CODE.format(mechanism="CTL-S (sigmoid of the reward + Laplace(1/epsilon))"),
        **_COMMON,
    ),
)
