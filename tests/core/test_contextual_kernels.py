"""Users with features: kernels against plain Python and NumPy, and private sums of a curator."""

import math
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
import reference_contextual as reference
from runs import LATENESS, Immediate
from scipy import stats

from bandit_core import Experiment, simulate
from bandit_core.jit.decorators import kernel
from bandit_core.kernels import contextual as kernels
from bandit_core.kernels.normal_blocks import EDGE, LANES, fill_normals
from bandit_core.kernels.normals import normal
from bandit_core.kernels.play import Stream
from bandit_core.kernels.streams import streams
from bandit_core.mechanisms.batch import SkellamSum
from bandit_core.mechanisms.gaussian import smallest_delta
from bandit_core.mechanisms.square_root import exponentials
from bandit_core.model import Signal
from bandit_core.policies import registry
from bandit_core.policies.contextual import dist_linucb, jdp_linucb
from bandit_core.simulation.store import Store
from bandit_core.spec.feedback import IMMEDIATE, Feedback
from bandit_core.theory import contextual, definitions

# ---------------------------------------------------------------------------------------------------------------------
# Contextual kernels against plain Python and NumPy on the same draws, and what holds for the users they meet.


GO_ON = np.zeros(2, np.int64)  # a signal that asks for nothing
NAMES = [name for name, policy in registry().items() if policy.setting == "contexts"]
ONE = {"dimension": 2, "arms": 4}
MANY = {"dimension": 3, "arms": 3, "structure": "multi", "law": {"kind": "gaussian", "sd": 0.8}, "noise": 0.1}
LOGISTIC = {"dimension": 3, "arms": 3, "link": "logistic", "law": {"kind": "cube", "half_width": 0.7}}
POISSON = {"dimension": 2, "arms": 3, "structure": "multi", "link": "poisson"}
WIDE = {"dimension": 9, "arms": 7, "law": {"kind": "gaussian", "sd": 0.5}}  # 16 users are drawn at once
MARGIN = {"dimension": 4, "arms": 3, "law": {"kind": "margin", "beta": 0.5}, "noise": 0.2}
WORST = {"dimension": 3, "arms": 2, "law": {"kind": "margin", "beta": 0.0}}
PRICED = {
    "dimension": 4,
    "arms": 3,
    "law": {"kind": "table", "rows": [[1, 0.5], [0.2, -0.3]], "actions": [0, 0.5, 1]},
    "theta": {"kind": "given", "values": [0.3, -0.2, 0.5, 0.1]},
}  # fmt: skip (the two users are not at right angles: the second one's arms would tie up to rounding)
USERS = {
    "one parameter": ONE, "many": MANY, "logistic": LOGISTIC, "poisson": POISSON, "margin": MARGIN, "worst": WORST,
    "priced": PRICED, "wide": WIDE, "one dimension": {"dimension": 1, "arms": 2},
}  # fmt: skip
WARMED = [name for name in NAMES if "warm_up" in registry()[name].parameters.model_fields]
AS_DEFINED = {
    "ldp-ols": {"refresh": 0}, "ldp-linucb": {"refresh": 0}, "ldp-gloc": {"refresh": 0},
    "jdp-linucb": {"refresh": 0, "first": 4}, "jdp-greedy": {"refresh": 0, "first": 4},
    "dist-linucb": {"first": 4, "growth": 1.3},
}  # fmt: skip

SOLVED_LATER = {
    "ldp-linucb": {"refresh": 0.1}, "ldp-gloc": {"refresh": 0.1}, "jdp-linucb": {"refresh": 0.1, "first": 20},
}  # fmt: skip


def experiment_of(policy: str, contexts: dict, horizon: int, trials: int = 2, epsilon: float = 1.0, **params):
    line = {"policy": policy, "params": params}
    if registry()[policy].epsilon != "none":
        line["epsilon"] = {"kind": "fixed", "value": epsilon}
    return Experiment.model_validate({"contexts": contexts, "lines": [line], "horizon": horizon, "trials": trials})


def willing(policy: str, contexts: dict) -> bool:
    return policy in ("ldp-sgd", "ldp-gloc") or contexts.get("link", "identity") == "identity"


