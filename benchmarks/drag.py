"""How pictures follow the hand, in a Chromium: ``python -m benchmarks.drag [ADDRESS]``.

First frames while the thumb of Start's slider moves. Then the time from the release of an arm that was dragged on
Explore until the new curves stand there, on the preset `default` and at places where no one has been.

At 1280 and at 390 pixels, the latter also with a processor that is four times slower. The thumb goes to and fro for
some seconds. Printed are frames a second, the script's milliseconds in a frame (on the clock, so a busy machine shows
more), and whether they are as asked; the exit code is 1 where they are not. Without an address a server is started.
"""

from __future__ import annotations

import argparse
import itertools
import math
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from benchmarks.measuring import machine, print_table
from benchmarks.visitors import running_server

WINDOWS = ((1280, 1, 50.0), (390, 1, 50.0), (390, 4, 30.0))  # pixels, times slower, frames a second at least
SECONDS, MOST = 4.0, 2.0  # of a drag; milliseconds of script in a frame, at most, on a processor as it is
# What a frame asks for is timed where the page asks for it, before the player is there.
TIMED = """const ask = window.requestAnimationFrame.bind(window); window.frames_at = []; window.script = [];
window.requestAnimationFrame = act => ask(now => {
  const start = performance.now(); act(now); window.script.push(performance.now() - start) });
(function frame(now) { window.frames_at.push(now); ask(frame) })(0);"""

RELEASES, SOON = 6, 500.0  # how often an arm is released; milliseconds until its curves, at most
RELEASED = """window.drawn_after = []; let released = 0, old = null;
const newest = () => [...document.querySelectorAll(".st-key-regret-chart .js-plotly-plot")].at(-1);
addEventListener("pointerup", () => { released = performance.now(); old = newest() }, true);
(function frame() {
  if (released && newest() && newest() !== old && newest().querySelector(".js-line")) {
    drawn_after.push(performance.now() - released); released = 0 }
  requestAnimationFrame(frame) })();"""


def drag(browser: Any, address: str, width: int, slower: int) -> tuple[float, float, float]:
    """Frames a second, and milliseconds of script in a frame: the median and the 95th percentile."""
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.add_init_script(TIMED)
    page.goto(address)
    slider = page.locator(".player input")
    page.locator(".player .handle").wait_for(timeout=120_000)
    page.wait_for_timeout(3000)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.evaluate("frames_at.length = script.length = 0")
    for step in itertools.count():
        page.mouse.move(box["x"] + box["width"] * (0.5 + 0.4 * math.sin(step / 20)), middle)
        if page.evaluate("frames_at.at(-1) - frames_at[0]") > 1000 * SECONDS:
            break
    frames, script = page.evaluate("[frames_at, script]")
    page.mouse.up()
    page.close()
    typical, most = np.percentile(script, [50, 95])
    return 1000 * (len(frames) - 1) / (frames[-1] - frames[0]), float(typical), float(most)


def released(browser: Any, address: str) -> list[float]:
    """Milliseconds from the release of a dragged arm to the new curves, for some releases."""
    page = browser.new_page(viewport={"width": 1280, "height": 720})
    page.add_init_script(RELEASED)
    page.goto(f"{address}explore?preset=default")
    page.locator(".st-key-regret-chart .js-line").first.wait_for(state="attached", timeout=120_000)
    page.wait_for_timeout(3000)
    for turn in range(RELEASES + 1):  # the first one warms
        box = page.get_by_role("slider", name="Mean of arm").nth(1 + turn % 3).bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + 15
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x, y + 4 + 2 * turn, steps=3)
        page.mouse.up()
        page.wait_for_function(f"drawn_after.length > {turn}")
        page.wait_for_timeout(1500)
    found: list[float] = page.evaluate("drawn_after.slice(1)")
    page.close()
    return found


@contextmanager
def opened(address: str | None) -> Iterator[str]:
    """The address of Start."""
    if address is not None:
        yield address
        return
    kernels = Path.home() / ".cache" / "private-bandit-lab"
    with tempfile.TemporaryDirectory() as name, running_server(Path(name), kernels) as server:
        yield f"http://127.0.0.1:{server.port}/"


def main() -> int:
    """Print the table; 1 where a drag is not as smooth as asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("address", nargs="?", help="address of Start (default: a server of its own)")
    asked = parser.parse_args()
    print(machine(), end="\n\n")
    rows, smooth = [], True
    with opened(asked.address) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for width, slower, wanted in WINDOWS:
            frames, typical, most = drag(browser, address, width, slower)
            good = frames >= wanted and (slower > 1 or most <= MOST)
            rows.append([f"{width} px, processor {slower}x slower", frames, typical, most, "yes" if good else "NO"])
            smooth = smooth and good
        waits = released(browser, address)
        browser.close()
    print_table(["while the thumb moves", "frames a second", "script, ms a frame", "95%", "as asked"], rows)
    soon = float(np.median(waits)) <= SOON
    rows = [["an arm on Explore", float(np.median(waits)), min(waits), max(waits), "yes" if soon else "NO"]]
    print_table(["released, new curves after", "median ms", "least", "most", "as asked"], rows)
    return int(not (smooth and soon))


if __name__ == "__main__":
    sys.exit(main())
