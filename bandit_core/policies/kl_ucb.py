"""kl-UCB (Garivier and Cappe 2011; Cappe, Garivier, Maillard, Munos, Stoltz 2013), without privacy.

Pull each arm once, then the arm with the largest q in [0, 1] that its record does not yet rule out:
N d(mean, q) <= ln t + 3 ln ln t, with the Bernoulli divergence d; ln ln t counts as 0 while ln t <= 1. For Bernoulli
arms its regret meets the Lai-Robbins lower bound; for other rewards in [0, 1] the same proof gives an upper bound.
"""

from __future__ import annotations

from bandit_core.policies import bernoulli_family

POLICY = bernoulli_family.plain_policy(
    "Garivier and Cappe 2011",
    name="kl-ucb",
    title="kl-UCB",
    paper="Garivier, Cappé 2011",
    summary="UCB with the exact margin for yes-or-no rewards: no policy can lose less in the long run.",
    rests_on="index",
    prepare=bernoulli_family.prepare_kl,
    pseudo_code="""pull each arm once
for t = K+1, K+2, ...:
    u_a = largest q in [0, 1] with  N_a d(mean_a, q) <= ln t + 3 ln ln t
    pull the arm with the largest  u_a""",
    step_cost=bernoulli_family.kl_cost,
)
