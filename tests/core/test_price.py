"""The price of privacy: against the best method without privacy, or a policy's own counterpart where asked."""

import json

import numpy as np
import pytest

from bandit_core import Experiment, cli, simulate
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
    local_wins,
    reference,
    scale,
    split,
    summaries,
    with_companions,
)
from bandit_core.simulation.store import Store
from bandit_core.spec.number_text import with_error
from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies import best_method, tradeoff
from bandit_core.studies.best_method import Contest, Question
from bandit_core.studies.business_case import costs
from bandit_core.studies.goal_search import BestSearch, Goal, smallest_epsilon
from bandit_core.studies.sweep import sweep
from bandit_core.studies.tradeoff import who_wins

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
