"""Elimination in growing batches, by steps of trust: a plain reference, the laws of the shortcuts, privacy, radii."""

import math

import ladder_reference
import numpy as np
import pytest
import runs
from dp_accounting.pld import privacy_loss_distribution as pld
from helpers import chi_square_p, fixed, refused
from reference import by_labels
from runs import FIVE, LADDER
from scipy import stats
from scipy.special import logsumexp

from bandit_core import Experiment, simulate
from bandit_core.jit.decorators import kernel
from bandit_core.kernels import poisson
from bandit_core.kernels.streams import streams
from bandit_core.mechanisms import batch
from bandit_core.policies import dp_se, elimination_by_trust
from bandit_core.simulation.store import Store
from bandit_core.theory import definitions, ladder


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

CASES = [
    *[(policy, runs.ONE, 1.0, 20, {}) for policy in LADDER],
    *[(policy, runs.TWO, 0.5, 6000, {"growth": 2, "beta": 0.3}) for policy in LADDER],
    *[(policy, runs.SURE, 1.0, 3000, {"beta": 0.5}) for policy in LADDER],
    *[(policy, runs.LAWS, 3.0, 2500, {"growth": 3, "beta": 0.9}) for policy in LADDER],
    *[(policy, runs.MANY, 5.0, 9000, {"beta": 0.9}) for policy in LADDER],
    ("dist-rdp-se", FIVE, 2.0, 4000, {"accounting": "paper", "scale": 1.0, "beta": 0.9}),
    ("dist-rdp-se", runs.LAWS, 2.0, 4000, {"accounting": "paper", "scale": 100.0, "beta": 0.1}),
    ("shuffle-se", FIVE, 1.0, 20_000, {"accounting": "paper"}),
    ("shuffle-se", runs.TIES, 1.0, 20_000, {"delta": 1e-3, "growth": 10}),
]


@pytest.mark.parametrize("at_once", [True, False], ids=["by the sum", "one by one"])
@pytest.mark.parametrize(("policy", "arms", "epsilon", "horizon", "params"), CASES)
def test_the_arms_of_the_reference(monkeypatch, at_once, policy, arms, epsilon, horizon, params):
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
def test_the_arms_of_the_reference_where_rewards_are_counted_late(policy, batch, delay):
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


@pytest.mark.parametrize("policy", LADDER)
def test_the_best_arm_is_found_and_a_billion_users_cost_nothing(policy):
    pulls = runs.final_pulls(policy, FIVE, 1.0, 10**9, 4, growth=4)
    np.testing.assert_array_equal(pulls.sum(axis=1), 10**9)
    assert pulls[:, 1].min() > 0.999 * 10**9


def test_a_batch_by_hand():
    """Two sure arms, T = 10^6, batches of 4^b: the worse one goes after the first b with 2 sqrt(L/2l) < 1, b = 3."""
    arms = [{"kind": "bernoulli", "mean": 0.0}, {"kind": "bernoulli", "mean": 1.0}]
    assert [2 * math.sqrt(math.log(8 * b**2 * 1e6) / (2 * 4**b)) < 1 for b in (1, 2, 3)] == [False, False, True]
    np.testing.assert_array_equal(runs.final_pulls("se", arms, 1.0, 10**6, 3, growth=4), [[84, 10**6 - 84]] * 3)


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


# --- the radius ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", LADDER)
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


# --- what the papers say -------------------------------------------------------------------------------------------


def test_trust_costs_in_the_order_of_the_ladder_and_secure_sums_cost_about_what_a_curator_does():
    """epsilon = 0.5, five arms, a million users. Renyi as published: noise with s = 10 and 100, at its own promise."""
    names = [("se", {}), ("dp-se", {"growth": 4}), ("dist-dp-se", {}), ("shuffle-se", {}), ("ldp-se", {})]
    names += [("dist-rdp-se", {"accounting": "paper", "scale": scale}) for scale in (10, 100)]
    lines = [
        {"policy": name, "params": params} | ({} if name == "se" else {"epsilon": fixed(0.5)}) for name, params in names
    ]
    spec = {"arms": FIVE, "lines": lines, "horizon": 10**6, "trials": 60}
    played = simulate(Experiment.model_validate(spec), store=Store(None, 0)).lines
    none, central, secure, shuffled, local, ten, hundred = (line.mean[-1] for line in played)
    assert none < central
    assert 0.8 * central < secure < 1.6 * central
    assert none < shuffled < 2 * central
    assert local > 3 * max(central, secure, shuffled)
    assert none < hundred <= 1.1 * ten < secure


# --- what they accept ----------------------------------------------------------------------------------------------
