"""How the runs of one process share its cores: a server has few processes and many visitors.

Three schedulers start blocks of trials, each as many at once as there are workers: ``SHORT`` for runs that are over at
once, ``MIDDLE`` for seconds, ``LONG`` for all that takes longer. None ever waits for another, and the shorter the runs,
the higher the priority of their threads: so a long run gives way at any moment, in the middle of a trial that takes an
hour, and by the operating system's doing. In ``SHORT`` the run that came first goes first: with equal runs that halves
the mean wait against working on all of them at a time. The others are fair: the run that has had least goes next, so a
hundred million pulls wait a quarter of a second for a hundred billion, not an hour.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bandit_core.simulation.trial_locks import Claims

ALONE = Claims(None)
TICK = 0.1  # seconds after which one who waits looks whether it was stopped


@dataclass(eq=False)
class Job:
    """One run in its scheduler: seconds of work it has had, and its blocks that are computed and that wait."""

    stopped: Callable[[], bool]
    used: float = 0.0
    running: int = 0
    waiting: int = 0


class Scheduler:
    """Starts the blocks of all runs together; safe from any thread.

    ``fair``: whether the run that has had least goes next, else the one that came first. ``niceness`` is what the
    threads that compute take on.
    """

    def __init__(self, name: str, fair: bool = True, niceness: int = 0) -> None:
        self.name, self.fair, self.niceness = name, fair, niceness
        self.jobs: list[Job] = []  # that are admitted
        self._queue: list[Job] = []
        self._changed = threading.Condition()

    @contextmanager
    def admit(self, most: float, stopped: Callable[[], bool], claims: Claims = ALONE) -> Iterator[Job]:
        """Wait, in order of arrival, until fewer than ``most`` runs are admitted (or this one is stopped).

        Then likewise among all processes that share ``claims``, in no order.
        """
        job = Job(stopped)
        with self._changed:
            self._queue.append(job)
            try:
                self._wait(job, lambda: self._queue[0] is job and len(self.jobs) < most)
            finally:
                self._queue.remove(job)
            job.used = min((other.used for other in self.jobs), default=0.0)
            self.jobs.append(job)
            self._changed.notify_all()
        try:
            with claims.place(self.name, most, stopped):
                yield job
        finally:
            with self._changed:
                self.jobs.remove(job)
                self._changed.notify_all()

    @contextmanager
    def worker(self, job: Job, seconds: float, workers: int) -> Iterator[bool]:
        """Wait until a block of ``seconds`` may be computed as one of ``workers``; False if stopped meanwhile."""
        with self._changed:
            job.waiting += 1
            start = self._wait(job, lambda: self._is_next(job, workers))
            job.waiting -= 1
            job.running += start
            job.used += seconds * (start and self.fair)
            self._changed.notify_all()
        try:
            yield start
        finally:
            with self._changed:
                job.running -= start
                self._changed.notify_all()

    def _wait(self, job: Job, ready: Callable[[], bool]) -> bool:
        """Whether it is ready; False where the run was stopped before."""
        while not job.stopped():
            if ready():
                return True
            self._changed.wait(TICK)
        return False

    def _is_next(self, job: Job, workers: int) -> bool:
        free = sum(other.running for other in self.jobs) < workers
        return free and job is min((other for other in self.jobs if other.waiting), key=lambda other: other.used)


SHORT = Scheduler("short", fair=False)
MIDDLE, LONG = Scheduler("middle", niceness=5), Scheduler("long", niceness=10)
