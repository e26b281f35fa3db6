"""Experiment -> blocks of trials -> threads -> result.

Trials are numbered; trial i of a line plays with the i-th child of ``SeedSequence(seed)``, so no number depends on
how trials are cut into blocks, on the number of workers, or on what the store already holds. Kernels release the
interpreter lock, hence threads. Every finished block goes to the store at once: 50 trials after 20 cost 30, and a
stopped run keeps what is done.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bandit_core.experiment import Experiment
from bandit_core.kernels.compiled import fingerprint
from bandit_core.kernels.streams import streams
from bandit_core.policies.base import Block, Signal, Stopped
from bandit_core.problems import InvalidInput, Problem
from bandit_core.results import LineResult, Result, checkpoints
from bandit_core.store import Store, default_store

STEP_SECONDS = 25e-9  # one pull of `ucb` with up to 20 arms, per core; for cost estimates only
SHORTEST_TASK, LONGEST_TASK = 0.010, 0.25  # seconds of work in one task of the thread pool


def worker_count(jobs: int | None = None) -> int:
    """Workers to use: ``jobs``, else ``LAB_JOBS``, else every core this process may use."""
    if jobs is None and os.environ.get("LAB_JOBS", "").isdigit():
        jobs = int(os.environ["LAB_JOBS"])
    if not jobs or jobs < 1:
        import joblib

        jobs = joblib.cpu_count()
    return jobs


def _trial_seconds(experiment: Experiment, line: int) -> float:
    crowd = max(1.0, math.log2(len(experiment.single_arms) / 10)) if len(experiment.single_arms) > 20 else 1.0
    return experiment.horizon * STEP_SECONDS * crowd * experiment.lines[line].entry.step_cost


def estimated_seconds(experiment: Experiment, jobs: int | None = None) -> float:
    """Rough wall-clock time of the whole experiment, nothing cached (reads no clock, so it is the same everywhere)."""
    work = sum(_trial_seconds(experiment, line) for line in range(len(experiment.lines))) * experiment.trials
    return work / worker_count(jobs)


def steps(experiment: Experiment) -> int:
    """Pulls that the whole experiment takes: horizon x trials x lines."""
    return experiment.horizon * experiment.trials * len(experiment.lines)


def most_steps() -> int:
    """What one run may cost (``LAB_MAX_STEPS``)."""
    chosen = os.environ.get("LAB_MAX_STEPS", "")
    return int(chosen) if chosen.isdigit() else 10**12


def line_key(experiment: Experiment, line: int) -> str:
    """Everything a line's numbers depend on, and nothing else, as a hash."""
    instance = experiment.instances[line]
    content = {
        "kernels": fingerprint(),
        "policy": experiment.lines[line].policy,
        "arms": [arm.model_dump(mode="json") for arm in instance.arms],
        "epsilon": instance.epsilon.model_dump(mode="json") if instance.epsilon else None,
        "parameters": instance.parameters.model_dump(mode="json"),
        "horizon": experiment.horizon,
        "seed": experiment.seed,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class _Task:
    line: int
    first: int
    last: int
    signal: Signal


class Simulation:
    """One experiment being computed.

    ``run`` blocks until it is finished or stopped; from other threads ``fraction`` tells how far it is, ``stop``
    ends it at the next checkpoint, and ``result`` gives what is done so far.

    Raises
    ------
    InvalidInput
        When the experiment costs more steps than ``LAB_MAX_STEPS`` allows.
    """

    def __init__(self, experiment: Experiment, store: Store | None = None) -> None:
        if steps(experiment) > most_steps():
            allowed = (
                f"at most {most_steps():.3g} steps (horizon x trials x lines) on this server; "
                "use a shorter horizon or fewer trials, or run it on your own machine"
            )
            raise InvalidInput([Problem("horizon", f"{steps(experiment):.3g} steps", allowed)])
        self.experiment = experiment
        self.times = checkpoints(experiment.horizon)
        self.stopped = False
        self._store = store or default_store()
        self._lock = threading.Lock()
        self._blocks: list[list[tuple[int, Block]]] = [[] for _ in experiment.lines]
        self._keys = [line_key(experiment, line) for line in range(len(experiment.lines))]
        for line, key in enumerate(self._keys):
            self._blocks[line] = self._store.get(key, experiment.trials)
        self._tasks: list[_Task] = []

    @property
    def missing_seconds(self) -> float:
        """Rough time, on one core, of what the store does not hold yet."""
        return sum(
            _trial_seconds(self.experiment, line) * (self.experiment.trials - self._done(line))
            for line in range(len(self.experiment.lines))
        )

    def _done(self, line: int) -> int:
        with self._lock:
            return sum(block.trials for _, block in self._blocks[line])

    @property
    def fraction(self) -> float:
        """Share of the work that is done, by estimated time, counting unfinished blocks; in [0, 1]."""
        experiment = self.experiment
        total = done = 0.0
        running = [task for task in self._tasks if task.signal.steps and not self._holds(task)]
        for line in range(len(experiment.lines)):
            seconds = _trial_seconds(experiment, line)
            total += seconds * experiment.trials
            begun = sum(task.signal.steps for task in running if task.line == line)
            done += seconds * (self._done(line) + begun / experiment.horizon)
        return min(1.0, done / total)

    def _holds(self, task: _Task) -> bool:
        with self._lock:
            return any(first == task.first for first, _ in self._blocks[task.line])

    def stop(self) -> None:
        """Stop soon; finished blocks are kept."""
        self.stopped = True
        for task in self._tasks:
            task.signal.stop()

    def result(self) -> Result:
        """Everything that is done so far."""
        with self._lock:
            blocks = [sorted(line, key=lambda item: item[0]) for line in self._blocks]
        lines: list[LineResult | None] = []
        for line in blocks:
            if not line:
                lines.append(None)
                continue
            trials = np.concatenate([np.arange(first, first + block.trials) for first, block in line])
            regret, best, pulls = (
                np.concatenate([getattr(block, name) for _, block in line])
                for name in ("regret", "best_pulls", "pulls")
            )
            lines.append(LineResult(trials, regret, best, pulls))
        return Result(self.experiment, self.times, tuple(lines))

    def _plan(self, workers: int) -> list[_Task]:
        """Cut the missing trials into tasks of at least 10 ms and, where one trial allows it, at most 0.25 s."""
        tasks = []
        trials = self.experiment.trials
        for line in range(len(self.experiment.lines)):
            present = np.zeros(trials, bool)
            for first, block in self._blocks[line]:
                present[first : first + block.trials] = True
            missing = np.flatnonzero(~present)
            if not len(missing):
                continue
            seconds = _trial_seconds(self.experiment, line)
            smallest, largest = (max(1, round(limit / seconds)) for limit in (SHORTEST_TASK, LONGEST_TASK))
            size = min(largest, max(smallest, math.ceil(len(missing) / workers)))
            for run in np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1):
                for part in np.array_split(run, math.ceil(len(run) / size)):
                    tasks.append(_Task(line, int(part[0]), int(part[-1]) + 1, Signal()))
        # Lines advance side by side, so that a partial picture shows all of them.
        return sorted(tasks, key=lambda task: (task.first, task.line))

    def _play(self, task: _Task) -> tuple[_Task, Block | None]:
        if self.stopped:
            return task, None
        policy, instance = self.experiment.lines[task.line].entry, self.experiment.instances[task.line]
        try:
            rows = streams(self.experiment.seed, task.first, task.last)
            return task, policy.simulate(instance, rows, self.times, task.signal)
        except Stopped:
            return task, None

    def run(
        self, jobs: int | None = None, on_progress: Callable[[Simulation], None] | None = None
    ) -> Result:
        """Compute what is missing; calls ``on_progress(self)`` after every finished block."""
        workers = worker_count(jobs)
        self._tasks = self._plan(workers)
        if self.missing_seconds < 3 * SHORTEST_TASK or workers == 1:
            finished = map(self._play, self._tasks)  # a thread pool would cost more than it saves
        else:
            from joblib import Parallel, delayed

            pool = Parallel(n_jobs=workers, backend="threading", return_as="generator_unordered", batch_size=1)
            finished = pool(delayed(self._play)(task) for task in self._tasks)
        try:
            for task, block in finished:
                if block is None:
                    continue
                self._store.put(self._keys[task.line], task.first, block)
                with self._lock:
                    self._blocks[task.line].append((task.first, block))
                if on_progress is not None:
                    on_progress(self)
        finally:
            unfinished = self.fraction < 1
            if unfinished:
                self.stop()
            if hasattr(finished, "close"):
                with warnings.catch_warnings():  # joblib remarks that a closed generator ended early: so we asked
                    warnings.simplefilter("ignore", UserWarning)
                    finished.close()
        return self.result()


def simulate(
    experiment: Experiment,
    jobs: int | None = None,
    on_progress: Callable[[Simulation], None] | None = None,
    store: Store | None = None,
) -> Result:
    """Simulate every line of ``experiment`` and return all trials.

    Parameters
    ----------
    experiment
        What to simulate.
    jobs
        Worker threads (default: ``LAB_JOBS`` or all cores); never changes a number.
    on_progress
        Called with the running `Simulation` after each finished block; it may call ``stop()``.
    store
        Where blocks are kept (default: the process's store on disk).

    Raises
    ------
    InvalidInput
        When the experiment costs more steps than ``LAB_MAX_STEPS`` allows.
    """
    return Simulation(experiment, store).run(jobs, on_progress)
