"""The k-ary tree with signed digits and the square-root factorisation: nodes, variances and privacy by brute force."""

import itertools
import math

import numpy as np
import pytest
from counter_reference import SignedTree
from helpers import refused
from runs import coins, one_line
from scipy import special, stats

from bandit_core.mechanisms import Binary, SignedDigits, SquareRoot
from bandit_core.mechanisms.counter import equal_laplace_bound
from bandit_core.mechanisms.gaussian import smallest_delta, smallest_epsilon
from bandit_core.mechanisms.signed_digits import best_base, levels
from bandit_core.mechanisms.square_root import coefficients, exponentials, squared_length
from bandit_core.policies import registry

TREES = pytest.mark.parametrize(("base", "horizon"), [(3, 13), (3, 40), (5, 62), (7, 90), (41, 20)])


# ---- The k-ary tree ----


@TREES
def test_nodes_add_up_to_exactly_the_items_that_came(base, horizon):
    """The identity that the proof of privacy rests on, and that an item lies in no more nodes than there are levels."""
    reference, seen = SignedTree(1.0, horizon, base), set()
    for count in range(1, horizon + 1):
        nodes, part = reference.nodes(count), np.zeros(base**reference.levels, int)
        for sign, first, end in nodes:
            part[first:end] += sign
        np.testing.assert_array_equal(part, np.arange(len(part)) < count)
        seen |= {(first, end) for _, first, end in nodes}
    entered = [sum(first <= item < end for first, end in seen) for item in range(horizon)]
    assert max(entered) == reference.levels == levels(horizon, base)


def test_the_base_is_the_best_one():
    def size(base, horizon):
        return (base - 1 / base) * levels(horizon, base) ** 3

    for horizon in (*range(1, 120), 364, 365, 1000, 9841):
        best = min((size(base, horizon), base) for base in range(3, 2 * horizon + 4, 2))
        assert size(best_base(horizon), horizon) == pytest.approx(best[0])
        assert (best_base(horizon) ** levels(horizon, best_base(horizon)) - 1) // 2 >= horizon


@pytest.mark.parametrize(
    ("horizon", "base", "depth", "signed", "binary", "root"),
    [(10**3, 13, 3, 170, 988, 134), (10**4, 29, 3, 369, 2533, 205)],
)
def test_mean_squared_errors_at_epsilon_one(horizon, base, depth, signed, binary, root):
    """Hand values: formulas-in-words of three counters, averaged over all counts."""
    counters = SignedDigits(1.0, horizon), Binary(1.0, horizon), SquareRoot(1.0, horizon)
    means = [np.mean([counter.variance(count) for count in range(1, horizon + 1)]) for counter in counters]
    assert (counters[0].base, counters[0].depth) == (base, depth)
    np.testing.assert_allclose(means, [signed, binary, root], atol=0.6)
    whole = (base**depth - 1) // 2  # over all numbers that the digits can write the mean is k (1 - 1/k^2) h^3 / 2
    every = SignedDigits(1.0, whole, base)
    exact = 2 * sum(every.variance(count) for count in range(1, whole + 1)) / base**depth  # and of those below 0
    assert exact == pytest.approx(base * (1 - base**-2) * depth**3 / 2)


def test_by_hand():
    counter = SignedDigits(2.0, 13, 3)  # three levels, nodes with Laplace(3 / 2)
    assert [counter.variance(count) for count in (1, 2, 3, 5, 13)] == [4.5, 9.0, 4.5, 13.5, 13.5]
    assert counter.spent([0, 1, 2, 4, 5, 13]).tolist() == pytest.approx([0, 2 / 3, 4 / 3, 4 / 3, 2, 2])
    assert SquareRoot(1.0, 3).sensitivity == pytest.approx(math.sqrt(1 + 1 / 4 + 9 / 64))


# ---- The square root ----


def matrix(horizon):
    """The square root of the counting matrix, by solving R R = A column by column from the diagonal on."""
    root = np.eye(horizon)
    for below in range(1, horizon):
        for row in range(below, horizon):
            column = row - below
            between = root[row, column + 1 : row] @ root[column + 1 : row, column]
            root[row, column] = (1 - between) / (root[row, row] + root[column, column])
    return root


def test_the_square_root_releases_what_the_matrices_say():
    horizon, items = 12, np.random.default_rng(0).random(12)
    counter, root = SquareRoot(0.8, horizon, 0.01), matrix(horizon)
    np.testing.assert_allclose(root @ root, np.tri(horizon), atol=1e-12)
    normals = np.random.default_rng(7).standard_normal(horizon)
    released = counter.release(items, np.random.default_rng(7))
    np.testing.assert_allclose(released, root @ (root @ items + counter.sd * normals), atol=1e-9)
    variances = [counter.variance(count) for count in range(1, horizon + 1)]
    np.testing.assert_allclose(variances, counter.sd**2 * (root**2).sum(axis=1), rtol=1e-12)
    assert counter.sensitivity == pytest.approx(np.linalg.norm(root, axis=0).max())
    # The noise is neither too small nor, by a thousandth, too large for the exact condition.
    assert smallest_delta(counter.sensitivity, counter.sd, 0.8) <= 0.01
    assert smallest_delta(counter.sensitivity, 0.999 * counter.sd, 0.8) > 0.01
    for item in (1, 4, 12):
        weights = counter.evidence(item)
        assert (weights @ np.tri(horizon))[item - 1] == pytest.approx(1)  # the item counts once
        length = np.linalg.norm(root[:, item - 1])
        assert np.linalg.norm(weights @ root) == pytest.approx(1 / length)  # and no unbiased total has less noise
    spent = counter.spent(np.arange(horizon + 1))
    assert spent[0] == 0 and np.all(np.diff(spent) > 0) and spent[-1] == pytest.approx(0.8)
    for count in (1, 5):
        seen = np.linalg.norm(root[:count, 0])  # of the first item in so many rows
        assert smallest_delta(seen, counter.sd, spent[count]) == pytest.approx(0.01, rel=1e-6)


