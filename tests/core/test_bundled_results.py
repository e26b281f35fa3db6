"""Blocks that ship with the project: found by code and arguments, never believed for other ones, only read."""

import itertools

import numpy as np
import pytest
from helpers import experiment_of, numbers

from bandit_core import Simulation, load_preset, simulate
from bandit_core.simulation import bundled_results, prepared
from bandit_core.simulation.prepared import prepared_lines
from bandit_core.simulation.results import with_companions
from bandit_core.simulation.store import Store
from benchmarks.shipped import write


def memory(shipped=None) -> Store:
    store = Store(None, 10**8)
    store.bundled_results = shipped
    return store


def portable_keys(experiment) -> list[str]:
    times = Simulation(experiment, memory()).times
    return [line.portable_key(times, experiment.seed) for line in prepared_lines(experiment)]


@pytest.fixture
def shipped(tmp_path, reference):
    """A file with all lines of the suite's experiment but the last."""
    result = simulate(experiment_of(), store=memory())
    blocks = [prepared.Block(line.regret, line.best_pulls, line.pulls) for line in result.lines]
    path = tmp_path / "some folder" / "blocks #1.sqlite"
    path.parent.mkdir()
    write(path, list(zip(portable_keys(experiment_of()), itertools.repeat(experiment_of()), blocks))[:-1])
    return bundled_results.open_shipped(path)


def test_what_ships_is_not_computed_again_and_says_so(shipped, reference):
    simulation = Simulation(experiment_of(), memory(shipped))
    done = [line is not None for line in simulation.result().lines]
    assert done == [True] * (len(done) - 1) + [False]
    result = simulation.run(1)
    assert numbers(result) == reference
    shipping = ", ".join(result.experiment.label(line) for line in range(len(done) - 1))
    assert result.bundled_results == result.metadata["bundled_results"] == f"{shipped.made}, for {shipping}"
    first = experiment_of(lines=experiment_of().spec()["lines"][:1])
    assert Simulation(first, memory(shipped)).result().bundled_results == shipped.made
    alone = simulate(experiment_of(), store=memory())
    assert alone.bundled_results == "" and "bundled_results" not in alone.metadata


def test_fewer_and_more_trials_start_from_what_ships(shipped):
    for trials in (3, 200):
        begun = Simulation(experiment_of(trials=trials), memory(shipped))
        assert begun.result().lines[0].count == min(trials, experiment_of().trials)
        assert numbers(begun.run(1)) == numbers(simulate(experiment_of(trials=trials), store=memory()))


def test_other_numbers_are_not_found(shipped, monkeypatch):
    for change in ({"seed": 8}, {"horizon": 77}):
        assert Simulation(experiment_of(**change), memory(shipped)).result().lines[0] is None
    monkeypatch.setattr(prepared, "LIBRARIES", "another numba")
    assert Simulation(experiment_of(), memory(shipped)).result().lines[0] is not None
    monkeypatch.setattr(prepared, "kernel_version", lambda kernel: "another kernel")
    assert Simulation(experiment_of(), memory(shipped)).result().lines[0] is None


@pytest.mark.parametrize("content", [None, b"", b"no database", b"SQLite format 3\0" + bytes(4000)])
def test_a_file_that_is_missing_or_damaged_costs_time_only(tmp_path, content, reference):
    path = tmp_path / "blocks.sqlite"
    if content is not None:
        path.write_bytes(content)
    found = bundled_results.open_shipped(path)
    assert found is None
    broken = bundled_results.Beforehand(path, "made by no one")
    result = simulate(experiment_of(), store=memory(broken))
    assert numbers(result) == reference and result.bundled_results == ""


def test_the_file_is_only_read(shipped):
    before = shipped.path.read_bytes()
    simulate(experiment_of(trials=200), store=memory(shipped))
    assert shipped.path.read_bytes() == before
    assert [path.name for path in shipped.path.parent.iterdir()] == [shipped.path.name]


def test_blocks_come_back_bit_for_bit(shipped):
    [key, *_] = portable_keys(experiment_of())
    block, result = shipped.get(key, experiment_of(trials=200), 0), simulate(experiment_of(), store=memory())
    assert block.regret.tobytes() == result.lines[0].regret.tobytes()
    assert np.array_equal(block.pulls, result.lines[0].pulls)
    assert shipped.get("nothing", experiment_of(), 0) is None


@pytest.mark.parametrize("name", ["default", "wild-rewards", "trust-with-features"])
def test_what_pages_show_at_first_has_nothing_left_to_compute(name):
    """Where this fails, ``python -m benchmarks.first_pictures`` makes the file anew."""
    result = Simulation(with_companions(load_preset(name)), memory(bundled_results.open_shipped())).result()
    assert result.complete and result.bundled_results
