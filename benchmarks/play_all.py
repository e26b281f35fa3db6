"""Play everything that ships with computed numbers anew, in the order in which one needs the other.

``python -m benchmarks.play_all`` runs the steps below, each in a process of its own, and stops at the first that fails.
``python -m benchmarks.play_all NAME ...`` runs only some of them. Needs what tests/requirements.txt installs, and a
``chromium`` on PATH for the README's picture.
"""

from __future__ import annotations

import subprocess
import sys
import time

from bandit_core import paths

TABLES = {"figures-table": "docs/reproduce.md", "scores-table": "docs/benchmark.md"}  # what a step prints goes there
STEPS: dict[str, tuple[str, ...]] = {
    "figures": ("bandit_core", "reproduce", "--fresh"),
    "figures-table": ("bandit_core", "reproduce", "--table"),
    "scores": ("bandit_core", "benchmark", "--play", "--data", "presets/benchmark.csv"),
    "scores-table": ("bandit_core", "benchmark", "--table"),
    "best-by-trust": ("benchmarks.best_by_trust",),
    "first-pictures": ("benchmarks.first_pictures",),
    "shipped": ("benchmarks.shipped",),
    "pictures": ("benchmarks.pictures",),
}


def play(name: str) -> int:
    """Run one step from the project's folder; its exit code."""
    command = [sys.executable, "-m", *STEPS[name]]
    if name not in TABLES:
        return subprocess.run(command, cwd=paths.ROOT, check=False).returncode
    done = subprocess.run(command, cwd=paths.ROOT, check=False, stdout=subprocess.PIPE)
    if done.returncode == 0:
        (paths.ROOT / TABLES[name]).write_bytes(done.stdout)
    return done.returncode


def main(names: list[str]) -> int:
    """Run the named steps, or all; 2 for a name that is none."""
    unknown = [name for name in names if name not in STEPS]
    if unknown:
        print(f"no such step: {', '.join(unknown)}; there are {', '.join(STEPS)}", file=sys.stderr)
        return 2
    for name in names or STEPS:
        start = time.perf_counter()
        code = play(name)
        print(f"{name}: {'done' if code == 0 else f'failed ({code})'} after {time.perf_counter() - start:.0f} s")
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
