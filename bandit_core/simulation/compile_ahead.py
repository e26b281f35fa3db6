"""Compile every kernel beside a running server: in a process of its own, which gives way to all others.

``python -m bandit_core.simulation.compile_ahead PRESET ...`` compiles what the named presets need first, in that order,
then the rest. It ends with the process that holds the other end of its standard input, however that one ends. Of
several in one folder of machine code the first works; the others leave, as does one that would have nothing to do or
not the room: all is compiled, no folder keeps machine code, there is one core only, or less than 2 GiB of memory.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import joblib

from bandit_core.jit.machine_code import compiled_before, kernel_folder
from bandit_core.simulation.claims import alone
from bandit_core.simulation.warm_up import warm

LAST = 19  # niceness of who works only where nobody else would
LEAST_MEMORY = 2 * 2**30  # bytes: a server takes 0.4 GiB, this process up to 0.7
CONTAINER = Path("/sys/fs/cgroup/memory.max")


def main(first: Sequence[str]) -> bool:
    """Compile, presets named in ``first`` first, where that is of use; whether it was."""
    folder = kernel_folder()
    if folder is None or compiled_before() or joblib.cpu_count() < 2 or memory() < LEAST_MEMORY:
        return False
    return compile_alone(folder, first)


def memory() -> float:
    """Bytes that the machine has, or its container may use; infinite where neither is told."""
    found = [float("inf")]
    with contextlib.suppress(AttributeError, OSError, ValueError):  # not on Windows
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with contextlib.suppress(OSError, ValueError):  # "max": no limit
        found.append(float(CONTAINER.read_text()))
    return min(found)


def compile_alone(folder: Path, first: Sequence[str]) -> bool:
    """Compile, unless another process does so in this folder."""
    with alone(folder / "compiling.lock") as mine:
        if mine:
            warm(1, first)
        return mine


def _end_with_parent() -> None:
    """Returns never: standard input ends when the server does, also when it is killed."""
    while os.read(0, 1):  # no file object of Python's: this process may end, and could not close one that waits
        pass
    os._exit(0)  # what is half compiled is lost; files of machine code appear whole or not at all


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(LAST)
    main(sys.argv[1:])
