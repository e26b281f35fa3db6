"""What policies say they release, for the whole registry: it adds up to the guarantee at most, and to most of it."""

import io
import json
import math

import numpy as np
import pandas as pd
import pytest
from helpers import fixed
from helpers import line_of as experiment_of

from bandit_core import Experiment
from bandit_core.cli import main
from bandit_core.mechanisms.gaussian import smallest_epsilon
from bandit_core.model import Release
from bandit_core.policies import registry
from bandit_core.studies.production import COLUMNS, composed, releases
from bandit_core.theory import definitions

PRIVATE = [name for name, policy in registry().items() if policy.privacy != "none"]
SPREAD = {"kind": "discrete", "values": [0.5, 2.0], "probs": [0.5, 0.5]}


def cases(name):
    """Every account and every counter of a policy, at several budgets, horizons and structures."""
    fields = registry()[name].parameters.model_json_schema()["properties"]
    choices = [{field: word} for field in ("accounting", "counter") for word in fields.get(field, {}).get("enum", [])]
    for params in choices or [{}]:
        for epsilon, horizon in ((0.1, 1), (1.0, 77), (0.5, 100_000), (4.0, 2**20), (1.0, 10**9)):
            for structure in ("single", "multi") if registry()[name].setting == "contexts" else ("single",):
                yield experiment_of(name, fixed(epsilon), horizon, structure, **params)


@pytest.mark.parametrize("name", PRIVATE)
def test_what_is_released_adds_up_to_the_guarantee_and_to_most_of_it(name):
    for experiment in cases(name):
        policy, instance = registry()[name], experiment.setups[0]
        listed, guarantee = policy.releases(instance), policy.guarantee(instance)
        kept = composed(listed, guarantee.delta)
        assert kept <= guarantee.epsilon * (1 + 1e-9)
        if guarantee.delta == 0:
            assert kept >= policy.spent(instance, np.array([instance.horizon]))[0] * (1 - 1e-9)
            assert kept >= 0.5 * guarantee.epsilon
        elif name != "dp-ucb-int":
            assert kept >= guarantee.epsilon * (1 - 1e-9)


@pytest.mark.parametrize("name", [name for name in registry() if name not in PRIVATE])
def test_without_privacy_there_is_nothing_to_list(name):
    assert registry()[name].releases(experiment_of(name).setups[0]) == []
    assert releases(experiment_of(name)).shape == (0, len(COLUMNS))


@pytest.mark.parametrize("name", [name for name in PRIVATE if registry()[name].epsilon == "any"])
def test_where_users_have_budgets_of_their_own_the_row_has_the_largest(name):
    (listed,) = registry()[name].releases(experiment_of(name, SPREAD).setups[0])
    assert listed.epsilon == 2.0
    assert "own" in listed.at
    assert "own" not in registry()[name].releases(experiment_of(name, fixed(2.0)).setups[0])[0].at
    params = {"eps_min": 0.5} if "eps_min" in registry()[name].parameters.model_fields else {}
    endless = experiment_of(name, {"kind": "lognormal", "median": 1.0, "sigma": 1.0}, **params)
    (listed,) = registry()[name].releases(endless.setups[0])
    assert listed.epsilon == endless.lines[0].epsilon.largest


@pytest.mark.parametrize(("word", "interval"), [("paper", 16), ("advanced", 153), ("tight", 93)])
def test_the_releases_of_dp_ucb_int_one_by_one(word, interval):
    experiment = experiment_of("dp-ucb-int", fixed(1.0), 50 * interval, accounting=word)
    found = releases(experiment)
    pulls = interval * np.arange(1, 50)  # the other arm has its first round
    assert np.allclose(1 / found["sensitivity"], pulls)
    assert np.allclose(found["scale"], pulls ** (1.1 / 2 - 1))
    assert np.allclose(found["epsilon"], pulls ** (-1.1 / 2))
    assert set(found["times"]) == {1}
    by_hand = sum(definitions.laplace_renyi(definitions.ORDERS, each) for each in found["epsilon"])
    delta = math.exp(-10)
    listed = registry()["dp-ucb-int"].releases(experiment.setups[0])
    assert composed(listed, delta) == pytest.approx(float(definitions.renyi_epsilon(by_hand, delta)), rel=1e-3)
    assert composed(listed, delta) <= definitions.interval_epsilon(interval, 1.1, delta, pulls[-1])


