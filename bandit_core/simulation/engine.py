"""Experiment -> blocks of trials -> threads, or the workers of a Dask cluster -> result."""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.kernels.streams import streams
from bandit_core.model import Block, RunSetup, Signal, Stopped
from bandit_core.policies import load_policy, registry, source_of
from bandit_core.simulation import costs, scheduler
from bandit_core.simulation.costs import block_trials, refuse_if_too_large, setting, trial_seconds, worker_count
from bandit_core.simulation.prepared import prepared_line, prepared_lines
from bandit_core.simulation.results import Result
from bandit_core.simulation.store import Store, default_store, shared_trials
from bandit_core.simulation.trial_locks import Claims
from bandit_core.spec import own_data

# ---------------------------------------------------------------------------------------------------------------------
# Blocks of trials on a Dask cluster (``LAB_DASK_SCHEDULER``: the address of its scheduler).
#
# The same blocks with the same streams as in threads, hence the same numbers. The cluster's workers need this project
# in a version that plays the same: each prepares the line by itself, and only where its kernel, the version of that
# code and every number that it is called with are the same as here is its block believed. A policy from a file is sent
# as the text of that file, which a worker runs. What a lost worker had is given to another one by Dask. Whatever else
# goes wrong ends in `Unreachable`, and the engine computes the rest by itself. Needs the packages of
# ``requirements-dask.txt``.


CONNECT_SECONDS = 5.0
RETRY_SECONDS = 60.0  # after a failure the cluster is left in peace for so long
ONCE: dict[str, Any] = {"pure": False, "retries": 2}  # of a block that failed on a worker
TICK = 0.05  # seconds between two looks at what has arrived, whether the run was stopped and the cluster is there

Call = tuple[bytes, str, RunSetup, np.ndarray, np.ndarray]  # identity of what is played, policy, setup, streams, times
Arriving = Generator[tuple[int, Block], None, None]

_failed: dict[str, tuple[float, str]] = {}  # when a cluster failed and what was told, by address


class Unreachable(Exception):
    """The cluster cannot be used (any more); the message says why, for people."""


def scheduler_address() -> str:
    """The address of the scheduler, or nothing."""
    return os.environ.get("LAB_DASK_SCHEDULER", "").strip()


_one_by_one = threading.Lock()


_folder = cache(tempfile.mkdtemp)  # one for this worker
_loaded: dict[str, str] = {}  # texts of files with policies that this worker has run, by name


def _load(name: str, text: str) -> None:
    """Run a file with policies, unless it is what was run last under this name."""
    if _loaded.get(name) != text:
        path = Path(_folder(prefix="policies-"), name)
        path.write_text(text, encoding="utf-8")
        load_policy(path)
        _loaded[name] = text


def compute(
    identity: bytes, policy: str, source: tuple[str, str] | None, setup: bytes, rows: np.ndarray, times: np.ndarray
) -> Block | None:
    """Compute one block on a worker; nothing where the worker would play something else."""
    with _one_by_one:
        if source is not None:
            _load(*source)
        line = prepared_line(registry()[policy], pickle.loads(setup))  # which may need a class of that file
    return line.play(rows, times, Signal()) if line.identity == identity else None


def blocks(address: str, calls: Sequence[Call], stopped: Callable[[], bool]) -> Arriving:
    """Blocks of the calls as they are finished, in any order, as (number of the call, block).

    After a stop no new block starts; running ones finish, unused.

    Raises
    ------
    Unreachable
        When the cluster cannot be reached, is lost on the way, runs another version, or fails in a block.
    """
    when, why = _failed.get(address, (-RETRY_SECONDS, ""))
    if time.monotonic() - when < RETRY_SECONDS:
        raise Unreachable(why)
    try:
        yield from _arriving(address, calls, stopped)
    except Exception as error:
        why = " ".join((str(error) or type(error).__name__).split())[:200]
        message = f"The Dask cluster at {address} cannot be used ({why}); this machine computes by itself, only slower."
        _failed[address] = (time.monotonic(), message)
        raise Unreachable(message) from None


