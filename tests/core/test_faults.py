"""Whatever happens to the cache in mid-run, the numbers are those of a run without any."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import HANGS, cut_finely, database_of, experiment_of, numbers, take_time

from bandit_core import Simulation, simulate
from bandit_core.simulation.store import Store

PLENTY = 10**8


def overwrite(store: Store, path: Path) -> None:
    with path.open("r+b") as file:
        file.write(os.urandom(path.stat().st_size))


def remove(store: Store, path: Path) -> None:
    for file in path.parent.iterdir():
        file.unlink(missing_ok=True)  # SQLite removes some itself when a connection closes
    path.parent.rmdir()


def fill_up(store: Store, path: Path) -> None:
    (pages,) = database_of(store).execute("PRAGMA page_count").fetchone()
    database_of(store).execute(f"PRAGMA max_page_count = {pages}")


def forbid(store: Store, path: Path) -> None:
    database_of(store).execute("PRAGMA query_only = 1")  # every write is refused from now on


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("fault", [overwrite, remove, fill_up, forbid])
def test_a_fault_of_the_cache_in_mid_run_costs_time_only(monkeypatch, tmp_path, reference, fault, jobs):
    cut_finely(monkeypatch)
    take_time(monkeypatch, 0.01)
    path = tmp_path / "folder" / "blocks.sqlite"
    store = Store(path, PLENTY)
    seen = []

    def strike(simulation: Simulation) -> None:
        seen.append(1)
        if len(seen) == 5:
            fault(store, path)

    simulation = Simulation(experiment_of(), store)
    assert numbers(simulation.run(jobs, strike)) == reference
    if fault in (fill_up, forbid):
        assert not simulation.kept  # so that the app holds on to the result
    del simulation
    assert numbers(simulate(experiment_of(), store=store)) == reference  # by what is left of it
    store.close()
    assert numbers(simulate(experiment_of(), store=Store(path, PLENTY))) == reference  # and after a new start


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
    path = tmp_path / "blocks.sqlite"
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


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_cache_folder_that_is_deleted_in_mid_run_is_told_and_made_again(monkeypatch, tmp_path, reference, jobs):
    cut_finely(monkeypatch)
    take_time(monkeypatch, 0.01)  # so that much is left to do when the folder goes
    path = tmp_path / "cache" / "blocks.sqlite"
    store = Store(path, PLENTY)
    seen = []

    def delete(simulation):
        seen.append(1)
        if len(seen) == 5:
            shutil.rmtree(path.parent)

    simulation = Simulation(experiment_of(), store)
    assert numbers(simulation.run(jobs, delete)) == reference
    assert store.renewed == 1
    assert store.on_disk
    assert simulation.kept
    assert len(simulation.notices) == 1
    kept = Simulation(experiment_of(), Store(path, PLENTY)).result()  # another process finds what was kept since
    assert sum(line.count for line in kept.lines if line is not None) >= (3 * 13 - 6 if jobs == 1 else 1)
