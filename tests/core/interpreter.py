"""Does a running kernel leave the interpreter to others?"""

import threading
import time

import numpy as np

from bandit_core.kernels.streams import streams
from bandit_core.model import Policy, RunSetup, Signal, Stopped

ATTEMPTS = 10  # a busy machine may not wake this thread in time; a kernel that holds the lock never lets it


def assert_left_free(entry: Policy, instance: RunSetup) -> None:
    """While a kernel plays, this thread goes on: it sees that steps were taken, and its stop is heard before the end.

    Where a kernel holds the lock, this thread sees no step before the end, and a stop that was asked for afterwards is
    heard by no one, however fast the machine is. The instance must be too long to be played to its end (horizon 10^8 or
    more).
    """
    entry.play(instance, streams(0, 0, 1), np.array([1, 10]), Signal())  # compiled first
    times = np.linspace(1, instance.horizon, 10_000).astype(np.int64)
    for _ in range(ATTEMPTS):
        signal, stopped = Signal(), []

        def play(signal: Signal = signal, stopped: list[bool] = stopped) -> None:
            try:
                entry.play(instance, streams(0, 0, 1), times, signal)
            except Stopped:
                stopped.append(True)

        thread = threading.Thread(target=play)
        thread.start()
        while signal.steps == 0 and thread.is_alive():
            time.sleep(0.001)
        signal.stop()
        thread.join()
        if stopped:
            assert 0 < signal.steps < instance.horizon
            return
    raise AssertionError(f"not stopped; steps seen: {signal.steps}")
