"""Presets of central privacy: the papers' settings, and their quick forms run."""

import math

import numpy as np
import pytest

from bandit_core import load_preset, simulate
from bandit_core.experiments.presets import group, preset_names
from bandit_core.simulation.costs import STEP_SECONDS

FIELDS = {
    1: [0.75, 0.7, 0.7, 0.7, 0.7],
    2: [0.75, 0.625, 0.5, 0.375, 0.25],
    3: [0.75, 0.53125, 0.375, 0.28125, 0.25],
    4: [0.75, 0.71875, 0.625, 0.46875, 0.25],
}
QUICK = [f"{paper}-{number}" for paper in ("adap", "dp-klucb") for number in FIELDS] + ["adap-sweep"]
TWO, TEN = [0.9, 0.6], [0.1] * 8 + [0.55, 0.2]


@pytest.mark.parametrize(
    ("letter", "means", "epsilon"), [("a", TWO, 1.0), ("b", TWO, 0.1), ("c", TEN, 1.0), ("d", TEN, 0.1)]
)
def test_tossous_figure_has_the_papers_settings(letter, means, epsilon):
    experiment = load_preset(f"tossou-2{letter}")
    assert (experiment.horizon, experiment.trials) == (100_000, 100)
    assert sorted(experiment.means) == pytest.approx(sorted(means))
    assert [line.policy for line in experiment.lines] == ["ucb", "dp-ucb-int", "dp-ucb", "dp-ucb-bound", "private-ucb"]
    assert {line.epsilon.fixed for line in experiment.lines[1:]} == {epsilon}
    interval = experiment.setups[1].parameters
    assert (interval.delta, interval.v) == (pytest.approx(math.exp(-10)), 1.1)
    assert experiment.setups[4].parameters.variant == "2015"
    assert experiment.setups[4].parameters.gamma == "t^-4"
    assert (experiment.view.x, experiment.view.y) == ("log", "log")


@pytest.mark.parametrize("number", FIELDS)
def test_instances_of_the_later_papers(number):
    optimal, adaptive = load_preset(f"dp-klucb-{number}"), load_preset(f"adap-{number}")
    for experiment in (optimal, adaptive):
        np.testing.assert_allclose(experiment.means, FIELDS[number])
    assert (optimal.horizon, optimal.trials) == (10**6, 100)
    assert (adaptive.horizon, adaptive.trials) == (10**7, 20)
    assert {line.epsilon.fixed for line in optimal.lines if line.epsilon} == {0.1}
    assert {line.epsilon.fixed for line in adaptive.lines if line.epsilon} == {1.0}
    assert {"dp-klucb", "dp-imed", "dp-se", "adap-klucb", "lazy-dp-ts"} <= {line.policy for line in optimal.lines}
    assert {"adap-ucb", "adap-klucb", "dp-se"} <= {line.policy for line in adaptive.lines}


@pytest.mark.parametrize("name", QUICK)
def test_the_quick_variant_differs_by_its_horizon_only(name):
    full, quick = load_preset(name), load_preset(f"{name}-quick")
    assert quick.horizon == 10**5
    assert quick == full.with_changes(horizon=10**5, title=quick.title, note=full.note)


@pytest.mark.parametrize("name", [f"tossou-2{letter}" for letter in "abcd"] + [f"{name}-quick" for name in QUICK])
def test_every_line_runs(name):
    experiment = load_preset(name).with_changes(horizon=20_000, trials=3)
    result = simulate(experiment, jobs=1)
    assert result.complete
    for line in result.lines:
        assert np.all(np.diff(line.mean) >= -1e-9)
        assert 0 < line.mean[-1] < 0.999 * experiment.horizon * experiment.largest_gap


def test_trust_is_live_and_shows_the_three_models_in_their_order():
    experiment = load_preset("trust")
    assert [line.entry.privacy for line in experiment.lines] == ["none", "central", "local"]
    assert {line.epsilon.fixed for line in experiment.lines if line.epsilon} == {1.0}
    costs = [line.entry.cost(one) for line, one in zip(experiment.lines, experiment.setups, strict=True)]
    assert experiment.horizon * experiment.trials * STEP_SECONDS * sum(costs) < 1.0  # estimated on one core
    free, central, local = (line.mean[-1] for line in simulate(experiment, jobs=1).lines)
    assert free < central < local


def test_groups():
    assert "Tossou" in group("tossou-2a") and "Basu" in group("adap-1") and "2025" in group("dp-klucb-1-quick")
    assert group("trust") == "Lessons"
    assert {"adap-sweep", "trust"} <= set(preset_names())
