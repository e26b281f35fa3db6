"""The standing benchmark: its rules are fixed, what ships is what the command would compute, and scores are right."""

import hashlib
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import refused
from scipy import stats

from bandit_core.cli import main
from bandit_core.policies import registry
from bandit_core.studies import benchmark

ROOT = Path(__file__).parents[2]
ROWS = benchmark.load()
SMALL = benchmark.Contest("arms", "shuffle", "approximate")


def means(rows: pd.DataFrame, runs: int = 400, **cells: dict[str, tuple[float, float]]) -> pd.DataFrame:
    """Rows of ``policy={"task": (mean of half one, of half two)}`` with 2 % errors, as those of the smallest cells."""
    made = []
    for policy, values in cells.items():
        for task, (first, second) in values.items():
            row = rows[(rows["policy"] == "ldp-se") & (rows["task"] == task)].iloc[0].to_dict()
            middle = (first + second) / 2
            error = 0.02 * middle * 2**0.5  # of a half
            row |= {"policy": policy, "mean": middle, "first": first, "second": second, "runs": runs}
            row |= {"first_error": error, "second_error": error, "sd": 0.02 * middle * runs**0.5}
            made.append(row)
    return pd.DataFrame(made)


def test_other_rules_are_another_version():
    """Whoever changes them must change the version, too, and then this digest."""
    rules = (
        benchmark.TASKS, benchmark.USERS, benchmark.BUDGETS, benchmark.DELTA, benchmark.LEAST, benchmark.MOST,
        benchmark.PRECISION, benchmark.CHEAP_SECONDS, benchmark.STATED,
    )  # fmt: skip
    message = repr([(each.name, each.instance) for each in rules[0]]) + repr(rules[1:])
    assert (benchmark.VERSION, hashlib.sha256(message.encode()).hexdigest()[:16]) == (3, "ba1c5d296d988214")


def test_every_policy_ships_with_every_case_it_plays():
    cases = ROWS.groupby("policy").size()
    assert set(cases.index) == set(registry())
    whole = {("arms", True): 120, ("arms", False): 30, ("contexts", True): 36, ("contexts", False): 9}
    for name, policy in registry().items():
        assert cases[name] == whole[policy.setting, policy.privacy != "none"], name


def test_every_cell_has_streams_of_its_own():
    seeds = [cell.seed for policy in registry().values() for cell, _ in benchmark.cells(policy)]
    assert len(set(seeds)) == len(seeds)
    cell = benchmark.cells(registry()["se"])[0][0]
    assert cell.seed == benchmark.Cell(cell.policy, cell.task, cell.epsilon, cell.users).seed
    assert cell.seed != benchmark.Cell(cell.policy, cell.task, cell.epsilon, cell.users, "check").seed


def test_runs_go_on_until_the_mean_is_known_to_two_percent():
    generator = np.random.default_rng(1)
    steady, wild = generator.normal(10, 1, 400), generator.exponential(10, 400)
    assert benchmark.runs_wanted(steady) == 400 and benchmark.runs_wanted(np.full(400, 3.0)) == 400
    assert benchmark.runs_wanted(wild) == benchmark.MOST
    middle = generator.normal(10, 5, 400)
    wanted = benchmark.runs_wanted(middle)
    assert 400 < wanted < benchmark.MOST
    assert middle.std(ddof=1) / wanted**0.5 <= benchmark.PRECISION * middle.mean()
    enough = (ROWS["runs"] >= benchmark.LEAST) & (ROWS["runs"] <= benchmark.MOST)
    assert enough.all() and (ROWS.loc[benchmark.capped(ROWS), "runs"] == benchmark.MOST).all()


def test_a_warm_up_stays_within_the_users():
    for name in ("ldp-sgd", "ldp-ols", "greedy-ols"):
        for cell, experiment in benchmark.cells(registry()[name]):
            contexts = experiment.contexts
            if contexts.models > 1:
                assert contexts.arms * experiment.lines[0].params["warm_up"] <= cell.users / 10
    projected = benchmark.cells(registry()["ldp-sgd"])[0][1].lines[0].params
    assert projected["project"] == 1.0


