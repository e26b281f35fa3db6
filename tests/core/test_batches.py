"""Batch policies: the arms of a plain reference, the shortcut's law, who is in which release, and long horizons."""

import math

import batch_reference
import numpy as np
import pytest
from helpers import fixed, refused
from runs import (
    FIVE,
    LADDER,
    LAWS,
    MANY,
    ONE,
    SURE,
    TIES,
    TWO,
    assert_pulls,
    final_pulls,
    instance_of,
    looped,
    one_by_one,
    one_line,
    same_law,
)

from bandit_core import Experiment, simulate
from bandit_core.experiments.experiment import checkpoints
from bandit_core.kernels import kl, lazy_updates
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal
from bandit_core.policies import dp_ucb_int, registry
from bandit_core.simulation.store import Store
from bandit_core.spec.number_text import number as written
from bandit_core.theory import central, definitions

COMMITTED = ("adap-ucb", "adap-klucb", "dp-klucb", "dp-imed")
NORMAL = ("adac-ucb",)  # normal noise: rho-zCDP
PURE = (*COMMITTED, "dp-se", "anytime-lazy-ucb", "lazy-dp-ts")
ALL = (*PURE, *NORMAL, "dp-ucb-int")
SURELY = {"delta": 0.999, "v": 1.5}  # makes the interval of dp-ucb-int short: 4 pulls at epsilon = 2


def run_of(policy, instance, words) -> batch_reference.Batches:
    return (batch_reference.Epochs if policy == "dp-se" else batch_reference.Batches)(policy, instance, words)


CASES = [
    *[(policy, ONE, 1.0, 20, {}) for policy in ALL],
    *[(policy, TWO, 1.0, 1, {}) for policy in ALL],
    *[(policy, TWO, 0.5, 1500, {}) for policy in ALL],
    *[(policy, TIES, 1.0, 1000, {}) for policy in ALL],
    *[(policy, SURE, 1000.0, 400, {}) for policy in ALL],
    *[(policy, LAWS, 3.0, 700, {}) for policy in ALL],
    *[(policy, MANY, 5.0, 700, {}) for policy in ALL],
    *[(policy, MANY, 1.0, 30, {}) for policy in ALL],
    *[(policy, FIVE, epsilon, 4000, {}) for policy in (*COMMITTED, *NORMAL) for epsilon in (0.05, 1.0, 30.0)],
    *[(policy, FIVE, 0.3, 3000, {"alpha": 0.4}) for policy in ("adap-ucb", "adap-klucb", *NORMAL)],
    ("adac-ucb", FIVE, 0.3, 3000, {"accounting": "paper", "delta": 0.01}),
    *[
        (policy, FIVE, 0.3, 3000, {"growth": growth, "first_batch": first})
        for policy in ("dp-klucb", "dp-imed")
        for growth, first in ((1.1, 1), (1.5, 1), (3.0, 7), (2.0, 5000))
    ],
    ("dp-se", SURE, 1.0, 12_000, {}),
    ("dp-se", FIVE, 2.0, 60_000, {"beta": 0.9}),
    ("anytime-lazy-ucb", FIVE, 0.5, 12_000, {}),
    ("anytime-lazy-ucb", TIES, 100.0, 6000, {}),
    ("dp-ucb-int", FIVE, 2.0, 8000, SURELY),
    ("dp-ucb-int", LAWS, 2.0, 2000, SURELY),
    ("dp-ucb-int", TWO, 1.0, 8000, {"accounting": "paper"}),
    ("dp-ucb-int", TWO, 40.0, 600, {}),  # a release after every single pull
]


@pytest.mark.parametrize(("policy", "arms", "epsilon", "horizon", "params"), CASES)
def test_the_arms_of_the_reference(monkeypatch, policy, arms, epsilon, horizon, params):
    """Every single pull, rewards drawn one by one; and the same with few checkpoints, where batches run across them."""
    one_by_one(monkeypatch)
    entry, instance = instance_of(policy, arms, epsilon, horizon, **params)
    # The loop that makes every draw; test_posterior.py has the rest.
    played = looped(instance) if policy == "lazy-dp-ts" else instance
    assert_pulls(entry.play, played, streams(7, 0, 2), lambda words, _: run_of(policy, instance, words).play())


