"""A visitor: one browser profile with one tab, and what can be seen and done in it."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
from playwright.sync_api import Browser, Locator, expect

IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"
# What moved on the screen without the visitor's doing, as the web's measure of layout shift counts it.
SHIFTS = """window.shifts = [];
new PerformanceObserver(list => list.getEntries().filter(entry => !entry.hadRecentInput).forEach(entry => shifts.push({
  value: entry.value,
  moved: entry.sources.map(({node}) => node?.parentElement?.className + ' ' + node?.innerText?.slice(0, 40)),
}))).observe({type: 'layout-shift', buffered: true});"""
SECONDS = 1000  # Playwright counts milliseconds


@dataclass(frozen=True)
class Server:
    """A running server."""

    url: str
    log: Path

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self.log.read_text()


class Visitor:
    """One browser profile with one tab."""

    def __init__(self, browser: Browser, server: Server, width: int = 1400, dark: bool = False, **options: Any) -> None:
        self.server = server
        self.errors: list[str] = []
        self.foreign: list[str] = []  # requests to another host than the server's
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", **options
        )
        self.tab = self.context.new_page()
        self.tab.add_init_script(SHIFTS)
        self.tab.set_default_timeout(90 * SECONDS)  # a fresh machine compiles what a page needs first
        self.tab.on("pageerror", lambda error: self.errors.append(str(error)))
        self.context.on("request", lambda request: self._note(request.url))
        self.tab.on("websocket", lambda socket: self._note(socket.url))

    def _note(self, address: str) -> None:
        """Remember a request that leaves the server's host (data: and blob: addresses leave nothing)."""
        asked, own = urlsplit(address), urlsplit(self.server.url)
        if asked.scheme not in ("data", "blob", "about") and asked.netloc != own.netloc:
            self.foreign.append(address)

    def open(self, path: str) -> None:
        """Open a path of the app, or a whole address."""
        self.tab.goto(path if "://" in path else self.server.url + path)
        self.settle()

    def settle(self) -> None:
        """Wait until the app has nothing to do."""
        self.tab.locator(IDLE).wait_for(state="attached")
        self.tab.wait_for_timeout(150)  # a change reaches the server a moment after the key press
        self.tab.locator(IDLE).wait_for(state="attached")

    def shifts(self) -> list[dict[str, Any]]:
        """What has moved since the page was opened, once all that is in the window has been drawn."""
        self.main().locator("h1").wait_for()
        self.settle()
        self.tab.wait_for_function(
            "() => [...document.querySelectorAll('[data-testid=stSkeleton]')]"
            ".every(each => each.getBoundingClientRect().top > innerHeight)"
        )
        self.tab.wait_for_timeout(300)
        return self.tab.evaluate("shifts")

    def go_back(self) -> None:
        """Press Back as soon as a person could: at once after a move, an earlier address is a late one."""
        self.tab.wait_for_timeout(700)
        self.tab.go_back()

    def leave(self) -> None:
        """Close the browser profile."""
        self.context.close()

    @property
    def address(self) -> dict[str, str]:
        """Fields of the address line."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.tab.url).query).items()}

    def element(self, key: str) -> Locator:
        """The element with that Streamlit key (without the number that the app adds)."""
        return self.tab.locator(f"[class*='st-key-{key}']").first

    def main(self) -> Locator:
        """The page without sidebar and navigation."""
        return self.tab.get_by_test_id("stMain")

    def sees(self, words: str, seconds: float = 30) -> None:
        """Wait until the page shows these words."""
        expect(self.main()).to_contain_text(words, timeout=seconds * SECONDS)

    @property
    def verdict(self) -> str:
        """The sentence above the chart."""
        return self.main().locator("p", has_text=re.compile("times that of|loses")).first.inner_text()

    def chart(self, key: str = "regret-chart") -> dict[str, np.ndarray]:
        """Drawn curves by their name in the legend."""
        plot = self.element(key).locator(".js-plotly-plot")
        plot.locator(".main-svg").first.wait_for()
        traces = plot.evaluate(
            "plot => plot.data.filter(trace => trace.name && trace.showlegend !== false)"
            ".map(trace => [trace.name, trace.y.bdata ? trace.y : Array.from(trace.y)])"
        )
        return {name: _numbers(values) for name, values in traces}

    def press_on_slider(self, label: str, key: str) -> None:
        """Move a slider with the keyboard."""
        self.tab.get_by_role("slider", name=label).first.press(key)
        self.settle()


def _numbers(values: Any) -> np.ndarray:
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"]).astype(float)
    return np.array([np.nan if value is None else value for value in values], float)
