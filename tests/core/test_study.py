"""Studies of many runs: as files and as generators, refused, stopped and taken up again; the map of who wins where."""

import io
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers import experiment_of, memory, refused

from bandit_core import Experiment, InputError, simulate
from bandit_core.cli import main
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.prepared import PreparedLine
from bandit_core.simulation.questions import Round, Study, answer, once, within
from bandit_core.simulation.results import holm, interval
from bandit_core.spec.errors import validated
from bandit_core.studies import study as module
from bandit_core.studies.study import StudyFile, StudyRun, at_point, points, read_study
from bandit_core.studies.sweep import at_budget, sweep
from bandit_core.studies.tradeoff import left_out, rows_of, who_wins

# ---------------------------------------------------------------------------------------------------------------------
# Studies as files: combinations, refusals, going on after a stop; and the map of who wins where.


BASE = Experiment.model_validate(
    {
        "arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.8, 0.5)],
        "lines": [
            {"policy": "ucb"},
            {"policy": "heldp-ucb-l", "epsilon": {"kind": "fixed", "value": 1.0}},
            {"policy": "adap-ucb", "epsilon": {"kind": "fixed", "value": 1.0}},
        ],
        "horizon": 300,
        "trials": 6,
    }
)
FILE = """
spec = "base.json"
record = "curves"
[axes]
epsilon = [0.5, 2]
arms = [2, 4]
gap = [0.2]
seed = [0, 3]
params.alpha = [3.5]
"""


def study(**fields) -> StudyFile:
    return validated(StudyFile, {"spec": BASE.spec(), **fields})


def written(folder: Path, text: str = FILE) -> Path:
    (folder / "base.json").write_text(json.dumps(BASE.spec()), encoding="utf-8")
    (folder / "study.toml").write_text(text, encoding="utf-8")
    return folder / "study.toml"


def test_every_combination_is_the_experiment_that_it_says(tmp_path):
    asked, base = read_study(written(tmp_path))
    found = points(asked, base)
    assert len(found) == 8 and len({json.dumps(point.at) for point in found}) == 8
    for point in found:
        experiment, at = point.experiment, point.at
        assert (experiment.seed, experiment.arm_count) == (at["seed"], at["arms"])
        assert experiment.means[0] == 0.8 and np.allclose(experiment.means[1:], 0.6)
        assert [line.epsilon and line.epsilon.fixed for line in experiment.lines] == [None, *[at["epsilon"]] * 2]
        assert [line.params.get("alpha") for line in experiment.lines] == [3.5, None, 3.5]
    alone = points(study(axes={"gap": [0.3]}), BASE) + points(study(axes={"arms": [2]}), BASE)
    assert [list(point.experiment.means) for point in alone] == [pytest.approx([0.8, 0.5])] * 2
    named = points(study(policies=["kl-ucb", "ts-cf"], axes={"epsilon": [4.0], "horizon": [7]}), BASE)[0].experiment
    assert [line.policy for line in named.lines] == ["kl-ucb", "ts-cf"] and named.horizon == 7
    assert named.lines[1].epsilon.fixed == 4.0


def test_the_rows_are_those_of_single_runs_and_each_stands_once(tmp_path):
    asked, base = read_study(written(tmp_path))
    store = memory()
    rows = StudyRun(asked, base, store).run(1).rows
    keys = ["seed", "arms", "gap", "epsilon", "params.alpha", "line", "t"]
    assert not rows.duplicated(keys).any()
    assert (
        rows.loc[rows["line"] == 0, "epsilon"].isna().all() and rows.loc[rows["line"] == 1, "params.alpha"].isna().all()
    )
    for point in points(asked, base)[::3]:
        whole = simulate(point.experiment, 1, store=memory())
        here = rows[(rows["seed"] == point.at["seed"]) & (rows["arms"] == point.at["arms"])]
        for number, line in enumerate(whole.lines):
            mine = here[(here["line"] == number) & (here["epsilon"].isna() | (here["epsilon"] == point.at["epsilon"]))]
            assert mine["t"].tolist() == whole.times.tolist()
            assert mine["mean"].tolist() == line.mean.tolist()
    ends = StudyRun(asked.model_copy(update={"record": "end"}), base, store).run(1).rows
    assert set(ends["t"]) == {300} and len(ends) == rows.groupby(keys[:-1], dropna=False).ngroups
    assert ends.loc[ends["line"] == 2, "guarantee_epsilon"].tolist() == [0.5, 2.0] * 4


