"""Lessons that compute in a browser: ``python -m benchmarks.bench_live`` (needs chromium on PATH; one core, a minute).

Plays 50 runs of 10,000 users of twenty arms by each policy in headless Chromium, by the worker and the modules that
lessons hold, and by the engine here. Entries: size of the module, milliseconds of the first request (its module is
compiled, too) and the least of some more, the engine's, and the ratio of the two least; all by the clock on the wall,
so on a busy machine only the ratio means something.
"""

from __future__ import annotations

import shutil
import time
from typing import Any

from playwright.sync_api import sync_playwright

from bandit_core import Experiment
from bandit_core.experiments.experiment import checkpoints
from bandit_core.export.live import comparison, manifest
from benchmarks.measuring import PAPER_ARMS, UCB, machine, name_of, print_table, private

LINES = (
    UCB,
    private("heldp-ucb-l", 1.0),
    private("heldp-ucb-b", 1.0),
    {"policy": "kl-ucb"},
    private("adap-klucb", 1.0),
    private("dp-se", 1.0),
    private("lazy-dp-ts", 1.0),
    {"policy": "thompson"},
    private("ts-cf", 1.0),
)
USERS, RUNS, TIMES = 10_000, 50, 5
_ASK = """([source, request]) => new Promise((done, failed) => {
  window.worker ??= new Worker(URL.createObjectURL(new Blob([source])));
  const began = performance.now();
  worker.onmessage = ({ data }) => {
    if (data.error) failed(data.error);
    if (data.done) done(performance.now() - began);
  };
  worker.postMessage(request);
})"""


def milliseconds(work: Any) -> float:
    """Of one call."""
    began = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - began)


def row(browser: Any, line: dict[str, Any]) -> list[str]:
    """One policy, in a page of its own."""
    spec = {"arms": PAPER_ARMS, "lines": [line], "horizon": USERS, "trials": RUNS}
    experiment = Experiment.model_validate(spec)
    call = experiment.lines[0].entry.prepare(experiment.setups[0])
    case = comparison.Captured(name_of(line), call, checkpoints(USERS), 0, RUNS)
    if why := manifest.obstacle(call):
        return [name_of(line), case.kernel, why, "", "", "", ""]
    module = manifest.wasm(case.kernel)
    page = browser.new_page()
    asked = [comparison.WORKER.read_text("utf-8"), case.request(module)]
    case.here()
    here, there = [], []
    for _ in range(TIMES):  # in turns, so that both meet the same machine
        there.append(page.evaluate(_ASK, asked))
        here.append(milliseconds(case.here))
    page.close()
    least, own = min(there[1:]), min(here)
    size = f"{len(module) / 1000:.0f} kB"
    return [case.name, case.kernel.removeprefix("bandit_core.kernels."), size, f"{there[0]:.0f}", f"{least:.0f}",
            f"{own:.0f}", f"{least / own:.1f}"]  # fmt: skip


def main() -> None:
    """Measure and print."""
    print(machine())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        rows = [row(browser, line) for line in LINES]
        print_table(["line", "kernel", "module", "first, ms", "then, ms", "here, ms", "ratio"], rows)
        print(f"Chromium {browser.version}")
        browser.close()


if __name__ == "__main__":
    main()