def two(mean: float) -> list[dict]:
    return [{"kind": "bernoulli", "mean": mean}, {"kind": "two-point", "low": 0.25, "high": 0.75, "p_high": 0.4}]


@pytest.mark.parametrize(
    ("policy", "mean", "wrong", "horizon", "params"),
    [
        ("adap-ucb", 0.7, 0.63, 3000, {"alpha": 0.5}),
        ("adac-ucb", 0.7, 0.6, 3000, {"alpha": 0.5, "delta": 0.5}),
        ("adap-klucb", 0.7, 0.63, 3000, {"alpha": 0.5}),
        ("dp-klucb", 0.7, 0.63, 1000, {}),
        ("dp-imed", 0.7, 0.63, 1000, {"growth": 1.5}),
        ("dp-se", 0.58, 0.55, 9000, {"beta": 0.999}),  # a gap where the first epoch may go either way
        ("anytime-lazy-ucb", 0.7, 0.63, 2000, {}),
        ("lazy-dp-ts", 0.7, 0.63, 400, {}),
        ("dp-ucb-int", 0.7, 0.55, 1000, SURELY),
        *[(step, 0.7, 0.8, 4000, {"growth": 2, "beta": 0.9}) for step in LADDER],
    ],
)
def test_drawing_a_batch_at_once_changes_no_law(monkeypatch, policy, mean, wrong, horizon, params):
    """Kolmogorov-Smirnov on the final pulls, 1,000 trials of each form with seeds of their own; p above 1e-3.

    The same test tells the law of slightly ``wrong`` rewards.
    """
    many = 1000
    at_once = final_pulls(policy, two(mean), 2.0, horizon, many, 1, **params)
    wrongly = final_pulls(policy, two(wrong), 2.0, horizon, many, 3, **params)
    one_by_one(monkeypatch)
    step_by_step = final_pulls(policy, two(mean), 2.0, horizon, many, 2, **params)
    assert same_law(at_once, step_by_step) > 1e-3
    assert same_law(wrongly, step_by_step) < 1e-3


def test_how_long_a_leader_lasts_is_what_a_scan_of_every_step_finds():
    rng = np.random.default_rng(5)
    changes = 0
    for _ in range(400):
        arms = int(rng.integers(2, 6))
        counts = 2.0 ** rng.integers(0, 16, arms)
        wide, deep = np.sqrt(3 / counts), 3 / (rng.choice([0.1, 1.0, 10.0]) * counts)
        now = int(10 ** rng.uniform(0.5, 5.5))
        last = now + int(10 ** rng.uniform(0, 4.5))
        # All arms have the same index at some step near the stretch, different for each arm.
        meeting = np.log(now + (last - now) * rng.uniform(-0.5, 1.5, arms) ** 2)
        means = 1000 - wide * np.sqrt(meeting) - deep * meeting
        t = np.arange(now, last + 1)
        level = np.log(t)
        leaders = (means + np.outer(np.sqrt(level), wide) + np.outer(level, deep)).argmax(axis=1)
        arm, surely = lazy_updates.leader(now, means, wide, deep)
        if not surely:
            continue
        assert arm == leaders[0]
        others = np.flatnonzero(leaders != arm)
        lasts = lazy_updates._lasting(arm, now, last, means, wide, deep)  # private: this is what is tested
        expected = others[0] if len(others) else len(t)
        if lasts != expected:  # never too long; too short only where rounding would decide
            assert 1 <= lasts < expected
            assert not lazy_updates.leader(now + lasts, means, wide, deep)[1]
        changes += len(others) > 0
    assert changes > 100


def test_near_ties_are_stepped_through():
    """Where rounding decides nothing is skipped: the leader is elected again at the next step."""
    means, wide, deep = np.array([0.5, 0.5 + 1e-14]), np.full(2, 0.1), np.zeros(2)
    assert lazy_updates.leader(1000, means, wide, deep)[1] == False  # noqa: E712 (numba's bool)
    assert lazy_updates.leader(1000, np.array([0.5, 0.51]), wide, deep) == (1, True)


