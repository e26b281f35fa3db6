"""Many visitors at once, with the real web socket protocol on this machine.

``python -m benchmarks.load`` (some minutes; Linux) starts a server and measures, in seconds at the visitor,

- one visitor alone: from the address to the picture, and from a change to the new picture;
- fifty who open one link that no one opened before, at the same moment;
- twenty who drag a slider, each through four positions 50 ms apart, four times, each with a seed of its own;
- five long runs (500 million pulls each) while twenty others change a control every second or so;

and after each the memory of the server. Every last picture is compared, bit for bit, with the same experiment computed
here: nothing may be lost, and no visitor may see another's picture. The visitors share the machine with the server.

Then 400 tabs of page Learn are open at once, on a server of its own that starts with 1,024 open files, the usual limit
of shells and units. ``python -m benchmarks.load --tabs 400`` does only that.

``python -m benchmarks.load --phones 100`` lets so many phones join a class at once. Each guesses, and the teacher
reveals: no guess may be lost. ``--classes 100 --phones 10`` does so with a hundred classes of ten phones each.

``python -m benchmarks.load --soak 30`` lets visitors come, do random things and go for that many minutes, and prints
memory and disk as they go. Memory is the least of each tenth of the time: what is being played comes and goes. The
caches are kept small, so that their limits are reached. It ends with exit code 1 if that memory grew by more than
`GROWTH_MB` after `WARM` visits, when pages and caches are warm, or if there were fewer.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import math
import os
import random
import re
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from bandit_core import simulate
from bandit_core.experiments import links
from bandit_core.simulation.store import Store
from bandit_core.simulation.warm_up import warm
from benchmarks.measuring import machine, print_table
from benchmarks.visitors import Server, Visitor, curves_of, opened, phone_asks, running_server, visiting
from ui import charts
from ui.learn.classroom import Classroom
from ui.learn.course import LESSONS

Check = Callable[[], bool]
HORIZON = "Users (horizon)"
HORIZONS = {"200": 200, "500": 500, "1,000": 1000, "2,000": 2000, "5,000": 5000, "10,000": 10_000}
LINK = "T=20000&n=50&seed=77"
HEAVY = "arms=0.9,0.5&lines=ucb&T=1e6&n=500&seed={seed}"
GROWTH_MB, WARM = 40, 600
MANY_TABS = 400
STEP = LESSONS[0]  # which the class guesses at
GUESSING = 20.0  # seconds within which the phones of a class guess
PHONES = 10  # of each class, where there are many
ALONE = 50  # guesses of one phone before the others come
MAX_LOG = 10_000  # bytes that a server may write while many tabs are open
USUAL_FILES = 1024  # open files that a shell or a unit allows a process, unless someone says otherwise
PATIENCE = 600.0  # seconds that a wandering visitor waits for a page: the machine may be busy, and kernels not compiled
MANY, HANDS, RUNS, CHANGES = 50, 20, 5, 10  # who open one link, who move a slider, long runs, and moves of a reader
SMALL = 2, 2, 1, 2  # the same with --small, to see in half a minute that every scene works
AFTERWARDS = 20.0  # seconds without a visitor, after which memory is looked at again
PAGES = ("", "explore", "tradeoff", "threshold", "heavy-tails", "contextual", "your-numbers")


def expected(address: str, horizon: int | None = None) -> list[np.ndarray]:
    """The curves of an address of Explore, computed here."""
    experiment, _ = links.read(dict(part.split("=") for part in address.split("&")))
    if horizon is not None:
        experiment = experiment.with_changes(horizon=horizon)
    result = simulate(experiment, store=Store(None, 0))
    return curves_of(charts.regret_chart(result).to_json())


def equal(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    """Whether two pictures have the same curves, bit for bit, gaps in the same places."""
    return len(one) == len(other) and all(
        np.array_equal(np.asarray(a, float), np.asarray(b, float), equal_nan=True)  # a gap may be written as None
        for a, b in zip(one, other, strict=True)
    )


def spread(times: list[float]) -> list[float]:
    """Median and 95th percentile."""
    return [float(np.median(times)), float(np.quantile(times, 0.95))]


def together(visits: list[tuple[list[float], Check]]) -> tuple[list[float], bool]:
    """All times, and whether every last picture is right."""
    return [wait for waits, _ in visits for wait in waits], all([check() for _, check in visits])


async def arrived(visitor: Visitor, option: str) -> float:
    """Seconds until the page with that number of users is done; runs that a newer position cut short end without it."""
    start, wanted = time.perf_counter(), f"T={HORIZONS[option]}"
    while True:
        await asyncio.wait_for(visitor.settle(), 180)
        if wanted in visitor.address.split("&") or (wanted == "T=10000" and "T=" not in visitor.address):
            return time.perf_counter() - start


async def drags(server: Server, seed: int, times: int, every: float = 0.0) -> tuple[list[float], Check]:
    """One visitor who moves the slider; seconds from the last position to its picture, and how to see that it is right.

    That is for later: it takes as long as a page, and here all visitors share one thread.
    """
    address, chosen, waits = f"T=1000&n=20&seed={seed}", random.Random(seed), []
    async with visiting(server, "explore", address) as visitor:
        await visitor.run()
        await visitor.settle(until_picture=True)
        option = "1,000"
        for _ in range(times):
            if every:
                await asyncio.sleep(every * chosen.uniform(0.5, 1.5))
            others = [other for other in HORIZONS if other != option]  # a hand that drags does not come back
            for place, position in enumerate(chosen.sample(others, 1 if every else 4)):
                if place:
                    await asyncio.sleep(0.05)
                option = position
                await visitor.move(HORIZON, option)
            waits.append(await arrived(visitor, option))
        picture, errors = visitor.picture, visitor.errors
    return waits, lambda: not errors and equal(curves_of(picture), expected(address, HORIZONS[option]))


async def heavy(server: Server, seed: int, leave: asyncio.Event) -> tuple[float, bool]:
    """One visitor with a long run: seconds to its end (infinite where it was left before), and whether it is right."""
    start = time.perf_counter()
    async with visiting(server, "explore", HEAVY.format(seed=seed)) as visitor:
        await visitor.run()
        await visitor.settle(until_picture=True)
        await visitor.press("Run")
        while True:
            try:
                await asyncio.wait_for(visitor.settle(), 0.5)
            except TimeoutError:
                if leave.is_set():
                    return float("inf"), not visitor.errors
            await asyncio.sleep(0.5)
            await visitor.run()
            if time.perf_counter() - start > 120:
                return float("inf"), not visitor.errors


async def load(server: Server, many: int = MANY, hands: int = HANDS, long: int = RUNS, changes: int = CHANGES) -> bool:
    """Every scene in turn; prints the table, and tells whether all pictures were right."""
    rows: list[list[object]] = []
    right = True

    def note(scene: str, times: list[float], good: bool | None) -> None:
        nonlocal right, worked
        right = right and good is not False
        before, worked = worked, server.seconds()
        rows.append(
            [
                scene,
                len(times),
                *spread(times),
                (worked - before) / len(times),
                server.megabytes(),
                {None: "not compared", True: "yes", False: "NO"}[good],
            ]
        )
        print(rows[-1], file=sys.stderr, flush=True)

    start, worked = server.megabytes(), server.seconds()
    first, _ = await opened(server, "explore", "T=1000&n=20&seed=1")
    note("first visitor of a new server", [first], None)
    alone = [(await opened(server, "explore", f"T=20000&n=50&seed={seed}"))[0] for seed in range(2, 12)]
    note("one visitor alone, picture", alone, None)
    waits, check = await drags(server, 20, 12, every=0.2)
    note("one visitor alone, change", waits, check())

    pictures = await asyncio.gather(*(opened(server, "explore", LINK) for _ in range(many)))
    wanted = expected(LINK)
    good = all(equal(curves_of(picture), wanted) for _, picture in pictures)
    note(f"{many} open one link, picture", [seconds for seconds, _ in pictures], good)
    dragged = await asyncio.gather(*(drags(server, 100 + number, 4) for number in range(hands)))
    note(f"{hands} drag a slider, change", *together(dragged))

    readers = await asyncio.gather(*(drags(server, 200 + number, changes, every=1.0) for number in range(hands)))
    note(f"{hands} read, no one else, change", *together(readers))
    leave = asyncio.Event()
    runs = [asyncio.create_task(heavy(server, 300 + number, leave)) for number in range(long)]
    await asyncio.sleep(3)
    readers = await asyncio.gather(*(drags(server, 400 + number, changes, every=1.0) for number in range(hands)))
    going = sum(not run.done() for run in runs)
    note(
        f"{hands} read, {going} long runs go on",
        *together(readers),
    )
    leave.set()
    await asyncio.gather(*runs)
    idle = time.perf_counter()
    while server.threads() > 60 and time.perf_counter() - idle < 60:
        await asyncio.sleep(1)
    await asyncio.sleep(AFTERWARDS if many == MANY else 0)
    columns = ["scene", "times", "median, s", "p95, s", "server's CPU, s each", "memory, MiB", "pictures right"]
    print_table(columns, rows)
    p95 = {str(row[0]): float(row[3]) for row in rows}  # type: ignore[arg-type]
    ratios = {  # scenes of many beside the same for one alone
        f"{many} open one link, picture": "one visitor alone, picture",
        f"{hands} read, no one else, change": "one visitor alone, change",
    }
    for scene, one in ratios.items():
        print(f"{scene}: p95 {p95[scene] / p95[one]:.1f} times that of: {one}")
    print(
        f"Memory: {start:.0f} MiB before the first visitor, {server.megabytes('VmHWM'):.0f} at its highest, "
        f"{server.megabytes():.0f} a while after the last one; "
        f"{server.disk_megabytes():.0f} MiB of blocks on disk."
    )
    return right


async def learn(server: Server, answers: list[float | str], leave: asyncio.Event) -> None:
    """One tab of page Learn that stays until ``leave``: seconds until it was drawn, or what went wrong."""
    start = time.perf_counter()
    try:
        async with visiting(server, "learn") as visitor:
            await visitor.run()
            await asyncio.wait_for(visitor.settle(), PATIENCE)
            answers.append(visitor.errors[0] if visitor.errors else time.perf_counter() - start)
            await leave.wait()
    except Exception as error:  # whatever it is, this tab was not drawn
        answers.append(f"{type(error).__name__}: {error}")


async def many_tabs(server: Server, count: int) -> bool:
    """Open so many tabs at once, then one more; whether all were drawn, the log is short, and the server is well."""
    await opened(server, "explore", "T=1000&n=20&seed=1")
    answers: list[float | str] = []
    log, leave = server.log.stat().st_size, asyncio.Event()
    tabs = [asyncio.create_task(learn(server, answers, leave)) for _ in range(count)]
    while len(answers) < count:
        await asyncio.sleep(0.5)
    most, healthy = server.open_files(), await asyncio.to_thread(server.healthy)
    leave.set()
    await asyncio.gather(*tabs)
    await opened(server, "explore", "T=1000&n=20&seed=2")
    times = [each for each in answers if isinstance(each, float)]
    wrong = [each for each in answers if isinstance(each, str)]
    written = server.log.stat().st_size - log
    heads = ["tabs", "drawn", "median, s", "p95, s", "open files", "memory, MiB", "bytes of log", "healthy"]
    middle, late = spread(times) if times else (float("inf"), float("inf"))
    print_table(heads, [[count, len(times), middle, late, most, server.megabytes(), written, healthy]])
    for each in wrong[:3]:
        print(each[:300], file=sys.stderr)
    return not wrong and healthy and written < MAX_LOG


async def _timed(visitor: Visitor, label: str | None = None) -> float:
    """Seconds until the page is done, after it was opened or one of its buttons was pressed."""
    start = time.perf_counter()
    await (visitor.run() if label is None else visitor.press(label))
    await visitor.settle()
    if visitor.errors:
        raise RuntimeError(visitor.errors)
    return time.perf_counter() - start


async def _request(server: Server, query: str, form: dict[str, str] | None = None, accept: str = "*/*") -> str:
    """The page that a phone gets, or nothing where nothing is new."""
    status, answer = await phone_asks(server, query, None if form is None else urlencode(form).encode(), accept)
    if status not in (200, 204):
        raise RuntimeError(f"{status}: {answer[:500]}")
    return answer


@dataclass
class Phone:
    """A phone in a class, as its own script behaves (ui/assets/phone.js)."""

    server: Server
    code: str
    times: dict[str, list[float]]
    token: str = ""
    version: str = ""
    page: str = ""

    async def join(self) -> None:
        """Open the page."""
        start = time.perf_counter()
        self._show(await _request(self.server, f"class={self.code}", accept="text/html"))
        self.times["join"].append(time.perf_counter() - start)
        self.token = re.findall('name="phone" value="(.*?)"', self.page)[0]

    def _show(self, page: str) -> None:
        if page:
            self.page, self.version = page, re.findall('data-version="(.*?)"', page)[0]

    async def guess(self, value: int, name: str = "guess") -> None:
        """Send a guess, and see that it was taken."""
        form = {"phone": self.token, "step": STEP.name, "value": str(value)}
        start = time.perf_counter()
        self._show(await _request(self.server, f"class={self.code}", form))
        self.times[name].append(time.perf_counter() - start)
        if f'value="{value}" aria-pressed' not in self.page:
            raise RuntimeError(self.page)

    async def follow(self) -> float:
        """Wait until the answer is there; when that was."""
        while STEP.so not in html.unescape(self.page):
            self._show(await _request(self.server, f"class={self.code}&since={self.version}"))
            await asyncio.sleep(random.uniform(0.1, 0.3))
        return time.perf_counter()


async def _plays(phone: Phone, value: int) -> float:
    """Join, guess some seconds later while it waits for the teacher, and see the answer."""
    await phone.join()
    following = asyncio.create_task(phone.follow())
    await asyncio.sleep(GUESSING * random.random())
    await phone.guess(value)
    return await following


async def _guessed(guesses: list[float], wanted: int, going: list[asyncio.Task[float]]) -> None:
    """Wait until so many guesses are in, or something went wrong with a phone."""
    while len(guesses) < wanted:
        await asyncio.sleep(0.5)
        for each in going:
            if each.done():
                each.result()  # raises what went wrong


async def school_class(server: Server, phones: int) -> bool:
    """Print the table of a class; whether all guesses were counted, each where it belongs."""
    times: dict[str, list[float]] = defaultdict(list)
    async with visiting(server, "teach") as teacher:
        await _timed(teacher)
        await _timed(teacher, "Open a class")
        [code] = re.findall(r"class=(\w+)", teacher.address)
        first = Phone(server, code, times)
        await first.join()
        for number in range(ALONE):
            await first.guess(number % 3, "guess of one phone alone")
        others = [Phone(server, code, times) for _ in range(phones - 1)]
        going = [asyncio.create_task(_plays(phone, n % 3)) for n, phone in enumerate(others, 1)]
        await first.guess(0)
        await _guessed(times["guess"], phones, going)
        looked = await _timed(teacher)
        counted = teacher.metrics["Guesses"]
        revealed_at = time.perf_counter()
        revealed = await _timed(teacher, "Reveal")
        times["answer on the phones"] = [at - revealed_at for at in await asyncio.gather(*going, first.follow())]
    rows = [[name, *spread(found)] for name, found in times.items()]
    rows += [["teacher looks", looked, looked], ["teacher reveals", revealed, revealed]]
    print_table(["scene", "median, s", "p95, s"], [[name, f"{a:.3f}", f"{b:.3f}"] for name, a, b in rows])
    late = {name: spread(found)[1] for name, found in times.items()}
    print(
        f"{counted} guesses of {phones} counted, by option {teacher.bars}; p95 of a guess {late['guess']:.3f} s, "
        f"{late['guess'] / late['guess of one phone alone']:.1f} times that of one phone alone; load of the machine "
        f"{os.getloadavg()[0]:.1f}; {server.megabytes('VmHWM'):.0f} MiB at the highest"
    )
    return counted == str(phones) and teacher.bars == [len(range(first, phones, 3)) for first in range(3)]


async def many_classes(server: Server, classes: int, phones: int) -> bool:
    """Print the table of many classes at once, led from another process; whether all guesses were counted."""
    times: dict[str, list[float]] = defaultdict(list)
    room = Classroom(lambda: server.folder)  # processes of a server share this file
    opened_by = dict(room.open(STEP.name) for _ in range(classes))
    going = [
        asyncio.create_task(_plays(Phone(server, code, times), number % 3))
        for code in opened_by
        for number in range(phones)
    ]
    await _guessed(times["guess"], classes * phones, going)
    wanted = tuple(sorted(float(number % 3) for number in range(phones)))
    right = sum(room.guesses(code, STEP.name) == wanted for code in opened_by)
    revealed_at = time.perf_counter()
    for code, key in opened_by.items():
        room.reveal(code, key, STEP.name)
    times["answer on the phones"] = [at - revealed_at for at in await asyncio.gather(*going)]
    print_table(["scene", "median, s", "p95, s"], [[name, *spread(found)] for name, found in times.items()])
    print(
        f"{right} of {classes} classes have the guesses of their {phones} phones and no others; load of the machine "
        f"{os.getloadavg()[0]:.1f}; {server.megabytes('VmHWM'):.0f} MiB at the highest"
    )
    return right == classes


async def wander(server: Server, seed: int, until: float, counts: dict[str, int]) -> None:
    """Come, do random things, and go, again and again."""
    chance = random.Random(seed)
    while time.monotonic() < until:
        page = chance.choice(PAGES)
        expensive = page == "explore" and chance.random() < 0.3
        number = chance.randrange(10**6)
        address = HEAVY.format(seed=number) if expensive else f"T={chance.choice((500, 1000, 3000))}&n=10&seed={number}"
        try:
            async with visiting(server, page, address) as visitor:
                await visitor.run()
                await asyncio.wait_for(visitor.settle(), PATIENCE)
                counts["visits"] += 1
                for _ in range(chance.randrange(4)):
                    sliders = [name for name in visitor.widgets if len(visitor.options(name)) > 1]
                    if expensive and "Run" in visitor.widgets and chance.random() < 0.5:
                        await visitor.press("Run")
                        counts["long runs"] += 1
                        break  # and away, in the middle of it
                    if sliders and not expensive:
                        name = chance.choice([name for name in sliders if name != "Trials"] or sliders)
                        await visitor.move(name, chance.choice(visitor.options(name)[:7]))
                        await asyncio.wait_for(visitor.settle(), PATIENCE)
                        counts["changes"] += 1
                    await asyncio.sleep(chance.uniform(0, 0.5))
                if chance.random() < 0.3:
                    await visitor.run()  # and away while it runs
                if visitor.errors:
                    counts["errors"] += 1
                    print(f"{page}?{visitor.address}: {visitor.errors[0][:300]}", file=sys.stderr)
        except Exception as error:  # whatever it is, it counts, and the visitor comes again
            counts["errors"] += 1
            print(f"{page}?{address}: {type(error).__name__} {error}", file=sys.stderr)


async def soak(server: Server, minutes: float) -> bool:
    """Ten wandering visitors; whether they did all they can, saw no error, and memory stopped growing early."""
    begin = time.monotonic()
    counts = dict.fromkeys(("visits", "changes", "long runs", "errors"), 0)
    visitors = [asyncio.create_task(wander(server, seed, begin + 60 * minutes, counts)) for seed in range(10)]
    print(f"at start: {server.megabytes():.0f} MiB", flush=True)
    rows: list[list[object]] = []
    steps = 10
    for step in range(1, steps + 1):
        least = math.inf
        while (left := begin + 60 * minutes * step / steps - time.monotonic()) > 0:
            await asyncio.sleep(min(1.0, left))
            least = min(least, server.megabytes())
        now = [least, server.megabytes("VmHWM"), server.disk_megabytes(), server.threads()]
        rows.append([f"{minutes * step / steps:.1f}", *map(str, counts.values()), *now])
        print(rows[-1], file=sys.stderr, flush=True)
    await asyncio.gather(*visitors)
    rows[-1][1:5] = map(str, counts.values())
    print_table(["minute", *counts, "least memory, MiB", "highest", "blocks on disk, MiB", "threads"], rows)
    warm = next((row for row in rows[:-1] if int(str(row[1])) >= WARM), None)
    if warm is None:
        print(f"Fewer than {WARM} visits before the last row: memory cannot be judged. Give it more minutes.")
        return False
    grown = float(rows[-1][5]) - float(warm[5])  # type: ignore[arg-type]
    print(f"Memory grew by {grown:.0f} MiB from minute {warm[0]} to {rows[-1][0]}.")
    done = all(counts[each] for each in ("visits", "changes", "long runs"))
    return grown <= GROWTH_MB and done and not counts["errors"]


def main() -> int:
    """Print the tables; 0 where all went well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--soak", type=float, metavar="MINUTES", help="random visits for so long instead of the load test"
    )
    parser.add_argument("--tabs", type=int, metavar="N", help="so many tabs of page Learn instead of the load test")
    parser.add_argument("--phones", type=int, metavar="N", help="a class of so many phones instead of the load test")
    parser.add_argument("--classes", type=int, metavar="N", help="so many classes at once, each with so many phones")
    parser.add_argument("--small", action="store_true", help="the load test with two visitors in place of many")
    options = parser.parse_args()
    print(machine(), end="\n\n")
    limits = {"LAB_JOBS": "2", "LAB_MAX_RUNS": "4"}
    if options.soak:
        warm()  # as a server does before it starts: numba keeps what it compiles from
        return 0 if played(lambda server: soak(server, options.soak), **limits, LAB_CACHE_MB="16") else 1
    if options.classes:
        phones = options.phones or PHONES
        return 0 if played(lambda server: many_classes(server, options.classes, phones), **limits) else 1
    if options.phones:
        return 0 if played(lambda server: school_class(server, options.phones), **limits) else 1
    if options.small:
        return 0 if played(lambda server: load(server, *SMALL), **limits) else 1
    good = options.tabs is not None or played(load, **limits)
    tabs = options.tabs or MANY_TABS
    good = played(lambda server: many_tabs(server, tabs), open_files=USUAL_FILES, **limits) and good
    return 0 if good else 1


def played(scene: Callable[[Server], Coroutine[Any, Any, bool]], open_files: int = 0, **limits: str) -> bool:
    """Play a scene on a fresh server; whether it went well and the server's log has no traceback."""
    kernels = Path(os.environ.get("LAB_KERNEL_CACHE") or Path.home() / ".cache" / "private-bandit-lab")
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(Path(folder), kernels, open_files, **limits) as server,
    ):
        try:
            good = asyncio.run(scene(server))
        finally:
            output = server.log.read_text()
            for line in output.splitlines():
                if "Traceback" in line or "Error" in line:
                    print(f"server: {line}", file=sys.stderr)
    return good and "Traceback" not in output


if __name__ == "__main__":
    sys.exit(main())
