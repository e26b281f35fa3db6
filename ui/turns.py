"""How visitors' pages share one interpreter: drawn one after the other, and searched for garbage now and then.

Drawing is work of the interpreter, one thread's at a time: of fifty pages drawn together all are late, in turns half.
Where a page waits for numbers, it lets others draw meanwhile.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

SHARE = 0.1  # of the time, that searching for garbage may take

_turn = threading.Lock()
_mine = threading.local()
_search_again = 0.0


@contextmanager
def drawing() -> Iterator[None]:
    """The turn of this thread's page."""
    with _turn:
        _mine.turn = True
        try:
            yield
        finally:
            _mine.turn = False


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
        _turn.acquire()


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
