"""The k-ary tree with signed digits and the square-root factorisation: nodes, variances and privacy by brute force."""

import itertools
import math

import numpy as np
import pytest
from counter_reference import SignedTree
from helpers import refused
from scipy import stats

from bandit_core.experiments.experiment import Experiment
from bandit_core.mechanisms import Binary, SignedDigits, SquareRoot
from bandit_core.mechanisms.gaussian import smallest_delta
from bandit_core.mechanisms.signed_digits import best_base, levels, nodes_of
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
        mine = [
            (sign, number * base**level, (number + 1) * base**level) for sign, level, number in nodes_of(count, base)
        ]
        assert sorted(mine) == sorted(nodes)
    entered = [sum(first <= item < end for first, end in seen) for item in range(horizon)]
    assert max(entered) == reference.levels == levels(horizon, base)


def chosen(released, number):
    """An item in [0, 1] that somebody chooses who has seen all sums so far, and may be out for trouble."""
    return (sum(math.floor(8 * told) for told in released) + number) % 5 / 4


def game(epsilon, horizon, base, noise, item, value):
    """All sums of a stream whose items follow from the sums before; the noise of nodes is given, as is one item."""
    tree, released = SignedTree(epsilon, horizon, base), []
    tree.noise = dict(noise)
    for number in range(horizon):
        one = value(released) if number == item else chosen(released, number)
        released.append(tree.insert(one, None))
    return np.array(released)


@pytest.mark.parametrize(("base", "horizon"), [(3, 13), (5, 30)])
def test_adaptive_streams_are_safe(base, horizon):
    """The proof, played: moved noise in the nodes of an item makes up for the item, at a price of e^epsilon at most."""
    rng, tree = np.random.default_rng(3), SignedTree(0.7, horizon, base)
    every = {node[1:] for count in range(1, horizon + 1) for node in tree.nodes(count)}
    noise = {node: rng.laplace(0, tree.scale) for node in sorted(every)}
    for item in range(horizon):
        first = game(0.7, horizon, base, noise, item, lambda released: chosen(released, 3))
        value = chosen(list(first[:item]), 3)  # what the first game had there; the other one has 1 - value
        moved = {
            (start, end): told + (2 * value - 1 if start <= item < end else 0.0) for (start, end), told in noise.items()
        }
        other = game(0.7, horizon, base, moved, item, lambda released: 1 - chosen(released, 3))
        np.testing.assert_allclose(other, first, atol=1e-9)
        price = sum(abs(moved[node] - noise[node]) for node in noise) / tree.scale
        assert price <= 0.7 * (1 + 1e-12)


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


def test_adaptive_streams_are_safe_behind_the_square_root():
    """Normal noise moved along the item's column makes up for it, whatever is chosen after what was released."""
    horizon = 9
    counter, root = SquareRoot(1.0, horizon), matrix(horizon)
    noise = np.random.default_rng(1).normal(0, counter.sd, horizon)

    def sums(normals, item, value):
        items, released = [], []
        for number in range(horizon):
            items.append(value(released) if number == item else chosen(released, number))
            released.append(sum(items) + root[number] @ normals)
        return np.array(released)

    for item in range(horizon):
        first = sums(noise, item, lambda released: chosen(released, 3))
        value = chosen(list(first[:item]), 3)
        moved = noise + (2 * value - 1) * root[:, item]
        other = sums(moved, item, lambda released: 1 - chosen(released, 3))
        np.testing.assert_allclose(other, first, atol=1e-9)
        assert np.linalg.norm(moved - noise) <= counter.sensitivity


@pytest.mark.parametrize("counter", [SquareRoot(0.7, 20), SignedDigits(0.7, 20, 3)], ids=["square root", "k-ary"])
def test_noise_follows_its_density_and_keeps_its_bound(counter):
    drawn = counter.release(np.zeros((20_000, 20)), np.random.default_rng(2))
    for count in (1, 7, 20):
        sd = math.sqrt(counter.variance(count))
        edges = sd * np.array([-6, -2, -1, -0.3, 0.3, 1, 2, 6])
        fine = [np.linspace(low, high, 401) for low, high in itertools.pairwise(edges)]
        chances = np.array([np.trapezoid(counter.density(count, x), x) for x in fine])
        seen, _ = np.histogram(drawn[:, count - 1], edges)
        assert stats.chisquare(seen, chances / chances.sum() * seen.sum()).pvalue > 1e-4
        assert np.mean(np.abs(drawn[:, count - 1]) > counter.error_bound(count, 0.05)) < 0.05


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


# ---- DP-UCB on k-ary trees ----


def document(**params):
    line = {"policy": "dp-ucb", "epsilon": {"kind": "fixed", "value": 1.0}, "params": params}
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.6)]
    return {"arms": arms, "lines": [line], "horizon": 10_000, "trials": 1}


def test_what_a_run_on_k_ary_trees_tells_of_itself():
    [setup] = Experiment.model_validate(document(counter="k-ary")).setups
    policy, tree = registry()["dp-ucb"], SignedDigits(1.0, 10_000)
    [row] = policy.releases(setup)
    assert (row.times, row.scale, row.epsilon) == (tree.depth, tree.node_scale, pytest.approx(1 / tree.depth))
    assert policy.guarantee(setup).epsilon == 1.0
    uppers = [bound for bound in policy.bounds(setup) if bound.side == "upper"]
    assert uppers and all(bound.not_applicable for bound in uppers)
    assert policy.held(setup, 1) > policy.held(Experiment.model_validate(document()).setups[0], 1)
    with refused("lines[0].params"):
        Experiment.model_validate(document(counter="k-ary", accounting="paper"))
    with refused("lines[0].params.counter", value="ternary"):
        Experiment.model_validate(document(counter="ternary"))
