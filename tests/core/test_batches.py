"""Batch policies: the arms of plain references, the shortcuts' laws, late rewards, elimination by steps of trust."""

import math

import batch_reference
import ladder_reference
import numpy as np
import pytest
import runs
from batch_reference import Batches, Epochs
from dp_accounting.pld import privacy_loss_distribution as pld
from helpers import chi_square_p, refused
from reference import by_labels
from scipy import stats
from scipy.special import logsumexp

from bandit_core.experiments.experiment import checkpoints
from bandit_core.jit.decorators import kernel
from bandit_core.kernels import kl, lazy_updates, poisson
from bandit_core.kernels.streams import streams
from bandit_core.mechanisms import batch
from bandit_core.model import Signal
from bandit_core.policies import dp_se, dp_ucb_int, elimination_by_trust, registry
from bandit_core.spec.number_text import number as written
from bandit_core.theory import central, definitions, ladder

# ---------------------------------------------------------------------------------------------------------------------
# Batch policies: the arms of a plain reference, the shortcut's law, who is in which release, and long horizons.


COMMITTED = ("adap-ucb", "adap-klucb", "dp-klucb", "dp-imed")
NORMAL = ("adac-ucb",)  # normal noise: rho-zCDP
PURE = (*COMMITTED, "dp-se", "anytime-lazy-ucb", "lazy-dp-ts")
ALL = (*PURE, *NORMAL, "dp-ucb-int")
SURELY = {"delta": 0.999, "v": 1.5}  # makes the interval of dp-ucb-int short: 4 pulls at epsilon = 2


def run_of(policy, instance, words) -> batch_reference.Batches:
    return (batch_reference.Epochs if policy == "dp-se" else batch_reference.Batches)(policy, instance, words)


CASES = [
    *[(policy, runs.ONE, 1.0, 20, {}) for policy in ALL],
    *[(policy, runs.TWO, 1.0, 1, {}) for policy in ALL],
    *[(policy, runs.TWO, 0.5, 1500, {}) for policy in ALL],
    *[(policy, runs.TIES, 1.0, 1000, {}) for policy in ALL],
    *[(policy, runs.SURE, 1000.0, 400, {}) for policy in ALL],
    *[(policy, runs.LAWS, 3.0, 700, {}) for policy in ALL],
    *[(policy, runs.MANY, 5.0, 700, {}) for policy in ALL],
    *[(policy, runs.MANY, 1.0, 30, {}) for policy in ALL],
    *[(policy, runs.FIVE, epsilon, 4000, {}) for policy in (*COMMITTED, *NORMAL) for epsilon in (0.05, 1.0, 30.0)],
    *[(policy, runs.FIVE, 0.3, 3000, {"alpha": 0.4}) for policy in ("adap-ucb", "adap-klucb", *NORMAL)],
    ("adac-ucb", runs.FIVE, 0.3, 3000, {"accounting": "paper", "delta": 0.01}),
    *[
        (policy, runs.FIVE, 0.3, 3000, {"growth": growth, "first_batch": first})
        for policy in ("dp-klucb", "dp-imed")
        for growth, first in ((1.1, 1), (1.5, 1), (3.0, 7), (2.0, 5000))
    ],
    ("dp-se", runs.SURE, 1.0, 12_000, {}),
    ("dp-se", runs.FIVE, 2.0, 60_000, {"beta": 0.9}),
    ("anytime-lazy-ucb", runs.FIVE, 0.5, 12_000, {}),
    ("anytime-lazy-ucb", runs.TIES, 100.0, 6000, {}),
    ("dp-ucb-int", runs.FIVE, 2.0, 8000, SURELY),
    ("dp-ucb-int", runs.LAWS, 2.0, 2000, SURELY),
    ("dp-ucb-int", runs.TWO, 1.0, 8000, {"accounting": "paper"}),
    ("dp-ucb-int", runs.TWO, 40.0, 600, {}),  # a release after every single pull
]


