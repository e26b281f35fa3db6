"""How long tests take: weeks and advice, grids of plans, several tests at once, critical values."""

import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers import delta_by_hand, refused
from scipy import optimize, stats

from bandit_core import cli, price
from bandit_core.simulation.results import Estimate
from bandit_core.simulation.store import Store
from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies import price as prices
from bandit_core.studies.best_arm import RollOutQuestion, RollOutStudy
from bandit_core.studies.production import parts
from bandit_core.theory.power import (
    EVERY_TRUST,
    TestPlan,
    _integrated_boundaries,
    critical_value,
    crossings,
    design_of,
    power_table,
    sample_size,
)

# ---------------------------------------------------------------------------------------------------------------------
# Weeks of a test, and the advice that follows: against independent formulas, and over a grid.


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
    plain, *private = prices.rows_of(prices.price_question(**SIGNUPS, epsilon=[1, 2]))
    local, central = private[:2], private[2:]
    ratio = ((critical_value(options=3, sides=1) + ALL_BEATEN) / (1.959964 + 0.841621)) ** 2  # Hsu's test
    assert [row.test_users / 40_000 for row in (plain, *local)] == pytest.approx([ratio * each for each in alone], 2e-3)
    assert all(1 < row.test_users / plain.test_users < 1.01 for row in central)
    critical = dunnett_by_hand(3)
    beats = [weeks_by_hand(0.031, rates[1], 40_000, 3, epsilon, critical) for epsilon in (None, 1.0, 2.0)]
    assert [row.lift_users / 40_000 for row in (plain, *local)] == pytest.approx(beats, rel=2e-3)


def test_differences_that_do_not_matter_make_the_test_as_short_as_that_against_the_rest():
    exact, ignored = (prices.rows_of(prices.price_question(**SIGNUPS, epsilon=[1], zone=zone)) for zone in (0, 8))
    for before, after in zip(exact, ignored, strict=True):
        assert before.lift_users == after.lift_users < after.test_users < before.test_users
    near, alone = (
        RollOutStudy(
            replace(prices.price_question(**SIGNUPS, epsilon=[1], zone=zone), trials=60).roll_out(1.0),
            Store(None, 2**26),
        )
        for zone in (8, 0)
    )
    for mine, before in zip(near.run(), alone.run(), strict=True):
        assert mine.times.quantile(0.5) < 0.5 * before.times.quantile(0.5)
        assert mine.bound is None and before.bound is not None and mine.times.wrong_limits()[0] <= 0.05
    everything = prices.rows_of(prices.price_question(**SIGNUPS, epsilon=[1], zone=20))
    assert all(math.isinf(row.test_users) and math.isinf(row.lift_users) for row in everything)


@pytest.mark.parametrize(("privacy", "epsilon"), [("none", None), *itertools.product(prices.PRIVATE, (0.2, 1.0, 5.0))])
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
        question = prices.price_question(baseline=baseline, lifts=lifts, weekly=weekly, weeks=weeks, epsilon=epsilon)
        rows = dressed(prices.rows_of(question), question, place)
        private, limit = rows[1:], min(question.weeks, prices.MAX_WEEKS)
        advice = prices.advise(question, rows)
        in_time = [row for row in private if row.test_users / weekly <= limit]
        kinds.add(advice.kind)
        if advice.kind == "test":
            row = advice.row
            users = row.test_users
            assert users / weekly <= limit
            assert prices.PRIVATE.index(row.privacy) == min(prices.PRIVATE.index(each.privacy) for each in in_time)
            assert row.epsilon == min(each.epsilon for each in in_time if each.privacy == row.privacy)
            assert prices.weeks_words(users / weekly) in advice.words and row.who in advice.words
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
    question = prices.price_question(**{**SIGNUPS, "weeks": 1}, epsilon=[1])
    assert prices.advise(question, prices.rows_of(question)).kind == "open"


@pytest.mark.parametrize("loss", [0.2, 1.4])
def test_advice_speaks_of_the_budgets_that_were_simulated_beside_others_that_were_not(loss):
    question = prices.price_question(**{**SIGNUPS, "weeks": 1}, epsilon=[0.5, 1])
    there = Estimate(question.keep * loss, 0.01)
    rows = [row if row.epsilon == 0.5 else replace(row, method="M", loss=there) for row in prices.rows_of(question)]
    advice = prices.advise(question, [replace(rows[0], loss=Estimate(0.0, 0.0)), *rows[1:]])
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
    assert prices.weeks_words(weeks) == message


def test_epsilons_from_text():
    assert prices.read_epsilons("2, 1,1") == (1.0, 2.0)
    for text in ("", "1,x", "0", "11", "nan", ",".join(["1"] * 9)):
        with refused("epsilon", value=text):
            prices.read_epsilons(text)


