"""The standing benchmark: its rules are fixed, what ships is what the command would compute, and scores are right."""

from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import memory, refused

from bandit_core import simulate
from bandit_core.cli import main
from bandit_core.policies import registry
from bandit_core.studies import benchmark
from bandit_core.studies.benchmark import LOSSES, TASKS, Cell
from bandit_core.studies.benchmark_scores import Contest, along, contest_of, contests, entrants, scores

ROOT = Path(__file__).resolve().parents[2]
ROWS = benchmark.load()
SMALL = Contest("arms", "shuffle", "approximate")


def losses(policy: str, task: str, epsilon: float, users: int) -> np.ndarray:
    [row] = ROWS[
        (ROWS["policy"] == policy)
        & (ROWS["task"] == task)
        & (ROWS["epsilon"].fillna(0.0) == epsilon)
        & (ROWS["users"] == users)
    ][list(LOSSES)].to_numpy()
    return row


def test_other_rules_are_another_version():
    """Whoever changes them must change the version, too, and then this digest."""
    rules = (TASKS, benchmark.USERS, benchmark.BUDGETS, benchmark.DELTA, benchmark.SEED, benchmark.TRIALS)
    told = repr([(each.name, each.instance) for each in rules[0]]) + repr(rules[1:])
    assert (benchmark.VERSION, hashlib.sha256(told.encode()).hexdigest()[:16]) == (1, "3ffe4bcb3aeabd64")


def test_every_policy_ships_with_every_case_it_plays():
    assert list(benchmark.outdated(ROWS)) == []
    cases = ROWS.groupby("policy").size()
    assert set(cases.index) == set(registry())
    whole = {("arms", True): 72, ("arms", False): 18, ("contexts", True): 24, ("contexts", False): 6}
    for name, policy in registry().items():
        assert cases[name] == whole[policy.setting, policy.privacy != "none"], name


@pytest.mark.parametrize("name", registry())
def test_what_ships_is_what_comes_out(name):
    policy = registry()[name]
    task = next(task for task in TASKS if task.setting == policy.setting)
    epsilon = None if policy.privacy == "none" else 1.0
    [line] = simulate(Cell(policy, task, epsilon, 1_000).experiment(), store=memory()).lines
    shipped = losses(name, task.name, epsilon or 0.0, 1_000)
    assert np.allclose(line.regret[:, -1], shipped, rtol=10.0 ** (1 - benchmark.DIGITS), atol=0)


def test_promises_are_kept_at_the_budget_and_no_parameter_is_read_off_the_arms():
    kept = ROWS[ROWS["privacy"] != "none"]
    assert (kept["guarantee_epsilon"] <= kept["epsilon"] * (1 + 1e-9)).all()
    assert set(kept.loc[kept["measure"] == "approximate", "guarantee_delta"]) == {benchmark.DELTA}
    assert (kept.loc[kept["measure"] == "pure", "guarantee_delta"] == 0).all()
    for policy in registry().values():
        if policy.setting == "arms":
            cells = [each.experiment() for each, _ in benchmark.cells(policy) if each.users == 1_000]
            settled = {cell.lines[0].entry.settle(cell.setups[0]).model_dump_json() for cell in cells}
            given = {str(cell.lines[0].params) for cell in cells}
            assert len(given) <= 3, (policy.name, settled)  # by the number of arms, never by their means


def slow_scores(rows: pd.DataFrame, contest: Contest) -> dict[str, float]:
    """The definition, one division after the other."""
    mine = entrants(rows, contest)
    cases: dict[tuple, dict[str, float]] = {}
    for _, row in mine.iterrows():
        case = (row["task"], row["epsilon"] if row["epsilon"] == row["epsilon"] else 0.0, row["users"])
        cases.setdefault(case, {})[row["policy"]] = sum(row[name] for name in LOSSES) / len(LOSSES)
    found: dict[str, list[float]] = {}
    for means in cases.values():
        for policy, mean in means.items():
            found.setdefault(policy, []).append(math.log(mean / min(means.values())))
    return {policy: math.exp(sum(logs) / len(logs)) for policy, logs in found.items()}


@pytest.mark.parametrize("contest", contests(ROWS), ids=lambda contest: contest.key)
def test_scores_are_geometric_means_over_the_cases(contest):
    found, wanted = scores(ROWS, contest), slow_scores(ROWS, contest)
    assert dict(zip(found["policy"], found["factor"], strict=True)) == pytest.approx(wanted, rel=1e-12)
    assert list(found["factor"]) == sorted(found["factor"]) and list(found["rank"]) == [*range(1, len(found) + 1)]
    assert (found["low"] <= found["factor"] * (1 + 1e-9)).all() and (found["factor"] >= 1).all()
    assert found["alike"][0] and found["first_in"].sum() >= found["cells"].max()
    assert ((found["over_floor"] >= 1 - 1e-9) | found["over_floor"].isna()).all()  # no policy is below a lower bound


def test_whoever_promises_more_is_compared_and_nobody_who_promises_less():
    promised = {
        contest.key: {contest_of(ROWS, policy).key for policy in set(entrants(ROWS, contest)["policy"])}
        for contest in contests(ROWS)
    }
    assert promised["central-pure"] == {"central-pure", "distributed-pure", "local-pure"}
    assert promised["shuffle-approximate"] == {"shuffle-approximate", "local-pure"}
    assert promised["local-pure"] == {"local-pure"} and promised["none"] == {"none"}
    assert promised["features-local-approximate"] == {"features-local-approximate", "features-local-pure"}


