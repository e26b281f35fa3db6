"""Thompson sampling with beta posteriors (Thompson 1933; Agrawal and Goyal 2012), without privacy.

Every arm draws a plausible mean from its posterior, Beta(1 + ones, 1 + zeros), and the arm with the largest draw is
pulled. A reward in [0, 1] that is not 0 or 1 first becomes a coin toss with that chance (Agrawal and Goyal 2012,
Algorithm 2), so only the means of the arms matter. For Bernoulli arms its regret meets the Lai-Robbins lower bound
(Kaufmann, Korda, Munos 2012).
"""

from __future__ import annotations

from bandit_core.policies import bernoulli_family

POLICY = bernoulli_family.plain_policy(
    "Kaufmann, Korda and Munos 2012",
    name="thompson",
    title="Thompson sampling",
    paper="Thompson 1933; Agrawal, Goyal 2012",
    summary="Plays each arm as often as it is believed to be the best one.",
    rests_on="posterior",
    prepare=bernoulli_family.prepare_posterior,
    pseudo_code="""for t = 1, 2, ...:
    draw  theta_a ~ Beta(1 + ones_a, 1 + zeros_a)  for each arm
    pull the arm with the largest  theta_a; its reward r becomes the coin x ~ Bernoulli(r)
    ones_a += x;  zeros_a += 1 - x""",
    sampler=bernoulli_family.posterior_sampler,
    step_cost=bernoulli_family.posterior_cost,
)
