"""DPRSE: Tao, Wu, Zhao, Wang 2022 (Algorithm 3).

For rewards with very large outliers: plays all arms equally often and drops the clearly worse ones, comparing noisy
means of truncated rewards.

    S = all arms;  beta = 1/T;  e = min(epsilon, 1)
    for tau = 1, 2, ... while more than one arm is left:
        D = 2^-tau;  L = ln(4 |S| tau^2 / beta)
        R = ceil(kappa u^(1/v) (24 / D)^((1+v)/v) L / e + 1)
        B = (u R e / L)^(1/(1+v));  err = u^(1/(1+v)) (L / (R e))^(v/(1+v))
        pull each arm of S  R times;  m_a = mean of its rewards (0 where |x| > B) + Laplace(2 B / (R epsilon))
        drop every arm with  max m - m_a > 12 kappa^(v/(1+v)) err
    play the arm that is left

Promise: epsilon-central DP (pure): every reward enters one released mean

Guarantee: epsilon-central DP, pure: every reward is in one released mean, which it can move by 2 B / R at most.
kappa multiplies the leading part of R. That makes err larger by kappa^(-v/(1+v)), and the threshold is
12 kappa^(v/(1+v)) err: still half of D, as in theory, so an arm is dropped in the same epoch if its estimate is good.
In other words, the error constants 24 and 12 become 24 c and 12 c with c = kappa^(v/(1+v)); default c = 1/16. The proof
that estimates are that good holds for kappa = 1 only; the noise, and so privacy, is the same function of R and B.
Deviations from print: an epsilon above 1 counts as 1 in R, B and err (not in the noise), as the sampling error is
covered for epsilon up to 1 only. An epoch that the horizon cuts short releases nothing.
Where rewards are counted late an epoch ends when R of each arm are, of users whom it has met itself; its means are of
all of these, n >= R of an arm, with Laplace(2 B / (n eps)) noise.

DPRUCB (`dp-robust-ucb`): Tao, Wu, Zhao, Wang 2022 (Algorithms 1 and 2).

UCB for rewards with very large outliers; a curator adds them up in a tree with noise.

    e = min(epsilon, 1);  eps' = epsilon / (floor(log2 T) + 1)
    pull each arm once
    for t = K+1, ..., T:
        pull the arm a with the largest  S_a / N_a
            + kappa 18 u^(1/(1+v)) (ln(2 t^4) ln^(1.5+1/v) T / (N_a e))^(v/(1+v))
        N_a += 1;  B = (e u N_a / ln^1.5 T)^(1/(1+v))
        insert x (0 if |x| > B) into the tree of a; the new node gets Laplace(2 B / eps') noise
        S_a = sum of the noisy nodes that make up the first N_a rewards

Promise: epsilon-central DP (pure): a tree over every arm's truncated rewards, all releases together

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
from bandit_core.policies.central_family import central_release, noisy_sums, pure
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


POLICIES = (
    heavy_family.policy(
        heavy_family.central_lower_bounds,
        heavy.dp_robust_se,
        name="dp-robust-se",
        privacy="central",
        anytime=False,
        parameters=heavy_family.EliminationParameters,
        prepare=heavy_family.prepare_epochs,
        guarantee=pure,
        releases=noisy_sums("the sum of an epoch's rewards (0 beyond B) of an arm, in units of 2 B, which is public"),
        step_cost=heavy_family.epoch_cost,
    ),
    heavy_family.policy(
        heavy_family.central_lower_bounds,
        heavy.dp_robust_ucb,
        name="dp-robust-ucb",
        privacy="central",
        anytime=False,
        parameters=heavy_family.IndexParameters,
        prepare=_prepare,
        guarantee=pure,
        spending=_spending,
        releases=_releases,
        step_cost=lambda setup: 0.6 + 0.085 * len(setup.arms),
        held=heavy_family.index_held,
    ),
)
