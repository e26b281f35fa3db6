"""Explore-then-commit against a plain reference, and the power calculation by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from batch_reference import binomial
from reference import Stream, laplace, reward_of
from runs import assert_pulls, instance_of, one_line
from scipy import stats

from bandit_core.experiments.catalogue import line_bounds
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal, run_kernel
from bandit_core.policies import explore_then_commit, registry
from bandit_core.theory.explore_commit import chance_of_overtaking
from bandit_core.theory.power import MAX_USERS, critical_value, sample_size

NAMES = {"none": "explore-then-commit", "local": "explore-then-commit-local", "central": "explore-then-commit-central"}
COINS = [{"kind": "bernoulli", "mean": mean} for mean in (0.5, 0.8, 0.65)]
OTHERS = [
    {"kind": "beta", "a": 2.0, "b": 1.0},
    {"kind": "uniform", "low": 0.25, "high": 0.75},
    {"kind": "two-point", "low": 0.125, "high": 0.75, "p_high": 0.4},
]


def setup_of(privacy, arms, horizon, epsilon=1.0, **params):
    return instance_of(NAMES[privacy], arms, epsilon, horizon, **params)[1]


# --- the policy ------------------------------------------------------------------------------------------------------


def plain(setup, words, privacy, at_once):
    """The arms pulled, one per step, and which rewards entered which release."""
    stream = Stream(words)
    order = stream.labels(len(setup.arms))
    arms = [setup.arms[place] for place in order]
    users, epsilon = setup.parameters.users, setup.epsilon and setup.epsilon.value
    in_bulk = privacy == "local" or (at_once and all(arm.kind in ("bernoulli", "two-point") for arm in arms))
    rewards = [[] for _ in arms]
    pulled, released = [], []
    for t in range(min(users, setup.horizon)):
        label = t % len(arms)
        pulled.append(label)
        rewards[label].append(None if in_bulk else reward_of(arms[label], stream.uniform(), stream))
    means = []
    for arm, mine in zip(arms, rewards, strict=True):
        if not mine or setup.horizon <= users:
            means.append(-math.inf)
            continue
        if privacy == "local":
            c = math.tanh(epsilon / 2)
            total = binomial(len(mine), 0.5 + c * (arm.expected - 0.5), stream.rejections.uniform)
        elif in_bulk:
            low, high, p = (0.0, 1.0, arm.mean) if arm.kind == "bernoulli" else (arm.low, arm.high, arm.p_high)
            ones = binomial(len(mine), p, stream.rejections.uniform)
            total = low * (len(mine) - ones) + high * ones
        else:
            total = sum(mine)
        if privacy == "central":
            total += laplace(stream.uniform(), 1 / epsilon)
        released.append(len(mine))
        means.append(0.5 + (total / len(mine) - 0.5) / c if privacy == "local" else total / len(mine))
    winner = means.index(max(means))
    pulled += [winner] * (setup.horizon - len(pulled))
    return [order[label] for label in pulled], released


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("arms", [COINS, OTHERS, COINS[:1]], ids=["coins", "others", "one"])
@pytest.mark.parametrize("privacy", NAMES)
@pytest.mark.parametrize(("users", "horizon"), [(1, 40), (2, 40), (25, 60), (60, 60), (100, 60), (3001, 4000)])
def test_the_arms_of_the_reference(privacy, arms, users, horizon, at_once):
    setup = setup_of(privacy, arms, horizon, users=users)

    def expected(words, _):
        arms_of_all, released = plain(setup, words, privacy, at_once)
        assert sum(released) in (0, users)  # every reward of the test is in exactly one sum
        return arms_of_all

    play = explore_then_commit.prepare(setup, privacy, at_once)
    assert_pulls(lambda _, *given: run_kernel(play, *given), setup, streams(7, 0, 4), expected)


@pytest.mark.parametrize("privacy", NAMES)
def test_the_loss_that_is_played_is_the_sum_over_the_chance_to_pick_wrongly(privacy):
    """Two options: exact binomials, and two Laplace variables whose difference has the tail e^-z (2 + z) / 4."""
    arms, horizon, epsilon = [{"kind": "bernoulli", "mean": mean} for mean in (0.5, 0.575)], 10_000, 0.5
    [setup] = one_line(NAMES[privacy], arms, epsilon, horizon, users=800).setups
    contrast = math.tanh(epsilon / 2) if privacy == "local" else 1.0
    worse, better = (stats.binom.pmf(np.arange(401), 400, 0.5 + contrast * (mean - 0.5)) for mean in (0.5, 0.575))
    ahead, chances = np.arange(-400, 401), np.convolve(better, worse[::-1])
    z = np.abs(ahead) * epsilon
    tail = np.exp(-z) * (2 + z) / 4 if privacy == "central" else np.where(ahead == 0, 0.5, 0.0)
    wrong = float(chances @ np.where(ahead < 0, 1 - tail, tail))
    exact = 0.075 * (400 + (horizon - 800) * wrong)
    block = registry()[NAMES[privacy]].play(setup, streams(1, 0, 20_000), np.array([horizon]), Signal())
    played = block.regret[:, -1]
    assert 0.01 < wrong < 0.4 and abs(played.mean() - exact) < 4 * played.std() / math.sqrt(len(played))


@pytest.mark.parametrize("privacy", ["none", "central"])
def test_drawing_sums_at_once_changes_no_distribution(privacy):
    """How often each arm wins, 4,000 runs of each form; the same test tells slightly other arms."""

    def wins(mean, at_once, seed):
        arms = [{"kind": "bernoulli", "mean": mean}, *COINS[1:]]
        setup = setup_of(privacy, arms, 100, epsilon=0.5, users=60)
        call = explore_then_commit.prepare(setup, privacy, at_once)
        pulls = run_kernel(call, streams(seed, 0, 4000), np.array([100]), Signal()).pulls
        return np.bincount(pulls.argmax(axis=1), minlength=3)

    one_by_one = wins(0.75, False, 1)
    assert stats.chi2_contingency([one_by_one, wins(0.75, True, 2)]).pvalue > 1e-3
    assert stats.chi2_contingency([one_by_one, wins(0.65, True, 3)]).pvalue < 1e-3


@pytest.mark.parametrize("privacy", NAMES)
def test_auto_is_the_power_calculation_for_every_arm(privacy):
    params = {"alpha": 0.01, "power": 0.9, "effect": 0.05, "baseline": 0.2}
    setup = setup_of(privacy, COINS, 1000, epsilon=0.7, **params)
    epsilon = None if privacy == "none" else 0.7
    assert setup.parameters.users == 3 * sample_size(0.2, 0.05, 0.01, 0.9, privacy, epsilon, 3).users_per_option


def test_answers_of_later_users_are_never_used():
    """Local: the run depends on the bits of the test only; central: on one release of each arm."""
    for privacy in ("local", "central"):
        setup = setup_of(privacy, COINS, 500, users=90)
        (listed,) = registry()[NAMES[privacy]].releases(setup)
        assert listed.times == 1 and listed.epsilon == 1.0
        call, rows = explore_then_commit.prepare(setup, privacy), streams(0, 0, 50)
        short = run_kernel(call, rows, np.array([91]), Signal())
        long = run_kernel(call, rows, np.array([91, 500]), Signal())
        np.testing.assert_array_equal(short.regret[:, 0], long.regret[:, 0])
        grown = long.pulls - short.pulls  # all later users get the arm that user 91 got
        np.testing.assert_array_equal(np.sort(grown, axis=1), [[0, 0, 409]] * 50)


def test_with_an_endless_budget_it_is_the_plain_test():
    plays = []
    for privacy in NAMES:
        setup = setup_of(privacy, COINS, 400, epsilon=1000.0, users=31)
        call = explore_then_commit.prepare(setup, privacy)
        plays.append(run_kernel(call, streams(3, 0, 300), np.array([400]), Signal()).pulls)
    np.testing.assert_array_equal(plays[0], plays[1])
    assert (plays[0] == plays[2]).all(axis=1).mean() > 0.95  # equal sums are told apart by noise


# --- its bound -------------------------------------------------------------------------------------------------------


def test_the_chance_of_overtaking_by_hand_and_by_simulation():
    assert chance_of_overtaking(0.2, 50, 1.0, 0.0) == pytest.approx(math.exp(-2.0))
    assert chance_of_overtaking(0.2, 0, 1.0, 0.0) == chance_of_overtaking(0.0, 5, 1.0, 0.0) == 1.0
    rng = np.random.default_rng(0)
    for gap, pulls, epsilon in ((0.2, 50, 0.2), (0.3, 30, 1.0), (0.1, 400, 0.05)):
        draws = rng.binomial(pulls, [[0.5 - gap / 2], [0.5 + gap / 2]], (2, 200_000))
        means = (draws + rng.laplace(0, 1 / epsilon, draws.shape)) / pulls
        seen = float((means[0] >= means[1]).mean())
        assert seen < chance_of_overtaking(gap, pulls, 1.0, 1 / epsilon) < 1
    beyond = one_line(NAMES["none"], [{"kind": "uniform", "low": -1, "high": 2}])
    assert any("outside" in (bound.not_applicable or "") for bound in line_bounds(beyond, 0))


# --- power -----------------------------------------------------------------------------------------------------------


def test_the_formula_by_hand():
    """(1.959964 + 0.841621)^2 = 7.848880; times (0.0384 + 0.042064) / 0.004^2 and what bits and noise add."""
    assert sample_size(0.04, 0.004).users_per_option == math.ceil(7.848880 * (0.0384 + 0.042064) / 1.6e-5)
    beta = 1 / math.tanh(0.5) ** 2  # 4.682694
    spread = beta / 2 - 0.46**2 - 0.456**2
    local = sample_size(0.04, 0.004, privacy="local", epsilon=1.0)
    assert local.users_per_option == pytest.approx(7.848880 * spread / 1.6e-5, rel=1e-5)
    assert local.inflation == pytest.approx(spread / 0.080464, rel=1e-6)
    central = sample_size(0.04, 0.004, privacy="central", epsilon=0.01)
    n = central.users_per_option
    assert 7.848880 * (0.080464 / n + 4 / (0.01 * n) ** 2) == pytest.approx(1.6e-5, rel=1e-4)


@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-4])
@pytest.mark.parametrize("options", [2, 3, 10])
def test_the_critical_value_is_that_of_equally_correlated_normals(alpha, options):
    """Against SciPy's multivariate normal distribution."""
    found = critical_value(alpha, options)
    others = options - 1
    normal = stats.multivariate_normal(cov=0.5 * np.eye(others) + 0.5)
    inside = normal.cdf(np.full(others, found), lower_limit=np.full(others, -found), rng=np.random.default_rng(0))
    assert 1 - inside == pytest.approx(alpha, rel=0.01, abs=2e-5)


