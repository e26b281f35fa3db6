"""Heavy tails: kernels against slow references, truncated sums and moments, noise, refusals, epochs, and theory."""

import math
from functools import partial

import heavy_reference
import numpy as np
import pytest
from heavy_reference import PLAIN, SHORT
from helpers import refused
from reference import by_labels
from runs import LATENESS, coins, looped, one_line
from runs import arms_pulled as arms_of_all
from scipy import integrate, stats

from bandit_core import simulate
from bandit_core.jit.decorators import kernel
from bandit_core.kernels import heavy as kernels
from bandit_core.kernels.play import Rewards
from bandit_core.kernels.streams import streams
from bandit_core.policies import heavy_family, registry
from bandit_core.spec.rewards import Bernoulli, Beta, Gaussian, Pareto, Student, TwoPoint, Uniform, tables
from bandit_core.theory import divergences, heavy

S1 = [{"kind": "pareto", "mean": mean, "shape": 1.95} for mean in (0.9, 0.5, 0.1)]


def instance_of(policy, arms=S1, epsilon=1.0, horizon=10_000, **given):
    return one_line(policy, arms, epsilon, horizon, **given).setups[0]


# --- kernels against references -------------------------------------------------------------------------------------


def pulled_arms(policy, instance, row, **options):
    return arms_of_all(registry()[policy].prepare(instance, **options), row, instance.horizon)[0].tolist()


@pytest.mark.parametrize(("v", "kappa"), [(0.5, 0.05), (0.9, 1.0)])
@pytest.mark.parametrize("arms", [S1, PLAIN], ids=["pareto", "mixed"])
def test_robust_ucb_plays_like_its_reference(arms, v, kappa):
    if arms is PLAIN and v == 0.9:
        arms = PLAIN[1:]
    instance = instance_of("robust-ucb", arms, horizon=3000, v=v, kappa=kappa)
    for row in streams(1, 0, 2):
        expected = by_labels(instance, row, lambda here, row: heavy_reference.robust_ucb(here, kappa, row))
        assert pulled_arms("robust-ucb", instance, row[None]) == expected
        assert len(set(expected)) == len(arms)


@pytest.mark.parametrize(("v", "kappa", "epsilon"), [(0.5, 0.01, 1.0), (0.9, 0.001, 0.5), (0.8, 0.02, 30.0)])
def test_dp_robust_ucb_plays_like_its_reference_with_an_explicit_tree(v, kappa, epsilon):
    instance = instance_of("dp-robust-ucb", S1, epsilon, horizon=3000, v=v, kappa=kappa)
    for row in streams(2, 0, 2):
        expected = by_labels(instance, row, lambda here, row: heavy_reference.dp_robust_ucb(here, kappa, row))
        assert pulled_arms("dp-robust-ucb", instance, row[None]) == expected


def epoch_of(instance, tau, size):
    return kernels.epoch_numbers(heavy_family.prepare_epochs(instance).arguments[2], tau, size)


@pytest.mark.parametrize("epsilon", [0.7, 3.0])
@pytest.mark.parametrize(
    ("policy", "params"),
    [
        ("dp-robust-se", {"kappa": 3e-4}),
        ("ldp-robust-se", {"kappa": 2e-9, "shrink": 2}),
        ("ldp-robust-se", {"kappa": 1e-10, "shrink": 4}),
    ],
)
def test_elimination_plays_like_its_reference(policy, epsilon, params):
    instance = instance_of(policy, PLAIN, epsilon, horizon=6000, v=0.8, beta=0.01, **params)
    ends = set()
    for row in streams(3, 0, 4):
        epochs: list[tuple[int, float, float, float]] = []
        plays = partial(heavy_reference.robust_elimination, epochs=epochs)
        pulled = pulled_arms(policy, instance, row[None], at_once=False)
        assert pulled == by_labels(instance, row, plays)
        for tau, (size, *expected) in enumerate(epochs, 1):
            _, length, bound, _, threshold = epoch_of(instance, tau, size)
            np.testing.assert_allclose((length, bound, threshold), expected)
        ends.add(len(set(pulled[-len(PLAIN) :])))
    assert 1 in ends  # somewhere all others were dropped


