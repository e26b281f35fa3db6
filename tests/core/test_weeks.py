"""Weeks of a test, and the advice that follows: against independent formulas, and over a grid."""

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers import refused
from scipy import stats

from bandit_core import cli, price
from bandit_core.simulation.results import Estimate
from bandit_core.simulation.store import Store
from bandit_core.studies.best_arm import RollOutStudy
from bandit_core.studies.price import (
    COLUMNS,
    MAX_WEEKS,
    PRIVATE,
    Price,
    PriceStudy,
    advise,
    price_question,
    read_epsilons,
    rows_of,
    weeks_words,
)
from bandit_core.theory.power import TestPlan, critical_value, sample_size

ALL_BEATEN = 1.16913  # x of E[Phi(sqrt(2) x + U)^2] = .8
SIGNUPS = {"baseline": 0.031, "lifts": [8, 15], "weekly": 40_000, "weeks": 26}


def weeks_by_hand(low, high, weekly, options, epsilon=None, critical=1.959964):
    """A two-proportion test of randomised bits: a bit lies with chance 1 / (1 + e^epsilon), and is read back."""
    lie = 0.0 if epsilon is None else 1 / (1 + math.exp(epsilon))
    seen = [rate * (1 - lie) + (1 - rate) * lie for rate in (low, high)]
    effect = seen[1] - seen[0]  # of the bits that arrive
    spread = sum(rate * (1 - rate) for rate in seen)
    return options * spread * ((critical + 0.841621) / effect) ** 2 / weekly


def dunnett_by_hand(options, alpha=0.05):
    """The critical value by a plain integral over the shared mean."""
    shared = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)

    def alarm(critical):
        inside = stats.norm.cdf(math.sqrt(2) * critical + shared) - stats.norm.cdf(-math.sqrt(2) * critical + shared)
        return 1 - np.mean(inside ** (options - 1))

    low, high = 1.0, 5.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if alarm(middle) > alpha else (low, middle)
    return low


def test_three_signup_pages_take_the_weeks_of_a_test_of_two_proportions():
    """8.3 weeks with a trusted aggregator, 4.6 years and a year on each device: for one pair, without a correction."""
    rates = (0.031 * 1.08, 0.031 * 1.15)
    alone = [weeks_by_hand(*rates, 40_000, 3, epsilon) for epsilon in (None, 1.0, 2.0)]
    assert alone == pytest.approx([8.3, 4.6 * 365.25 / 7, 54], rel=0.02)
    critical = dunnett_by_hand(3)
    plain, *private = rows_of(price_question(**SIGNUPS, epsilon=[1, 2]))
    local, central = private[:2], private[2:]
    ratio = ((critical_value(options=3, sides=1) + ALL_BEATEN) / (1.959964 + 0.841621)) ** 2  # Hsu's test
    assert [row.test_users / 40_000 for row in (plain, *local)] == pytest.approx([ratio * each for each in alone], 2e-3)
    assert all(1 < row.test_users / plain.test_users < 1.01 for row in central)
    critical = dunnett_by_hand(3)
    beats = [weeks_by_hand(0.031, rates[1], 40_000, 3, epsilon, critical) for epsilon in (None, 1.0, 2.0)]
    assert [row.lift_users / 40_000 for row in (plain, *local)] == pytest.approx(beats, rel=2e-3)


def test_differences_that_do_not_matter_make_the_test_as_short_as_that_against_the_rest():
    exact, ignored = (rows_of(price_question(**SIGNUPS, epsilon=[1], zone=zone)) for zone in (0, 8))
    for before, after in zip(exact, ignored, strict=True):
        assert before.lift_users == after.lift_users < after.test_users < before.test_users
    near, alone = (
        RollOutStudy(
            replace(price_question(**SIGNUPS, epsilon=[1], zone=zone), trials=60).roll_out(1.0), Store(None, 2**26)
        )
        for zone in (8, 0)
    )
    for mine, before in zip(near.run(), alone.run(), strict=True):
        assert mine.times.quantile(0.5) < 0.5 * before.times.quantile(0.5)
        assert mine.bound is None and before.bound is not None and mine.times.wrong_limits()[0] <= 0.05
    everything = rows_of(price_question(**SIGNUPS, epsilon=[1], zone=20))
    assert all(math.isinf(row.test_users) and math.isinf(row.lift_users) for row in everything)


