"""What each step of trust saves, and where lines change places, on results whose numbers are known."""

from dataclasses import replace

import numpy as np
import pytest

from bandit_core import Experiment, load_preset, simulate
from bandit_core.experiments import trust_table
from bandit_core.experiments.presets import at_shared
from bandit_core.model import PROMISES
from bandit_core.simulation.results import LineResult, Result
from bandit_core.studies import tradeoff
from bandit_core.studies.sweep import sweep

LINES = ("ucb", "dp-se", "ucb-cf", "dp-ucb", "thompson")
RNG = np.random.default_rng(1)
NOISE = RNG.normal(size=(20, 3))


def experiment_of(**view):
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
    return Result(experiment_of(**view), times, tuple(played), tuple(None for _ in played))


def test_the_ladder_goes_from_least_trust_to_most_and_takes_the_first_visible_line():
    assert tradeoff.ladder(experiment_of()) == (2, 1, 0)
    assert tradeoff.ladder(experiment_of(hidden=[1, 0])) == (2, 3, 4)
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


def test_no_step_of_trust_clearly_costs_anything_at_any_budget():
    experiment = load_preset("trust-ladder").with_changes(trials=100)
    swept = sweep(experiment, (0.3, 1.0, 10.0), jobs=1)
    taken = 0
    for result in swept.results:
        assert all(step.saved.low >= 0 or not step.clear for step in tradeoff.steps(result))
        taken += sum(step.same for step in tradeoff.steps(result))
    assert taken  # else this test sees nothing


def test_in_home_s_picture_a_curator_is_a_level_also_where_it_needs_no_trust():
    experiment = trust_table.moved(load_preset("trust"), 8.0).with_changes(horizon=10_000, trials=20)
    assert [tradeoff.level_of(experiment, line) for line in range(3)] == ["none", "central", "local"]
    assert tradeoff.ladder(experiment) == (2, 1, 0)
    first, _ = tradeoff.steps(simulate(experiment, jobs=1))
    assert (first.stronger, first.weaker, first.saved.value, first.same, first.clear) == (2, 1, 0, True, False)
    other = experiment.with_changes(horizon=5000)  # one of one's own: two promises only
    assert [tradeoff.level_of(other, line) for line in range(3)] == ["none", "local", "local"]
