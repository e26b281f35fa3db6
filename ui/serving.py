"""Around the life of a server: enough open files, and uploads forgotten by a clock."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator

from ui import upload_limits

# A tab takes four open files (its web socket and the event loop of its page's thread), a closed one keeps three while
# Streamlit keeps its session. Some systems refuse to raise the limit further than this.
OPEN_FILES = 10_240


def allow_open_files(wanted: int = OPEN_FILES) -> int | None:
    """Raise how many files this process may have open, as far as the system lets it; the new limit, None on Windows."""
    try:
        import resource
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            soft = allowed
    if soft != resource.RLIM_INFINITY and soft < wanted:
        message = "This server may have %d files open, enough for about %d tabs; see docs/hosting.md, Limits."
        logging.getLogger(__name__).warning(message, soft, soft // 5)
    return soft


@contextlib.asynccontextmanager
async def around(_: object) -> AsyncIterator[None]:
    """What `app.py` gives to Streamlit as the life of its server."""
    allow_open_files()
    async with upload_limits.forgetting():
        yield
