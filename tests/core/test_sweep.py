"""Sweeps over budgets and what is read off them: the inverse question, steps of trust, the threshold heuristic."""

import io
import itertools
import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers import refused
from scipy import integrate

from bandit_core import Experiment, InputError, load_preset, simulate, thresholds
from bandit_core.cli import main
from bandit_core.experiments import trust_table
from bandit_core.experiments.catalogue import edges
from bandit_core.experiments.presets import at_shared
from bandit_core.model import PROMISES, Block
from bandit_core.simulation.prepared import PreparedLine
from bandit_core.simulation.results import LineResult, Result, baseline, interval
from bandit_core.simulation.store import Store
from bandit_core.spec.budgets import ClampedGaussian, Discrete, EmpiricalEpsilon, Fixed, Lognormal, UniformEpsilon
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
from bandit_core.theory import central, threshold
from bandit_core.theory.divergences import bernoulli_kl, beta

# ---------------------------------------------------------------------------------------------------------------------
# Sweeps over budgets, what is read off them, and the inverse question.


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
    frame = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert tuple(frame.columns) == SWEEP_COLUMNS
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


# ---------------------------------------------------------------------------------------------------------------------
# What each step of trust saves, and where lines change places, on results whose numbers are known.


LINES = ("ucb", "dp-se", "ucb-cf", "dp-ucb", "thompson")
RNG = np.random.default_rng(1)
NOISE = RNG.normal(size=(20, 3))


def trust_experiment(**view):
    lines = [{"policy": name} | ({} if name in ("ucb", "thompson") else {"epsilon": {"kind": "fixed", "value": 1}})
             for name in LINES]  # fmt: skip
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)]
    return Experiment.model_validate({"arms": arms, "lines": lines, "horizon": 1000, "trials": 20, "view": view})


def result_of(means, **view):
    """Lines with these mean regrets at three times, and noise that all share but for a thousandth."""
    times = np.array([10, 100, 1000])
    trials = np.arange(20)
    played = [
        None
        if mean is None
        else LineResult(trials, np.asarray(mean) + NOISE + 1e-3 * RNG.normal(size=NOISE.shape), NOISE, NOISE[:, :2])
        for mean in means
    ]
    return Result(trust_experiment(**view), times, tuple(played), tuple(None for _ in played))


def test_the_ladder_goes_from_least_trust_to_most_and_takes_the_first_visible_line():
    assert tradeoff.ladder(trust_experiment()) == (2, 1, 0)
    assert tradeoff.ladder(trust_experiment(hidden=[1, 0])) == (2, 3, 4)
    strength = [len(PROMISES[key].implied()) for key in ("local", "shuffle", "distributed", "central", "none")]
    assert strength == sorted(strength, reverse=True) and len(set(strength)) == len(strength)


def test_steps_are_differences_over_pairs_of_trials_at_the_horizon():
    far = [9, 99, 999]  # lines that no level stands on
    found = tradeoff.steps(result_of([[1, 2, 3], [2, 5, 9], [4, 20, 50], far, far]))
    assert [(step.stronger, step.weaker) for step in found] == [(2, 1), (1, 0)]
    assert [step.saved.value for step in found] == pytest.approx([41, 6], abs=0.01)
    assert all(step.clear and step.saved.stderr < 0.01 for step in found)  # the noise that they share is gone
    (alone,) = tradeoff.steps(result_of([[1, 2, 3], None, [1, 2, 3], far, far]))
    assert (alone.stronger, alone.weaker) == (2, 0) and abs(alone.saved.value) < 0.01


MIXED = [
    {"policy": "adac-ucb", "epsilon": {"kind": "fixed", "value": 1}},
    {"policy": "dist-rdp-se", "epsilon": {"kind": "fixed", "value": 1}},
    {"policy": "gaussian-ts", "epsilon": {"kind": "fixed", "value": 1}},
]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("more", [[], MIXED, MIXED[:1], MIXED[1:]])
def test_no_step_leads_from_one_measure_into_another_but_from_pure_at_the_foot(epsilon, more):
    """Else a promise with a delta would seem to ask for less trust and to lose less than a pure one."""
    whole = load_preset("trust-ladder")
    experiment = at_shared(whole.with_changes(lines=[*whole.spec()["lines"], *more]), epsilon)
    found = {each.measure: each.lines for each in tradeoff.ladders(experiment)}
    named = {measure: [experiment.lines[line].policy for line in lines] for measure, lines in found.items()}
    assert named["pure"] == ["ldp-se", "dist-dp-se", "dp-se", "se"]
    approximate = ["ldp-se", "shuffle-se", *(line["policy"] for line in more if line["policy"] != "adac-ucb"), "se"]
    assert named["approximate"] == approximate
    assert named.get("concentrated") == (["dist-dp-se", "adac-ucb", "se"] if MIXED[0] in more else None)
    for measure, lines in found.items():
        counted = [tradeoff.kept(experiment, line).measure for line in lines]
        assert set(counted[1:-1]) == {measure} and counted[0] in ("pure", measure)
        trust = [-len(PROMISES[experiment.lines[line].entry.privacy].implied()) for line in lines]
        assert trust == sorted(set(trust))
    assert set(tradeoff.ladder(experiment)) == {line for lines in found.values() for line in lines}


