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

Guarantee: epsilon-central DP, pure: every reward is in one released mean, which it can move by 2 B / R at most.
kappa multiplies the leading part of R. That makes err larger by kappa^(-v/(1+v)), and the threshold is
12 kappa^(v/(1+v)) err: still half of D, as in theory, so an arm is dropped in the same epoch if its estimate is good.
In other words, the error constants 24 and 12 become 24 c and 12 c with c = kappa^(v/(1+v)); default c = 1/16. The proof
that estimates are that good holds for kappa = 1 only; the noise, and so privacy, is the same function of R and B.
Deviations from print: an epsilon above 1 counts as 1 in R, B and err (not in the noise), as the sampling error is
covered for epsilon up to 1 only. An epoch that the horizon cuts short releases nothing.
Where rewards are counted late an epoch ends when R of each arm are, of users whom it has met itself; its means are of
all of these, n >= R of an arm, with Laplace(2 B / (n eps)) noise.
"""

from bandit_core.policies import heavy_family
from bandit_core.policies.central_family import noisy_sums, pure
from bandit_core.theory import heavy

POLICY = heavy_family.policy(
    heavy_family.central_lower_bounds,
    heavy.dp_robust_se,
    name="dp-robust-se",
    privacy="central",
    guarantee_words="epsilon-central DP (pure): every reward enters one released mean",
    anytime=False,
    parameters=heavy_family.EliminationParameters,
    prepare=heavy_family.prepare_epochs,
    guarantee=pure,
    releases=noisy_sums("the sum of an epoch's rewards (0 beyond B) of an arm, in units of 2 B, which is public"),
    step_cost=heavy_family.epoch_cost,
)
