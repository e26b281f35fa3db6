"""LDPRSE: Tao, Wu, Zhao, Wang 2022 (Algorithm 4, corrected).

For rewards with very large outliers and no trusted curator: truncated rewards with noise on each of them, and
elimination in ever longer epochs.

    S = all arms;  beta = 1/T
    for tau = 1, 2, ... while more than one arm is left:
        D = 4^-tau (or 2^-tau);  L = ln(8 |S| tau^2 / beta)
        R = ceil(kappa u^(2/v) (28 / D)^(2(1+v)/v) L / epsilon^2 + L)
        B = (u sqrt(R / L) epsilon)^(1/(1+v));  err = u^(1/(1+v)) (sqrt(L / R) / epsilon)^(v/(1+v))
        pull each arm of S  R times; each user sends  x (0 if |x| > B) + Laplace(2 B / epsilon)
        m_a = mean of what the R users of arm a sent
        drop every arm with  max m - m_a > 14 kappa^(v/(2(1+v))) err
    play the arm that is left

Promise: epsilon-local DP for every reward, however large (pure)

As DPRSE, but no one is trusted, so an epoch must be far longer: R grows like D^(-2(1+v)/v). ``shrink`` chooses D.

Guarantee: epsilon-local DP, pure, for every reward, whatever its size; B depends on nothing that a user sent.
kappa multiplies the leading part of R; the threshold is 14 kappa^(v/(2(1+v))) err, which stays half of D as in theory.
In other words, the error constants 28 and 14 become 28 c and 14 c with c = kappa^(v/(2(1+v))); default c = 1/16. The
proof holds for kappa = 1 only; the noise, and so privacy, is the same function of B.
Deviations from print: err has sqrt(R) in its denominator, where line 21 prints R (the appendix uses the root, and only
so 28 err <= D); one symbol for the two means of lines 19 to 23. An epoch that the horizon cuts short releases nothing.
Where rewards are counted late an epoch ends when R of each arm are, of users whom it has met itself; its means are of
all of these.
For epsilon above 1, where the paper's figures are, err leaves out the sampling error, and no theorem covers the run.
"""

from bandit_core.model import Bound, RunSetup
from bandit_core.policies import heavy_family
from bandit_core.policies.local_family import local_guarantee, noisy_answers
from bandit_core.theory import heavy, local


def _lower_bounds(setup: RunSetup) -> list[Bound]:
    return [
        *local.finite_time(setup),
        *heavy.plain_lower_bounds(setup),
        *heavy.central_lower_bounds(setup),
        *heavy.local_lower_bounds(setup),
    ]


POLICY = heavy_family.policy(
    _lower_bounds,
    heavy.ldp_robust_se,
    name="ldp-robust-se",
    privacy="local",
    anytime=False,
    parameters=heavy_family.LocalEliminationParameters,
    prepare=heavy_family.prepare_epochs,
    guarantee=local_guarantee,
    releases=noisy_answers("the reward (0 beyond B), in units of 2 B; B is that of its epoch and public"),
    step_cost=heavy_family.epoch_cost,
)
