"""Around the life of a server: enough open files, memory given back, uploads and classes forgotten by a clock."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import sys
from collections.abc import AsyncIterator

from ui import upload_limits

# A tab takes four open files (its web socket and the event loop of its page's thread), a closed one keeps three while
# Streamlit keeps its session. Some systems refuse to raise the limit further than this.
OPEN_FILES = 10_240
CLASS_SECONDS = 300.0  # between looks at classes
# Options of glibc's mallopt. Each thread of a page would else take from a pool of its own, of which there are eight a
# core; a pool keeps what one page needed once. Blocks beyond 128 KiB, as of a file that was read, are no part of pools.
MALLOC = {"M_ARENA_MAX": (-8, 2), "M_MMAP_THRESHOLD": (-3, 2**17), "M_TRIM_THRESHOLD": (-1, 2**17)}


def allow_open_files() -> int | None:
    """Raise how many files this process may have open, as far as the system lets it; the new limit, None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            soft = allowed
    if soft != resource.RLIM_INFINITY and soft < OPEN_FILES:
        message = "This server may have %d files open, enough for about %d tabs; see docs/hosting.md, Limits."
        logging.getLogger(__name__).warning(message, soft, soft // 5)
    return soft


def give_memory_back() -> bool:
    """Have the C library return memory to the system; whether it could be told (glibc only)."""
    tell = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    return tell is not None and all([tell(*option) for option in MALLOC.values()])


async def _close_classes() -> None:
    """Delete classes whose time is over, also where no one else acts on one."""
    while True:
        await asyncio.sleep(CLASS_SECONDS)
        from ui.learn import classroom  # not at the start: it imports the simulator

        if classroom.offered():
            await asyncio.to_thread(classroom.CLASSES.forget)


@contextlib.asynccontextmanager
async def around(_: object) -> AsyncIterator[None]:
    """What `app.py` gives to Streamlit as the life of its server."""
    allow_open_files()
    give_memory_back()
    closing = asyncio.create_task(_close_classes())
    try:
        async with upload_limits.forgetting():
            yield
    finally:
        closing.cancel()