@pytest.mark.parametrize("counter", [SquareRoot(0.7, 20), SignedDigits(0.7, 20, 3)], ids=["square root", "k-ary"])
def test_noise_follows_its_density(counter):
    drawn = counter.release(np.zeros((20_000, 20)), np.random.default_rng(2))
    for count in (1, 7, 20):
        sd = math.sqrt(counter.variance(count))
        edges = sd * np.array([-6, -2, -1, -0.3, 0.3, 1, 2, 6])
        fine = [np.linspace(low, high, 401) for low, high in itertools.pairwise(edges)]
        chances = np.array([np.trapezoid(counter.density(count, x), x) for x in fine])
        seen, _ = np.histogram(drawn[:, count - 1], edges)
        assert stats.chisquare(seen, chances / chances.sum() * seen.sum()).pvalue > 1e-4


@pytest.mark.parametrize("horizon", [1, 30, 1000, 200_000])
def test_exponentials_are_the_coefficients(horizon):
    """At every lag, to ten decimals; and the noise they make hides an item as well as that of the square root."""
    weights, rates = exponentials(horizon)
    lags = np.unique(np.concatenate([np.arange(min(horizon, 3000)), np.geomspace(1, horizon, 500).astype(int) - 1]))
    met = (weights * rates ** lags[:, None]).sum(axis=1)
    np.testing.assert_allclose(met, coefficients(horizon)[lags], rtol=0, atol=1e-10)
    if horizon == 1000:  # R' Z hides A x as well as Z hides the solution of R' y = A x: the first column is the longest
        column = np.zeros(horizon)
        for row in range(horizon):
            column[row] = (1 - met[1 : row + 1] @ column[:row][::-1]) / met[0]
        assert np.linalg.norm(column) == pytest.approx(SquareRoot(1.0, horizon).sensitivity, rel=1e-9)


def test_squared_lengths_beyond_the_table_are_those_of_the_sum():
    exact = np.cumsum(coefficients(2**18) ** 2)
    counts = np.array([1, 7, 2**16, 2**16 + 1, 10**5, 2**18])
    np.testing.assert_allclose(squared_length(counts), exact[counts - 1], rtol=1e-12)
    assert SquareRoot(1.0, 10**9).variance(10**9) > SquareRoot(1.0, 10**9).variance(10**8)  # and need no memory


# ---- How far the noise of a sum goes ----


def tail(count, x):
    """P(sum of ``count`` Laplace variables of scale 1 > x), from the difference of two Gamma(count) variables."""
    chances = special.comb(count - 1 + np.arange(count), np.arange(count)) * 2.0 ** -(count + np.arange(count))
    return float(chances @ special.gammaincc(count - np.arange(count), x))


@pytest.mark.parametrize("count", [1, 2, 5, 23, 100])
@pytest.mark.parametrize("gamma", [0.2, 1e-4, 1e-12, 1e-20])
def test_the_margin_of_a_k_ary_sum_holds_and_wastes_little(count, gamma):
    """Against the exact tail; at most 1.8 times as far as needed where failures are rare."""
    bound = equal_laplace_bound(count, 3.0, gamma)
    assert 2 * tail(count, bound / 3.0) <= gamma
    if gamma < 0.1:
        assert 2 * tail(count, bound / 3.0 / 1.8) > gamma
    assert tail(1, 2.0) == pytest.approx(math.exp(-2) / 2) and tail(count, 0.0) == pytest.approx(0.5)


def test_margins_by_hand():
    """The numbers that the kernels get, and one margin: 1000 users, two arms, epsilon 1."""

    def margin(policy, **params):
        [setup] = one_line(policy, coins(0.9, 0.6), horizon=1000, **params).setups
        return registry()[policy].prepare(setup).arguments[1][1:6]

    # 13 branches and 3 levels: Laplace(3) nodes.
    np.testing.assert_allclose(margin("dp-ucb-bound", counter="k-ary"), (2, 4, math.log(2), 6, 3))
    np.testing.assert_allclose(
        margin("private-ucb", counter="k-ary", margin=0.5, gamma=0.01), (2, 0, math.log(2 * 2000 / 0.01), 3, 1.5)
    )
    sd = SquareRoot(1.0, 1000, 1e-6).sd
    np.testing.assert_allclose(margin("dp-ucb-bound", counter="square-root"), (2, 4, 0, math.sqrt(2) * sd, 0))
    np.testing.assert_allclose(
        margin("private-ucb", counter="square-root"), (2, 4, math.log(2000), math.sqrt(2) * sd, 0)
    )
    assert equal_laplace_bound(4, 3.0, 10.0**-4) == pytest.approx(3 * (2 * math.sqrt(4 * 9.903488) + 9.903488))


