"""Preset files: found by themselves, each a valid spec with one plain sentence, and the paper's settings."""

import tomllib

import numpy as np
import pytest

from bandit_core.experiments.experiment import Experiment, parse
from bandit_core.experiments.presets import FOLDER, load_preset, preset_names, presets
from bandit_core.simulation.costs import STEP_SECONDS
from bandit_core.spec.errors import InputError
from ui.examples import QUICK
from ui.player.slider import SMALL

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
    assert all((SMALL / f"{preset.name.removesuffix(QUICK)}-{ground}.svg").exists() for ground in ("dark", "light"))


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_file_says_nothing_that_the_spec_drops(name):
    document = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    assert document.pop("group")
    experiment = Experiment.model_validate(document)
    assert experiment.spec() == document
    assert experiment.view.x == experiment.view.y  # logarithmic regret over log users looks like an explosion


LATER = {
    1: [0.75, 0.7, 0.7, 0.7, 0.7],
    2: [0.75, 0.625, 0.5, 0.375, 0.25],
    3: [0.75, 0.53125, 0.375, 0.28125, 0.25],
    4: [0.75, 0.71875, 0.625, 0.46875, 0.25],
}
TAO = {"1": [0.9, 0.7, 0.5, 0.3, 0.1], "2": [0.9, 0.55, 0.3, 0.15, 0.1], "3": [0.9, 0.85, 0.7, 0.45, 0.1]}
TWO, TEN = [0.9, 0.6], [0.1] * 8 + [0.55, 0.2]
OPTIMAL = {"dp-klucb", "dp-imed", "dp-se", "adap-klucb", "lazy-dp-ts"}
ADAPTIVE = {"adap-ucb", "adap-klucb", "dp-se"}
TOSSOU = {"ucb", "dp-ucb-int", "dp-ucb", "dp-ucb-bound", "private-ucb"}
LINES = {"ucb", "heldp-ucb-b", "heldp-ucb-l"}
SETTINGS = {  # of the papers: means, horizon, trials, budgets of the private lines, and some of the policies
    "default": (MEANS, 10_000, 50, {2.0}, LINES),
    **{f"ren-1{letter}": (MEANS, 10**7, 50, None, set()) for letter in "abefgh"},
    **{f"ren-1{letter}": (MEANS, 6 * 10**6, 50, {epsilon}, LINES) for letter, epsilon in (("c", 2.0), ("d", 0.2))},
    "ren-2": (MEANS, 10**7, 50, None, set()),
    **{f"tossou-2{letter}": (means, 10**5, 100, {epsilon}, TOSSOU)
       for letter, means, epsilon in (("a", TWO, 1.0), ("b", TWO, 0.1), ("c", TEN, 1.0), ("d", TEN, 0.1))},
    **{f"dp-klucb-{number}": (means, 10**6, 100, {0.1}, OPTIMAL) for number, means in LATER.items()},
    **{f"adap-{number}": (means, 10**7, 20, {1.0}, ADAPTIVE) for number, means in LATER.items()},
    **{f"tao-s{s}-v{v}-e{e}": (means, None, 90, {float(e) / 10}, {"dp-robust-ucb", "dp-robust-se"})
       for s, means in TAO.items() for v in ("05", "09") for e in ("05", "10")},
    **{f"tao-s3-local-v{v}": (TAO["3"], None, 90, {5.0, 10.0, 20.0}, {"ldp-robust-se"}) for v in ("05", "09")},
    "gajane-1": ([0.9] + [0.8] * 9, 10**5, None, None, {"kl-ucb", "ucb-cf", "kl-ucb-cf", "ts-cf"}),
    "hu-1": (LATER[2], 10**5, None, {0.1, 0.25, 0.5, 1.0, 500.0}, {"lazy-dp-ts"}),
    "sajed-1": (LATER[2], None, None, None, {"dp-se"}),
}  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_a_figure_has_the_settings_of_its_paper(name):
    means, horizon, trials, budgets, policies = SETTINGS[name]
    experiment = load_preset(name)
    assert sorted(experiment.means) == pytest.approx(sorted(means), rel=1e-12)
    assert (horizon or experiment.horizon, trials or experiment.trials) == (experiment.horizon, experiment.trials)
    assert budgets in (None, {line.epsilon.fixed for line in experiment.lines if line.epsilon})
    assert policies <= {line.policy for line in experiment.lines}
    if name.startswith("tao"):
        v = 0.5 if "v05" in name else 0.9
        assert {arm.shape for arm in experiment.single_arms} == {round(1.05 + v, 2)}
        assert {line.params["v"] for line in experiment.lines} == {v}
        assert "ours" in experiment.note and experiment.view.band == "quarter-sd"  # the paper states no constants
    if name.startswith("tossou"):
        interval, variant = experiment.setups[1].parameters, experiment.setups[4].parameters
        assert (interval.delta, interval.v) == (pytest.approx(np.exp(-10)), 1.1)
        assert (variant.variant, variant.gamma) == ("2015", "t^-4")