@pytest.mark.parametrize(("batch", "delay"), LATENESS)
@pytest.mark.parametrize(("policy", "kappa", "plays"), [
    ("robust-ucb", 0.05, heavy_reference.robust_ucb), ("dp-robust-ucb", 0.001, heavy_reference.dp_robust_ucb),
])  # fmt: skip
def test_an_index_plays_like_its_reference_where_rewards_are_counted_late(policy, kappa, plays, batch, delay):
    instance = instance_of(policy, PLAIN, 2.0, horizon=1500, batch=batch, delay=delay, v=0.5, kappa=kappa)
    rows = streams(2, 0, 2)
    call = registry()[policy].prepare(looped(instance))
    assert call.kernel is call.rule.late
    for pulled, row in zip(arms_of_all(call, rows, 1500), rows, strict=True):
        np.testing.assert_array_equal(pulled, by_labels(instance, row, lambda here, row: plays(here, kappa, row)))
        assert len(set(pulled)) == len(PLAIN)


@pytest.mark.parametrize(("batch", "delay"), LATENESS)
@pytest.mark.parametrize("policy", SHORT)
def test_elimination_plays_like_its_reference_where_rewards_are_counted_late(policy, batch, delay):
    given = {"v": 0.8, "beta": 0.01, **SHORT[policy]}
    instance = instance_of(policy, PLAIN, 3.0, horizon=6000, batch=batch, delay=delay, **given)
    rows = streams(3, 0, 2)
    for pulled, row in zip(arms_of_all(registry()[policy].prepare(looped(instance)), rows, 6000), rows, strict=True):
        used: list[int] = []

        def plays(here, row, used=used):
            arms, released = heavy_reference.late_elimination(here, row)
            used += [user for each in released for user in each]
            return arms

        np.testing.assert_array_equal(pulled, by_labels(instance, row, plays))
        assert len(used) == len(set(used)) > 0  # every reward is in one release at most


# --- sums and moments -----------------------------------------------------------------------------------------------


@kernel
def fill_sums(rewards, count, bound, at_once, state, signal, out):
    for place in range(out.shape[0]):
        out[place] = kernels.truncated_sum(rewards, 0, count, bound, at_once, state, 0, signal)


def drawn_sums(law, count, bound, repeats, at_once, seed=0):
    rows, values = tables((law,))
    out, state = np.zeros(repeats), streams(seed, 0, 1)
    rewards = Rewards(rows, values, np.zeros(1), np.zeros(1))
    fill_sums(rewards, count, bound, at_once, state, np.zeros(2, np.int64), out)
    return out


@pytest.mark.parametrize(
    ("law", "count", "bound"),
    [
        (Pareto(mean=0.9, shape=1.55), 5000, 40.0),
        (Pareto(mean=0.9, shape=1.55), 3000, math.inf),
        (Pareto(mean=2.0, shape=1.05), 2500, 0.5),
        (Pareto(mean=0.5, shape=8.0), 4000, 0.6),
        (TwoPoint(low=-3, high=2, p_high=0.7), 3000, 2.5),
        (Gaussian(mean=-1, sd=2), 3000, 50.0),
    ],
)
def test_a_sum_drawn_at_once_has_the_law_of_the_sum_drawn_one_by_one(law, count, bound):
    at_once, one_by_one = (drawn_sums(law, count, bound, 3000, way, seed) for way, seed in ((True, 1), (False, 2)))
    assert stats.ks_2samp(at_once, one_by_one).pvalue > 1e-4
    if math.isinf(bound):
        return
    first, second = heavy.truncated_moments(law, bound)
    spread = math.sqrt(second - first**2)
    many = drawn_sums(law, count, bound, 20_000, True, 3)
    assert abs(many.mean() - count * first) < 5 * math.sqrt(count / 20_000) * spread
    assert many.var() / (count * spread**2) == pytest.approx(1, abs=0.06)


def test_rewards_beyond_the_bound_count_zero_and_not_the_bound():
    sure = TwoPoint(low=-5.0, high=3.0, p_high=1.0)
    assert drawn_sums(sure, 10, 2.9, 1, True)[0] == drawn_sums(sure, 10, 2.9, 1, False)[0] == 0
    assert drawn_sums(sure, 10, 3.0, 1, True)[0] == drawn_sums(sure, 10, 3.0, 1, False)[0] == 30
    lowest = TwoPoint(low=-5.0, high=3.0, p_high=0.0)
    assert drawn_sums(lowest, 10, 4.9, 1, True)[0] == drawn_sums(lowest, 10, 4.9, 1, False)[0] == 0


