"""`decide`: the lines of a spec as questions to policies that stop, in CSV."""

import csv
import io
import json
import math

import numpy as np
import pytest

from bandit_core import InputError, cli, decide, load_preset, stopping_policies, time_bounds
from bandit_core.simulation.results import share_limits
from bandit_core.studies.best_arm import DECISION_COLUMNS as COLUMNS
from bandit_core.studies.best_arm import StoppingSpec, stopping, stopping_lines

ARMS = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.4, 0.6)]
TWO = {"kind": "fixed", "value": 2.0}


def document(*lines, **fields):
    return {"version": 1, "arms": ARMS, "lines": list(lines), "horizon": 10**6, "trials": 40, "seed": 5, **fields}


def line(policy, epsilon=2.0, **fields):
    budget = {} if stopping_policies()[policy].privacy == "none" else {"epsilon": {"kind": "fixed", "value": epsilon}}
    return {"policy": policy, **budget, **fields}


@pytest.fixture
def printed(tmp_path, capsys):
    """What the command prints for a document, as rows of text."""

    def call(said, *words):
        path = tmp_path / "question.json"
        path.write_text(json.dumps(said), encoding="utf-8")
        assert cli.main(["decide", str(path), *words]) == 0
        return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))

    return call


def test_every_policy_that_stops_is_asked_by_its_name_and_its_numbers_are_those_of_the_study(printed):
    names = ["top-two", "ctb-tt", "dp-tt", "adap-tt", "se", "ldp-se", "dp-se"]
    assert set(names) == set(stopping_policies())
    rows = printed(document(*map(line, names)), "--delta", "0.1", "--trials", "60")
    assert [row["policy"] for row in rows] == names and tuple(rows[0]) == COLUMNS
    for number, (name, row) in enumerate(zip(names, rows, strict=True)):
        budget = None if stopping_policies()[name].privacy == "none" else 2.0
        spec = StoppingSpec.of(arms=ARMS, policy=name, epsilon=budget, delta=0.1, trials=60, seed=5, cap=10**6)
        (result,) = stopping([spec])
        users = np.sort(result.users)
        wrong = int(result.wrong.sum())
        expected = {
            "line": number, "delta": 0.1, "stop_mean": users.mean(), "stop_q05": users[2], "stop_median": users[29],
            "stop_q95": users[56], "not_stopped": 0.0, "wrong": wrong / 60, "wrong_low": share_limits(wrong, 60)[0],
            "wrong_high": share_limits(wrong, 60)[1], "trials": 60,
        }  # fmt: skip
        assert {name: float(row[name]) for name in expected} == pytest.approx(expected)
        assert (row["rule"], row["epsilon"]) == ("proved", "" if budget is None else "2.0")
        bounds = time_bounds(spec.arms, 0.1, stopping_policies()[name].privacy, budget)
        assert float(row["lower_bound"]) == pytest.approx(max(bound.users for bound in bounds))
        assert float(row["lower_bound"]) <= float(row["stop_mean"])


def test_trials_horizon_labels_and_rule_are_those_of_the_spec_and_the_options(printed):
    lines = (line("ctb-tt", 2.0, label="randomised, {epsilon} {v}"), line("ctb-tt", 0.05), line("adap-tt"))
    proved = printed(document(*lines, horizon=3000))
    quick = printed(document(*lines, horizon=3000), "--rule", "heuristic")
    assert [row["trials"] for row in proved] == ["40"] * 3 and quick[0]["rule"] == "heuristic"
    assert proved[0]["label"] == "randomised, ε = 2 {v}"
    assert "0.05" in proved[1]["label"] and proved[2]["label"] == stopping_policies()["adap-tt"].title
    assert float(quick[0]["stop_mean"]) < float(proved[0]["stop_mean"])
    late = proved[1]  # at a small budget 3,000 users are too few
    assert float(late["not_stopped"]) == 1.0 and late["stop_mean"] == ""
    assert float(late["stop_median"]) == math.inf


def test_no_bound_leaves_the_cell_empty_and_a_file_takes_the_table(printed, tmp_path):
    tied = document(line("top-two"), arms=[*ARMS, ARMS[0]], horizon=2000)
    assert printed(tied)[0]["lower_bound"] == ""
    out = tmp_path / "times.json"
    assert printed(tied, "--out", str(out)) == []
    (row,) = json.loads(out.read_text(encoding="utf-8"))
    assert tuple(row) == COLUMNS and row["lower_bound"] is None


def test_the_table_of_the_library_is_the_printed_one(printed):
    said = document(line("se"), line("adap-tt"))
    frame = decide(said, delta=0.2, trials=30)
    rows = printed(said, "--delta", "0.2", "--trials", "30", "--jobs", "2")
    assert [float(row["stop_mean"]) for row in rows] == list(frame["stop_mean"])


def test_an_ordinary_policy_is_refused_by_name_and_the_others_are_named():
    with pytest.raises(InputError) as refusal:
        stopping_lines(load_preset("trust"))
    for issue, policy in zip(refusal.value.issues, ("thompson", "dp-imed", "ts-cf"), strict=True):
        assert policy in issue.allowed and all(name in issue.allowed for name in stopping_policies())


@pytest.mark.parametrize(("option", "value"), [("delta", "1"), ("delta", "x"), ("trials", "0"), ("trials", "many")])
def test_numbers_out_of_range_are_told(option, value, tmp_path, capsys):
    path = tmp_path / "question.json"
    path.write_text(json.dumps(document(line("se"))), encoding="utf-8")
    assert cli.main(["decide", str(path), f"--{option}", value]) == cli.BAD_INPUT
    assert option in capsys.readouterr().err


def test_a_policy_without_a_heuristic_rule_says_so(tmp_path):
    with pytest.raises(InputError) as refusal:
        stopping_lines(document(line("se"), line("adap-tt")), rule="heuristic")
    assert [(issue.path, "se" in issue.allowed) for issue in refusal.value.issues] == [("rule", True)]


def test_people_who_come_several_times_are_refused_with_the_budget_to_use_which_is_used_on_request(printed):
    """Two answers of half a budget each keep the whole one, so the runs are those of the half."""
    asked = document(line("ctb-tt", 2.0), line("top-two"), visits=2)
    with pytest.raises(InputError) as refusal:
        decide(asked)
    [issue] = refusal.value.issues
    assert issue.path == "visits" and "ε/2" in issue.allowed
    split = printed(asked, "--split-visits")
    half = printed(document(line("ctb-tt", 1.0), line("top-two")))
    assert [row["stop_mean"] for row in split] == [row["stop_mean"] for row in half]
    assert split[0]["epsilon"] == "1.0"
