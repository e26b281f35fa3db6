"""Preset files: found by themselves, each a valid spec with one plain sentence, and the paper's settings."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

from bandit_core.experiments.experiment import Experiment, parse
from bandit_core.experiments.presets import FOLDER, load_preset, preset_names, presets
from bandit_core.simulation.costs import STEP_SECONDS
from bandit_core.spec.errors import InputError

FIGURES = [f"ren-1{letter}" for letter in "abcdefgh"] + ["ren-2"]
LESSONS = ["first-look", "shy-users", "two-treatments", "unbounded-rewards"]
MEANS = np.repeat([0.9, 0.8, 0.7, 0.6, 0.5], [1, 5, 5, 5, 4])


def test_every_file_is_a_preset_and_every_expected_one_is_there():
    expected = {"default", *LESSONS, *FIGURES, *(f"{name}-quick" for name in FIGURES)}
    assert expected <= set(preset_names())
    assert set(preset_names()) == {path.stem for path in FOLDER.glob("*.toml")}


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
def test_a_preset_speaks_in_one_plain_sentence(preset):
    assert preset.title and preset.group
    assert preset.note.endswith(".") and ". " not in preset.note
    labels = [preset.experiment.label(line) for line in range(len(preset.experiment.lines))]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_file_says_nothing_that_the_spec_drops(name):
    document = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    assert document.pop("group")
    experiment = Experiment.model_validate(document)
    assert experiment.spec() == document
    assert experiment.view.x == experiment.view.y  # logarithmic regret over log users looks like an explosion


@pytest.mark.parametrize("name", FIGURES)
def test_rens_figures_have_the_papers_settings(name):
    experiment = load_preset(name)
    at_reported_ratios = name in ("ren-1c", "ren-1d")
    assert (experiment.horizon, experiment.trials) == (6 * 10**6 if at_reported_ratios else 10**7, 50)
    np.testing.assert_allclose(experiment.means, MEANS, rtol=1e-12)


@pytest.mark.parametrize("name", FIGURES)
def test_the_quick_variant_differs_by_its_horizon_only(name):
    full, quick = load_preset(name), load_preset(f"{name}-quick")
    assert quick.horizon == 10**5
    assert quick == full.with_changes(horizon=10**5, title=quick.title, note=quick.note)


def epsilons(name):
    return [line.epsilon.fixed for line in load_preset(name).lines if line.epsilon is not None]


def test_figures_c_and_d_mix_reward_laws():
    for name, epsilon in (("ren-1c", 2.0), ("ren-1d", 0.2)):
        experiment = load_preset(name)
        assert [line.policy for line in experiment.lines] == ["ucb", "heldp-ucb-b", "heldp-ucb-l"]
        assert epsilons(name) == [epsilon, epsilon]
        kinds = [arm.kind for arm in experiment.arms]
        assert kinds == ["bernoulli", "beta", "two-point", "bernoulli", "uniform"]


@pytest.mark.parametrize(
    ("name", "policy", "kind", "eps_mins"),
    [
        ("ren-1e", "heldp-ucb-l", "discrete", [0.2, 1, 2, 100]),
        ("ren-1f", "heldp-ucb-b", "discrete", [0.2, 1, 2, 100]),
        ("ren-1g", "heldp-ucb-l", "clamped-gaussian", [0.5, 1, 1.5, 2]),
        ("ren-1h", "heldp-ucb-b", "clamped-gaussian", [0.5, 1, 1.5, 2]),
    ],
)
def test_figures_e_to_h_compare_thresholds(name, policy, kind, eps_mins):
    lines = load_preset(name).lines
    assert {line.policy for line in lines} == {policy}
    assert {line.epsilon.kind for line in lines} == {kind}
    assert [line.params["eps_min"] for line in lines] == eps_mins


def test_figure_2_is_the_sixteen_lines_of_figures_e_to_h():
    def points(name):
        return {(line.policy, line.epsilon.kind, line.params["eps_min"]) for line in load_preset(name).lines}

    assert len(load_preset("ren-2").lines) == 16
    assert points("ren-2") == set().union(*(points(f"ren-1{letter}") for letter in "efgh"))


@pytest.mark.parametrize("name", ["default", *LESSONS])
def test_opening_and_lesson_presets_are_cheap_enough_to_be_live(name):
    experiment = load_preset(name)
    assert experiment.horizon <= 20_000
    costs = [line.entry.cost(one) for line, one in zip(experiment.lines, experiment.setups, strict=True)]
    pulls = experiment.horizon * experiment.trials * sum(costs)
    assert pulls * STEP_SECONDS < 0.5


def test_the_default_compares_no_privacy_with_both_mechanisms():
    experiment = load_preset("default")
    assert [line.policy for line in experiment.lines] == ["ucb", "heldp-ucb-b", "heldp-ucb-l"]
    assert epsilons("default") == [2.0, 2.0]
    assert (experiment.horizon, experiment.trials, experiment.seed) == (10_000, 50, 0)
    np.testing.assert_allclose(experiment.means, MEANS)


def test_every_file_says_its_group_which_is_no_part_of_the_spec():
    groups = {preset.name: preset.group for preset in presets()}
    said = {path.stem: tomllib.loads(path.read_text(encoding="utf-8"))["group"] for path in FOLDER.glob("*.toml")}
    assert groups == said
    assert groups["ren-1c-quick"] == groups["ren-2"] != groups["shy-users"]
    assert {groups[name] for name in LESSONS} == {"Lessons"}
    text = (FOLDER / "ren-1c.toml").read_text(encoding="utf-8")
    assert parse(text, "toml") == load_preset("ren-1c")
    with pytest.raises(InputError, match="group"):
        Experiment.model_validate(tomllib.loads(text))


@pytest.mark.parametrize("name", ["ren-1x", "", "../presets/default", "default.toml", "\0"])
def test_an_unknown_name_is_refused_with_names_that_look_like_it(name):
    with pytest.raises(InputError) as refusal:
        load_preset(name)
    assert refusal.value.issues[0].path == "preset"
    assert any(known in refusal.value.issues[0].allowed for known in preset_names())


def test_close_matches_are_named():
    with pytest.raises(InputError, match="shy-users"):
        load_preset("shy-user")


def test_presets_of_later_papers_have_the_settings_that_are_known():
    gajane, hu = load_preset("gajane-1"), load_preset("hu-1")
    np.testing.assert_allclose(gajane.means, [0.9] + [0.8] * 9)
    assert gajane.horizon == hu.horizon == 10**5
    assert {line.policy for line in gajane.lines} == {"kl-ucb", "ucb-cf", "kl-ucb-cf", "ts-cf"}
    lazy = [line.epsilon.fixed for line in hu.lines if line.policy == "lazy-dp-ts"]
    assert lazy == [0.1, 0.25, 0.5, 1, 500]
    np.testing.assert_allclose(load_preset("sajed-1").means, [0.75, 0.625, 0.5, 0.375, 0.25])
    assert {line.policy for line in load_preset("zheng-1").lines} == {"linucb", "ldp-linucb"}
    for letter, epsilon in (("a", 0.2), ("b", 1.0), ("c", 10.0)):
        features = load_preset(f"chowdhury-zhou-1{letter}")
        assert (features.contexts.dimension, features.contexts.arms, features.horizon) == (5, 100, 20_000)
        assert {line.epsilon.fixed for line in features.lines if line.epsilon} == {epsilon}
    groups = {preset.name: preset.group for preset in presets()}
    assert all(groups[name] != "Lessons" for name in ("gajane-1", "hu-1", "sajed-1", "zheng-1"))