def compare(policy: str, contexts: dict, horizon: int, feedback: Feedback = IMMEDIATE, **params) -> None:
    instance = replace(experiment_of(policy, contexts, horizon, **params).setups[0], feedback=feedback)
    play, rows = registry()[policy].play, streams(3, 0, 2)
    block, few = (
        play(instance, rows, times, Signal()) for times in (np.arange(1, horizon + 1), np.array([1, horizon]))
    )
    for trial in range(2):
        regret, arms, error = reference.played(policy, instance, rows[trial])
        np.testing.assert_allclose(block.regret[trial], regret, rtol=1e-8, atol=1e-10)
        np.testing.assert_array_equal(block.pulls[trial], np.bincount(arms, minlength=instance.contexts.arms))
        np.testing.assert_allclose(block.error[trial], error, rtol=1e-6)
        np.testing.assert_array_equal(few.regret[trial], block.regret[trial, [0, -1]])
        assert block.best_pulls[trial, -1] == np.sum(np.diff(block.regret[trial], prepend=0.0) == 0)


@pytest.mark.parametrize("users", USERS)
@pytest.mark.parametrize("policy", NAMES)
def test_the_same_arms_as_the_reference(policy, users):
    contexts = USERS[users]
    if not willing(policy, contexts):
        with pytest.raises(ValueError, match="identity link"):
            experiment_of(policy, contexts, 10)
        return
    if policy == "linucb" and contexts.get("law", {}).get("kind", "sphere") in ("sphere", "margin"):
        contexts = contexts | {"law": {"kind": "cube"}}  # at norm 1 the first bonuses are equal up to rounding
    params = dict(AS_DEFINED.get(policy, {}))
    if "warm_up" in registry()[policy].parameters.model_fields:
        params["warm_up"] = 5
    compare(policy, contexts, 80, **params)


@pytest.mark.parametrize(
    ("policy", "params"),
    [
        ("ldp-ols", {"h": 0.02, "warm_up": 10, "refresh": 0, "context_bound": 2.0, "reward_bound": 0.5}),
        ("ldp-ols", {"shift": 0, "warm_up": 4, "refresh": 0}),
        ("ldp-sgd", {"h": 3.0, "warm_up": 10, "ridge": 0.1, "decay": 0.5, "offset": 20, "project": 1.5}),
        ("ldp-ols", {"warm_up": 4, "refresh": 0, "accounting": "paper"}),
        ("ldp-sgd", {"gradient_bound": 0.5, "step": 2.0, "warm_up": 1}),
        ("ldp-sgd", {"warm_up": 3, "accounting": "paper"}),
        ("ldp-linucb", {"refresh": 0, "accounting": "paper"}),
        ("ldp-gloc", {"refresh": 0, "accounting": "paper"}),
        ("ldp-gloc", {"zeta": 0.3, "refresh": 0}),
        ("jdp-linucb", {"counter": "tree", "refresh": 0.3, "first": 5, "confidence": 0.01, "width": 0.3}),
        ("jdp-linucb", {"counter": "tree", "accounting": "paper", "refresh": 0.2, "first": 3, "confidence": 0.001}),
        ("jdp-greedy", {"counter": "tree", "refresh": 0, "first": 1, "shift": 0.5, "ridge": 2.0}),
        ("jdp-greedy", {"refresh": 0.1, "first": 7, "shift": 0}),
        ("dist-linucb", {"first": 1, "growth": 1.1, "confidence": "off", "shift": 0.5}),
        ("dist-linucb", {"first": 7, "width": 0.2, "confidence": 0.01, "ridge": 3.0}),
        ("linucb", {"width": 0.3, "ridge": 0.5}),
        ("greedy-ols", {"warm_up": 2}),
    ],
)
def test_parameters_as_the_reference_has_them(policy, params):
    compare(policy, MANY, 60, epsilon=0.4, **params)


@pytest.mark.parametrize("users", [ONE, MANY, WIDE], ids=["one parameter", "many", "wide"])
@pytest.mark.parametrize("policy", SOLVED_LATER)
def test_indices_that_are_known_before_a_user_comes_are_those_of_the_reference(policy, users):
    compare(policy, users, 300, **SOLVED_LATER[policy])


