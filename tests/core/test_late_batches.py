"""Batch policies whose rewards are counted late: a plain reference, the kernels that know no lateness, and releases."""

import numpy as np
import pytest
from batch_reference import Batches, Epochs
from heavy_reference import PLAIN, SHORT
from runs import COINS, LATENESS, UNIT, arms_pulled, looped, one_line, same_law

from bandit_core.kernels.streams import streams
from bandit_core.model import Signal
from bandit_core.policies import registry

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
    return one_line(name, arms, 3.0, horizon, batch, delay, **SOONER.get(name, {})).setups[0]


@EVERY
@pytest.mark.parametrize(("batch", "delay"), LATENESS)
@pytest.mark.parametrize("arms", [COINS, UNIT], ids=["coins", "unit"])
def test_the_arms_of_the_reference(name, batch, delay, arms):
    setup = looped(late(name, batch, delay, arms))
    call, rows = registry()[name].prepare(setup), streams(3, 0, 2)
    pulled = arms_pulled(call, rows, setup.horizon)
    for trial in range(2):
        np.testing.assert_array_equal(pulled[trial], Batches(name, setup, rows[trial]).play())


ELIMINATIONS = [
    *[(name, {"beta": 0.5, "growth": growth}) for name in ("se", "ldp-se", "dp-se") for growth in (2, 5)],
    ("dp-se", {"beta": 0.9}),
]


@pytest.mark.parametrize(("batch", "delay"), LATENESS)
@pytest.mark.parametrize(("name", "params"), ELIMINATIONS)
def test_the_arms_of_the_reference_of_elimination(name, params, batch, delay):
    setup, rows = looped(one_line(name, UNIT, 3.0, 3500, batch, delay, **params).setups[0]), streams(3, 0, 2)
    pulled = arms_pulled(registry()[name].prepare(setup), rows, setup.horizon)
    for trial in range(2):
        run = Epochs(name, setup, rows[trial])
        np.testing.assert_array_equal(pulled[trial], run.play())
        users = [user for _, part in run.releases for user in part]
        assert len(users) == len(set(users)) > 0


LAWS = [
    *(
        (name, COINS, {"beta": 0.9, "growth": 2})
        for name in ("se", "ldp-se", "dist-dp-se", "dist-rdp-se", "shuffle-se")
    ),
    ("dp-se", COINS, {"beta": 0.9}),
    *((name, PLAIN, {"v": 0.8, "beta": 0.01, **params}) for name, params in SHORT.items()),
]


@pytest.mark.parametrize(("name", "arms", "params"), LAWS)
def test_without_lateness_elimination_has_the_law_of_the_plain_kernel(name, arms, params):
    """Other draws (the plain kernels draw a batch by its sum), the same distribution."""
    plain = one_line(name, arms, 3.0, 4000, **params).setups[0]
    play = registry()[name].play
    pulls = [
        play(each, streams(seed, 0, 400), np.array([4000]), Signal()).pulls
        for seed, each in ((1, plain), (2, looped(plain)))
    ]
    assert pulls[0].std() > 0
    assert same_law(*pulls) > 1e-3


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
