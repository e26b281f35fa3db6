"""Typed rates as arms, the question over trust models, and what each model loses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bandit_core import InvalidInput, simulate
from bandit_core.arms import Bernoulli, Empirical
from bandit_core.epsilons import Discrete
from bandit_core.own_question import costs, question, read_lifts, typed_arms
from bandit_core.store import Store


@pytest.mark.parametrize(
    ("text", "lifts"),
    [("5", [5]), ("20, 50", [20, 50]), ("5%, -3 %", [5, -3]), ("1,5; 2,5", [1.5, 2.5]), ("−2", [-2]), ("1\n2", [1, 2])],
)
def test_lifts_as_people_type_them(text, lifts):
    assert read_lifts(text) == lifts


@pytest.mark.parametrize("text", ["", " , ", "ten", "5, x", "inf", "nan", ",".join(["1"] * 100)])
def test_what_is_no_lift_is_told(text):
    with pytest.raises(InvalidInput, match="lifts"):
        read_lifts(text)


def test_percent_of_the_baseline_and_plain_amounts():
    assert [arm.mean for arm in typed_arms(10, [20, -50], True, (0, 100))] == pytest.approx([0.1, 0.12, 0.05])
    assert [arm.mean for arm in typed_arms(10, [20, -5], False, (0, 100))] == pytest.approx([0.1, 0.3, 0.05])
    with pytest.raises(InvalidInput, match=r"option 1.*between 0 and 100"):
        typed_arms(60, [100], True, (0, 100))
    with pytest.raises(InvalidInput, match="limits"):
        typed_arms(1, [10], True, (5, 5))


def test_every_trust_model_is_asked_at_one_budget():
    asked = question([Bernoulli(mean=0.1), Bernoulli(mean=0.2)], 1000, 0.7)
    assert [line.entry.privacy for line in asked.lines] == ["none", "local", "central"]
    assert [line.epsilon.value for line in asked.lines[1:]] == [0.7, 0.7]
    amounts = question([Empirical(values=(0.1, 0.4, 0.9)), Empirical(values=(0.2, 0.3))], 1000, 0.7)
    assert [line.entry.privacy for line in amounts.lines][:2] == ["none", "local"]


def test_models_that_need_one_budget_are_left_out_where_users_differ():
    law = Discrete(values=(0.5, 2), probs=(0.5, 0.5))
    asked = question([Bernoulli(mean=0.1), Bernoulli(mean=0.2)], 1000, law)
    assert "local" in [line.entry.privacy for line in asked.lines]
    assert all(line.epsilon is None or line.epsilon == law for line in asked.lines)
    assert isinstance(asked.lines[1].params["eps_min"], float)  # found without the process-wide memory


def test_costs_are_paired_differences_in_the_visitors_unit():
    asked = question([Bernoulli(mean=0.3), Bernoulli(mean=0.6)], 2000, 1.0, trials=20)
    result = simulate(asked, jobs=1, store=Store(None, 2**20))
    free, local, *_ = costs(result, scale=5.0)
    base, other = (line.regret[:, -1] for line in result.lines[:2])
    differences = 5 * (other - base)
    assert free.lost == pytest.approx(5 * base.mean()) and math.isnan(free.extra)
    assert local.extra == pytest.approx(differences.mean())
    assert local.extra_stderr == pytest.approx(differences.std(ddof=1) / math.sqrt(20))
    assert local.price == pytest.approx(other.mean() / base.mean())
    assert local.certain == bool(np.greater(differences.mean(), 2 * local.extra_stderr))
    assert not free.certain
