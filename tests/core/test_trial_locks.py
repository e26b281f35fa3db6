"""What several processes agree on: equal trials are computed once, and places for long runs are counted once."""

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from bandit_core import Experiment, simulate
from bandit_core.experiments.experiment import checkpoints
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.prepared import PreparedLine, prepared_lines
from bandit_core.simulation.store import Store
from bandit_core.simulation.trial_locks import Claims

EXPERIMENT = Experiment.model_validate(
    {
        "arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.6)],
        "lines": [{"policy": "ucb"}],
        "horizon": 40,
        "trials": 6,
    }
)
KEY = prepared_lines(EXPERIMENT)[0].key(checkpoints(EXPERIMENT.horizon), EXPERIMENT.seed)
# Another process: claims all trials of the experiment, says so, and after a word of ours plays and keeps them.
OTHER = """
import sys
from pathlib import Path
from bandit_core import Experiment, simulate
from bandit_core.simulation.store import Store
experiment = Experiment.model_validate_json(sys.argv[1])
store, key = Store(Path(sys.argv[2]), 2**20), sys.argv[3]
with store.claims.trials(key, 0, 6, lambda: False), store.claims.place("long", 1, lambda: False):
    print("mine", flush=True)
    input()
    simulate(experiment, 1, store=store)
"""


@pytest.fixture
def other(tmp_path):
    """A process that holds claims in the folder of the store at ``tmp_path / "blocks"``."""
    command = [sys.executable, "-c", OTHER, EXPERIMENT.model_dump_json(), str(tmp_path / "blocks"), KEY]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "mine\n"
    yield process
    process.kill()
    process.communicate()


def waiting(looks):
    """A stop that is never asked for, and an event that is set once someone has looked at it so often."""
    seen, count = threading.Event(), [0]

    def stopped():
        count[0] += 1
        if count[0] >= looks:
            seen.set()
        return False

    return stopped, seen


def test_trials_that_another_process_computes_are_taken_from_it(tmp_path, other, monkeypatch):
    simulation = Simulation(EXPERIMENT, Store(tmp_path / "blocks", 2**20))

    def no_kernel(*_):
        raise AssertionError("computed twice")

    monkeypatch.setattr(PreparedLine, "play", no_kernel)
    found = []
    run = threading.Thread(target=lambda: found.append(simulation.run(1)))
    run.start()
    assert other.communicate("now\n") == ("", None)
    run.join()
    monkeypatch.undo()
    [line], [wanted] = found[0].lines, simulate(EXPERIMENT, 1, store=Store(None, 0)).lines
    assert np.array_equal(line.regret, wanted.regret) and np.array_equal(line.pulls, wanted.pulls)


def test_who_is_killed_gives_up_what_it_held(tmp_path, other):
    store = Store(tmp_path / "blocks", 2**20)
    stopped, looked = waiting(3)
    simulation, found = Simulation(EXPERIMENT, store), []

    def claim():
        with store.claims.trials(KEY, 2, 3, stopped):
            found.append("trials")
        with store.claims.place("long", 1, stopped):
            found.append("place")

    run = threading.Thread(target=claim)
    run.start()
    assert looked.wait(60) and found == []  # it looked three times, and still waits
    other.send_signal(signal.SIGKILL)
    run.join()
    assert found == ["trials", "place"]
    assert simulation.run(1).complete


def test_other_trials_and_other_places_are_free(tmp_path, other):
    claims, looks = Store(tmp_path / "blocks", 2**20).claims, []

    def looked():
        looks.append(1)
        return len(looks) > 5

    with claims.trials(KEY, 6, 9, looked), claims.trials("another", 0, 6, looked):
        assert looks == []
    with claims.place("middle", 1, looked), claims.place("long", 2, looked):
        assert looks == []  # each was free
        with claims.place("long", 2, looked):
            assert len(looks) > 5  # of two the other process has one, and we have the other: this one gave up


def test_a_stopped_run_waits_no_longer(tmp_path, other):
    simulation = Simulation(EXPERIMENT, Store(tmp_path / "blocks", 2**20))
    simulation.stop()
    assert simulation.run(1).lines == (None,)


def test_without_a_folder_nobody_is_asked(tmp_path):
    def never():
        raise AssertionError("it had to wait")

    for claims in (Claims(None), Claims(tmp_path / "missing")):
        entered = False
        with claims.trials("key", 0, 5, never), claims.place("long", 1, never), claims.place("long", 1, never):
            entered = True
        assert entered
