"""How visitors' pages share one interpreter: drawn one after the other, and searched for garbage now and then.

Drawing is work of the interpreter, one thread's at a time: of fifty pages drawn together all are late, one by one half.
So a page draws under one lock. Where it waits for numbers, it lets others draw meanwhile, and no page holds the lock
for longer than `LONGEST`, whatever a link makes it draw. Who has just come and sees nothing yet is drawn first, up to
the picture; else who came first.
"""

from __future__ import annotations

import gc
import heapq
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

SHARE = 0.1  # of the time, that searching for garbage may take
LONGEST = 0.25  # seconds that a page holds the lock: most take less; one that needs more shares the rest of its time


class PriorityLock:
    """A lock that is handed to the most urgent who waits (the smallest number), and among those to the first.

    It is held until it is released, and for `LONGEST` at most.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: threading.Timer | None = None
        self._waiting: list[tuple[int, int, threading.Timer, threading.Event]] = []
        self._order = itertools.count()

    def acquire(self, urgency: int) -> threading.Timer:
        """Wait for the lock; what it is to be released with."""
        hold, called = threading.Timer(LONGEST, lambda: self.release(hold)), threading.Event()
        hold.daemon = True
        with self._lock:
            heapq.heappush(self._waiting, (urgency, next(self._order), hold, called))
            self._hand_on()
        called.wait()
        hold.start()
        return hold

    def release(self, hold: threading.Timer) -> bool:
        """Hand the lock to the next one; whether it was still held."""
        hold.cancel()
        with self._lock:
            held = self._holder is hold
            if held:
                self._holder = None
                self._hand_on()
        return held

    def _hand_on(self) -> None:
        if self._holder is None and self._waiting:
            _, _, self._holder, called = heapq.heappop(self._waiting)
            called.set()

    def locked(self) -> bool:
        """Whether someone holds it."""
        return self._holder is not None

    def waiting(self, urgency: float = math.inf) -> int:
        """How many wait who are more urgent than that."""
        with self._lock:
            return sum(each < urgency for each, *_ in self._waiting)


class _Page(threading.local):
    """The page that this thread draws, if it does."""

    hold: threading.Timer | None = None
    urgency = 0
    before_wait: Callable[[], None] | None = None


SEES_NOTHING, SEES_SOMETHING = 0, 1
drawing_lock = PriorityLock()
_page = _Page()
_search_again = 0.0


@contextmanager
def drawing(new: bool = False) -> Iterator[None]:
    """Hold the lock for this thread's page; ``new`` where its visitor sees nothing yet."""
    _page.urgency = SEES_NOTHING if new else SEES_SOMETHING
    _page.hold = drawing_lock.acquire(_page.urgency)
    try:
        yield
    finally:
        drawing_lock.release(_page.hold)
        _page.hold = _page.before_wait = None


def shown() -> None:
    """The picture is out: those who see nothing yet come before the rest of this page. Under no lock, as below."""
    _page.urgency = SEES_SOMETHING
    if drawing_lock.waiting(SEES_SOMETHING):
        with computing():
            pass


def before_wait(draw: Callable[[], None]) -> None:
    """Let this thread's page ``draw`` what must not be of the picture before, when it first waits for numbers."""
    _page.before_wait = draw


@contextmanager
def computing() -> Iterator[None]:
    """Give the lock away while numbers are computed or waited for.

    Never inside a cached function or under another lock: who waits for that may hold this one. Around one is fine.
    """
    draw, _page.before_wait = _page.before_wait, None
    if draw is not None:
        draw()
    held = _page.hold is not None and drawing_lock.release(_page.hold)
    try:
        yield
    finally:
        if held:
            _page.hold = drawing_lock.acquire(_page.urgency)


def search_for_garbage() -> None:
    """Search all of memory, unless that took too much of the time lately.

    Figures are full of circles, so someone must. Streamlit would do it after every page (`runner.postScriptGC`, off
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