def test_the_steps_of_each_ladder_add_up():
    result = simulate(load_preset("trust-ladder").with_changes(horizon=2000, trials=6), jobs=1)
    found = tradeoff.steps(result)
    assert {step.measure for step in found} == {"pure", "approximate"}
    for measure in ("pure", "approximate"):
        mine = [step for step in found if step.measure == measure]
        top, bottom = (result.lines[line].mean[-1] for line in (mine[0].stronger, mine[-1].weaker))
        assert sum(step.saved.value for step in mine) == pytest.approx(top - bottom)
        assert [step.stronger for step in mine[1:]] == [step.weaker for step in mine[:-1]]


def test_a_level_stands_on_a_line_that_needs_less_trust_where_that_clearly_loses_less():
    """Line 2 trusts no one, 1 and 3 a curator, 0 and 4 have no privacy."""
    result = result_of([[1, 2, 3], [2, 5, 90], [4, 20, 50], [9, 9, 60], [0, 0, 0]])
    assert tradeoff.best_lines(result) == {2: 2, 1: 2, 0: 4}
    found = tradeoff.steps(result)
    assert [(step.stronger, step.weaker, step.played) for step in found] == [(2, 1, (2, 2)), (1, 0, (2, 4))]
    assert found[0].same and found[0].saved == (0, 0, 0, 0) and not found[0].clear
    assert not found[1].same and found[1].saved.value == pytest.approx(50, abs=0.01)
    shown = tradeoff.by_level(result)
    assert [line.policy for line in shown.experiment.lines] == ["thompson", "ucb-cf", "ucb-cf", "dp-ucb", "thompson"]
    assert shown.lines[1] is result.lines[2] and "TS-CF" not in shown.experiment.label(1)
    assert shown.experiment.label(1) == "trust a curator: UCB-CF is best"
    tie = result_of([[1, 2, 3], [2, 5, 50], [4, 20, 50], [9, 9, 60], [9, 9, 9]])
    assert tradeoff.best_lines(tie) == {2: 2, 1: 1, 0: 0} and tradeoff.by_level(tie) is tie


def test_a_level_never_stands_on_more_trust_a_larger_budget_or_what_is_hidden():
    losses = [[1, 2, 3], [2, 5, 90], [4, 20, 50], [9, 9, 60], [0, 0, 0]]
    assert tradeoff.best_lines(result_of([[1, 2, 3], [2, 5, 9], *losses[2:]]))[2] == 2
    assert tradeoff.best_lines(result_of(losses, hidden=[2])) == {1: 3, 0: 4}
    result = result_of(losses)
    lines = result.experiment.spec()["lines"]
    lines[2]["epsilon"] = {"kind": "fixed", "value": 2}
    assert tradeoff.best_lines(replace(result, experiment=result.experiment.with_changes(lines=lines)))[1] == 3


def test_a_pure_line_may_stand_for_a_promise_with_a_delta_and_not_the_other_way_round():
    """By a private function: what is public gives the best line only."""
    experiment = load_preset("trust-ladder")
    local, shuffler, curator = 4, 3, 1
    assert tradeoff._keeps(experiment, local, shuffler) and tradeoff._keeps(experiment, local, curator)
    assert not tradeoff._keeps(experiment, shuffler, curator)  # it keeps that with a delta only
    assert not tradeoff._keeps(experiment, curator, shuffler) and not tradeoff._keeps(experiment, 0, local)


