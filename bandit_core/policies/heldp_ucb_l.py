"""HeLDP-UCB-L: Ren, Zhou, Liu, Shroff 2020.

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

from typing import Any

from bandit_core.kernels import index
from bandit_core.policies import heldp_family
from bandit_core.policies.local_family import noisy_answers
from bandit_core.theory import local_upper

_COMMON: dict[str, Any] = dict(
    release=index.LAPLACE, rule="v_l", step=2.0,
    index=lambda eps_min: dict(per_pull=2.0, per_spread=32.0, forced=4 / eps_min**2),
)  # fmt: skip

POLICIES = (
    heldp_family.policy(
        local_upper.heldp_ucb_l,
        **_COMMON,
        name="heldp-ucb-l",
        title="HeLDP-UCB-L",
        releases=noisy_answers("the reward"),
    ),
    heldp_family.policy(
        lambda setup: local_upper.through_sigmoid(setup, "heldp-ucb-l"),
        **_COMMON,
        squash=True,
        name="heldp-ucb-ls",
        title="HeLDP-UCB-LS",
        releases=noisy_answers("the sigmoid of the reward"),
    ),
)