@pytest.fixture(scope="module")
def clinic() -> prices.Price:
    """Two arms, 2,000 patients."""
    asked = {"baseline": 0.5, "lifts": [30], "weekly": 40, "weeks": 50, "epsilon": [1, 2]}
    found = prices.PriceStudy(prices.price_question(**asked), Store(None, 2**26)).run()
    assert found is not None
    return found


def test_a_clinic_is_answered_in_losses_users_and_weeks(clinic):
    table = clinic.table
    assert tuple(table) == prices.COLUMNS
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
    often = prices.PriceStudy(prices.price_question(**asked, visits=3, batch=17), Store(None, 2**26)).run()
    assert often is not None and all(row.method for row in often.rows)
    for privacy in prices.PRIVATE:
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


# ---------------------------------------------------------------------------------------------------------------------
# What a plan says, against brute force on a grid of rates, budgets and trusts: enumerated answers, exact binomials, and
# a plain search over numbers of users. Nothing here uses the planner's formulas.


TRUSTS = [("none", None), *itertools.product(("local", "central"), (0.1, 0.7, 1.0, 4.0))]
RATES = [(0.04, 0.004), (0.04, 0.02), (0.3, 0.1), (0.5, 0.05), (0.85, 0.1)]
TRUST = pytest.mark.parametrize(("privacy", "epsilon"), TRUSTS)


def answers(rate, privacy, epsilon):
    """(what one user adds to the mean, with which chance), every case: the reward, and whether the bit is turned."""
    if privacy != "local":
        return [(0.0, 1 - rate), (1.0, rate)]
    lie = 1 / (1 + math.exp(epsilon))
    # The two values that a 0 and a 1 must be read as for the mean to be right.
    low, high = np.linalg.solve([[1 - lie, lie], [lie, 1 - lie]], [0.0, 1.0])
    cases = [(bit, turned) for bit in (0, 1) for turned in (False, True)]
    chance = {True: lie, False: 1 - lie}
    return [(high if bit != turned else low, (rate if bit else 1 - rate) * chance[turned]) for bit, turned in cases]


def variance_of(cases):
    mean = sum(value * chance for value, chance in cases)
    return mean, sum((value - mean) ** 2 * chance for value, chance in cases)


def spread_at(n, rates, privacy, epsilon):
    """Variance of the difference of two means of n users, by enumeration; of a curator's noise by its quantiles."""
    found = [variance_of(answers(rate, privacy, epsilon)) for rate in rates]
    assert [mean for mean, _ in found] == pytest.approx(rates)
    noise = 2 * stats.laplace(scale=1 / (epsilon * n)).var() if privacy == "central" else 0.0
    return sum(variance for _, variance in found) / n + noise


def fewest(enough):
    """The smallest n with which a test is good enough; more users are never worse."""
    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@TRUST
@pytest.mark.parametrize(("rate", "effect"), RATES)
@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.95)])
def test_users_per_option_are_the_fewest_that_a_plain_search_finds(rate, effect, privacy, epsilon, alpha, power):
    normal = stats.norm()
    shift = normal.ppf(1 - alpha / 2) + normal.ppf(power)
    plan = sample_size(rate, effect, alpha, power, privacy, epsilon)
    n = fewest(lambda n: shift * math.sqrt(spread_at(n, (rate, rate + effect), privacy, epsilon)) <= effect)
    assert plan.users_per_option == n


def exact_power(n, rate, effect, alpha, privacy, epsilon):
    """Chance that the difference of means exceeds its quantile: every pair of counts, and the noise in closed form."""
    bar = stats.norm.ppf(1 - alpha / 2) * math.sqrt(spread_at(n, (rate, rate + effect), privacy, epsilon))
    shares = [rate, rate + effect]
    scale = 1.0
    if privacy == "local":
        lie = 1 / (1 + math.exp(epsilon))
        shares, scale = [lie + (1 - 2 * lie) * share for share in shares], 1 - 2 * lie
    counts = np.arange(n + 1)
    one, other = (stats.binom.pmf(counts, n, share) for share in shares)
    kept = np.ix_(one > 1e-12, other > 1e-12)
    apart = bar - ((counts[None, :] - counts[:, None]) / (n * scale))[kept]  # what noise must add
    chance = (apart < 0).astype(float)
    if privacy == "central":  # the difference of two Laplace variables of scale b: (1/2 + x/(4b)) e^(-x/b) beyond x
        x = np.abs(apart) * epsilon * n
        tail = (0.5 + x / 4) * np.exp(-x)
        chance = np.where(apart > 0, tail, 1 - tail)
    return float(np.sum(np.outer(one, other)[kept] * chance))


