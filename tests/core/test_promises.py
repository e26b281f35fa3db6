"""What each promise implies, and what follows for bounds; test_definitions.py has protocols that list all outcomes."""

import math
from dataclasses import replace
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest

from bandit_core import Experiment
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.model import KEPT, MEASURES, PROMISES, Guarantee
from bandit_core.model.policy import Bound
from bandit_core.policies import registry
from bandit_core.policies.central_family import concentrated
from bandit_core.theory import definitions

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


def test_no_step_goes_back():
    for promise in PROMISES.values():
        assert promise.weaker in (None, "none") or promise.not_back
        assert promise.weaker is None or promise.key not in PROMISES[promise.weaker].implied()


def guarantees(model):
    return [
        Guarantee(model, "", 1.0),
        Guarantee(model, "", 1.0, 1e-6),
        Guarantee(model, "", 1.0, 1e-6, definitions.zcdp_rho(1.0, 1e-6)),
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
        rho = definitions.zcdp_rho(epsilon, delta)
        assert rho + 2 * math.sqrt(rho * math.log(1 / delta)) == pytest.approx(epsilon)
        assert float(definitions.zcdp_epsilon(rho, delta)) <= epsilon
        # Pure epsilon is more: its rho, epsilon^2 / 2, is larger than what may be spent at the same (epsilon, delta).
        assert epsilon**2 / 2 > rho
        renyi = definitions.laplace_renyi(definitions.ORDERS, epsilon)
        assert (renyi <= definitions.ORDERS * epsilon**2 / 2 * (1 + 1e-12)).all()
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
