"""The promises and their implications, checked on policies whose every outcome can be listed."""

import math
from itertools import pairwise

import numpy as np
import pytest
from listing import instantaneous_loss, loss

from bandit_core.model import PROMISES
from bandit_core.theory.definitions import DEFINITIONS, IMPLICATIONS, NOT_IMPLIED


def chance_of(table):
    """A policy from random numbers: the chance of arm 1 depends on all earlier actions and rewards."""
    return lambda actions, rewards: table[actions, rewards]


def random_policy(seed, users, spread):
    rng = np.random.default_rng(seed)
    table = {}
    for length in range(users):
        for actions in np.ndindex(*(2,) * length):
            for rewards in np.ndindex(*(2,) * length):
                table[tuple(actions), tuple(rewards)] = 0.5 + spread * rng.uniform(-1, 1)
    return chance_of(table)


def local_policy(epsilon):
    """Every reward passes through a coin; the next action repeats the last answer."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))

    def chance(actions, rewards):
        if not rewards:
            return 0.5
        return keep if rewards[-1] else 1 - keep

    return chance


def budget(source, target, epsilon, users):
    (found,) = [each for each in IMPLICATIONS if (each.source, each.target) == (source, target)]
    return found.budget(epsilon, users)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("users", [2, 3, 4])
def test_central_and_instantaneous_budgets_bound_each_other(seed, users):
    policy = random_policy(seed, users, 0.4)
    whole, single = loss(policy, users), instantaneous_loss(policy, users)
    assert 0 < single <= budget("central", "instantaneous", whole, users) * (1 + 1e-12)
    assert whole <= budget("instantaneous", "central", single, users) * (1 + 1e-12)


def test_what_choices_give_away_can_add_up_in_full():
    """Every later choice tells about the first reward again: the budget (T - 1) epsilon is reached."""
    for users in (2, 3, 4):
        policy = lambda actions, rewards: 0.5 if not rewards else (0.6 if rewards[0] else 0.4)  # noqa: E731
        single = instantaneous_loss(policy, users)
        assert single == pytest.approx(math.log(1.5))
        assert loss(policy, users) == pytest.approx((users - 1) * single)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_local_implies_central_with_the_same_budget(epsilon):
    for users in (2, 3, 4):
        for step in pairwise(("local", "shuffle", "distributed", "central")):
            assert loss(local_policy(epsilon), users) == pytest.approx(budget(*step, epsilon, users))


@pytest.mark.parametrize("seed", range(6))
def test_central_implies_environment_by_group_privacy(seed):
    """Chances of the actions under two laws of rewards differ by at most (T - 1) epsilon, whatever the laws are."""
    users = 3
    policy = random_policy(seed, users, 0.3)
    rng = np.random.default_rng(100 + seed)

    def chances(mean):
        found = {}
        for actions in np.ndindex(*(2,) * users):
            total = 0.0
            for rewards in np.ndindex(*(2,) * users):
                weight = math.prod(mean if reward else 1 - mean for reward in rewards)
                for t in range(users):
                    one = policy(tuple(actions[:t]), tuple(rewards[:t]))
                    weight *= one if actions[t] else 1 - one
                total += weight
            found[actions] = total
        return np.array(list(found.values()))

    first, second = chances(rng.uniform()), chances(rng.uniform())
    assert first.sum() == pytest.approx(1)
    largest = float(np.abs(np.log(first / second)).max())
    assert 0 < largest <= budget("central", "environment", loss(policy, users), users)


def seen_by(whom, chances):
    """The largest log-ratio, over two inputs of the first user, of what the users in ``whom`` see of the choices."""
    laws = []
    for law in chances:
        seen = {}
        for choices, chance in law.items():
            view = tuple(choices[user] for user in whom)
            seen[view] = seen.get(view, 0.0) + chance
        laws.append(seen)
    views = {*laws[0], *laws[1]}
    pairs = [(laws[0].get(view, 0.0), laws[1].get(view, 0.0)) for view in views]
    return max(abs(math.log(p / q)) if p and q else math.inf for p, q in pairs)


def test_neither_of_joint_and_central_dp_implies_the_other():
    masked = [{(coin, coin ^ reward): 0.5 for coin in (0, 1)} for reward in (0, 1)]
    assert seen_by([1], masked) == 0.0 and seen_by([0, 1], masked) == math.inf
    shown = [{(feature, feature): 1.0} for feature in (0, 1)]  # rewards change nothing here, features all
    assert seen_by([1], shown) == math.inf


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_choices_by_released_noise_and_own_features_are_jointly_private(epsilon):
    """The first user's own choice shows the own feature; the second one's is made from a noisy bit."""
    right = 1 / (1 + math.exp(-epsilon))
    laws = [{(own, own): right, (own, 1 - own): 1 - right} for own in (0, 1)]
    assert seen_by([1], laws) == pytest.approx(budget("distributed", "joint", epsilon, 2))
    assert seen_by([0], laws) == math.inf


def test_the_map_is_complete():
    assert {*DEFINITIONS, "none"} == set(PROMISES)
    lasting = {(each.source, each.target) for each in IMPLICATIONS if each.lasting}
    chain = ("local", "shuffle", "distributed", "central")
    assert lasting == {*pairwise(chain), ("distributed", "joint"), ("central", "instantaneous")}
    arrows = {(each.source, each.target) for each in IMPLICATIONS}
    assert not arrows & {(first, second) for first, second, _ in NOT_IMPLIED}
    for definition in DEFINITIONS.values():
        assert all((definition.says, definition.formula, definition.neighbouring, definition.trusted))
