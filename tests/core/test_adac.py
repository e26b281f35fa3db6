"""AdaC-UCB: from epsilon to its concentrated budget, what a run keeps, and the bound on regret that is proved here."""

import math

import numpy as np
import pytest
from runs import coins, one_line

from bandit_core.mechanisms.gaussian import smallest_delta
from bandit_core.policies import adac, registry
from bandit_core.studies.production import composed
from bandit_core.theory import definitions

PAIR = coins(0.8, 0.5)


def line(epsilon=1.0, arms=PAIR, horizon=10_000, **params):
    return registry()["adac-ucb"], one_line("adac-ucb", arms, epsilon, horizon, **params).setups[0]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 0.01])
def test_the_concentrated_budget_gives_the_epsilon_that_was_chosen(epsilon, delta):
    policy, paper = line(epsilon, delta=delta, accounting="paper")
    rho = adac.budget(paper)
    assert rho + 2 * math.sqrt(rho * math.log(1 / delta)) == pytest.approx(epsilon)
    _, tight = line(epsilon, delta=delta)
    more = adac.budget(tight)
    sd = 1 / math.sqrt(2 * more)
    assert smallest_delta(1.0, sd, epsilon) <= delta * (1 + 1e-9)
    assert delta < smallest_delta(1.0, 0.999 * sd, epsilon)
    # Orders of Renyi divergences lie between the two: less noise than as printed, and none of the three contradicts.
    assert rho < more
    assert epsilon < definitions.zcdp_epsilon(more, delta) < more + 2 * math.sqrt(more * math.log(1 / delta))
    for setup, budget in ((paper, rho), (tight, more)):
        kept = policy.guarantee(setup)
        assert (kept.measure, kept.delta, kept.rho) == ("concentrated", delta, budget)
        assert kept.epsilon == epsilon if setup is tight else kept.epsilon < epsilon
        [release] = policy.releases(setup)
        assert 0.5 * (release.sensitivity / release.scale) ** 2 == pytest.approx(budget)
        assert composed([release], delta) == pytest.approx(kept.epsilon, rel=1e-6)


def test_the_bound_by_hand_and_where_it_is_proved():
    policy, setup = line()
    [bound] = [bound for bound in policy.bounds(setup) if bound.side == "upper"]
    level, gap, rho = 3.1 * math.log(10_000), 0.3, adac.budget(setup)
    found = bound.curve(np.array([10_000.0]))[0]
    assert found == pytest.approx(8 * level / gap + 8 * math.sqrt(level / rho) + 2 * gap)
    assert not bound.not_applicable
    _, careless = line(alpha=2.9)
    assert all(bound.not_applicable for bound in policy.bounds(careless) if bound.side == "upper")
    # The two sums of the proof, at the smallest alpha: pulls that deviations cause.
    powers = 2.0 ** np.arange(60)
    own = (powers * (powers + 1) ** -3).sum()
    best = (powers[:, None] * (powers[:, None] + powers) ** -3).sum()
    assert own + best < 1
