"""Which version of the sources this is: of what decides numbers, and of what is compiled."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

import numba

_COMPILED = (
    "jit",
    "kernels",
    "mechanisms",
    "spec/rewards",
    "spec/budgets",
    "spec/contexts.py",
)
_DECIDING = (*_COMPILED, "policies", "policies/contextual", "theory/accounting.py", "simulation/engine.py")


def _hash(places: tuple[str, ...]) -> str:
    """Hash of the sources in ``places`` (files and folders of the core), with the versions that matter."""
    import numpy

    digest = hashlib.sha256(f"{sys.version_info[:2]} {numba.__version__} {numpy.__version__}".encode())
    core = Path(__file__).parent.parent
    for place in places:
        for source in sorted((core / place).glob("*.py")) if (core / place).is_dir() else [core / place]:
            digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:16]


@cache
def fingerprint() -> str:
    """Hash of the sources that decide the numbers, with the versions of Python, numba and NumPy."""
    return _hash(_DECIDING)


@cache
def code_fingerprint() -> str:
    """Hash of the sources that are compiled: names the folder of machine code."""
    return _hash(_COMPILED)