@pytest.mark.parametrize("v", [1.02, 1.1, 1.5])
def test_late_releases_are_told_together_without_spending_less(v):
    experiment = experiment_of("dp-ucb-int", fixed(1.0), 3 * 10**6, v=v)
    interval = definitions.release_interval(1.0, math.exp(-10), v)
    listed = registry()["dp-ucb-int"].releases(experiment.setups[0])
    count = (3 * 10**6 - interval) // interval
    assert sum(each.times for each in listed) == count
    exact = np.sum((interval * np.arange(1.0, count + 1)) ** -v)
    message = sum(each.times * each.epsilon**2 for each in listed)
    assert exact <= message <= exact * 1.0005
    assert len(listed) < 20_000


def test_composition_by_hand():
    def laplace(epsilon, times=1):
        return Release(
            mechanism="laplace", released="", unit="one reward", at="", times=times, norm="L1", sensitivity=2.0,
            scale=2.0 / epsilon,
        )  # fmt: skip

    def normal(distance, times=1):
        return Release(
            mechanism="gaussian", released="", unit="one reward", at="", times=times, norm="L2", sensitivity=distance,
            scale=1.0,
        )  # fmt: skip

    bit = Release(mechanism="randomised response", released="", unit="one reward", at="", budget=0.25)
    assert composed([]) == composed([], 0.1) == 0
    assert composed([laplace(0.5, 3), bit]) == 1.75
    assert composed([laplace(0.5, 3), bit], 1e-9) == pytest.approx(
        1.75
    )  # few releases: the sum is smaller than what delta buys
    assert composed([normal(1.0)]) == math.inf  # normal noise is not pure
    assert composed([normal(3.0), normal(2.0, 4)], 1e-5) == pytest.approx(smallest_epsilon(5.0, 1.0, 1e-5))
    mixed = composed([normal(0.5), laplace(0.1, 100), bit], 1e-5)
    assert smallest_epsilon(0.5, 1.0, 1e-5) < mixed < 10.25
    assert composed([laplace(math.inf)], 1e-5) == math.inf


# -------------------------------------------------------------------------------------------------------------------
# The command line, and parameters told


def test_the_command_prints_what_the_function_gives(tmp_path, capsys):
    spec = experiment_of("dp-ucb", fixed(1.0), 1000).spec()
    spec["lines"].append({"policy": "ucb"})
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(spec), encoding="utf-8")
    assert main(["releases", str(path)]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert tuple(printed.columns) == COLUMNS
    expected = releases(Experiment.model_validate(spec))
    pd.testing.assert_frame_equal(printed, expected, check_dtype=False)
    assert (printed["line"] == 0).all() and len(printed) == 2
    out = tmp_path / "releases.json"
    assert main(["releases", str(path), "--out", str(out)]) == 0
    rows = json.loads(out.read_text(encoding="utf-8"))
    assert [row["scale"] for row in rows] == expected["scale"].tolist()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("dp-ucb-int", "as printed", "paper"),
        ("dp-ucb-int", "calibrated", "advanced"),
        ("dp-ucb", "as printed", "paper"),
        ("dp-ucb-bound", "calibrated", "tight"),
    ],
)
def test_older_specs_still_run_as_they_did(name, old, new):
    experiment = experiment_of(name, fixed(1.0), accounting=old)
    assert experiment == experiment_of(name, fixed(1.0), accounting=new)
    assert experiment.spec()["lines"][0]["params"] == {"accounting": new}


@pytest.mark.parametrize(("name", "epsilon"), [("dist-rdp-se", 1.0), ("dist-linucb", 2.0), ("ldp-sgd", 1.0)])
def test_releases_that_state_a_budget_list_their_noise_as_well(name, epsilon):
    setup = experiment_of(name, fixed(epsilon), 5000, "single").setups[0]
    [release] = registry()[name].releases(setup)
    noise, made = release.scale, registry()[name].prepare(setup).arguments
    [numbers] = [part for part in made if hasattr(part, "_fields") and {"levels", "ball", "spread"} & {*part._fields}]
    if name == "ldp-sgd":
        assert noise == numbers.ball.radius > 1
    elif name == "dist-linucb":
        assert noise == pytest.approx(math.sqrt(numbers.variance) / numbers.levels) and release.sensitivity > 1
    else:
        assert noise == pytest.approx(math.sqrt(numbers.spread[0]) / numbers.levels[0])
    assert release.epsilon == release.budget