def test_single_runs_of_a_study_are_one_long_table():
    asked = study(axes={"epsilon": [0.5, 2], "horizon": [100, 300]})
    found = StudyRun(asked, BASE, memory()).run(1)
    table = found.trials_frame
    assert len(table) == BASE.trials * len(found.rows) and table.attrs["made"] == found.metadata
    keys = ["epsilon", "horizon", "line"]
    means = table.groupby(keys, dropna=False)["regret"].mean()
    np.testing.assert_allclose(means, found.rows.sort_values(keys)["mean"])
    curves = StudyRun(asked.model_copy(update={"record": "curves"}), BASE, memory()).run(1)
    assert len(curves.trials_frame) == BASE.trials * len(curves.rows)
    nothing = StudyRun(asked, BASE, memory()).result().trials_frame
    assert len(nothing) == 0 and {*nothing.columns} == {*table.columns}


def test_a_study_that_was_stopped_goes_on_without_playing_a_block_twice(monkeypatch):
    played, store, asked = [], memory(), study(axes={"seed": [0, 1, 2, 3]})
    original = PreparedLine.play

    def noted(line, rows, *given):
        played.append((line.identity, rows.tobytes()))
        return original(line, rows, *given)

    monkeypatch.setattr(PreparedLine, "play", noted)
    first = StudyRun(asked, BASE, store)
    first.run(1, lambda run: run.stop() if run.fraction > 0.4 else None)
    assert first.stopped and len(played) > 0 and len(first.result().rows) < 12
    again = StudyRun(asked, BASE, store).run(1)  # as another process would, with the same store
    assert len(again.rows) == 12 and len(played) == len(set(played)) == 12
    pd.testing.assert_frame_equal(again.rows, StudyRun(asked, BASE, memory()).run(1).rows)
    assert again.summary[0].startswith("4 ")


def test_policies_stand_in_for_the_lines_of_a_spec_without_any():
    spec = {name: value for name, value in BASE.spec().items() if name != "lines"}
    asked, base = read_study({"spec": spec, "policies": ["ucb", "dp-se"], "axes": {"epsilon": [0.5]}})
    [point] = points(asked, base)
    assert [(line.policy, line.epsilon and line.epsilon.fixed) for line in point.experiment.lines] == [
        ("ucb", None),
        ("dp-se", 0.5),
    ]
    for policies, path in (["nobody"], "policies[0]"), ([], "lines"):
        with refused(path):
            read_study({"spec": spec, "policies": policies})


@pytest.mark.parametrize(("text", "path"), [("spec = 3", "spec"), ('spec = "nothing"', "spec"), ("axes = {}", "spec")])
def test_a_study_needs_a_spec(tmp_path, text, path):
    with refused(path):
        read_study(written(tmp_path, text))


