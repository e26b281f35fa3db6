"""Two hundred visitors on one process and on two behind nginx, and what they see when one of the two is killed.

``python -m benchmarks.processes`` (some minutes; Linux with nginx) starts the app servers and the proxy as
docs/hosting.md describes them, all in one run. The visitors share the machine with the servers, and their last pictures
are compared, bit for bit, with the same experiments computed here afterwards.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import numpy as np

from bandit_core.jit.decorators import cache_folder
from benchmarks.load import HORIZON, HORIZONS, Check, arrived, equal, expected, spread
from benchmarks.measuring import machine, print_table
from benchmarks.visitors import ROOT, Server, Visitor, curves_of, opened, running_server, visiting

NGINX = """
worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {folder}/lab.conf;
}}
"""


@contextmanager
def proxied(folder: Path, servers: list[Server]) -> Iterator[Server]:
    """The servers behind nginx, as one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configuration = runpy.run_path(str(ROOT / "deploy" / "proxy.py"))["configuration"]
    ports = [f"127.0.0.1:{server.port}" for server in servers]
    (folder / "lab.conf").write_text(configuration("localhost", ports, f"127.0.0.1:{port}"))
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder))
    process = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-e", str(folder / "nginx.log")])
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5):
                break
            time.sleep(0.1)
        yield replace(servers[0], port=port)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def several(count: int) -> Iterator[tuple[Server, list[Server]]]:
    """The proxy, and so many fresh servers behind it with one folder of blocks."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = [
            stack.enter_context(running_server(folder, cache_folder(), LAB_PROCESS=str(number)))
            for number in range(1, count + 1)
        ]
        for server in servers:  # all code is imported and all kernels are loaded before anything is measured
            asyncio.run(opened(server, "explore", "T=1000&n=20&seed=1"))
        yield stack.enter_context(proxied(folder, servers)), servers


async def cookie(front: Server) -> str:
    """What the proxy gives to who opens a page for the first time."""

    def ask() -> str:
        with urlopen(f"http://127.0.0.1:{front.port}/explore", timeout=60) as answer:
            given = [each for each in answer.headers.get_all("Set-Cookie", []) if each.startswith("lab=")]
        return given[0].split(";")[0] if given else ""

    return await asyncio.to_thread(ask)


async def changed(visitor: Visitor, option: str) -> float:
    """Move the slider; seconds until the page with that position is done."""
    await visitor.move(HORIZON, option)
    return await arrived(visitor, option)


async def reader(front: Server, seed: int, changes: int, pause: float, ramp: float) -> tuple[float, list[float], Check]:
    """Open a link, move a slider now and then: seconds to the picture, to each change, and how to see it is right."""
    chance = random.Random(seed)
    await asyncio.sleep(chance.uniform(0, ramp))
    address, option, waits = f"T=1000&n=20&seed={seed}", "1,000", []
    cookies, start = await cookie(front), time.perf_counter()
    async with visiting(front, "explore", address, cookies) as visitor:
        await visitor.run()
        await visitor.settle(until_picture=True)
        first = visitor.picture_at - start
        for _ in range(changes):
            await asyncio.sleep(pause * chance.uniform(0.5, 1.5))
            option = chance.choice([other for other in HORIZONS if other != option])
            waits.append(await changed(visitor, option))
        picture, errors = visitor.picture, visitor.errors
    return first, waits, lambda: not errors and equal(curves_of(picture), expected(address, HORIZONS[option]))


async def crowd(front: Server, visitors: int) -> tuple[list[float], list[float], list[Check]]:
    """Everyone together: seconds to pictures and to changes, and how to see that all are right."""
    done = await asyncio.gather(*(reader(front, 100 + number, 4, 4.0, 20.0) for number in range(visitors)))
    return (
        [first for first, _, _ in done],
        [wait for _, waits, _ in done for wait in waits],
        [each for *_, each in done],
    )


async def killed(front: Server, servers: list[Server]) -> bool:
    """Kill the first process in mid-run, with ten visitors on each of the two: whether all see what is right."""
    async with contextlib.AsyncExitStack() as stack:
        address, tabs = "T=1000&n=20&seed=7", []
        for number in range(20):
            mine = f"lab={1 + number % 2}"
            tab = await stack.enter_async_context(visiting(front, "explore", address, mine))
            await tab.run()
            await tab.settle(until_picture=True)
            tabs.append((mine, tab))
        run = await stack.enter_async_context(
            visiting(front, "explore", "arms=beta(4,1),beta(1.5,1)&lines=ucb&T=1e6&n=500&seed=3", "lab=1")
        )
        await run.run()
        await run.settle(until_picture=True)
        await run.press("Run")
        await asyncio.sleep(1)
        os.kill(servers[0].process, signal.SIGKILL)
        right, wanted = True, expected(address, 2000)
        for mine, tab in tabs:
            if mine == "lab=2":  # goes on as if nothing were
                await changed(tab, "2,000")
                right = right and equal(curves_of(tab.picture), wanted)
            else:  # reloads
                async with visiting(front, "explore", "T=2000&n=20&seed=7", mine) as again:
                    await again.run()
                    await again.settle(until_picture=True)
                    right = right and not again.errors and equal(curves_of(again.picture), wanted)
    return right


def main() -> int:
    """Measure, print, and fail where a picture is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--visitors", type=int, default=200)
    asked = parser.parse_args()
    if shutil.which("nginx") is None:
        print("nginx is not on PATH", file=sys.stderr)
        return 1
    print(machine())
    rows, p95, right, unharmed = [], {}, True, False
    for count in (1, 2):
        with several(count) as (front, servers):
            before = [server.seconds() for server in servers]
            firsts, changes, checks = asyncio.run(crowd(front, asked.visitors))
            worked = [server.seconds() - was for server, was in zip(servers, before, strict=True)]
            memory, good = sum(server.megabytes() for server in servers), all([check() for check in checks])
            for scene, times in (("picture", firsts), ("change", changes)):
                rows.append([count, scene, len(times), *spread(times), memory, "yes" if good else "NO"])
                p95[count, scene] = float(np.quantile(times, 0.95))
            right = right and good
            print(f"{count}: processor seconds {[round(each) for each in worked]}", file=sys.stderr)
            if count == 2:
                unharmed = asyncio.run(killed(front, servers))
    print_table(["processes", "scene", "times", "median, s", "p95, s", "memory, MiB", "pictures right"], rows)
    for scene in ("picture", "change"):
        print(f"{scene}: p95 with one process is {p95[1, scene] / p95[2, scene]:.2f} times that with two")
    print(
        "One of two killed in mid-run, ten visitors of the other go on, its own ten reload; "
        f"pictures right: {'yes' if unharmed else 'NO'}"
    )
    return 0 if right and unharmed else 1


if __name__ == "__main__":
    sys.exit(main())