@pytest.mark.parametrize(("policy", "arms", "epsilon", "horizon", "params"), CASES)
def test_the_arms_of_the_reference(monkeypatch, policy, arms, epsilon, horizon, params):
    """Every single pull, rewards drawn one by one; and the same with few checkpoints, where batches run across them."""
    runs.one_by_one(monkeypatch)
    entry, instance = runs.instance_of(policy, arms, epsilon, horizon, **params)
    # The loop that makes every draw; test_posterior.py has the rest.
    played = runs.looped(instance) if policy == "lazy-dp-ts" else instance
    runs.assert_pulls(entry.play, played, streams(7, 0, 2), lambda words, _: run_of(policy, instance, words).play())


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
        *[(step, 0.7, 0.8, 4000, {"growth": 2, "beta": 0.9}) for step in runs.LADDER],
    ],
)
def test_drawing_a_batch_at_once_changes_no_law(monkeypatch, policy, mean, wrong, horizon, params):
    """Kolmogorov-Smirnov on the final pulls, 1,000 trials of each form with seeds of their own; p above 1e-3.

    The same test tells the law of slightly ``wrong`` rewards.
    """
    many = 1000
    at_once = runs.final_pulls(policy, two(mean), 2.0, horizon, many, 1, **params)
    wrongly = runs.final_pulls(policy, two(wrong), 2.0, horizon, many, 3, **params)
    runs.one_by_one(monkeypatch)
    step_by_step = runs.final_pulls(policy, two(mean), 2.0, horizon, many, 2, **params)
    assert runs.same_law(at_once, step_by_step) > 1e-3
    assert runs.same_law(wrongly, step_by_step) < 1e-3


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
        entry, instance = runs.instance_of("dp-ucb-int", runs.TWO, 1.0, 4000, accounting=rule)
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
    entry, instance = runs.instance_of(policy, runs.TWO, 0.7, 1000)
    guarantee = entry.guarantee(instance)
    assert (guarantee.model, guarantee.epsilon, guarantee.delta) == ("central", 0.7, 0.0)
    np.testing.assert_array_equal(entry.spent(instance, np.array([1, 10, 1000])), 0.7)


@pytest.mark.parametrize("policy", [policy for policy in ALL if policy != "lazy-dp-ts"])
def test_a_horizon_of_a_billion(policy):
    """Anytime: the first million steps are those of a horizon of a million. The arms of any laws cost per release."""
    entry, instance = runs.instance_of(policy, runs.FIVE, 0.1, 10**9)
    times = np.union1d(checkpoints(10**6), checkpoints(10**9))
    block = entry.play(instance, streams(0, 0, 2), times, Signal())
    np.testing.assert_array_equal(block.pulls.sum(axis=1), 10**9)
    assert np.all(np.diff(block.regret, axis=1) > 0)  # the gaps of a numbered instance are all above 0
    if entry.anytime:
        short = entry.play(instance, streams(0, 0, 2), checkpoints(10**6), Signal())
        np.testing.assert_array_equal(short.regret, block.regret[:, np.searchsorted(times, checkpoints(10**6))])
    else:
        assert policy == "dp-se"


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


# --- what they accept ----------------------------------------------------------------------------------------------


def test_auto_first_batch_is_five_over_epsilon():
    for epsilon, size in ((1.0, 5), (0.3, 17), (0.01, 500), (1000.0, 1)):
        _, instance = runs.instance_of("dp-imed", runs.TWO, epsilon, 1000)
        assert instance.parameters.first_batch == size


def test_a_budget_that_visits_make_tiny_is_refused_in_words():
    for policy in ("dp-imed", "dist-dp-se", "normal-ts-c", "adac-ucb"):  # each kind that asks
        once = runs.one_line(policy, runs.TWO, 1e-6)
        with refused("lines[0].params") as issues:
            once.with_changes(visits=2)
        assert issues[0].allowed == "epsilon is 5e-07; allowed: from 1e-06 on"


def test_estimates_of_cost_know_laws_and_horizon():
    def cost(policy, arms, horizon):
        entry, instance = runs.instance_of(policy, arms, 1.0, horizon)
        return entry.cost(instance) * horizon  # in pulls of ucb

    assert cost("dp-klucb", runs.FIVE, 10**9) < 10_000
    assert cost("dp-klucb", runs.LAWS, 10**9) > 10**8  # these rewards must be drawn one by one
    assert cost("dp-ucb-int", runs.FIVE, 10**9) > 10 * cost("dp-klucb", runs.FIVE, 10**9)
    assert cost("lazy-dp-ts", runs.FIVE, 10**6) > 10**6
    assert {registry()[policy].privacy for policy in ALL} == {"central"}


