"""Private sums of a curator for users with features: sensitivity, accounts, noise, bounds of it, and audits."""

import math
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
import reference_contextual as reference

from bandit_core import Experiment, InputError
from bandit_core.kernels.contextual import Counter, NoisySums, next_noise, no_noise, numbers_of, with_noise
from bandit_core.kernels.play import Stream
from bandit_core.kernels.streams import streams
from bandit_core.mechanisms.batch import SkellamSum
from bandit_core.mechanisms.gaussian import smallest_delta
from bandit_core.mechanisms.square_root import exponentials
from bandit_core.model import Signal
from bandit_core.policies import registry
from bandit_core.policies.contextual import dist_linucb, jdp_linucb
from bandit_core.theory import contextual, definitions

ONE = {"dimension": 5, "arms": 4, "noise": 0.1}
JOINT = ("jdp-linucb", "jdp-greedy")


@cache
def _setup(policy: str, contexts: str, horizon: int, epsilon: float, params: tuple):
    line = {"policy": policy, "params": dict(params), "epsilon": {"kind": "fixed", "value": epsilon}}
    document = {"contexts": {**ONE, **({"structure": "multi"} if contexts == "multi" else {})}, "lines": [line]}
    return Experiment.model_validate({**document, "horizon": horizon}).setups[0]


def setup_of(policy="jdp-linucb", contexts="single", horizon=1000, epsilon=1.0, **params):
    return _setup(policy, contexts, horizon, epsilon, tuple(params.items()))


def statistic(x: np.ndarray, reward: float, ratio: float) -> np.ndarray:
    """What a user adds to the released sums, in units of their noise."""
    d = len(x)
    matrix = np.outer(x, x)[np.triu_indices(d)] / np.where(np.eye(d)[np.triu_indices(d)] == 1, math.sqrt(2), 1)
    return np.concatenate([matrix, reward * x / ratio])


@pytest.mark.parametrize(("ratio", "least", "most"), [(math.sqrt(2), 1.5, 1.5), (1.0, 2.0, 2.0)])
@pytest.mark.parametrize("d", [2, 5])
def test_no_two_users_are_farther_apart_than_the_sensitivity_and_two_are_as_far(d, ratio, least, most):
    rng = np.random.default_rng(d)
    found = 0.0
    for _ in range(2000):
        pair = [z / max(1, np.linalg.norm(z)) for z in rng.normal(size=(2, d)) * rng.choice([0.5, 10.0])]
        rewards = rng.choice([-1.0, 1.0, 0.3], 2)
        found = max(
            found, float(np.linalg.norm(statistic(pair[0], rewards[0], ratio) - statistic(pair[1], rewards[1], ratio)))
        )
        apart = math.hypot(*(np.linalg.norm(statistic(x, r, ratio)) for x, r in zip(pair, rewards, strict=True)))
        assert apart <= most + 1e-12  # users of different arms
    assert found <= most + 1e-12
    cosine = 0.5 if ratio > 1 else 1.0
    x, y = np.eye(d)[0], cosine * np.eye(d)[0] + math.sqrt(1 - cosine**2) * np.eye(d)[1]
    assert np.linalg.norm(statistic(x, 1.0, ratio) - statistic(y, -1.0, ratio)) == pytest.approx(least)
    assert {jdp_linucb.SENSITIVITY, jdp_linucb.PRINTED_SENSITIVITY} == {1.5, 2.0}


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
    made = Counter(counter != "square-root", *terms)
    noise, state, drawn = no_noise(made, 40_000), streams(7, 0, 1), []
    for place in places:
        next_noise(made, noise, place, Stream(state, 0))
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
    numbers, made = jdp_linucb.numbers_for(setup), Counter(True, np.ones(1), np.ones(1))
    sums = NoisySums(np.zeros((1, d, d)), np.zeros((1, d)), np.zeros(1), np.zeros(d))
    state, matrices, vectors = streams(8, 0, 1), [], []
    for _ in range(tries):
        noise, gram, moment = no_noise(made, numbers_of(1, d)), np.zeros((d, d)), np.zeros(d)
        next_noise(made, noise, 1, Stream(state, 0))
        with_noise(sums, 0, noise.now, 1.0, numbers.ratio, gram, moment)
        matrices.append(np.triu(gram) + np.triu(gram, 1).T)
        vectors.append(moment)
    spread = np.std(matrices, axis=0)
    np.testing.assert_allclose(spread, np.where(np.eye(d) == 1, math.sqrt(2), 1), rtol=0.06)
    np.testing.assert_allclose(np.std(vectors, axis=0), math.sqrt(2), rtol=0.06)
    broken = np.mean(np.abs(np.linalg.eigvalsh(matrices)).max(axis=1) > numbers.matrix_bound)
    assert broken <= 0.1 / 3 and np.mean(np.linalg.norm(vectors, axis=1) > numbers.vector_bound) <= 0.1 / 3


PAIR = [(np.array([1.0, 0.0]), 1.0), (np.array([0.5, math.sqrt(0.75)]), -1.0)]  # as far apart as can be


@pytest.mark.parametrize(("params", "message"), [
    ({"delta": None}, "delta"), ({"delta": 0}, "delta"), ({"delta": 1}, "delta"), ({"first": 0}, "first"),
    ({"counter": "hybrid"}, "counter"), ({"refresh": -1}, "refresh"),
])  # fmt: skip
@pytest.mark.parametrize("policy", JOINT)
def test_bad_input_is_refused_in_words(policy, params, message):
    with pytest.raises(InputError, match=message):
        setup_of(policy, **params)


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
