"""kl-UCB (Garivier and Cappe 2011; Cappe, Garivier, Maillard, Munos, Stoltz 2013), without privacy.

Pull each arm once, then the arm with the largest q in [0, 1] that its record does not yet rule out:
N d(mean, q) <= ln t + 3 ln ln t, with the Bernoulli divergence d; ln ln t counts as 0 while ln t <= 1. For Bernoulli
arms its regret meets the Lai-Robbins lower bound; for other rewards in [0, 1] the same proof gives an upper bound.
"""

from __future__ import annotations

from bandit_core.model import Guarantee, Parameters, Policy, RunSetup
from bandit_core.model.bound import Bound
from bandit_core.policies import kl_family
from bandit_core.policies.local_family import bounded_rewards
from bandit_core.theory import classic, floors

SOURCE = "Garivier and Cappe 2011"


def _bounds(setup: RunSetup) -> list[Bound]:
    return [
        *floors.without_privacy(setup),
        *classic.lower_bounds(setup),
        classic.asymptotically_optimal(setup, SOURCE),
        *classic.orders(setup),
    ]


POLICY = Policy(
    name="kl-ucb",
    title="kl-UCB",
    paper="Garivier, Cappé 2011",
    summary="UCB with the exact margin for yes-or-no rewards: no policy can lose less in the long run.",
    privacy="none",
    guarantee_words="none: the learner sees every reward",
    epsilon="none",
    anytime=True,
    parameters=Parameters,
    accepts=bounded_rewards("ucb", whose="its index"),
    prepare=kl_family.prepare,
    bounds=_bounds,
    guarantee=lambda setup: Guarantee("none", "no privacy: the learner sees every reward"),
    pseudo_code="""pull each arm once
for t = K+1, K+2, ...:
    u_a = largest q in [0, 1] with  N_a d(mean_a, q) <= ln t + 3 ln ln t
    pull the arm with the largest  u_a""",
    step_cost=kl_family.cost,
)