# ---------------------------------------------------------------------------------------------------------------------
# Batch policies whose rewards are counted late: a plain reference, the kernels that know no lateness, and releases.


NAMES = [
    *("adap-ucb", "adap-klucb", "dp-klucb", "dp-imed", "adac-ucb", "anytime-lazy-ucb", "lazy-dp-ts", "dp-ucb-int"),
]
SOONER = {
    "dp-ucb-int": {"delta": 0.999, "v": 1.5},
    "adac-ucb": {"delta": 0.5},
    "dp-klucb": {"first_batch": 3, "growth": 1.5},
}
EVERY = pytest.mark.parametrize("name", NAMES)


def late(name, batch, delay, arms=runs.COINS, horizon=500):
    return runs.one_line(name, arms, 3.0, horizon, batch, delay, **SOONER.get(name, {})).setups[0]


@EVERY
@pytest.mark.parametrize(("batch", "delay"), runs.LATENESS)
@pytest.mark.parametrize("arms", [runs.COINS, runs.UNIT], ids=["coins", "unit"])
def test_the_arms_of_the_reference_where_rewards_are_counted_late(name, batch, delay, arms):
    setup = runs.looped(late(name, batch, delay, arms))
    call, rows = registry()[name].prepare(setup), streams(3, 0, 2)
    pulled = runs.arms_pulled(call, rows, setup.horizon)
    for trial in range(2):
        np.testing.assert_array_equal(pulled[trial], Batches(name, setup, rows[trial]).play())


ELIMINATIONS = [
    *[(name, {"beta": 0.5, "growth": growth}) for name in ("se", "ldp-se", "dp-se") for growth in (2, 5)],
    ("dp-se", {"beta": 0.9}),
]


@pytest.mark.parametrize(("batch", "delay"), runs.LATENESS)
@pytest.mark.parametrize(("name", "params"), ELIMINATIONS)
def test_the_arms_of_the_reference_of_elimination(name, params, batch, delay):
    setup, rows = (
        runs.looped(runs.one_line(name, runs.UNIT, 3.0, 3500, batch, delay, **params).setups[0]),
        streams(3, 0, 2),
    )
    pulled = runs.arms_pulled(registry()[name].prepare(setup), rows, setup.horizon)
    for trial in range(2):
        run = Epochs(name, setup, rows[trial])
        np.testing.assert_array_equal(pulled[trial], run.play())
        users = [user for _, part in run.releases for user in part]
        assert len(users) == len(set(users)) > 0


@EVERY
def test_every_reward_is_in_one_release_at_most_and_counted_by_then(name):
    """Of the sums that are published; DP-UCB-INT publishes means of all of them, whose account is its own."""
    setup = late(name, 20, 30, horizon=800)
    run = Batches(name, setup, streams(2, 0, 1)[0])
    run.play()
    users = [user for _, part in run.releases for user in part]
    assert len(users) == len(set(users)) > 0 and len(run.releases) > 3
    assert max(users) <= 800 - 30


@EVERY
def test_lateness_costs_memory_and_time_that_are_counted(name):
    soon, later = (late(name, batch, 0, horizon=5000) for batch in (2, 4000))
    policy = registry()[name]
    assert policy.held(later, 1) - policy.held(soon, 1) == pytest.approx(3 * (4000 - 2))
    assert policy.cost(later) >= 1.0


# ---------------------------------------------------------------------------------------------------------------------
# Elimination in growing batches, by steps of trust: a plain reference, the laws of the shortcuts, privacy, radii.


def instance(policy, arms=runs.TWO, epsilon=1.0, horizon=10_000, **params):
    return runs.instance_of(policy, arms, epsilon, horizon, **({"growth": 4} | params))


def account(policy, setup) -> dict:
    """What the reference takes of the accounts, which have tests of their own."""
    chosen = setup.parameters
    found = {"epsilon": setup.epsilon and setup.epsilon.value, "growth": chosen.growth}
    found["beta"] = ladder.chance_of_error(setup)
    if policy == "shuffle-se":
        found["noisy"] = ladder.noisy_shares(setup)
    elif policy == "dist-rdp-se":
        found |= {"scale": chosen.scale, "rate": ladder.rate(setup)}
    return found


