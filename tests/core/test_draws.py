"""Means that are not known exactly: how they are typed, drawn and averaged over, against independent formulas."""

import math
from dataclasses import replace

import numpy as np
import pytest
from helpers import memory, refused
from scipy import stats

from bandit_core import cli, price, simulate
from bandit_core.data.observations import Option
from bandit_core.simulation.questions import Study, over_draws
from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies.best_arm import RollOutQuestion, roll_outs
from bandit_core.studies.best_method import candidates
from bandit_core.studies.business_case import (
    DRAWS,
    Belief,
    drawn_means,
    observed,
    observed_arms,
    ranges_of,
    read_lifts,
    typed_arms,
    typed_options,
    unknown_share,
)
from bandit_core.studies.price import PriceStudy, price_question, rows_of, unknown_words
from bandit_core.theory.power import TestPlan, assured_size, sample_size

CASE = {"baseline": 0.5, "weekly": 40, "weeks": 10, "epsilon": [2]}


@pytest.mark.parametrize(
    ("text", "lifts"),
    [
        ("8-15%", [(8, 15)]), ("5, 8 – 15 %, ?", [5, (8, 15), "?"]), ("-5--1", [(-5, -1)]), ("-5 to 2.5", [(-5, 2.5)]),
        ("1,5-2,5; 3", [(1.5, 2.5), 3]), ("8.5..9", [(8.5, 9)]), ("7-7", [(7, 7)]),
    ],
)  # fmt: skip
def test_ranges_as_people_type_them(text, lifts):
    assert read_lifts(text) == lifts


def test_draws_fill_a_range_evenly_and_exact_lifts_need_none():
    assert typed_options(10, [0.2, (0.5, 0.5)], True, (0, 100)).draws == ()
    assert typed_options(10, [0.2, (0.5, 0.5)], True, (0, 100)).arms == typed_arms(10, [0.2, 0.5], True, (0, 100))
    found = typed_options(10, [(0.1, 0.5), "?"], True, (0, 100))
    means = np.array([[arm.mean for arm in arms] for arms in found.draws])
    assert means.shape == (DRAWS, 3) and set(means[:, 0]) == {0.1}
    for place, (low, high) in ((1, (0.11, 0.15)), (2, (0.08, 0.12))):
        assert ranges_of(found.beliefs)[place] == pytest.approx((low, high))
        np.testing.assert_allclose(np.sort(means[:, place]), low + (high - low) * (np.arange(DRAWS) + 0.5) / DRAWS)
        assert found.arms[place].mean == pytest.approx((low + high) / 2)
    assert ranges_of(typed_options(10, ["?"], False, (0, 100)).beliefs)[1] == pytest.approx((0.08, 0.12))
    with refused("lifts[0]"):
        typed_options(60, [(0.1, 1.0)], True, (0, 100))
    with refused("lifts[0]"):
        typed_options(10, [(0.5, 0.1)], True, (0, 100))


def test_draws_of_an_upload_have_the_mean_and_the_error_of_its_data():
    draw = np.random.default_rng(0)
    options = [
        Option.of("rate", draw.binomial(1, 0.3, 400)),
        Option.of("amount", np.where(draw.random(500) < 0.9, 0.0, draw.lognormal(3, 1, 500))),
        Option.of("two", draw.choice([-2.0, 8.0], 300)),
    ]
    arms, low, high, _ = observed_arms(options, (-5.0, 200.0))
    draws = observed(options, arms, high - low).draws
    means = low + (high - low) * np.array([[arm.expected for arm in row] for row in draws])
    for place, option in enumerate(options):
        error = option.sd / math.sqrt(option.count)
        assert means[:, place].mean() == pytest.approx(option.mean, abs=0.1 * error)
        assert means[:, place].std() == pytest.approx(error, rel=0.1)
        inside = (means[:, place] >= option.interval[0]) & (means[:, place] <= option.interval[1])
        assert inside.mean() >= 0.9
    kept = [set(np.round(low + (high - low) * row[1].atoms[0], 6)) for row in draws]
    assert all(values == set(np.round(options[1].values, 6)) for values in kept)
    assert observed([Option.of("one", np.ones(1) * 3), options[0]], arms[:2], 1.0).draws == ()


