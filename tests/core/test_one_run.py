"""One run to watch is a run of the line's rule, and what it shows is what decided."""

from dataclasses import replace

import numpy as np
import pytest
from conformance import ON_ARMS, SPREAD
from families import POLICIES
from helpers import refused
from runs import coins, one_line

from bandit_core import load_preset, simulate
from bandit_core.kernels.batch_rule import rule_of
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal, run_kernel
from bandit_core.simulation.store import Store
from bandit_core.spec.errors import InputError
from bandit_core.studies.one_run import one_run

BERNOULLI = coins(0.3, 0.7, 0.5, 0.7, 0.1)
SMOOTH = [{"kind": "beta", "a": 2.0, "b": 3.0}, {"kind": "uniform", "low": 0.2, "high": 1.0}, BERNOULLI[2]]
WILD = [{"kind": "pareto", "mean": 1.0, "shape": 2.5}, {"kind": "gaussian", "mean": 0.4, "sd": 0.5}]
BATCHES = ("se", "ldp-se", "shuffle-se", "dist-dp-se", "dist-rdp-se")
PARAMETERS = {
    "dp-robust-se": {"v": 1.0, "kappa": 1e-3},
    "ldp-robust-se": {"v": 1.0, "kappa": 1e-7},
    **{name: {"beta": 0.9, "growth": 2} for name in BATCHES},
    "gaussian-ts": {"pre_pulls": 50},  # else most users come before any draw
    **{name: {"users": 203} for name in ON_ARMS if name.startswith("explore-then-commit")},
}
LATE = {"dp-se": 60_000}  # first drops an arm after some ten thousand users


COUNTERS = [(name, other) for name in ("dp-ucb", "dp-ucb-bound", "private-ucb") for other in ("k-ary", "square-root")]
AB_TESTS = [name for name in ON_ARMS if name.startswith("explore-then-commit")]
LATE_RUNS = [
    *((name, 2.0) for name in ("kl-ucb-cf", "dp-robust-ucb", "ts-cf", AB_TESTS[-1], "lazy-dp-ts", "dp-ucb-int")),
    *((name, 2.0) for name in ("dp-imed", "ldp-se", "ldp-robust-se")),
    ("heldp-ucb-b", SPREAD),
    ("heldp-ucb-l", SPREAD),
]


def experiment_of(name, arms, horizon=2500, epsilon=2.0, params=None, **late):
    params = params or PARAMETERS.get(name, {})
    return one_line(name, arms, epsilon, horizon, trials=2, seed=8, **params, **late)


def accepted(name, arms):
    try:
        return experiment_of(name, arms)
    except InputError:
        return None


SEARCHES = [name for name, policy in ON_ARMS.items() if policy.stops]  # no rules
RULES = [name for name in ON_ARMS if name not in SEARCHES]
CASES = [(name, arms) for name in RULES for arms in (BERNOULLI, SMOOTH, WILD) if accepted(name, arms)]


def deciding(run):
    """By how much each user's arm misses what decides, and the size of the numbers; without those taken in turns."""
    values = run.indices if run.decides != "smallest" else -run.indices
    best, shown = values.max(axis=1), values[np.arange(run.users), run.arms]
    assert np.isposinf(shown[np.isposinf(best)]).all()  # who must be tried is tried
    assert not np.isneginf(shown).any()  # who is dropped stays away
    known = np.isfinite(best)
    return best[known] - shown[known], 1 + np.abs(best[known])


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_is_refused(name):
    with refused("lines[0].policy", value=name):
        one_run(experiment_of(name, BERNOULLI))


@pytest.mark.parametrize(("name", "arms"), [case for case in CASES if case[0] in POLICIES])
def test_the_run_is_one_of_the_rule_and_shows_what_decided(name, arms):
    assert_rule(name, experiment_of(name, arms, LATE.get(name, 2500)))


@pytest.mark.parametrize(("name", "arms"), [case for case in CASES if case[0] not in POLICIES])
def test_the_run_of_others_of_these_families_too(name, arms):
    assert_rule(name, experiment_of(name, arms, LATE.get(name, 2500)))


@pytest.mark.parametrize(("name", "counter"), COUNTERS)
def test_a_run_on_another_counter_is_one_of_the_rule(name, counter):
    assert_rule(name, experiment_of(name, BERNOULLI, params={"counter": counter}))


@pytest.mark.parametrize(("name", "epsilon"), LATE_RUNS)
def test_a_late_run_of_a_rule_is_the_first_trial(name, epsilon):
    experiment = experiment_of(name, BERNOULLI, epsilon=epsilon, batch=7, delay=20)
    run = assert_rule(name, experiment)
    result = simulate(experiment, jobs=1, store=Store(None, 2**24))
    times = result.times[result.times <= run.users]
    assert len(times) > 100
    assert run.regret[times - 1].tobytes() == result.lines[0].regret[0, : len(times)].tobytes()