@pytest.mark.parametrize(("privacy", "epsilon"), [("none", None), *itertools.product(PRIVATE, (0.2, 1.0, 5.0))])
@pytest.mark.parametrize(("rate", "effect", "options"), [(0.031, 0.004, 2), (0.5, 0.1, 3), (0.9, 0.05, 10)])
def test_the_smallest_lift_is_the_one_that_needs_so_many_users(privacy, epsilon, rate, effect, options):
    users = sample_size(rate, effect, 0.1, 0.9, privacy, epsilon, options).users_per_option
    plan = TestPlan(0.1, 0.9, privacy, epsilon, options)
    found = plan.solve("effect", users, rate)
    assert found <= effect and found == pytest.approx(effect, rel=2e-3 + 2 / users)
    assert math.isnan(plan.solve("effect", 0.1, rate))


GRID = list(
    itertools.product(
        (0.003, 0.031, 0.4), ([1], [8, 15], [-20], [60, 0], [0]), (100, 40_000), (1, 10, 200), ([1], [0.5, 1, 2, 4])
    )
)


def dressed(rows, question, place):
    """The rows with made-up losses, some better than keeping the first option."""
    draw = np.random.default_rng(place)
    found = []
    for row in rows:
        loss = Estimate(question.keep * draw.choice([0.2, 0.95, 1.4]) + 1e-9, question.keep * 0.03)
        found.append(replace(row, method="M", loss=loss))
    return tuple(found)


def test_the_advice_never_contradicts_its_table():
    kinds, told = set(), 0
    for place, (baseline, lifts, weekly, weeks, epsilon) in enumerate(GRID):
        question = price_question(baseline=baseline, lifts=lifts, weekly=weekly, weeks=weeks, epsilon=epsilon)
        rows = dressed(rows_of(question), question, place)
        private, limit = rows[1:], min(question.weeks, MAX_WEEKS)
        advice = advise(question, rows)
        in_time = [row for row in private if row.test_users / weekly <= limit]
        kinds.add(advice.kind)
        if advice.kind == "test":
            row = advice.row
            users = row.test_users
            assert users / weekly <= limit
            assert PRIVATE.index(row.privacy) == min(PRIVATE.index(each.privacy) for each in in_time)
            assert row.epsilon == min(each.epsilon for each in in_time if each.privacy == row.privacy)
            assert weeks_words(users / weekly) in advice.words and row.who in advice.words
            assert {*re.findall(r"ε = ([\d.]+)", advice.words)} == {f"{row.epsilon:g}"}  # every trust at the same ε
            told += "trust no one" in advice.words and row.privacy == "central"
            assert "years" not in advice.words.partition("**;")[0]
            continue
        assert not in_time
        traffic = advice.kind != "nothing" and rows[0].test_users / weekly > limit
        assert ("too few people come" in advice.words) == traffic
        best = min(private, key=lambda row: row.loss.value)
        if advice.kind == "learn":
            assert advice.row == best and best.loss.value < question.keep and best.who in advice.words
        elif advice.kind == "keep":
            assert all(row.loss.value + 2 * row.loss.stderr >= question.keep for row in private)
        else:
            assert advice.kind == "nothing" and all(math.isinf(row.test_users) for row in rows)
    assert kinds == {"test", "learn", "keep", "nothing"} and told


def test_what_was_not_simulated_is_no_advice():
    question = price_question(**{**SIGNUPS, "weeks": 1}, epsilon=[1])
    assert advise(question, rows_of(question)).kind == "open"


@pytest.mark.parametrize("loss", [0.2, 1.4])
def test_advice_speaks_of_the_budgets_that_were_simulated_beside_others_that_were_not(loss):
    question = price_question(**{**SIGNUPS, "weeks": 1}, epsilon=[0.5, 1])
    there = Estimate(question.keep * loss, 0.01)
    rows = [row if row.epsilon == 0.5 else replace(row, method="M", loss=there) for row in rows_of(question)]
    advice = advise(question, [replace(rows[0], loss=Estimate(0.0, 0.0)), *rows[1:]])
    assert "was not simulated" not in advice.words
    if loss < 1:
        assert (advice.kind, advice.row.epsilon) == ("learn", 1) and "at ε = 1, you lose" in advice.words
        assert " with M; keeping" in advice.words
    else:
        assert advice.kind == "keep" and "no private learner that was simulated clearly loses less" in advice.words