# ---- Bad input ----


@pytest.mark.parametrize(
    ("make", "path", "value"),
    [
        (lambda: SignedDigits(1.0, 10, 4), "base", 4),
        (lambda: SignedDigits(1.0, 10, 1), "base", 1),
        (lambda: SignedDigits(0.0, 10), "epsilon", 0.0),
        (lambda: SignedDigits(1.0, 0), "horizon", 0),
        (lambda: SquareRoot(-1.0, 10), "epsilon", -1.0),
        (lambda: SquareRoot(1.0, 0), "horizon", 0),
        (lambda: SquareRoot(1.0, 10, 1.0), "delta", 1.0),
        (lambda: SignedDigits(1.0, 2).release([1, 1, 1], np.random.default_rng(0)), "item", 3),
        (lambda: SquareRoot(1.0, 2).release([1, 1, 1], np.random.default_rng(0)), "item", 3),
        (lambda: SquareRoot(1.0, 2).release([1.5], np.random.default_rng(0)), "item", 1.5),
    ],
)
def test_bad_input_is_told(make, path, value):
    with refused(path, value=value):
        make()


# ---- Policies on other counters than their papers print ----

POLICIES = pytest.mark.parametrize("name", ["dp-ucb", "dp-ucb-bound", "private-ucb"])


def setup_of(name, visits=1, horizon=10_000, **params):
    experiment = one_line(name, coins(0.9, 0.6), horizon=horizon, **params)
    return experiment.with_changes(visits=visits).setups[0]


@POLICIES
def test_what_a_run_on_k_ary_trees_tells_of_itself(name):
    setup, policy, tree = setup_of(name, counter="k-ary"), registry()[name], SignedDigits(1.0, 10_000)
    [row] = policy.releases(setup)
    assert (row.times, row.scale, row.epsilon) == (tree.depth, tree.node_scale, pytest.approx(1 / tree.depth))
    assert policy.guarantee(setup).epsilon == 1.0 and policy.guarantee(setup).measure == "pure"
    assert setup.parameters.delta is None
    assert policy.knows_horizon(setup) and policy.knows_horizon(setup_of(name)) == (name == "private-ucb")
    uppers = [bound for bound in policy.bounds(setup) if bound.side == "upper"]
    assert uppers and all(bound.not_applicable for bound in uppers)
    assert policy.held(setup, 1) > policy.held(setup_of(name), 1)


@POLICIES
def test_what_a_run_on_square_roots_tells_of_itself(name):
    """The promise is weaker, and no bound of a stronger one stands beside it."""
    setup, policy = setup_of(name, counter="square-root", delta=0.01), registry()[name]
    root, kept = SquareRoot(1.0, 10_000, 0.01), policy.guarantee(setup)
    assert (kept.epsilon, kept.delta, kept.measure) == (1.0, 0.01, "approximate")
    [row] = policy.releases(setup)
    assert smallest_epsilon(row.sensitivity, row.scale, 0.01) == pytest.approx(1.0) and row.scale == root.sd
    np.testing.assert_allclose(policy.spent(setup, np.array([0, 1, 10_000])), root.spent([0, 1, 10_000]))
    for bound in policy.bounds(setup):
        assert bound.not_applicable or (bound.side == "lower" and bound.model == "none"), bound.name
    assert any(not bound.not_applicable for bound in policy.bounds(setup))
    # Of a person who comes twice each answer has a part of epsilon and of delta.
    twice = setup_of(name, counter="square-root", delta=0.01, visits=2)
    whole = policy.guarantee(twice)
    assert whole.epsilon == pytest.approx(1.0) and whole.delta == pytest.approx(0.01)
    assert 0 < twice.parameters.delta < 0.005


def test_the_square_root_of_2015_keeps_a_part():
    kept = registry()["private-ucb"].guarantee(setup_of("private-ucb", counter="square-root", variant="2015"))
    assert (kept.epsilon, kept.delta) == (0.5, 1e-6)


@POLICIES
def test_what_belongs_to_the_printed_counter_is_refused_with_others(name):
    if name != "private-ucb":
        with refused("lines[0].params"):
            setup_of(name, counter="k-ary", accounting="paper")
    if name == "dp-ucb-bound":
        with refused("lines[0].params"):
            setup_of(name, counter="square-root", version="arXiv")
    with refused("lines[0].params.delta", value=0.01):
        setup_of(name, counter="k-ary", delta=0.01)
    with refused("lines[0].params.delta", value=0.0):
        setup_of(name, counter="square-root", delta=0.0)
    with refused("lines[0].params.counter", value="ternary"):
        setup_of(name, counter="ternary")