def test_dp_ucb_int_releases_every_f_pulls_and_says_what_that_costs():
    for rule, interval, spends in (("tight", 93, 0.994), ("advanced", 153, 0.735), ("paper", 16, 2.939)):
        entry, instance = instance_of("dp-ucb-int", TWO, 1.0, 4000, accounting=rule)
        run = run_of("dp-ucb-int", instance, streams(0, 0, 1)[0])
        run.play()
        assert dp_ucb_int.interval(instance) == interval
        assert {len(rewards) for _, rewards in run.releases} == {interval}
        guarantee = entry.guarantee(instance)
        assert guarantee.epsilon == pytest.approx(spends, rel=2e-3)
        assert guarantee.epsilon == definitions.interval_epsilon(interval, 1.1, math.exp(-10))
        assert guarantee.delta == pytest.approx(math.exp(-10))
        assert f"({written(guarantee.epsilon)}, " in guarantee.words
        assert ("more than the chosen" in guarantee.words) == (rule == "paper")  # the wording is what is tested
        times = np.arange(1, 4000)
        spent = entry.spent(instance, times)
        assert np.all(spent[times < 2 * interval] == 0)  # nothing is released before every arm has f pulls
        assert spent[2 * interval - 1] == pytest.approx(interval ** (-1.1 / 2))
        assert np.all(np.diff(spent) >= 0)
        assert spent[-1] < guarantee.epsilon
        # The user spends at most that: no arm has had more releases than the account assumes.
        most = max(sum(arm == place for arm, _ in run.releases) for place in range(2))
        assert spent[-1] >= definitions.interval_epsilon(interval, 1.1, math.exp(-10), most * interval)


@pytest.mark.parametrize("policy", PURE)
def test_the_pure_policies_spend_the_chosen_epsilon_at_the_first_release(policy):
    entry, instance = instance_of(policy, TWO, 0.7, 1000)
    guarantee = entry.guarantee(instance)
    assert (guarantee.model, guarantee.epsilon, guarantee.delta) == ("central", 0.7, 0.0)
    np.testing.assert_array_equal(entry.spent(instance, np.array([1, 10, 1000])), 0.7)


@pytest.mark.parametrize("policy", [policy for policy in ALL if policy != "lazy-dp-ts"])
def test_a_horizon_of_a_billion(policy):
    """Anytime: the first million steps are those of a horizon of a million. The arms of any laws cost per release."""
    entry, instance = instance_of(policy, FIVE, 0.1, 10**9)
    times = np.union1d(checkpoints(10**6), checkpoints(10**9))
    block = entry.play(instance, streams(0, 0, 2), times, Signal())
    np.testing.assert_array_equal(block.pulls.sum(axis=1), 10**9)
    assert np.all(np.diff(block.regret, axis=1) > 0)  # the gaps of a numbered instance are all above 0
    if entry.anytime:
        short = entry.play(instance, streams(0, 0, 2), checkpoints(10**6), Signal())
        np.testing.assert_array_equal(short.regret, block.regret[:, np.searchsorted(times, checkpoints(10**6))])
    else:
        assert policy == "dp-se"


def test_dp_se_epoch_by_hand():
    """Two arms, T = 10^6: R = [128 ln(16 10^6) + 1] = [2124.27] at epsilon = 1, and the worse arm goes after it."""
    arms = [{"kind": "bernoulli", "mean": 0.0}, {"kind": "bernoulli", "mean": 1.0}]
    assert math.floor(128 * math.log(16e6) + 1) == 2124
    np.testing.assert_array_equal(final_pulls("dp-se", arms, 1.0, 10**6, 3, 0), [[2124, 10**6 - 2124]] * 3)
    # A small budget needs longer epochs: R = [8 ln(8 10^6) / (0.01 / 2) + 1].
    assert math.floor(1600 * math.log(8e6) + 1) == 25_432
    np.testing.assert_array_equal(final_pulls("dp-se", arms, 0.01, 10**6, 3, 0)[:, 0], 25_432)


# --- divergences ---------------------------------------------------------------------------------------------------

EPSILONS = (1e-4, 0.01, 0.3, 1.0, 4.0, 30.0, 1000.0)


