"""HeLDP-UCB-B (Ren, Zhou, Liu, Shroff 2020, Agent 4) and its version for unbounded rewards, HeLDP-UCB-BS.

Each user answers with one random bit (mechanism CTB: randomised response of the reward; CTB-S: of its sigmoid). The
learner maps bits to unbiased values g(x; eps) = 1/2 +- coth(eps/2)/2 and plays the arm with the largest

    mean of g + sqrt(2 B ln t) / N,   B = sum of beta(eps) over the arm's responses,  beta(eps) = coth(eps/2)^2.

Responses of users with eps < eps_min are discarded. Guarantee: each reward is eps_t-locally private.
Deviations from print: Curator 3 and Lemma 9 have epsilon where e^epsilon is meant; corrected here.
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
    random_bits,
    refuse_if_nobody_is_left,
    resolve_threshold,
)
from bandit_core.theory import local, local_upper


def _preparer(squash: bool) -> Callable[[RunSetup], KernelCall]:
    def prepare(setup: RunSetup) -> KernelCall:
        return index_family.prepare(
            setup,
            release=index.BITS, squash=squash, per_spread=2.0, eps_min=setup.parameters.eps_min,
        )  # fmt: skip

    return prepare


def _bounds(setup: RunSetup) -> list[Bound]:
    return [*local.lower_bounds(setup), *local_upper.heldp_ucb_b(setup)]


def _sigmoid_bounds(setup: RunSetup) -> list[Bound]:
    return [*local.lower_bounds(setup), *local_upper.through_sigmoid(setup, "heldp-ucb-b")]


_PSEUDO_CODE = """for t = 1, 2, ...:
    pull the arm with the largest  u_a   (infinite before its first kept response)
    the user answers with epsilon and a bit x from {mechanism}
    if epsilon >= eps_min:
        N_a += 1;  s_a += g(x; epsilon);  B_a += beta(epsilon)
    u_a = s_a / N_a + sqrt(2 B_a ln t) / N_a"""

_COMMON: dict[str, Any] = dict(
    paper="Ren, Zhou, Liu, Shroff 2020",
    privacy="local",
    guarantee_words="epsilon-local DP for every reward (pure, each user's own epsilon)",
    epsilon="any",
    anytime=True,
    parameters=ThresholdParameters,
    guarantee=local_guarantee,
    resolve=lambda parameters, epsilon: resolve_threshold(parameters, epsilon, "v_b"),
    refuses=refuse_if_nobody_is_left,
    parent="ucb",
    sampler=lambda setup: index_family.sampler(setup, index.BITS),
    step_cost=index_family.cost(index.BITS),
    held=index_family.held(index.BITS),
)

POLICIES = (
    Policy(
        name="heldp-ucb-b",
        title="HeLDP-UCB-B",
        summary="Each user answers with one coin-flipped bit; UCB on the corrected averages.",
        accepts=bounded_rewards("heldp-ucb-bs"),
        prepare=_preparer(squash=False),
        releases=random_bits("a bit for the reward"),
        bounds=_bounds,
        pseudo_code=_PSEUDO_CODE.format(mechanism="CTB (randomised response of the reward)"),
        **_COMMON,
    ),
    Policy(
        name="heldp-ucb-bs",
        title="HeLDP-UCB-BS",
        summary="For rewards without limits: squeezed into (0, 1) by a sigmoid, then one coin-flipped bit.",
        accepts=any_rewards,
        prepare=_preparer(squash=True),
        releases=random_bits("a bit for the sigmoid of the reward"),
        bounds=_sigmoid_bounds,
        pseudo_code=_PSEUDO_CODE.format(mechanism="CTB-S (randomised response of the sigmoid of the reward)"),
        **_COMMON,
    ),
)