def test_limits():
    plain = sample_size(0.1, 0.02)
    assert sample_size(0.1, 0.02, privacy="local", epsilon=1000).users_per_option == plain.users_per_option
    assert sample_size(0.1, 0.02, privacy="central", epsilon=1000).inflation == pytest.approx(1, abs=1e-6)
    small = [sample_size(0.1, 0.02, privacy="local", epsilon=epsilon).inflation for epsilon in (0.01, 0.02)]
    assert small[0] / small[1] == pytest.approx(4, rel=1e-3)  # 1 / epsilon^2
    small = [sample_size(0.1, 0.02, privacy="central", epsilon=epsilon).inflation for epsilon in (1e-5, 2e-5)]
    assert small[0] / small[1] == pytest.approx(2, rel=1e-2)  # 1 / epsilon
    assert sample_size(0.1, 0.02, privacy="local", epsilon=1e-6).users_per_option == MAX_USERS
    assert replace(plain, users_per_option=5).total(3) == 15


@pytest.mark.parametrize("policy", ["explore-then-commit-local", "explore-then-commit-central", "ctb-tt", "adap-tt"])
def test_no_slope_of_the_long_run_binds_who_keeps_a_wrong_winner(policy):
    setup = one_line(policy, COINS[:2], horizon=1000).setups[0]
    lower = [bound for bound in registry()[policy].bounds(setup) if bound.side == "lower"]
    assert any(bound.asymptotic for bound in lower) and not all(bound.asymptotic for bound in lower)
    assert all(bound.not_applicable for bound in lower if bound.asymptotic)
    assert any(not bound.not_applicable for bound in lower)
