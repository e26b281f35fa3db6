"""Counters and the policies that play on them: nodes, variances and privacy, pseudo-code of papers, audits."""

import itertools
import math

import numpy as np
import pytest
from counter_reference import SignedTree, SquareRoots
from helpers import refused
from reference import INFINITY, Late, by_labels
from runs import LATENESS, arms_pulled, assert_pulls, coins, looped, one_line
from runs import instance_of as numbered
from scipy import special, stats

from bandit_core.jit.decorators import kernel
from bandit_core.kernels.normals import normal
from bandit_core.kernels.streams import next_uniform, streams
from bandit_core.mechanisms import Binary, Hybrid, SignedDigits, SquareRoot, laplace_sum_bound
from bandit_core.mechanisms.counter import equal_laplace_bound
from bandit_core.mechanisms.gaussian import smallest_delta, smallest_epsilon
from bandit_core.mechanisms.signed_digits import best_base, levels
from bandit_core.mechanisms.square_root import coefficients, exponentials, squared_length
from bandit_core.policies import registry

# ---------------------------------------------------------------------------------------------------------------------
# The k-ary tree with signed digits and the square-root factorisation: nodes, variances and privacy by brute force.


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


# ---------------------------------------------------------------------------------------------------------------------
# Counters and the policies that play on them: against the pseudo-code of their papers, audits, error distributions.


# ---- The pseudo-code of Chan, Shi and Song 2011, with a tap for the noise ----


def laplace(uniform, scale):
    centred = (uniform - 0.5) + 2.0**-53
    return scale * math.copysign(math.log(1 - 2 * abs(centred)), centred)


class ChanBinary:
    def __init__(self, epsilon, horizon):
        self.scale = (math.floor(math.log2(horizon)) + 1) / epsilon
        self.sums, self.noisy, self.t = {}, {}, 0

    def insert(self, item, draw):
        self.t += 1
        lowest = (self.t & -self.t).bit_length() - 1
        self.sums[lowest] = sum(self.sums.get(level, 0.0) for level in range(lowest)) + item
        for level in range(lowest):
            self.sums[level] = self.noisy[level] = 0.0
        self.noisy[lowest] = self.sums[lowest] + laplace(draw(), self.scale)
        return sum(self.noisy[level] for level in range(self.t.bit_length()) if self.t >> level & 1)


class ChanLogarithmic:
    def __init__(self, epsilon):
        self.scale, self.running, self.released, self.t = 1 / epsilon, 0.0, 0.0, 0

    def insert(self, item, draw):
        self.t += 1
        self.running += item
        if math.log2(self.t).is_integer():
            self.running += laplace(draw(), self.scale)
            self.released = self.running
        return self.released


class ChanHybrid:
    def __init__(self, block_epsilon, tree_epsilon):
        self.blocks, self.tree_epsilon, self.t = ChanLogarithmic(block_epsilon), tree_epsilon, 0

    def insert(self, item, draw):
        self.t += 1
        released = self.blocks.insert(item, draw)
        if math.log2(self.t).is_integer():
            self.tree = ChanBinary(self.tree_epsilon, self.t)
            return released
        return released + self.tree.insert(item, draw)


class Signed(SignedTree):
    def insert(self, item, draw):
        return super().insert(item, lambda: laplace(draw(), self.scale))


COUNTERS = [
    pytest.param(Binary(0.7, 70), lambda: ChanBinary(0.7, 70), id="binary"),
    pytest.param(Hybrid(0.3, 0.9), lambda: ChanHybrid(0.3, 0.9), id="hybrid"),
    pytest.param(SignedDigits(0.7, 70, 3), lambda: Signed(0.7, 70, 3), id="k-ary, three branches"),
    pytest.param(SignedDigits(0.7, 70), lambda: Signed(0.7, 70, 13), id="k-ary, the best number of branches"),
]