def density_of(law):
    match law:
        case Pareto():
            return stats.pareto(law.shape, scale=law.scale).pdf, law.scale
        case Student():
            return stats.t(law.df, law.mean, law.scale).pdf, -math.inf
        case Gaussian():
            return stats.norm(law.mean, law.sd).pdf, -math.inf
        case Uniform():
            return stats.uniform(law.low, law.high - law.low).pdf, law.low
    return stats.beta(law.a, law.b).pdf, 0.0


DISTRIBUTIONS = [
    Pareto(mean=0.9, shape=1.55),
    Pareto(mean=3.0, shape=2.0),
    Student(mean=0.4, scale=0.5, df=1.7),
    Student(mean=-2, scale=1.5, df=2),
    Student(mean=0, scale=1, df=3.3),
    Gaussian(mean=0.3, sd=1.2),
    Uniform(low=-1, high=2),
]


@pytest.mark.parametrize("law", [*DISTRIBUTIONS, Beta(a=2, b=3)], ids=str)
def test_truncated_moments_are_integrals(law):
    density, low = density_of(law)
    for bound, tolerance in ((0.55, 1e-6), (2.5, 1e-6), (30.0, 1e-5)):
        knots = [x for x in (low, law.expected) if -bound < x < bound]
        exact = [
            integrate.quad(lambda x, k=k: x**k * density(x), -bound, bound, points=knots, limit=500)[0] for k in (1, 2)
        ]
        np.testing.assert_allclose(
            heavy.truncated_moments(law, bound),
            exact,
            rtol=1e-2 if isinstance(law, Beta) else tolerance,
            atol=1e-8,
        )


def test_the_chance_beyond_a_size_is_that_of_both_tails():
    sizes = np.array([0.0, 0.2, 1.0, 7.0, 3000.0])
    pareto, student = Pareto(mean=2.0, shape=1.55), Student(mean=0.4, scale=0.5, df=1.7)
    np.testing.assert_allclose(
        heavy.chance_beyond(pareto, sizes), np.minimum(1, (pareto.scale / np.maximum(sizes, 1e-9)) ** 1.55),
        rtol=1e-9, atol=1e-13,
    )  # fmt: skip
    two = stats.t(1.7, 0.4, 0.5)
    np.testing.assert_allclose(
        heavy.chance_beyond(student, sizes), two.sf(sizes) + two.cdf(-sizes), rtol=1e-6, atol=1e-12
    )
    coin = Bernoulli(mean=0.3)
    np.testing.assert_allclose(heavy.chance_beyond(coin, [0.0, 0.5, 1.0]), [0.3, 0.3, 0.0], atol=1e-12)


@pytest.mark.parametrize("df", [1.2, 2.5, 7.0])
@pytest.mark.parametrize("mean", [0.0, 0.8, -30.0])
def test_students_moments(df, mean):
    law = Student(mean=mean, scale=0.5, df=df)
    density = stats.t(df, mean, 0.5).pdf
    assert law.raw_moment(df) == law.raw_moment(df + 1) == math.inf == Student(mean=0, scale=1, df=2).raw_moment(2)
    for order in (0.5, 0.9 * df / 1.2):
        parts = [
            integrate.quad(lambda x, k=order: abs(x) ** k * density(x), *ends, limit=800)[0]
            for ends in ((-math.inf, -100), (-100, min(mean, -1e-9)), (min(mean, -1e-9), 0), (0, 100), (100, math.inf))
        ]
        assert law.raw_moment(order) == pytest.approx(sum(parts), rel=2e-3)
    if df > 2:
        assert law.raw_moment(2) == pytest.approx(mean**2 + 0.25 * df / (df - 2))


def test_students_draws_and_quantiles():
    law = Student(mean=1.0, scale=2.0, df=1.7)
    draws = drawn_sums(law, 1, math.inf, 40_000, True)
    assert stats.kstest(draws, stats.t(1.7, 1.0, 2.0).cdf).pvalue > 1e-4
    np.testing.assert_allclose(law.quantile(np.array([0.5, 0.75])), stats.t(1.7, 1.0, 2.0).ppf([0.5, 0.75]))
    far = divergences.total_variation(law, Student(mean=1e6, scale=2.0, df=1.7))
    assert far > 0.99 > divergences.total_variation(law, Student(mean=1.5, scale=2.0, df=1.7)) > 0.01