def test_a_policy_twice_as_bad_has_twice_the_score_and_a_task_of_larger_losses_counts_no_more():
    before = scores(ROWS, SMALL).set_index("policy")["factor"]
    worst = str(before.index[-1])
    twice = ROWS.copy()
    twice.loc[twice["policy"] == worst, list(LOSSES)] *= 2
    after = scores(twice, SMALL).set_index("policy")["factor"]
    assert after[worst] == pytest.approx(2 * before[worst]) and after[before.index[0]] == before.iloc[0]
    larger = ROWS.copy()
    larger.loc[larger["task"] == "2-wide", list(LOSSES)] *= 1000
    same = scores(larger, SMALL).set_index("policy")["factor"]
    assert same.to_dict() == pytest.approx(before.to_dict())


def test_neither_the_order_of_rows_nor_an_equal_rival_changes_a_score():
    before = scores(ROWS, SMALL).set_index("policy")
    mixed = scores(ROWS.sample(frac=1, random_state=0), SMALL).set_index("policy")
    assert mixed["factor"].to_dict() == pytest.approx(before["factor"].to_dict())
    best = str(before.index[0])
    twin = ROWS[ROWS["policy"] == best].assign(policy="twin")
    both = scores(pd.concat([ROWS, twin]), SMALL).set_index("policy")
    assert both.loc["twin", "alike"] and both.loc[best, "alike"]
    assert both.loc["twin", "factor"] == both.loc[best, "factor"] == before.loc[best, "factor"]


def test_who_plays_less_has_no_rank_and_who_keeps_less_takes_no_part():
    worst = str(scores(ROWS, SMALL)["policy"].iloc[-1])
    part = ROWS[(ROWS["policy"] != worst) | (ROWS["task"] == "2-wide")]
    found = scores(part, SMALL).set_index("policy")
    assert pd.isna(found.loc[worst, "rank"]) and found.loc[worst, "cells"] == 12 and not found.loc[worst, "alike"]
    assert found["rank"].notna().sum() == len(found) - 1
    weak = ROWS.copy()
    weak.loc[weak["policy"] == worst, "guarantee_epsilon"] *= 1.01
    assert worst not in set(scores(weak, SMALL)["policy"])


def test_intervals_hold_the_score_and_shrink_with_agreement():
    """Where all trials are alike nothing is left open."""
    alike = ROWS.copy()
    alike[list(LOSSES)] = alike[["trial_0"]].to_numpy().repeat(len(LOSSES), axis=1)
    found = scores(alike, SMALL)
    assert np.allclose(found["low"], found["high"]) and np.allclose(found["low"], found["factor"])
    spread = scores(ROWS, SMALL)
    assert (spread["low"] <= spread["factor"]).all() and (spread["low"] < spread["high"]).any()


def test_parts_of_the_tasks_are_scored_by_themselves():
    for axis, count in (("users", 3), ("epsilon", 4), ("arms", 3), ("gap", 2)):
        assert len(along(ROWS, SMALL, axis)) == count
    few = along(ROWS, SMALL, "users")[1_000]
    assert few == pytest.approx(slow_scores(ROWS[ROWS["users"] == 1_000], SMALL))


def test_a_file_has_its_policies_in_the_order_of_the_registry_whichever_were_played_last(tmp_path):
    mixed = pd.concat([rows for _, rows in ROWS.groupby("policy", sort=True)])
    assert list(mixed["policy"].unique()) != list(ROWS["policy"].unique()) == list(registry())
    benchmark.write(mixed, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == benchmark.FILE.read_bytes()


def test_the_document_is_what_the_command_prints(capsys):
    assert main(["benchmark", "--table"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8")


OWN = """
from dataclasses import replace
from bandit_core.policies.se import POLICIES
POLICY = replace(next(each for each in POLICIES if each.name == "se"), name="own", title="Own")
del POLICIES
"""


def test_a_policy_of_ones_own_is_scored_beside_the_others(tmp_path):
    """It is elimination by another name, so it has elimination's score."""
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    data, table = tmp_path / "data.csv", tmp_path / "scores.csv"
    line = ["benchmark", "--policy", str(tmp_path / "own.py"), "--data", str(data), "--out", str(table)]
    played = subprocess.run([sys.executable, "-m", "bandit_core", *line], cwd=ROOT, capture_output=True, check=False)
    assert played.returncode == 0, played.stderr
    found = pd.read_csv(table).set_index("policy")
    assert set(found["contest"]) == {"none"} and "ucb" in found.index
    numbers = ["factor", "low", "high", "first_in", "price"]
    assert found.loc["own", numbers].to_dict() == pytest.approx(found.loc["se", numbers].to_dict())
    assert set(benchmark.load(data)["policy"]) == {*ROWS["policy"], "own"}


def test_what_is_no_policy_or_no_data_is_refused(tmp_path):
    with refused("name", value="nobody"):
        benchmark.named(["nobody"])
    with refused("data"):
        benchmark.load(tmp_path / "nothing.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with refused("data"):
        benchmark.load(tmp_path / "other.csv")
    with refused("data"):
        benchmark.write(ROWS, tmp_path / "no" / "folder.csv")