@pytest.mark.parametrize(
    ("rate", "effect", "privacy", "epsilon"),
    [
        (rate, effect, privacy, epsilon)
        for (rate, effect), (privacy, epsilon) in itertools.product(RATES, TRUSTS)
        if sample_size(rate, effect, privacy=privacy, epsilon=epsilon).users_per_option <= 2500
    ],
)
def test_the_planned_test_has_its_power_by_exact_binomials(rate, effect, privacy, epsilon):
    """Within 2 %, by which binomial means are not normal; within 5 % where a curator's noise outweighs the sampling."""
    n = sample_size(rate, effect, 0.05, 0.8, privacy, epsilon).users_per_option
    sampling = spread_at(n, (rate, rate + effect), "none", None) if privacy == "central" else 1.0
    normal = privacy != "central" or spread_at(n, (rate, rate + effect), privacy, epsilon) < 1.5 * sampling
    assert exact_power(n, rate, effect, 0.05, privacy, epsilon) == pytest.approx(0.8, abs=0.02 if normal else 0.05)


@TRUST
@pytest.mark.parametrize("rates", [(0.05, 0.044, 0.04), (0.2, 0.5, 0.35), (0.95, 0.9, 0.5, 0.1), (0.999, 0.99, 0.98)])
def test_the_plan_of_several_options_is_that_of_the_hardest_pair(rates, privacy, epsilon):
    """Every option against the best one: the second best needs most users, and every option gets as many."""
    asked = () if epsilon is None else ((privacy, epsilon),)
    question = RollOutQuestion(arms=tuple(Bernoulli(mean=rate) for rate in rates), users=1000, epsilons=asked, trials=2)
    best = max(rates)
    alike = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)  # what the others share: the best option's mean

    def all_beaten(lead):
        return np.mean(stats.norm.cdf(math.sqrt(2) * lead + alike) ** (len(rates) - 1)) - question.power

    shift = critical_value(question.delta, len(rates), 1) + optimize.brentq(all_beaten, 0, 9)

    def enough(n, rate):
        return shift * math.sqrt(spread_at(n, (rate, best), privacy, epsilon)) <= best - rate

    hardest = max(fewest(lambda n, rate=rate: enough(n, rate)) for rate in rates if rate < best)
    size = next(size for size in question.sizes if (size.privacy, size.epsilon) == (privacy, epsilon))
    assert size.users_per_option == pytest.approx(hardest, rel=1e-4, abs=1)


# ---------------------------------------------------------------------------------------------------------------------
# A person in several tests: what each may spend, against composition by hand.


def test_without_delta_the_budget_is_divided():
    local, central = parts(0.5, 4, 5)
    assert (local.test, local.answer) == pytest.approx((0.125, 0.025)) == (central.test, central.answer)


@pytest.mark.parametrize(("tests", "visits"), [(10, 1), (5, 2), (2, 3)])
def test_with_delta_all_answers_together_keep_it_and_no_more_would(tests, visits):
    local, central = parts(1.0, tests, visits, 1e-3)
    for part, times in ((local.answer, tests * visits), (central.test, tests)):
        assert part >= 1.0 / times
        assert delta_by_hand(1.0, part, times) <= 1e-3 * (1 + 1e-9) < delta_by_hand(1.0, 1.001 * part, times)
    assert local.test == pytest.approx(visits * local.answer) and central.answer == pytest.approx(central.test / visits)


