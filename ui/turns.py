"""How visitors' pages share one interpreter: drawn one after the other, and searched for garbage now and then.

Drawing is work of the interpreter, one thread's at a time: of fifty pages drawn together all are late, in turns half.
Where a page waits for numbers, it lets others draw meanwhile. Who has just come and sees nothing yet is drawn first, up
to the picture; else who came first.
"""

from __future__ import annotations

import gc
import heapq
import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

SHARE = 0.1  # of the time, that searching for garbage may take


class _Turn:
    """A lock that is handed to the most urgent who waits (the smallest number), and among those to the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._waiting: list[tuple[int, int, threading.Lock]] = []
        self._order = itertools.count()

    def acquire(self, urgency: int) -> None:
        """Wait for the turn."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            called = threading.Lock()
            called.acquire()
            heapq.heappush(self._waiting, (urgency, next(self._order), called))
        called.acquire()

    def release(self) -> None:
        """Hand the turn on."""
        with self._lock:
            if self._waiting:
                heapq.heappop(self._waiting)[2].release()
            else:
                self._taken = False

    def locked(self) -> bool:
        """Whether somebody has the turn."""
        return self._taken

    def wanted(self, urgency: int) -> bool:
        """Whether somebody waits who is more urgent than that."""
        with self._lock:
            return bool(self._waiting) and self._waiting[0][0] < urgency


SEES_NOTHING, SEES_SOMETHING = 0, 1
_turn = _Turn()
_mine = threading.local()
_search_again = 0.0


@contextmanager
def drawing(new: bool = False) -> Iterator[None]:
    """The turn of this thread's page; ``new`` where its visitor sees nothing yet."""
    _mine.urgency = SEES_NOTHING if new else SEES_SOMETHING
    _turn.acquire(_mine.urgency)
    _mine.turn = True
    try:
        yield
    finally:
        _mine.turn = False
        _turn.release()


def shown() -> None:
    """The picture is out: those who see nothing yet come before the rest of this page. Under no lock, as below."""
    _mine.urgency = SEES_SOMETHING
    if getattr(_mine, "turn", False) and _turn.wanted(SEES_SOMETHING):
        with computing():
            pass


@contextmanager
def computing() -> Iterator[None]:
    """Give the turn away while numbers are computed or waited for.

    Never inside a cached function or under another lock: who waits for that lock may have the turn.
    """
    if not getattr(_mine, "turn", False):
        yield
        return
    _turn.release()
    try:
        yield
    finally:
        _turn.acquire(_mine.urgency)


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
