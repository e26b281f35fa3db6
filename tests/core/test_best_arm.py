"""Policies that stop: runs of a plain reference, how often they err, what they release, searches as lines, studies."""

import csv
import io
import json
import math
import threading
from functools import partial
from itertools import cycle
from typing import get_args

import best_arm_reference
import numpy as np
import pytest
from helpers import memory
from runs import coins, one_line
from scipy import stats

from bandit_core import InputError, cli, decide, simulate, stopping_policies, time_bounds
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.kernels import stopping as kernels
from bandit_core.kernels.streams import streams
from bandit_core.model import KEPT, Signal
from bandit_core.policies import registry
from bandit_core.policies.stopping import Rule
from bandit_core.simulation.results import share_limits
from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies import best_arm
from bandit_core.studies.best_arm import DECISION_COLUMNS as COLUMNS
from bandit_core.studies.best_arm import StoppingSpec, decision_table, searches_of, stopping, stopping_lines
from bandit_core.studies.production import composed

# ---------------------------------------------------------------------------------------------------------------------
# Policies that stop: the runs of a plain reference, how often they err, what they release, and the study of them.


POLICIES = stopping_policies()
NAMES = {"top-two", "ctb-tt", "dp-tt", "adap-tt", "se", "ldp-se", "dp-se"}
EVERY = pytest.mark.parametrize("name", POLICIES)
PRIVATE = pytest.mark.parametrize("name", [name for name, policy in POLICIES.items() if policy.privacy != "none"])
KINDS = [(name, rule) for name, policy in POLICIES.items() for rule in policy.rules]
KIND = pytest.mark.parametrize(("name", "rule"), KINDS)


FAR, CLOSE, SURE = coins(0.2, 0.9), coins(0.5, 0.3, 0.55, 0.1), coins(1.0, 0.0, 0.0)


def spec_of(name, arms=FAR, epsilon=1.0, **fields):
    budget = {} if POLICIES[name].privacy == "none" else {"epsilon": epsilon}
    return best_arm.StoppingSpec.of(arms=arms, policy=name, **{**budget, "trials": 200, **fields})


def result_of(name, arms=FAR, epsilon=1.0, **fields) -> best_arm.StoppingResult:
    (result,) = best_arm.stopping([spec_of(name, arms, epsilon, **fields)], jobs=1)
    return result


# --- the runs --------------------------------------------------------------------------------------------------------


@KIND
@pytest.mark.parametrize(
    ("arms", "growth", "cap", "epsilon", "zone"),
    [
        (FAR, 1.0, 700, 2.0, 0.0),
        (CLOSE, 1.02, 9000, 0.5, 0.0),
        (CLOSE, 1.5, 60_000, 5.0, 0.0),
        (CLOSE, 1.5, 60_000, 5.0, 0.07),
        (SURE, 1.5, 60_000, 5.0, 0.07),
    ],
)
def test_the_runs_of_the_reference(name, rule, arms, growth, cap, epsilon, zone):
    spec = spec_of(name, arms, epsilon, rule=rule, growth=growth, cap=cap, delta=0.2, zone=zone)
    rows = streams(11, 0, 2)
    outcome = best_arm.play(spec, rows, Signal())
    for trial, words in enumerate(rows):
        users, stopped, recommended, pulls, _ = best_arm_reference.play(spec, words)
        assert (outcome.users[trial], outcome.stopped[trial], outcome.recommended[trial]) == (
            users,
            stopped,
            recommended,
        )
        np.testing.assert_array_equal(outcome.pulls[trial], pulls)


@EVERY
def test_the_order_of_the_arms_decides_nothing(name):
    """Both listings, with seeds of their own: times and recommendations have the same distribution."""
    means = (0.5, 0.4, 0.47, 0.3)
    forth = result_of(name, coins(*means), 2.0, seed=1, trials=1500, cap=20_000, delta=0.3)
    back = result_of(name, coins(*means[::-1]), 2.0, seed=2, trials=1500, cap=20_000, delta=0.3)
    assert stats.ks_2samp(forth.users, back.users, method="asymp").pvalue > 1e-3
    for mine, theirs in zip(forth.pulls.T, back.pulls.T[::-1], strict=True):
        assert stats.ks_2samp(mine, theirs, method="asymp").pvalue > 1e-3
    counts = [np.bincount(forth.recommended, minlength=4), np.bincount(back.recommended, minlength=4)[::-1]]
    seen = np.array(counts)[:, np.sum(counts, axis=0) > 0]
    assert seen.shape[1] == 1 or stats.chi2_contingency(seen).pvalue > 1e-3


