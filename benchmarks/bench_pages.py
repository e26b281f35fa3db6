"""What a page costs the interpreter when a new visitor opens it on a warm server, and when a slider moves.

Run with ``python -m benchmarks.bench_pages``: processor time of the page's thread. The interpreter draws one page at a
time, so in a class all wait for it.
"""

from __future__ import annotations

import math
import statistics
import time
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from ui import menu, page_frame

APP = Path(__file__).resolve().parent.parent / "app.py"
VISITS = 20
SMALL = {"T": "3000", "n": "4"}  # users and trials, so that kernels take nothing
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
    """The run after the sidebar's budget has moved to where nobody has been, median of `BUDGETS`; NaN without it."""
    screen = AppTest.from_file(str(APP), default_timeout=300)
    for field, value in SMALL.items():
        screen.query_params[field] = value
    screen.switch_page(f"pages/{name}.py").run()
    found = []
    for budget in BUDGETS:
        slider = next((each for each in screen.sidebar.select_slider if each.key.startswith("epsilon")), None)
        if slider is None:
            return math.nan
        slider.set_value(budget)
        _drawn.clear()
        screen.run()
        found.append(1000 * _drawn[0])
    return statistics.median(found)


def main() -> None:
    """Print the table."""
    page_frame.open_page = _timed
    print("| page | ms | slider moved, ms |\n|---|---|---|")
    for page in menu.pages():
        slider = moved(page.name) if page.sidebar else math.nan
        told = "–" if math.isnan(slider) else f"{slider:.0f}"
        print(f"| {page.title} | {milliseconds(page.name):.0f} | {told} |", flush=True)


if __name__ == "__main__":
    main()
