"""Watching one run: how long its frames take, how large they are, and how many a second Chromium draws.

``python -m benchmarks.bench_watch [ADDRESS]``: without the address of a running app the browser's part is left out.
"""

from __future__ import annotations

import json
import shutil
import sys
import time

from bandit_core import Experiment
from bandit_core.policies import registry
from benchmarks.measuring import machine, print_table
from ui.watch.frames import frames

ARMS = [{"kind": "bernoulli", "mean": 0.9 - 0.05 * place} for place in range(10)]
SECONDS = 5


def _made(name: str) -> tuple[float, float]:
    """Seconds (with everything compiled) and kilobytes of 2,000 users of ten arms."""
    line = {"policy": name} | (
        {} if registry()[name].epsilon == "none" else {"epsilon": {"kind": "fixed", "value": 1.0}}
    )
    experiment = Experiment.model_validate({"version": 1, "arms": ARMS, "lines": [line], "horizon": 2000, "trials": 1})
    frames(experiment, 0, "#000000")
    start = time.perf_counter()
    data = frames(experiment, 0, "#000000")
    return time.perf_counter() - start, len(json.dumps(data)) / 1000


def _frames_a_second(address: str, width: int) -> float:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": width, "height": 900})
        tab.goto(f"{address}/explore?preset=default")
        tab.get_by_role("tab", name="Watch one run").click()
        player = tab.locator(".watch")
        player.locator("select").select_option("150")
        player.get_by_role("button", name="Play").click()
        before = int(player.get_attribute("data-frames") or 0)
        tab.wait_for_timeout(1000 * SECONDS)
        drawn = int(player.get_attribute("data-frames") or 0) - before
        browser.close()
    return drawn / SECONDS


def main() -> None:
    """Print both tables."""
    print(machine())
    names = [name for name, policy in registry().items() if policy.setting == "arms"]
    made = {name: _made(name) for name in names}
    print_table(["policy", "ms", "KB"], [[name, f"{1000 * s:.0f}", f"{kb:.0f}"] for name, (s, kb) in made.items()])
    if len(sys.argv) > 1:
        rows = [[str(width), f"{_frames_a_second(sys.argv[1], width):.0f}"] for width in (1400, 390)]
        print_table(["width", "frames a second"], rows)


if __name__ == "__main__":
    main()