@EVERY
def test_an_arm_that_always_pays_is_found(name):
    result = result_of(name, SURE, 1000.0, cap=10**7, trials=50)
    assert result.stopped.all() and not result.wrong.any()
    if name in ("top-two", "ctb-tt"):  # by hand: n bits of each say 2 n ln 2, and three arms share them
        assert result.users.max() < 60


def test_with_an_endless_budget_privacy_changes_nothing():
    arms = coins(0.5, 0.25, 0.5625, 0.125)  # numbers without rounding
    for private, plain in (("ctb-tt", "top-two"), ("ldp-se", "se")):
        mine, theirs = result_of(private, arms, 1000.0, cap=10**6), result_of(plain, arms, cap=10**6)
        np.testing.assert_array_equal(mine.users, theirs.users)
        np.testing.assert_array_equal(mine.pulls, theirs.pulls)
    for name in ("adap-tt", "dp-tt", "dp-se"):  # draws differ, so times are those of a far smaller noise
        near, far = (result_of(name, CLOSE, epsilon, cap=10**7, seed=int(epsilon)) for epsilon in (300.0, 1000.0))
        assert stats.ks_2samp(near.users, far.users, method="asymp").pvalue > 1e-3


@PRIVATE
def test_less_privacy_never_costs_more(name):
    strict, loose = (result_of(name, FAR, epsilon, cap=10**9).users for epsilon in (0.05, 4.0))
    assert strict.mean() > 1.5 * loose.mean()


# --- how often they err ----------------------------------------------------------------------------------------------


def test_the_mixture_is_never_far_below_the_largest_likelihood():
    """ln of the largest likelihood over the mixture of n bits is at most ln(n)/2 + ln 2, for every number of ones."""
    from scipy.special import betaln, xlog1py, xlogy

    for n in range(1, 1500):
        k = np.arange(n + 1.0)
        largest = xlogy(k, k / n) + xlog1py(n - k, -k / n)
        mixture = betaln(k + 0.5, n - k + 0.5) - betaln(0.5, 0.5)
        assert np.max(largest - mixture) <= 0.5 * math.log(n) + math.log(2) + 1e-10


@pytest.mark.parametrize("arms", [2, 5, 100])
@pytest.mark.parametrize("delta", [0.01, 0.1, 0.9])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
def test_the_chances_of_all_pairs_of_phases_add_up_to_delta(arms, delta, epsilon):
    """Each rule that is called proved, from its own margins: Hoeffding for sampling, the tails of two Laplace."""
    last = 40
    k, h = np.meshgrid(np.arange(1.0, last), np.arange(1.0, last))
    n, m = np.maximum(1, 2 ** (k - 2)), np.maximum(1, 2 ** (h - 2))
    rest = 1 / n + 1 / m
    errors = np.zeros(k.shape)
    for place in np.ndindex(k.shape):
        margin = kernels.phase_margin(kernels.PROVED, arms, delta, epsilon, n[place], m[place], k[place], h[place])
        shares = np.linspace(0.001, 0.999, 400)  # of the margin, for sampling: the best split
        sampling = np.exp(-2 * (shares * margin) ** 2 / rest[place])
        errors[place] = np.min(sampling + np.exp(-(1 - shares) * margin * epsilon / rest[place]))
    assert (arms - 1) * errors.sum() <= delta * 1.02
    # The paper's: noises of all arms and phases, and the sampling of all pairs with what is left.
    later, zeta = np.maximum(k, h), math.pi**2 / 6
    noise = np.log(2 * arms * zeta * later**2 / delta) / epsilon
    margins = np.array(
        [
            kernels.phase_margin(kernels.PAPER, arms, delta, epsilon, *four)
            for four in zip(n.ravel(), m.ravel(), k.ravel(), h.ravel(), strict=True)
        ]
    ).reshape(k.shape)
    sampled = np.sqrt(np.maximum(0, margins**2 - 2 * (rest * noise) ** 2) / 2)  # (S + L)^2 <= 2 S^2 + 2 L^2
    noises = arms * np.sum(delta / (2 * arms * zeta * np.arange(1.0, last) ** 2))
    assert (arms - 1) * np.sum(2 * np.exp(-2 * sampled**2 / rest)) + noises <= delta


HARD = {  # gaps too small to be found before the cap: whoever stops was lucky, or wrong
    "two": (coins(0.5, 0.5 - 1e-6), 200_000),
    "rare": (coins(0.02, 0.02 - 1e-7), 200_000),
    "four": (coins(0.9, *[0.9 - 1e-6] * 3), 50_000),
}