def test_a_pure_line_stands_for_a_concentrated_promise_where_half_its_square_is_no_larger():
    """Bun and Steinke 2016: ε-DP is (ε²/2)-zCDP. By a private function, as above."""
    whole = load_preset("trust-ladder")
    rho = tradeoff.kept(whole.with_changes(lines=MIXED[:1]), 0).rho
    for share in (0.999, 1.001):
        pure = {"policy": "dp-se", "epsilon": {"kind": "fixed", "value": share * (2 * rho) ** 0.5}}
        experiment = whole.with_changes(lines=[pure, MIXED[0]])
        assert tradeoff._keeps(experiment, 0, 1) == (share < 1)


def test_in_home_s_picture_a_curator_is_a_level_also_where_it_needs_no_trust():
    experiment = trust_table.moved(load_preset("trust"), 8.0).with_changes(horizon=10_000, trials=20)
    assert [tradeoff.level_of(experiment, line) for line in range(3)] == ["none", "central", "local"]
    assert tradeoff.ladder(experiment) == (2, 1, 0)
    first, _ = tradeoff.steps(simulate(experiment, jobs=1))
    assert (first.stronger, first.weaker, first.saved.value, first.same, first.clear) == (2, 1, 0, True, False)
    other = experiment.with_changes(horizon=5000)  # one of one's own: two promises only
    assert [tradeoff.level_of(other, line) for line in range(3)] == ["none", "local", "local"]


# ---------------------------------------------------------------------------------------------------------------------
# The threshold heuristic: quadrature, V_L and V_B, recommended thresholds, the table.


REN_DISCRETE = Discrete(values=(0, 0.2, 1, 2, 100))
REN_GAUSSIAN = ClampedGaussian(mean=1, sd=1, low=0, high=100)
CONTINUOUS = [
    REN_GAUSSIAN,
    ClampedGaussian(mean=50, sd=5, low=0, high=100),
    ClampedGaussian(mean=0.5, sd=0.05, low=0, high=100),
    ClampedGaussian(mean=-119, sd=10, low=0, high=100),
    ClampedGaussian(mean=1e4, sd=1000, low=0, high=900),
    ClampedGaussian(mean=1000, sd=0.01, low=0, high=1000),
    UniformEpsilon(low=0, high=1),
    UniformEpsilon(low=3, high=3.001),
    UniformEpsilon(low=0, high=1000),
    Lognormal(median=1, sigma=0.01),
    Lognormal(median=0.001, sigma=2),
    Lognormal(median=1, sigma=10),
    Lognormal(median=1000, sigma=0.5),
]
FUNCTIONS = {
    "one": np.ones_like,
    "alpha": lambda epsilon: epsilon**-2.0,
    "v_l": lambda epsilon: (1 + 4 / epsilon) ** 2,
    "v_b": beta,
    "contrast": lambda epsilon: np.tanh(epsilon / 2) ** 2,
}


def by_adaptive_quadrature(law, function, eps_min):
    """E[function 1{eps >= eps_min}] from the definition of the law alone, panel by panel."""
    if isinstance(law, Lognormal):
        start = max(math.log(eps_min / law.median) / law.sigma, -13 - 2 * law.sigma)
        pieces = np.linspace(start, max(start, 0) + 13, 60)

        def integrand(z):
            at = np.array(law.median * math.exp(law.sigma * z))
            return float(function(at)) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

        atoms = 0.0
    else:
        low, high = law.low, law.high
        if isinstance(law, ClampedGaussian):
            scaled = math.sqrt(2) * law.sd
            ends = [
                (low, math.erfc((law.mean - low) / scaled) / 2),
                (high, math.erfc((high - law.mean) / scaled) / 2),
            ]
            atoms = sum(float(function(np.array(at))) * p for at, p in ends if at >= eps_min and p > 0)
            centre = min(max(law.mean, low), high)
            low, high = max(low, centre - 14 * law.sd), min(high, centre + 14 * law.sd)

            def density(at):
                return math.exp(-(((at - law.mean) / law.sd) ** 2) / 2) / (law.sd * math.sqrt(2 * math.pi))
        else:
            atoms = 0.0

            def density(at):
                return 1 / (law.high - law.low)

        low = max(low, eps_min)
        pieces = np.union1d(np.linspace(low, high, 60), np.geomspace(low, high, 30)) if low < high else []

        def integrand(at):
            return float(function(np.array(at))) * density(at)

    panels = [integrate.quad(integrand, a, b, epsabs=0, epsrel=1e-12)[0] for a, b in pairwise(pieces)]
    return atoms + math.fsum(panels)


