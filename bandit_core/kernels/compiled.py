"""How kernels are compiled, and where the machine code is kept.

Numba's disk cache cannot see a change in a function that a kernel calls, nor most compile flags, so its folder
carries a fingerprint of every source file of the core: changed code never meets old machine code.
``LAB_KERNEL_CACHE=0`` switches the disk cache off.
"""

from __future__ import annotations

import contextlib
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
    try:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a user without a home, as in some containers: then nothing is kept
        base = os.devnull
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


def _skip_the_search_for_blas() -> None:
    """Spare every start 0.2 s: numba imports SciPy's linear algebra for one question that only `numpy.cov` asks.

    Products and solvers inside kernels look for it themselves, when they are compiled.
    """
    import numba.np.linalg as linear_algebra

    def not_now() -> None:
        raise ImportError

    search = linear_algebra.ensure_blas
    linear_algebra.ensure_blas = not_now
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linear_algebra.ensure_blas = search


_DISK = _use_disk()
with contextlib.suppress(ImportError, AttributeError):  # private to numba: should it move, starts are slower again
    _skip_the_search_for_blas()

# A piece borrows its caller's arrays. Without this flag (private to numba, hence the tight version range) every call
# in the hot loop counts references atomically, which doubled the time of a step; numba's own inlining
# (inline="always") does the same.
_BORROWED = {"_nrt": False}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile an entry point: releases the interpreter lock, keeps IEEE arithmetic, cached on disk."""
    compiled = numba.njit(nogil=True, error_model="numpy", cache=_DISK)(function)
    if _DISK:
        _forgive_damage(compiled._cache)
    return compiled


def _forgive_damage(kept: Any) -> None:
    """A damaged file of machine code is forgotten and compiled anew; numba itself would raise for ever after."""
    load = kept.load_overload

    def load_or_forget(signature: Any, context: Any) -> Any:
        try:
            return load(signature, context)
        except Exception:
            with contextlib.suppress(OSError):
                kept.flush()
            return None

    kept.load_overload = load_or_forget


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a small piece that kernels are built of; LLVM merges it into its caller."""
    return numba.njit(nogil=True, error_model="numpy", forceinline=True, **_BORROWED)(function)


def piece(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a larger piece that kernels call; it must not create arrays."""
    return numba.njit(nogil=True, error_model="numpy", **_BORROWED)(function)