def test_compiled_d_eps_is_that_of_theory_and_of_plain_minimisation():
    chances = [0.0, 1e-6, 0.02, 0.3, 0.5, 0.51, 0.9, 0.999999, 1.0]
    for epsilon in EPSILONS:
        for x in chances:
            for y in chances:
                value = kl.d_eps(x, y, epsilon)
                assert value == pytest.approx(float(central.d_eps(x, y, epsilon)), rel=1e-9, abs=1e-13), (x, y, epsilon)
                plain = batch_reference.d_eps_by_search(x, y, epsilon)
                assert value == pytest.approx(plain, rel=1e-6, abs=1e-10), (x, y, epsilon)


def test_the_largest_private_mean_inverts_d_eps():
    for epsilon in EPSILONS:
        for mean in (0.0, 1e-6, 0.2, 0.5, 0.97):
            for level in (1e-6, 1e-3, 0.05, 0.7, 5.0):
                q = kl.largest_private_mean(mean, level, epsilon)
                assert mean < q <= 1
                if q == 1:
                    assert kl.d_eps(mean, 1 - 2e-9, epsilon) <= level * (1 + 1e-6)
                else:
                    assert kl.d_eps(mean, q, epsilon) == pytest.approx(level, rel=1e-5)
                assert q >= kl.largest_mean(mean, level) * (1 - 1e-9)  # privacy hides some means more
        assert kl.largest_private_mean(1.0, 0.1, epsilon) == 1
    assert kl.largest_private_mean(0.3, 0.1, 500.0) == kl.largest_mean(0.3, 0.1)  # no privacy left


# --- DP-IMED and its first batch -----------------------------------------------------------------------------------


def test_dp_imed_is_fragile_when_it_starts_with_single_pulls():
    """A few runs of nearly linear regret make most of the mean; larger first batches cure it, and DP-KLUCB lacks it."""
    horizon, trials = 10**6, 4000
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.75, 0.625, 0.5, 0.375, 0.25)]
    fragile = {"first_batch": 1, "growth": 1.5}
    lines = [
        {"policy": policy, "epsilon": fixed(0.1), "params": params}
        for policy, params in (("dp-imed", fragile), ("dp-imed", {}), ("dp-klucb", {}))
    ]
    spec = {"arms": arms, "lines": lines, "horizon": horizon, "trials": trials, "seed": 0}
    shares, ratios, few = [], [], []
    for line in simulate(Experiment.model_validate(spec), store=Store(None, 0)).lines:
        regret = line.regret[:, -1]
        linear = regret > 0.01 * horizon
        shares.append(regret[linear].sum() / regret.sum())
        ratios.append(regret.mean() / np.median(regret))
        few.append(linear.mean())
    assert 0.01 < few[0] < 0.2
    assert shares[0] > 0.5
    assert ratios[0] > 5
    assert max(few[1:]) < few[0] / 10
    assert max(shares[1:]) < 0.25
    assert max(ratios[1:]) < 1.6


# --- what they accept ----------------------------------------------------------------------------------------------


def test_auto_first_batch_is_five_over_epsilon():
    for epsilon, size in ((1.0, 5), (0.3, 17), (0.01, 500), (1000.0, 1)):
        _, instance = instance_of("dp-imed", TWO, epsilon, 1000)
        assert instance.parameters.first_batch == size


def test_a_budget_that_visits_make_tiny_is_refused_in_words():
    for policy in ("dp-imed", "dist-dp-se", "normal-ts-c", "adac-ucb"):  # each kind that asks
        once = one_line(policy, TWO, 1e-6)
        with refused("lines[0].params") as issues:
            once.with_changes(visits=2)
        assert issues[0].allowed == "epsilon is 5e-07; allowed: from 1e-06 on"


def test_estimates_of_cost_know_laws_and_horizon():
    def cost(policy, arms, horizon):
        entry, instance = instance_of(policy, arms, 1.0, horizon)
        return entry.cost(instance) * horizon  # in pulls of ucb

    assert cost("dp-klucb", FIVE, 10**9) < 10_000
    assert cost("dp-klucb", LAWS, 10**9) > 10**8  # these rewards must be drawn one by one
    assert cost("dp-ucb-int", FIVE, 10**9) > 10 * cost("dp-klucb", FIVE, 10**9)
    assert cost("lazy-dp-ts", FIVE, 10**6) > 10**6
    assert {registry()[policy].privacy for policy in ALL} == {"central"}