@pytest.mark.parametrize("users", [ONE, MANY], ids=["one parameter", "many"])
def test_contexts_that_wait_for_a_solution_are_all_in_its_sums(users):
    """More of them than are added together, in trials that follow each other."""
    contexts = users | {"law": {"kind": "cube"}}
    compare("ldp-ols", contexts, 300, refresh=1.0, warm_up=40)
    compare("ldp-linucb", contexts, 300, refresh=1.0)
    compare("ldp-gloc", contexts, 300, refresh=1.0)


@pytest.mark.parametrize("width", [0.02, 0.3, 3.0])
@pytest.mark.parametrize("structure", ["single", "multi"])
def test_norms_that_are_not_asked_for_would_have_changed_no_arm(structure, width):
    contexts = {"dimension": 6, "arms": 12, "structure": structure, "law": {"kind": "cube"}, "noise": 0.3}
    compare("linucb", contexts, 400, width=width)


@pytest.mark.parametrize("place", range(len(LATENESS)))
@pytest.mark.parametrize("policy", [name for name in NAMES if name not in ("linucb", "ldp-sgd")])
def test_the_same_arms_for_other_policies_where_rewards_are_counted_late(policy, place):
    test_the_same_arms_as_the_reference_where_rewards_are_counted_late(policy, place)


@pytest.mark.parametrize("place", range(len(LATENESS)))
@pytest.mark.parametrize("policy", ["linucb", "ldp-sgd"])
def test_the_same_arms_as_the_reference_where_rewards_are_counted_late(policy, place):
    """One parameter and many, turn about."""
    contexts, (batch, delay) = (ONE, MANY)[(place + NAMES.index(policy)) % 2], LATENESS[place]
    contexts = contexts | {"law": {"kind": "cube"}}  # at norm 1 the first bonuses are equal up to rounding
    params = AS_DEFINED.get(policy, {}) | ({"warm_up": 5} if policy in WARMED else {}) | SOLVED_LATER.get(policy, {})
    late = (Feedback if batch > 1 or delay else Immediate)(batch=batch, delay=delay)
    compare(policy, contexts, 120, late, **params)


@pytest.mark.parametrize("policy", NAMES)
def test_late_rewards_are_held(policy):
    soon, later = (
        replace(experiment_of(policy, ONE, 5000).setups[0], feedback=Feedback(batch=batch)) for batch in (2, 4000)
    )
    held = registry()[policy].held
    assert held(later, 1) - held(soon, 1) == pytest.approx(3998 * (ONE["dimension"] + 2))


def test_every_line_meets_the_same_users_and_trials_differ():
    users = {"dimension": 3, "arms": 4}
    lines = [{"policy": "greedy-ols"}, {"policy": "ldp-sgd", "epsilon": {"kind": "fixed", "value": 1.0}}]
    spec = {"contexts": users, "lines": lines, "horizon": 1, "trials": 6}
    result = simulate(Experiment.model_validate(spec), store=Store(None, 0))
    regret = [line.regret[:, 0] for line in result.lines]  # both take arm 0 first
    np.testing.assert_array_equal(regret[0], regret[1])
    assert len(set(regret[0].tolist())) >= 3


def test_blocks_of_contextual_lines_survive_the_store(tmp_path):
    store = Store(tmp_path / "blocks.sqlite", 10**8)
    first = simulate(experiment_of("ldp-sgd", ONE, 300, trials=5), jobs=1, store=store)
    again = simulate(experiment_of("ldp-sgd", ONE, 300, trials=8), jobs=1, store=store)
    fresh = simulate(experiment_of("ldp-sgd", ONE, 300, trials=8), jobs=1, store=Store(None, 0))
    assert store.bytes_used() > 0
    for name in ("regret", "best_pulls", "pulls", "error"):
        np.testing.assert_array_equal(getattr(again.lines[0], name), getattr(fresh.lines[0], name))
        np.testing.assert_array_equal(getattr(first.lines[0], name), getattr(fresh.lines[0], name)[:5])


@kernel
def _normals(state, out):
    for place in range(out.shape[0]):
        out[place] = normal(state, 0, 0)