@pytest.mark.parametrize(("counter", "chan"), COUNTERS)
def test_a_counter_follows_its_pseudo_code_on_the_same_draws(counter, chan):
    items = np.random.default_rng(1).random(70)
    rng = np.random.default_rng(2)
    reference = chan()
    expected = [reference.insert(item, lambda: rng.integers(0, 2**52) * 2.0**-52) for item in items]
    np.testing.assert_allclose(counter.release(items, np.random.default_rng(2)), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("counter", "chan"), COUNTERS)
def test_streams_side_by_side_are_independent_and_all_items_count(counter, chan):
    sums = counter.start(np.random.default_rng(0), streams=3)
    released = sums.insert(1.0)
    assert released.shape == (3,) and len(set(released)) == 3
    items = np.tile([1.0, 0.0, 0.25, 1.0], (2, 1))
    quiet = type(counter)(*(1e12 if isinstance(value, float) else value for value in vars(counter).values()))
    expected = [[1, 1, 1.25, 2.25]] * 2
    np.testing.assert_allclose(quiet.release(items, np.random.default_rng(0)), expected, atol=1e-9)


def nodes_of_each_item(counter, count):
    """For each item the budgets it has paid after ``count`` items, by listing every released partial sum."""
    paid = np.zeros(count)

    def tree(offset, length, budget, horizon):
        per_node = budget / (math.floor(math.log2(horizon)) + 1)
        for end in range(1, length + 1):
            paid[offset + end - (end & -end) : offset + end] += per_node

    def blocks(budget):
        for power in range(count.bit_length()):
            paid[2**power // 2 : 2**power] += budget

    if counter.name == "k-ary":
        reference, seen = SignedTree(counter.epsilon, counter.horizon, counter.base), set()
        for items in range(1, count + 1):
            seen |= {node[1:] for node in reference.nodes(items)}
        for first, end in seen:
            paid[first : min(end, count)] += 1 / reference.scale
    elif counter.name == "binary":
        tree(0, count, counter.epsilon, counter.horizon)
    else:
        blocks(counter.block_epsilon)
        for power in range(count.bit_length()):
            tree(2**power, min(count, 2 ** (power + 1) - 1) - 2**power, counter.tree_epsilon, 2**power)
    return paid


@pytest.mark.parametrize(
    ("counter", "chan"), [*COUNTERS, pytest.param(Hybrid(0.1, 1.0), None, id="hybrid, small blocks")]
)
def test_what_the_thriftless_item_has_spent(counter, chan):
    counts = np.arange(1, 71)
    expected = [nodes_of_each_item(counter, int(count)).max() for count in counts]
    np.testing.assert_allclose(counter.spent(counts), expected, rtol=1e-12)
    assert counter.spent(0) == 0
    assert max(expected) <= counter.total_epsilon * (1 + 1e-12)
    assert float(counter.spent(2**40)) == pytest.approx(counter.total_epsilon, rel=0.03)


# ---- How large the noise is ----

STREAMS = 20_000


@pytest.mark.parametrize(("counter", "chan"), COUNTERS)
def test_noise_has_the_variance_and_the_bounds_of_theory(counter, chan):
    noise = counter.release(np.zeros((STREAMS, 35)), np.random.default_rng(5))
    for count in (1, 2, 3, 7, 8, 21, 31, 32, 35):
        column = noise[:, count - 1]
        variance = counter.variance(count)
        # A sum of Laplace variables has kurtosis at most 6: 5 standard errors of mean and variance.
        assert column.mean() == pytest.approx(0, abs=5 * math.sqrt(variance / STREAMS)), count
        assert column.var() == pytest.approx(variance, rel=5 * math.sqrt(5 / STREAMS)), count
        for gamma in (0.2, 0.02):
            bound = laplace_sum_bound(counter.noise_scales(count), gamma)
            exceeded = int(np.count_nonzero(np.abs(column) > bound))
            assert exceeded <= stats.binom.ppf(1 - 1e-6, STREAMS, gamma), (count, gamma)


def test_the_bound_on_sums_covers_where_the_printed_one_does_not():
    """Equation 2.2 of Tossou and Dimitrakakis needs ln(2/gamma) >= number of nodes; Chan's lemma does not."""
    nodes, scale, gamma = 20, 20.0, 0.1
    rest = math.log(2 / gamma)
    assert laplace_sum_bound([scale] * nodes, gamma) == pytest.approx(
        math.sqrt(8) * scale * math.sqrt(rest) * max(math.sqrt(nodes), math.sqrt(rest))
    )
    sums = np.random.default_rng(0).laplace(0, scale, (nodes, 50_000)).sum(axis=0)
    printed = math.sqrt(8) * rest * (math.log(2**20) + 1)
    assert np.mean(np.abs(sums) > printed) > 1.5 * gamma
    assert np.mean(np.abs(sums) > laplace_sum_bound([scale] * nodes, gamma)) < gamma
    assert laplace_sum_bound([], gamma) == 0
    with pytest.raises(ValueError, match="gamma"):
        laplace_sum_bound([1.0], 1.0)


# ---- Which epsilon a counter really has ----


# ---- The policies against their pseudo-code ----


@kernel
def _uniforms(state, column, drawn):
    for place in range(drawn.shape[0]):
        drawn[place] = next_uniform(state, 0, column)


@kernel
def _normals(state, column, drawn):
    for place in range(drawn.shape[0]):
        drawn[place] = normal(state, 0, column)


def taps(seed, trial, count, noise=_uniforms):
    """Functions that give the next uniform for rewards, and the next number for noise, of one trial."""
    iterators = []
    for column, fill in ((0, _uniforms), (4, noise)):
        drawn = np.empty(count)
        fill(streams(seed, trial, trial + 1), column, drawn)
        iterators.append(iter(drawn.tolist()))
    return tuple(iterator.__next__ for iterator in iterators)


def pays(instance, arm, uniform):
    _, low, high, chance, _ = instance.arms[arm].row()
    return high if uniform < chance else low


def tossou_nu(instance, t, n, epsilon):
    parameters = instance.parameters
    twice = 2 if parameters.accounting == "tight" else 1
    power = math.log2(n).is_integer()
    if parameters.version == "AAAI":
        depth = 1 if power else math.log2(n - 2 ** math.floor(math.log2(n))) + 1
        certainty = 4 * math.log(t) if parameters.gamma == "t^-4" else math.log(2 / parameters.gamma)
    else:
        depth = 1 if power else math.log(n) + 1
        certainty = math.log(4 * float(t) ** 4) if parameters.gamma == "t^-4" else math.log(2 / parameters.gamma)
    return twice * math.sqrt(8) / epsilon * certainty * depth


def counters_of(name, instance):
    """A counter for each arm, from the pseudo-code of the papers."""
    horizon, arms, epsilon, parameters = (
        instance.horizon,
        len(instance.arms),
        instance.epsilon.value,
        instance.parameters,
    )
    if name == "private-ucb" and parameters.variant == "2015":
        epsilon /= arms
    if parameters.counter == "binary":
        return [ChanBinary(epsilon, horizon) for _ in range(arms)]
    if parameters.counter == "k-ary":
        return [Signed(epsilon, horizon, SignedDigits(epsilon, horizon).base) for _ in range(arms)]
    if parameters.counter == "square-root":
        return [SquareRoots(SquareRoot(epsilon, horizon, parameters.delta).sd) for _ in range(arms)]
    part = epsilon / 2 if parameters.accounting == "tight" else epsilon
    return [ChanHybrid(part, part) for _ in range(arms)]


def covering(name, instance, counter, t, n):
    """The margin for the noise of one counter after ``n`` items at step ``t``."""
    horizon, arms, parameters = instance.horizon, len(instance.arms), instance.parameters
    if name == "dp-ucb":
        return 0.0
    gamma = t**-4.0 if parameters.gamma == "t^-4" else parameters.gamma
    sums = arms * horizon if name == "private-ucb" else 1
    part = parameters.margin if name == "private-ucb" else 1.0
    if parameters.counter == "k-ary":
        nodes, rest = len(counter.used[-1]), math.log(2 * sums / gamma)
        return part * counter.scale * (2 * math.sqrt(nodes * rest) + rest)
    if parameters.counter == "square-root":
        return part * counter.noise_sd() * math.sqrt(2 * math.log(sums / gamma))
    if name == "dp-ucb-bound":
        return tossou_nu(instance, t, n, instance.epsilon.value)
    split = arms if parameters.variant == "2015" else 1
    inside = math.log(sums * math.log(horizon) / gamma)
    return part * split * math.log(horizon) ** 2 * inside / instance.epsilon.value


def reference_arms(name, instance, seed, trial):
    """The arms of one trial, straight from the pseudo-code; rewards are inserted when they are counted."""
    horizon, arms, parameters = instance.horizon, len(instance.arms), instance.parameters
    noise = _normals if parameters.counter == "square-root" else _uniforms
    reward_tap, noise_tap = taps(seed, trial, 2 * horizon * (arms if name == "dp-ucb" else 1) + 50 * arms, noise)
    counters, root = counters_of(name, instance), name == "private-ucb" or parameters.index == "with root"
    sums, counts, chosen, late = [0.0] * arms, [0] * arms, [], Late(instance)
    for t in range(1, horizon + 1):
        indices = [INFINITY] * arms
        for arm in (arm for arm in range(arms) if counts[arm]):
            n = counts[arm]
            bonus = math.sqrt(2 * math.log(t) / n) if root else 0.0
            indices[arm] = (sums[arm] + covering(name, instance, counters[arm], t, n)) / n + bonus
        choice = late.first_largest(indices)
        chosen.append(choice)
        for counted, reward in late.counted(choice, pays(instance, choice, reward_tap())):
            counts[counted] += 1
            for arm in range(arms) if name == "dp-ucb" else [counted]:
                sums[arm] = counters[arm].insert(reward if arm == counted else 0.0, noise_tap)
    return np.array(chosen)


def instance_of(name, means, horizon, epsilon, **given):
    arms = coins(*means[:-1])
    arms.append({"kind": "two-point", "low": 0.25, "high": 0.75, "p_high": (means[-1] - 0.25) * 2})
    return numbered(name, arms, epsilon, horizon, **given)[1]


CASES = [
    ("private-ucb", {}),
    ("private-ucb", {"variant": "2015"}),
    ("private-ucb", {"gamma": 0.1}),
    ("private-ucb", {"variant": "2015", "margin": 0.01}),
    ("dp-ucb-bound", {}),
    ("dp-ucb-bound", {"accounting": "paper", "index": "as printed"}),
    ("dp-ucb-bound", {"version": "arXiv", "accounting": "paper"}),
    ("dp-ucb-bound", {"version": "arXiv", "gamma": 0.1}),
    ("dp-ucb", {}),
    ("dp-ucb", {"accounting": "paper", "index": "as printed"}),
    ("dp-ucb", {"counter": "k-ary"}),
    ("dp-ucb", {"counter": "k-ary", "index": "as printed"}),
    ("dp-ucb", {"counter": "square-root", "delta": 0.01}),
    ("dp-ucb-bound", {"counter": "k-ary"}),
    ("dp-ucb-bound", {"counter": "k-ary", "index": "as printed", "gamma": 0.1}),
    ("dp-ucb-bound", {"counter": "square-root"}),
    ("dp-ucb-bound", {"counter": "square-root", "gamma": 0.1}),
    ("private-ucb", {"counter": "k-ary"}),
    ("private-ucb", {"counter": "k-ary", "variant": "2015", "margin": 0.1}),
    ("private-ucb", {"counter": "square-root", "gamma": 0.1, "delta": 0.001}),
]
FEW = [0.9, 0.62, 0.5]
INSTANCES = [
    (FEW, 0.5, 700),
    (FEW, 200.0, 1500),  # little noise
    ([0.5], 1.0, 300),
    (np.linspace(0.3, 0.74, 50), 5.0, 400),
    ([0.5, 0.5, 0.5, 0.5], 20.0, 400),  # equal arms
    (FEW, 1.0, 1),
    (FEW, 1.0, 2),
]
SOME = CASES[::3]  # of every policy and counter


@pytest.mark.parametrize(
    ("name", "params", "means", "epsilon", "horizon"),
    [(*case, *one) for place, one in enumerate(INSTANCES) for case in (CASES if place < 2 else SOME)],
)
def test_arms_are_those_of_the_pseudo_code(name, params, means, epsilon, horizon):
    instance = instance_of(name, list(means), horizon, epsilon, **params)
    chosen = by_labels(instance, streams(4, 1, 2)[0], lambda here, _: reference_arms(name, here, seed=4, trial=1))
    assert_pulls(registry()[name].play, instance, streams(4, 1, 2), lambda *_: chosen)


@pytest.mark.parametrize(
    ("name", "params", "batch", "delay"),
    [(*case, *late) for late in LATENESS for case in (CASES if late == (10, 3) else SOME)],
)
def test_arms_are_those_of_the_pseudo_code_where_rewards_are_counted_late(name, params, batch, delay):
    instance = instance_of(name, FEW, 500, 20.0, batch=batch, delay=delay, **params)
    rows = streams(4, 1, 2)
    chosen = by_labels(instance, rows[0], lambda here, _: reference_arms(name, here, seed=4, trial=1))
    call = registry()[name].prepare(looped(instance))
    assert call.kernel is call.rule.late
    np.testing.assert_array_equal(arms_pulled(call, rows, 500)[0], chosen)


# ---- What the policies tell about themselves ----


@pytest.mark.parametrize(
    ("name", "params", "epsilon"),
    [
        ("private-ucb", {"counter": "k-ary"}, 0.6),
        ("private-ucb", {"counter": "k-ary", "variant": "2015"}, 0.2),
        ("dp-ucb-bound", {"counter": "k-ary"}, 0.6),
        ("private-ucb", {}, 0.6),
        ("private-ucb", {"variant": "2015"}, 0.2),
        ("dp-ucb-bound", {}, 0.6),
        ("dp-ucb-bound", {"accounting": "paper"}, 1.2),
        ("dp-ucb", {}, 0.6),
        ("dp-ucb", {"accounting": "paper"}, 1.2),
        ("dp-ucb", {"counter": "k-ary"}, 0.6),
    ],
)
def test_the_true_guarantee_is_told_and_never_overspent(name, params, epsilon):
    instance = instance_of(name, FEW, 1000, 0.6, **params)
    policy = registry()[name]
    guarantee = policy.guarantee(instance)
    assert guarantee.model == "central" and guarantee.delta == 0
    assert guarantee.epsilon == pytest.approx(epsilon)
    assert f"{epsilon:g}-differentially private" in guarantee.words
    spent = policy.spent(instance, np.array([1, 10, 100, 1000]))
    assert np.all(np.diff(spent) >= 0) and spent[0] > 0
    assert spent[-1] == pytest.approx(epsilon, rel=0.1) and spent[-1] <= epsilon * (1 + 1e-12)


def test_a_constant_gamma_hides_the_theorem():
    def upper(**params):
        instance = one_line("dp-ucb-bound", horizon=1000, **params).setups[0]
        return [bound for bound in registry()["dp-ucb-bound"].bounds(instance) if bound.side == "upper"]

    assert upper() and not any(bound.not_applicable for bound in upper())
    assert all(bound.not_applicable for bound in upper(gamma=0.1))


def test_a_part_of_the_margin_of_private_ucb_has_no_proved_bound():
    for margin, proved in ((1.0, True), (0.01, False)):
        [setup] = one_line("private-ucb", coins(0.9, 0.6), horizon=1000, margin=margin).setups
        bounds = registry()["private-ucb"].bounds(setup)
        assert any(bound.side == "upper" and not bound.not_applicable for bound in bounds) == proved
