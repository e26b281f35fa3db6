"""Batch policies whose rewards are counted late: a plain reference, the kernels that know no lateness, and releases."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from conformance import line_of
from late_batch_reference import Epochs, Late
from lateness import COINS, LATENESS, UNIT, Immediate, arms_pulled, experiment_of
from scipy import stats

from bandit_core.kernels.streams import streams
from bandit_core.model import Signal, run_kernel
from bandit_core.policies import batch_family, dp_se, registry

NAMES = [
    *("adap-ucb", "adap-klucb", "dp-klucb", "dp-imed", "adac-ucb", "anytime-lazy-ucb", "lazy-dp-ts", "dp-ucb-int"),
]
SOONER = {
    "dp-ucb-int": {"delta": 0.999, "v": 1.5},
    "adac-ucb": {"delta": 0.5},
    "dp-klucb": {"first_batch": 3, "growth": 1.5},
}
EVERY = pytest.mark.parametrize("name", NAMES)


def late(name, batch, delay, arms=COINS, horizon=500):
    return experiment_of(
        line_of(name, 3.0, **SOONER.get(name, {})), arms=arms, horizon=horizon, batch=batch, delay=delay
    )


@EVERY
@pytest.mark.parametrize(("batch", "delay"), LATENESS)
@pytest.mark.parametrize("arms", [COINS, UNIT], ids=["coins", "unit"])
def test_the_arms_of_the_reference(name, batch, delay, arms):
    setup = late(name, batch, delay, arms).setups[0]
    if (batch, delay) == (1, 0):  # the late loop, though nothing is late
        setup = replace(setup, feedback=Immediate())
    call, rows = registry()[name].prepare(setup), streams(3, 0, 2)
    pulled = arms_pulled(call, rows, setup.horizon)
    for trial in range(2):
        np.testing.assert_array_equal(pulled[trial], Late(name, setup, rows[trial]).play())


ELIMINATIONS = [
    *[(name, {"beta": 0.5, "growth": growth}) for name in ("se", "ldp-se", "dp-se") for growth in (2, 5)],
    ("dp-se", {"beta": 0.9}),
]


@pytest.mark.parametrize(("batch", "delay"), LATENESS)
@pytest.mark.parametrize(("name", "params"), ELIMINATIONS)
def test_the_arms_of_the_reference_of_elimination(name, params, batch, delay):
    experiment = experiment_of(line_of(name, 3.0, **params), arms=UNIT, horizon=3500, batch=batch, delay=delay)
    setup, rows = experiment.setups[0], streams(3, 0, 2)
    if (batch, delay) == (1, 0):
        setup = replace(setup, feedback=Immediate())
    pulled = arms_pulled(registry()[name].prepare(setup), rows, setup.horizon)
    for trial in range(2):
        run = Epochs(name, setup, rows[trial])
        np.testing.assert_array_equal(pulled[trial], run.play())
        users = [user for _, part in run.releases for user in part]
        assert len(users) == len(set(users)) > 0


@pytest.mark.parametrize("name", ["se", "ldp-se", "dp-se"])
def test_elimination_without_lateness_has_the_law_of_the_plain_kernel(name):
    """Other draws (the plain kernels draw a batch by its sum), the same distribution; DP-SE's epochs bit for bit."""
    params = {"beta": 0.9} if name == "dp-se" else {"beta": 0.9, "growth": 2}
    setup = experiment_of(line_of(name, 3.0, **params), horizon=4000).setups[0]
    policy, late_setup = registry()[name], replace(setup, feedback=Immediate())
    plain, looped = (
        policy.play(each, streams(seed, 0, 400), np.array([4000]), Signal()).pulls
        for seed, each in ((1, setup), (2, late_setup))
    )
    for mine, theirs in zip(plain.T, looped.T, strict=True):
        assert stats.ks_2samp(mine, theirs, method="asymp").pvalue > 1e-3
    if name == "dp-se":
        again = policy.play(late_setup, streams(1, 0, 50), np.array([4000]), Signal()).pulls
        call = dp_se.RULE.call(setup, dp_se.Numbers(3.0, 0.9), at_once=False)
        np.testing.assert_array_equal(run_kernel(call, streams(1, 0, 50), np.array([4000]), Signal()).pulls, again)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "lazy-dp-ts"])
def test_without_lateness_the_loop_is_the_plain_kernel_one_reward_after_the_other(monkeypatch, name):
    """Of Lazy-DP-TS it has the law: see test_lazy_posterior.py."""
    monkeypatch.setattr(batch_family, "prepare", partial(batch_family.prepare, at_once=False))
    setup = late(name, 1, 0, horizon=3000).setups[0]
    times, rows = np.array([1, 10, 777, 3000]), streams(5, 0, 4)
    blocks = [
        registry()[name].play(each, rows, times, Signal()) for each in (setup, replace(setup, feedback=Immediate()))
    ]
    assert blocks[0].regret.tobytes() == blocks[1].regret.tobytes()
    assert blocks[0].pulls.tobytes() == blocks[1].pulls.tobytes()


@EVERY
def test_every_reward_is_in_one_release_at_most_and_counted_by_then(name):
    """Of the sums that are published; DP-UCB-INT publishes means of all of them, whose account is its own."""
    setup = late(name, 20, 30, horizon=800).setups[0]
    run = Late(name, setup, streams(2, 0, 1)[0])
    run.play()
    users = [user for _, part in run.releases for user in part]
    assert len(users) == len(set(users)) > 0 and len(run.releases) > 3
    assert max(users) <= 800 - 30


@EVERY
def test_lateness_costs_memory_and_time_that_are_counted(name):
    soon, later = (late(name, batch, 0, horizon=5000).setups[0] for batch in (2, 4000))
    policy = registry()[name]
    assert policy.held(later, 1) - policy.held(soon, 1) == pytest.approx(3 * (4000 - 2))
    assert policy.cost(later) >= 1.0
