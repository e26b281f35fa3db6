"""Shared by the benchmarks: workloads, interleaved timings, tables, and a line about the machine."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from bandit_core import Experiment
from bandit_core.model import RunSetup

PAPER_ARMS = [
    {"kind": "bernoulli", "mean": 0.9},
    *({"kind": "bernoulli", "mean": mean, "count": count} for mean, count in ((0.8, 5), (0.7, 5), (0.6, 5), (0.5, 4))),
]
UCB = {"policy": "ucb"}


def private(policy: str, epsilon: float | dict[str, Any], eps_min: float | None = None) -> dict[str, Any]:
    """A line of a spec: ``epsilon`` a number or a law."""
    if not isinstance(epsilon, dict):
        return {"policy": policy, "epsilon": {"kind": "fixed", "value": epsilon}}
    return {"policy": policy, "epsilon": epsilon, "params": {"eps_min": eps_min}}


def arms_of(count: int) -> list[dict[str, Any]]:
    """Twenty arms as in Ren et al. 2020, else one arm of mean 0.9 and the others spread over 0.5 to 0.8."""
    if count == 20:
        return PAPER_ARMS
    others = [0.8] if count == 2 else np.linspace(0.8, 0.5, count - 1).tolist()
    return [{"kind": "bernoulli", "mean": mean} for mean in (0.9, *others)]


def instance_of(line: dict[str, Any], arms: int, horizon: int) -> RunSetup:
    """One line, ready to be played."""
    spec = {"arms": arms_of(arms), "lines": [line], "horizon": horizon, "trials": 1}
    return Experiment.model_validate(spec).setups[0]


def name_of(line: dict[str, Any]) -> str:
    """Policy and budget in a few characters."""
    epsilon = line.get("epsilon")
    if epsilon is None:
        return line["policy"]
    return f"{line['policy']}, {epsilon.get('value', epsilon['kind'])}"


def seconds(work: Callable[[], Any]) -> float:
    """Processor time of one call in this thread: on a busy machine the fairest clock for single-threaded work."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def fastest(works: Sequence[tuple[Callable[[], Any], float]], repeats: int) -> list[float]:
    """Shortest time of each work over its number of steps: what other programs add is never a saving.

    The works take turns, so that no one of them has the quiet minutes for itself.
    """
    for work, _ in works:
        work()  # compile, and warm the caches
    times = [math.inf] * len(works)
    for _ in range(repeats):
        for number, (work, steps) in enumerate(works):
            times[number] = min(times[number], seconds(work) / steps)
    return times


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


def print_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
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
