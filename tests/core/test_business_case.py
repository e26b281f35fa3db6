"""Typed rates as arms, limits as goals, and what each trust model loses."""

import math

import numpy as np
import pytest
from helpers import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from bandit_core import Experiment, InputError
from bandit_core.simulation.results import LineResult, Result, interval
from bandit_core.studies.business_case import costs, goal, read_lifts, typed_arms
from bandit_core.studies.goal_search import Goal
from bandit_core.studies.tradeoff import blind_regret


@pytest.mark.parametrize(
    ("text", "lifts"),
    [("5", [5]), ("20, 50", [20, 50]), ("5%, -3 %", [5, -3]), ("1,5; 2,5", [1.5, 2.5]), ("−2", [-2]), ("3\n2", [3, 2])],
)
def test_lifts_as_people_type_them(text, lifts):
    assert read_lifts(text) == lifts


@pytest.mark.parametrize("text", ["", " , ", "ten", "5, x", "inf", "nan", ",".join(["1"] * 100)])
def test_what_is_no_lift_is_told(text):
    with pytest.raises(InputError, match="lifts"):
        read_lifts(text)


@pytest.mark.parametrize(("number", "said"), [(0, "this is empty;"), (100, "100:")])
def test_too_few_or_too_many_lifts_say_what_to_write(number, said):
    with pytest.raises(InputError, match=f"^lifts: {said} write 1 to 99 lifts, such as 20, 50$"):
        read_lifts(", ".join(["5"] * number))


def test_percent_of_the_baseline_and_plain_amounts():
    assert [arm.mean for arm in typed_arms(10, [0.2, -0.5], True, (0, 100))] == pytest.approx([0.1, 0.12, 0.05])
    assert [arm.mean for arm in typed_arms(10, [20, -5], False, (0, 100))] == pytest.approx([0.1, 0.3, 0.05])
    with refused("lifts[0]", value="100%") as issues:
        typed_arms(60, [1.0], True, (0, 100))
    assert issues[0].allowed == "must give a mean between 0 and 100; this gives 120"
    with refused("limits", value=[5, 5]):
        typed_arms(1, [0.1], True, (5, 5))


def test_limits_in_the_askers_unit_become_goals_for_rewards_between_0_and_1():
    assert goal("extra", 30, 10, 20) == Goal("extra", 3, 1) and goal("regret", 30, 10, 20) == Goal("regret", 3, 1)
    assert goal("price", 2, 10, 20).limit == 2 and goal("percent", 5, 10, 20) == Goal("percent", 5, 1)


def _result(free, private) -> Result:
    lines = [{"policy": "ucb"}, {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1.0}}]
    arms = [{"kind": "bernoulli", "mean": 0.3}, {"kind": "bernoulli", "mean": 0.6}]
    experiment = Experiment.model_validate({"arms": arms, "lines": lines, "horizon": 100, "trials": len(free)})
    done = [
        LineResult(np.arange(len(ends)), np.array(ends, float)[:, None], np.zeros((len(ends), 1)), np.zeros((1, 2)))
        for ends in (free, private)
    ]
    return Result(experiment, np.array([100]), tuple(done))


def test_costs_are_paired_differences_in_the_visitors_unit():
    base, other = np.array([3.0, 5, 4, 6]), np.array([7.0, 8, 9, 9])
    free, local = costs(_result(base, other), scale=5.0)
    differences = 5 * (other - base)
    assert free.lost.value == pytest.approx(5 * base.mean()) and math.isnan(free.extra.value)
    assert local.extra.value == pytest.approx(differences.mean())
    assert local.extra.stderr == pytest.approx(differences.std(ddof=1) / 2)
    assert local.price.value == pytest.approx(other.mean() / base.mean())


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)), min_size=1, max_size=12),
    st.floats(0.01, 1e4),
)
def test_privacy_costs_nothing_that_can_be_shown_where_the_interval_holds_0(pairs, scale):
    base, other = (np.array(values) for values in zip(*pairs, strict=True))
    _, private = costs(_result(base, other), scale)
    if len(pairs) == 1:
        assert private.price_of_privacy == "open"
        return
    low, high = interval(other - base)
    assert private.extra[2:] == (scale * low, scale * high)  # what the summary draws
    message = "more" if low > 0 else "less" if high < 0 else "open"
    assert private.price_of_privacy == message


@pytest.mark.parametrize(
    ("ends", "learned"),
    [((15, 15.0001), "nothing"), ((20, 21), "nothing"), ((5, 24), "nothing"), ((14, 14.1), "little"), ((3, 4), "much")],
)
def test_no_better_than_random_is_what_cannot_be_told_to_be_better(ends, learned):
    """Choosing at random loses 15 here: 100 users, mean gap 0.15."""
    _, private = costs(_result((1, 1), ends))
    assert blind_regret(_result((1, 1), ends).experiment) == pytest.approx(15)
    assert private.learned(15.0) == learned