@pytest.mark.parametrize(
    ("name", "hard"), [*((name, "two") for name in POLICIES), *zip(POLICIES, cycle(["rare", "four"]))]
)
def test_proved_rules_err_with_probability_delta_at_most(name, hard):
    """4,000 runs at delta = 0.2, decisions as often as can be at first; exact binomial limit of level 1e-4."""
    arms, cap = HARD[hard]
    for rule in POLICIES[name].rules:
        result = result_of(name, arms, 1.0, rule=rule, trials=4000, cap=cap, delta=0.2, seed=3)
        low, _ = result.wrong_limits(1 - 2e-4)
        if rule in ("proved", "paper"):
            assert low <= 0.2
        assert result.wrong.sum() <= result.stopped.sum()


def test_the_rule_of_the_public_code_errs_more_often_than_it_says():
    """Where a curator's noise hides everything it stops on noise, in one phase or the next; the proved rules do not."""
    for delta, epsilon, often in ((0.3, 0.01, True), (0.1, 1e-3, True), (0.1, 1.0, False)):
        arms = coins(0.5, 0.5 - 1e-7)
        results = {
            rule: result_of("adap-tt", arms, epsilon, rule=rule, delta=delta, trials=4000, cap=10**9)
            for rule in POLICIES["adap-tt"].rules
        }
        assert (results["heuristic"].wrong_limits(1 - 2e-4)[0] > delta) == (often and delta == 0.3)
        assert (results["heuristic"].wrong_share > delta) == often
        for rule in ("proved", "paper"):
            assert results[rule].wrong_limits(1 - 2e-4)[0] <= delta
        assert results["proved"].wrong.sum() >= results["paper"].wrong.sum()


# --- what is released ------------------------------------------------------------------------------------------------


@PRIVATE
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
def test_releases_add_up_to_the_guarantee(name, epsilon):
    policy, setup = POLICIES[name], spec_of(name, epsilon=epsilon).setup
    guarantee = policy.guarantee(setup)
    assert (guarantee.model, guarantee.epsilon, guarantee.delta) == (policy.privacy, epsilon, 0.0)
    assert composed(policy.releases(setup)) == pytest.approx(epsilon)
    assert f"{epsilon:g}" in guarantee.words


@pytest.mark.parametrize("name", ["adap-tt", "dp-tt", "dp-se"])
def test_every_reward_enters_one_release_at_most(name):
    spec = spec_of(name, CLOSE, 2.0, cap=20_000)
    for words in streams(5, 0, 5):
        users, _, _, pulls, bits = best_arm_reference.play(spec, words)
        in_releases = [(label, user) for label, part in bits.releases for user in part]
        assert len(in_releases) == len(set(in_releases)) <= users
        assert len(in_releases) >= users / 3
        assert sorted(bits.actions.count(label) for label in range(4)) == sorted(pulls)


# --- descriptions ----------------------------------------------------------------------------------------------------


def test_the_registry():
    assert set(POLICIES) == NAMES
    assert [policy.name for policy in POLICIES.values()] == list(POLICIES)
    order = [KEPT.index(policy.privacy) for policy in POLICIES.values()]
    assert order == sorted(order)


@EVERY
def test_a_policy_describes_itself(name):
    policy = POLICIES[name]
    for words in (policy.title, policy.paper, policy.summary, policy.guarantee_words, policy.pseudo_code):
        assert words.strip()
    assert "proved" in policy.rules and set(policy.rules) <= set(get_args(Rule))
    assert (policy.parent is None) == (policy.privacy == "none")
    assert policy.parent is None or POLICIES[policy.parent].privacy == "none"
    assert (policy.releases(spec_of(name).setup) == []) == (policy.privacy == "none")


# --- the study -------------------------------------------------------------------------------------------------------


@EVERY
def test_workers_cuts_and_fewer_trials_change_no_byte(name):
    spec = spec_of(name, CLOSE, trials=60, cap=20_000)
    (alone,) = best_arm.stopping([spec], jobs=1)
    beside = best_arm.stopping([spec_of("top-two", FAR, trials=7), spec], jobs=3)[1]
    fewer = best_arm.stopping([spec.model_copy(update={"trials": 25})], jobs=1)[0]
    rows = streams(0, 0, 60)
    cuts = [best_arm.play(spec, rows[first:last], Signal()) for first, last in ((0, 1), (1, 33), (33, 60))]
    for field in ("users", "stopped", "recommended", "pulls"):
        mine = getattr(alone, field)
        assert mine.tobytes() == getattr(beside, field).tobytes()
        assert mine[:25].tobytes() == getattr(fewer, field).tobytes()
        assert mine.tobytes() == np.concatenate([getattr(cut, field) for cut in cuts]).tobytes()
    np.testing.assert_array_equal(rows, streams(0, 0, 60))
    other = best_arm.stopping([spec.model_copy(update={"seed": 1})], jobs=1)[0]
    if POLICIES[name].decisions:  # those in epochs end after one of a few
        assert other.pulls.tobytes() != alone.pulls.tobytes()


