"""How long a page takes on a warm server, and on a fresh machine: ``python -m benchmarks.bench_pages``.

First the processor time of the page's thread, for a new visitor who comes after others, and when the sidebar's budget
moves to where no one has been. The interpreter draws one page at a time, so in a class all wait for it.

Then a server on a fresh machine, once for each row: seconds on the clock from its start until the first picture is
sent, and from a slider's first move until the exact picture of its new position is sent.

``--browser`` measures what a visitor waits for instead: a fresh Chromium profile opens a page of a warm server until
its first picture stands, in turns with a page that is a title and one Plotly chart on a server of its own. ``--pages
explore`` measures that page alone.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from benchmarks.measuring import machine, print_table
from benchmarks.visitors import Server, Visitor, running_server, visiting
from ui import menu, page_frame

APP = Path(__file__).resolve().parent.parent / "app.py"
VISITS = 20
SMALL = {"T": "3000", "n": "4"}  # users and trials, so that kernels take nothing
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
    ("explore", "Privacy budget ε: ← more private · less regret →", "0.5"),
    ("explore", "Users (horizon)", "5,000"),
    ("contextual", "Privacy budget ε: ← more private · less regret →", "0.7"),  # does not ship
)
BARE = """import plotly.graph_objects as go
import streamlit as st

st.title("A bare page")
users = list(range(200))
st.plotly_chart(go.Figure([go.Scatter(x=users, y=[n**0.5 for n in users], name=str(line)) for line in range(3)]))
"""
TURNS = 7
BUDGETS = (0.3, 0.5, 1.5, 2.0, 3.0)
_drawn: list[float] = []  # seconds of every run of a page
_open = page_frame.open_page


def _timed(page: Any) -> None:
    start = time.thread_time()
    try:
        _open(page)
    finally:
        _drawn.append(time.thread_time() - start)


def milliseconds(name: str) -> float:
    """The first run of the page for a visitor who comes after others."""
    found = []
    for _ in range(VISITS):
        screen = AppTest.from_file(str(APP), default_timeout=300)
        if menu.named(name).address:
            screen.switch_page(f"pages/{name}.py")
        _drawn.clear()
        screen.run()
        found.append(1000 * _drawn[0])
        screen.run()  # what a page computes for its first visitor is there for the next one
    return min(found)


def moved(name: str) -> float:
    """The run after the budget has moved to where no one has been, median of `BUDGETS`; NaN without it."""
    screen = AppTest.from_file(str(APP), default_timeout=300)
    for field, value in SMALL.items():
        screen.query_params[field] = value
    screen.switch_page(f"pages/{name}.py").run()
    found = []
    for budget in BUDGETS:
        slider = next((each for each in screen.select_slider if each.key.startswith("epsilon")), None)
        if slider is None:
            return math.nan
        slider.set_value(budget)
        _drawn.clear()
        screen.run()
        found.append(1000 * _drawn[0])
    return statistics.median(found)


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
        await visitor.find(label)
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


def seen_first(browser: Any, address: str) -> tuple[float, float]:
    """Milliseconds from an address to the first picture, and MB sent, in a profile that has nothing stored."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()
    requests: list[Any] = []

    def keep(request: Any) -> None:  # to ask for its size takes time, so that comes after the picture
        requests.append(request)

    page.on("requestfinished", keep)
    start = time.perf_counter()
    page.goto(address, wait_until="commit")
    page.locator(".js-plotly-plot .main-svg, .player svg text").first.wait_for(timeout=120_000)
    took = 1000 * (time.perf_counter() - start)
    page.wait_for_timeout(1000)  # what still comes counts as sent
    sent = sum(request.sizes()["responseBodySize"] for request in requests)
    context.close()
    return took, sent / 1e6


def in_browser(pages: list[str]) -> None:
    """Print what a visitor waits for the first picture of some pages, as a ratio to a bare page."""
    from playwright.sync_api import sync_playwright

    kernels = Path.home() / ".cache" / "private-bandit-lab"
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        (folder / "bare.py").write_text(BARE)
        with running_server(folder, kernels) as lab, running_server(folder, kernels, app=folder / "bare.py") as bare:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            addresses = {"bare": f"http://127.0.0.1:{bare.port}/"}
            addresses |= {page or "start": f"http://127.0.0.1:{lab.port}/{page}" for page in pages}
            found: dict[str, list[tuple[float, float]]] = {page: [] for page in addresses}
            for turn in range(TURNS + 1):  # the first one warms
                for page, address in addresses.items():
                    one = seen_first(browser, address)
                    found[page] += [one] if turn else []
            browser.close()
    typical = {page: [statistics.median(column) for column in zip(*each, strict=True)] for page, each in found.items()}
    rows = [[page, took, took / typical["bare"][0], sent] for page, (took, sent) in typical.items()]
    print_table(["fresh browser, first picture of", "ms", "times a bare page", "MB sent"], rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--browser", action="store_true", help="seconds in a fresh browser beside a bare page")
    parser.add_argument("--pages", nargs="+", metavar="PAGE", default=PICTURES, help="with --browser: these alone")
    asked = parser.parse_args()
    print(machine(), end="\n\n")
    if asked.browser:
        in_browser([*asked.pages])
        return
    page_frame.open_page = _timed
    rows = []
    for page in menu.pages():
        slider = moved(page.name) if page.sidebar else math.nan
        rows.append([page.title, milliseconds(page.name), "–" if math.isnan(slider) else slider])
    print_table(["page", "ms", "slider moved, ms"], rows)
    rows = [[page or "home", first_picture(page)] for page in PICTURES]
    print_table(["fresh machine, first picture of", "seconds"], rows)
    rows = [[f"{page or 'home'}: {label} {position}", moved_slider(page, label, position)]
            for page, label, position in MOVES]  # fmt: skip
    print_table(["fresh machine, seconds to the picture after a move", "seconds"], rows)


if __name__ == "__main__":
    main()
