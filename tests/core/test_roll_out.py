"""Users until a decision: the same numbers as of the studies that it is made of."""

import numpy as np
import pytest

from bandit_core import InputError, sample_size, stopping, stopping_policies, time_bounds
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal
from bandit_core.simulation.store import Store
from bandit_core.spec import own_data
from bandit_core.spec.budgets import LARGEST
from bandit_core.spec.rewards import Bernoulli, TwoPoint
from bandit_core.studies.best_arm import CAP, RollOutQuestion, RollOutStudy, StoppingSpec, roll_outs
from bandit_core.theory import best_arm

MEANS = (0.2, 0.5, 0.35)
ARMS = tuple(Bernoulli(mean=mean) for mean in MEANS)
USERS = 2001


def question(**fields):
    return RollOutQuestion(**{"arms": ARMS, "users": USERS, "epsilons": (("local", 1.0), ("central", 2.0)),
                              "trials": 120, **fields})  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    return roll_outs(question(), store=Store(None, 2**24))


def test_a_test_takes_what_the_power_calculation_says(rows):
    for row in rows:
        size = sample_size(0.35, 0.15, 0.05, 0.8, row.privacy, row.epsilon, options=3, goal="best")
        assert row.test_users == 3 * size.users_per_option
    assert [(row.privacy, row.epsilon) for row in rows] == [("none", None), ("local", 1.0), ("central", 2.0)]


def test_times_are_those_of_the_quickest_policy_that_stops(rows):
    for row in rows:
        names = [name for name, policy in stopping_policies().items() if policy.privacy == row.privacy]
        asked = {"arms": ARMS, "epsilon": row.epsilon, "trials": 120}
        budgets = [(name, row.epsilon) for name in names] + [("dp-tt", LARGEST)] * (row.privacy == "none")
        every = stopping([StoppingSpec.of(policy=name, cap=CAP, **{**asked, "epsilon": at}) for name, at in budgets])
        best = min(every, key=lambda result: result.mean_users)
        assert row.times.spec.policy == best.spec.policy and len(names) > 1
        np.testing.assert_array_equal(row.times.users, best.users)
        assert row.bound.users == max(each.users for each in time_bounds(ARMS, 0.05, row.privacy, row.epsilon))
        assert row.bound.users <= row.times.mean_users


def test_a_policy_without_a_heuristic_keeps_its_proved_rule():
    rules = {spec.policy: spec.rule for spec in question(rule="heuristic").specs(USERS)}
    assert rules == {name: "heuristic" if "heuristic" in policy.rules else "proved"
                     for name, policy in stopping_policies().items()}  # fmt: skip


def test_the_method_s_share_is_that_of_the_same_policy_with_an_infinite_budget(rows):
    plain, local, central = rows
    assert plain.noiseless is None
    for row in (local, central):
        setup = row.times.spec.entry.without_noise(row.times.spec.setup)
        assert setup.epsilon == float("inf")
        outcome = row.times.spec.entry.play(setup, streams(0, 0, 120), Signal())
        np.testing.assert_array_equal(row.noiseless, outcome.users)
        assert row.noiseless.mean() < row.times.users.mean()
    np.testing.assert_array_equal(
        local.noiseless, plain.times.users
    )  # Top-Two on bits is Top-Two at epsilon = infinity


@pytest.mark.parametrize("means", [(0.02, 0.03), (0.2, 0.3, 0.5), (0.5, 0.45), (0.9, 0.8)])
def test_the_quickest_heuristic_is_never_slower_than_the_quickest_proved_rule(means):
    arms = tuple(Bernoulli(mean=mean) for mean in means)
    for epsilon in (0.01, 0.3, 3.0):
        users = {}
        for rule in ("proved", "heuristic"):
            asked = question(arms=arms, rule=rule, trials=60, epsilons=(("local", epsilon), ("central", epsilon)))
            specs = asked.specs(CAP)
            for spec, result in zip(specs, stopping(specs, jobs=1), strict=True):
                users.setdefault((rule, spec.entry.privacy), []).append(result.mean_users)
        for privacy in ("none", "local", "central"):
            assert min(users["heuristic", privacy]) <= min(users["proved", privacy]), (epsilon, privacy)