# --- the kernel ----------------------------------------------------------------------------------------------------

LADDER_CASES = [
    *[(policy, runs.ONE, 1.0, 20, {}) for policy in runs.LADDER],
    *[(policy, runs.TWO, 0.5, 6000, {"growth": 2, "beta": 0.3}) for policy in runs.LADDER],
    *[(policy, runs.SURE, 1.0, 3000, {"beta": 0.5}) for policy in runs.LADDER],
    *[(policy, runs.LAWS, 3.0, 2500, {"growth": 3, "beta": 0.9}) for policy in runs.LADDER],
    *[(policy, runs.MANY, 5.0, 9000, {"beta": 0.9}) for policy in runs.LADDER],
    ("dist-rdp-se", runs.FIVE, 2.0, 4000, {"accounting": "paper", "scale": 1.0, "beta": 0.9}),
    ("dist-rdp-se", runs.LAWS, 2.0, 4000, {"accounting": "paper", "scale": 100.0, "beta": 0.1}),
    ("shuffle-se", runs.FIVE, 1.0, 20_000, {"accounting": "paper"}),
    ("shuffle-se", runs.TIES, 1.0, 20_000, {"delta": 1e-3, "growth": 10}),
]


@pytest.mark.parametrize("at_once", [True, False], ids=["by the sum", "one by one"])
@pytest.mark.parametrize(("policy", "arms", "epsilon", "horizon", "params"), LADDER_CASES)
def test_the_arms_of_the_ladder(monkeypatch, at_once, policy, arms, epsilon, horizon, params):
    """Every single pull; and the same with few checkpoints, where batches run across them."""
    if not at_once:
        runs.one_by_one(monkeypatch)
    entry, setup = instance(policy, arms, epsilon, horizon, **params)
    spec = account(policy, setup)
    runs.assert_pulls(
        entry.play, setup, streams(7, 0, 2),
        lambda words, _: ladder_reference.play(policy, setup, words, at_once, spec),
    )  # fmt: skip


@pytest.mark.parametrize(("batch", "delay"), runs.LATENESS)
@pytest.mark.parametrize("policy", ["dist-dp-se", "dist-rdp-se", "shuffle-se"])
def test_the_arms_of_the_ladder_where_rewards_are_counted_late(policy, batch, delay):
    """Batches of exactly as many users as the noise is made for, the first that they meet."""
    entry, setup = instance(policy, runs.LAWS, 8.0, 3000, growth=3, beta=0.9, batch=batch, delay=delay)
    setup, spec = runs.looped(setup), account(policy, setup)
    rows, call, complete = streams(7, 0, 2), entry.prepare(setup), []
    for pulled, words in zip(runs.arms_pulled(call, rows, 3000), rows, strict=True):

        def plays(here, words):
            arms, batches = ladder_reference.late_play(policy, here, words, spec)
            complete.append(batches)
            return arms

        np.testing.assert_array_equal(pulled, by_labels(setup, words, plays))
    for batches in complete:
        users = [user for each in batches for user in each]
        assert len(users) == len(set(users)) > 0
        assert {len(each) for each in batches} <= {3**b for b in range(1, 9)}


@pytest.mark.parametrize("policy", runs.LADDER)
def test_the_best_arm_is_found_and_a_billion_users_cost_nothing(policy):
    pulls = runs.final_pulls(policy, runs.FIVE, 1.0, 10**9, 4, growth=4)
    np.testing.assert_array_equal(pulls.sum(axis=1), 10**9)
    assert pulls[:, 1].min() > 0.999 * 10**9


def test_dp_se_keeps_its_epochs_unless_asked():
    entry, setup = runs.instance_of("dp-se", runs.TWO, 1.0, 1000)
    assert setup.parameters.growth == "auto"
    assert entry.prepare(setup).rule is dp_se.RULE
    assert instance("dp-se")[0].prepare(instance("dp-se")[1]).rule is elimination_by_trust.SEEN


# --- Poisson variables ---------------------------------------------------------------------------------------------


@kernel
def fill_poisson(state, mean, out):
    for place in range(out.shape[0]):
        out[place] = poisson.poisson(mean, state, 0)


