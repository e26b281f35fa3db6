"""The price of privacy: against the best method without privacy, or where asked against a policy's own counterpart."""

from __future__ import annotations

import numpy as np
import pytest

from bandit_core import Experiment, simulate
from bandit_core.experiments import links
from bandit_core.experiments.experiment import MOST_LINES, Line
from bandit_core.policies import registry
from bandit_core.simulation.results import LineResult, Result
from bandit_core.simulation.store import Store
from bandit_core.simulation.summaries import (
    baseline,
    companions,
    counterpart,
    has_price,
    local_wins,
    reference,
    scale,
    split,
    summaries,
    with_companions,
)
from bandit_core.studies import tradeoff
from bandit_core.studies.best_method import Question, best_methods
from bandit_core.studies.business_case import costs
from bandit_core.studies.goal_search import Goal
from bandit_core.studies.sweep import sweep

ARMS = [{"kind": "bernoulli", "mean": mean} for mean in (0.5, 0.9)]
FIXED = {"kind": "fixed", "value": 1.0}


def made(*lines: dict, **changes) -> Experiment:
    document = {"arms": ARMS, "lines": list(lines), "horizon": 1500, "trials": 12, "seed": 3}
    return Experiment.model_validate({**document, **changes})


OWN = {"against": "own"}
UCB, KL, IMED = {"policy": "ucb"}, {"policy": "kl-ucb"}, {"policy": "dp-imed", "epsilon": FIXED}


@pytest.fixture(scope="module")
def store() -> Store:
    return Store(None, 2**26)


def played(experiment: Experiment, store: Store) -> Result:
    return split(simulate(with_companions(experiment), store=store), experiment)


@pytest.mark.parametrize("name", registry())
def test_every_private_policy_has_a_counterpart_of_its_setting(name):
    policy = registry()[name]
    other = counterpart(policy)
    assert (other is None) == (policy.privacy == "none")
    assert other is None or (other.privacy == "none" and other.setting == policy.setting)


def test_a_price_is_relative_to_the_counterpart_where_asked_even_where_the_chart_lacks_it(store):
    lacks, has = made(UCB, IMED, view=OWN), made(UCB, IMED, KL, view=OWN)
    assert [line.policy for line in companions(lacks)] == ["kl-ucb"] and companions(has) == ()
    assert (baseline(lacks, 1), baseline(has, 1)) == (None, 2)
    assert with_companions(has) == has
    alone, whole = played(lacks, store), played(has, store)
    assert alone.experiment == lacks and len(alone.lines) == 2 and len(alone.along) == 1
    ends = [line.regret[:, -1] for line in (whole.lines[1], whole.lines[2])]
    for result, along in ((alone, True), (whole, False)):
        row = next(row for row in summaries(result) if row.line == 1)
        assert (row.against.policy, row.against.along) == ("kl-ucb", along)
        assert row.price == pytest.approx(ends[0].mean() / ends[1].mean())
        residual = ends[0] - row.price * ends[1]  # over pairs of trials
        assert row.price_stderr == pytest.approx(residual.std(ddof=1) / np.sqrt(12) / ends[1].mean())
        np.testing.assert_array_equal(scale(result, 1, "price")[-1], ends[1].mean())
    not_computed = Result(lacks, alone.times, alone.lines)
    assert reference(not_computed, 1) is None and scale(not_computed, 1, "price") is None


def test_a_price_is_relative_to_the_best_one_shown_without_privacy(store):
    asked = made(UCB, IMED, KL)
    assert asked.view.against == "best"
    result = played(asked, store)
    assert result.along == ()
    free = {"ucb": result.lines[0].mean[-1], "kl-ucb": result.lines[2].mean[-1]}
    best = min(free, key=free.get)
    assert best == "kl-ucb" and reference(result, 1).policy == best
    hidden = played(asked.with_changes(view={"hidden": [2]}), store)
    assert reference(hidden, 1).policy == "ucb" and not reference(hidden, 1).along  # it is not shown
    nothing = played(asked.with_changes(lines=[IMED]), store)
    field = [line.policy for line in companions(nothing.experiment)]
    assert field == ["thompson", "kl-ucb"]
    losses = {name: run.mean[-1] for name, run in zip(field, nothing.along, strict=True)}
    found = reference(nothing, 0)
    assert (found.policy, found.along, found.among) == (min(losses, key=losses.get), True, 2)


def test_the_field_for_comparison_accepts_the_arms():
    heavy = {"arms": [{"kind": "pareto", "mean": mean, "shape": 2.5} for mean in (0.5, 0.9)]}
    robust = made({"policy": "dp-robust-se", "epsilon": FIXED}, **heavy)
    assert [line.policy for line in companions(robust)] == ["ucb", "robust-ucb"]
    features = {"arms": None, "contexts": {"dimension": 2, "arms": 3}}
    document = {"lines": [{"policy": "ldp-linucb", "epsilon": FIXED}], "horizon": 100, "trials": 2, "seed": 0}
    experiment = Experiment.model_validate({**document, **{k: v for k, v in features.items() if v is not None}})
    assert [line.policy for line in companions(experiment)] == ["linucb", "greedy-ols"]


def test_parameters_that_both_know_carry_over():
    line = {"policy": "dp-robust-se", "epsilon": FIXED, "params": {"v": 0.5, "u": 3.0, "beta": 0.01}}
    experiment = made(line, view=OWN)
    assert companions(experiment) == (Line(policy="robust-ucb", params={"v": 0.5, "u": 3.0}),)
    twice = experiment.with_changes(
        lines=[{"policy": "robust-ucb"}, {"policy": "robust-ucb", "params": {"v": 0.5, "u": 3.0}}, line]
    )
    assert baseline(twice, 2) == 1  # of two counterparts that with its parameters


def test_where_nothing_more_can_be_played_there_is_no_price(store):
    full = made(*[IMED] * MOST_LINES, horizon=20, trials=2)
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
    np.testing.assert_array_equal(mine.price_stderr, theirs.price_stderr)
    assert mine.against.along and not theirs.against.along


def test_one_experiment_has_one_price_on_every_page(store):
    """What Your numbers, Explore, Trade-off and a search for an epsilon compute of the contest's experiment."""
    decision = best_methods(Question(tuple(made(UCB).arms), 1500, 1.0, trials=12, seed=3), store=store)
    opened, issues = links.read(links.write(decision.result.experiment))  # as the page's link opens it
    assert not issues
    again = split(simulate(with_companions(opened), store=store), opened)
    assert again.along == ()
    explored = {row.line: (row.price, row.extra) for row in summaries(again) if row.against is not None}
    answered = {row.line: (row.price, row.extra) for row in costs(decision.result, 1.0, decision.levels) if row.line}
    assert explored == answered and len(explored) == 2
    for trace in tradeoff.traces(sweep(opened, (1.0,), store=store))[1:]:
        assert trace.price[0] == explored[trace.line][0]
        assert Goal("price", 2.0).measure(again, trace.line)[0] == explored[trace.line][0]


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
        ((UCB, LDP), (9, 1), False),  # nobody to compare with
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
