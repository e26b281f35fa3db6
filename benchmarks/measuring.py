"""Shared by the benchmarks: tables, and a line about the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any


def machine() -> str:
    """Processor, cores, and the versions that matter."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "joblib"))
    return f"{model}, {os.cpu_count()} cores, {platform.system()}; Python {platform.python_version()}, {packages}"


def print_table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A Markdown table on standard output; numbers with three significant digits."""

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
        return str(value)

    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(map(cell, row)) + " |", flush=True)
    print()
