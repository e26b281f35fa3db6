"""Whatever happens to the cache in mid-run, the numbers are those of a run without any."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import HANGS, cut_finely, experiment_of, numbers, take_time

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


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from helpers import experiment_of
from bandit_core.simulation import costs
from bandit_core import simulate
from bandit_core.simulation.store import Store
costs.SHORTEST_TASK, costs.LONGEST_TASK = 5e-10, 1e-9
print("ready", flush=True)
simulate(experiment_of(trials=4000), store=Store(Path({path!r}), 10**8), on_progress=lambda run: print(1, flush=True))
"""


def test_a_process_killed_while_it_writes_leaves_right_blocks(tmp_path):
    path = tmp_path / "blocks"
    code = KILLED.format(tests=str(Path(__file__).parent), path=str(path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(40):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=HANGS)
    kept = Simulation(experiment_of(trials=200), Store(path, PLENTY))
    done = kept.result()
    assert sum(0 if line is None else line.count for line in done.lines) >= 30
    assert numbers(kept.run()) == numbers(simulate(experiment_of(trials=200), store=Store(None, 0)))
