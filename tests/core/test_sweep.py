"""Sweeps over budgets, what is read off them, and the inverse question."""

import io
import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import refused

from bandit_core import Experiment, InputError, simulate
from bandit_core.cli import main
from bandit_core.experiments.catalogue import edges
from bandit_core.model import Block
from bandit_core.simulation.prepared import PreparedLine
from bandit_core.simulation.results import LineResult, Result, baseline, interval
from bandit_core.simulation.store import Store
from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies import tradeoff
from bandit_core.studies.best_method import Question, best_methods
from bandit_core.studies.goal_search import BestSearch, Goal, fewest_users, smallest_epsilon
from bandit_core.studies.sweep import (
    SWEEP_COLUMNS,
    Sweep,
    SweepResult,
    at_budget,
    budgets,
    distinct_lines,
    sweep,
    swept_label,
)
from bandit_core.theory import central
from bandit_core.theory.divergences import bernoulli_kl

SPEC = {
    "version": 1,
    "arms": [{"kind": "bernoulli", "mean": 0.8}, {"kind": "bernoulli", "mean": 0.5}],
    "lines": [
        {"policy": "ucb"},
        {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1.0}},
        {"policy": "heldp-ucb-l", "epsilon": {"kind": "fixed", "value": 1.0}},
    ],
    "horizon": 2000,
    "trials": 16,
    "seed": 3,
}


@pytest.fixture
def experiment() -> Experiment:
    return Experiment.model_validate(SPEC)