@pytest.mark.parametrize(("privacy", "epsilon"), [("none", None), ("local", 1.0), ("central", 0.3)])
def test_a_test_finds_the_difference_with_its_power_on_average(privacy, epsilon):
    one = assured_size([0.1], [0.02], privacy=privacy, epsilon=epsilon, options=3)
    assert one.users_per_option == pytest.approx(
        sample_size(0.1, 0.02, 0.05, 0.8, privacy, epsilon, 3).users_per_option, abs=1
    )
    effects = np.linspace(0.001, 0.05, 30)
    size = assured_size([0.1] * 30, effects.tolist(), privacy=privacy, epsilon=epsilon)
    n, found = size.users_per_option, []
    for effect in effects:
        seen = sum(
            mean * (1 - mean) if privacy != "local" else (1 / math.tanh(epsilon / 2)) ** 2 / 4 - (mean - 0.5) ** 2
            for mean in (0.1, 0.1 + effect)
        )
        noise = 4 / (epsilon * n) ** 2 if privacy == "central" else 0.0
        found.append(stats.norm.cdf(effect / math.sqrt(seen / n + noise) - stats.norm.ppf(0.975)))
    assert np.mean(found) == pytest.approx(0.8, abs=1e-3)
    singles = [sample_size(0.1, effect, 0.05, 0.8, privacy, epsilon).users_per_option for effect in effects]
    assert size.cases == tuple(sorted(singles)[place] for place in (2, 14, 26))
    assert min(singles) < n < max(singles)


def test_the_share_of_the_draws_in_the_variance():
    random, trials = np.random.default_rng(0), np.arange(4000)
    values = 3 * random.normal(size=20)[trials % 20] + 4 * random.normal(size=4000)
    between = np.var([values[trials % 20 == place].mean() for place in range(20)], ddof=1)
    assert unknown_share(values, trials, 20) == pytest.approx(between / (between + 16), abs=0.02)
    assert unknown_share(random.normal(size=4000), trials, 20) < 0.01
    assert math.isnan(unknown_share(values[:20], trials[:20], 20))


def test_runs_over_draws_are_those_of_each_draw():
    draws = tuple((Bernoulli(mean=0.2), Bernoulli(mean=mean)) for mean in (0.3, 0.6, 0.9))
    question = price_question(**{**CASE, "lifts": [20]})
    experiment = replace(question, draws=()).contest(2.0)
    asked = candidates(experiment, "local")[0].with_changes(trials=8, horizon=200)
    mixture = Study(over_draws(asked, draws), memory())
    mixture.run()
    [line] = mixture.result().lines
    assert line.trials.tolist() == list(range(8)) and mixture.missing_seconds == 0 and mixture.fraction == 1
    for place, arms in enumerate(draws):
        mine = range(place, 8, 3)
        [alone] = simulate(asked.with_changes(arms=arms, trials=len(mine), seed=2 * place), store=memory()).lines
        np.testing.assert_array_equal(line.regret[list(mine)], alone.regret)


def test_a_range_without_width_changes_nothing():
    exact, same = (price_question(**CASE, lifts=lifts) for lifts in ([60], [(60, 60)]))
    assert exact == same and exact.draws == ()


def test_the_answers_to_a_range_lie_between_those_at_its_ends():
    low, high = (rows_of(price_question(**CASE, lifts=[lift])) for lift in (30, 70))
    wide = PriceStudy(price_question(**CASE, lifts=[(30, 70)]), memory()).run()
    for ends in zip(low, wide.rows, high, strict=True):
        tests = [row.test_users for row in ends]
        assert tests[2] < tests[1] < tests[0]
        assert tests[2] <= ends[1].cases[0] < ends[1].cases[-1] <= tests[0]
        assert 0 <= ends[1].unknown <= 1 and ends[1].mean_users < ends[1].most_users
    assert wide.question.keep == pytest.approx(400 * 0.25, rel=1e-6)


def test_a_lift_that_is_not_known_is_answered_and_the_command_says_the_same(capsys):
    found = price(**CASE, lifts=["?"])
    assert found.table["test_weeks"].gt(0).all() and found.table["loss"].gt(0).all()
    assert (
        cli.main(["price", "--baseline", "50%", "--lifts", "?", "--weekly", "40", "--weeks", "10", "--epsilon", "2"])
        == 0
    )
    shown = capsys.readouterr()
    assert shown.out == found.table.to_csv(index=False) and found.unknown in shown.err
    assert found.question.typical in found.question.draws  # in the middle both options are equally good


def test_a_test_that_stops_is_played_on_every_draw():
    draws = tuple((Bernoulli(mean=0.2), Bernoulli(mean=mean)) for mean in (0.5, 0.1))
    known = (Belief("uniform", 0.2, 0.2), Belief("uniform", 0.1, 0.5))
    question = RollOutQuestion(draws[0], 400, (("local", 2.0),), trials=60, draws=draws, beliefs=known)
    alone = [roll_outs(each, store=memory()) for each in question.each]
    for place, row in enumerate(roll_outs(question, store=memory())):
        parts = [rows[place] for rows in alone]
        if len({part.times.spec.policy for part in (row, *parts)}) == 1:
            np.testing.assert_array_equal(row.times.users, np.concatenate([part.times.users for part in parts]))
        assert row.times.count == 60 and row.times.wrong_share <= 0.2


