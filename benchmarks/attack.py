"""What links and files can do to a server, tried: ``python -m benchmarks.attack [NAME ...]`` (eight minutes; Linux).

A server with the limits of the image and the memory of deploy/start.sh, its kernels compiled, is started on the
loopback address. One visitor plays an attack again and again: opens a link, or hands a file to the page that reads it.
Meanwhile a second visitor opens `LOADS` small pictures, one after the other. So he does just before, with no one else
there. The table says what the attack reached and what it took: the second visitor's median and 95th percentile, both
divided by those just before, and memory of the server. Every scene is bounded in count and time, and the server is
stopped in the end. Exit code 1 where a try reached something else than `EXPECTED` says, or nothing, where a ratio of
95th percentiles reaches `MAX_RATIO`, or memory `MAX_MEMORY`. docs/security.md lists the attacks with their tests.

``--small`` opens one picture where there are `LOADS`, and judges no times: to see quickly that the scenes work.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np

from benchmarks.measuring import machine, print_table
from benchmarks.visitors import ROOT, Server, Visitor, opened, phone_asks, put_file, running_server, visiting
from ui.learn.classroom import LENGTH, LETTERS, Classroom
from ui.learn.course import LESSONS

LIMITS = {
    "LAB_JOBS": "2", "LAB_MAX_STEPS": "2e10", "LAB_MAX_SECONDS": "900", "LAB_MAX_RESULT_MB": "128", "LAB_MAX_RUNS": "2",
    "LAB_CACHE_MB": "256",
}  # fmt: skip
STAY = 5.0  # seconds in front of a run
LOADS, LONGEST = 16, 60.0  # pictures of the second visitor during one attack, and seconds after which it ends
MAX_RATIO, MAX_MEMORY = 5.0, 1250  # MiB; see docs/hosting.md
FORGOTTEN_SECONDS = 35.0  # half a minute, and the second visitor's look
MAX_BYTES = 20_000_000  # of a file, as `bandit_core.data.tables` has it
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
EXPECTED = {  # what every try of an attack reaches: a pattern of what the page answers
    "10,000 arms of a million observations": "^a picture$",
    "300 such arms, all different": "a picture$",
    "types of users": "at most 128 MiB",
    "types of users, a parameter for each arm": "^Run was pressed; no picture|a picture$",
    "a matrix of 200,000 rows": "at most 900 seconds",
    "steps of milliseconds": "at most 900 seconds",
    "200 features, 1,000 arms, two policies": "^Run was pressed; no picture|a picture$",
    "10,000 arms and 24 lines": "at most 2e.*10 steps",
    "25,000 arms written out": "at most 20000 characters",
    "a budget of 1,000 groups": "a picture$",
    "long runs in every place": "^4 runs pressed$",
    "a sound table of 20 MB": "^a picture$",
    "800 equal headings": "at most 100 options",
    "10,000 equal headings": "at most 1,000 columns",
    "a line of commas": "all of one row",
    "a million columns": "all of one row",
    "1.5 million bad cells": "^no picture$",
    "20 MB of line ends": "a picture$",
    "rows of 10 million cells": "no row below it",
    "JSON with 60,000 equal keys": "no valid settings",
    "JSON with 60,000 bad fields": "no valid settings",
    "TOML with a deep key": "no valid settings",
    "30 files of 20 MB in one tab": "^[012] kept, (28|29|30) refused$",  # those of closed tabs count for a while
    "800 phones that wait for a class": "^800 of 800: nothing new$",
    "1,000 wrong codes of classes": "^1000 of 1000: no class$",
    "10,000 guesses of one phone": "^1 guess counted$",
    "40 guesses of 20 MB": "^40 of 40: too large$",
    "24 files of 20 MB in 8 tabs": r"^\d+ kept, (1[4-9]|2\d) refused$",
}
LONG_RUN = ("explore", "arms=beta(2,1)x2&lines=kl-ucb&T=1e9&n=15")
TABLES: dict[str, Callable[[], str]] = {  # for "Your numbers", 20 MB at most
    "a sound table of 20 MB": lambda: "arm,reward\n" + "A,0.1234\nB,0.5678\n" * 990_000,
    "800 equal headings": lambda: ",".join(["a"] * 800) + "\n" + ",".join(["1"] * 800),
    "10,000 equal headings": lambda: ",".join(["a"] * 10_000) + "\n" + ",".join(["1"] * 10_000),
    "a line of commas": lambda: "," * MAX_BYTES,
    "a million columns": lambda: ",".join(["a"] * 10**6) + "\n" + ",".join(["1"] * 10**6),
    "1.5 million bad cells": lambda: "A,B\n" + "bad,word\n" * 750_000,
    "20 MB of line ends": lambda: "arm,visitors,clicks\nA,1000,80\nB,1000,90" + "\n" * (MAX_BYTES - 40),
    "rows of 10 million cells": lambda: ",".join(f"a{place}" for place in range(1000)) + ("\n" + "," * 999) * 9_990,
}
SPECS: dict[str, tuple[str, Callable[[], str]]] = {  # for "Load a settings file", 1 MB at most
    "JSON with 60,000 equal keys": ("json", lambda: "{" + ",".join(['"a": 1'] * 60_000) + "}"),
    "JSON with 60,000 bad fields": ("json", lambda: "{" + ",".join(f'"a{place}": 1' for place in range(60_000)) + "}"),
    "TOML with a deep key": ("toml", lambda: ".".join(["a"] * 200_000) + " = 1"),
}
Attack = Callable[[Server, int], Coroutine[Any, Any, str]]  # one try, given its number: what it reached


async def second_visitor(server: Server, seeds: random.Random, loads: int) -> list[float]:
    """Times from the address to a small picture that no one has asked for before, one after the other."""
    begin, times = time.monotonic(), []
    while len(times) < loads and (time.monotonic() - begin < LONGEST or len(times) < 5):
        address = f"T=1000&n=5&seed={seeds.randrange(10**9)}"
        times.append((await asyncio.wait_for(opened(server, "explore", address), 2 * LONGEST))[0])
        await asyncio.sleep(0.1)
    return times


def reached(visitor: Visitor) -> str:
    """What the page answered: why it refuses, in its words, else whether there is a picture."""
    return "; ".join([*visitor.refusals, "a picture" if visitor.drawn_at else "no picture"])


async def link(server: Server, page: str, address: str, stay: float = STAY) -> str:
    """Open a page, start the run where it asks for a press, stay a while, and go."""
    async with visiting(server, page, address) as visitor:
        await visitor.run()
        await visitor.settle()
        if "Run" not in visitor.widgets:
            return reached(visitor)
        await visitor.press("Run")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(visitor.settle(), stay)
        await asyncio.sleep(stay)
        return f"Run was pressed; {reached(visitor)}"


async def long_runs(server: Server, seed: int) -> str:
    """Twice as many runs of hours as may go at once, each in a tab of its own."""
    tabs = 2 * int(LIMITS["LAB_MAX_RUNS"])
    addresses = [f"{LONG_RUN[1]}&seed={tabs * seed + tab}" for tab in range(tabs)]
    answers = await asyncio.gather(*(link(server, LONG_RUN[0], address, LONGEST / 4) for address in addresses))
    return f"{sum(each.startswith('Run was pressed') for each in answers)} runs pressed"


async def at_the_table(visitor: Visitor) -> None:
    """Open the page "Your numbers" where a table is uploaded."""
    await visitor.run()
    await visitor.settle()
    visitor.choose("Your options", "I upload observations")
    await visitor.run()
    await visitor.settle()


async def table(server: Server, content: bytes) -> str:
    """Hand a table to the page "Your numbers", wait until it is read, and go."""
    async with visiting(server, "your-numbers") as visitor:
        await at_the_table(visitor)
        visitor.drawn_at = 0.0  # the typed rates have a picture, too
        await visitor.upload("Observed rewards (CSV)", "table.csv", content)
        await visitor.settle()
        return reached(visitor)


async def spec(server: Server, content: bytes, form: str) -> str:
    """Hand a spec to the sidebar of Explore, load it, and go."""
    async with visiting(server, "explore", "T=1000&n=5") as visitor:
        await visitor.run()
        await visitor.settle()
        await visitor.upload("Load a settings file", f"spec.{form}", content)
        await visitor.settle()
        return reached(visitor)


async def many_files(server: Server, tabs: int, files: int) -> str:
    """Send files of 20 MB to each of several tabs, never chosen on the page, and close all tabs."""
    content, kept, refused = b" " * MAX_BYTES, 0, 0
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(tabs):
            visitor = await stack.enter_async_context(visiting(server, "your-numbers"))
            await visitor.run()
            await visitor.settle()
            for number in range(files):
                place = f"/_stcore/upload_file/{visitor.session}/{number}"
                try:
                    await asyncio.to_thread(put_file, f"http://127.0.0.1:{server.port}", place, "x", content)
                    kept += 1
                except HTTPError as error:
                    error.close()
                    if error.code != 413:
                        raise
                    refused += 1
    return f"{kept} kept, {refused} refused"


async def phones(count: int, at_once: int, one: Callable[[int], Coroutine[Any, Any, bool]], wanted: str) -> str:
    """So many requests as phones send them, some at once; how many got the answer that is ``wanted``."""
    places = asyncio.Semaphore(at_once)

    async def ask(number: int) -> bool:
        async with places:
            return await one(number)

    right = sum(await asyncio.gather(*(ask(number) for number in range(count))))
    return f"{right} of {count}: {wanted}"


async def waits(server: Server) -> bool:
    """A phone waits for a class that is not there."""
    return (await phone_asks(server, "class=AAAAAA&since=closed"))[0] == 204


async def wrong_code(server: Server, seed: int, number: int) -> bool:
    """A phone tries a code."""
    code = "".join(random.Random(f"{seed} {number}").choices(LETTERS, k=LENGTH))
    status, page = await phone_asks(server, f"class={code}", accept="text/html")
    return status == 200 and "There is no class" in page


async def too_large(server: Server) -> bool:
    """A phone sends a guess of 20 MB."""
    return (await phone_asks(server, "class=AAAAAA", b"value=" + b"1" * MAX_BYTES))[0] == 413


async def one_guesses(server: Server) -> str:
    """One phone sends 10,000 guesses; how many the class has."""
    room, step = Classroom(lambda: server.folder), LESSONS[0].name
    code, key = room.open(step)
    form = f"phone={'0' * 16}&step={step}&value=1".encode()

    async def guesses(number: int) -> bool:
        return (await phone_asks(server, f"class={code}", form))[0] == 200

    await phones(10_000, 50, guesses, "answered")
    counted = len(room.guesses(code, step))
    room.close(code, key)
    return f"{counted} guess counted"


def bytes_uploaded(server: Server) -> int:
    """Bytes of uploads in memory, as Streamlit counts them."""
    with urlopen(f"http://127.0.0.1:{server.port}/_stcore/metrics", timeout=60) as answer:
        found = re.search(r'cache_type="UploadedFileManager"[^}]*} (\d+)', answer.read().decode())
    return int(found[1]) if found else 0


async def forgotten(server: Server) -> float:
    """Seconds after which the files of all closed tabs are gone, with no one there; infinite after two minutes."""
    await many_files(server, 1, 2)
    closed = time.monotonic()
    while time.monotonic() - closed < 120:
        if bytes_uploaded(server) == 0:
            return time.monotonic() - closed
        await asyncio.sleep(1)
    return float("inf")


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
    found["800 phones that wait for a class"] = lambda server, _seed: phones(
        800, 800, lambda _number: waits(server), "nothing new"
    )
    found["1,000 wrong codes of classes"] = lambda server, seed: phones(
        1000, 50, lambda number: wrong_code(server, seed, number), "no class"
    )
    found["10,000 guesses of one phone"] = lambda server, _seed: one_guesses(server)
    found["40 guesses of 20 MB"] = lambda server, _seed: phones(40, 8, lambda _number: too_large(server), "too large")
    found["30 files of 20 MB in one tab"] = lambda server, _seed: many_files(server, 1, 30)
    found["24 files of 20 MB in 8 tabs"] = lambda server, _seed: many_files(server, 8, 3)  # last: no one else can then
    return found


async def play(server: Server, attack: Attack, answers: list[str]) -> None:
    """One try after the other until someone stops it; what each finished one reached goes to ``answers``.

    A file that the server has no room for, as it still holds those of earlier tries, is sent again a second later.
    """
    while True:
        try:
            answers.append(await attack(server, 1 + len(answers)))
        except HTTPError as error:
            error.close()
            if error.code != 413:
                answers.append(f"HTTP {error.code}")
            await asyncio.sleep(1)
        except Exception as error:  # it has not reached what was to be tried
            answers.append(f"{type(error).__name__}: {error}"[:200])
            await asyncio.sleep(0.1)


async def measure(server: Server, name: str, seeds: random.Random, loads: int) -> list[Any]:
    """One row of the table; first the second visitor alone."""
    idle = await second_visitor(server, seeds, loads)
    answers: list[str] = []
    work = asyncio.create_task(play(server, scenes()[name], answers))
    times = await second_visitor(server, seeds, loads)
    begun = time.monotonic()
    while not answers and time.monotonic() - begun < 10 * LONGEST:  # one try at least, also on a busy machine
        await asyncio.sleep(0.1)
    work.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await work
    (middle, late), (usual, slow) = np.quantile(times, (0.5, 0.95)), np.quantile(idle, (0.5, 0.95))
    memory = server.megabytes(), server.megabytes("VmHWM")
    answers = answers or ["nothing"]
    other = [each for each in answers if not re.search(EXPECTED[name], each)]
    said, ratios = (other or answers)[0], (middle / usual, late / slow)
    return [name, len(answers), said, slow, late, *ratios, *memory, not other]


async def all_of(server: Server, names: list[str], small: bool) -> bool:
    """Play these attacks, print the table, and tell whether all reached what they try and stayed in bounds."""
    seeds, rows = random.Random(1), []
    await opened(server, "explore", "T=1000&n=5&seed=1")
    for name in names:
        rows.append(await measure(server, name, seeds, 1 if small else LOADS))
        print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    heads = ["attack", "tries", "reached", "alone, p95, s", "beside it, p95, s", "medians, ratio", "p95, ratio"]
    print_table([*heads, "memory, MiB", "highest so far, MiB", "as expected"], rows)
    good = all(row[1] and row[-1] and row[8] < MAX_MEMORY and (small or row[6] < MAX_RATIO) for row in rows)
    if not small:
        seconds = await forgotten(server)
        print(f"Files of a closed tab, with no other visitor: forgotten after {seconds:.0f} s.")
        good = good and seconds <= FORGOTTEN_SECONDS
    return good


def main() -> int:
    """Print the table; 0 where all ratios and the memory are in bounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="attacks to play (default: all)", metavar="NAME")
    parser.add_argument(
        "--small", action="store_true", help="one picture each, no times judged, nothing compiled before"
    )
    asked = parser.parse_args()
    names = asked.names or list(scenes())
    if unknown := set(names) - set(scenes()):
        parser.error(f"no such attack: {', '.join(sorted(unknown))}; there are: {', '.join(scenes())}")
    print(machine(), end="\n\n")
    kernels = Path(os.environ.get("LAB_KERNEL_CACHE") or Path.home() / ".cache" / "private-bandit-lab")
    warm = [sys.executable, "-m", "bandit_core", "warm"]
    if not asked.small:
        subprocess.run(warm, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder), kernels, **LIMITS) as server:
        return 0 if asyncio.run(all_of(server, names, asked.small)) else 1


if __name__ == "__main__":
    sys.exit(main())
