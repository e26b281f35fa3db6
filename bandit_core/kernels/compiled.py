"""How kernels are compiled, and where the machine code is kept.

Numba's disk cache cannot see a change in a function that a kernel calls, nor most compile flags, so its folder
carries a fingerprint of every source file of the core: changed code never meets old machine code.
``LAB_KERNEL_CACHE=0`` switches the disk cache off.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba


@cache
def fingerprint() -> str:
    """Hash of the sources that decide the numbers, with the versions of Python, numba and NumPy."""
    import numpy

    digest = hashlib.sha256(f"{sys.version_info[:2]} {numba.__version__} {numpy.__version__}".encode())
    core = Path(__file__).parent.parent
    for folder in ("kernels", "mechanisms", "policies", "contextual", "contextual/policies"):
        for source in sorted((core / folder).glob("*.py")):
            digest.update(source.name.encode() + source.read_bytes())
    for name in ("arms.py", "epsilons.py", "engine.py"):
        digest.update((core / name).read_bytes())
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Where this project keeps what it can recompute: ``LAB_CACHE_DIR``, else the user's cache folder."""
    chosen = os.environ.get("LAB_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "private-bandit-lab"


def _use_disk() -> bool:
    if os.environ.get("LAB_KERNEL_CACHE", "1") == "0":
        return False
    folder = cache_folder() / f"kernels-{fingerprint()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        return False
    numba.config.CACHE_DIR = str(folder)
    return True


_DISK = _use_disk()

# A piece borrows its caller's arrays. Without this flag (private to numba, hence the tight version range) every call
# in the hot loop counts references atomically, which doubled the time of a step; numba's own inlining
# (inline="always") does the same.
_BORROWED = {"_nrt": False}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile an entry point: releases the interpreter lock, keeps IEEE arithmetic, cached on disk."""
    return numba.njit(nogil=True, error_model="numpy", cache=_DISK)(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a small piece that kernels are built of; LLVM merges it into its caller."""
    return numba.njit(nogil=True, error_model="numpy", forceinline=True, **_BORROWED)(function)


def piece(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a larger piece that kernels call; it must not create arrays."""
    return numba.njit(nogil=True, error_model="numpy", **_BORROWED)(function)
