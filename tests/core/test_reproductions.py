"""Shipped results: what every file must say, and how one is made (`benchmarks.shipped`: its numbers come out again)."""

import json
import math

import numpy as np
import pytest
from helpers import refused

from bandit_core import Experiment, cli, simulate
from bandit_core.experiments.experiment import checkpoints
from bandit_core.experiments.presets import load_preset, preset_names
from bandit_core.literature import papers, reproductions
from bandit_core.simulation.costs import refuse_if_too_large

NAMES = papers.reproducible()


@pytest.fixture(scope="module")
def shipped():
    return {name: reproductions.load(name) for name in NAMES}


def test_every_figure_and_study_has_a_file_and_every_file_is_needed():
    assert {path.stem for path in reproductions.FOLDER.glob("*")} == set(NAMES)
    assert {name.partition("--")[0] for name in NAMES} == set(NAMES) & set(preset_names())
    wanted = {*(f"ren-1{letter}" for letter in "abcdefgh"), "ren-2", *(f"tossou-2{letter}" for letter in "abcd")}
    wanted |= {"tao-1", "tao-2", "tao-3", "tao-4", "han-single", "han-multi", "basu-bounds"}
    assert wanted <= set(papers.figures())


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_its_preset_and_says_how_it_was_made(name, shipped):
    # Title, note, view and how a label is written change no number. Where this fails: bandit_core reproduce NAME.
    file, preset = shipped[name], papers.played()[name].experiment
    assert file.experiment.plays_as(preset)
    assert (file.experiment.trials, file.experiment.seed) == (preset.trials, preset.seed)
    numbers = range(len(preset.lines))
    assert [file.experiment.label(number) for number in numbers] == [preset.label(number) for number in numbers]
    content = json.loads(reproductions.path_of(name).read_text(encoding="utf-8"))
    made = content["made"]
    assert content["seed"] == content["spec"]["seed"] == preset.seed
    assert set(made["versions"]) >= {"python", "numpy", "numba", "private-bandit-lab"}
    assert all(made["versions"].values()) and made["kernels"] and made["machine"]
    assert made["date"].count("-") == 2 and made["cores"] >= 1 and made["workers"] >= 1
    assert made["seconds"] >= 0 and made["processor_seconds"] >= 0 and 0 <= made["found"] <= 1
    assert 0 < file.share <= 1


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_of_a_file_fit_together(name, shipped):
    file = shipped[name]
    assert file.times[0] == 1 and file.times[-1] == file.experiment.horizon and len(file.times) <= 62
    assert np.all(np.diff(file.times) > 0)
    for line in file.lines:
        assert set(line.windows) == set(papers.played()[name].windows)
        assert {line.count} == {len(line.final), *map(len, line.windows.values())}
        assert line.mean[-1] == pytest.approx(line.final.mean(), rel=1e-4)
        assert line.stderr[-1] == pytest.approx(line.final.std(ddof=1) / math.sqrt(line.count), rel=1e-2, abs=1e-4)
        for (first, last), values in line.windows.items():
            low = line.mean[np.searchsorted(file.times, first, side="right") - 1]
            assert 0.999 * low <= values.mean() <= 1.001 * line.mean[np.searchsorted(file.times, last)]
        assert line.q05[-1] == pytest.approx(np.quantile(line.final, 0.05), rel=1e-3)
        assert np.all(np.diff(line.mean) >= -1e-5 * line.mean[1:]) and np.all(line.q05 <= line.q95)


def test_no_figure_or_study_is_larger_than_what_is_played():
    for each in papers.played().values():
        refuse_if_too_large(each.experiment)


def test_files_are_small():
    sizes = {path.name: path.stat().st_size for path in reproductions.FOLDER.glob("*.json")}
    assert max(sizes.values()) < 60_000 and sum(sizes.values()) < 2_000_000


# ---------------------------------------------------------------------------------------------------------------
# Making and reading


@pytest.fixture
def small():
    lines = [{"policy": "ucb"}, {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 2.0}}]
    arms = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5}]
    return Experiment.model_validate({"arms": arms, "lines": lines, "horizon": 3000, "trials": 6})


WINDOWS = ((10, 300), (250, 250))


def made_of(experiment, name="small", part=None, tally=False):
    result = simulate(part or experiment, jobs=1)
    played = papers.Played(name, experiment, () if tally else WINDOWS, tally)
    return result, reproductions.document(result, played, reproductions.Cost(1.5, 2.5, 0.25, 2))


def test_what_is_written_is_read_again(small, tmp_path):
    result, content = made_of(small)
    path = reproductions.write(content, tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]  # no half-written file is left
    file = reproductions.load("small", tmp_path)
    assert file.is_complete and file.experiment == small
    assert (file.made["seconds"], file.made["processor_seconds"], file.made["workers"]) == (1.5, 2.5, 2)
    places = np.searchsorted(result.times, file.times)
    for line, whole in zip(file.lines, result.lines, strict=True):
        np.testing.assert_allclose(line.mean, whole.mean[places], rtol=1e-5)
        np.testing.assert_allclose(line.quantile(0.95), whole.quantile(0.95)[places], rtol=1e-3)
        np.testing.assert_allclose(line.final, whole.regret[:, -1], rtol=1e-5)
        inside = (result.times >= 10) & (result.times <= 300)
        np.testing.assert_allclose(line.windows[10, 300], whole.regret[:, inside].mean(axis=1), rtol=1e-5)
        straight = [np.interp(250, result.times, each) for each in whole.regret]
        np.testing.assert_allclose(line.windows[250, 250], straight, rtol=1e-5)
        pulls = whole.pulls.mean(axis=0)
        assert line.noise == pytest.approx(0.09 * pulls[0] + 0.25 * pulls[1], rel=1e-3)
    assert file.lines[0].price is None
    wanted = result.lines[1].ratio(result.lines[0])[:2]
    assert (file.lines[1].price[-1], file.lines[1].price_stderr[-1]) == pytest.approx(wanted, rel=1e-2)
    frame = reproductions.curves(file)
    assert len(frame) == 2 * len(file.times) and set(frame["label"]) == {"UCB", "HeLDP-UCB-B"}


