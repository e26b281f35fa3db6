"""Whole questions: a clinic, a shop and a game, against tests that are played by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from helpers import refused

from bandit_core import cli
from bandit_core.studies.price import price_question, rows_of
from bandit_core.theory.power import critical_value

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


def test_a_test_for_a_range_finds_the_best_in_its_power_on_average():
    question = price_question(baseline=0.3, lifts=[(5, 40)], weekly=1000, weeks=10, epsilon=[2])
    draw = np.random.default_rng(0)
    for row in rows_of(question):
        how = (row.test_users // 2, row.privacy, row.epsilon, critical_value(question.delta))
        shares = [found_by_hand(draw, [arm.expected for arm in arms], *how) for arms in question.draws]
        assert np.mean(shares) == pytest.approx(question.power, abs=0.02) and max(shares) - min(shares) > 0.5


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Revenue of 5,000 users, 97% of them without a purchase, in two dialects."""
    draw, folder = np.random.default_rng(3), tmp_path_factory.mktemp("shop")
    page = draw.choice(["new", "present"], 5000)
    bought = draw.random(5000) < np.where(page == "new", 0.06, 0.03)
    frame = pd.DataFrame({"variant": page, "revenue": np.where(bought, draw.lognormal(3.5, 0.8, 5000), 0).round(2)})
    frame.to_csv(folder / "a.csv", index=False)
    frame.to_csv(folder / "b.csv", index=False, sep=";", decimal=",")
    return folder, frame.groupby("variant")["revenue"]


def test_a_shop_s_file_is_one_question_in_two_dialects(shop, capsys):
    folder, revenue = shop
    asked = {"limits": (0, 100), "weekly": 5000, "weeks": 4, "epsilon": [2], "first": "new"}
    first, second = (price_question(folder / f"{name}.csv", **asked) for name in "ab")
    assert first == second and first.names == ("new", "present")
    means = revenue.mean()
    assert first.low + first.scale * first.arms[0].expected == pytest.approx(means["new"])
    spread = first.scale * np.std([[arm.expected for arm in arms] for arms in first.draws], axis=0)
    assert spread == pytest.approx((revenue.std() / np.sqrt(revenue.count()))[["new", "present"]].to_numpy(), rel=0.1)
    drawn = first.scale * np.array([[arm.expected for arm in arms] for arms in first.draws])
    lost = 20_000 * np.maximum(0, drawn[:, 1] - drawn[:, 0]).mean()
    assert first.keep == pytest.approx(lost)
    assert cli.main(["price", str(folder / "a.csv"), "--limits", "0,100", "--first", "neither"]) == cli.BAD_INPUT
    assert "present, new" in capsys.readouterr().err
    with refused("limits"):
        price_question(folder / "a.csv")
