"""DPRUCB: Tao, Wu, Zhao, Wang 2022 (Algorithms 1 and 2).

UCB for rewards with very large outliers; a curator adds them up in a tree with noise.

    e = min(epsilon, 1);  eps' = epsilon / (floor(log2 T) + 1)
    pull each arm once
    for t = K+1, ..., T:
        pull the arm a with the largest  S_a / N_a
            + kappa 18 u^(1/(1+v)) (ln(2 t^4) ln^(1.5+1/v) T / (N_a e))^(v/(1+v))
        N_a += 1;  B = (e u N_a / ln^1.5 T)^(1/(1+v))
        insert x (0 if |x| > B) into the tree of a; the new node gets Laplace(2 B / eps') noise
        S_a = sum of the noisy nodes that make up the first N_a rewards

Guarantee: epsilon-central DP, pure, over all releases: a reward enters at most floor(log2 T) + 1 nodes, each with noise
for the width 2 B of a bound at least as large as the reward's own. Released: every arm's sum at every step.
Deviations from print: the printed eps / ln T would spend 1.44 epsilon. An epsilon above 1 counts as 1 in B and in the
bonus (not in the noise), because both leave out the sampling error, which the noise covers for epsilon up to 1 only.
kappa below 1 (the default) gives up the proved bound on the regret; privacy does not depend on it.
"""

import math

import numpy as np

from bandit_core.mechanisms.counter import depth
from bandit_core.model import KernelCall, Release, RunSetup
from bandit_core.policies import heavy_family
from bandit_core.policies.central_family import central_release, pure
from bandit_core.theory import heavy


def node_scale(setup: RunSetup) -> float:
    """What a node's truncation level is multiplied with to give the scale of its noise: 2 / eps'."""
    return 2 * float(depth(setup.horizon)) / setup.fixed_epsilon


def _prepare(setup: RunSetup) -> KernelCall:
    p, epsilon = setup.parameters, min(1.0, setup.fixed_epsilon)
    log_t, order = heavy_family.log_horizon(setup), 1 + p.v
    # (ln^(1.5+1/v) T)^(v/(1+v)), with the exponents multiplied first: ln^(1.5+1/v) T is beyond a double for small v
    growth = log_t ** ((1.5 * p.v + 1) / order) / epsilon ** (p.v / order)
    bonus = p.kappa * 18 * p.u ** (1 / order) * growth
    return heavy_family.prepare_index(
        setup,
        bonus=bonus, slope=4.0, offset=math.log(2.0), level=(epsilon * p.u / log_t**1.5) ** (1 / order),
        node_scale=node_scale(setup),
    )  # fmt: skip


def _spending(setup: RunSetup, times: np.ndarray) -> np.ndarray:
    """An arm's first reward enters one more node whenever the arm's pulls double."""
    return setup.fixed_epsilon * np.minimum(1.0, depth(times) / depth(setup.horizon))


def _releases(setup: RunSetup) -> list[Release]:
    what = "a node of the tree over an arm's rewards (0 beyond B), in units of 2 B of the node, which is public"
    return [central_release(what, 1.0, node_scale(setup) / 2, "when it is full", int(depth(setup.horizon)))]


POLICY = heavy_family.policy(
    heavy_family.central_lower_bounds,
    heavy.dp_robust_ucb,
    name="dp-robust-ucb",
    privacy="central",
    guarantee_words="epsilon-central DP (pure): a tree over every arm's truncated rewards, all releases together",
    anytime=False,
    parameters=heavy_family.IndexParameters,
    prepare=_prepare,
    guarantee=pure,
    spending=_spending,
    releases=_releases,
    step_cost=lambda setup: 0.6 + 0.085 * len(setup.arms),
    held=heavy_family.index_held,
)