def _arriving(address: str, calls: Sequence[Call], stopped: Callable[[], bool]) -> Arriving:
    """The same; any exception means that the cluster cannot be used. Leaving it takes back what no worker has begun."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise OSError("the package distributed is not installed here") from None
    with Client(address, timeout=CONNECT_SECONDS, set_as_default=False) as client:
        futures = [
            client.submit(compute, identity, policy, source_of(policy), pickle.dumps(setup), *rest, **ONCE)
            for identity, policy, setup, *rest in calls
        ]
        numbers = {future.key: number for number, future in enumerate(futures)}
        arrived = as_completed(futures, loop=client.loop, with_results=True)
        del futures  # a block goes from the cluster when it is here
        while not stopped() and not arrived.is_empty():
            if arrived.has_ready():
                future, block = next(arrived)
                yield numbers[future.key], _checked(block)
            elif client.status != "running" or not client.ncores():
                raise OSError("its scheduler or its last worker is gone")
            else:
                time.sleep(TICK)


def _checked(block: Any) -> Block:
    if block is None:
        raise OSError("its workers have another version of this project or of its packages")
    if not isinstance(block, Block):
        raise OSError("its scheduler is gone")
    return block


def forget() -> None:
    """Try again what failed before."""
    _failed.clear()


# ---------------------------------------------------------------------------------------------------------------------
# Experiment -> blocks of trials -> threads -> result.
#
# Trials are numbered; trial i of a line plays with the i-th child of ``SeedSequence(seed)``, so no number depends on
# how trials are cut into blocks, on the number of workers, or on what the store already holds. Kernels release the
# interpreter lock, hence threads. Every finished block goes to the store at once: 50 trials after 20 cost 30, and a
# stopped run keeps what is done.


_fresh_streams = lru_cache(maxsize=8)(streams)  # of a moved slider the same; copied before they are played
SHORT_RUN_SECONDS, MIDDLE_RUN_SECONDS = 1.0, 10.0  # on all workers; a run of more gives way to shorter ones


def with_stop_checks(times: np.ndarray, seconds: float) -> np.ndarray:
    """The checkpoints, and so many more that a trial of these seconds looks at its signal every quarter of a second.

    Kernels look where they record. That changes no number, it only cuts what they do in one go.
    """
    pieces = min(costs.MAX_STOP_CHECKS, math.ceil(seconds / costs.STOP_CHECK_SECONDS))
    if pieces < 2:
        return times
    return np.union1d(times, np.linspace(0, times[-1], pieces + 1)[1:].astype(np.int64).clip(1))


def at_checkpoints(block: Block, taken: np.ndarray, times: np.ndarray) -> Block:
    """The block with its curves at ``times`` only, of those at which it was ``taken``."""
    if len(taken) == len(times):
        return block
    places = np.searchsorted(taken, times)
    return Block(**{name: array if name == "pulls" else array[:, places] for name, array in block.arrays.items()})


@dataclass(frozen=True, eq=False)
class Task:
    """Some trials of one line, which a thread plays in one go."""

    line: int
    first: int
    last: int
    seconds: float
    signal: Signal = field(default_factory=Signal)


class _Admitted(NamedTuple):
    """Who lets the blocks of a run start, and how many at once."""

    queue: scheduler.Scheduler
    job: scheduler.Job
    workers: int


Found = TypeVar("Found")


class Run(Generic[Found]):
    """Trials of several lines being played on threads, once.

    ``run`` blocks until they are finished or stopped; from other threads ``fraction`` tells how far it is, ``stop``
    ends it at the next checkpoint, and ``result`` gives what is done so far.

    ``seconds`` are those of a trial of each line, ``steps`` what a signal counts in one, ``claims`` those of the store.
    A subclass says in ``_done`` which trials of each line are done, (trials,) each.
    """

    _done: list[np.ndarray]

    def __init__(self, seconds: list[float], steps: int, claims: Claims) -> None:
        self.stopped = False
        self.whole_seconds = 0.0  # set by a question, whose runs are short one by one
        self.waiting = False  # for its turn: at most ``LAB_MAX_RUNS`` go on at once
        self.kept = True  # whether the store took every block of this run
        self.notices: list[str] = []  # what its owner should be told
        self._claims = claims
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._running: set[Task] = set()
        self._failure: BaseException | None = None
        self._caller = 0
        self._seconds, self._steps = seconds, steps
        self._weights = [max(1, round(each * 1e9)) for each in seconds]  # of a trial, for `fraction`

    def _block(self, task: Task) -> Any:
        """Play a task; what is learned of it, or None."""
        raise NotImplementedError

    def _take(self, task: Task, block: Any) -> None:
        """Take in what was learned of a task."""
        raise NotImplementedError

    def result(self) -> Found:
        """Everything that is done so far."""
        raise NotImplementedError

    @property
    def missing_seconds(self) -> float:
        """Rough time, on one core, of what is not done yet and was not found in the store."""
        with self._lock:
            missing = [np.count_nonzero(~done) for done in self._done]
        return sum(seconds * count for seconds, count in zip(self._seconds, missing, strict=True))

    @property
    def fraction(self) -> float:
        """Share of the work that is done, by estimated time, in [0, 1]; never falls until the run is stopped.

        From whole counts, so that no rounding moves it backwards. Blocks that are being computed count with the steps
        they have taken, or with the rows of theirs that another run has finished meanwhile, whichever is more.
        """
        steps, done, total = self._steps, 0, 0
        with self._lock:
            for line, (weight, shared) in enumerate(zip(self._weights, self._done, strict=True)):
                rows = shared.copy()  # other runs write to it, too
                taken = steps * int(np.count_nonzero(rows))
                for task in self._running:
                    if task.line == line:
                        part = rows[task.first : task.last]
                        inside = steps * int(np.count_nonzero(part))
                        taken += max(0, min(steps * len(part), task.signal.steps) - inside)
                done += weight * taken
                total += weight * steps * len(rows)
        return done / total if total else 1.0

    def stop(self) -> None:
        """Stop soon; finished blocks are kept. May be called from any thread, also before ``run``."""
        with self._lock:
            self.stopped = True
            for task in self._running:
                task.signal.stop()

    def _plan(self, workers: int) -> list[Task]:
        """Cut the missing trials into tasks of at least 10 ms and, where one trial allows it, at most 0.25 s."""
        tasks = []
        for line, (done, seconds) in enumerate(zip(self._done, self._seconds, strict=True)):
            missing = np.flatnonzero(~done)
            if not len(missing):
                continue
            size = block_trials(len(missing), seconds, workers)
            for run in np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1):
                parts = np.array_split(run, math.ceil(len(run) / size))
                tasks += [Task(line, int(part[0]), int(part[-1]) + 1, seconds * len(part)) for part in parts]
        # Lines advance side by side, so that a partial picture shows all of them.
        return sorted(tasks, key=lambda task: (task.first, task.line))

    def _play(self, task: Task, admitted: _Admitted | None) -> bool:
        """Compute one block when its turn has come; whether it is there now. Raises nothing."""
        if admitted is None:
            return self._compute(task)
        with admitted.queue.worker(admitted.job, task.seconds, admitted.workers) as start:
            if start and admitted.queue.niceness and threading.get_ident() != self._caller:
                lower_priority(admitted.queue.niceness)
            return start and self._compute(task)

    def _compute(self, task: Task) -> bool:
        """Compute one block and keep it; returns whether there is a new block. Raises nothing: see ``_failure``."""
        with self._lock:
            if self.stopped:
                return False
            self._running.add(task)
        block = None
        try:
            block = self._block(task)
        except Stopped:
            pass
        except BaseException as error:  # also Ctrl-C; run() raises it in the caller's thread
            self._failure = self._failure or error
            self.stop()
        finally:
            self._finish(task, block)
        return block is not None

    def _finish(self, task: Task, block: Any) -> None:
        with self._idle:
            if block is not None:
                self._take(task, block)
            self._running.discard(task)
            self._idle.notify_all()

    def run(self, jobs: int | None = None, on_progress: Callable[[Any], None] | None = None) -> Found:
        """Compute what is missing; calls ``on_progress(self)`` in this thread after every finished block.

        Returns when nothing is running any more. An exception in a kernel or in ``on_progress`` stops the run and
        reaches the caller; blocks finished by then are kept.
        """
        workers = worker_count(jobs)
        self._caller = threading.get_ident()
        missing = self.missing_seconds
        seconds = max(missing, self.whole_seconds) / workers
        short = seconds <= SHORT_RUN_SECONDS
        if missing < 3 * costs.SHORTEST_TASK and short:  # a thread pool, or waiting, would cost more than it saves
            return self._run(1, None, on_progress)
        queue = scheduler.SHORT if short else scheduler.MIDDLE if seconds <= MIDDLE_RUN_SECONDS else scheduler.LONG
        self.waiting = not short
        with queue.admit(math.inf if short else setting("LAB_MAX_RUNS"), lambda: self.stopped, self._claims) as job:
            self.waiting = False
            return self._run(workers, _Admitted(queue, job, workers), on_progress)

    def _run(self, workers: int, admitted: _Admitted | None, on_progress: Callable[[Any], None] | None) -> Found:
        tasks = self._plan(workers)
        upcoming = itertools.takewhile(lambda _: not self.stopped, tasks)
        finished: Iterator[bool]
        if workers == 1 or len(tasks) < 2:
            finished = (self._play(task, admitted) for task in upcoming)
        else:
            from joblib import Parallel, delayed

            pool = Parallel(n_jobs=workers, backend="threading", return_as="generator_unordered", batch_size=1)
            finished = pool(delayed(self._play)(task, admitted) for task in upcoming)
        try:
            for kept in finished:
                if kept and on_progress is not None:
                    on_progress(self)
        except BaseException:
            self.stop()
            with contextlib.suppress(Exception):
                for _ in finished:  # short: no task starts any more, and the running ones were told to stop
                    pass
            raise
        finally:
            with self._idle:
                self._idle.wait_for(lambda: not self._running)
        if self._failure is not None:
            raise self._failure
        return self.result()


class Simulation(Run[Result]):
    """One experiment being computed, once; see `Run`.

    Raises
    ------
    InputError
        When the experiment takes more steps, seconds or memory than `costs.refuse` allows here.
    """

    def __init__(self, experiment: Experiment, store: Store | None = None) -> None:
        refuse_if_too_large(experiment)
        self.experiment = experiment
        self.times = checkpoints(experiment.horizon)
        self.store = store or own_data.store() or default_store()
        seconds = [trial_seconds(experiment, line) for line in range(len(experiment.lines))]
        super().__init__(seconds, experiment.horizon, self.store.claims)
        self._watched = [with_stop_checks(self.times, each) for each in seconds]
        self._lines = prepared_lines(experiment)
        self._words = np.empty((0, 8), np.uint64)
        self._keys = [line.key(self.times, experiment.seed) for line in self._lines]
        size = (experiment.trials, len(self.times), experiment.arm_count, experiment.contexts is not None)
        self._trials = [shared_trials(self.store, key, *size) for key in self._keys]
        self._done = [trials.done for trials in self._trials]
        self._take_shipped()

    def _take_shipped(self) -> None:
        """Fill in what ships with the project, where the store lacks it and its owner wants it."""
        if self.store.bundled_results is None:
            return
        for number, (line, trials) in enumerate(zip(self._lines, self._trials, strict=True)):
            if not trials.done.all():
                key = line.portable_key(self.times, self.experiment.seed)
                block = self.store.bundled_results.get(key, self.experiment, number)
                if block is not None and trials.fill(0, block):
                    trials.bundled_results = self.store.bundled_results.made

    def seconds_on(self, cores: int) -> float:
        """Rough time of what is not done yet on so many cores; a trial keeps one of them to its end."""
        with self._lock:
            longest = max(
                (seconds for seconds, trials in zip(self._seconds, self._trials, strict=True) if not trials.done.all()),
                default=0.0,
            )
        return max(self.missing_seconds / cores, longest)

    def result(self) -> Result:
        """Everything that is done so far."""
        with self._lock:
            done = [trials.done.copy() for trials in self._trials]
        lines = tuple(trials.line_result(rows) for trials, rows in zip(self._trials, done, strict=True))
        made = [trials.bundled_results for trials in self._trials]
        shipped = [self.experiment.label(line) for line, version in enumerate(made) if version]
        only = f", for {', '.join(shipped)}" * (0 < len(shipped) < len(made))
        return Result(self.experiment, self.times, lines, bundled_results=max(made) + only)

    def _streams(self, task: Task) -> np.ndarray:
        """Fresh streams of its trials, shape (trials, 8); lines share them, and what is played takes copies."""
        return self._words[task.first : task.last]

    def _play(self, task: Task, admitted: _Admitted | None) -> bool:
        with self._trials[task.line].missing(task.first, task.last, lambda: self.stopped) as missing:
            return super()._play(task, admitted) if missing else not self.stopped

    def _block(self, task: Task) -> Block:
        times = self._watched[task.line]
        played = self._lines[task.line].play(self._streams(task), times, task.signal)
        return self._checked_and_stored(task, at_checkpoints(played, times, self.times))

    def _checked_and_stored(self, task: Task, block: Block) -> Block:
        """The block, checked and in the store."""
        if not self._trials[task.line].keep(task.first, task.last, block):
            self.kept = False
        return block

    def _take(self, task: Task, block: Block) -> None:
        self._trials[task.line].fill(task.first, block)

    def _run(self, workers: int, admitted: _Admitted | None, on_progress: Callable[[Any], None] | None) -> Result:
        if self.missing_seconds:  # once, before workers ask for them at the same time
            self._words = _fresh_streams(self.experiment.seed, 0, self.experiment.trials)
        if admitted is not None and admitted.queue is not scheduler.SHORT and scheduler_address():
            self._run_on_cluster(self._plan(workers), on_progress)
        return super()._run(workers, admitted, on_progress)

    def _run_on_cluster(self, tasks: list[Task], on_progress: Callable[[Any], None] | None) -> None:
        """Let a cluster compute the tasks; what it leaves over is told, and still to be computed."""
        calls = [
            (line.identity, line.policy.name, line.setup, self._streams(task), self.times)
            for task, line in ((task, self._lines[task.line]) for task in tasks)
        ]
        try:
            with contextlib.closing(blocks(scheduler_address(), calls, lambda: self.stopped)) as arriving:
                for number, block in arriving:
                    self._finish(tasks[number], self._checked_and_stored(tasks[number], block))
                    if on_progress is not None:
                        on_progress(self)
        except Unreachable as reason:
            self.notices.append(str(reason))
        except BaseException:
            self.stop()
            raise


def lower_priority(niceness: int = 5) -> None:
    """Let shorter runs and the web server go first. Niceness belongs to a thread on Linux: for threads that end."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)


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
    InputError
        When the experiment takes more steps, seconds or memory than `costs.refuse` allows here.
    """
    return Simulation(experiment, store).run(jobs, on_progress)