def test_the_command_writes_the_table_and_says_who_lost_least(tmp_path, capsys):
    path, out = written(tmp_path), tmp_path / "found.csv"
    assert main(["study", str(path), "--jobs", "1", "--out", str(out)]) == 0
    message = capsys.readouterr()
    expected = StudyRun(*read_study(path)).run(1)
    pd.testing.assert_frame_equal(pd.read_csv(out), expected.rows, check_dtype=False)
    assert message.out == "" and message.err.splitlines()[-len(expected.summary) :] == list(expected.summary)
    assert main(["study", str(path), "--jobs", "1"]) == 0
    assert len(pd.read_csv(io.StringIO(capsys.readouterr().out))) == len(expected.rows)
    assert main(["study", str(tmp_path / "none.toml")]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_every_pair_of_lines_is_tested_at_every_point(tmp_path):
    asked, base = read_study(written(tmp_path))
    found = StudyRun(asked, base, memory()).run(1)
    tests = found.comparisons
    assert len(tests) == 4 * 2 * 3 and not tests.duplicated(["seed", "arms", "epsilon", "first", "second"]).any()
    point = points(asked, base)[5]
    alone = simulate(point.experiment, 1, store=memory()).comparisons
    here = at_point(tests, point.at)
    assert here["difference"].tolist() == alone["difference"].tolist()
    assert here["p_value"].tolist() == alone["p_value"].tolist()
    np.testing.assert_allclose(tests["p_corrected"], holm(tests["p_value"]))
    assert (here["p_corrected"].to_numpy() >= alone["p_corrected"].to_numpy()).all()  # of all points, no longer of one


def test_a_table_for_a_paper_has_a_row_for_each_point(tmp_path):
    found = StudyRun(study(axes={"epsilon": [0.5, 2], "horizon": [100, 300]}), BASE, memory()).run(1)
    comment, begin, *rows = found.to_latex().splitlines()
    made = json.loads(comment.removeprefix("% "))
    pd.testing.assert_frame_equal(StudyRun(*read_study(made["study"]), memory()).run(1).rows, found.rows)
    assert begin == r"\begin{tabular}{lllll}" and len(rows) == 2 + 1 + 4 + 2
    assert all(row.count("&") == 4 and r"\pm" in row for row in rows[3:7])
    assert r"\textbf" not in found.to_latex()  # each guarantee is kept by one line only
    twins = [*BASE.spec()["lines"], {**BASE.spec()["lines"][1], "policy": "heldp-ucb-b"}]
    found = StudyRun(study(spec={**BASE.spec(), "lines": twins}, axes={"epsilon": [0.5, 2]}), BASE, memory())
    assert len(found.points) == 2
    shown = found.run(1).to_markdown(comment=False).splitlines()
    assert len(shown) == 4 and all(row.count("**") in (0, 2, 4) for row in shown)


def test_the_picture_of_a_study_says_where_it_is_taken(tmp_path):
    found = StudyRun(study(axes={"epsilon": [0.5, 2], "horizon": [100, 300], "seed": [0, 1]}), BASE, memory()).run(1)
    figure = found.plot(at={"horizon": 100})
    words = figure.layout.xaxis.title.text
    assert "horizon = 100" in words and "seed = 1" in words and words.startswith("epsilon")
    here = at_point(found.table.rows, {"horizon": 100, "seed": 1})
    assert sorted(trace.y[0] for trace in figure.data) == sorted(here[here["epsilon"] != 2]["mean"])
    for along, at, path in (("arms", {}, "along"), ("", {"horizon": 7}, "at.horizon"), ("", {"gap": 1}, "at.gap")):
        with refused(path):
            found.plot(along, at)
    with refused("along"):
        StudyRun(study(), BASE, memory()).run(1).save(tmp_path / "one.pdf")
    for ending, begin in (("pdf", b"%PDF"), ("html", b"<!doctype html>")):
        found.save(tmp_path / f"figure.{ending}")
        assert (tmp_path / f"figure.{ending}").read_bytes().startswith(begin)
    assert len(repr(found)) < 120 and "3 lines" in repr(found)
    assert found._repr_html_().count("<tr") == 1 + len(found.rows)  # private: what a notebook asks for


def test_words_and_numbers_on_one_axis_are_drawn_as_names(tmp_path):
    found = StudyRun(study(axes={"params": {"eps_min": [0.5, "auto"]}}), BASE, memory()).run(1)
    found.save(tmp_path / "figure.svg")
    assert "auto" in (tmp_path / "figure.svg").read_text(encoding="utf-8")


def test_the_command_tests_draws_and_keeps_how_it_was_made(tmp_path, capsys):
    path, out = written(tmp_path), tmp_path / "found"
    expected = StudyRun(*read_study(path)).run(1)
    assert main(["study", str(path), "--compare", "--out", f"{out}.parquet"]) == 0
    frame = pd.read_parquet(f"{out}.parquet")
    pd.testing.assert_frame_equal(frame, expected.comparisons)
    again = StudyRun(*read_study(frame.attrs["made"]["study"])).run(1)
    pd.testing.assert_frame_equal(again.rows, expected.rows)
    assert main(["study", str(path), "--along", "arms", "--at", "epsilon=2", "--out", f"{out}.svg"]) == 0
    assert main(["study", str(path), "--out", f"{out}.tex"]) == 0
    assert Path(f"{out}.tex").read_text(encoding="utf-8") == expected.to_latex()
    capsys.readouterr()
    assert main(["study", str(path), "--at", "epsilon=7", "--out", f"{out}.svg"]) == 2
    assert capsys.readouterr().err.startswith("at.epsilon: 7")  # before anything is computed


# ---------------------------------------------------------------------------------------------------------------
# Who wins where


LINES = [
    {"policy": "ucb"},
    *({"policy": name, "epsilon": {"kind": "fixed", "value": 1.0}} for name in ("ucb-cf", "heldp-ucb-l", "adap-ucb")),
    {"policy": "dp-ucb", "epsilon": {"kind": "fixed", "value": 1.0}, "params": {"accounting": "paper"}},
    *({"policy": name, "epsilon": {"kind": "fixed", "value": 1.0}} for name in ("dp-klucb", "dp-se", "dp-ucb-int")),
    {"policy": "dp-ucb", "epsilon": {"kind": "fixed", "value": 1.0}, "params": {"counter": "k-ary"}},
]


def test_the_map_is_that_of_runs_of_every_length():
    """Who wins among so many users is looked up in runs of exactly that length, which know of no others."""
    base = BASE.with_changes(lines=LINES, horizon=2000, trials=12)
    swept = sweep(base, [0.5, 4.0], store=memory())
    assert left_out(swept.results[0].experiment) == {4, 6, 7, 8}  # 2 epsilon, made for T (two), with a delta
    local, central = who_wins(swept)
    assert (local.privacy, central.privacy) == ("local", "central") and local.users[-1] == 2000
    for found, kept in ((local, (1, 2)), (central, (3, 5))):
        for row in (3, len(found.users) // 2, len(found.users) - 1):
            for column, epsilon in enumerate(found.epsilons):
                users, first = found.users[row], found.first[row][column]
                short = simulate(at_budget(base.with_changes(horizon=users), epsilon), store=memory())
                ends = {number: short.lines[number].regret[:, -1] for number in kept}
                best = min(kept, key=lambda number: ends[number].mean())
                other = kept[1 - kept.index(best)]
                assert (first.line, first.second) == (best, other)
                assert first.regret.value == pytest.approx(ends[best].mean(), rel=1e-12)
                apart = ends[other] - ends[best]
                assert first.clear == (interval(apart).low > 0)
                free = short.lines[0].regret[:, -1].mean()
                price = first.price.value
                assert price == pytest.approx(first.regret.value / free) if free > 0 else np.isnan(price)


def test_hidden_lines_and_lines_that_are_not_done_take_no_part():
    base = BASE.with_changes(lines=LINES, horizon=50, trials=2)
    swept = sweep(base, [1.0], store=memory())
    (central,) = who_wins(swept, hidden=(1, 2, 3))
    assert {first.line for row in central.first for first in row} == {5}
    assert all(first.second is None and first.clear for row in central.first for first in row)
    assert who_wins(sweep(base.with_changes(lines=LINES[:1]), [1.0], store=memory())) == ()


def test_equal_lines_are_never_told_apart():
    twins = [{**LINES[1], "label": "one"}, {**LINES[1], "label": "two"}]
    swept = sweep(BASE.with_changes(lines=twins), [1.0], store=memory())
    (local,) = who_wins(swept)
    assert not any(first.clear for row in local.first for first in row)
    assert np.isnan([first.price.value for row in local.first for first in row]).all()


@pytest.mark.parametrize("horizon", [1, 2, 40, 10**6])
def test_rows_of_the_map_are_few_and_end_at_the_horizon(horizon):
    times = Simulation(BASE.with_changes(horizon=horizon), memory()).times
    places = rows_of(times)
    assert 1 <= len(places) <= 24 and places[-1] == len(times) - 1 and (np.diff(places) > 0).all()


def test_the_studies_of_the_module_and_of_the_guide_are_some(tmp_path):
    text = "\n".join(line[4:] for line in (module.__doc__ or "").splitlines() if line.startswith("    "))
    assert len(points(*read_study(written(tmp_path, text)))) == 3 * 2 * 2 * 2 * 2 * 2
    guide = (Path(__file__).parents[2] / "docs" / "guide.md").read_text(encoding="utf-8")
    (shown,) = (found for found in re.findall(r"```toml\n(.*?)```", guide, re.DOTALL) if "[axes]" in found)
    found = points(*read_study(written(tmp_path, shown)))
    assert len(found) == 96 and {len(point.experiment.lines) for point in found} == {3}


# ---------------------------------------------------------------------------------------------------------------------
# Questions as generators: played, stopped, taken up again and refused as one run, whatever they ask.


PLAIN = experiment_of(lines=[{"policy": "ucb"}], trials=4)
TRIALS = (4, 8, 12)


def growing(trials=TRIALS):
    """The mean loss after more and more trials; each round is a third of the work."""
    means = []
    for place, count in enumerate(trials):
        share = place / len(trials), (place + 1) / len(trials)
        [result] = yield Round([PLAIN.with_changes(trials=count, seed=place)], *share, later=1.0 * (3 - place), steps=7)
        means.append(float(result.lines[0].mean[-1]))
    return means


@pytest.fixture(scope="module")
def means():
    """What `growing` must answer, from runs of their own."""
    runs = [simulate(PLAIN.with_changes(trials=n, seed=k), store=memory()) for k, n in enumerate(TRIALS)]
    return [run.lines[0].mean[-1] for run in runs]


def test_a_question_is_sent_what_it_asks_and_progress_never_falls(means):
    study, seen = Study(growing(), memory()), []
    assert study.result() is None and study.fraction == 0 and study.missing_seconds > 3 and study.steps == 7
    assert study.run(1, lambda running: seen.append(running.fraction)) == means
    assert seen == sorted(seen) and study.finished and study.fraction == 1 and study.missing_seconds == 0
    assert not study.waiting and study.kept and study.notices == []


def test_what_the_store_holds_is_not_played_again_and_a_stopped_question_goes_on_where_it_was(means):
    store = memory()
    stopped = Study(growing(), store)
    assert stopped.run(1, lambda running: running.stop()) is None and stopped.run(1) is None and not stopped.finished
    left = Study(growing(), store)
    assert left.fraction == pytest.approx(1 / 3) and left.missing_seconds < Study(growing(), memory()).missing_seconds
    assert left.run(2) == means
    again = Study(growing(), store)
    assert again.finished and again.result() == means


def test_questions_ask_questions_one_after_the_other_or_side_by_side(means):
    def both():
        first = yield from within(growing(TRIALS[:1]), 0.0, 0.5, times=2, steps=9)
        side = yield Round([growing(), growing(TRIALS[:2])], 0.5)
        return first, *side

    study = Study(both(), memory())
    assert study.steps == 9 and study.missing_seconds > 2 * 3
    seen = []
    assert study.run(1, lambda running: seen.append(running.fraction)) == (means[:1], means, means[:2])
    assert seen == sorted(seen)


def test_a_question_hears_what_is_refused_and_may_go_on(monkeypatch):
    def careful(trials):
        try:
            [result] = yield Round([PLAIN.with_changes(trials=trials)])
        except InputError as error:
            return error.issues[0].path
        return result.lines[0].count

    monkeypatch.setenv("LAB_MAX_STEPS", str(4 * PLAIN.horizon))
    assert [answer(careful(trials), 1, memory()) for trials in (4, 5)] == [4, "horizon"]
    with pytest.raises(InputError, match="steps"):
        Study(once([PLAIN, PLAIN.with_changes(trials=5)]), memory())


def test_what_is_done_of_the_present_round_can_be_seen():
    study = Study(once([PLAIN, PLAIN.with_changes(seed=1)]), memory())
    study.run(1, lambda running: running.stop())
    first, second = study.results
    assert study.result() is None and first.lines[0] is not None and second.lines[0] is None
    np.testing.assert_array_equal(first.lines[0].trials, np.arange(first.lines[0].count))