def test_the_ziggurat_is_normal():
    draws = np.empty(400_000)
    _normals(streams(5, 0, 1), draws)
    edges = stats.norm.ppf(np.linspace(0, 1, 401))
    assert stats.chisquare(np.histogram(draws, edges)[0]).pvalue > 1e-4
    beyond = int(np.sum(np.abs(draws) > reference.EDGE))  # the tail has a sampler of its own
    assert stats.binomtest(beyond, len(draws), 2 * stats.norm.sf(reference.EDGE)).pvalue > 1e-4
    assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 5 / np.sqrt(len(draws))


@kernel
def _lanes(state, environment, signal, out):
    users = kernels.users_of(environment, state, signal)
    kernels.draw_theta(environment, users, 0)
    fill_normals(users.lanes, users.words, out, state, 0)


def lanes_of(trial: int, rows: int) -> np.ndarray:
    """Normal variables by lanes, shape (rows, LANES)."""
    out = np.empty((rows, LANES))
    _lanes(streams(8, trial, trial + 1), experiment_of("ldp-sgd", ONE, 1).contexts.kernel_form(), GO_ON, out)
    return out


def test_lanes_are_normal_and_know_nothing_of_each_other():
    out = lanes_of(0, 50_000)
    draws = out.ravel()
    edges = stats.norm.ppf(np.linspace(0, 1, 2001))
    assert stats.chisquare(np.histogram(draws, edges)[0]).pvalue > 1e-4
    assert stats.kstest(draws, "norm").pvalue > 1e-4
    tails = np.abs(draws[np.abs(draws) > EDGE])  # they have a sampler of their own
    assert stats.binomtest(len(tails), len(draws), 2 * stats.norm.sf(EDGE)).pvalue > 1e-4
    assert stats.kstest(stats.norm.sf(tails) / stats.norm.sf(EDGE), "uniform").pvalue > 1e-4
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3), (6, 15)):
        assert abs(np.mean(draws**power) - moment) < 5 * np.std(draws**power) / np.sqrt(len(draws))
    for values in (out, np.abs(out)):  # of two lanes, of a lane and its neighbour one word later
        both = np.corrcoef(np.hstack([values[1:], values[:-1]]).T) - np.eye(2 * LANES)
        assert np.abs(both).max() < 5.5 / np.sqrt(len(values))


def test_lanes_do_not_overlap():
    draws = np.concatenate([lanes_of(trial, 4000).ravel() for trial in range(4)])
    assert len(np.unique(draws)) == len(draws) == 4 * 4000 * LANES


@kernel
def _meet(state, environment, signal, theta, out):
    users = kernels.users_of(environment, state, signal)
    kernels.draw_theta(environment, users, 0)
    kernels.draw_pool(environment, users, 0)
    theta[:] = users.theta
    vectors = out.shape[1]
    for each in range(out.shape[0]):
        user = kernels.meet(environment, users, 0, each + 1)
        out[each] = users.x[:, user * vectors : (user + 1) * vectors].T


def meet_many(contexts: dict, users: int, seed: int = 0):
    """Theta, and contexts of many users, shape (users, vectors, dimension)."""
    model = experiment_of("ldp-sgd", contexts, 1).contexts
    theta = np.empty((model.models, model.dimension))
    out = np.empty((users, model.vectors, model.dimension))
    _meet(streams(seed, 0, 1), model.kernel_form(), GO_ON, theta, out)
    return theta, out


@pytest.mark.parametrize("law", ["sphere", "gaussian"])
@pytest.mark.parametrize(("dimension", "arms"), [(1, 2), (3, 4), (20, 10), (200, 6)])
@pytest.mark.parametrize("structure", ["single", "multi"])
def test_users_are_those_of_the_reference_bit_for_bit(law, dimension, arms, structure):
    """Beyond the first block of users."""
    contexts = {"dimension": dimension, "arms": arms, "structure": structure, "law": {"kind": law}}
    model = experiment_of("ldp-sgd", contexts, 1).contexts
    count = 1024 // max(dimension * model.vectors, arms) + 2
    theirs = reference.Users(model, reference.Stream(streams(4, 0, 1)[0]))
    _, x = meet_many(contexts, count, seed=4)
    for user in range(count):
        np.testing.assert_array_equal(np.broadcast_to(x[user], (arms, dimension)), theirs.features())