def test_a_file_is_answered_over_what_its_data_allow(tmp_path):
    draw, path = np.random.default_rng(0), tmp_path / "a.csv"
    rows = [f"{option},{draw.binomial(1, mean)}" for option, mean in (("a", 0.3), ("b", 0.6)) for _ in range(60)]
    path.write_text("arm,reward\n" + "\n".join(rows))
    question = price_question(path, weekly=100, weeks=3, epsilon=[2])
    assert len(question.draws) == DRAWS
    found, exact = rows_of(question), rows_of(replace(question, draws=()))
    for row, each in zip(found, exact, strict=True):
        assert row.cases[0] < row.cases[1] and row.test_users != each.test_users
    assert unknown_words(question, found) and not unknown_words(replace(question, draws=()), exact)


BELIEFS = [
    [Belief("uniform", 0.0335, 0.0357), Belief("uniform", 0.0248, 0.0372), Belief("uniform", 0.031, 0.031)],
    [Belief("beta", 31.0, 970.0), Belief("beta", 45.0, 956.0)],
    [Belief("beta", 5.0, 20.0), Belief("beta", 9.0, 20.0), Belief("beta", 9.0, 20.0)],
    [Belief("normal", 0.4, 0.01), Belief("normal", 0.42, 0.02), Belief("beta", 400.0, 600.0)],
]


def over(beliefs, **fields):
    """The question with rates of these beliefs."""
    drawn = tuple(tuple(Bernoulli(mean=mean) for mean in row) for row in drawn_means(beliefs, DRAWS).tolist())
    return RollOutQuestion(drawn[0], 1000, (), draws=drawn, beliefs=tuple(beliefs), **fields)


def test_chances_of_the_draws_are_even():
    found = drawn_means([Belief("uniform", 0.0, 1.0)] * 4, DRAWS)
    assert all(sorted(column) == [(place + 0.5) / DRAWS for place in range(DRAWS)] for column in found.T.tolist())
    assert np.abs(np.corrcoef(drawn_means([Belief("uniform", 0, 1)] * 6, 2**14).T) - np.eye(6)).max() < 0.01


@pytest.mark.parametrize("beliefs", BELIEFS, ids=lambda beliefs: f"{beliefs[0].kind}-{len(beliefs)}")
@pytest.mark.parametrize(("privacy", "epsilon"), [("none", None), ("local", 1.0), ("central", 0.5)])
def test_average_power_is_that_of_other_draws_and_exact_quantiles(beliefs, privacy, epsilon):
    laws = {"uniform": stats.uniform, "beta": stats.beta, "normal": stats.norm}
    places = [(each.first, max(1e-12, each.second - each.first * (each.kind == "uniform"))) for each in beliefs]
    points = stats.qmc.Halton(len(beliefs), scramble=False).random(200_000)[1:].T
    means = np.stack([laws[each.kind].ppf(chances, *at)
                      for each, at, chances in zip(beliefs, places, points, strict=True)])  # fmt: skip
    second, best = np.sort(means, axis=0)[-2:]
    size = over(beliefs).test_for(privacy, epsilon, "best")
    plan = TestPlan(privacy=privacy, epsilon=epsilon, options=len(beliefs), goal="best")
    assert size.users_per_option == pytest.approx(plan.users(second, best - second), rel=0.01)
    alone = [plan.users(*pair) for pair in zip(second[:400], (best - second)[:400], strict=True)]
    assert stats.binomtest(sum(each > size.cases[1] for each in alone), 400).pvalue > 1e-4


@pytest.mark.parametrize("beliefs", BELIEFS, ids=lambda beliefs: f"{beliefs[0].kind}-{len(beliefs)}")
def test_the_weeks_do_not_depend_on_the_order_of_the_options(beliefs):
    first, turned = (over(order).test_for("local", 1.0, "best", 3) for order in (beliefs, beliefs[::-1]))
    assert (first.users_per_option, first.cases) == (turned.users_per_option, turned.cases)


def test_the_weeks_do_not_depend_on_the_order_of_rows_and_columns(tmp_path):
    draw, found = np.random.default_rng(0), set()
    columns = {"a": draw.binomial(1, 0.3, 300), "b": draw.lognormal(0, 1, 300) / 20, "c": draw.binomial(1, 0.4, 300)}
    for names in (["a", "b", "c"], ["c", "a", "b"]):
        for turn in (1, -1):
            rows = np.stack([columns[name][::turn] for name in names], axis=1).tolist()
            text = "\n".join(",".join(map(repr, row)) for row in rows)
            (tmp_path / "a.csv").write_text(",".join(names) + "\n" + text)
            question = price_question(tmp_path / "a.csv", rows="wide", first="a", limits=(0, 1), epsilon=[1])
            found.add(tuple((row.test_users, row.lift_users, row.cases, row.median_users) for row in rows_of(question)))
    assert len(found) == 1
