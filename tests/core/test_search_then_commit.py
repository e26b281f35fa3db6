"""Searches as lines of an experiment: the runs of a plain reference, and those that `decide` times."""

from functools import partial

import numpy as np
import pytest
from helpers import memory
from runs import coins, one_line

from bandit_core import decide, simulate
from bandit_core.experiments.catalogue import line_bounds
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal
from bandit_core.policies import registry
from bandit_core.policies.stopping import stopping_policies
from bandit_core.studies.best_arm import decision_table, searches_of, stopping, stopping_lines

NAMES = [name for name, policy in registry().items() if policy.stops]
EVERY = pytest.mark.parametrize("name", NAMES)


experiment_of = partial(one_line, epsilon=2.0, horizon=3000, trials=4, seed=3)


def test_they_are_those_that_are_not_in_the_registry_anyway():
    assert sorted([*NAMES, "dp-tt", "se", "ldp-se", "dp-se"]) == sorted(stopping_policies())
    for name in NAMES:
        assert registry()[name].privacy == stopping_policies()[name].privacy


@EVERY
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


@EVERY
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


@EVERY
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
