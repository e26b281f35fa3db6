"""What each promise implies, checked on protocols whose every outcome can be listed, and what follows for bounds."""

import math
from collections import Counter
from dataclasses import replace
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest

from bandit_core import Experiment
from bandit_core.experiments.curves import line_bounds
from bandit_core.model import KEPT, MEASURES, PROMISES, Guarantee
from bandit_core.model.bound import Bound
from bandit_core.policies import registry
from bandit_core.policies.central_family import concentrated
from bandit_core.theory import accounting

MODULUS = 7
BINDS = {  # promise of a policy -> promises whose lower bounds bind it
    "none": {"none"},
    "central": {"none", "central"},
    "joint": {"none", "joint"},
    "distributed": {"none", "central", "joint", "distributed"},
    "shuffle": {"none", "central", "joint", "distributed", "shuffle"},
    "local": {"none", "central", "joint", "distributed", "shuffle", "local"},
}
PAIR = {"arms": [{"kind": "bernoulli", "mean": 0.5}, {"kind": "bernoulli", "mean": 0.4}]}
USERS = {"contexts": {"dimension": 2, "arms": 2, "law": {"kind": "sphere"}}}


def bounds_of(policy):
    """Every bound of a policy on two arms, or on users with features, that it refuses neither."""
    line = {"policy": policy.name}
    line |= {} if policy.epsilon == "none" else {"epsilon": {"kind": "fixed", "value": 0.5}}
    setting = USERS if policy.setting == "contexts" else PAIR
    return line_bounds(Experiment.model_validate({**setting, "lines": [line], "horizon": 10**6}), 0)


def views(messages):
    """What is seen of three users' messages: each one, the batch without names, the sum of lists, the plain sum."""
    return {
        "local": messages,
        "shuffle": tuple(sorted(messages)),
        "distributed": tuple(sum(message == value for message in messages) for value in range(MODULUS)),
        "sum": sum(messages) % MODULUS,
    }


def loss(view, device):
    """The largest log-ratio between two rewards of the first user, over what is seen; ``device(reward, user)`` gives
    the chances of its messages."""
    law = {reward: Counter() for reward in (0, 1)}
    for reward, seen in law.items():
        chances = [device(reward, 0), device(0, 1), device(1, 2)]
        for messages in product(range(MODULUS), repeat=3):
            chance = math.prod(each[message] for each, message in zip(chances, messages, strict=True))
            seen[views(messages)[view]] += chance
    largest = 0.0
    for seen in {*law[0], *law[1]}:
        p, q = law[0][seen], law[1][seen]
        if p + q > 1e-300:
            largest = max(largest, abs(math.log(p / q)) if p > 1e-300 < q else math.inf)
    return largest


def noisy(seed, epsilon):
    """Any local mechanism of this budget: random chances, and a random other law within a factor of e^epsilon."""
    rng = np.random.default_rng(seed)
    low = rng.uniform(0.2, 1, MODULUS)
    high = low * np.where(rng.random(MODULUS) < 0.5, math.exp(epsilon / 2), math.exp(-epsilon / 2))
    laws = (low / low.sum(), high / high.sum())
    return lambda reward, user: laws[reward]


@pytest.mark.parametrize("seed", range(4))
def test_each_step_of_the_chain_keeps_the_budget(seed):
    device = noisy(seed, 1.0)
    alone, shuffled, listed, summed = (loss(view, device) for view in ("local", "shuffle", "distributed", "sum"))
    assert 0 < summed <= listed <= alone * (1 + 1e-12)
    assert shuffled == pytest.approx(listed)  # the sum of lists shows what a shuffler shows, and no more


def test_no_step_goes_back():
    """Noise of one user alone hides the sum and not the messages; honest messages are hidden by nothing."""
    weights = np.exp(-np.minimum(np.arange(MODULUS), MODULUS - np.arange(MODULUS)))

    def one_adds_noise(reward, user):
        return np.roll(weights / weights.sum(), reward) if user == 2 else np.eye(MODULUS)[reward]

    assert loss("sum", one_adds_noise) == pytest.approx(1.0)
    assert loss("shuffle", one_adds_noise) == loss("local", one_adds_noise) == math.inf
    for promise in PROMISES.values():
        assert promise.weaker in (None, "none") or promise.not_back
        assert promise.weaker is None or promise.key not in PROMISES[promise.weaker].implied()


