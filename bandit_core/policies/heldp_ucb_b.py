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
"""

from typing import Any

from bandit_core.kernels import index
from bandit_core.policies import heldp_family
from bandit_core.policies.local_family import random_bits
from bandit_core.theory import local_upper

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
        releases=random_bits("a bit for the reward"),
    ),
    heldp_family.policy(
        lambda setup: local_upper.through_sigmoid(setup, "heldp-ucb-b"),
        **_COMMON,
        squash=True,
        name="heldp-ucb-bs",
        title="HeLDP-UCB-BS",
        releases=random_bits("a bit for the sigmoid of the reward"),
    ),
)
