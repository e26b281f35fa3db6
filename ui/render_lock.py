"""How visitors' pages share one interpreter: drawn one after the other, and searched for garbage now and then.

Drawing is work of the interpreter, one thread's at a time: of fifty pages drawn together all are late, in turns half.
Where a page waits for numbers, it lets others draw meanwhile, and no page keeps its turn for longer than `LONGEST`,
whatever a link makes it draw. Who has just come and sees nothing yet is drawn first, up to the picture; else who came
first.
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
LONGEST = 0.25  # seconds of a turn: a usual page takes less; a page that needs more shares the rest of its time


class _Queue:
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
_turn = _Queue()
_mine = threading.local()
_search_again = 0.0


class _Turn:
    """One page's turn, which ends by itself after `LONGEST`."""

    def __init__(self, urgency: int) -> None:
        self.urgency = urgency
        self.has = False
        self._guard = threading.Lock()

    def take(self) -> None:
        """Wait for it."""
        _turn.acquire(self.urgency)
        self.has = True
        self._end = threading.Timer(LONGEST, self.give)
        self._end.daemon = True
        self._end.start()

    def give(self) -> bool:
        """Hand it on; whether there was one."""
        with self._guard:
            had, self.has = self.has, False
            if had:
                self._end.cancel()
                _turn.release()
        return had


@contextmanager
def drawing(new: bool = False) -> Iterator[None]:
    """The turn of this thread's page; ``new`` where its visitor sees nothing yet."""
    mine = _mine.turn = _Turn(SEES_NOTHING if new else SEES_SOMETHING)
    mine.take()
    try:
        yield
    finally:
        mine.give()
        _mine.turn = None


def shown() -> None:
    """The picture is out: those who see nothing yet come before the rest of this page. Under no lock, as below."""
    mine: _Turn | None = getattr(_mine, "turn", None)
    if mine is not None:
        mine.urgency = SEES_SOMETHING
        if mine.has and _turn.wanted(SEES_SOMETHING):
            with computing():
                pass


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
