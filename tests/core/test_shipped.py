"""What ships still comes out: an edit that changes no number touches no shipped file, one that does is caught."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from helpers import kernels_lent

from bandit_core import Experiment, Simulation, paths, simulate
from bandit_core.literature import papers
from bandit_core.model import Block
from bandit_core.policies import registry
from bandit_core.simulation import bundled_results
from bandit_core.simulation.engine import checkpoints
from bandit_core.simulation.prepared import prepared_lines
from bandit_core.simulation.store import Store
from bandit_core.studies import benchmark
from benchmarks import shipped

NAME, FIGURE = "ucb-cf", "gajane-1"
LINE = {"policy": NAME, "epsilon": {"kind": "fixed", "value": 1.0}}
ARMS = [{"kind": "bernoulli", "mean": mean} for mean in (0.7, 0.4)]
VERIFIED = "presets/verified.json"
EDITS = {  # the first changes no number of its policy, the second all of them
    "adac.py": (
        "mean + math.sqrt(spread * (numbers.alpha * level))",
        "math.sqrt(spread * (numbers.alpha * level)) + mean",
    ),
    "gaussian_ts.py": ("* gaussian(stream)", "/ gaussian(stream)"),
}
ASKED = Experiment.model_validate({"arms": ARMS, "lines": [LINE], "horizon": 300, "trials": 40})


def test_what_ships_is_what_the_code_of_today_plays():
    """Where this fails: ``python -m benchmarks.shipped``."""
    policies, _ = shipped.unverified()
    assert (sorted(policies), sorted(shipped.unknown_blocks())) == ([], [])


def test_no_note_is_of_a_policy_or_a_block_that_is_gone():
    noted, file = bundled_results.verified(), bundled_results.open_shipped()
    assert set(noted["policies"]) == set(registry())
    assert set(noted["blocks"].values()) <= set(file.questions())


def portable_key(experiment):
    [line] = prepared_lines(experiment)
    return line.portable_key(checkpoints(experiment.horizon), experiment.seed)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Only one policy's rows, a figure and a block ship, and all of them were seen to come out."""
    path, [line] = tmp_path / "blocks.sqlite", simulate(ASKED, store=Store(None, 0)).lines
    shipped.write(path, [(portable_key(ASKED), ASKED, Block(line.regret, line.best_pulls, line.pulls))])
    monkeypatch.setattr(bundled_results, "VERIFIED", tmp_path / "verified.json")
    monkeypatch.setattr(bundled_results, "open_shipped", partial(bundled_results.open_shipped, path))
    monkeypatch.setattr(shipped, "registry", lambda: {NAME: registry()[NAME]})
    monkeypatch.setattr(papers, "reproducible", lambda: [FIGURE])
    assert shipped.main() == 0
    return path


def edited(monkeypatch, edit):
    """Play the policy by an edited kernel from now on."""
    policy = registry()[NAME]

    def prepare(setup):
        call = policy.prepare(setup)
        return replace(call, kernel=edit(call.kernel))

    monkeypatch.setitem(registry(), NAME, replace(policy, prepare=prepare))


@cache  # one function for each kernel, so that its version is found once
def renamed(kernel):
    def play(state, *given):
        kernel(state, *given)

    return play


@cache
def reseeded(kernel):
    def play(state, *given):
        state ^= np.uint64(6)
        kernel(state, *given)

    return play


def served():
    store = Store(None, 0)
    store.bundled_results = bundled_results.open_shipped()
    return Simulation(ASKED, store).result().complete


def test_an_edit_that_changes_no_number_outdates_nothing(small, monkeypatch, capsys):
    before = small.read_bytes()
    assert served() and shipped.unverified() == ({}, [])
    edited(monkeypatch, renamed)
    assert list(shipped.unverified()[0]) == [NAME] and len(shipped.unknown_blocks()) == 1
    assert not served()  # as long as no one has compared
    capsys.readouterr()
    assert shipped.main() == 0 and capsys.readouterr().out == ""
    assert shipped.unverified() == ({}, []) and shipped.unknown_blocks() == {} and served()
    assert small.read_bytes() == before
    noted = bundled_results.VERIFIED.read_bytes()
    assert shipped.main() == 0 and bundled_results.VERIFIED.read_bytes() == noted


def test_an_edit_that_changes_numbers_is_caught_until_they_are_played_anew(small, monkeypatch, capsys):
    noted = bundled_results.VERIFIED.read_bytes()
    edited(monkeypatch, reseeded)
    capsys.readouterr()
    assert shipped.main() == 1
    commands = [f"bandit_core benchmark {NAME} --play --data presets/benchmark.csv", f"bandit_core reproduce {FIGURE}"]
    wanted = sorted([*commands, "benchmarks.first_pictures"])
    assert capsys.readouterr().out.splitlines() == [f"play anew: python -m {command}" for command in wanted]
    assert bundled_results.VERIFIED.read_bytes() == noted
    assert list(shipped.unverified()[0]) == [NAME] and not served()


def test_other_python_that_finds_the_same_arguments_outdates_nothing(small, monkeypatch):
    policy = registry()[NAME]

    def prepare(setup):
        return policy.prepare(replace(setup))

    monkeypatch.setitem(registry(), NAME, replace(policy, prepare=prepare))
    assert shipped.unverified() == ({}, [])


def test_a_row_that_is_missing_is_not_as_it_ships(small, monkeypatch):
    rows = benchmark.load()
    first = rows.index[rows["policy"] == NAME][0]
    monkeypatch.setattr(benchmark, "load", lambda: rows.drop(first))
    agree = [line.comes_out() for line in list(shipped.rows())[:2]]
    assert agree == [False, True]


def test_the_text_of_a_policy_may_change_but_not_its_numbers(tmp_path):
    for name in ("bandit_core", "benchmarks", "presets", "papers"):
        shutil.copytree(paths.ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(paths.ROOT / "pyproject.toml", tmp_path)
    for name, (old, new) in EDITS.items():
        path = tmp_path / "bandit_core" / "policies" / name
        text, times = path.read_text(), path.stat()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # numba throws away machine code of an older file
    files = {each: each.read_bytes() for name in ("presets", "papers") for each in (tmp_path / name).rglob("*.*")}
    command = [sys.executable, "-m", "benchmarks.shipped"]
    with kernels_lent(paths.ROOT, tmp_path):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert set(re.findall(r"benchmark (\S+) --play", done.stdout)) == {"gaussian-ts"}
    assert [each.name for each, content in files.items() if each.read_bytes() != content] == ["verified.json"]
    before, after = (json.loads(each) for each in (files[tmp_path / VERIFIED], (tmp_path / VERIFIED).read_text()))
    differ = {name for name in after["policies"] if after["policies"][name] != before["policies"][name]}
    assert differ == {"adac-ucb"}
