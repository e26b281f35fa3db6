"""Does a running kernel leave the interpreter to others?"""

from __future__ import annotations

import threading
import time

import numpy as np

from bandit_core.kernels.streams import streams
from bandit_core.model import Policy, RunSetup, Signal, Stopped

ATTEMPTS = 10  # a busy machine may not wake this thread in time; a kernel that holds the lock never lets it
SIGHTS = 5  # different numbers of steps to be seen while one call goes on


def assert_left_free(entry: Policy, instance: RunSetup) -> None:
    """While a kernel plays, this thread goes on: it sees the steps grow, and its stop is heard before the end.

    A kernel that holds the lock shows nothing but its end, however fast the machine is. The instance must be too long
    to be played to its end (horizon 10^8 or more).
    """
    entry.play(instance, streams(0, 0, 1), np.array([1, 10]), Signal())  # compiled first
    times = np.linspace(1, instance.horizon, 10_000).astype(np.int64)
    for _ in range(ATTEMPTS):
        signal, stopped, seen = Signal(), [], set()

        def play(signal: Signal = signal, stopped: list[bool] = stopped) -> None:
            try:
                entry.play(instance, streams(0, 0, 1), times, signal)
            except Stopped:
                stopped.append(True)

        thread = threading.Thread(target=play)
        thread.start()
        while len(seen) < SIGHTS and thread.is_alive():
            seen.add(signal.steps)
            time.sleep(0.001)
        signal.stop()
        thread.join()
        if stopped and len(seen) == SIGHTS:
            return
    raise AssertionError(f"stopped: {bool(stopped)}, steps seen: {sorted(seen)}")