def test_progress_rises_to_the_end_and_a_stop_keeps_what_is_done():
    specs = [spec_of("ctb-tt", CLOSE, trials=400, cap=10**6), spec_of("se", CLOSE, trials=50)]
    study, message = best_arm.StoppingStudy(specs), []
    assert study.result() == (None, None) and study.fraction == 0 and study.missing_seconds > 0
    study.run(1, lambda each: message.append(each.fraction))
    assert message == sorted(message) and message[-1] == 1.0 and study.finished and study.missing_seconds == 0
    half = best_arm.StoppingStudy([spec_of("ctb-tt", CLOSE, trials=1000, cap=10**6)])
    half.run(1, lambda each: each.stop())
    (part,) = half.result()
    assert half.stopped and not half.finished and 0 < part.count < 1000
    whole = best_arm.stopping(half.specs, jobs=2)[0]
    np.testing.assert_array_equal(part.users, whole.users[part.trials])
    assert best_arm.table([part])["trials"][0] == part.count


def test_a_run_without_an_end_is_left_by_a_signal():
    """A kernel that would decide 10^15 times: it leaves the interpreter free, and hears a stop."""
    spec = spec_of("top-two", coins(0.5, 0.5), growth=1.0, cap=10**15, trials=1)
    best_arm.play(spec_of("top-two", cap=10), streams(0, 0, 1), Signal())  # compiled
    signal, ended = Signal(), []
    thread = threading.Thread(target=lambda: ended.append(best_arm.play(spec, streams(0, 0, 1), signal)))
    thread.start()
    signal.stop()
    thread.join(300)
    assert ended == [None]


def test_an_error_in_a_block_reaches_the_caller(monkeypatch):
    study = best_arm.StoppingStudy([spec_of("top-two")])

    def broken(*arguments):
        raise OSError("no")

    monkeypatch.setattr("bandit_core.studies.best_arm.play", broken)
    with pytest.raises(OSError, match="no"):
        study.run(1)

    def impatient(each):
        raise KeyboardInterrupt

    monkeypatch.undo()
    with pytest.raises(KeyboardInterrupt):
        best_arm.StoppingStudy([spec_of("top-two", trials=3000, growth=1.001)]).run(2, impatient)


# --- what a result says ----------------------------------------------------------------------------------------------


def by_hand(**fields) -> best_arm.StoppingResult:
    spec = best_arm.StoppingSpec.of(arms=coins(0.5, 0.4, 0.5), policy="top-two", trials=4, cap=100)
    given = {
        "trials": np.arange(4), "users": np.array([10, 20, 100, 40]), "stopped": np.array([True, True, False, True]),
        "recommended": np.array([0, 1, 1, 2]), "pulls": np.array([[5, 2, 3], [8, 12, 0], [40, 50, 10], [30, 10, 0.0]]),
    }  # fmt: skip
    return best_arm.StoppingResult(spec, **{**given, **fields})


def test_numbers_of_a_result_by_hand():
    result = by_hand()
    np.testing.assert_array_equal(result.wrong, [False, True, False, False])  # two best arms; one did not stop
    assert (result.count, result.not_stopped, result.mean_users, result.wrong_share) == (4, 0.25, 42.5, 0.25)
    assert (result.quantile(0.5), result.quantile(0.75), result.quantile(0.95)) == (20, 40, math.inf)
    np.testing.assert_allclose(result.regret, [0.2, 1.2, 5.0, 1.0])
    np.testing.assert_allclose(result.regret_at(200), [0.2, 1.2 + 18.0, 5.0 + 10.0, 1.0])
    with pytest.raises(InputError, match="horizon"):
        result.regret_at(99)
    assert tuple(result.row) == best_arm.COLUMNS
    assert math.isnan(result.row["mean"]) and math.isnan(result.row["stderr"])  # one run did not stop
    for count, trials in ((0, 7), (3, 50), (7, 7), (12, 1000)):
        exact = stats.binomtest(count, trials).proportion_ci(0.9)
        assert share_limits(count, trials, 0.05) == pytest.approx((exact.low, exact.high))


