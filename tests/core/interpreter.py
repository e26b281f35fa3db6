"""Does a running kernel leave the interpreter to others?"""

from __future__ import annotations

import threading
import time

import numpy as np

from bandit_core.kernels.streams import streams
from bandit_core.model import Policy, RunSetup, Signal, Stopped

ATTEMPTS = 4  # a busy machine may keep this thread waiting; a kernel that holds the lock always does


def assert_left_free(entry: Policy, instance: RunSetup) -> None:
    """While a kernel plays, this thread goes on: its longest pause is a fraction of the time the kernel runs.

    The instance must be too long to be played to its end (horizon 10^8 or more).
    """
    entry.play(instance, streams(0, 0, 1), np.array([1, 10]), Signal())  # compiled before the clock starts
    times = np.linspace(1, instance.horizon, 10_000).astype(np.int64)
    told = ""
    for _ in range(ATTEMPTS):
        signal, stopped = Signal(), []

        def play(signal: Signal = signal, stopped: list[bool] = stopped) -> None:
            try:
                entry.play(instance, streams(0, 0, 1), times, signal)
            except Stopped:
                stopped.append(True)

        thread = threading.Thread(target=play)
        begun = last = time.perf_counter()
        thread.start()
        longest, seen = 0.0, 0
        while last - begun < 0.25:
            time.sleep(0.001)
            now = time.perf_counter()
            longest, last, seen = max(longest, now - last), now, signal.steps
        signal.stop()
        thread.join()
        duration = time.perf_counter() - begun
        if stopped and seen > 0 and longest < 0.6 * duration:
            return
        told += f"stopped: {bool(stopped)}, steps seen: {seen}, longest pause {longest:.2f} of {duration:.2f} s; "
    raise AssertionError(told)