def test_blind_play_loses_what_the_gaps_say():
    [plain] = [
        each for cell, each in benchmark.cells(registry()["se"]) if (cell.task.name, cell.users) == ("2-wide", 1_000)
    ]
    assert benchmark.blind_loss(plain) == pytest.approx(150)
    assert (ROWS["mean"] < 1.35 * ROWS["blind"]).all()


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


def slow_scores(rows: pd.DataFrame, contest: benchmark.Contest) -> dict[str, float]:
    """The definition, one division after the other."""
    mine = benchmark.entrants(rows, contest)
    cases: dict[tuple, dict[str, tuple[float, float]]] = {}
    for _, row in mine.iterrows():
        case = (row["task"], row["epsilon"] if row["epsilon"] == row["epsilon"] else 0.0, row["users"])
        cases.setdefault(case, {})[row["policy"]] = (row["first"], row["second"])
    found: dict[str, list[float]] = {}
    for halves in cases.values():
        best = [min(halves, key=lambda name: halves[name][half]) for half in (0, 1)]
        for policy, (first, second) in halves.items():
            ratios = second / halves[best[0]][1], first / halves[best[1]][0]
            found.setdefault(policy, []).append(0.5 * sum(map(math.log, ratios)))
    return {policy: math.exp(sum(logs) / len(logs)) for policy, logs in found.items()}


def test_scores_are_geometric_means_over_the_cases():
    for contest in benchmark.contests(ROWS):
        found, wanted, key = benchmark.scores(ROWS, contest), slow_scores(ROWS, contest), contest.key
        if len(found) == 1:
            assert found[["factor", "low", "high", "rank"]].isna().all(axis=None) and not found["clear_in"].any(), key
            continue
        assert dict(zip(found["policy"], found["factor"], strict=True)) == pytest.approx(wanted, rel=1e-9), key
        assert list(found["factor"]) == sorted(found["factor"]) and found["factor"].min() > 0.97, key
        assert (found["low"] <= found["factor"]).all() and (found["factor"] <= found["high"]).all(), key
        places = [*range(1, len(found) + 1)]
        assert all(pd.isna(rank) or rank == place for rank, place in zip(found["rank"], places, strict=True)), key
        assert found["alike"].sum() == 1 or pd.isna(found["rank"][0]), key
        assert found["alike"][0] and found["clear_in"].sum() <= found["learned_cells"].max(), key
        assert (found["learned_cells"] < found["cells"]).any() or contest.privacy == "none", key
        # No policy is below a lower bound.
        assert ((found["over_floor"] >= 1 - 1e-9) | found["over_floor"].isna()).all(), key


def test_intervals_are_students_over_the_tasks_and_ranks_need_neighbours_told_apart():
    """Three policies on eight tasks: one always best, two whose order is open."""
    generator, local = np.random.default_rng(5), benchmark.Contest("arms", "local", "pure")
    tasks = [task.name for task in benchmark.TASKS if task.setting == "arms"][:8]
    factors = {"a": np.ones(8), "b": np.exp(1 + 0.3 * generator.normal(size=8))}
    factors["c"] = factors["b"] * np.exp(0.3 * generator.normal(size=8))
    cells = {name: {task: (x, x) for task, x in zip(tasks, each, strict=True)} for name, each in factors.items()}
    found = benchmark.scores(means(ROWS, **cells), local).set_index("policy")
    logs = np.log(factors["b"])
    low, high = stats.t.interval(0.95, 7, logs.mean(), logs.std(ddof=1) / 8**0.5)
    assert found.loc["b", ["low", "factor", "high"]].to_list() == pytest.approx(np.exp([low, logs.mean(), high]))
    assert found.loc["a", "rank"] == 1 and found.loc[["b", "c"], "rank"].isna().all()
    apart = {name: {task: (x, x) for task in tasks} for name, x in (("a", 1.0), ("b", 2.0), ("c", 3.0))}
    assert list(benchmark.scores(means(ROWS, **apart), local)["rank"]) == [1, 2, 3]


def test_two_equal_policies_are_hardly_ever_clearly_best():
    generator = np.random.default_rng(2)
    for policies in (2, 5):
        noisy = 100 + 2 * generator.normal(size=(policies, 4_000))
        assert benchmark.clearly_best(noisy, np.full(noisy.shape, 2.0)).any(axis=0).mean() <= 0.055
    apart = benchmark.clearly_best(np.array([[100.0], [120.0]]), np.full((2, 1), 2.0))
    assert apart.tolist() == [[True], [False]]
    assert not benchmark.clearly_best(np.array([[100.0]]), np.array([[2.0]])).any()  # no one to compare with