def test_a_study_beyond_the_limits_is_refused(monkeypatch):
    spec = spec_of("top-two", trials=1000, cap=10**6)
    best_arm.StoppingStudy([spec])
    monkeypatch.setenv("LAB_MAX_STEPS", "1e8")
    with pytest.raises(InputError, match="cap") as refusal:
        best_arm.StoppingStudy([spec.model_copy(update={"growth": 1.0})])
    assert "steps" in str(refusal.value)
    monkeypatch.delenv("LAB_MAX_STEPS")
    monkeypatch.setenv("LAB_MAX_SECONDS", "1")
    with pytest.raises(InputError, match="seconds"):
        best_arm.StoppingStudy([spec.model_copy(update={"growth": 1.0})])
    monkeypatch.delenv("LAB_MAX_SECONDS")
    monkeypatch.setenv("LAB_MAX_RESULT_MB", "2")
    with pytest.raises(InputError, match="MiB"):
        best_arm.StoppingStudy([spec.model_copy(update={"trials": 100_000})])


def test_rewards_that_are_no_bits_count_by_their_means():
    other = [{"kind": "uniform", "low": 0.0, "high": 0.4}, {"kind": "beta", "a": 9.0, "b": 1.0}]
    mine, theirs = result_of("ctb-tt", other), result_of("ctb-tt", FAR)
    np.testing.assert_array_equal(mine.users, theirs.users)
    assert (
        best_arm.StoppingSpec.of(arms=(Bernoulli(mean=0.2), Bernoulli(mean=0.9)), policy="top-two").arms
        == spec_of("top-two").arms
    )


# --- the central rule on noisy sums ----------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 30.0])
@pytest.mark.parametrize("zone", [0.0, 0.001, 0.2])
def test_the_evidence_of_noisy_sums_is_that_of_a_slow_search(epsilon, zone):
    rng = np.random.default_rng(1)
    for _ in range(20):
        n, m = (int(10 ** rng.uniform(1.5, 5)) for _ in range(2))
        j, h = (int(rng.integers(1, 20)) for _ in range(2))
        p, q = sorted(rng.uniform(0, 1, 2))[::-1]
        y, z = p * n + rng.laplace(0, 2 / epsilon), q * m + rng.laplace(0, 2 / epsilon)
        mine = kernels.evidence(y, n, j, z, m, h, epsilon, -1.0, zone)
        slow = best_arm_reference.noisy_evidence((y, n, j), (z, m, h), epsilon, zone)
        assert mine == pytest.approx(slow, rel=1e-6, abs=1e-6)
        if 0 <= y <= n and 0 <= z <= m and y / n > z / m:
            assert mine <= kernels.transport(y, n, z, m, zone) * (1 + 1e-9)  # noise only takes evidence away


@pytest.mark.parametrize("zone", [0.0, 1e-6, 0.05, 0.9])
def test_the_evidence_of_bits_is_that_of_a_slow_search(zone):
    rng = np.random.default_rng(1)
    for n, m in 10 ** rng.integers(1, 7, (60, 2)):
        other, best = np.sort(rng.choice([0, rng.uniform(0, 0.01), rng.uniform(), 1], 2))
        y, z = round(best * n), round(other * m)
        if y / n >= z / m:
            slow = best_arm_reference.transport(int(n), y / n, int(m), z / m, zone)
            assert kernels.transport(y, n, z, m, zone) == pytest.approx(slow, rel=1e-9, abs=1e-9)


OUTSIDE = {  # the second arm is just outside the zone, or all but the best are
    "two": (coins(0.5, 0.4 - 1e-6), 0.1),
    "rare": (coins(0.03, 0.02 - 1e-7), 0.01),
    "four": (coins(0.9, *[0.8 - 1e-6] * 3), 0.1),
}


@pytest.mark.parametrize(
    ("name", "near"), [*((name, "two") for name in POLICIES), *zip(POLICIES, cycle(["rare", "four"]))]
)
def test_arms_outside_the_zone_are_recommended_with_probability_delta_at_most(name, near):
    arms, zone = OUTSIDE[near]
    for rule in POLICIES[name].rules:
        result = result_of(name, arms, 1.0, rule=rule, trials=2000, cap=10**7, delta=0.2, seed=3, zone=zone)
        if rule in ("proved", "paper"):
            assert result.wrong_limits(1 - 2e-4)[0] <= 0.2
        inside = result_of(name, arms, 1.0, rule=rule, trials=20, cap=10**7, zone=1.001 * zone)
        assert not inside.wrong.any()


