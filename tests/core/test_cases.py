"""Whole questions: a clinic, a shop and a game, against tests that are played by hand."""

import math

import numpy as np
import pytest

from bandit_core.studies.price import price_question, rows_of
from bandit_core.theory.critical_values import critical_value

PLAYED = 4000


def found_by_hand(draw, means, each, privacy, epsilon, critical):
    """Share of played tests in which the last option beats the first one by so many standard errors."""
    if privacy == "local":
        lie = 1 / (1 + math.exp(epsilon))
        bits = draw.binomial(each, [mean * (1 - lie) + (1 - mean) * lie for mean in means], (PLAYED, 2)) / each
        seen, spread = (bits - lie) / (1 - 2 * lie), bits * (1 - bits) / (1 - 2 * lie) ** 2 / each
    else:
        noise = draw.laplace(0, 1 / epsilon, (PLAYED, 2)) if privacy == "central" else 0.0
        seen = (draw.binomial(each, means, (PLAYED, 2)) + noise) / each
        inside = np.clip(seen, 0, 1)
        spread = inside * (1 - inside) / each + (2 / (epsilon * each) ** 2 if privacy == "central" else 0.0)
    return float(np.mean(seen[:, 1] - seen[:, 0] > critical * np.sqrt(spread.sum(axis=1))))


@pytest.mark.parametrize(
    "asked",
    [
        {"baseline": 0.5, "lifts": [20], "weekly": 40, "weeks": 50},  # a clinic, 2,000 patients
        {"baseline": 0.031, "lifts": [1], "weekly": 70_000_000, "weeks": 10},  # a game, 10 million users a day
    ],
)
def test_planned_tests_have_their_size_and_power_when_they_are_played(asked):
    question, draw = price_question(**asked, epsilon=[1]), np.random.default_rng(0)
    means = question.roll_out().means
    for row in rows_of(question):
        how = (row.test_users // 2, row.privacy, row.epsilon, critical_value(question.delta))
        assert found_by_hand(draw, means, *how) == pytest.approx(question.power, abs=0.03)
        assert found_by_hand(draw, (means[0],) * 2, *how) == pytest.approx(question.delta / 2, abs=0.012)
