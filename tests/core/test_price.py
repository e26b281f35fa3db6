"""The price of privacy, of typed rates and amounts, and how numbers may be written."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers import asked, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from bandit_core import Experiment, InputError, cli, read_observations, simulate
from bandit_core.data import tables
from bandit_core.data.observations import cut_misleads
from bandit_core.experiments import links
from bandit_core.experiments.experiment import MAX_LINES, Line
from bandit_core.export.page import Positions, document
from bandit_core.policies import registry
from bandit_core.simulation import sentences
from bandit_core.simulation.results import (
    LineResult,
    Result,
    baseline,
    companions,
    counterpart,
    has_price,
    interval,
    local_wins,
    reference,
    scale,
    split,
    summaries,
    with_companions,
)
from bandit_core.simulation.store import Store
from bandit_core.spec import notation
from bandit_core.spec.number_text import with_error
from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies import best_method, tradeoff
from bandit_core.studies.best_method import Contest, Question
from bandit_core.studies.business_case import (
    DRAWS,
    PARTS,
    costs,
    goal,
    purchases,
    ranges_of,
    read_lifts,
    sales,
    typed_arms,
    typed_options,
)
from bandit_core.studies.goal_search import BestSearch, Goal, smallest_epsilon
from bandit_core.studies.price import price_question, rows_of
from bandit_core.studies.sweep import sweep
from bandit_core.studies.tradeoff import blind_regret, who_wins

# ---------------------------------------------------------------------------------------------------------------------
# The price of privacy: against the best method without privacy, or a policy's own counterpart where asked.


ARMS = [{"kind": "bernoulli", "mean": mean} for mean in (0.5, 0.9)]
FIXED = {"kind": "fixed", "value": 1.0}
UNBOUNDED = {"policy": "heldp-ucb-bs", "epsilon": FIXED}


def made(*lines: dict, **changes) -> Experiment:
    document = {"arms": ARMS, "lines": list(lines), "horizon": 1500, "trials": 12, "seed": 3}
    return Experiment.model_validate({**document, **changes})


OWN = {"against": "own"}
UCB, KL, IMED = {"policy": "ucb"}, {"policy": "kl-ucb"}, {"policy": "dp-imed", "epsilon": FIXED}


@pytest.fixture(scope="module")
def store() -> Store:
    return Store(None, 2**26)


def free_lines(experiment: Experiment) -> list[int]:
    return [number for number, line in enumerate(experiment.lines) if line.epsilon is None]


def played(experiment: Experiment, store: Store) -> Result:
    return split(simulate(with_companions(experiment), store=store), experiment)


@pytest.mark.parametrize("name", registry())
def test_every_private_policy_has_a_counterpart_of_its_setting(name):
    policy = registry()[name]
    other = counterpart(policy)
    assert (other is None) == (policy.privacy == "none")
    assert other is None or (other.privacy == "none" and other.setting == policy.setting)


def test_the_counterpart_where_asked_even_where_the_chart_lacks_it(store):
    lacks, has = made(UCB, IMED, view=OWN), made(UCB, IMED, KL, view=OWN)
    assert [line.policy for line in companions(lacks)] == ["kl-ucb"] and companions(has) == ()
    assert (baseline(lacks, 1), baseline(has, 1)) == (None, 2)
    assert with_companions(has) == has
    alone, whole = played(lacks, store), played(has, store)
    assert alone.experiment == lacks and len(alone.lines) == 2 and len(alone.companions) == 1
    ends = [line.regret[:, -1] for line in (whole.lines[1], whole.lines[2])]
    for result, along in ((alone, True), (whole, False)):
        row = next(row for row in summaries(result) if row.line == 1)
        assert (row.against.policy, row.against.is_companion) == ("kl-ucb", along)
        assert row.price == pytest.approx(ends[0].mean() / ends[1].mean())
        residual = ends[0] - row.price * ends[1]  # over pairs of trials
        assert row.price_stderr == pytest.approx(residual.std(ddof=1) / np.sqrt(12) / ends[1].mean())
        np.testing.assert_array_equal(scale(result, 1, "price")[-1], ends[1].mean())
    not_computed = Result(lacks, alone.times, alone.lines)
    assert reference(not_computed, 1) is None and scale(not_computed, 1, "price") is None


def test_a_price_is_relative_to_the_best_method_without_privacy(store):
    asked = made(UCB, IMED, KL)
    result = played(asked, store)
    assert result.companions == ()
    free = {"ucb": result.lines[0].mean[-1], "kl-ucb": result.lines[2].mean[-1]}
    best = min(free, key=free.get)
    assert best == "kl-ucb" and reference(result, 1).policy == best
    assert sentences.reference(reference(result, 1)) == "kl-UCB (the best of 2 methods without privacy)"
    for number in free_lines(asked):  # on a chart of prices all curves are divided by the same
        np.testing.assert_array_equal(scale(result, number, "price"), scale(result, 1, "price"))
    hidden = played(asked.with_changes(view={"hidden": [2]}), store)
    assert reference(hidden, 1).policy == "ucb" and not reference(hidden, 1).is_companion  # the other is not shown


@pytest.mark.parametrize(
    ("arms", "line", "names"),
    [
        (ARMS, IMED, ["thompson", "kl-ucb"]),
        ([{"kind": "gaussian", "mean": mean, "sd": 0.5} for mean in (0.2, 0.8)], UNBOUNDED, ["ucb", "robust-ucb"]),
    ],
)
def test_the_best_of_a_named_field_where_nothing_without_privacy_is_drawn(arms, line, names, store):
    alone = made(line, arms=arms, horizon=300)
    assert [each.policy for each in companions(alone)] == names
    result = played(alone, store)
    losses = {name: run.mean[-1] for name, run in zip(names, result.companions, strict=True)}
    against = reference(result, 0)
    assert against.policy == min(losses, key=losses.get) and against.is_companion and against.among == 2
    assert "best of 2 methods without privacy; run for comparison, not shown" in sentences.verdict(result)
    drawn = played(made(line, *({"policy": name} for name in names), arms=arms, horizon=300), store)
    np.testing.assert_equal(*([row.price for row in summaries(each) if row.line == 0] for each in (result, drawn)))


def test_a_method_that_is_played_twice_counts_once(store):
    result = played(made(UCB, KL, UCB, IMED), store)
    assert reference(result, 3).among == 2 and "best of 2 methods" in sentences.verdict(result)


def test_a_price_at_fewer_users_is_relative_to_what_was_best_by_then(store):
    result = played(made(UCB, KL, IMED), store)
    free = [np.array([10.0, 1.0]), np.array([2.0, 9.0])]
    lines = [LineResult(np.arange(1), regret[None], regret[None], np.ones((1, 2))) for regret in (*free, free[0])]
    crossing = Result(result.experiment, np.array([10, 1500]), tuple(lines))
    assert [reference(crossing, 2, place).policy for place in (0, 1)] == ["kl-ucb", "ucb"]


def test_parameters_that_both_know_carry_over():
    line = {"policy": "dp-robust-se", "epsilon": FIXED, "params": {"v": 0.5, "u": 3.0, "beta": 0.01}}
    experiment = made(line, view=OWN)
    assert companions(experiment) == (Line(policy="robust-ucb", params={"v": 0.5, "u": 3.0}),)
    twice = experiment.with_changes(
        lines=[{"policy": "robust-ucb"}, {"policy": "robust-ucb", "params": {"v": 0.5, "u": 3.0}}, line]
    )
    assert baseline(twice, 2) == 1  # of two counterparts that with its parameters


def test_where_nothing_more_can_be_played_there_is_no_price(store):
    full = made(*[IMED] * MAX_LINES, horizon=20, trials=2)
    assert with_companions(full) == full
    assert all(row.against is None and np.isnan(row.price) for row in summaries(played(full, store)))
    assert has_price(made(IMED), 0) and not has_price(made(UCB), 0)


def test_a_sweep_has_the_same_prices_with_and_without_the_counterpart_on_the_chart(store):
    budgets = (0.5, 4.0)
    lacks, has = made(IMED, view=OWN), made(IMED, KL, view=OWN)
    alone = sweep(with_companions(lacks), budgets, store=store).without_companions(lacks)
    assert [len(point.lines) for point in alone.results] == [1, 1]
    [mine], theirs = tradeoff.traces(alone), tradeoff.traces(sweep(has, budgets, store=store))[0]
    np.testing.assert_array_equal(mine.price, theirs.price)
    assert mine.against.is_companion and not theirs.against.is_companion


def test_budgets_at_which_the_price_is_surely_below_one():
    def line(ends):
        regret = np.asarray(ends, float)[:, None]
        return LineResult(np.arange(len(ends)), regret, regret, np.ones((len(ends), 2)))

    experiment = made(UCB, {"policy": "heldp-ucb-b", "epsilon": FIXED}, trials=4)
    free = np.array([100.0, 110, 90, 100])
    result = sweep(experiment, (1.0,), store=Store(None, 2**22))
    for ends, found in ((0.8 * free, [1.0]), (free + np.array([30, -40, 30, -40]), []), (1.2 * free, [])):
        point = Result(result.results[0].experiment, np.array([1500]), (line(free), line(ends)))
        changed = type(result)(experiment, (1.0,), (None,), (point,))
        assert tradeoff.cheaper_at(tradeoff.traces(changed)[1]).tolist() == found


LDP, CURATOR = {"policy": "heldp-ucb-bs", "epsilon": FIXED}, {"policy": "dp-ucb", "epsilon": FIXED}


@pytest.mark.parametrize(
    ("lines", "losses", "wins"),
    [
        ((UCB, LDP, CURATOR), (9, 1, 2), True),
        ((UCB, LDP, CURATOR), (9, 2, 1), False),
        ((LDP, CURATOR, CURATOR), (3, 4, 2), False),  # less than one of two curators
        ((UCB, LDP), (9, 1), False),  # no one to compare with
        ((LDP, {**CURATOR, "epsilon": {"kind": "fixed", "value": 2.0}}), (1, 2), False),  # other budgets
    ],
)
@pytest.mark.parametrize("noise", [0.0, 100.0])
def test_trusting_nobody_wins_only_surely_and_at_one_budget(lines, losses, wins, noise):
    experiment = made(*lines)
    trials, draw = np.arange(12), np.random.default_rng(1)
    ones = np.ones((12, 1))
    found = [LineResult(trials, loss * ones + noise * draw.normal(size=(12, 1)), ones, ones) for loss in losses]
    assert local_wins(Result(experiment, np.array([1]), tuple(found))) == (wins and not noise)
    hidden = experiment.with_changes(view={"hidden": [1]})
    assert not local_wins(Result(hidden, np.array([1]), tuple(found)))


def test_one_link_has_one_price_wherever_it_is_stated(store, tmp_path):
    link = links.write(made({"policy": "ucb"}, KL, IMED))
    experiment, problems = links.read(link)
    assert problems == [] and experiment.view.against == "best"
    result = played(experiment, store)
    row = next(row for row in summaries(result) if row.line == 2)  # Explore
    ends = [line.regret[:, -1].mean() for line in result.lines]
    assert row.price == pytest.approx(ends[2] / min(ends[:2]))
    [cost] = [each for each in costs(result) if each.privacy == "central"]  # Your numbers
    assert (cost.price, cost.extra) == (row.ratio, row.behind)
    swept = sweep(experiment, (1.0,), store=store)
    trace = tradeoff.traces(swept)[2]  # Trade-off
    assert trace.against.policy == "kl-ucb" and [each[0] for each in trace.price] == list(row.ratio)
    [central] = who_wins(swept)
    assert central.first[-1][0].price == row.ratio
    assert Goal("price", 2.0).measure(result, 2) == row.ratio  # the searches
    positions = Positions(experiment, values=[1.0], store=store)
    [message] = document(positions, positions.run())["positions"]  # a lesson as a file
    assert f">{with_error(row.price, row.price_stderr)}<" in message["table"].split("<tr>")[4]
    spec, out = tmp_path / "spec.json", tmp_path / "out.json"
    spec.write_text(json.dumps(experiment.spec()))
    assert cli.main(["run", str(spec), "--out", str(out)]) == 0  # the command line
    last = {each["line"]: each["mean"] for each in json.loads(out.read_text()) if each["t"] == experiment.horizon}
    assert last[2] / min(last[0], last[1]) == pytest.approx(row.price)


def test_two_searches_for_the_same_budget_agree(store, monkeypatch):
    """Your numbers looks for the best method at every budget: where that is always one, its line's own search."""
    chosen = {"none": ("kl-ucb",), "central": ("dp-imed",)}
    whole = best_method.candidates
    monkeypatch.setattr(best_method, "LESS", 0)
    monkeypatch.setattr(
        best_method,
        "candidates",
        lambda question, privacy: tuple(
            each for each in whole(question, privacy) if each.lines[0].policy in chosen[privacy]
        ),
    )
    question = Question(tuple(Bernoulli(mean=mean) for mean in (0.5, 0.9)), 1500, 1.0, trials=12, seed=3)
    [best] = BestSearch(question, Goal("price", 3.0), ("central",), store=store).run()
    decision = Contest(question, ("none", "central"), store).run()
    experiment, problems = links.read(links.write(decision.result.experiment))
    assert problems == []
    mine = smallest_epsilon(experiment, 1, Goal("price", 3.0), store=store)
    assert mine.best is not None and mine == best.answer