def test_the_command_prints_the_parts(capsys):
    assert cli.main(["budget", "--epsilon", "2", "--tests", "4", "--visits", "5"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "trust,test_epsilon,answer_epsilon", "local,0.5,0.1", "central,0.5,0.1",
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Critical values and tests with looks, against printed tables and against paths that are played.


# Jennison and Turnbull (2000, Group Sequential Methods), tables 2.1 to 2.4: two-sided level .05, power .8
PRINTED = [  # looks, Pocock's constant and its factor of users, those of O'Brien and Fleming
    (2, 2.178, 1.110, 1.977, 1.008),
    (3, 2.289, 1.166, 2.004, 1.017),
    (4, 2.361, 1.202, 2.024, 1.024),
    (5, 2.413, 1.229, 2.040, 1.028),
    (10, 2.555, 1.301, 2.087, 1.040),
]


@pytest.mark.parametrize("count,pocock,pocock_users,fleming,fleming_users", PRINTED)
def test_the_integrals_give_the_printed_tables(count, pocock, pocock_users, fleming, fleming_users):
    times = tuple(np.arange(1, count + 1) / count)
    for boundaries, users in ((np.full(count, pocock), pocock_users), (fleming / np.sqrt(times), fleming_users)):
        assert crossings(times, boundaries).sum() == pytest.approx(0.05, abs=1e-4)
        drift = (1.959964 + 0.841621) * np.sqrt(users)
        assert crossings(times, boundaries, drift)[0].sum() == pytest.approx(0.8, abs=3e-4)


def test_boundaries_of_print():
    """Five looks by the program of Lan and DeMets (Reboussin et al. 2000), which spends on each side; and Pocock's."""
    times = tuple(np.arange(1, 6) / 5)
    each_side = [2 * (2 - 2 * stats.norm.cdf(stats.norm.ppf(1 - 0.0125) / np.sqrt(time))) for time in times]
    found = _integrated_boundaries(times, np.diff(each_side, prepend=0.0), 2)
    assert np.round(found, 4).tolist() == [4.8769, 3.3570, 2.6803, 2.2898, 2.0310]
    pocock = design_of(looks=5, spending="pocock")
    assert np.round(pocock.boundaries, 3).tolist() == [2.438, 2.427, 2.410, 2.397, 2.386]


@pytest.mark.parametrize("plan", [{}, {"options": 3}, {"options": 5, "best": True, "sides": 1}], ids=str)
@pytest.mark.parametrize("looks", [4, 5, 7, 10])
def test_half_of_the_tests_with_looks_end_before_the_planned_one(plan, looks):
    planned, early = design_of(**plan).drift(0.8), design_of(**plan, looks=looks)
    longer = (early.drift(0.8) / planned) ** 2
    average, median = early.users(early.drift(0.8))
    assert 1 < longer < 1.09 and longer * average < 0.92 and longer * median < 0.96


def test_the_best_of_several_needs_more_users_than_one_difference():
    ratios = [(design_of(options=options, best=True, sides=1).drift(0.8) / design_of(options=options).drift(0.8)) ** 2
              for options in (3, 4, 5, 10)]  # fmt: skip
    assert np.round(ratios, 2).tolist() == [1.02, 1.14, 1.21, 1.39]


def test_critical_values_of_print():
    # Dunnett 1955, one- and two-sided tables at infinitely many degrees of freedom; Hsu's are the one-sided ones
    for options, one, two in ((2, 1.64, 1.96), (3, 1.92, 2.21), (4, 2.06, 2.35), (5, 2.16, 2.44), (10, 2.42, 2.69)):
        assert critical_value(0.05, options, 1) == pytest.approx(one, abs=0.006)
        assert critical_value(0.05, options) == pytest.approx(two, abs=0.006)


PLANS = [
    {"looks": 10, "spending": "pocock", "options": options, "goal": goal}
    for options, goal in ((2, "baseline"), (5, "baseline"), (3, "best"), (5, "best"))
] + [{"looks": 5, "options": 4, "goal": goal} for goal in ("best", "baseline")]


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: "-".join(map(str, plan.values())))
def test_played_tests_keep_level_and_power(plan):
    """40,000 normal paths: no difference at all, then one option ahead of all others, which are equally good."""
    asked, random, paths = TestPlan(**plan), np.random.default_rng(5), 40_000
    looks, others, design = asked.looks, asked.options - 1, asked.test
    high, times = np.array(design.boundaries) * np.sqrt(design.times), np.array(design.times)
    shared = random.standard_normal((paths, 1, looks))
    walks = (np.sqrt(0.5 / looks) * (random.standard_normal((paths, others, looks)) + shared)).cumsum(axis=2)
    drift = design.drift(0.8)
    if asked.best:  # from the best option's side: whether it is beaten, and whether it beats all others
        alarms, found = (walks >= high).any(axis=(1, 2)), (walks.min(axis=1) + drift * times >= high).any(axis=1)
    else:
        alarms, found = (np.abs(walks) >= high).any(axis=(1, 2)), (walks[:, 0] + drift * times >= high).any(axis=1)
    assert alarms.mean() == pytest.approx(0.05, abs=0.005) and found.mean() == pytest.approx(0.8, abs=0.01)
    average, median = design.users(drift)
    assert median <= 1 and average < 1


def test_any_of_four_numbers_follows_from_the_others():
    for privacy in EVERY_TRUST:
        plan = TestPlan(privacy=privacy, epsilon=1.0, options=3, goal="best", looks=2)
        users = plan.users(0.1, 0.02)
        assert plan.chance(users, 0.1, 0.02) == pytest.approx(0.8, abs=2e-4)
        assert plan.solve("effect", users, 0.1) == pytest.approx(0.02, rel=2e-3)
        if privacy != "none":
            assert plan.solve("epsilon", users, 0.1, 0.02) == pytest.approx(1.0, rel=5e-3)
    rows = power_table(0.1, 0.02, 1.0, trusts=EVERY_TRUST, delta=1e-6).set_index("trust").users
    assert rows["none"] < rows["central"] <= rows["distributed"] * 1.001 < rows["shuffle"] < rows["local"]