@pytest.mark.parametrize("dimension", [2, 3, 5, 20])
def test_features_on_the_sphere_have_its_distribution(dimension):
    _, x = meet_many({"dimension": dimension, "arms": 10}, 4000)
    np.testing.assert_allclose(np.linalg.norm(x, axis=2), 1.0, rtol=1e-14)
    share = stats.beta((dimension - 1) / 2, (dimension - 1) / 2)
    axes = np.vstack([np.eye(dimension)[[0, -1]], np.full(dimension, dimension**-0.5)])
    for axis in axes:
        assert stats.kstest((1 + (x @ axis).ravel()) / 2, share.cdf).pvalue > 1e-4
    levels = (x @ axes[2]) * np.sqrt(dimension)  # of users and arms: independent
    both = np.corrcoef(np.hstack([levels[1:], levels[:-1]]).T) - np.eye(20)
    assert np.abs(both).max() < 5.5 / np.sqrt(len(levels))


def gaps_of(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    levels = np.sort(np.einsum("uvd,md->uvm", x, theta).reshape(len(x), -1), axis=1)
    return levels[:, -1] - levels[:, -2]


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_the_margin_distribution_has_the_margin_it_promises(beta):
    theta, x = meet_many({"dimension": 5, "arms": 4, "law": {"kind": "margin", "beta": beta}}, 20_000)
    np.testing.assert_allclose(np.linalg.norm(x, axis=2), 1.0)
    least = 1e-6

    def share(h):
        if beta == 0:
            return 1 + np.log(np.clip(h, least, 1)) / -np.log(least)
        return (np.clip(h, least, 1) ** beta - least**beta) / (1 - least**beta)

    assert stats.kstest(gaps_of(theta, x), share).pvalue > 1e-4


@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_the_margin_distribution_with_a_parameter_for_each_arm(beta):
    users = {"dimension": 4, "arms": 3, "structure": "multi"}
    theta, x = meet_many({**users, "law": {"kind": "margin", "beta": beta}}, 20_000)
    assert np.linalg.norm(x, axis=2).max() <= 1 + 1e-9
    gaps = gaps_of(theta, x)
    for h in (1e-4, 1e-2):  # small gaps are as common as asked for, plus at most those of the sphere
        asked = (h**beta - 1e-6**beta) / (1 - 1e-6**beta) if beta else 1 + np.log(h) / -np.log(1e-6)
        natural = np.mean(gaps_of(*meet_many(users, 20_000)) <= h)
        assert asked - 0.02 < np.mean(gaps <= h) < asked + natural + 0.02


@pytest.mark.parametrize("structure", ["single", "multi"])
def test_discrete_users_keep_their_distance_from_the_border(structure):
    law = {"kind": "discrete", "points": 7, "gap": 0.1}
    theta, x = meet_many({"dimension": 3, "arms": 4, "structure": structure, "law": law}, 3000)
    assert gaps_of(theta, x).min() >= 0.1 - 1e-12
    assert len(np.unique(x.reshape(len(x), -1).round(12), axis=0)) == 7
    np.testing.assert_allclose(np.linalg.norm(x, axis=2), 1.0)


@pytest.mark.parametrize(("size", "block"), [(1, 1), (2, 1), (7, 7), (20, 1), (20, 5), (23, 23)])
def test_linear_systems(size, block):
    rng = np.random.default_rng(size)
    half = rng.normal(size=(size, size))
    matrix, right = half @ half.T, rng.normal(size=size)
    work, inverse, solution = np.zeros((size, size)), np.empty((size, size)), np.empty(size)
    assert kernels.factorise(np.triu(matrix), 0.5, work, GO_ON)
    kernels.solve_factored(work, right, solution)
    shifted = matrix + 0.5 * np.eye(size)
    np.testing.assert_allclose(solution, np.linalg.solve(shifted, right), rtol=1e-8)
    kernels.invert_factored(work, inverse, block, GO_ON)
    row, column = np.indices((size, size)) // block
    np.testing.assert_allclose(inverse[column <= row], np.linalg.inv(shifted)[column <= row], rtol=1e-7, atol=1e-9)
    down = matrix - 2 * np.trace(matrix) * np.eye(size)  # negative definite
    assert not kernels.factorise(np.triu(down), 0.0, work, GO_ON)
    assert kernels.solve_indefinite(np.triu(down), 0.0, right, work, solution)
    np.testing.assert_allclose(solution, np.linalg.solve(down, right), rtol=1e-8)
    assert not kernels.solve_indefinite(np.zeros((size, size)), 0.0, right, work, solution)


# ---------------------------------------------------------------------------------------------------------------------
# Private sums of a curator for users with features: sensitivity, accounts, noise, bounds of it, and audits.


NOISY = {"dimension": 5, "arms": 4, "noise": 0.1}
JOINT = ("jdp-linucb", "jdp-greedy")


@cache
def _setup(policy: str, contexts: str, horizon: int, epsilon: float, params: tuple):
    line = {"policy": policy, "params": dict(params), "epsilon": {"kind": "fixed", "value": epsilon}}
    document = {"contexts": {**NOISY, **({"structure": "multi"} if contexts == "multi" else {})}, "lines": [line]}
    return Experiment.model_validate({**document, "horizon": horizon}).setups[0]


def setup_of(policy="jdp-linucb", contexts="single", horizon=1000, epsilon=1.0, **params):
    return _setup(policy, contexts, horizon, epsilon, tuple(params.items()))


def statistic(x: np.ndarray, reward: float, ratio: float) -> np.ndarray:
    """What a user adds to the released sums, in units of their noise."""
    d = len(x)
    matrix = np.outer(x, x)[np.triu_indices(d)] / np.where(np.eye(d)[np.triu_indices(d)] == 1, math.sqrt(2), 1)
    return np.concatenate([matrix, reward * x / ratio])


PAIR = [(np.array([1.0, 0.0]), 1.0), (np.array([0.5, math.sqrt(0.75)]), -1.0)]  # as far apart as can be


def test_how_far_apart_the_sums_of_two_users_may_be():
    """A curator's 1.5 is the largest distance of two such statistics (with ratio sqrt 2), and the printed one is 2."""
    assert (jdp_linucb.SENSITIVITY, jdp_linucb.PRINTED_SENSITIVITY) == (1.5, 2.0)
    x, y = (statistic(np.array(z), r, math.sqrt(2)) for z, r in PAIR)
    assert np.linalg.norm(x - y) == pytest.approx(jdp_linucb.SENSITIVITY)


def columns(setup) -> np.ndarray:
    """How far each item (a user's statistic, of sensitivity 1) moves the normal variables behind all releases."""
    given, horizon = setup.parameters, setup.horizon
    times = reference.releases_of(given.first, given.refresh, horizon)
    paper = given.accounting == "paper"
    if given.counter == "square-root":
        f = np.array(reference.root_coefficients(len(times)))
        return np.array([math.sqrt(np.sum(f[: len(times) - item] ** 2)) for item in range(len(times))])
    nodes = {(level, leaf >> level) for leaf in (times if paper else range(1, len(times) + 1))
             for level in range(leaf.bit_length()) if leaf >> level & 1}  # fmt: skip
    items = range(1, horizon + 1) if paper else range(1, len(times) + 1)
    # Node (level, odd) holds the items after (odd - 1) 2^level, up to odd 2^level.
    return np.array(
        [math.sqrt(sum((odd - 1) << level < item <= odd << level for level, odd in nodes)) for item in items]
    )


@pytest.mark.parametrize("params", [
    {"counter": "square-root"}, {"counter": "tree"}, {"counter": "tree", "refresh": 0, "first": 3},
    {"refresh": 0, "first": 1}, {"counter": "tree", "accounting": "paper", "refresh": 0, "first": 1},
])  # fmt: skip
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_account_is_that_of_the_normal_variables_behind_all_releases(params, epsilon):
    setup = setup_of(horizon=300, epsilon=epsilon, **params)
    kept, promised = jdp_linucb.account(setup), registry()["jdp-linucb"].guarantee(setup)
    unit = kept.sensitivity if params.get("counter") == "tree" else 1.5
    mu = unit * columns(setup).max() / kept.sd
    assert smallest_delta(mu, 1.0, promised.epsilon) <= setup.parameters.delta * (1 + 1e-6)
    assert promised.model == "joint" and promised.delta == setup.parameters.delta
    if params.get("accounting") == "paper":
        assert promised.epsilon < 0.5 * epsilon
    else:
        assert promised.epsilon == epsilon
        assert mu == pytest.approx(1 / jdp_linucb.unit_sd(setup), rel=1e-9)


@pytest.mark.parametrize("counter", ["tree", "square-root", "leaves"])
def test_noise_hangs_together_as_it_should(counter):
    """Covariances of the noise of 6 releases, over 40,000 numbers."""
    places = [1, 2, 3, 4, 5, 6] if counter != "leaves" else [3, 5, 6, 7, 12, 13]
    terms = exponentials(6) if counter == "square-root" else (np.ones(4), np.ones(4))
    made = kernels.Counter(counter != "square-root", *terms)
    noise, state, drawn = kernels.no_noise(made, 40_000), streams(7, 0, 1), []
    for place in places:
        kernels.next_noise(made, noise, place, Stream(state, 0))
        drawn.append(noise.now.copy())
    if counter == "square-root":
        f = reference.root_coefficients(6)
        rows = np.array([[f[i - j] if j <= i else 0.0 for j in range(6)] for i in range(6)])
        expected = rows @ rows.T
    else:
        nodes = [{(level, place >> level) for level in range(4) if place >> level & 1} for place in places]
        expected = np.array([[len(one & other) for other in nodes] for one in nodes])
    np.testing.assert_allclose(np.cov(drawn), expected, atol=0.07)


def test_noise_of_a_model_is_rotation_invariant_and_below_its_bounds():
    """Standard deviations of every number; norms within the bounds of one release with alpha = 0.1."""
    d, tries = 5, 3000
    setup = setup_of(horizon=60, first=60)  # one release
    numbers, made = jdp_linucb.numbers_for(setup), kernels.Counter(True, np.ones(1), np.ones(1))
    sums = kernels.NoisySums(np.zeros((1, d, d)), np.zeros((1, d)), np.zeros(1), np.zeros(d))
    state, matrices, vectors = streams(8, 0, 1), [], []
    for _ in range(tries):
        noise, gram, moment = kernels.no_noise(made, kernels.numbers_of(1, d)), np.zeros((d, d)), np.zeros(d)
        kernels.next_noise(made, noise, 1, Stream(state, 0))
        kernels.with_noise(sums, 0, noise.now, 1.0, numbers.ratio, gram, moment)
        matrices.append(np.triu(gram) + np.triu(gram, 1).T)
        vectors.append(moment)
    spread = np.std(matrices, axis=0)
    np.testing.assert_allclose(spread, np.where(np.eye(d) == 1, math.sqrt(2), 1), rtol=0.06)
    np.testing.assert_allclose(np.std(vectors, axis=0), math.sqrt(2), rtol=0.06)
    broken = np.mean(np.abs(np.linalg.eigvalsh(matrices)).max(axis=1) > numbers.matrix_bound)
    assert broken <= 0.1 / 3 and np.mean(np.linalg.norm(vectors, axis=1) > numbers.vector_bound) <= 0.1 / 3


def test_releases_are_counted():
    for first, refresh, horizon in product((1, 7, 5000), (0, 0.01, 0.25, 1), (1, 50, 3000)):
        exact = len(reference.releases_of(first, refresh, horizon))
        assert jdp_linucb.releases_until(horizon, first, refresh) == max(1, exact)
    assert 10**6 < jdp_linucb.releases_until(10**9, 1, 1e-6) < 10**7 * 2


@pytest.mark.parametrize(("several", "d"), [(False, 2), (False, 5), (True, 3)])
def test_no_two_users_are_farther_apart_after_rounding_than_the_account_takes(several, d):
    size = d * (d + 3) // 2
    g, rng = dist_linucb.levels(size), np.random.default_rng(d)
    far, total = dist_linucb.distances(size, g, several)
    pairs = [PAIR] if d == 2 else []
    for _ in range(2000):
        made = rng.standard_normal((2, d))
        pairs.append([(z / np.linalg.norm(z), sign) for z, sign in zip(made, rng.choice([-1.0, 1.0], 2), strict=True)])
    for (x, r), (y, q) in pairs:
        own, other = (np.floor(g * statistic(*each, math.sqrt(2)) + rng.random(size)) for each in ((x, r), (y, q)))
        apart = np.concatenate([own, other]) if several else own - other
        assert np.linalg.norm(apart) <= far and np.abs(apart).sum() <= total


@pytest.mark.parametrize(("epsilon", "sd"), [(0.5, 13.09), (1.0, 6.84), (4.0, 1.91)])
def test_shared_noise_is_hardly_more_than_that_of_a_curator(epsilon, sd):
    """Of one batch at d = 5 with 1000 levels and delta 1e-6: computed by others beforehand; the curator's is 1.5 a."""
    setup = setup_of("dist-linucb", epsilon=epsilon)
    found = math.sqrt(dist_linucb.variance_of(setup)) / dist_linucb.levels(20)
    assert found == pytest.approx(sd, abs=0.006)
    assert 1.5 * jdp_linucb.unit_sd(setup) < found < 1.1 * 1.5 * jdp_linucb.unit_sd(setup)


@pytest.mark.parametrize(("apart", "variance"), [([1, 2], 9.0), ([3, -1, 2], 30.0), ([1, 1, 1, 1], 4.0)])
def test_the_divergence_of_several_numbers_is_below_its_bound(apart, variance):
    """By listing: the divergences of independent numbers add up."""
    far = 30 + math.ceil(8 * math.sqrt(variance))
    noise = np.arange(-far, far + 1)
    made = SkellamSum(users=1, levels=1, slack=1, variance=variance)
    orders = np.array([2.0, 3.0, 8.0])
    exact = np.zeros(3)
    for shift in apart:
        here, there = made.log_mass(noise), made.log_mass(noise - shift)
        with np.errstate(invalid="ignore"):
            exact += [np.log(np.nansum(np.exp(a * here - (a - 1) * there))) / (a - 1) for a in orders]
    bound = definitions.skellam_renyi(orders, float(np.linalg.norm(apart)), variance, float(np.abs(apart).sum()))
    assert (exact <= bound).all() and (bound < 2 * exact).all()


def test_orders_of_joint_privacy_by_hand():
    """What is stated for a release after every user stands nowhere else; a pure bound would bind no such promise."""
    every, seldom = (setup_of(epsilon=0.5, refresh=refresh) for refresh in (0, 0.25))
    upper, regression = contextual.joint_private(every)
    at = np.array([100.0])
    assert float(upper.curve(at)[0]) == pytest.approx(5 * 10 + 5**0.75 * math.sqrt(200))
    assert float(regression.curve(at)[0]) == pytest.approx(math.sqrt(500) + 10)
    assert not upper.not_applicable and contextual.joint_private(seldom)[0].not_applicable
    promised = registry()["jdp-linucb"].guarantee(every)
    assert not regression.judged(promised).not_applicable
    assert replace(regression, measure="pure").judged(promised).not_applicable
    assert {bound.status for bound in (upper, regression)} == {"order-only"}


@pytest.mark.parametrize("policy", JOINT)
def test_contexts_and_rewards_beyond_the_bounds_are_shrunk_and_clipped(policy):
    """Users ten times as long, and as well paid, are those of norm 1 with the same arms."""
    rows = np.random.default_rng(3).standard_normal((30, 6))
    rows /= np.linalg.norm(rows.reshape(30, 2, 3), axis=2).repeat(3, axis=1)
    found = []
    for size in (1.0, 10.0):
        contexts = {"dimension": 3, "arms": 2, "noise": 0.0, "law": {"kind": "table", "rows": (size * rows).tolist()}}
        line = {"policy": policy, "epsilon": {"kind": "fixed", "value": 50.0}, "params": {"first": 5}}
        document = {"contexts": {**contexts, "theta": {"kind": "given", "values": [0.5, -0.4, 0.3]}}, "lines": [line]}
        setup = Experiment.model_validate({**document, "horizon": 400}).setups[0]
        found.append(registry()[policy].play(setup, streams(3, 0, 3), np.array([400]), Signal()))
    np.testing.assert_array_equal(found[0].pulls, found[1].pulls)
    np.testing.assert_allclose(found[0].error, found[1].error, rtol=1e-6)
