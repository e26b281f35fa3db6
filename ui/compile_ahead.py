"""A server compiles beside its first visitors, so that what they change is likely compiled before they change it.

Only a server does: it enters `beside` when it starts. ``LAB_COMPILE_AHEAD=0`` (as anything but 1) switches it off.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What the pages show at first, in the menu's order. Named here, since what decides it takes a second to import.
FIRST = ("first-look", "default", "trust-ladder", "own-budgets", "wild-rewards", "users-with-features")


@contextlib.asynccontextmanager
async def beside(_: object) -> AsyncIterator[None]:
    """Around the life of a server: the process that compiles ends with it."""
    if os.environ.get("LAB_COMPILE_AHEAD", "1") != "1":
        yield
        return
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    compiling = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bandit_core.simulation.compile_ahead", *FIRST),
        stdin=subprocess.PIPE,  # never written to: its end is how the process learns of ours
        env={**os.environ, "PYTHONPATH": path},
        process_group=0,  # Ctrl-C is for the server; a session of its own would count for as much as it, on Linux
        creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0),  # Windows
    )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            compiling.kill()
        await compiling.wait()