@pytest.mark.parametrize("law", CONTINUOUS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
def test_quadrature_agrees_with_adaptive_integration(law, name):
    for eps_min in (1e-6, 0.3, 2.5):
        expected = by_adaptive_quadrature(law, FUNCTIONS[name], eps_min)
        assert law.expect_above(FUNCTIONS[name], eps_min) == pytest.approx(expected, rel=1e-8, abs=1e-280)


@pytest.mark.parametrize("law", [*CONTINUOUS, REN_DISCRETE, Fixed(value=0.5)], ids=str)
def test_one_pass_over_many_thresholds_equals_one_at_a_time(law):
    grid = np.array([2.5, 0.2, 1e-3, 1.0, 100.0, 1e5])
    together = law.expect_above_each(beta, grid)
    assert together.shape == grid.shape
    assert together == pytest.approx([law.expect_above(beta, each) for each in grid], rel=1e-9, abs=1e-290)


def test_discrete_v_by_hand():
    kept = np.array([1.0, 2.0, 100.0])
    assert threshold.v_l(REN_DISCRETE, 1.0) == pytest.approx(np.mean((1 + 4 / kept) ** 2) / 0.6)
    assert threshold.v_b(REN_DISCRETE, 1.0) == pytest.approx(np.mean(1 / np.tanh(kept / 2) ** 2) / 0.6)
    assert threshold.v_l(REN_DISCRETE, 100.0) == pytest.approx(1.04**2 / 0.2)
    assert threshold.v_w(REN_DISCRETE) == pytest.approx(5 / np.sum(np.tanh(np.array([0.2, *kept]) / 2) ** 2))
    assert threshold.v_w(REN_DISCRETE, 2.0) == pytest.approx(5 / (np.tanh(1) ** 2 + 1))


def test_recommended_of_the_paper():
    assert threshold.recommended(REN_DISCRETE, "v_l") == 100
    assert threshold.recommended(REN_DISCRETE, "v_b") == 2
    table = thresholds(REN_GAUSSIAN, [0.5, 1.0, 1.5, 2.0])
    assert table["eps_min"][table["v_l"].idxmin()] == 1.0
    assert table["eps_min"][table["v_b"].idxmin()] == 1.0


@pytest.mark.parametrize("rule", ["v_l", "v_b"])
def test_one_epsilon_recommends_itself(rule):
    assert threshold.recommended(Fixed(value=0.1234567891), rule) == 0.1234567891
    assert threshold.recommended(Discrete(values=(0.7, 0.7)), rule) == 0.7


@pytest.mark.parametrize("law", [*CONTINUOUS, EmpiricalEpsilon(values=(0, 0.3, 0.3, 2.5, 7))], ids=str)
@pytest.mark.parametrize("rule", ["v_l", "v_b"])
def test_recommended_is_the_least_of_the_searched_curve(law, rule):
    best = threshold.recommended(law, rule)
    grid, shares, v_l, v_b, v_w = threshold.search(law)
    searched = {"v_l": v_l, "v_b": v_b}[rule]
    height = {"v_l": threshold.v_l, "v_b": threshold.v_b}[rule](law, best)
    assert best > 0
    assert law.share_above(best) > 0
    assert height <= searched.min() * (1 + 1e-9)
    assert np.all(v_w <= v_b * (1 + 1e-9)) and np.all(np.diff(v_w) >= -1e-9 * v_w[:-1])  # nobody need be ignored
    assert np.all(np.diff(grid) > 0)
    assert np.all(np.diff(shares) <= 1e-12)
    threshold.recommended.cache_clear()
    assert threshold.recommended(law, rule) == best


def test_nobody_above_the_threshold_costs_infinitely_much():
    table = thresholds({"kind": "uniform", "low": 0, "high": 1}, [0.5, 2.0])
    assert list(table.columns) == ["eps_min", "p0", "v_l", "v_b", "v_w"]
    assert table["p0"].tolist() == pytest.approx([0.5, 0.0])
    assert np.isfinite(table["v_l"][0])
    assert math.isinf(table["v_l"][1])
    assert math.isinf(table["v_b"][1])
    assert thresholds("uniform(0,1)", [0.5, 2.0]).equals(table)
    assert math.isinf(table["v_w"][1])
    assert table.attrs["recommended"] == {
        "v_l": threshold.recommended(UniformEpsilon(low=0, high=1), "v_l"),
        "v_b": threshold.recommended(UniformEpsilon(low=0, high=1), "v_b"),
    }


def test_without_thresholds_the_searched_grid_is_shown():
    assert thresholds(REN_DISCRETE)["eps_min"].tolist() == [0.2, 1, 2, 100]
