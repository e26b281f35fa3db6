"""What links and files can do to a server, tried: ``python -m benchmarks.attack [NAME ...]`` (five minutes; Linux).

A server with the limits of the image, its kernels compiled, is started on the loopback address. One visitor plays an
attack again and again: opens a link, or hands a file to the page that reads it. Meanwhile a second visitor opens
`LOADS` small pictures, one after the other. So he does just before, with nobody else there. The table says what the
attack took: the second visitor's median and 95th percentile, both divided by those just before, and memory of the
server. Every scene is bounded in count and time, and the server is stopped in the end. Exit code 1 where a ratio of
95th percentiles reaches `MOST_RATIO`, or memory `MOST_MEMORY`. docs/security.md lists the attacks with their tests.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import machine, print_table
from benchmarks.visitors import ROOT, Server, opened, running_server, visiting

LIMITS = {
    "LAB_JOBS": "2", "LAB_MAX_STEPS": "2e10", "LAB_MAX_SECONDS": "900", "LAB_MAX_RESULT_MB": "128", "LAB_MAX_RUNS": "2",
    "LAB_CACHE_MB": "256",
}  # fmt: skip
LOADS, LONGEST = 16, 60.0  # pictures of the second visitor during one attack, and seconds after which it ends
MOST_RATIO, MOST_MEMORY = 5.0, 1250  # MiB; see docs/hosting.md
MIB = 2**20
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
LONG = ("explore", "arms=beta(2,1)x2&lines=kl-ucb&T=1e9&n=15")
TABLES: dict[str, Callable[[], str]] = {  # for "Your numbers", 20 MB at most
    "a sound table of 20 MB": lambda: "A,B\n" + "0.1234,0.5678\n" * 1_400_000,
    "800 equal headings": lambda: ",".join(["a"] * 800) + "\n" + ",".join(["1"] * 800),
    "10,000 equal headings": lambda: ",".join(["a"] * 10_000) + "\n" + ",".join(["1"] * 10_000),
    "a line of commas": lambda: "," * (20 * MIB),
    "a million columns": lambda: ",".join(["a"] * 10**6) + "\n" + ",".join(["1"] * 10**6),
    "1.5 million bad cells": lambda: "A,B\n" + "bad,word\n" * 750_000,
    "20 MB of line ends": lambda: "A,B\n1,0" + "\n" * (20 * MIB - 7),
    "rows of 10 million cells": lambda: ",".join(f"a{place}" for place in range(1000)) + ("\n" + "," * 999) * 9_990,
}
SPECS: dict[str, tuple[str, Callable[[], str]]] = {  # for "Open a spec", 1 MB at most
    "JSON with 60,000 equal keys": ("json", lambda: "{" + ",".join(['"a": 1'] * 60_000) + "}"),
    "JSON with 60,000 bad fields": ("json", lambda: "{" + ",".join(f'"a{place}": 1' for place in range(60_000)) + "}"),
    "TOML with a deep key": ("toml", lambda: ".".join(["a"] * 200_000) + " = 1"),
}
Attack = Callable[[Server, int], Coroutine[Any, Any, None]]  # one try, given its number


async def second_visitor(server: Server, seeds: random.Random) -> list[float]:
    """Times from the address to a small picture that nobody has asked for before, one after the other."""
    begin, times = time.monotonic(), []
    while len(times) < LOADS and (time.monotonic() - begin < LONGEST or len(times) < 5):
        address = f"T=1000&n=5&seed={seeds.randrange(10**9)}"
        times.append((await asyncio.wait_for(opened(server, "explore", address), 2 * LONGEST))[0])
        await asyncio.sleep(0.1)
    return times


async def link(server: Server, page: str, address: str, press: str = "", stay: float = 0.0) -> None:
    """Open a page, press a button where one is named and there, stay, and go."""
    async with visiting(server, page, address) as visitor:
        await visitor.run()
        await visitor.settle()
        if press:
            await visitor.press(press)
            await asyncio.sleep(stay)


async def long_runs(server: Server, seed: int) -> None:
    """Twice as many runs of hours as may go at once, each in a tab of its own."""
    tabs = 2 * int(LIMITS["LAB_MAX_RUNS"])
    addresses = [f"{LONG[1]}&seed={tabs * seed + tab}" for tab in range(tabs)]
    await asyncio.gather(*(link(server, LONG[0], address, "Run", LONGEST) for address in addresses))


async def table(server: Server, content: bytes) -> None:
    """Hand a table to the page "Your numbers", wait until it is read, and go."""
    async with visiting(server, "your-numbers") as visitor:
        await visitor.run()
        await visitor.settle()
        visitor.choose("Your options", "I upload observations")
        await visitor.run()
        await visitor.settle()
        await visitor.upload("Observed rewards (CSV)", "table.csv", content)
        await visitor.settle()


async def spec(server: Server, content: bytes, form: str) -> None:
    """Hand a spec to the sidebar of Explore, load it, and go."""
    async with visiting(server, "explore", "T=1000&n=5") as visitor:
        await visitor.run()
        await visitor.settle()
        await visitor.upload("Open a spec", f"spec.{form}", content)
        await visitor.settle()
        await visitor.press("Load this spec")
        await visitor.settle()
        if not visitor.errors:
            raise RuntimeError("the page took the spec")


def scenes() -> dict[str, Attack]:
    """Every attack by its name: what one try of it does, given the server and the number of the try."""
    found: dict[str, Attack] = {}
    for name, (page, address) in LINKS.items():
        found[name] = lambda server, seed, page=page, address=address: link(server, page, f"{address}&seed={seed}")
    found["long runs in every place"] = long_runs
    for name, text in TABLES.items():
        content = functools.cache(lambda text=text: text().encode())
        found[name] = lambda server, _seed, content=content: table(server, content())
    for name, (form, text) in SPECS.items():
        found[name] = lambda server, _seed, form=form, text=text: spec(server, text().encode(), form)
    return found


async def play(server: Server, attack: Attack, tries: list[int]) -> None:
    """One try after the other until somebody stops it; counts those that were finished in ``tries``."""
    while True:
        with contextlib.suppress(OSError):
            await attack(server, 1 + tries[0])
        tries[0] += 1


async def measure(server: Server, name: str, seeds: random.Random) -> list[Any]:
    """One row of the table; first the second visitor alone."""
    idle = await second_visitor(server, seeds)
    tries = [0]
    work = asyncio.create_task(play(server, scenes()[name], tries))
    times = await second_visitor(server, seeds)
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
    (middle, late), (usual, slow) = np.quantile(times, (0.5, 0.95)), np.quantile(idle, (0.5, 0.95))
    memory = server.megabytes(), server.megabytes("VmHWM")
    return [name, tries[0], slow, late, middle / usual, late / slow, *memory]


async def all_of(server: Server, names: list[str]) -> bool:
    """Play these attacks, print the table, and tell whether all stayed in bounds."""
    seeds, rows = random.Random(1), []
    await opened(server, "explore", "T=1000&n=5&seed=1")
    for name in names:
        rows.append(await measure(server, name, seeds))
        print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    heads = ["attack", "tries", "alone, p95, s", "beside it, p95, s", "medians, ratio", "p95, ratio"]
    print_table([*heads, "memory, MiB", "highest so far, MiB"], rows)
    return all(row[5] < MOST_RATIO and row[7] < MOST_MEMORY for row in rows)


def main() -> int:
    """Print the table; 0 where all ratios and the memory are in bounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="attacks to play (default: all)", metavar="NAME")
    names = parser.parse_args().names or list(scenes())
    if unknown := set(names) - set(scenes()):
        parser.error(f"no such attack: {', '.join(sorted(unknown))}; there are: {', '.join(scenes())}")
    print(machine(), end="\n\n")
    kernels = Path(os.environ.get("LAB_KERNEL_CACHE") or Path.home() / ".cache" / "private-bandit-lab")
    warm = [sys.executable, "-m", "bandit_core", "warm"]
    subprocess.run(warm, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder), kernels, **LIMITS) as server:
        return 0 if asyncio.run(all_of(server, names)) else 1


if __name__ == "__main__":
    sys.exit(main())