@pytest.fixture
def store() -> Store:
    return Store(None, 2**26)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the policies whose kernels were called."""
    made: list[str] = []
    play = PreparedLine.play

    def counted(line: PreparedLine, *given: Any) -> Block:
        made.append(line.policy.name)
        return play(line, *given)

    monkeypatch.setattr(PreparedLine, "play", counted)
    return made


# ---------------------------------------------------------------------------------------------------------------
# Sweeps


def test_a_sweep_is_a_simulation_at_every_budget(experiment: Experiment, store: Store) -> None:
    result = sweep(experiment, [2.0, 0.5], store=store)
    assert result.epsilons == (0.5, 2.0)
    for epsilon in result.epsilons:
        single = simulate(at_budget(experiment, epsilon), store=Store(None, 0))
        for mine, other in zip(result.at(epsilon).lines, single.lines, strict=True):
            assert np.array_equal(mine.regret, other.regret)


def test_the_frame_has_lines_without_privacy_once_and_no_budget(experiment: Experiment, store: Store) -> None:
    frame = sweep(experiment, [0.5, 1.0, 2.0], store=store).curves
    assert tuple(frame.columns) == SWEEP_COLUMNS
    checkpoints = (frame["line"] == 0).sum()
    assert frame.loc[frame["line"] == 0, "epsilon"].isna().all()
    assert (frame["line"] == 1).sum() == 3 * checkpoints
    assert sorted(frame.loc[frame["line"] == 1, "epsilon"].unique()) == [0.5, 1.0, 2.0]
    assert not frame.duplicated(["line", "epsilon", "t"]).any()


def test_a_second_parameter_reaches_the_lines_that_know_it(store: Store) -> None:
    spec = {**SPEC, "lines": [{"policy": "ucb"}, *({**line} for line in SPEC["lines"][1:])], "horizon": 300}
    result = sweep(Experiment.model_validate(spec), [1.0, 2.0], ("eps_min", [0.5, 1.0]), store=store)
    frame = result.curves
    assert tuple(frame.columns) == (*SWEEP_COLUMNS, "eps_min")
    assert frame.loc[frame["line"] == 0, "eps_min"].isna().all()
    assert set(frame.loc[frame["line"] == 2, "eps_min"]) == {0.5, 1.0}
    assert result.at(2.0, 0.5).experiment.lines[1].params == {"eps_min": 0.5}
    assert not frame.duplicated(["line", "epsilon", "t", "eps_min"]).any()


def test_a_grid_is_ascending_and_bounded() -> None:
    assert budgets([3, "1", 1.0]) == (1.0, 3.0)
    with refused("epsilon[1]", value=1e9) as issues:
        budgets([2, 1e9])
    assert issues[0].allowed.endswith(" 1e6")
    with refused("epsilon", value=201) as issues:
        budgets(np.linspace(0.1, 1, 201))
    assert " 200 " in issues[0].allowed


def test_unknown_or_wrong_second_parameters_are_refused(experiment: Experiment) -> None:
    with refused("vary", value="gamma"):
        Sweep(experiment, [1], ("gamma", [1]))
    with refused("lines[1].params.eps_min", "lines[2].params.eps_min", value=-1):
        Sweep(experiment, [1], ("eps_min", [-1]))


def test_all_points_of_a_sweep_count_against_the_limit(
    experiment: Experiment, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    per_line = SPEC["horizon"] * SPEC["trials"]
    monkeypatch.setenv("LAB_MAX_STEPS", str(per_line * 5))  # one line without privacy once, two at two budgets
    assert len(sweep(experiment, [1, 2], store=store).results) == 2
    with pytest.raises(InputError, match="steps"):
        sweep(experiment, [1, 2, 3], store=store)
    monkeypatch.setenv("LAB_MAX_STEPS", str(per_line))
    with pytest.raises(InputError, match="steps"):
        smallest_epsilon(experiment, 1, Goal("price", 2), store=store)


def test_a_stopped_sweep_keeps_what_is_done(experiment: Experiment, store: Store) -> None:
    grid = [0.5, 1.0, 2.0]
    whole = Sweep(experiment, grid, store=store).missing_seconds
    running = Sweep(experiment, grid, store=store)
    result = running.run(on_progress=lambda sweeping: sweeping.stop())
    assert running.stopped and running.fraction < 1
    assert any(line is not None for point in result.results for line in point.lines)
    assert 0 < Sweep(experiment, grid, store=store).missing_seconds < whole
    sweep(experiment, grid, store=store)
    assert Sweep(experiment, grid, store=store).missing_seconds == 0


def test_labels_lose_the_budget_that_varies_and_equal_lines_stand_once(store: Store) -> None:
    def line(label, value, policy="heldp-ucb-b"):
        return {"policy": policy, "epsilon": {"kind": "fixed", "value": value}, "label": label}

    lines = [line("bits, ε = 1", 1.0), line("bits, ε = 2", 2.0), line("noise (eps=1)", 1.0, "heldp-ucb-l")]
    experiment = Experiment.model_validate({**SPEC, "lines": lines, "view": {"hidden": [2]}})
    assert [swept_label(each) for each in experiment.lines] == ["bits", "bits", "noise"]
    distinct = distinct_lines(experiment)
    assert [each.policy for each in distinct.lines] == ["heldp-ucb-b", "heldp-ucb-l"]
    assert distinct.view.hidden == (1,)
    assert distinct_lines(distinct) is distinct


# ---------------------------------------------------------------------------------------------------------------
# Reading a sweep


def made_up(experiment: Experiment, regrets: dict[float, list[np.ndarray]]) -> SweepResult:
    """A sweep whose final regrets are given: per budget, one array of trials for every line."""
    results = []
    for epsilon, lines in regrets.items():
        point = at_budget(experiment, epsilon)
        done = [
            LineResult(np.arange(len(each)), np.array(each, float)[:, None], np.zeros((len(each), 1)), np.zeros((3, 2)))
            for each in lines
        ]
        results.append(Result(point, np.array([experiment.horizon]), tuple(done)))
    return SweepResult(experiment, tuple(regrets), (None,), tuple(results))


def test_the_frontier_names_ties(experiment: Experiment) -> None:
    free = np.array([10.0, 12, 11, 9])
    result = made_up(
        experiment,
        {
            0.5: [free, np.array([100.0, 102, 101, 99]), np.array([50.0, 52, 51, 49])],
            1.0: [free, np.array([40.0, 60, 50, 55]), np.array([45.0, 55, 52, 51])],
        },
    )
    clear, tied = tradeoff.frontier(result)
    assert (clear.epsilon, clear.line, clear.tied_with) == (0.5, 2, ())
    assert (tied.epsilon, tied.line, tied.tied_with) == (1.0, 2, (1,))


def test_privacy_counts_as_free_only_beyond_doubt(experiment: Experiment) -> None:
    free = np.array([100.0, 110, 90, 100])
    sure, vague = free * np.array([1.0, 1.01, 1.0, 1.01]), np.array([60.0, 160, 50, 130])
    result = made_up(experiment, {0.5: [free, 3 * free, 3 * free], 1.0: [free, sure, vague]})
    _, bits, noise = tradeoff.traces(result)
    assert tradeoff.free_from(bits) == 1.0
    assert abs(noise.price.value[-1] - 1) < 0.01 and tradeoff.free_from(noise) is None
    single = made_up(experiment, {1.0: [free[:1], free[:1], free[:1]]})
    assert tradeoff.free_from(tradeoff.traces(single)[1]) is None


def test_a_level_of_trust_names_its_method_where_the_budget_varies(experiment: Experiment) -> None:
    lines = [line | {"label": "trust no one"} for line in experiment.spec()["lines"]]
    ends = [np.full(10, each) for each in (1.0, 2.0, 3.0)]
    found = tradeoff.traces(made_up(experiment.with_changes(lines=lines), {1.0: ends}))
    assert [each.label for each in found[1:]] == ["trust no one: HeLDP-UCB-B", "trust no one: HeLDP-UCB-L"]


def test_a_line_that_does_as_badly_as_chance_is_noise(experiment: Experiment) -> None:
    blind = tradeoff.blind_regret(experiment)
    assert blind == pytest.approx(2000 * 0.15)
    near, far = np.full(4, 0.95 * blind), np.full(4, 0.5 * blind)
    result = made_up(experiment, {0.1: [far, near, far], 0.2: [far, near, far], 0.4: [far, far, far]})
    _, bits, noise = tradeoff.traces(result)
    assert tradeoff.noise_until(bits, experiment) == 0.2
    assert tradeoff.noise_until(noise, experiment) is None


def test_regime_change_by_hand(experiment: Experiment) -> None:
    by_hand = math.log((0.8 / 0.2) / (0.5 / 0.5))
    assert tradeoff.regime_change(experiment) == pytest.approx(by_hand, rel=1e-12)
    assert central.d_eps(0.5, 0.8, by_hand + 1e-6) == pytest.approx(float(bernoulli_kl(0.5, 0.8)), rel=1e-12)
    assert central.d_eps(0.5, 0.8, by_hand - 0.1) < 0.999 * bernoulli_kl(0.5, 0.8)
    third = experiment.with_changes(arms=[*SPEC["arms"], {"kind": "bernoulli", "mean": 0.7}])
    assert tradeoff.regime_change(third) == pytest.approx(by_hand, rel=1e-12)  # the farther arm decides
    assert tradeoff.regime_change(experiment.with_changes(arms=[{"kind": "bernoulli", "mean": 0.8}])) is None
    assert tradeoff.regime_change(experiment.with_changes(arms=[{"kind": "uniform", "low": 0, "high": 1}])) is None


@pytest.mark.parametrize("line", [1, 2])
def test_bounds_against_epsilon_are_the_bounds_at_each_budget(experiment: Experiment, line: int) -> None:
    grid = (0.3, 1.0, 4.0)
    found, horizon = tradeoff.corridor_against_epsilon(experiment, line, grid), np.array([float(experiment.horizon)])
    for place, epsilon in enumerate(grid):
        below, above = edges(at_budget(experiment, epsilon), line)
        gap = experiment.largest_gap
        assert found.lower[place] == max(float(bound.values(horizon, gap)[0]) for bound in below)
        assert found.upper[place] == min(float(bound.values(horizon, gap)[0]) for bound in above)


# ---------------------------------------------------------------------------------------------------------------
# The inverse question

GOALS = [(1, Goal("price", 3.0)), (1, Goal("regret", 90.0)), (2, Goal("price", 5.0)), (1, Goal("missed", 0.1))]


@pytest.mark.parametrize(("line", "goal"), GOALS, ids=lambda value: getattr(value, "kind", None))
def test_the_inverse_agrees_with_brute_force(experiment: Experiment, store: Store, line: int, goal: Goal) -> None:
    answer = smallest_epsilon(experiment, line, goal, store=store)
    grid = np.geomspace(answer.best / 4, min(64.0, answer.best * 4), 25)
    result = sweep(experiment, grid, store=store)
    within = [goal.measure(point, line)[0] <= goal.limit for point in result.results]
    misses = np.flatnonzero(~np.array(within))
    first = result.epsilons[misses[-1] + 1] if len(misses) else result.epsilons[0]
    step = grid[1] / grid[0]
    low, high = answer.low or 0.0, answer.high or math.inf
    assert low < answer.best <= high
    assert low / step <= first <= high * step
    at_best = goal.measure(simulate(at_budget(experiment, answer.best), store=store), line)
    assert at_best.value <= goal.limit and at_best.low < at_best.value < at_best.high
    values = {at: point.value for at, point in answer.points.items()}
    below = max(at for at in values if at < answer.best)
    assert values[below] > goal.limit and answer.best / below == pytest.approx(2 ** (1 / 8))


def test_the_same_question_gets_the_same_answer_from_the_cache(
    experiment: Experiment, store: Store, calls: list[str]
) -> None:
    goal = Goal("price", 3.0)
    first = smallest_epsilon(experiment, 1, goal, store=store)
    made = len(calls)
    assert made > 5
    again = smallest_epsilon(experiment, 1, goal, store=store)
    assert again == first and len(calls) == made
    similar = smallest_epsilon(experiment, 1, Goal("price", 3.01), store=store)
    assert similar.best <= first.best
    assert len(calls) - made < made / 2  # the lattice is the same, so most points are there
    assert smallest_epsilon(experiment, 1, goal, jobs=1, store=Store(None, 0)) == first


def test_goals_out_of_reach_and_goals_met_at_once(experiment: Experiment, store: Store) -> None:
    never = smallest_epsilon(experiment, 1, Goal("regret", 0.0), store=store)
    assert (never.best, never.high) == (None, None) and len(never.points) >= 1
    always = smallest_epsilon(experiment, 1, Goal("regret", 1e9), store=store)
    assert always.best == always.high == 2.0**-8 and always.low is None


def test_a_price_without_its_counterpart_on_the_chart_is_that_with_it(experiment: Experiment, store: Store) -> None:
    experiment = experiment.with_changes(view={"against": "own"})
    alone = experiment.with_changes(lines=SPEC["lines"][1:])
    assert baseline(alone, 0) is None and baseline(experiment, 1) == 0
    goal = Goal("price", 3.0)
    found = smallest_epsilon(alone, 0, goal, store=store)
    assert found.best is not None and found == smallest_epsilon(experiment, 1, goal, store=store)


def test_a_single_trial_rules_nothing_out(experiment: Experiment, store: Store) -> None:
    answer = smallest_epsilon(experiment.with_changes(trials=1), 1, Goal("regret", 200.0), store=store)
    assert answer.best is not None and answer.low is None and answer.high is None


def test_the_fewest_users(experiment: Experiment, store: Store) -> None:
    goal = Goal("missed", 0.3)
    answer = fewest_users(experiment, 1, goal, store=store)
    assert answer.best is not None and answer.best == int(answer.best) <= experiment.horizon
    for users, point in answer.points.items():
        short = simulate(experiment.with_changes(horizon=int(users), view={}), store=store)
        assert (goal.measure(short, 1).value <= goal.limit) == (point.value <= goal.limit)
    assert answer.points[answer.best].value <= goal.limit
    for kind, horizon in (("price", 2000), ("regret", 2000), ("missed", 15)):
        with pytest.raises(InputError):
            fewest_users(experiment.with_changes(horizon=horizon), 1, Goal(kind, 1.0), store=store)


def test_a_search_can_be_cut_short(experiment: Experiment, store: Store) -> None:
    seen: list[float] = []

    def enough(at: float) -> None:
        seen.append(at)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        smallest_epsilon(experiment, 1, Goal("price", 3.0), on_point=enough, store=store)
    assert len(seen) == 3


# ---------------------------------------------------------------------------------------------------------------
# The inverse question, asked of the best method

OPTIONS = Question((Bernoulli(mean=0.3), Bernoulli(mean=0.6)), 400, 1.0, trials=20)


def test_every_goal_is_measured_as_it_says(experiment: Experiment) -> None:
    free, private = np.array([10.0, 12, 11, 9]), np.array([30.0, 35, 31, 40])
    point = made_up(experiment, {1.0: [free, private, private]}).results[0]
    ends = interval(private - free)
    extra = Goal("extra", 0).measure(point, 1)
    assert (extra.value, *extra[2:]) == pytest.approx((23.5, *ends))
    assert Goal("regret", 0).measure(point, 1)[2:] == pytest.approx(interval(private))
    assert Goal("price", 0).measure(point, 1)[0] == pytest.approx(34 / 10.5)
    assert Goal("percent", 0).measure(point, 1)[0] == pytest.approx(100 * 34 / (2000 * 0.8))
    assert Goal("percent", 0, offset=1.2).measure(point, 1)[0] == pytest.approx(100 * 34 / (2000 * 2.0))
    assert all(math.isnan(value) for value in Goal("percent", 0, offset=-5).measure(point, 1))
    assert all(math.isnan(value) for value in Goal("extra", 0).measure(point, 0))


def test_the_best_method_is_looked_for_at_every_budget(store: Store) -> None:
    goal = Goal("regret", 40.0)
    search = BestSearch(OPTIONS, goal, store=store)
    assert search.result() is None and search.missing_seconds > 0
    seen: list[float] = []
    found = search.run(1, on_progress=lambda running: seen.append(running.fraction))
    assert seen == sorted(seen) and search.fraction == 1 and search.missing_seconds == 0
    assert [each.privacy for each in found] == ["local", "central"]
    for each in found:
        answer = each.answer
        decision = best_methods(replace(OPTIONS, epsilon=answer.best), (each.privacy,), store=store)
        best = decision.of(each.privacy)[0]
        assert (each.method, each.lost) == (best.title, best.lost)
        assert each.lost.value <= goal.limit and each.at_random == (each.lost.high >= each.blind)
        values = {at: point.value for at, point in answer.points.items()}
        below = max(at for at in values if at < answer.best)
        assert values[below] > goal.limit and answer.best / below == pytest.approx(2 ** (1 / 8))
    again = BestSearch(OPTIONS, goal, store=store)
    assert again.result() == found and again.missing_seconds == 0


def test_losses_beyond_no_privacy_are_compared_with_its_best_method(store: Store) -> None:
    [found] = BestSearch(OPTIONS, Goal("extra", 15.0), ("local",), store=store).run(1)
    free = best_methods(OPTIONS, ("none",), store=store).result.lines[0]
    mine = best_methods(replace(OPTIONS, epsilon=found.answer.best), ("local",), store=store).result.lines[0]
    assert found.answer.points[found.answer.best] == mine.difference(free)


def test_a_limit_that_chance_meets_is_said_to_be_that_and_none_is_invented(store: Store) -> None:
    everything, nothing = (BestSearch(OPTIONS, Goal("regret", limit), store=store).run(1) for limit in (1e9, 0.0))
    assert all(each.at_random and each.blind == pytest.approx(60) for each in everything)
    assert all(each.answer.best is None and not each.at_random for each in nothing)


def test_the_fewest_users_of_the_best_method(store: Store) -> None:
    goal = Goal("percent", 15.0)
    found = BestSearch(OPTIONS, goal, ("none", "local"), users=True, store=store).run(1)
    for each in found:
        assert each.answer.best == int(each.answer.best) <= OPTIONS.horizon and not each.at_random
        asked = replace(OPTIONS, horizon=int(each.answer.best))
        assert goal.measure(best_methods(asked, (each.privacy,), store=store).result, 0)[0] <= goal.limit
    assert found[0].answer.best <= found[1].answer.best  # privacy takes more users
    never = BestSearch(OPTIONS, Goal("percent", 0.0), ("none",), users=True, store=store).run(1)
    assert max(never[0].answer.points) == OPTIONS.horizon  # the whole horizon has been tried before it is said
    for wrong, users in ((Goal("regret", 1), 400), (goal, 15)):
        with pytest.raises(InputError):
            BestSearch(replace(OPTIONS, horizon=users), wrong, users=True, store=store)


# ---------------------------------------------------------------------------------------------------------------
# The command


@pytest.fixture
def spec(tmp_path) -> str:
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({**SPEC, "horizon": 200, "trials": 4}), encoding="utf-8")
    return str(path)


def test_the_command_prints_the_frame(spec: str, capsys: pytest.CaptureFixture) -> None:
    assert main(["sweep", spec, "--epsilon", "2,0.5", "--trials", "3"]) == 0
    out, err = capsys.readouterr()
    frame = pd.read_csv(io.StringIO(out))
    assert tuple(frame.columns) == SWEEP_COLUMNS
    assert "100%" in err
    expected = sweep(Experiment.model_validate({**SPEC, "horizon": 200, "trials": 3}), [0.5, 2.0]).curves
    assert frame["mean"].to_numpy() == pytest.approx(expected["mean"].to_numpy(), rel=0, abs=0)
    assert (frame["trials"] == 3).all()


def test_the_command_varies_a_second_parameter_and_writes_files(spec: str, tmp_path) -> None:
    out = tmp_path / "sweep.parquet"
    assert main(["sweep", spec, "--epsilon", "1,2", "--vary", "eps_min=0.5,1", "--out", str(out)]) == 0
    frame = pd.read_parquet(out)
    made = frame.attrs["made"]
    again = sweep(Experiment(**made["spec"]), made["epsilons"], ("eps_min", made["eps_min"]))
    pd.testing.assert_frame_equal(again.curves, frame)
    assert "eps_min" in again._repr_html_() and len(repr(again)) < 160  # private: what a notebook asks for
    assert list(frame.columns) == [*SWEEP_COLUMNS, "eps_min"]
    assert set(itertools.product([1.0, 2.0], [0.5, 1.0])) == set(
        frame.loc[frame["line"] == 1, ["epsilon", "eps_min"]].itertuples(index=False, name=None)
    )