@EVERY
def test_a_zone_ends_a_search_sooner_and_one_between_equal_arms(name):
    exact, near = (result_of(name, CLOSE, cap=10**8, trials=300, zone=zone) for zone in (0.0, 0.07))
    assert near.mean_users < 0.7 * exact.mean_users and near.stopped.all()
    assert (near.gaps[near.recommended[~near.wrong]] <= 0.07).all() and near.wrong_share <= 0.05
    same = result_of(name, coins(0.3, 0.3, 0.3), cap=10**8, trials=50, zone=0.05)
    assert same.stopped.all() and not same.wrong.any() and math.isnan(same.at_least)


@pytest.mark.parametrize(("chance", "epsilon"), [(0.03, 1.0), (0.5, 0.1), (0.9, 5.0)])
def test_the_rate_of_a_noisy_sum_is_rarely_large(chance, epsilon):
    """Step 1 of the proof: R is at least x with probability e^-x at most; binomial limit of level 1e-4."""
    rng = np.random.default_rng(2)
    count, releases, many = 300, 4, 20_000
    sums = rng.binomial(count, chance, many) + rng.laplace(0, 1 / epsilon, (releases, many)).sum(axis=0)
    odds = math.log(chance / (1 - chance))
    rates = np.array([kernels.rate(each, count, releases, odds, epsilon)[0] for each in sums])
    for x in (1.0, 2.0, 4.0):
        low, _ = share_limits(int(np.count_nonzero(rates >= x)), many, 1e-4)
        assert low <= math.exp(-x)
    assert np.mean(rates >= 1.0) > 0.05  # and not idle: 0.079 for a normal variable


@pytest.mark.parametrize("arms", [2, 5, 1000])
@pytest.mark.parametrize("delta", [1e-6, 0.05, 0.9])
def test_the_chances_of_noisy_sums_add_up_to_delta(arms, delta):
    cost = kernels.confidence_cost(arms, delta)
    assert delta * (1 - 1e-6) <= (arms - 1) * (1 + cost) * math.exp(-cost) <= delta
    assert sum(math.exp(-kernels.release_cost(float(j))) for j in range(1, 100_000)) == pytest.approx(1, abs=1e-4)


def test_a_heuristic_threshold_of_top_two_never_lies_above_the_proved_one():
    """And where the published heuristic does, its description says so."""
    counts = np.unique(np.geomspace(1, 1e12, 40).round())
    for arms, delta in ((2, 0.05), (2, 0.9), (20, 1e-6)):
        for n in counts:
            for m in counts:
                proved, quick = (kernels.bits_threshold(code, arms, delta, n, m) for code in (0, 1))
                assert quick <= proved
    for epsilon in (0.01, 0.1, 1.0, 1000.0):
        totals = [0.0]
        while totals[-1] < 1e12:
            totals.append(kernels.total_after(totals[-1], epsilon))
        for j, n in enumerate(totals[1:], 1):
            for h, m in enumerate(totals[1:], 1):
                proved, quick = (kernels.sums_threshold(code, 2, 0.5, n, m, j, h) for code in (0, 1))
                assert quick <= proved


@PRIVATE
def test_without_noise_a_policy_is_played_with_an_infinite_budget(name):
    spec = spec_of(name, CLOSE, 1000.0, trials=50, cap=10**7)
    setup = spec.entry.without_noise(spec.setup)
    endless = spec.entry.play(setup, streams(0, 0, 50), Signal())
    assert setup.epsilon == math.inf and endless.stopped.all()
    loud = best_arm.play(spec_of(name, CLOSE, 0.1, trials=50, cap=10**9), streams(0, 0, 50), Signal())
    assert np.median(endless.users) < np.median(loud.users)
    near = best_arm.play(spec, streams(0, 0, 50), Signal())
    assert np.median(endless.users) == pytest.approx(np.median(near.users), rel=0.3)


# ---------------------------------------------------------------------------------------------------------------------
# Searches as lines of an experiment: the runs of a plain reference, and those that `decide` times.


SEARCHES = [name for name, policy in registry().items() if policy.stops]
EVERY_SEARCH = pytest.mark.parametrize("name", SEARCHES)


experiment_of = partial(one_line, epsilon=2.0, horizon=3000, trials=4, seed=3)


def test_they_are_those_that_are_not_in_the_registry_anyway():
    assert sorted([*SEARCHES, "dp-tt", "se", "ldp-se", "dp-se"]) == sorted(stopping_policies())
    for name in SEARCHES:
        assert registry()[name].privacy == stopping_policies()[name].privacy


