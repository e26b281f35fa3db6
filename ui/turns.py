"""How visitors' pages share one interpreter: drawn one after the other, and searched for garbage now and then.

Drawing is work of the interpreter, one thread's at a time: of fifty pages drawn together all are late, in turns half.
Where a page waits for numbers, it lets others draw meanwhile; and no page keeps its turn for longer than `LONGEST`,
whatever a link makes it draw.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

SHARE = 0.1  # of the time, that searching for garbage may take

LONGEST = 0.25  # seconds of a turn: a usual page takes less; a page that needs more shares the rest of its time

_turn = threading.Lock()
_mine = threading.local()
_search_again = 0.0


class _Turn:
    """One page's turn, which ends by itself after `LONGEST`."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self.has = False

    def take(self) -> None:
        _turn.acquire()
        self.has = True
        self._end = threading.Timer(LONGEST, self.give)
        self._end.daemon = True
        self._end.start()

    def give(self) -> bool:
        """Whether there was a turn to give away."""
        with self._guard:
            had, self.has = self.has, False
            if had:
                self._end.cancel()
                _turn.release()
        return had


@contextmanager
def drawing() -> Iterator[None]:
    """The turn of this thread's page."""
    mine = _mine.turn = _Turn()
    mine.take()
    try:
        yield
    finally:
        mine.give()
        _mine.turn = None


@contextmanager
def computing() -> Iterator[None]:
    """Give the turn away while numbers are computed or waited for.

    Never inside a cached function or under another lock: who waits for that lock may have the turn. Around one is fine.
    """
    mine: _Turn | None = getattr(_mine, "turn", None)
    had = mine is not None and mine.give()
    try:
        yield
    finally:
        if mine is not None and had:
            mine.take()


def search_for_garbage() -> None:
    """Search all of memory, unless that took too much of the time lately.

    Figures are full of circles, so somebody must. Streamlit would do it after every page (`runner.postScriptGC`, off
    here): with the sessions of a hundred visitors in memory that takes as long as the page.
    """
    global _search_again
    begun = time.monotonic()
    if begun >= _search_again:
        gc.collect()
        now = time.monotonic()
        _search_again = now + (now - begun) * (1 / SHARE - 1)


@cache
def settle(page: str) -> None:
    """Once for every page: what it has imported and loaded, such as kernels, stays and need not be searched again."""
    gc.collect()
    gc.freeze()