def guarantees(model):
    return [
        Guarantee(model, "", 1.0),
        Guarantee(model, "", 1.0, 1e-6),
        Guarantee(model, "", 1.0, 1e-6, accounting.zcdp_rho(1.0, 1e-6)),
    ]


@pytest.mark.parametrize("kept", KEPT)
def test_a_lower_bound_stands_beside_what_implies_its_promise_and_its_measure(kept):
    stronger = {"pure": 0, "concentrated": 1, "approximate": 2}
    assert set(BINDS) == set(KEPT)
    for guarantee, model, measure in product(guarantees(kept), PROMISES, MEASURES):
        bound = Bound("b", "lower", model, "any", "", "proved", "", "", "", np.log, measure=measure)
        binds = model == "none" or (model in BINDS[kept] and stronger[guarantee.measure] <= stronger[measure])
        assert (bound.judged(guarantee).not_applicable is None) == binds, (guarantee, model, measure)


def test_a_promise_without_lower_bounds_of_its_own_says_which_ones_bind_it():
    own = {bound.model for policy in registry().values() for bound in bounds_of(policy) if bound.side == "lower"}
    assert {key for key in KEPT if PROMISES[key].lower} == set(KEPT) - own == {"shuffle", "distributed"}


def test_no_bound_is_drawn_against_a_policy_with_a_weaker_promise():
    """Nor would one be if the same run kept less: what is left then binds the weaker promise, too."""
    left, out = 0, 0
    for policy in registry().values():
        for bound in bounds_of(policy):
            if bound.side == "upper":
                assert bound.model in ("none", policy.privacy)
                continue
            assert bound.not_applicable or bound.model in BINDS[policy.privacy], (policy.name, bound.name)
            for guarantee in (each for model in KEPT for each in guarantees(model)):
                judged = bound.judged(guarantee).not_applicable
                if judged is None:
                    assert bound.model in BINDS[guarantee.model]
                    pure = guarantee.measure == "pure" or bound.model == "none"
                    assert pure or bound.measure == "approximate"
                left += judged is None
                out += judged != bound.not_applicable
    assert left > 500 < out


def test_budgets_convert_in_one_direction_and_say_what_they_are():
    for epsilon, delta in product((0.05, 1.0, 8.0), (1e-2, 1e-9)):
        rho = accounting.zcdp_rho(epsilon, delta)
        assert rho + 2 * math.sqrt(rho * math.log(1 / delta)) == pytest.approx(epsilon)
        assert float(accounting.zcdp_epsilon(rho, delta)) <= epsilon
        # Pure epsilon is more: its rho, epsilon^2 / 2, is larger than what may be spent at the same (epsilon, delta).
        assert epsilon**2 / 2 > rho
        renyi = accounting.laplace_renyi(accounting.ORDERS, epsilon)
        assert (renyi <= accounting.ORDERS * epsilon**2 / 2 * (1 + 1e-12)).all()
    for strong, weak in pairwise(("pure", "concentrated", "approximate")):
        assert weak in MEASURES[strong].implied() and strong not in MEASURES[weak].implied()
    setup = SimpleNamespace(fixed_epsilon=1.0, parameters=SimpleNamespace(delta=1e-6))
    assert replace(concentrated(setup), words="") == guarantees("central")[2]
    labels = [guarantee.budget for guarantee in guarantees("central")]
    assert [each.measure for each in guarantees("central")] == ["pure", "approximate", "concentrated"]
    assert labels[0] == "ε = 1" and "δ" in labels[1] and "ρ" in labels[2] and "δ" in labels[2]


def test_every_promise_says_whom_it_trusts_and_what_each_party_sees():
    assert set(KEPT) < set(PROMISES) and list(PROMISES)[: len(KEPT)] == list(KEPT)
    assert len({PROMISES[key].sign for key in KEPT}) == len(KEPT)
    for key in KEPT:
        promise = PROMISES[key]
        assert promise.parties[0].name == "user" and len(promise.parties) == 3
        assert promise.parties[-1].private == (key != "none")
        assert (key == "none") == (not promise.formula)
        assert all((promise.says, promise.trusted, promise.seen, promise.unit))