@pytest.mark.parametrize("estimator", ["plain", "tree", "epoch", "local"])
def test_parts_of_the_error_are_those_of_simulated_means(estimator):
    law, n, rng = Pareto(mean=0.9, shape=1.95), 300, np.random.default_rng(0)
    rule = dict(v=0.9, u=8.0, estimator=estimator, epsilon=0.8, logarithm=9.0)
    parts = heavy.errors(law, [n], levels=10, **rule).iloc[0]
    rewards = law.quantile(rng.random((20_000, n)))
    steps = np.arange(1, n + 1) if estimator in ("plain", "tree") else np.full(n, n)
    levels = heavy.truncation_level(steps, **rule)
    means = np.where(rewards <= levels, rewards, 0.0).mean(axis=1)
    assert law.mean - means.mean() == pytest.approx(parts.bias, abs=5 * parts.sampling / math.sqrt(20_000))
    assert means.std() == pytest.approx(parts.sampling, rel=0.05)
    assert parts.level == pytest.approx(levels[-1])
    if estimator == "plain":
        noise = np.zeros(1000)
    elif estimator == "tree":  # 300 = 256 + 32 + 8 + 4: nodes closed at 256, 288, 296 and 300
        closed = heavy.truncation_level([256, 288, 296, 300], **rule)
        noise = rng.laplace(0, 2 * 10 / 0.8 * closed, (100_000, 4)).sum(axis=1) / n
    elif estimator == "epoch":
        noise = rng.laplace(0, 2 * levels[-1] / (n * 0.8), 100_000)
    else:
        noise = rng.laplace(0, 2 * levels[-1] / 0.8, (5000, n)).mean(axis=1)
    assert noise.std() == pytest.approx(parts.noise, rel=0.05)
    assert parts.untruncated == math.inf


def test_long_sums_of_the_error_are_the_sums():
    law = Pareto(mean=0.9, shape=1.55)
    rule = dict(v=0.5, u=5.6, estimator="plain", logarithm=20.0)
    n = np.array([5000, 20_000, 60_000])
    first, _ = heavy.truncated_moments(law, heavy.truncation_level(np.arange(1, 60_001), **rule))
    bias = law.mean - np.cumsum(first)[n - 1] / n
    np.testing.assert_allclose(heavy.errors(law, n, **rule)["bias"], bias, rtol=1e-9)


# --- privacy --------------------------------------------------------------------------------------------------------


def test_spending_ends_at_the_budget():
    policy, instance = registry()["dp-robust-ucb"], instance_of("dp-robust-ucb", epsilon=0.7, horizon=1000)
    spent = policy.spent(instance, np.array([1, 2, 3, 512, 1000]))
    np.testing.assert_allclose(spent, 0.7 * np.array([1, 2, 2, 10, 10]) / 10)


# --- the spec -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["robust-ucb", "dp-robust-ucb", "dp-robust-se", "ldp-robust-se"])
def test_an_infinite_moment_is_refused_with_the_arm_and_the_largest_v(policy):
    arms = [Pareto(mean=1, shape=3).model_dump(), {"kind": "student", "mean": 0, "scale": 1, "df": 1.6}]
    with refused("lines[0].params") as issues:
        instance_of(policy, arms, v=0.6)
    assert all(word in issues[0].allowed for word in ("arm 1", "student", " 0.6"))
    assert instance_of(policy, arms, v=0.59).parameters.u > 1


def test_auto_becomes_numbers():
    parameters = instance_of("dp-robust-se", S1, horizon=1000, v=0.9).parameters
    scale = 0.9 * 0.95 / 1.95
    assert parameters.u == pytest.approx(1.95 * scale**1.9 / 0.05)
    assert parameters.beta == 1e-3
    assert parameters.kappa == pytest.approx(16 ** -(1.9 / 0.9))
    assert instance_of("ldp-robust-se", S1, v=0.9).parameters.kappa == pytest.approx(16 ** -(3.8 / 0.9))
    assert instance_of("robust-ucb", S1).parameters.kappa == 1 / 4
    assert instance_of("dp-robust-ucb", S1).parameters.kappa == 1 / 16
    assert instance_of("dp-robust-ucb", S1, u=2.5).parameters.u == 2.5
    for v, u in ((0.5, 5.595), (0.9, 8.142)):  # moments of the paper's instances
        arms = [{"kind": "pareto", "mean": 0.9, "shape": 1.05 + v}]
        assert instance_of("robust-ucb", arms, v=v).parameters.u == pytest.approx(u, abs=5e-4)


