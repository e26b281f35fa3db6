"""What links and files can do to a server, tried: ``python -m benchmarks.attack`` (some minutes; Linux).

A server with the limits of the image is started on the loopback address. One visitor at a time plays an attack, with
`TRIES` tries, while a second one opens a small picture again and again. The table says what the attack took at most:
memory of the server, and the second visitor's 95th percentile divided by that of an idle server. Every scene is bounded
in count and time, and the server is stopped in the end. Exit code 1 where a ratio reaches `MOST_RATIO`, or memory
`MOST_MEMORY`, or a file is not read in time. docs/security.md lists the attacks with their tests. Files are read by the
readers that the server has, in processes of their own that are stopped after `LONGEST`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np

from bandit_core.experiment import parse
from bandit_core.problems import InvalidInput
from benchmarks.measuring import machine, print_table
from benchmarks.visitors import Server, opened, running_server, visiting

LIMITS = {
    "LAB_JOBS": "2", "LAB_MAX_STEPS": "2e10", "LAB_MAX_SECONDS": "900", "LAB_MAX_RESULT_MB": "128", "LAB_MAX_RUNS": "2",
    "LAB_CACHE_MB": "256",
}  # fmt: skip
TRIES, LONGEST = 3, 60.0  # visits of one attack, and seconds that all of them together may take
MOST_RATIO, MOST_MEMORY = 5.0, 932  # MiB; see docs/hosting.md
GROUPS = ",".join(f"{0.1 + place / 100:.2f}" for place in range(1000))
DIFFERENT = ",".join(f"empirical(0:{400_000 + place},1:{500_000 - place})" for place in range(300))
WRITTEN = ",".join(f"0.{10 + place % 90}" for place in range(25_000))
PRIVATE = ";".join(["heldp-ucb-b(1)"] * 24)
LINKS = {
    "10,000 arms of a million observations": (
        "explore", "arms=empirical(0:500000,1:500000)x10000&lines=ucb&T=10000&n=2",
    ),
    "300 such arms, all different": ("explore", f"arms={DIFFERENT}&lines=ucb&T=10000&n=2"),
    "types of users": (
        "contextual", "contexts=single(200,1000,discrete(1000,0.1),noise=0.1)&lines=ldp-sgd(1)&T=100&n=2",
    ),
    "types of users, a parameter for each arm": (
        "contextual", "contexts=multi(200,1000,discrete(1000,0.1),noise=0.1)&lines=ldp-sgd(1)&T=100&n=2",
    ),
    "a matrix of 200,000 rows": ("contextual", "contexts=multi(200,1000,noise=0.1)&lines=ldp-linucb(1)&T=100&n=2"),
    "steps of milliseconds": ("contextual", "contexts=single(200,1000,noise=0.1)&lines=ldp-ols(1)&T=1e9&n=20"),
    "200 features, 1,000 arms, two policies": (
        "contextual", "contexts=single(200,1000,noise=0.1)&lines=ldp-ols(1);ldp-sgd(1)&T=10000&n=20",
    ),
    "10,000 arms and 24 lines": ("explore", f"arms=0.9,0.5x9999&lines={PRIVATE}&T=1e9&n=10000"),
    "25,000 arms written out": ("explore", f"arms={WRITTEN}&lines=ucb&T=1000&n=2"),
    "a budget of 1,000 groups": ("explore", f"arms=0.9,0.5&lines=heldp-ucb-b(discrete({GROUPS}))&T=1000&n=2"),
}  # fmt: skip
LONG = ("explore", "arms=beta(2,1)x2&lines=kl-ucb&T=1e9&n=2&seed={seed}")
FILES: dict[str, tuple[str, Callable[[], str]]] = {
    "JSON with 60,000 equal keys": ("json", lambda: "{" + ",".join(['"a": 1'] * 60_000) + "}"),
    "JSON with 60,000 bad fields": ("json", lambda: "{" + ",".join(f'"a{place}": 1' for place in range(60_000)) + "}"),
    "TOML with a deep key": ("toml", lambda: ".".join(["a"] * 200_000) + " = 1"),
}


async def second_visitor(server: Server, seconds: float, seeds: random.Random) -> list[float]:
    """Times from the address to a small picture that nobody has asked for before, one after the other."""
    begin, times = time.monotonic(), []
    while time.monotonic() - begin < seconds or len(times) < 5:
        address = f"T=1000&n=5&seed={seeds.randrange(10**9)}"
        times.append((await asyncio.wait_for(opened(server, "explore", address), 120))[0])
        await asyncio.sleep(0.1)
    return times


async def visit(server: Server, page: str, address: str, press: str = "", stay: float = 0.0) -> None:
    """Open a page, press a button where one is named and there, stay, and go."""
    async with visiting(server, page, address) as visitor:
        await visitor.run()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(visitor.settle(), LONGEST)
        if press in visitor.widgets:
            await visitor.press(press)
            await asyncio.sleep(stay)


async def play(server: Server, attack: list[tuple[str, str, str, float]], seeds: random.Random) -> list[float]:
    """The second visitor's times while these visits are made, one after the other."""

    async def all_of_it() -> None:
        for page, address, press, stay in attack:
            with contextlib.suppress(OSError):
                await visit(server, page, address, press, stay)

    work = asyncio.create_task(asyncio.wait_for(all_of_it(), LONGEST))
    times = await second_visitor(server, 3.0, seeds)
    while not work.done() and len(times) < 200:
        times += await second_visitor(server, 1.0, seeds)
    work.cancel()
    with contextlib.suppress(TimeoutError, asyncio.CancelledError):
        await work
    return times


