"""What several processes of one machine agree on: who computes which trials, and whose long run may go on.

Both are locks on files in the folder of blocks, so whoever is killed gives up what it held by the operating system's
doing. Where there are no such locks (Windows, a file system without them, blocks in memory) every process decides for
itself: that costs time, never a number.
"""

import contextlib
import hashlib
import math
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

POLL_SECONDS = 0.02  # seconds after which one who waits looks again
_MOST_TRIALS = 2**14  # an experiment has fewer: the bytes of one key do not reach those of the next
_pause = threading.Event()  # never set: who waits for it sleeps


class Claims:
    """Locks that the processes sharing ``folder`` see; None is a folder that no one shares."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._rows: IO[bytes] | None = None
        if folder is not None and fcntl is not None:
            with contextlib.suppress(OSError):
                self._rows = (folder / "trials.lock").open("ab")
                weakref.finalize(self, self._rows.close)  # not before: that would give up what it holds

    @contextmanager
    def trials(self, key: str, first: int, last: int, stopped: Callable[[], bool]) -> Iterator[None]:
        """Wait until no other process computes some of these trials (or this run is stopped).

        Threads of one process must not ask for the same trials (`Trials.missing` sees to that).
        """
        begin = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") * _MOST_TRIALS + first
        part = last - first, begin
        rows = self._rows
        is_locked = rows is not None and _waited(lambda: _locked(rows, fcntl.lockf, *part), stopped)
        try:
            yield
        finally:
            if rows is not None and is_locked:
                with contextlib.suppress(OSError):
                    fcntl.lockf(rows, fcntl.LOCK_UN, *part)

    @contextmanager
    def place(self, kind: str, most: float, stopped: Callable[[], bool]) -> Iterator[None]:
        """Wait until fewer than ``most`` runs of this kind go on in all processes together (or this one is stopped)."""
        held = None
        if self._rows is not None and math.isfinite(most):
            with contextlib.suppress(OSError):  # without the folder no one can be asked
                held = _waited(lambda: self._free(kind, int(most)), stopped)
        try:
            yield
        finally:
            if held is not None:
                held.close()

    def _free(self, kind: str, most: int) -> IO[bytes] | None:
        """A place that was free and is ours now, until the file is closed; None where all are taken."""
        assert self._folder is not None
        for number in range(most):
            file = (self._folder / f"{kind}-{number}.lock").open("ab")
            if _locked(file, fcntl.flock):
                return file
            file.close()
        return None


def _waited(ask: Callable[[], Any], stopped: Callable[[], bool]) -> Any:
    """The first answer that is true; None where the run was stopped before."""
    while not (answer := ask()):
        if stopped():
            return None
        _pause.wait(POLL_SECONDS)
    return answer


def _locked(file: Any, lock: Callable[..., Any], *where: int) -> bool:
    """Whether the lock is ours now; also where the file system has no locks."""
    try:
        lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB, *where)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