# --- epochs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kappa", [1.0, 1e-3])
@pytest.mark.parametrize("local", [False, True])
def test_threshold_and_precision_stay_in_step_for_every_kappa(local, kappa):
    for tau in (1, 2, 3):
        rule = kernels.Elimination(local, 4.0 if local else 2.0, 0.9, 8.0, 0.5, 0.5, kappa, 1e-6)
        precision, length, _, error, threshold = kernels.epoch_numbers(rule, tau, 5)
        assert length >= 2
        assert threshold <= precision / 2 * (1 + 1e-12)
        assert threshold == pytest.approx(precision / 2, rel=0.02)
        if kappa == 1:
            assert (28 if local else 24) * error <= precision * (1 + 1e-12)


# --- theory ---------------------------------------------------------------------------------------------------------


def values_of(instance, name, t=1e6):
    found = [bound for bound in heavy.shapes(instance) if bound.name == name]
    assert len(found) == 1
    return float(found[0].curve(np.array([t]))[0])


def scaled(arms, factor):
    return [{**arm, "mean": arm["mean"] * factor} for arm in arms]


@pytest.mark.parametrize("v", [0.4, 0.9])
def test_bounds_follow_the_unit_of_rewards_unless_hidden_for_not_doing_so(v):
    """X -> c X turns u into c^(1+v) u and every regret into c times itself."""
    small, large = (instance_of("ldp-robust-se", scaled(S1, c), 0.5, v=v) for c in (1.0, 10.0))
    follows = {
        bound.name: values_of(large, bound.name) == pytest.approx(10 * values_of(small, bound.name))
        for bound in heavy.shapes(small)
        if "distribution" not in bound.name
    }
    wrong = {name for name, good in follows.items() if not good}
    printed = {
        bound.name for bound in heavy.shapes(small) if bound.not_applicable and "superseded" in bound.not_applicable
    }
    assert printed == {name for name in follows if "as printed" in name} != set()
    assert wrong <= printed
    assert {"Theorem 4 as printed", "Theorem 4 worst case as printed"} <= wrong


def test_which_bounds_are_shown():
    def shown(policy, epsilon):
        return {
            bound.name
            for bound in registry()[policy].bounds(instance_of(policy, S1, epsilon, v=0.9))
            if not bound.not_applicable
        }

    assert "Theorem 5" in shown("dp-robust-se", 1.0)
    assert "Theorem 5" not in shown("dp-robust-se", 2.0)  # stated for epsilon up to 1
    assert "Theorem 10" not in shown("dp-robust-se", 1.0)  # stated for two arms
    assert not {name for name in shown("dp-robust-se", 1.0) if "LDP" in name or name in ("Theorem 8", "Theorem 9")}
    assert {"Theorem 5", "Theorem 8", "Theorem 9", "Heavy-tailed LDP bound"} <= shown("ldp-robust-se", 1.0)
    assert not {name for name in shown("ldp-robust-se", 1.0) if "printed" in name}
    for policy in ("robust-ucb", "dp-robust-ucb", "dp-robust-se", "ldp-robust-se"):
        bounds = registry()[policy].bounds(instance_of(policy, S1))
        assert all(bound.status != "proved" for bound in bounds if "Heavy" in bound.name or "Theorem" in bound.name)
        assert len({bound.name for bound in bounds}) == len(bounds)


def test_table_1_has_what_the_curves_have_at_the_horizon():
    instance = instance_of("ldp-robust-se", S1, 0.5, horizon=10**6, v=0.9)
    table = heavy.table_1(instance)
    assert len(table) == 12
    row = table[(table.model == "local") & (table.version == "corrected") & (table.kind == "instance-dependent")]
    assert row.upper_value.item() == pytest.approx(values_of(instance, "Theorem 7, corrected"))
    assert row.lower_value.item() == pytest.approx(values_of(instance, "Heavy-tailed LDP bound"))
    bounded = table[(table.rewards == "bounded") & (table.kind == "instance-dependent") & (table.model == "central")]
    assert bounded.upper_value.item() == pytest.approx(math.log(1e6) * (3 / 0.5 + 1 / 0.4 + 1 / 0.8))
    assert table.upper.str.len().min() > 0


@pytest.mark.parametrize("policy", ["dp-robust-se", "ldp-robust-se"])
def test_an_epoch_longer_than_any_whole_number_is_never_complete(policy):
    experiment = one_line(policy, coins(0.9, 0.5), 0.01, 1000, trials=2, v=0.01)
    [played] = simulate(experiment).lines
    assert np.all(played.pulls.sum(axis=1) == 1000)
    assert np.all(np.abs(played.pulls - 500) <= 1)  # in turns until the end