@pytest.mark.parametrize("name", ["han-single", "han-multi"])
def test_hans_figures_have_the_settings_of_the_published_code(name):
    full = load_preset(name)
    assert (full.horizon, full.trials) == (10**6, 10)
    users = full.contexts
    assert [line.policy for line in full.lines] == ["ldp-ols", "ldp-sgd", "ldp-linucb", "ldp-gloc"] * 2
    assert [line.epsilon.fixed for line in full.lines] == [0.5] * 4 + [1.0] * 4
    deltas = {full.setups[i].parameters.delta for i, line in enumerate(full.lines) if line.policy != "ldp-sgd"}
    if name == "han-single":
        assert (users.dimension, users.arms, users.structure, users.noise) == (2, 10, "single", 0)
        assert (users.law.kind, deltas) == ("sphere", {0.01})
    else:
        assert (users.dimension, users.arms, users.structure, users.noise) == (20, 3, "multi", 0.05)
        assert (users.law.kind, users.law.sd, deltas) == ("gaussian", 1.0, {0.1})
        assert {instance.parameters.warm_up for instance in full.setups if hasattr(instance.parameters, "h")} == {1000}
    steps = {instance.parameters.step for instance in full.setups if hasattr(instance.parameters, "step")}
    assert steps == {5.0 * users.models}


@pytest.mark.parametrize("name", [name.removesuffix("-quick") for name in preset_names() if name.endswith("-quick")])
def test_the_quick_variant_differs_by_its_horizon_only(name):
    full, quick = load_preset(name), load_preset(f"{name}-quick")
    assert quick.horizon == 10**5
    assert quick == full.with_changes(horizon=10**5, title=quick.title, note=quick.note)


def test_figures_c_and_d_mix_reward_laws():
    for name in ("ren-1c", "ren-1d"):
        assert [arm.kind for arm in load_preset(name).arms] == [
            "bernoulli",
            "beta",
            "two-point",
            "bernoulli",
            "uniform",
        ]


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


@pytest.mark.parametrize("name", ["default", "trust", *LESSONS])
def test_opening_and_lesson_presets_are_cheap_enough_to_be_live(name):
    experiment = load_preset(name)
    assert experiment.horizon <= 20_000
    costs = [line.entry.cost(one) for line, one in zip(experiment.lines, experiment.setups, strict=True)]
    pulls = experiment.horizon * experiment.trials * sum(costs)
    assert pulls * STEP_SECONDS < 0.5


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


def test_presets_with_features_have_the_settings_that_are_known():
    assert {line.policy for line in load_preset("zheng-1").lines} == {"linucb", "ldp-linucb"}
    for letter, epsilon in (("a", 0.2), ("b", 1.0), ("c", 10.0)):
        features = load_preset(f"chowdhury-zhou-1{letter}")
        assert (features.contexts.dimension, features.contexts.arms, features.horizon) == (5, 100, 20_000)
        assert {line.epsilon.fixed for line in features.lines if line.epsilon} == {epsilon}
