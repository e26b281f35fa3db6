"""Play everything that ships with computed numbers anew, in the order in which one needs the other.

``python -m benchmarks.play_all`` runs the steps below, each in a process of its own, and stops at the first that fails.
``python -m benchmarks.play_all NAME ...`` runs only some of them. Needs what tests/requirements.txt installs, and a
``chromium`` on PATH for the README's picture.
"""

from __future__ import annotations

import argparse
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


def main() -> int:
    """Run the named steps, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="STEP", help=f"only these of {', '.join(STEPS)}")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(STEPS):
        parser.error(f"no such step: {', '.join(sorted(unknown))}; there are {', '.join(STEPS)}")
    for name in asked.names or STEPS:
        start = time.perf_counter()
        code = play(name)
        print(f"{name}: {'done' if code == 0 else f'failed ({code})'} after {time.perf_counter() - start:.0f} s")
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