def poisson_draws(mean, many=100_000):
    out = np.empty(many)
    fill_poisson(streams(1, 0, 1), mean, out)
    return out


@pytest.mark.parametrize("mean", [1e-3, 0.4, 3.0, 9.99, 10.0, 11.3, 40.0, 1234.5, 1e6, 1e8])
def test_the_law_is_poisson(mean):
    law, sample = stats.poisson(mean), poisson_draws(mean)
    np.testing.assert_array_equal(sample, np.round(sample))
    assert sample.min() >= 0
    if mean > 0.1:
        assert chi_square_p(sample, law) > 1e-4
    assert abs(sample.mean() - mean) < 4.5 * math.sqrt(mean / len(sample))
    assert abs(sample.var() / mean - 1) < 4.5 * math.sqrt((2 + 1 / mean) / len(sample))


def test_the_poisson_check_has_teeth_and_the_probabilities_are_exact():
    assert chi_square_p(poisson_draws(1234.5), stats.poisson(1234.5 + 0.06 * math.sqrt(1234.5))) < 1e-4
    for mean in (10.0, 77.7, 1e5):
        k = np.arange(max(0, int(mean - 8 * math.sqrt(mean))), int(mean + 8 * math.sqrt(mean)))
        mine = [poisson.log_mass(float(each), mean) for each in k]
        np.testing.assert_allclose(mine, stats.poisson(mean).logpmf(k), atol=1e-8 + 1e-13 * mean)


# --- shuffled bits: the account ------------------------------------------------------------------------------------


def counts(truths, noisy):
    """Distribution of the number of ones among users with these bits, each uniform with chance ``noisy``."""
    law = np.ones(1)
    for truth in truths:
        one = (1 - noisy) * truth + noisy / 2
        law = np.convolve(law, [1 - one, one])
    return law


def by_enumeration(noisy, users, epsilon):
    """The real delta of the count, over all neighbouring batches of bits: no one is told who is noisy."""
    worst = 0.0
    for ones in range(users):
        others = [1] * ones + [0] * (users - 1 - ones)
        p, q = counts([*others, 0], noisy), counts([*others, 1], noisy)
        worst = max(worst, *(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((p, q), (q, p))))
    return worst


def revealed(noisy, users, epsilon):
    """The pair of distributions of the account, term by term: rows are how many others are noisy."""
    p, q = [], []
    for many in range(users):
        chance = stats.binom(users - 1, noisy).pmf(many)
        law = stats.binom(many, 0.5).pmf(np.arange(-1, many + 2))
        here, before = law[1:], law[:-1]
        p.append(chance * ((1 - noisy / 2) * here + noisy / 2 * before))
        q.append(chance * ((1 - noisy / 2) * before + noisy / 2 * here))
    return np.concatenate(p), np.concatenate(q)


@pytest.mark.parametrize("users", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("noisy", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0])
def test_the_account_of_shuffled_bits_is_exact_for_what_it_reveals_and_no_less_than_the_truth(users, noisy, epsilon):
    message = batch.shuffle_delta(noisy, users, epsilon)
    p, q = revealed(noisy, users, epsilon)
    assert message == pytest.approx(np.maximum(p - math.exp(epsilon) * q, 0).sum(), abs=1e-12)
    assert message == pytest.approx(np.maximum(q - math.exp(epsilon) * p, 0).sum(), abs=1e-12)
    assert message >= by_enumeration(noisy, users, epsilon) - 1e-12
    # dp-accounting makes a privacy loss distribution of the same pair.
    kept = (p > 0) & (q > 0)
    log_p, log_q = ({k: math.log(x) for k, x in enumerate(law) if kept[k]} for law in (p, q))
    oracle = pld.from_two_probability_mass_functions(log_p, log_q, value_discretization_interval=1e-4)
    assert oracle.get_delta_for_epsilon(epsilon) == pytest.approx(message, abs=3e-4)


def test_the_hand_check_of_noisy_users():
    """1000 users, epsilon = 1, delta = 1e-6: about 73 noisy ones, where the closed form asks for 973."""
    assert 1000 * batch.noisy_share(1000, 1.0, 1e-6) == pytest.approx(73.1, abs=0.1)
    assert 64 * math.log(4e6) == pytest.approx(973, abs=0.5)
    assert 1e4 * batch.noisy_share(10**4, 1.0, 1e-6, "paper") == pytest.approx(64 * math.log(4e6))


