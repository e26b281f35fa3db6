"""A class of 100 phones: `python -m benchmarks.classroom`.

All phones join at once by web socket, each guesses, and the teacher reveals: no guess may be lost, whoever waits.
Printed are the seconds from opening the page to the question, from the tap to "your guess is in", and memory.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.load import spread
from benchmarks.measuring import machine, print_table
from benchmarks.visitors import Server, Visitor, curves_of, running_server, visiting
from ui.learn import trust

STEP = "6"


async def _timed(visitor: Visitor, label: str | None = None) -> float:
    """Seconds until the page is done, after it was opened or one of its buttons was pressed."""
    start = time.perf_counter()
    await (visitor.run() if label is None else visitor.press(label))
    await visitor.settle()
    if visitor.errors:
        raise RuntimeError(visitor.errors)
    return time.perf_counter() - start


async def play(server: Server, phones: int) -> bool:
    """Print the table of a class; whether all guesses were counted, each where it belongs."""
    options = [words for words, _, _ in trust.STEP.guess.options]  # type: ignore[union-attr]
    async with AsyncExitStack() as stack:
        teacher = await stack.enter_async_context(visiting(server, "learn", f"step={STEP}"))
        await _timed(teacher)
        await _timed(teacher, "Open a class")
        [code] = re.findall(r"class=(\w+)", teacher.address)
        address = f"class={code}&step={STEP}"
        tabs = [await stack.enter_async_context(visiting(server, "learn", address)) for _ in range(phones)]
        joined = await asyncio.gather(*map(_timed, tabs))
        tapped = await asyncio.gather(*(_timed(tab, options[n % 3]) for n, tab in enumerate(tabs)))
        looked = await _timed(teacher)
        counted = teacher.metrics["Guesses so far"]
        revealed = await _timed(teacher, "Reveal the answer")
        bars = list(map(int, curves_of(teacher.histogram)[0]))
        rows = [["join", *spread(joined)], ["guess", *spread(tapped)]]
        rows += [["teacher looks", looked, looked], ["teacher reveals", revealed, revealed]]
    print_table(["scene", "median, s", "p95, s"], [[name, f"{a:.2f}", f"{b:.2f}"] for name, a, b in rows])
    print(
        f"{counted} guesses of {phones} counted, by option {bars}; {server.megabytes('VmHWM'):.0f} MiB at the highest"
    )
    return counted == str(phones) and bars == [len(range(first, phones, 3)) for first in range(3)]


def main() -> int:
    """Print the table; 0 where no guess was lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--phones", type=int, default=100)
    options = parser.parse_args()
    print(machine(), end="\n\n")
    kernels = Path(os.environ.get("LAB_KERNEL_CACHE") or Path.home() / ".cache" / "private-bandit-lab")
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder), kernels, LAB_JOBS="2") as server:
        good = asyncio.run(play(server, options.phones))
        return 0 if good and "Traceback" not in server.log.read_text() else 1


if __name__ == "__main__":
    sys.exit(main())