def noisy_rows(policies: int, generator: np.random.Generator) -> pd.DataFrame:
    """Equally good policies on every arms task; each half's mean is off by its error."""
    tasks = [task.name for task in benchmark.TASKS if task.setting == "arms"]
    halves = 100 * (1 + 0.028 * generator.normal(size=(policies, len(tasks), 2)))
    return means(
        ROWS, **{f"p{number}": dict(zip(tasks, map(tuple, each), strict=True)) for number, each in enumerate(halves)}
    )


def test_the_split_does_not_count_luck_twice_and_intervals_hold():
    """Among equal policies every true score is 1; dividing by the least mean would say about 1.04."""
    generator, local = np.random.default_rng(3), benchmark.Contest("arms", "local", "pure")
    split, naive, held, ranked = [], [], [], []
    for _ in range(40):
        rows = noisy_rows(6, generator)
        found = benchmark.scores(rows, local)
        split.append(np.log(found["factor"]).mean())
        least = rows.groupby("task")["mean"].transform("min")
        naive.append(np.log(rows["mean"] / least).mean())
        held += [((found["low"] <= 1) & (found["high"] >= 1)).mean()]
        ranked.append(found["rank"].notna().any() or not found["alike"].all())
    error = np.std(split, ddof=1) / len(split) ** 0.5
    assert abs(np.mean(split)) < 4 * error and np.mean(naive) > 0.02
    assert np.mean(held) >= 0.93 and np.mean(ranked) <= 0.1


def test_whoever_promises_more_is_compared_and_nobody_who_promises_less():
    promised = {
        contest.key: {
            benchmark.contest_of(ROWS, policy).key for policy in set(benchmark.entrants(ROWS, contest)["policy"])
        }
        for contest in benchmark.contests(ROWS)
    }
    assert promised["central-pure"] == {"central-pure", "distributed-pure", "local-pure"}
    assert promised["shuffle-approximate"] == {"shuffle-approximate", "local-pure"}
    assert promised["local-pure"] == {"local-pure"} and promised["none"] == {"none"}
    assert promised["features-local-approximate"] == {"features-local-approximate", "features-local-pure"}


def test_who_plays_less_has_no_rank_and_who_keeps_less_takes_no_part():
    worst = str(benchmark.scores(ROWS, SMALL)["policy"].iloc[-1])
    part = ROWS[(ROWS["policy"] != worst) | (ROWS["task"] == "2-wide")]
    found = benchmark.scores(part, SMALL).set_index("policy")
    assert pd.isna(found.loc[worst, "rank"]) and found.loc[worst, "cells"] == 12 and not found.loc[worst, "alike"]
    assert pd.isna(found.loc[worst, "low"]) and found["low"].notna().sum() == len(found) - 1
    weak = ROWS.copy()
    weak.loc[weak["policy"] == worst, "guarantee_epsilon"] *= 1.01
    assert worst not in set(benchmark.scores(weak, SMALL)["policy"])


def test_parts_of_the_tasks_are_scored_by_themselves():
    for axis, count in (("users", 3), ("epsilon", 4), ("task", 10)):
        assert len(benchmark.along(ROWS, SMALL, axis)) == count
    few = benchmark.along(ROWS, SMALL, "users")[1_000]
    assert few == pytest.approx(benchmark.scores(ROWS, SMALL).set_index("policy")["at_1000"].to_dict())
    assert few == pytest.approx(slow_scores(ROWS[ROWS["users"] == 1_000], SMALL))
    assert benchmark.along(ROWS, benchmark.Contest("contexts", "local", "pure"), "users") == {}


def test_a_file_has_its_policies_in_the_order_of_the_registry_whichever_were_played_last(tmp_path):
    mixed = pd.concat([rows for _, rows in ROWS.groupby("policy", sort=True)])
    assert list(mixed["policy"].unique()) != list(ROWS["policy"].unique()) == list(registry())
    benchmark.write(mixed, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == benchmark.FILE.read_bytes()


def test_the_document_is_what_the_command_prints(capsys):
    assert main(["benchmark", "--table"]) == 0
    assert capsys.readouterr().out == (ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8")


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
