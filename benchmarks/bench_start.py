"""From a cold interpreter to the first curve of presets/default.toml.

``python -m benchmarks.bench_start``: fresh processes, with kernels compiled, with kernels cached on disk, and with
the finished blocks cached as well (fastest of several processes each); then what the imports cost.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from benchmarks.measuring import machine, print_table

REPEATS = 7
CODE = """
import json, time
start = time.perf_counter()
from bandit_core import load_preset, simulate
imported = time.perf_counter()
experiment = load_preset("default")
loaded = time.perf_counter()
result = simulate(experiment)
computed = time.perf_counter()
result.curves
tabled = time.perf_counter()
simulate(experiment.with_changes(seed=1))
again = time.perf_counter()
print(json.dumps([imported - start, loaded - imported, computed - loaded, tabled - computed, again - tabled]))
"""
PARTS = ["import bandit_core", "read the preset", "simulate", "pandas frame", "simulate again, other seed"]


def parts(folder: str) -> list[float]:
    """Seconds of each part in a fresh process that caches in ``folder``."""
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "LAB_CACHE_DIR": folder},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def remove_blocks(folder: str) -> None:
    """Forget finished blocks, keep compiled kernels."""
    for name in os.listdir(folder):
        if name.startswith("blocks-"):
            os.unlink(os.path.join(folder, name))


def imports() -> list[tuple[str, float]]:
    """Milliseconds that each package adds to the import, by itself."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import bandit_core"], capture_output=True, text=True, check=True
    )
    own: dict[str, float] = {}
    for line in done.stderr.splitlines():
        numbers = line.removeprefix("import time:").split("|")
        if len(numbers) == 3 and numbers[0].strip().isdigit():
            package = numbers[2].strip().split(".")[0].lstrip("_")
            own[package] = own.get(package, 0.0) + int(numbers[0]) / 1000
    return sorted(own.items(), key=lambda item: -item[1])[:8]


def main() -> None:
    """Print the tables."""
    print(machine(), end="\n\n")
    with tempfile.TemporaryDirectory() as folder:
        compiled = parts(folder)
        kernels, blocks = [], []
        for _ in range(REPEATS):
            remove_blocks(folder)
            kernels.append(parts(folder))
            blocks.append(parts(folder))
    columns = [compiled, *(min(runs, key=lambda run: sum(run[:4])) for runs in (kernels, blocks))]
    rows = [[part, *(column[number] for column in columns)] for number, part in enumerate(PARTS)]
    rows.insert(4, ["**import to first curve**", *(sum(column[:4]) for column in columns)])
    print_table(["seconds", "nothing cached", "kernels cached", "blocks cached too"], rows)
    print_table(["import, own time", "ms"], [[name, time] for name, time in imports()])


if __name__ == "__main__":
    main()