async def links(server: Server) -> bool:
    """Every link, and long runs that take every place; prints the table and tells whether all stayed in bounds."""
    seeds = random.Random(1)
    await opened(server, "explore", "T=1000&n=5&seed=1")
    idle = float(np.quantile(await second_visitor(server, 5.0, seeds), 0.95))
    rows: list[list[object]] = [["nobody else", idle, 1.0, server.megabytes(), server.megabytes("VmHWM")]]
    scenes = {name: [(page, address, "", 0.0)] * TRIES for name, (page, address) in LINKS.items()}
    scenes["long runs in every place"] = [(LONG[0], LONG[1].format(seed=seed), "Run", 8.0) for seed in range(4)]
    for name, attack in scenes.items():
        late = float(np.quantile(await play(server, attack, seeds), 0.95))
        rows.append([name, late, late / idle, server.megabytes(), server.megabytes("VmHWM")])
        print(rows[-1], file=sys.stderr, flush=True)
    print_table(["attack", "second visitor, p95, s", "x idle", "memory, MiB", "highest so far, MiB"], rows)
    return all(row[2] < MOST_RATIO and row[4] < MOST_MEMORY for row in rows)  # type: ignore[operator]


def read(name: str) -> None:
    """Read one file as an upload is read; prints its size, seconds and memory."""
    form, text = FILES[name]
    content = text()
    tracemalloc.start()
    begin = time.perf_counter()
    with contextlib.suppress(InvalidInput):
        parse(content, form)  # type: ignore[arg-type]
    print(len(content) / 2**20, time.perf_counter() - begin, tracemalloc.get_traced_memory()[1] / 2**20)


def files() -> bool:
    """Every file, in a process of its own that is stopped after `LONGEST`; prints the table, and whether none was."""
    rows: list[list[object]] = []
    for name in FILES:
        command = [sys.executable, "-m", "benchmarks.attack", "--file", name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=True)
            rows.append([name, *map(float, done.stdout.split())])
        except subprocess.TimeoutExpired:
            rows.append([name, "", f"more than {LONGEST:g}", ""])
    print_table(["file", "size, MiB", "seconds", "memory, MiB"], rows)
    return all(isinstance(row[2], float) for row in rows)


def main() -> int:
    """Print the tables; 0 where all ratios and the memory are in bounds, and every file was read in time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", choices=FILES, help="read only this file, here")
    if name := parser.parse_args().file:
        read(name)
        return 0
    print(machine(), end="\n\n")
    kernels = Path(os.environ.get("LAB_KERNEL_CACHE") or Path.home() / ".cache" / "private-bandit-lab")
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder), kernels, **LIMITS) as server:
        good = asyncio.run(links(server))
    return 0 if files() and good else 1


if __name__ == "__main__":
    sys.exit(main())