def test_what_was_uploaded_is_not_remembered_by_the_process():
    uploaded = question(arms=(Bernoulli(mean=0.123), Bernoulli(mean=0.777)), users=50, trials=5)
    before = best_arm._time.cache_info()  # private: what a process remembers
    with own_data.held(Store(None, 2**24)):
        (plain, *_) = roll_outs(uploaded)
    assert best_arm._time.cache_info() == before and plain.bound is not None


def test_options_that_are_equally_good_are_seen_beforehand():
    for privacy in ("none", "local", "central"):
        assert question(arms=(*ARMS, ARMS[1])).effect(privacy) == 0
        assert question().effect(privacy) == pytest.approx(0.15)
    zero = question(arms=(Bernoulli(mean=0.0), Bernoulli(mean=1.0)), users=10, trials=3)
    assert all(size.users_per_option >= 1 for size in zero.sizes)


def test_with_many_users_no_privacy_is_as_quick_as_a_curator():
    arms = (Bernoulli(mean=0.031), Bernoulli(mean=0.03131))
    plain, central = roll_outs(question(arms=arms, epsilons=(("central", 4.0),)), store=Store(None, 2**24))
    assert plain.times.spec.policy == "dp-tt" and plain.times.mean_users < 1.05 * central.times.mean_users
    (alone,) = stopping([StoppingSpec.of(arms=arms, policy="top-two", trials=120, cap=CAP)])
    assert alone.mean_users > central.times.mean_users


def test_a_zone_is_the_same_for_a_test_of_cut_rewards():
    """Cut to the lower half, bits pay twice as often, and so far apart two options count as equal, too."""
    halves = tuple(TwoPoint(low=0.0, high=0.5, p_high=mean) for mean in MEANS)
    whole, cut = (roll_outs(question(arms=arms, clip=clip, zone=zone), store=Store(None, 2**24))
                  for arms, clip, zone in ((ARMS, None, 0.2), (halves, (0.0, 0.5), 0.1)))  # fmt: skip
    for mine, theirs in zip(whole[1:], cut[1:], strict=True):
        np.testing.assert_array_equal(mine.times.users, theirs.times.users)
        np.testing.assert_array_equal(mine.times.wrong, theirs.times.wrong)
        assert mine.test_users == theirs.test_users and mine.bound is None


def test_progress_rises_and_nothing_of_a_search_is_stored():
    study, message = RollOutStudy(question(trials=30), Store(None, 2**24)), []
    assert study.result() is None and study.missing_seconds > 0 and study.steps > 0
    study.run(1, lambda each: message.append(each.fraction))
    assert message == sorted(message) and 0.8 < message[-2] < 1 and study.finished and not study.kept


def test_limits_hold(monkeypatch):
    monkeypatch.setenv("LAB_MAX_STEPS", "1000")
    with pytest.raises(InputError, match="steps"):
        RollOutStudy(question())


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 20.0])
def test_a_curator_is_never_slower_than_nobody_at_the_same_budget(epsilon):
    asked = question(trials=100, epsilons=(("local", epsilon), ("central", epsilon)))
    _, local, central = roll_outs(asked, store=Store(None, 2**24))
    assert central.times.mean_users <= local.times.mean_users
    assert central.test_users <= local.test_users
    assert local.times.spec.entry.privacy == "local"
    if central.times.spec.entry.privacy == "local":
        np.testing.assert_array_equal(central.times.users, local.times.users)
    assert {level for level, spec in zip(asked.levels, asked.specs(CAP), strict=True)
            if spec.entry.privacy == "local"} == {"local", "central"}  # fmt: skip
