"""A run that a person watches in a terminal: how far it is, on standard error, and Ctrl-C."""

import sys
import threading
import time
from typing import Any

SILENT = 2.0  # seconds, after which a run says how far it is, however little that is


class Progress:
    """Percent done, on standard error: one line that is rewritten on a terminal, else a line per tenth."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown, self._late = 0, time.monotonic() + SILENT

    def __call__(self, simulation: Any) -> None:
        percent = int(100 * simulation.fraction)
        if percent < self._shown + (1 if self._terminal else 10) and time.monotonic() < self._late:
            return
        self._shown, self._late = percent, float("inf")
        sys.stderr.write(f"\r{percent:>5}%" if self._terminal else f"{percent}%\n")
        sys.stderr.flush()

    def end(self) -> None:
        if self._terminal:
            sys.stderr.write("\r      \r")


def finished(simulation: Any, jobs: int | None) -> Any:
    """The result of a run, sweep or study, with progress on standard error.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, once the run has stopped.
    """
    progress = Progress()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            simulation.run(jobs)
        except BaseException as error:
            failures.append(error)

    # Compiled code hears no Ctrl-C, so it runs beside the thread that does.
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.2)
            progress(simulation)
    except KeyboardInterrupt:
        simulation.stop()
        thread.join()
        progress.end()
        stored = "; finished blocks of trials are kept and will not be computed again" if simulation.kept else ""
        print(f"interrupted{stored}", file=sys.stderr)
        raise
    progress.end()
    for notice in simulation.notices:
        print(notice, file=sys.stderr)
    if failures:
        raise failures[0]
    return simulation.result()
