"""Counters and the policies that play on them: against the pseudo-code of their papers, audits, error distributions."""

import math

import numpy as np
import pytest
from counter_reference import SignedTree, SquareRoots
from helpers import refused
from reference import INFINITY, Late, by_labels
from runs import LATENESS, arms_pulled, assert_pulls, coins, looped, one_line
from runs import instance_of as numbered
from scipy import stats

from bandit_core.auditing.subjects import audit
from bandit_core.jit.decorators import kernel
from bandit_core.kernels.normals import normal
from bandit_core.kernels.streams import next_uniform, streams
from bandit_core.mechanisms import Binary, Hybrid, SignedDigits, SquareRoot, laplace_sum_bound
from bandit_core.model import Signal
from bandit_core.policies import registry

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


@pytest.mark.parametrize("item", [-0.01, 1.01, math.nan, math.inf])
def test_items_outside_the_unit_interval_are_refused(item):
    with refused("item", value=pytest.approx(item, nan_ok=True)):
        Hybrid.calibrated(1.0).release([0.5, item], np.random.default_rng(0))


def test_a_binary_counter_ends_at_its_horizon():
    running = Binary(1.0, 2).start(np.random.default_rng(0))
    running.insert(1.0)
    running.insert(1.0)
    with refused("item", value=3):
        running.insert(1.0)
    assert running.count == 2


@pytest.mark.parametrize("make", [lambda e: Binary(e, 4), Hybrid.calibrated, Hybrid.as_printed])
@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_budgets_must_be_positive_numbers(make, epsilon):
    with refused("epsilon"):
        make(epsilon)


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


def test_the_first_release_is_one_laplace_variable():
    for counter, scale in ((Binary(0.5, 8), 8.0), (Hybrid.calibrated(0.5), 4.0)):
        noise = counter.release(np.zeros((STREAMS, 1)), np.random.default_rng(3))[:, 0]
        assert stats.kstest(noise, stats.laplace(scale=scale).cdf).pvalue > 1e-4, counter.name


def test_variances_by_hand():
    assert Binary(2.0, 8).variance(7) == pytest.approx(3 * 2 * (4 / 2) ** 2)
    assert Binary(2.0, 8).variance(8) == pytest.approx(2 * (4 / 2) ** 2)
    assert Hybrid.calibrated(2.0).variance(13) == pytest.approx(2 * 4 + 2 * 2 * 4**2)


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


def watching(counter, before, times):
    """A sampler for `audit`: everything is 0 but item ``before`` + 1; its response is the most telling statistic.

    The increments of the releases at ``times`` since the release at ``before`` hold the item's nodes, each with its
    own Laplace variable; their minimum lies above 1 with a chance that moves by e^(sum of the nodes' budgets).
    """

    def sampler(rewards, epsilon, rng):
        items = np.zeros((len(rewards), times[-1]))
        items[:, before] = rewards
        released = counter.release(items, rng)
        start = released[:, before - 1] if before else 0.0
        return np.min([released[:, time - 1] - start for time in times], axis=0)

    return sampler


def natural(counter):
    """The same tree with a budget split by ln(horizon), as the letters of some papers have it."""
    return Binary(counter.epsilon * (math.floor(math.log2(counter.horizon)) + 1) / math.log(counter.horizon), 7)


BINARY = Binary(1.0, 7), 0, [1, 2, 4]
HYBRID = Hybrid.calibrated(1.0), 8, [9, 10, 12, 16]  # item 9: three of four tree levels, then the block of 9 to 16


@pytest.mark.parametrize(("counter", "before", "times"), [BINARY, HYBRID])
def test_counters_pass_a_privacy_audit(counter, before, times):
    found = audit(watching(counter, before, times), counter.total_epsilon, [(0.0, 1.0)], samples=60_000)
    assert found.verdict == "consistent", found.words
    assert found.lower_bound > 0.6 * counter.total_epsilon  # the statistic does see the item


@pytest.mark.parametrize(
    ("counter", "before", "times"),
    [
        pytest.param(Binary(2.0, 7), *BINARY[1:], id="binary, half the noise"),
        pytest.param(natural(Binary(1.0, 7)), *BINARY[1:], id="binary, natural logarithm"),
        pytest.param(Hybrid.calibrated(2.0), *HYBRID[1:], id="hybrid, half the noise"),
        pytest.param(Hybrid.as_printed(1.0), *HYBRID[1:], id="hybrid, full epsilon for both parts"),
    ],
)
def test_the_audit_catches_too_little_noise(counter, before, times):
    found = audit(watching(counter, before, times), 1.0, [(0.0, 1.0)], samples=60_000)
    assert found.verdict == "violates", found.words


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


@pytest.mark.parametrize(
    ("epsilon", "index", "mean"),
    [(10.0, "as printed", 17.8), (10.0, "with root", 140.0), (1.0, "as printed", 153.6), (1.0, "with root", 303.0)],
)
def test_dp_ucb_bound_meets_an_independent_simulation(epsilon, index, mean):
    """Means 0.9 and 0.6, T = 10^5, 40 runs of another implementation (both parts of the counter at epsilon)."""
    given = {"index": index, "accounting": "paper"}
    [instance] = one_line("dp-ucb-bound", coins(0.9, 0.6), epsilon, 100_000, **given).setups
    block = registry()["dp-ucb-bound"].play(instance, streams(0, 0, 40), np.array([100_000]), Signal())
    assert block.regret[:, -1].mean() == pytest.approx(mean, rel=0.06)


def test_a_part_of_the_margin_of_private_ucb_has_no_proved_bound():
    for margin, proved in ((1.0, True), (0.01, False)):
        [setup] = one_line("private-ucb", coins(0.9, 0.6), horizon=1000, margin=margin).setups
        bounds = registry()["private-ucb"].bounds(setup)
        assert any(bound.side == "upper" and not bound.not_applicable for bound in bounds) == proved
