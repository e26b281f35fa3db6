"""Whatever happens to the cache in mid-run, the numbers are those of a run without any."""

import errno
import os
from pathlib import Path

import pytest
from helpers import cut_finely, experiment_of, numbers, take_time

from bandit_core import Simulation, simulate
from bandit_core.simulation.store import Store

PLENTY = 10**8


def overwrite(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in path.glob("??/*"):
        file.write_bytes(os.urandom(500))


def remove(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.parent.rename(path.parent.with_name("taken away"))  # at once, while others write


def forbid(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("fault", [overwrite, remove, forbid])
def test_a_fault_of_the_cache_in_mid_run_costs_time_only(monkeypatch, tmp_path, reference, fault, jobs):
    cut_finely(monkeypatch)
    take_time(monkeypatch, 0.01)  # so that much is left to do when it strikes
    path = tmp_path / "folder" / "blocks"
    store = Store(path, PLENTY)
    seen = []

    def strike(simulation: Simulation) -> None:
        seen.append(1)
        if len(seen) == 5:
            fault(path, monkeypatch)

    simulation = Simulation(experiment_of(), store)
    assert numbers(simulation.run(jobs, strike)) == reference
    assert simulation.kept == (fault is not forbid)  # else the app holds on to the result
    del simulation
    assert numbers(simulate(experiment_of(), store=store)) == reference  # by what is left of it
    again = Simulation(experiment_of(), Store(path, PLENTY))  # and after a new start
    if fault is remove:  # another process finds what was kept since
        assert sum(line.count for line in again.result().lines if line is not None) >= (30 if jobs == 1 else 1)
    assert numbers(again.run()) == reference
