"""A Dask cluster computes the same numbers, whatever happens to it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import FILES, HANGS, experiment_of, fixed, memory, numbers, own_policies_forgotten

from bandit_core import Simulation, load_policy, simulate
from bandit_core.simulation import costs, engine, prepared
from bandit_core.simulation.store import Store
from bandit_core.studies.study import StudyFile, StudyRun

distributed = pytest.importorskip("distributed")
ROOT = Path(__file__).parents[2]


def long_experiment(**fields):
    return experiment_of(horizon=20_000, trials=120, **fields)


def start(folder: Path, name: str, module: str, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", f"distributed.cli.{module}", *options, "--no-dashboard"]
    with (folder / f"{name}.log").open("wb") as output:
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )


@contextmanager
def running(folder: Path) -> Iterator[tuple[str, dict[str, subprocess.Popen]]]:
    """Address of a scheduler, and the processes by name: the scheduler and two workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    processes = {"scheduler": start(folder, "scheduler", "dask_scheduler", "--host", "127.0.0.1", "--port", str(port))}
    for name in ("one", "two"):
        options = ("--nthreads", "1", "--no-nanny", "--host", "127.0.0.1", "--local-directory", str(folder))
        processes[name] = start(folder, name, "dask_worker", address, *options)
    try:
        with distributed.Client(address, timeout=HANGS, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=HANGS)
    except (OSError, TimeoutError):
        pytest.fail("\n".join(path.read_text() for path in folder.glob("*.log")))
    yield address, processes
    engine.forget()
    for process in processes.values():
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    """One cluster for all tests that leave it whole."""
    with running(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def everything_is_long(monkeypatch):
    """Every run goes to the cluster, in many blocks."""
    monkeypatch.setattr(engine, "SHORT_RUN_SECONDS", 0.0)
    monkeypatch.setattr(costs, "LONGEST_TASK", 0.004)
    monkeypatch.setattr(costs, "SHORTEST_TASK", 0.001)


@pytest.fixture(scope="module")
def reference():
    return numbers(simulate(long_experiment(), jobs=1, store=Store(None, 0)))


def from_here(*_):
    raise AssertionError("computed on this machine")


@pytest.mark.xdist_group("cluster")
class TestCluster:
    def test_the_same_bytes_as_in_threads(self, started, monkeypatch, everything_is_long, reference):
        monkeypatch.setenv("LAB_DASK_SCHEDULER", started[0])
        monkeypatch.setattr(Simulation, "_play", from_here)
        seen = []
        store = memory()
        simulation = Simulation(long_experiment(), store)
        assert numbers(simulation.run(2, lambda run: seen.append(run.fraction))) == reference
        assert simulation.notices == []
        assert len(seen) > 20
        assert seen == sorted(seen)
        assert Simulation(long_experiment(), store).missing_seconds == 0

    def test_a_study_of_short_points_is_computed_there_too(self, started, monkeypatch, everything_is_long):
        base = long_experiment().with_changes(horizon=2_000, trials=20)
        asked = StudyFile.model_validate({"spec": base.spec(), "axes": {"seed": [0, 1]}})
        here = StudyRun(asked, base, memory()).run(2).rows
        monkeypatch.setenv("LAB_DASK_SCHEDULER", started[0])
        monkeypatch.setattr(Simulation, "_play", from_here)
        there = StudyRun(asked, base, memory())
        assert there.run(2).rows.equals(here) and there.notices == []

    def test_a_policy_of_a_file_is_sent_there_as_it_is_now(self, started, tmp_path, monkeypatch, everything_is_long):
        text, path = FILES["noisy_greedy"], tmp_path / "noisy_greedy.py"
        line = {"policy": "noisy-greedy", "epsilon": fixed(1.0)}
        ends = []
        with own_policies_forgotten():
            for factor in ("", "2.0 * ", ""):
                path.write_text(text.replace("reward + laplace", f"reward + {factor}laplace"), encoding="utf-8")
                load_policy(path)
                here = numbers(simulate(long_experiment(lines=[line]), jobs=1, store=Store(None, 0)))
                with monkeypatch.context() as there:
                    there.setenv("LAB_DASK_SCHEDULER", started[0])
                    there.setattr(Simulation, "_play", from_here)
                    simulation = Simulation(long_experiment(lines=[line]), memory())
                    assert numbers(simulation.run(2)) == here and simulation.notices == []
                ends.append(here)
        assert ends[0] == ends[2] != ends[1]

    def test_a_stop_keeps_what_is_done(self, started, monkeypatch, everything_is_long, reference):
        monkeypatch.setenv("LAB_DASK_SCHEDULER", started[0])
        store = memory()
        simulation = Simulation(long_experiment(), store)
        result = simulation.run(2, lambda run: run.stop())
        assert not result.complete
        assert 0 < Simulation(long_experiment(), store).fraction < 1
        with pytest.raises(KeyboardInterrupt):
            Simulation(long_experiment(seed=9), store).run(2, lambda run: (_ for _ in ()).throw(KeyboardInterrupt))
        monkeypatch.delenv("LAB_DASK_SCHEDULER")
        assert numbers(simulate(long_experiment(), store=store)) == reference

    def test_workers_of_another_version_are_not_used(self, started, monkeypatch, everything_is_long, reference):
        monkeypatch.setenv("LAB_DASK_SCHEDULER", started[0])
        monkeypatch.setattr(prepared, "kernel_version", lambda kernel: "another version")  # here, not on the workers
        simulation = Simulation(long_experiment(), memory())
        assert numbers(simulation.run(2)) == reference
        assert len(simulation.notices) == 1 and "version" in simulation.notices[0]
        engine.forget()

    def test_what_dies_in_mid_run_changes_no_number(self, tmp_path, monkeypatch, everything_is_long, reference):
        """In a cluster of its own: first a worker, then the scheduler, where threads go on and it is told."""
        with running(tmp_path) as (address, processes):
            monkeypatch.setenv("LAB_DASK_SCHEDULER", address)
            with monkeypatch.context() as only_there:
                only_there.setattr(Simulation, "_play", from_here)
                simulation = Simulation(long_experiment(), memory())

                def kill_at_once(run):
                    if processes["one"].poll() is None:
                        processes["one"].send_signal(signal.SIGKILL)
                        processes["one"].wait()
                        assert run.fraction < 0.5

                assert numbers(simulation.run(2, kill_at_once)) == reference
            assert processes["one"].returncode == -signal.SIGKILL
            assert simulation.notices == []
            processes["two"].send_signal(signal.SIGSTOP)  # the last worker: the cluster has all blocks for ever
            simulation = Simulation(long_experiment(), memory())

            def kill(seconds):
                processes["scheduler"].send_signal(signal.SIGKILL)
                processes["scheduler"].wait()

            monkeypatch.setattr(engine, "time", SimpleNamespace(sleep=kill, monotonic=time.monotonic))
            assert numbers(simulation.run(2)) == reference
            assert processes["scheduler"].returncode == -signal.SIGKILL
            assert len(simulation.notices) == 1 and address in simulation.notices[0]
            monkeypatch.setattr(engine, "_arriving", from_here)  # private: whether a connection is tried at all
            again = Simulation(long_experiment(), memory())
            again.run(2)
            assert again.notices == simulation.notices  # told again, but not tried again so soon


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "no address at all", "tcp://[", "http://x"])
def test_an_address_where_nobody_is_costs_a_moment_and_is_told(address, monkeypatch, everything_is_long, reference):
    monkeypatch.setattr(engine, "CONNECT_SECONDS", 0.5)
    monkeypatch.setenv("LAB_DASK_SCHEDULER", address)
    simulation = Simulation(long_experiment(), memory())
    assert numbers(simulation.run(2)) == reference
    assert len(simulation.notices) == 1 and address in simulation.notices[0]


def test_short_runs_stay_here(monkeypatch):
    monkeypatch.setenv("LAB_DASK_SCHEDULER", "tcp://127.0.0.1:1")
    simulation = Simulation(experiment_of(), memory())
    assert simulation.run(2).complete
    assert simulation.notices == []


def test_without_the_package_it_is_told(monkeypatch, everything_is_long, reference):
    monkeypatch.setenv("LAB_DASK_SCHEDULER", "tcp://127.0.0.1:2")
    monkeypatch.setitem(sys.modules, "distributed", None)
    simulation = Simulation(long_experiment(), memory())
    assert numbers(simulation.run(2)) == reference
    assert len(simulation.notices) == 1 and "distributed" in simulation.notices[0]