@pytest.mark.parametrize("accounting_word", ["tight", "paper"])
def test_no_batch_is_released_with_a_weaker_promise(accounting_word):
    """Whatever its size: the account keeps delta, and the local mechanism is where no one can hide."""
    for epsilon in (0.01, 0.1, 1.0, 5.0, 20.0):
        for users in (1, 2, 4, 16, 64, 1024, 4**8, 4**14):
            noisy = batch.noisy_share(users, epsilon, 1e-6, accounting_word)
            assert 0 < noisy <= batch.local_share(epsilon)
            assert batch.shuffle_delta(noisy, users, epsilon, 1e-10) <= 1e-6 * (1 + 1e-9)
            if accounting_word == "tight" and users >= 1024 and epsilon <= 5:  # and no more noise than that
                assert batch.shuffle_delta(0.999 * noisy, users, epsilon, 1e-12) > 0.98e-6
    assert batch.local_share(1.0) == pytest.approx(1 - math.tanh(0.5))
    assert batch.shuffle_delta(batch.local_share(1.0), 5, 1.0) == pytest.approx(0, abs=1e-15)


def test_fewer_users_than_the_noise_was_made_for_keep_less():
    noisy = batch.noisy_share(1000, 1.0, 1e-6)
    assert batch.shuffle_delta(noisy, 900, 1.0) > 2e-6
    assert batch.shuffle_delta(noisy, 1100, 1.0) < 1e-6


def test_what_is_no_promise_is_refused():
    with refused("epsilon", "delta", value=0.0):
        batch.noisy_share(10, 0.0, 1.0)


# --- sums modulo m -------------------------------------------------------------------------------------------------


def test_polya_shares_sum_to_discrete_laplace_noise():
    rng, made = np.random.default_rng(0), batch.PolyaSum.of(64, 2.0)
    assert (made.levels, made.slack, made.modulus) == (16, math.ceil(8 * math.log(20)), 1024 + 2 * made.slack + 1)
    noise = made.shares((40_000, 64), rng).sum(axis=-1)
    near = np.arange(-3 * made.levels, 3 * made.levels + 1)
    expected = len(noise) * np.exp(made.log_mass(near))
    seen = np.array([(noise == k).sum() for k in near])
    assert np.exp(made.log_mass(np.arange(-2000, 2001))).sum() == pytest.approx(1)
    assert stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), len(near)) > 1e-4
    drawn = [batch.discrete_laplace(*rng.random(2), 0.125) for _ in range(40_000)]
    assert stats.ks_2samp(noise, drawn).pvalue > 1e-4


@pytest.mark.parametrize("users", [4, 64])
def test_a_modular_sum_is_decoded_and_unbiased(users):
    rng = np.random.default_rng(1)
    rewards = rng.uniform(0.2, 0.8, users)
    for made in (batch.PolyaSum.of(users, 4.0, 1e-6), batch.SkellamSum.of(users, 2.0, 10.0, 1e-6)):
        message = made.release(np.broadcast_to(rewards, (20_000, users)), rng)
        assert message.min() >= 0 and message.max() < made.modulus
        means = made.estimate(message)
        assert abs(means.mean() - rewards.mean()) < 4.5 * means.std() / math.sqrt(len(means))
        by_kernel = [batch.decoded(float(each), users * made.levels, made.slack) for each in message[:500]]
        np.testing.assert_allclose(np.array(by_kernel) / (users * made.levels), means[:500])


def test_the_modulus_spoils_no_more_sums_than_its_slack_says():
    for chance in (0.3, 1e-3):
        for made in (batch.PolyaSum.of(256, 0.5, chance), batch.SkellamSum.of(256, 0.5, 3.0, chance)):
            beyond = np.arange(made.slack + 1, 60 * made.slack)
            assert 2 * np.exp(made.log_mass(beyond)).sum() <= chance / 2
            if isinstance(made, batch.PolyaSum):  # and tau is not far too large
                assert 2 * np.exp(made.log_mass(beyond)).sum() > chance / 3


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_one_reward_moves_no_probability_of_a_polya_sum_by_more_than_epsilon(epsilon):
    made = batch.PolyaSum.of(16, epsilon)
    noise = np.arange(-200, 201)
    loss = made.log_mass(noise) - made.log_mass(noise - made.levels)
    assert np.abs(loss).max() == pytest.approx(epsilon)


