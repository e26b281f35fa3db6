"""Guarantees and what they imply: protocols whose outcomes are listed, bounds, accounts of releases."""

import io
import json
import math
from dataclasses import replace
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from helpers import fixed
from helpers import line_of as experiment_of
from hypothesis import given, settings
from hypothesis import strategies as st
from listing import instantaneous_loss, loss
from scipy import special

from bandit_core import Experiment
from bandit_core.cli import main
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.mechanisms.gaussian import smallest_epsilon
from bandit_core.model import KEPT, MEASURES, PROMISES, Guarantee, Release
from bandit_core.model.policy import Bound
from bandit_core.policies import registry
from bandit_core.policies.central_family import concentrated
from bandit_core.studies.production import COLUMNS, composed, releases
from bandit_core.theory import definitions
from bandit_core.theory.definitions import DEFINITIONS, IMPLICATIONS, NOT_IMPLIED

# ---------------------------------------------------------------------------------------------------------------------
# The promises and their implications, checked on policies whose every outcome can be listed.


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


def test_the_map_is_complete():
    assert {*DEFINITIONS, "none"} == set(PROMISES)
    lasting = {(each.source, each.target) for each in IMPLICATIONS if each.lasting}
    chain = ("local", "shuffle", "distributed", "central")
    assert lasting == {*pairwise(chain), ("distributed", "joint"), ("central", "instantaneous")}
    arrows = {(each.source, each.target): each.budget(0.5, 4) for each in IMPLICATIONS}
    group = {("central", "instantaneous"): 1.0, ("instantaneous", "central"): 1.5, ("central", "environment"): 1.5}
    assert arrows == dict.fromkeys(lasting, 0.5) | group
    assert not {*arrows} & {(first, second) for first, second, _ in NOT_IMPLIED}
    for definition in DEFINITIONS.values():
        assert all((definition.says, definition.formula, definition.neighbouring, definition.trusted))


# ---------------------------------------------------------------------------------------------------------------------
# What each promise implies, and what follows for bounds.


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


# ---------------------------------------------------------------------------------------------------------------------
# The accounts of DP-UCB-INT: the numbers of the literature, brute force, and inversions.


DELTA = math.exp(-10)
V = 1.1


def budgets(interval, v, releases):
    return (interval * np.arange(1.0, releases + 1)) ** (-v / 2)


def advanced_composition(epsilons, delta):
    """k-fold adaptive composition with different budgets: Dwork, Rothblum and Vadhan 2010, Theorem III.3.

    Theorem 3.4 of Tossou and Dimitrakakis is this; the plain sum where that is smaller.
    """
    drift = float(np.sum(epsilons * np.expm1(epsilons)))
    return min(float(np.sum(epsilons)), drift + math.sqrt(2 * math.log(1 / delta) * float(np.sum(epsilons**2))))


@pytest.mark.parametrize(
    ("target", "run_with", "printed", "advanced", "tight"),
    [(1.0, 0.06296, 16, 153, 93), (0.1, 0.0068057, 147, 8715, 4142)],
)
def test_input_epsilon_and_intervals(target, run_with, printed, advanced, tight):
    assert definitions.input_epsilon(target, DELTA, V) == pytest.approx(run_with, rel=1e-4)
    assert definitions.release_interval(target, DELTA, V, "paper") == printed
    assert definitions.release_interval(target, DELTA, V, "advanced") == advanced
    assert definitions.release_interval(target, DELTA, V) == tight
    assert definitions.interval_epsilon(tight - 1, V, DELTA) > target >= definitions.interval_epsilon(tight, V, DELTA)


