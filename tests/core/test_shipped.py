"""What ships still comes out: an edit that changes no number touches no shipped file, one that does is caught."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest

from bandit_core import Experiment, Simulation, simulate
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
