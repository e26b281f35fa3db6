"""HeLDP-UCB-B (Ren, Zhou, Liu, Shroff 2020, Agent 4) and its version for unbounded rewards, HeLDP-UCB-BS.

Each user answers with one random bit (mechanism CTB: randomised response of the reward; CTB-S: of its sigmoid). The
learner maps bits to unbiased values g(x; eps) = 1/2 +- coth(eps/2)/2 and plays the arm with the largest

    mean of g + sqrt(2 B ln t) / N,   B = sum of beta(eps) over the arm's responses,  beta(eps) = coth(eps/2)^2.

Responses of users with eps < eps_min are discarded. Guarantee: each reward is eps_t-locally private.
Deviations from print: Curator 3 and Lemma 9 have epsilon where e^epsilon is meant; corrected here.
"""

from __future__ import annotations

from typing import Any

from bandit_core.kernels import index
from bandit_core.policies import heldp_family
from bandit_core.policies.local_family import random_bits
from bandit_core.theory import local_upper

_PSEUDO_CODE = """for t = 1, 2, ...:
    pull the arm with the largest  u_a   (infinite before its first kept response)
    the user answers with epsilon and a bit x from {mechanism}
    if epsilon >= eps_min:
        N_a += 1;  s_a += g(x; epsilon);  B_a += beta(epsilon)
    u_a = s_a / N_a + sqrt(2 B_a ln t) / N_a"""

_COMMON: dict[str, Any] = dict(
    release=index.BITS, rule="v_b",
    index=lambda eps_min: dict(per_spread=2.0),
)  # fmt: skip

POLICIES = (
    heldp_family.policy(
        local_upper.heldp_ucb_b,
        **_COMMON,
        name="heldp-ucb-b",
        title="HeLDP-UCB-B",
        summary="Each user answers with one coin-flipped bit; UCB on the corrected averages.",
        releases=random_bits("a bit for the reward"),
        pseudo_code=_PSEUDO_CODE.format(mechanism="CTB (randomised response of the reward)"),
    ),
    heldp_family.policy(
        lambda setup: local_upper.through_sigmoid(setup, "heldp-ucb-b"),
        **_COMMON,
        squash=True,
        name="heldp-ucb-bs",
        title="HeLDP-UCB-BS",
        summary="For rewards without limits: squeezed into (0, 1) by a sigmoid, then one coin-flipped bit.",
        releases=random_bits("a bit for the sigmoid of the reward"),
        pseudo_code=_PSEUDO_CODE.format(mechanism="CTB-S (randomised response of the sigmoid of the reward)"),
    ),
)