def test_a_tally_keeps_the_values_without_their_order(small, tmp_path):
    result, content = made_of(small, tally=True)
    file = reproductions.load(reproductions.write(content, tmp_path).stem, tmp_path)
    assert file.tally and file.lines[0].windows == {}
    np.testing.assert_allclose(file.lines[1].final, np.sort(result.lines[1].regret[:, -1]), rtol=1e-5)


def test_a_part_of_the_trials_is_told(small, tmp_path):
    _, content = made_of(small, part=small.with_changes(trials=3))
    file = reproductions.load(reproductions.write(content, tmp_path).stem, tmp_path)
    assert not file.is_complete and file.share == 0.5 and file.experiment.trials == 6


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 0}', '{"format": 1, "t": [1], "lines": [{}]}'])
def test_a_damaged_file_is_told_in_words(text, tmp_path):
    (tmp_path / "odd.json").write_text(text, encoding="utf-8")
    with refused("file", value="odd.json"):
        reproductions.load("odd", tmp_path)
    assert reproductions.load("absent", tmp_path) is None


@pytest.mark.parametrize("horizon", [1, 5, 61, 1000, 10**7])
def test_thinned_times_keep_the_ends(horizon):
    times = checkpoints(horizon)
    kept = reproductions.thinned(times)
    assert kept[0] == 0 and kept[-1] == len(times) - 1 and len(kept) <= reproductions.MAX_TIMES


CHEAP = "tao-s3-local-v09"


def test_the_command_computes_a_figure_and_prints_its_file(tmp_path, capsys, shipped):
    assert cli.main(["reproduce", CHEAP, "--out", str(tmp_path / "new"), "--jobs", "1", "--fresh"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [str(tmp_path / "new" / f"{CHEAP}.json")]
    assert CHEAP in err and "90 of 90" in err
    file = reproductions.load(CHEAP, tmp_path / "new")
    assert file.is_complete and file.experiment == load_preset(CHEAP) and file.made["found"] == 0
    for new, old in zip(file.lines, shipped[CHEAP].lines, strict=True):
        error = math.hypot(new.stderr[-1], old.stderr[-1])
        assert abs(new.mean[-1] - old.mean[-1]) <= 5 * error


def test_fewer_trials_may_be_asked_for(tmp_path, capsys):
    assert cli.main(["reproduce", CHEAP, "--out", str(tmp_path), "--trials", "5"]) == 0
    assert " 5 of 90 " in capsys.readouterr().err
    assert reproductions.load(CHEAP, tmp_path).share == pytest.approx(5 / 90)


def test_a_figure_means_all_its_panels_and_their_studies():
    panels = ["tao-s3-local-v05", "tao-s3-local-v09"]
    assert papers.names_of(["tao-2", "ren-2", "tao-2"]) == [*panels, *(f"{name}--local" for name in panels), "ren-2"]
    assert papers.names_of(["zheng-1"]) == ["zheng-1", "zheng-1--long"]
    assert papers.names_of(["zheng-1--long"]) == ["zheng-1--long"]
    assert papers.names_of([]) == NAMES


def test_a_study_is_its_preset_but_for_what_it_says():
    study = papers.Study(
        name="s",
        says="other",
        trials=7,
        horizon=50,
        policies=("ucb", "dp-ucb"),
        params={"dp-ucb": {"accounting": "paper"}},
    )
    experiment, preset = study.of("tossou-2a"), load_preset("tossou-2a")
    assert (experiment.trials, experiment.horizon, experiment.seed) == (7, 50, preset.seed)
    assert [line.policy for line in experiment.lines] == ["ucb", "dp-ucb"]
    assert experiment.lines[1].params == {"accounting": "paper"} and experiment.arms == preset.arms


def test_verdicts_that_changed_since_an_older_table_are_told(tmp_path, capsys, project):
    table = (project / "docs" / "reproduce.md").read_text(encoding="utf-8")
    old = tmp_path / "old.md"
    old.write_text(table.replace("| confirmed |", "| inconclusive |", 1), encoding="utf-8")
    assert cli.main(["reproduce", "--table", "--since", str(old)]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 3 and "| inconclusive | confirmed |" in rows[2]
    assert cli.main(["reproduce", "--table", "--since", str(tmp_path / "absent.md")]) == 2
    assert "since" in capsys.readouterr().err


def test_a_folder_that_cannot_be_had_is_refused_before_anything_is_computed(tmp_path, capsys):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert cli.main(["reproduce", CHEAP, "--out", str(tmp_path / "file" / "below")]) == 2
    err = capsys.readouterr().err
    assert err.startswith("out:") and "trials" not in err


def test_the_table_is_the_document_in_docs(capsys, project):
    assert cli.main(["reproduce", "--table"]) == 0
    out = capsys.readouterr().out
    assert out == (project / "docs" / "reproduce.md").read_text(encoding="utf-8")
    assert cli.main(["reproduce", "--table", "--details"]) == 0
    whole = capsys.readouterr().out
    assert set(filter(None, out.splitlines()[3:])) < set(whole.splitlines())
    assert all(f"| {name} |" in whole for name in NAMES)
