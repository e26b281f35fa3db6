"""What a page costs the interpreter when a new visitor opens it on a warm server: least processor time of its thread.

Run with ``python -m benchmarks.bench_pages``. The interpreter draws one page at a time, so in a class all wait for it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from ui import menu, page_frame

APP = Path(__file__).resolve().parent.parent / "app.py"
VISITS = 20
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


def main() -> None:
    """Print the table."""
    page_frame.open_page = _timed
    print("| page | ms |\n|---|---|")
    for page in menu.pages():
        print(f"| {page.title} | {milliseconds(page.name):.0f} |", flush=True)


if __name__ == "__main__":
    main()