@EVERY_SEARCH
def test_a_run_that_stops_is_the_one_that_is_timed(name):
    """Pulls of the search, and of what it recommends: arm by arm, trial by trial; both ends are seen."""
    experiment = experiment_of(name, coins(0.7, 0.4, 0.6), epsilon=3.0, horizon=4000, trials=300, delta=0.3)
    (line,) = searches_of(experiment)
    (timed,) = stopping([line.spec], jobs=1)
    played = simulate(experiment, jobs=1, store=memory()).lines[0].pulls
    early = timed.users < 4000
    assert early.any() and not early.all() and timed.stopped[early].all()
    expected = timed.pulls.copy()
    expected[np.arange(300), timed.recommended] += 4000 - timed.users
    np.testing.assert_array_equal(played[early], expected[early])
    assert np.abs(played - expected)[~early].max() <= 1  # the coin of turns that the last user cuts short


@EVERY_SEARCH
def test_the_times_of_a_line_are_told_with_its_own_settings(name):
    experiment = experiment_of(name, coins(0.9, 0.2), trials=50, delta=0.2, growth=1.1)
    found = searches_of(experiment)
    frame = decision_table(found, stopping([line.spec for line in found], jobs=1))
    assert (frame.delta[0], frame.not_stopped[0], frame.trials[0]) == (0.2, 0.0, 50)
    assert 2 < frame.stop_mean[0] < 3000 and frame.wrong_low[0] <= 0.2
    assert stopping_lines(experiment)[0].spec == found[0].spec  # a line's own numbers go before the usual ones
    assert decide(experiment).drop(columns="label").equals(frame.drop(columns="label"))
    again = searches_of(experiment.with_changes(visits=2))[0].spec
    assert again.epsilon == (None if registry()[name].epsilon == "none" else 1.0)
    assert searches_of(experiment_of(name, coins(0.9), trials=2)) == []


@EVERY_SEARCH
def test_rewards_count_as_bits(name):
    unit = [{"kind": "beta", "a": 3.0, "b": 1.0}, {"kind": "two-point", "low": 0.25, "high": 0.75, "p_high": 0.5}]
    blocks = [
        registry()[name].play(experiment_of(name, arms).setups[0], streams(1, 0, 5), np.array([3000]), Signal())
        for arms in (unit, coins(0.75, 0.5))
    ]
    assert blocks[0].pulls.tobytes() == blocks[1].pulls.tobytes()


def test_what_limits_the_loss_holds_for_a_proof_one_best_arm_and_rewards_in_the_unit_interval():
    def upper(arms, **params):
        bounds = line_bounds(experiment_of("top-two", arms, **params), 0)
        return next(bound for bound in bounds if bound.name == "Search then commit")

    found = upper(coins(0.9, 0.5, 0.2), delta=0.1)
    assert found.form == "slope" and found.not_applicable is None
    assert found.values(np.array([1000.0]), 0.7)[0] == pytest.approx(0.1 * 0.7 * 1000)
    assert upper(coins(0.9, 0.9, 0.5)).not_applicable
    assert upper(coins(0.9, 0.5), rule="heuristic").not_applicable


# ---------------------------------------------------------------------------------------------------------------------
# `decide`: the lines of a spec as questions to policies that stop, in CSV.


THREE = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.4, 0.6)]


def question(*lines, **fields):
    return {"version": 1, "arms": THREE, "lines": list(lines), "horizon": 10**6, "trials": 40, "seed": 5, **fields}


def asked(policy, epsilon=2.0, **fields):
    budget = {} if stopping_policies()[policy].privacy == "none" else {"epsilon": {"kind": "fixed", "value": epsilon}}
    return {"policy": policy, **budget, **fields}


@pytest.fixture
def printed(tmp_path, capsys):
    """What the command prints for a document, as rows of text."""

    def call(said, *words):
        path = tmp_path / "question.json"
        path.write_text(json.dumps(said), encoding="utf-8")
        assert cli.main(["decide", str(path), *words]) == 0
        return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))

    return call