@pytest.mark.parametrize(
    ("weeks", "message"),
    [
        (0.05, "less than a day"), (0.5, "3.5 days"), (1.0, "1 week"), (9.914, "9.9 weeks"), (104, "100 weeks"),
        (238, "4.6 years"), (1e9, "over 1,000 years"),
        (math.inf, "not in practice"),
    ],
)  # fmt: skip
def test_weeks_in_words(weeks, message):
    assert weeks_words(weeks) == message


def test_epsilons_from_text():
    assert read_epsilons("2, 1,1") == (1.0, 2.0)
    for text in ("", "1,x", "0", "11", "nan", ",".join(["1"] * 9)):
        with refused("epsilon", value=text):
            read_epsilons(text)


@pytest.fixture(scope="module")
def clinic() -> Price:
    """Two arms, 2,000 patients."""
    asked = {"baseline": 0.5, "lifts": [30], "weekly": 40, "weeks": 50, "epsilon": [1, 2]}
    found = PriceStudy(price_question(**asked), Store(None, 2**26)).run()
    assert found is not None
    return found


def test_a_clinic_is_answered_in_losses_users_and_weeks(clinic):
    table = clinic.table
    assert tuple(table) == COLUMNS
    assert list(zip(table["trust"], table["epsilon"].fillna(0), strict=True)) == [
        ("none", 0), ("local", 1), ("local", 2), ("central", 1), ("central", 2)
    ]  # fmt: skip
    assert table["test_weeks"].tolist() == pytest.approx((table["test_users"] / 40).tolist())
    assert table["test_weeks"].tolist()[0] == pytest.approx(weeks_by_hand(0.5, 0.65, 40, 2), rel=0.02)
    assert (table["loss"] > 0).all() and table["extra"].isna().tolist() == [True, *[False] * 4]
    assert table["loss"][1] > table["loss"][3] and (table["looks_users_median"] <= table["looks_users_most"]).all()
    assert clinic.advice.row in clinic.rows


def test_visits_and_batches_restrict_the_learners_and_cost_more(clinic):
    asked = {"baseline": 0.5, "lifts": [30], "weekly": 40, "weeks": 50, "epsilon": [1]}
    often = PriceStudy(price_question(**asked, visits=3, batch=17), Store(None, 2**26)).run()
    assert often is not None and all(row.method for row in often.rows)
    for privacy in PRIVATE:
        once, thrice = (next(row for row in each.rows if row.privacy == privacy) for each in (clinic, often))
        assert thrice.loss.value > once.loss.value and thrice.test_users == once.test_users


def test_ten_million_users_a_day_are_planned_without_a_learner(monkeypatch):
    monkeypatch.setenv("LAB_MAX_STEPS", str(10**9))
    found = price(baseline=0.031, lifts=[1], weekly=70_000_000, weeks=10, epsilon=[1])
    assert found.table["loss"].isna().all() and found.table["test_weeks"].between(0, 10).all()
    assert found.advice.kind == "test"


def test_the_command_prints_the_same_numbers(capsys, tmp_path):
    asked = ["price", "--baseline", "50%", "--lifts", "60", "--weekly", "40", "--weeks", "5", "--epsilon", "2"]
    assert cli.main(asked) == 0
    shown = capsys.readouterr()
    found = price(baseline=0.5, lifts=[60], weekly=40, weeks=5, epsilon=[2])
    assert shown.out == found.table.to_csv(index=False)
    assert found.advice.words.replace("*", "") in shown.err
    page = tmp_path / "summary.html"
    assert cli.main([*asked, "--out", str(page)]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_file_of_a_shop_is_answered_in_its_unit_in_two_dialects(tmp_path):
    draw = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"old": draw.choice([0, 40], 400, p=[0.9, 0.1]), "new": draw.choice([0, 40], 400, p=[0.7, 0.3])}
    )
    frame["old"] += 0.5
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "b.csv", index=False, sep=";", decimal=",")
    asked = {"rows": "wide", "limits": (0, 50), "weekly": 100, "weeks": 3, "epsilon": [2]}
    first, second = (price(tmp_path / f"{name}.csv", **asked).table for name in "ab")
    pd.testing.assert_frame_equal(first, second)
    with refused("limits"):
        price(tmp_path / "a.csv", rows="wide", weekly=100)
    with refused("file"):
        price(tmp_path / "none.csv")
    at_random = 300 * float(frame["new"].mean() - frame["old"].mean()) / 2
    assert first["loss"].between(0.1 * at_random, at_random).all()