# ---------------------------------------------------------------------------------------------------------------------
# Typed rates as arms, limits as goals, and what each trust model loses.


@pytest.mark.parametrize(
    ("text", "lifts"),
    [("5", [5]), ("20, 50", [20, 50]), ("5%, -3 %", [5, -3]), ("1,5; 2,5", [1.5, 2.5]), ("−2", [-2]), ("3\n2", [3, 2])],
)
def test_lifts_as_people_type_them(text, lifts):
    assert read_lifts(text) == lifts


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


# ---------------------------------------------------------------------------------------------------------------------
# Typed amounts of two parts and refunds: against the lognormal distribution, and end to end.


@pytest.mark.parametrize(("mean", "sd"), [(40.0, 60.0), (1.0, 0.1), (5.0, 25.0)])
def test_the_amounts_are_means_of_parts_of_a_lognormal_distribution(mean, sd):
    sigma = np.sqrt(np.log1p((sd / mean) ** 2))
    law = stats.lognorm(sigma, scale=mean * np.exp(-(sigma**2) / 2))
    assert (law.mean(), law.std()) == pytest.approx((mean, sd))
    ends = law.ppf(np.arange(PARTS + 1) / PARTS)
    for place in (0, PARTS // 2, PARTS - 2):
        part = integrate.quad(lambda amount: amount * law.pdf(amount), ends[place], ends[place + 1])[0] * PARTS
        assert purchases(mean, sd)[0][place] == pytest.approx(part, rel=1e-4)
    amounts, weights = purchases(mean, sd)
    average = np.average(amounts, weights=weights)
    assert average == pytest.approx(mean) and np.average((amounts - mean) ** 2, weights=weights) > 0.85 * (
        min(sd, 1.5 * mean) ** 2
    )


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("sd", [60.0, 400.0])
def test_limits_of_privacy_never_change_an_answer_without_it(sd, epsilon):
    found, stops = [], []
    for limit in (60.0, 100.0, 1000.0, 10_000.0):
        asked = price_question(baseline=0.03, lifts=[20], purchase=(40, sd), limits=(0, limit), epsilon=[epsilon])
        plain, local, central = rows_of(asked)
        assert central.test_users < local.test_users and plain.lift_users == plain.test_users
        found.append(plain.test_users)
        stops.append(replace(asked, trials=40).roll_out().specs(10**10)[0].arms)
    assert len(set(found)) == 1
    assert stops[0] == stops[1] and all(
        mine.mean == pytest.approx(first.mean) for each in stops for mine, first in zip(each, stops[0], strict=True)
    )


def test_a_planned_test_of_purchases_has_its_power_when_it_is_played():
    """Amounts are drawn anew, of the lognormal distribution; cut, and noised as each level of trust does."""
    limit, epsilon, played, draw = 100.0, 2.0, 2000, np.random.default_rng(0)
    asked = price_question(baseline=0.1, lifts=[30], purchase=(40, 60), limits=(0, limit), epsilon=[epsilon])
    sigma = np.sqrt(np.log1p(1.5**2))
    for row in rows_of(asked):
        each, means, variances = row.test_users // 2, [], []
        for rate, mean in zip((0.1, 0.13), asked.roll_out().view("local").means, strict=True):
            sums, squares = np.zeros(played), np.zeros(played)
            for place, bought in enumerate(draw.binomial(each, rate, played)):
                amounts = draw.lognormal(np.log(40) - sigma**2 / 2, sigma, bought) / limit
                amounts = amounts if row.privacy == "none" else np.minimum(amounts, 1)
                sums[place], squares[place] = amounts.sum(), (amounts**2).sum()
            if row.privacy == "local":
                keep = 1 / np.tanh(epsilon / 2)
                bits = draw.binomial(each, 0.5 + (mean - 0.5) / keep, played)
                sums = each * (0.5 + keep * (bits / each - 0.5))
                variances.append(((keep / 2) ** 2 - np.mean(sums / each - 0.5) ** 2) / each)
            else:
                noise = draw.laplace(0, 1 / epsilon, played) if row.privacy == "central" else 0.0
                variances.append(np.mean(squares / each - (sums / each) ** 2) / each)
                sums = sums + noise
            means.append(sums / each)
        found = np.mean(means[1] - means[0] > 1.96 * np.sqrt(sum(variances)))
        assert found == pytest.approx(0.8, abs=0.035)


def test_options_bring_their_rate_times_the_mean_and_limits_cut_the_large_amounts():
    amounts, weights = purchases(40, 60)
    rates = typed_options(3, [0.08, (0.1, 0.2)], True, (0, 100))
    found = sales("abc", rates, 40.0, 60.0, 100.0)
    scale = found.high - found.low
    for arm, option, rate in zip(found.options.arms, found.amounts, rates.arms, strict=True):
        assert found.low + scale * arm.expected == pytest.approx(40 * rate.mean, rel=1e-5) == option.mean
        assert option.outside(0, 100) / option.count == pytest.approx(
            rate.mean * np.average(amounts > 100, weights=weights), rel=1e-3
        )
    for (least, most), wanted in zip(ranges_of(found.options.beliefs), ranges_of(rates.beliefs), strict=True):
        assert (found.high * least, found.high * most) == pytest.approx((40 * wanted[0], 40 * wanted[1]))
    assert found.clip == (0.0, 100 / found.high) and len(found.options.draws) == DRAWS
    assert sales("ab", typed_options(3, [0], True, (0, 100)), 40.0, 60.0, 1e6).clip is None
    assert sales("ab", typed_options(0, [50], False, (0, 100)), 40.0, 60.0, 100.0).amounts[0].mean == 0


@pytest.mark.parametrize(
    ("given", "field"),
    [((0, 1, 5), "mean purchase"), ((4, 0, 5), "standard deviation"), ((4, 1, 0), "largest amount"),
     ((np.nan, 1, 5), "mean purchase"), ((4, 1e3, 5), "standard deviation")],
)  # fmt: skip
def test_amounts_that_are_none_are_refused(given, field):
    with pytest.raises(Exception, match=field):
        sales("ab", typed_options(3, [0.1], True, (0, 100)), *given)


def test_the_question_of_a_shop_is_asked_in_its_unit():
    asked = {"baseline": 0.03, "lifts": [10], "weekly": 1000, "weeks": 20, "epsilon": [2]}
    shop = price_question(**asked, purchase=(40, 60), limits=(0, 100))
    rate = price_question(**asked)
    assert shop.keep == pytest.approx(40 * rate.keep, rel=1e-4) and shop.clip is not None
    plain = [rows_of(each)[0].test_users for each in (rate, shop)]
    assert plain[1] > plain[0]  # amounts vary more
    with refused("limits"):
        price_question(**asked, purchase=(40, 60))


def test_refunds_are_amounts_below_zero(tmp_path):
    draw = np.random.default_rng(0)
    columns = [np.where(draw.random(2000) < 0.02, -30, draw.choice([0, 30], 2000, p=[1 - p, p])) for p in (0.1, 0.3)]
    path = tmp_path / "refunds.csv"
    path.write_text("old,new\n" + "\n".join(f"{a},{b}" for a, b in zip(*columns, strict=True)))
    seen = read_observations(path.read_bytes(), rows="wide").data
    assert seen.limits == (-30, 30) and seen.holding(0.95)[0] <= 0 and not cut_misleads(seen.options, (-30, 30))
    question = price_question(path, rows="wide", limits=(-30, 30), weekly=1000, weeks=3, epsilon=[2])
    assert (question.low, question.scale) == (-30, 60)
    gap = seen.options[1].mean - seen.options[0].mean
    assert question.keep == pytest.approx(3000 * gap, rel=0.02)
    assert all(np.isfinite(row.test_users) for row in rows_of(question))


# ---------------------------------------------------------------------------------------------------------------------
# One meaning for a number: 8, 8% and 0.08 are the same in every command, on the page and in files.


ASKED, NONE = "may be", "numbers, ranges or ?"
SPELLINGS = {
    "8": 0.08, "8%": 0.08, "0.08": 0.08, ".08": 0.08, "8 %": 0.08, "8.0": 0.08, "+8%": 0.08, "+8": 0.08, "0.080": 0.08,
    "8e0": 0.08, " 8 ": 0.08, "8\u00a0%": 0.08, "-8": -0.08, "-8%": -0.08, "−8%": -0.08, "–8 %": -0.08, "-0.08": -0.08,
    "150": 1.5, "150%": 1.5, "1.5": 0.015, "1.5%": 0.015, "0.05%": 0.0005, "0.099": 0.099, "0": 0.0, "0%": 0.0,
    "1 500%": 15.0, "1 500": 15.0, "8-15": (0.08, 0.15), "8%-15%": (0.08, 0.15), "8 - 15 %": (0.08, 0.15),
    "0.08-0.15": (0.08, 0.15), "8–15%": (0.08, 0.15), "0.5-5": (0.005, 0.05), "-5 to 2.5": (-0.05, 0.025),
    "0.5": ASKED, "1": ASKED, "0.1": ASKED, "-0.5": ASKED, "0.05-5": ASKED, "0.2 - 0.5": ASKED,
    "8 15": NONE, "8 -15": NONE, "8 15%": NONE, "12 34": NONE, "8%%": NONE, "%": NONE, "0.1 5": NONE, "eight": NONE,
}  # fmt: skip


@pytest.mark.parametrize(("text", "meant"), SPELLINGS.items())
def test_a_lift_is_the_same_in_every_command_and_on_the_page(text, meant, monkeypatch, capsys):
    if isinstance(meant, str):
        with refused("lifts[0]", value=text.replace(" - ", "-")) as issues:
            read_lifts(text)
        assert meant in issues[0].allowed
        assert cli.main(["price", "--baseline", "2%", "--lifts", text]) == cli.BAD_INPUT
        assert text.replace(" - ", "-") in capsys.readouterr().err
        return
    ends = meant if isinstance(meant, tuple) else (meant, meant)
    [lift] = read_lifts(text)
    assert (lift if isinstance(lift, tuple) else (lift, lift)) == tuple(round(100 * end, 10) for end in ends)
    question = asked(monkeypatch, "--baseline", "2%", "--lifts", text)
    shown = ranges_of(question.beliefs)[1] if question.beliefs else (question.arms[1].mean,) * 2
    assert shown == pytest.approx([0.02 * (1 + end) for end in ends], rel=1e-12)
    if not isinstance(meant, tuple) and meant > 0:
        tables_of = []
        for said in (text, f"{100 * meant:.6g}%"):
            assert cli.main(["power", "--baseline", "2%", "--lift", said]) == cli.DONE
            tables_of.append(capsys.readouterr().out)
        assert tables_of[0] == tables_of[1]


@pytest.mark.parametrize(
    ("text", "both"),
    [
        ("8,5", "8.5 or 8 and 5; write 8.5 or 8, 5"), ("8,5%", "8.5% or 8 and 5%; write 8.5% or 8, 5%"),
        ("8,5-15,5", "write 8.5-15.5 or 8, 5-15, 5"), ("8,05", "8.05 or 8 and 05"),
        ("2,5, 8", "2.5, 8 or 2 and 5 and 8"),
    ],
)  # fmt: skip
def test_a_comma_between_lifts_that_may_be_decimal_is_asked(text, both, capsys):
    with refused("lifts", value=text) as issues:
        read_lifts(text)
    assert both in issues[0].allowed
    assert cli.main(["price", "--baseline", "2%", "--lifts", text]) == cli.BAD_INPUT
    assert both in capsys.readouterr().err
    assert read_lifts("8, 5") == read_lifts("8; 5") == [8, 5] and read_lifts("8,15") == [8, 15]


def test_commas_and_points_of_one_number_in_the_shell(monkeypatch, capsys):
    question = asked(monkeypatch, "--baseline", "3,1%", "--lifts", "8%", "--weekly", "40,000", "--weeks", "2,5")
    assert (question.arms[0].mean, question.weekly, question.users) == (0.031, 40_000, 100_000)
    for option, text, both in (("weekly", "50.000", "50 or 50,000"), ("baseline", "3,125%", "3.125% or 3,125%")):
        words = {"baseline": "2%", "lifts": "8%", option: text}
        assert cli.main(["price", *(f"--{name}={said}" for name, said in words.items())]) == cli.BAD_INPUT
        said = capsys.readouterr().err
        assert option in said and f"'{text}': may be {both}" in said


SINGLE = [(text, meant) for text, meant in SPELLINGS.items() if not re.search(r"\d( %)?( |%)?([-–]|to)", text)]


@pytest.mark.parametrize(("text", "meant"), SINGLE)
def test_a_cell_of_a_file_means_the_same_as_far_as_its_sign_goes(text, meant):
    """In a file rewards may be amounts: what has no sign is the amount itself, never a percentage."""
    read = tables.read_number(text)
    if meant == NONE:
        assert read is None
    elif "%" in text:
        assert read.value == meant and read.unit == "%"
    else:
        assert read.value == float(text.replace("−", "-").replace(" ", "")) and read.unit == ""


@pytest.mark.parametrize("text", ["8%", "0.08", ".08", "+8%"])
def test_an_arm_of_a_spec_or_a_link_may_be_a_percentage(text):
    assert notation.read_arms(f"{text}, beta(4,1)")[0] == {"kind": "bernoulli", "mean": 0.08}
    with refused("arms[0].mean", value=8) as issues:
        notation.read_arms("8")
    assert "8% or 0.08" in issues[0].allowed


@pytest.mark.parametrize("rate", ["8", "8%", "0.08"])
def test_rates_and_chances_of_every_command(rate, monkeypatch, capsys):
    question = asked(monkeypatch, "--baseline", rate, "--lifts", "8", "--delta", rate, "--power", "80", "--zone", rate)
    assert (question.arms[0].mean, question.delta, question.power) == (0.08, 0.08, 0.8)
    assert question.zone == pytest.approx(0.08 * 0.08)
    printed = []
    for said in (rate, "8%"):
        words = ["power", "--baseline", said, "--effect", said, "--alpha", said, "--power", "0.9"]
        assert cli.main(words) == cli.DONE
        printed.append(capsys.readouterr().out)
        words = ["stopping", "--means", f"90%,{said}", "--delta", said, "--trials", "5", "--policy", "ctb-tt"]
        assert cli.main(words) == cli.DONE
        printed.append(capsys.readouterr().out)
    assert printed[:2] == printed[2:]


def test_a_negative_number_after_an_option_is_read(monkeypatch, tmp_path, capsys):
    file = tmp_path / "sales.csv"
    file.write_text("control,new\n" + "\n".join(f"{-7 * place % 40 - 20},{place % 7}.5" for place in range(40)))
    question = asked(monkeypatch, str(file), "--rows", "wide", "--limits", "-200,100", "--weekly", "40")
    assert (question.low, question.scale) == (-200, 300)
    assert asked(monkeypatch, "--baseline", "50%", "--lifts", "-5, 8").arms[1].mean == pytest.approx(0.475)
    assert cli.main(["price", "--baseline", "50%", "--lifts", "5", "--weeks", "-.5"]) == cli.BAD_INPUT
    assert "weeks: -0.5" in capsys.readouterr().err


def test_points_and_plain_amounts_take_no_percent_sign():
    assert read_lifts("0.5, 8, -1-2", relative=False) == [0.5, 8, (-1, 2)]
    with pytest.raises(InputError, match="8%"):
        read_lifts("5, 8%", relative=False)