@pytest.mark.parametrize(("interval", "pulls", "advanced"), [(16, 1e5, 2.78), (147, 1e5, 0.689)])
def test_what_advanced_composition_says_of_constant_intervals_is_more_than_is_spent(interval, pulls, advanced):
    by_hand = advanced_composition(budgets(interval, V, pulls // interval), DELTA)
    assert by_hand == pytest.approx(advanced, rel=2e-3)
    assert definitions.interval_epsilon(interval, V, DELTA, pulls) < by_hand


@settings(deadline=None)
@given(st.integers(1, 300), st.floats(1.01, 1.5), st.floats(1e-12, 0.5), st.integers(0, 40_000))
def test_interval_accounts_equal_a_sum_release_by_release(interval, v, delta, pulls):
    releases = budgets(interval, v, pulls // interval)
    expected = min(releases.sum(), definitions.zcdp_epsilon(np.sum(releases**2) / 2, delta))
    spent = definitions.interval_epsilon(interval, v, delta, pulls)
    assert spent == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert spent <= advanced_composition(releases, delta) * (1 + 1e-9)


@settings(deadline=None)
@given(st.integers(1, 10_000), st.floats(1.01, 1.5), st.floats(1e-12, 0.5))
def test_accounts_grow_with_pulls_up_to_their_limit(interval, v, delta):
    pulls = np.geomspace(1, 1e15, 60)
    spent = definitions.interval_epsilon(interval, v, delta, pulls)
    assert np.all(np.diff(spent) >= -1e-12)
    assert np.all(spent[pulls < interval] == 0)
    assert np.all(spent <= definitions.interval_epsilon(interval, v, delta) + 1e-9)


@settings(deadline=None)
@given(st.floats(1e-6, 20.0), st.floats(1e-12, 0.5), st.floats(1.02, 1.5))
def test_the_tight_interval_keeps_its_promise_and_is_never_longer_than_the_advanced_one(epsilon, delta, v):
    tight = definitions.release_interval(epsilon, delta, v)
    assert definitions.interval_epsilon(tight, v, delta) <= epsilon
    assert tight == 1 or definitions.interval_epsilon(tight - 1, v, delta) > epsilon
    assert tight <= definitions.release_interval(epsilon, delta, v, "advanced")


def laplace_divergence(order, epsilon):
    """By numerical integration of p^a q^(1-a), for noise of scale 1/epsilon and inputs 0 and 1."""
    x = np.linspace(-60 / epsilon, 1 + 60 / epsilon, 2_000_001)
    p, q = (-epsilon * np.abs(x - place) + math.log(epsilon / 2) for place in (0.0, 1.0))
    return math.log(np.trapezoid(np.exp(order * p + (1 - order) * q), x)) / (order - 1)


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
@pytest.mark.parametrize("order", [1.01, 1.5, 2.0, 10.0, 40.0])
def test_renyi_divergence_of_a_laplace_release(order, epsilon):
    assert definitions.laplace_renyi(order, epsilon) == pytest.approx(laplace_divergence(order, epsilon), rel=1e-4)


@settings(deadline=None)
@given(st.floats(1e-8, 50))
def test_no_release_is_above_its_zcdp_nor_its_budget(epsilon):
    orders = definitions.ORDERS
    found = definitions.laplace_renyi(orders, epsilon)
    assert np.all(found >= 0)
    assert np.all(found <= orders * epsilon**2 / 2) and np.all(found <= epsilon)
    assert np.all(np.diff(found) >= -1e-6 * epsilon)  # divergences grow with their order


# -------------------------------------------------------------------------------------------------------------------
# Renyi divergences


@settings(deadline=None)
@given(st.floats(0.1, 10), st.floats(1e-12, 1e-3))
def test_the_epsilon_of_divergences_is_an_upper_bound_and_near_the_exact_one_for_normal_noise(distance, delta):
    found = definitions.zcdp_epsilon(distance**2 / 2, delta)
    exact = smallest_epsilon(distance, 1.0, delta)
    assert exact * (1 - 1e-9) <= found <= 1.25 * exact + 0.3 * distance


def test_what_any_order_proves_is_proved():
    """A coarser grid of orders is never below a finer one by more than nothing, and the grid is fine enough."""
    for rho, delta in ((0.5, 1e-6), (1e-9, 1e-12), (30.0, 0.2)):
        fine = definitions.ORDERS
        coarse = definitions.renyi_epsilon(rho * fine[::10], delta, fine[::10])
        finest = definitions.zcdp_epsilon(rho, delta)
        assert finest <= coarse <= finest * (1 + 2e-3)


@settings(deadline=None)
@given(st.floats(1e-9, 1.0), st.floats(1e-12, 0.5), st.floats(1.02, 1.5))
def test_corollary_3_2_inverts_corollary_3_1(epsilon, delta, v):
    run_with = definitions.input_epsilon(epsilon, delta, v)
    scale = 8 * special.zeta(v)
    printed = math.sqrt((math.log(1 / delta) + 4 * epsilon) / scale) - math.sqrt(math.log(1 / delta) / scale)
    assert run_with == pytest.approx(printed, rel=1e-5, abs=1e-12)
    limit = 2 * run_with * special.zeta(v) + math.sqrt(2 * special.zeta(v) * math.log(1 / delta))
    assert run_with * limit == pytest.approx(epsilon, rel=1e-9)


# ---------------------------------------------------------------------------------------------------------------------
# What policies say they release, for the whole registry: it adds up to the guarantee at most, and to most of it.


PRIVATE = [name for name, policy in registry().items() if policy.privacy != "none"]
SPREAD = {"kind": "discrete", "values": [0.5, 2.0], "probs": [0.5, 0.5]}


def cases(name):
    """Every account and every counter of a policy, at several budgets, horizons and structures."""
    fields = registry()[name].parameters.model_json_schema()["properties"]
    choices = [{field: word} for field in ("accounting", "counter") for word in fields.get(field, {}).get("enum", [])]
    for params in choices or [{}]:
        for epsilon, horizon in ((0.1, 1), (1.0, 77), (0.5, 100_000), (4.0, 2**20), (1.0, 10**9)):
            for structure in ("single", "multi") if registry()[name].setting == "contexts" else ("single",):
                yield experiment_of(name, fixed(epsilon), horizon, structure, **params)


@pytest.mark.parametrize("name", PRIVATE)
def test_what_is_released_adds_up_to_the_guarantee_and_to_most_of_it(name):
    for experiment in cases(name):
        policy, instance = registry()[name], experiment.setups[0]
        listed, guarantee = policy.releases(instance), policy.guarantee(instance)
        kept = composed(listed, guarantee.delta)
        assert kept <= guarantee.epsilon * (1 + 1e-9)
        if guarantee.delta == 0:
            assert kept >= policy.spent(instance, np.array([instance.horizon]))[0] * (1 - 1e-9)
            assert kept >= 0.5 * guarantee.epsilon
        elif name != "dp-ucb-int":
            assert kept >= guarantee.epsilon * (1 - 1e-9)


@pytest.mark.parametrize("name", [name for name in registry() if name not in PRIVATE])
def test_without_privacy_there_is_nothing_to_list(name):
    assert registry()[name].releases(experiment_of(name).setups[0]) == []
    assert releases(experiment_of(name)).shape == (0, len(COLUMNS))


@pytest.mark.parametrize("name", [name for name in PRIVATE if registry()[name].epsilon == "any"])
def test_where_users_have_budgets_of_their_own_the_row_has_the_largest(name):
    (listed,) = registry()[name].releases(experiment_of(name, SPREAD).setups[0])
    assert listed.epsilon == 2.0
    assert "own" in listed.at
    assert "own" not in registry()[name].releases(experiment_of(name, fixed(2.0)).setups[0])[0].at
    params = {"eps_min": 0.5} if "eps_min" in registry()[name].parameters.model_fields else {}
    endless = experiment_of(name, {"kind": "lognormal", "median": 1.0, "sigma": 1.0}, **params)
    (listed,) = registry()[name].releases(endless.setups[0])
    assert listed.epsilon == endless.lines[0].epsilon.largest


@pytest.mark.parametrize(("word", "interval"), [("paper", 16), ("advanced", 153), ("tight", 93)])
def test_the_releases_of_dp_ucb_int_one_by_one(word, interval):
    experiment = experiment_of("dp-ucb-int", fixed(1.0), 50 * interval, accounting=word)
    found = releases(experiment)
    pulls = interval * np.arange(1, 50)  # the other arm has its first round
    assert np.allclose(1 / found["sensitivity"], pulls)
    assert np.allclose(found["scale"], pulls ** (1.1 / 2 - 1))
    assert np.allclose(found["epsilon"], pulls ** (-1.1 / 2))
    assert set(found["times"]) == {1}
    by_hand = sum(definitions.laplace_renyi(definitions.ORDERS, each) for each in found["epsilon"])
    delta = math.exp(-10)
    listed = registry()["dp-ucb-int"].releases(experiment.setups[0])
    assert composed(listed, delta) == pytest.approx(float(definitions.renyi_epsilon(by_hand, delta)), rel=1e-3)
    assert composed(listed, delta) <= definitions.interval_epsilon(interval, 1.1, delta, pulls[-1])


@pytest.mark.parametrize("v", [1.02, 1.1, 1.5])
def test_late_releases_are_told_together_without_spending_less(v):
    experiment = experiment_of("dp-ucb-int", fixed(1.0), 3 * 10**6, v=v)
    interval = definitions.release_interval(1.0, math.exp(-10), v)
    listed = registry()["dp-ucb-int"].releases(experiment.setups[0])
    count = (3 * 10**6 - interval) // interval
    assert sum(each.times for each in listed) == count
    exact = np.sum((interval * np.arange(1.0, count + 1)) ** -v)
    message = sum(each.times * each.epsilon**2 for each in listed)
    assert exact <= message <= exact * 1.0005
    assert len(listed) < 20_000


def test_composition_by_hand():
    def laplace(epsilon, times=1):
        return Release(
            mechanism="laplace", released="", unit="one reward", at="", times=times, norm="L1", sensitivity=2.0,
            scale=2.0 / epsilon,
        )  # fmt: skip

    def normal(distance, times=1):
        return Release(
            mechanism="gaussian", released="", unit="one reward", at="", times=times, norm="L2", sensitivity=distance,
            scale=1.0,
        )  # fmt: skip

    bit = Release(mechanism="randomised response", released="", unit="one reward", at="", budget=0.25)
    assert composed([]) == composed([], 0.1) == 0
    assert composed([laplace(0.5, 3), bit]) == 1.75
    assert composed([laplace(0.5, 3), bit], 1e-9) == pytest.approx(
        1.75
    )  # few releases: the sum is smaller than what delta buys
    assert composed([normal(1.0)]) == math.inf  # normal noise is not pure
    assert composed([normal(3.0), normal(2.0, 4)], 1e-5) == pytest.approx(smallest_epsilon(5.0, 1.0, 1e-5))
    mixed = composed([normal(0.5), laplace(0.1, 100), bit], 1e-5)
    assert smallest_epsilon(0.5, 1.0, 1e-5) < mixed < 10.25
    assert composed([laplace(math.inf)], 1e-5) == math.inf


# -------------------------------------------------------------------------------------------------------------------
# The command line, and parameters told


def test_the_command_prints_what_the_function_gives(tmp_path, capsys):
    spec = experiment_of("dp-ucb", fixed(1.0), 1000).spec()
    spec["lines"].append({"policy": "ucb"})
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    assert main(["releases", str(path)]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert tuple(printed.columns) == COLUMNS
    expected = releases(Experiment.model_validate(spec))
    pd.testing.assert_frame_equal(printed, expected, check_dtype=False)
    assert (printed["line"] == 0).all() and len(printed) == 2
    out = tmp_path / "releases.json"
    assert main(["releases", str(path), "--out", str(out)]) == 0
    rows = json.loads(out.read_text(encoding="utf-8"))
    assert [row["scale"] for row in rows] == expected["scale"].tolist()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("dp-ucb-int", "as printed", "paper"),
        ("dp-ucb-int", "calibrated", "advanced"),
        ("dp-ucb", "as printed", "paper"),
        ("dp-ucb-bound", "calibrated", "tight"),
    ],
)
def test_older_specs_still_run_as_they_did(name, old, new):
    experiment = experiment_of(name, fixed(1.0), accounting=old)
    assert experiment == experiment_of(name, fixed(1.0), accounting=new)
    assert experiment.spec()["lines"][0]["params"] == {"accounting": new}


@pytest.mark.parametrize(("name", "epsilon"), [("dist-rdp-se", 1.0), ("dist-linucb", 2.0), ("ldp-sgd", 1.0)])
def test_releases_that_state_a_budget_list_their_noise_as_well(name, epsilon):
    setup = experiment_of(name, fixed(epsilon), 5000, "single").setups[0]
    [release] = registry()[name].releases(setup)
    noise, made = release.scale, registry()[name].prepare(setup).arguments
    [numbers] = [part for part in made if hasattr(part, "_fields") and {"levels", "ball", "spread"} & {*part._fields}]
    if name == "ldp-sgd":
        assert noise == numbers.ball.radius > 1
    elif name == "dist-linucb":
        assert noise == pytest.approx(math.sqrt(numbers.variance) / numbers.levels) and release.sensitivity > 1
    else:
        assert noise == pytest.approx(math.sqrt(numbers.spread[0]) / numbers.levels[0])
    assert release.epsilon == release.budget