def test_every_policy_that_stops_is_asked_by_its_name_and_its_numbers_are_those_of_the_study(printed):
    names = ["top-two", "ctb-tt", "dp-tt", "adap-tt", "se", "ldp-se", "dp-se"]
    assert set(names) == set(stopping_policies())
    rows = printed(question(*map(asked, names)), "--delta", "0.1", "--trials", "60")
    assert [row["policy"] for row in rows] == names and tuple(rows[0]) == COLUMNS
    for number, (name, row) in enumerate(zip(names, rows, strict=True)):
        budget = None if stopping_policies()[name].privacy == "none" else 2.0
        spec = StoppingSpec.of(arms=THREE, policy=name, epsilon=budget, delta=0.1, trials=60, seed=5, cap=10**6)
        (result,) = stopping([spec])
        users = np.sort(result.users)
        wrong = int(result.wrong.sum())
        expected = {
            "line": number, "delta": 0.1, "stop_mean": users.mean(), "stop_q05": users[2], "stop_median": users[29],
            "stop_q95": users[56], "not_stopped": 0.0, "wrong": wrong / 60, "wrong_low": share_limits(wrong, 60)[0],
            "wrong_high": share_limits(wrong, 60)[1], "trials": 60,
        }  # fmt: skip
        assert {name: float(row[name]) for name in expected} == pytest.approx(expected)
        assert (row["rule"], row["epsilon"]) == ("proved", "" if budget is None else "2.0")
        bounds = time_bounds(spec.arms, 0.1, stopping_policies()[name].privacy, budget)
        assert float(row["lower_bound"]) == pytest.approx(max(bound.users for bound in bounds))
        assert float(row["lower_bound"]) <= float(row["stop_mean"])


def test_trials_horizon_labels_and_rule_are_those_of_the_spec_and_the_options(printed):
    lines = (
        asked("ctb-tt", 2.0, label="randomised, {epsilon} {v}"),
        asked("ctb-tt", 0.05),
        asked("adap-tt"),
    )
    proved = printed(question(*lines, horizon=3000))
    quick = printed(question(*lines, horizon=3000), "--rule", "heuristic")
    assert [row["trials"] for row in proved] == ["40"] * 3 and quick[0]["rule"] == "heuristic"
    assert proved[0]["label"] == "randomised, ε = 2 {v}"
    assert "0.05" in proved[1]["label"] and proved[2]["label"] == stopping_policies()["adap-tt"].title
    assert float(quick[0]["stop_mean"]) < float(proved[0]["stop_mean"])
    late = proved[1]  # at a small budget 3,000 users are too few
    assert float(late["not_stopped"]) == 1.0 and late["stop_mean"] == ""
    assert float(late["stop_median"]) == math.inf


def test_no_bound_leaves_the_cell_empty_and_a_file_takes_the_table(printed, tmp_path):
    tied = question(asked("top-two"), arms=[*THREE, THREE[0]], horizon=2000)
    assert printed(tied)[0]["lower_bound"] == ""
    out = tmp_path / "times.json"
    assert printed(tied, "--out", str(out)) == []
    (row,) = json.loads(out.read_text(encoding="utf-8"))
    assert tuple(row) == COLUMNS and row["lower_bound"] is None


def test_the_table_of_the_library_is_the_printed_one(printed):
    said = question(asked("se"), asked("adap-tt"))
    frame = decide(said, delta=0.2, trials=30)
    rows = printed(said, "--delta", "0.2", "--trials", "30", "--jobs", "2")
    assert [float(row["stop_mean"]) for row in rows] == list(frame["stop_mean"])


@pytest.mark.parametrize(("option", "value"), [("delta", "1"), ("delta", "x"), ("trials", "0"), ("trials", "many")])
def test_numbers_out_of_range_are_told(option, value, tmp_path, capsys):
    path = tmp_path / "question.json"
    path.write_text(json.dumps(question(asked("se"))), encoding="utf-8")
    assert cli.main(["decide", str(path), f"--{option}", value]) == cli.BAD_INPUT
    assert option in capsys.readouterr().err


def test_a_policy_without_a_heuristic_rule_says_so(tmp_path):
    with pytest.raises(InputError) as refusal:
        stopping_lines(question(asked("se"), asked("adap-tt")), rule="heuristic")
    assert [(issue.path, "se" in issue.allowed) for issue in refusal.value.issues] == [("rule", True)]


def test_people_who_come_several_times_are_refused_with_the_budget_to_use_which_is_used_on_request(printed):
    """Two answers of half a budget each keep the whole one, so the runs are those of the half."""
    twice = question(asked("ctb-tt", 2.0), asked("top-two"), visits=2)
    with pytest.raises(InputError) as refusal:
        decide(twice)
    [issue] = refusal.value.issues
    assert issue.path == "visits" and "ε/2" in issue.allowed
    split = printed(twice, "--split-visits")
    half = printed(question(asked("ctb-tt", 1.0), asked("top-two")))
    assert [row["stop_mean"] for row in split] == [row["stop_mean"] for row in half]
    assert split[0]["epsilon"] == "1.0"