@pytest.mark.parametrize("variance", [1.0, 25.0, 400.0, 1e4])
@pytest.mark.parametrize("levels", [1, 2, 10, 60])
def test_the_published_renyi_divergence_of_skellam_noise_is_an_upper_bound(variance, levels):
    """By enumeration; and for many levels not far above."""
    made = batch.SkellamSum(users=1, levels=levels, slack=1, variance=variance)
    for order in (2.0, 3.0, 8.0, 40.0):
        centre, wide = int(-(order - 1) * levels), int(20 * math.sqrt(variance) + 50)
        k = np.arange(centre - wide, centre + wide)
        p, q = made.log_mass(k), made.log_mass(k - levels)
        if not (np.isfinite(p).all() and np.isfinite(q).all()):
            continue  # beyond the range of a double
        real = logsumexp(order * p + (1 - order) * q) / (order - 1)
        message = float(definitions.skellam_renyi(np.array([order]), levels, variance)[0])
        assert real <= message * (1 + 1e-9)
        if variance >= 400:
            assert real > 0.95 * order * levels**2 / (2 * variance)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("users", [4, 64])
def test_a_tight_skellam_sum_keeps_its_promise_by_enumeration(epsilon, users):
    """The hockey-stick divergence itself, at the first batch and a larger one. Skellam noise is log-concave."""
    delta = 1e-4
    rate = definitions.skellam_rate(epsilon, delta, 4, 10.0)
    made = batch.SkellamSum.of(users, rate)
    k = np.arange(-int(12 * math.sqrt(made.variance)), int(12 * math.sqrt(made.variance)))
    p, q = np.exp(made.log_mass(k)), np.exp(made.log_mass(k - made.levels))
    real = np.maximum(p - math.exp(epsilon) * q, 0).sum()
    assert 0.05 * delta < real <= delta


@pytest.mark.parametrize("policy", runs.LADDER)
@pytest.mark.parametrize("mean", [0.05, 0.5, 1.0])
def test_means_leave_their_radius_as_rarely_as_is_claimed(policy, mean):
    """Beta = 0.9, one batch of four and one of 16 users: at most beta/b^2 for one arm, and the modulus beta/2."""
    _, setup = instance(policy, [{"kind": "bernoulli", "mean": mean}], 0.7, 16, beta=0.9)
    steps = {
        "se": ladder.plain, "dp-se": ladder.laplace, "ldp-se": ladder.local, "shuffle-se": ladder.shuffled,
        "dist-dp-se": ladder.polya, "dist-rdp-se": ladder.skellam,
    }[policy](setup)  # fmt: skip
    rng, trials = np.random.default_rng(3), 20_000
    for b, users in enumerate((4, 16)):
        rewards = (rng.random((trials, users)) < mean).astype(float)
        if policy in ("se", "dp-se"):
            means = rewards.mean(axis=1) + (0 if policy == "se" else rng.laplace(0, 1 / 0.7, trials) / users)
        elif policy in ("ldp-se", "shuffle-se"):
            made = batch.ShuffledBits(users=users, noisy=1 - steps.contrast[b])
            means = made.estimate(made.release(rewards, rng))
        else:
            message = {"users": users, "levels": int(steps.levels[b]), "slack": int(steps.slack[b])}
            made = (
                batch.PolyaSum(epsilon=0.7, **message)
                if policy == "dist-dp-se"
                else batch.SkellamSum(variance=steps.spread[b], **message)
            )
            means = made.estimate(made.release(rewards, rng))
        outside = np.mean(np.abs(means - mean) > steps.radii[b, 1])
        modular = policy.startswith("dist")
        allowed = 0.9 / (b + 1) ** 2 * (1 if modular else 0.5) + (0.45 if modular else 0)
        assert outside <= allowed
    assert steps.failure > 0


# --- the radius ----------------------------------------------------------------------------------------------------


# --- what the papers say -------------------------------------------------------------------------------------------


# --- what they accept ----------------------------------------------------------------------------------------------