def assert_rule(name, experiment):
    users = LATE.get(name, 1500)  # fewer than the horizon, which some policies know
    run = one_run(experiment, users=users)
    call = ON_ARMS[name].prepare(experiment.setups[0])
    plain = replace(call, kernel=rule_of(call).late, arguments=call.watched)
    block = run_kernel(plain, streams(experiment.seed, 0, 1), np.arange(1, users + 1), Signal())
    assert run.regret.tobytes() == block.regret[0].tobytes()
    assert np.allclose(np.cumsum(run.gaps[run.arms]), run.regret, rtol=1e-12)
    assert run.decides == "turns" or not np.isnan(run.estimates[-1]).any()
    misses, sizes = deciding(run)
    assert (misses <= 1e-11 * sizes).all()
    assert len(misses) > 1000 or run.decides == "turns"
    felt = [run.rewards[(run.arms == arm) & ~np.isnan(run.rewards)] for arm in range(len(experiment.single_arms))]
    for rewards, mean, arm in zip(felt, experiment.setups[0].means, experiment.setups[0].arms, strict=True):
        low, high = arm.support
        assert ((rewards >= low) & (rewards <= high)).all()
        if len(rewards) > 300 and arm.kind != "pareto":
            assert abs(rewards.mean() - mean) < 5 * rewards.std() / len(rewards) ** 0.5
    return run


def test_other_trials_are_other_runs():
    experiment = experiment_of("ucb", BERNOULLI)
    first, second = (one_run(experiment, users=300, trial=trial) for trial in (0, 1))
    assert (first.arms != second.arms).any()
    assert one_run(experiment, users=300).arms.tobytes() == first.arms.tobytes()


def test_a_run_ends_with_the_horizon():
    assert one_run(experiment_of("ucb", BERNOULLI, horizon=40), users=100).users == 40


@pytest.mark.parametrize("name", ["heldp-ucb-b", "heldp-ucb-l"])
def test_users_below_the_threshold_send_nothing(name):
    experiment = experiment_of(name, BERNOULLI, epsilon=SPREAD)
    run = one_run(experiment)
    silent = run.epsilons < experiment.setups[0].parameters.eps_min
    assert 0 < silent.sum() < run.users
    assert (np.isnan(run.sent) == silent).all()
    kept = np.flatnonzero(silent[:-1])
    still = run.estimates[kept] == run.estimates[kept + 1]
    assert (still | np.isnan(run.estimates[kept])).all()


def test_bits_lie_as_often_as_their_budget_says():
    run = one_run(experiment_of("ts-cf", BERNOULLI, epsilon=1.0))
    truth = np.exp(1.0) / (1 + np.exp(1.0))
    assert abs((run.sent == run.rewards).mean() - truth) < 5 * (truth * (1 - truth) / run.users) ** 0.5
    assert run.completed


@pytest.mark.parametrize("arms", [BERNOULLI, SMOOTH], ids=["by their number", "one by one"])
def test_the_rewards_of_a_batch_are_those_of_its_release(arms):
    """Behind a budget so large that there is hardly any noise, a released mean is the mean of the batch's rewards."""
    run = one_run(experiment_of("anytime-lazy-ucb", arms, epsilon=1000.0))
    for arm in range(len(arms)):
        mine = run.arms == arm
        message, rewards = run.estimates[-1, arm], run.rewards[mine]
        sizes = [1 + 2 * (2**k - 1) for k in range(12)]  # batches of 1, 2, 4, ...: full after 1, 3, 7, ... pulls
        ends = [end for end in sizes if end <= mine[:-1].sum()]
        batch = rewards[(ends[-2] if len(ends) > 1 else 0) : ends[-1]]
        assert message == pytest.approx(batch.mean(), abs=0.015 / len(batch))


def test_an_ab_test_on_bits_is_decided_by_the_bits_that_are_shown():
    run = one_run(experiment_of("explore-then-commit-local", BERNOULLI))
    users = PARAMETERS["explore-then-commit-local"]["users"]
    assert np.isnan(run.sent[users:]).all() and not np.isnan(run.sent[:users]).any()
    assert np.isnan(run.estimates[:users]).all()
    for arm in range(len(BERNOULLI)):
        share = run.sent[:users][run.arms[:users] == arm].mean()
        assert run.estimates[users, arm] == pytest.approx(0.5 + (share - 0.5) / np.tanh(1.0))
    assert (run.arms[users:] == run.estimates[users].argmax()).all()


def test_a_run_of_very_many_users_is_shown_whole():
    run = one_run(experiment_of("ucb", BERNOULLI, horizon=2_500_000), users=500)
    assert not np.isnan(run.rewards).any() and not np.isnan(run.estimates[-1]).any()


def test_noise_that_is_drawn_as_a_sum_is_left_out():
    run = one_run(experiment_of("ldp-robust-se", BERNOULLI))
    assert run.hides and np.isnan(run.sent).all()


def test_users_with_features_are_refused():
    with pytest.raises(InputError):
        one_run(load_preset("han-single-quick"))
