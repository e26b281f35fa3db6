"""Thompson sampling with beta posteriors (Thompson 1933; Agrawal and Goyal 2012), without privacy.

Every arm draws a plausible mean from its posterior, Beta(1 + ones, 1 + zeros), and the arm with the largest draw is
pulled. A reward in [0, 1] that is not 0 or 1 first becomes a coin toss with that chance (Agrawal and Goyal 2012,
Algorithm 2), so only the means of the arms matter. For Bernoulli arms its regret meets the Lai-Robbins lower bound
(Kaufmann, Korda, Munos 2012).
"""

from __future__ import annotations

from bandit_core.model import Guarantee, Parameters, Policy, RunSetup
from bandit_core.model.bound import Bound
from bandit_core.policies import posterior_family
from bandit_core.policies.local_family import bounded_rewards
from bandit_core.theory import classic, floors

SOURCE = "Kaufmann, Korda and Munos 2012"


def _bounds(setup: RunSetup) -> list[Bound]:
    return [
        *floors.without_privacy(setup),
        *classic.lower_bounds(setup),
        classic.asymptotically_optimal(setup, SOURCE),
        *classic.orders(setup),
    ]


POLICY = Policy(
    name="thompson",
    title="Thompson sampling",
    paper="Thompson 1933; Agrawal, Goyal 2012",
    summary="Plays each arm as often as it is believed to be the best one.",
    privacy="none",
    guarantee_words="none: the learner sees every reward",
    epsilon="none",
    anytime=True,
    parameters=Parameters,
    accepts=bounded_rewards("ucb", whose="its posterior"),
    prepare=posterior_family.prepare,
    bounds=_bounds,
    guarantee=lambda setup: Guarantee("none", "no privacy: the learner sees every reward"),
    pseudo_code="""for t = 1, 2, ...:
    draw  theta_a ~ Beta(1 + ones_a, 1 + zeros_a)  for each arm
    pull the arm with the largest  theta_a; its reward r becomes the coin x ~ Bernoulli(r)
    ones_a += x;  zeros_a += 1 - x""",
    step_cost=posterior_family.cost,
)
