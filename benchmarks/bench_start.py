"""From a cold interpreter to the first curve of presets/default.toml.

``python -m benchmarks.bench_start``: fresh processes, with kernels compiled, with kernels cached on disk, and with
the finished blocks cached as well (fastest of several processes each); then what the imports cost. Processor time of
the whole process: on an idle machine one waits about as long, on a busy one longer.

Then a server on a fresh machine, once for each page with a picture: seconds on the clock from its start until the first
picture is sent, nothing being cached, and as a ratio to an interpreter that only imports NumPy and numba. Last, on such
a server, seconds from a moved slider to the first picture that is exact for its new position.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.measuring import machine, print_table
from benchmarks.visitors import Server, Visitor, running_server, visiting

REPEATS = 7
PICTURES = (
    "",
    "explore",
    "tradeoff",
    "trust",
    "threshold",
    "heavy-tails",
    "contextual",
    "your-numbers",
    "mechanisms",
    "papers",
)
MOVES = (  # page, slider, its new position
    ("", "Privacy budget ε: ← more private · less regret →", "0.5"),
    ("explore", "ε: ← more private · less regret →", "0.5"),
    ("explore", "Users (horizon)", "5,000"),
    ("contextual", "ε: ← more private · less regret →", "0.7"),  # does not ship
)
CODE = """
import json, time
start = time.process_time()
from bandit_core import load_preset, simulate
imported = time.process_time()
experiment = load_preset("default")
loaded = time.process_time()
result = simulate(experiment)
computed = time.process_time()
result.curves
tabled = time.process_time()
simulate(experiment.with_changes(seed=1))
again = time.process_time()
print(json.dumps([imported - start, loaded - imported, computed - loaded, tabled - computed, again - tabled]))
"""
PARTS = ["import bandit_core", "read the preset", "simulate", "pandas frame", "simulate again, other seed"]


def parts(folder: str) -> list[float]:
    """Processor seconds of each part in a fresh process that caches in ``folder``."""
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


async def drawn(visitor: Visitor) -> float:
    """When the first chart of the page was sent."""
    while not visitor.drawn_at:
        await visitor.run()  # again: what is computed in the background is looked for by the page
        await visitor.settle()
    return visitor.drawn_at


async def drawn_first(server: Server, page: str) -> float:
    """When a visitor's first chart of a page was sent."""
    async with visiting(server, page) as visitor:
        return await drawn(visitor)


async def drawn_anew(server: Server, page: str, label: str, position: str) -> float:
    """Seconds from a moved slider to the picture of its new position."""
    async with visiting(server, page) as visitor:
        await drawn(visitor)
        before, start = visitor.picture, time.perf_counter()
        await visitor.move(label, position)
        while visitor.picture == before or visitor.picture_at < start:
            await visitor.settle()
            await asyncio.sleep(0.5)  # as a browser looks
            await visitor.run()
        if visitor.errors:
            raise RuntimeError(visitor.errors)
        return visitor.picture_at - start


@contextmanager
def fresh_server() -> Iterator[Server]:
    """A server that has nothing cached."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with running_server(folder, folder / "kernels") as server:
            yield server


def first_picture(page: str) -> float:
    """Seconds from the start of a server that has nothing cached to the first picture of a page."""
    start = time.perf_counter()
    with fresh_server() as server:
        return asyncio.run(drawn_first(server, page)) - start


def moved_slider(page: str, label: str, position: str) -> float:
    """Seconds from the first visitor's first move to the picture, on such a server."""
    with fresh_server() as server:
        return asyncio.run(drawn_anew(server, page, label, position))


def bare_interpreter() -> float:
    """Seconds of an interpreter that imports NumPy and numba, the fastest of several."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "import numpy, numba"], check=True)
        times.append(time.perf_counter() - start)
    return min(times)


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
    print_table(["processor seconds", "nothing cached", "kernels cached", "blocks cached too"], rows)
    print_table(["import, own time", "ms"], [[name, spent] for name, spent in imports()])
    bare = bare_interpreter()
    waits = [(page or "home", first_picture(page)) for page in PICTURES]
    print_table(
        ["fresh machine, first picture of", "seconds", f"in {bare:.2f} s of NumPy and numba"],
        [[page, seconds, seconds / bare] for page, seconds in waits],
    )
    rows = [[f"{move[0] or 'home'}: {move[1]} {move[2]}", moved_slider(*move)] for move in MOVES]
    print_table(["fresh machine, seconds to the picture after a move", "seconds"], rows)


if __name__ == "__main__":
    main()
