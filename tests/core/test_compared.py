"""Runs side by side: what differs, one table, one picture, and paired tests only where trials meet the same users."""

import json
import math

import numpy as np
import pytest

from bandit_core import Experiment, InputError, address, compare
from bandit_core.cli import main
from bandit_core.experiments.arguments import experiment_of
from bandit_core.studies.compared import names_of

BASE = Experiment(
    arms=[{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)],
    lines=[{"policy": "ucb"}, {"policy": "dp-se", "epsilon": {"kind": "fixed", "value": 1.0}}],
    horizon=200,
    trials=30,
)
LESS = BASE.with_changes(lines=[{"policy": "ucb"}, {"policy": "thompson"}], trials=20)
LONGER = BASE.with_changes(horizon=400)


def test_only_what_differs_is_listed():
    found = compare([BASE, LESS, LONGER]).differences
    assert set(found.index) == {"lines", "trials", "horizon"}
    assert found.loc["trials"].tolist() == [30, 20, 30] and found.loc["horizon"].tolist() == [200, 200, 400]


def test_lines_of_runs_with_the_same_users_are_tested_in_pairs():
    found = compare([BASE, LESS, LONGER])
    tests = found.tests
    assert set(zip(tests["first_run"], tests["second_run"], strict=True)) == {("A", "B")}  # others meet other users
    assert len(tests) == 3 and set(tests["pairs"]) == {20}  # UCB is the same line in both
    row = tests[(tests["first_label"] == "UCB") & (tests["second_label"] == "Thompson sampling")].iloc[0]
    first, second = found.results[0].lines[0], found.results[1].lines[1]
    assert row["difference"] == pytest.approx((first.regret[:20, -1] - second.regret[:, -1]).mean())
    assert row["p_corrected"] >= row["p_value"] >= row["p_floor"] == 2.0**-19


def test_all_curves_are_in_one_picture_and_a_shorter_run_ends_earlier():
    found = compare([BASE, LONGER])
    whole = found.together
    assert [whole.experiment.label(number).split(":")[0] for number in range(4)] == ["A", "A", "B", "B"]
    ends = [line.mean[-1] for line in whole.lines]
    assert math.isnan(ends[0]) and math.isnan(ends[1])
    assert ends[2:] == [line.mean[-1] for line in found.results[1].lines]
    at = whole.times.tolist().index(200) if 200 in whole.times else np.searchsorted(whole.times, 200) - 1
    assert whole.lines[0].mean[at] <= found.results[0].lines[0].mean[-1] + 1e-9
    figure = found.plot()
    assert {name: Experiment(**made["spec"]) for name, made in figure.layout.meta.items()} == {"A": BASE, "B": LONGER}
    assert "B: <Experiment" in repr(found) and found._repr_html_().count("<tr") == 1 + 4  # private: a notebook's
    named = [trace.name for trace in figure.data if trace.name]
    assert sum("A: " in name for name in named) == sum("B: " in name for name in named) == 2


def test_the_command_takes_files_presets_and_links(tmp_path, capsys):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(BASE.spec()), encoding="utf-8")
    specs = [str(file), address(LESS), "--jobs", "1"]
    assert main(["compare", *specs]) == 0
    out, err = capsys.readouterr()
    assert [row.split(",")[0] for row in out.splitlines()] == ["run", "mine", "mine", "B", "B"]
    assert "trials" in err and "horizon" not in err
    assert main(["compare", *specs, "--tests"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4
    assert main(["compare", *specs, "--out", str(tmp_path / "both.svg")]) == 0
    assert "mine: UCB" in (tmp_path / "both.svg").read_text(encoding="utf-8")


def test_one_run_is_nothing_to_compare_and_seven_are_too_many():
    for count in (1, 7):
        with pytest.raises(InputError, match="experiments"):
            compare([BASE] * count)


def test_a_link_stands_for_an_experiment_and_a_broken_one_is_refused():
    assert experiment_of(address(BASE)) == BASE
    with pytest.raises(InputError, match="lines"):
        experiment_of("http://localhost:8501/explore?lines=nobody")
    assert names_of(["a/x.toml", "b/x.toml", "trust", "?eps=1"]) == ["A", "B", "trust", "D"]
