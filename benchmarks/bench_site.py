"""How long a reader of the site waits for a page's first picture on a slow line.

``python -m benchmarks.bench_site FOLDER`` serves the files that ``python -m bandit_core site FOLDER`` wrote, without
compression, to a headless Chromium (on PATH) with an empty cache behind 1.6 Mbit/s and 150 ms, and says for every page
when its first picture was there, how much had come by then, and whom else the page asked.
"""

from __future__ import annotations

import shutil
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from benchmarks.measuring import machine, print_table

LINE = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 0.75e6 / 8}


# The end of the page, or of its first picture, whichever is later; and the bytes of what had come by then.
THERE = """() => {
  const page = performance.getEntriesByType("navigation")[0], first = document.querySelector("main img");
  const files = performance.getEntriesByType("resource");
  const picture = first && files.find(file => file.name === first.src);
  const end = Math.max(page.responseEnd, picture ? picture.responseEnd : 0);
  const came = [page, ...files].filter(file => file.responseEnd <= end);
  return [end, came.reduce((sum, file) => sum + file.transferSize, 0)];
}"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing on the screen."""


def _visit(browser: Browser, address: str, own: str) -> tuple[float, int, int]:
    """Seconds until the first picture (or the text, where there is none) is there, bytes by then, foreign requests."""
    context = browser.new_context()
    page = context.new_page()
    foreign: list[str] = []
    page.on("request", lambda request: None if request.url.startswith(own) else foreign.append(request.url))
    line = context.new_cdp_session(page)
    line.send("Network.enable")
    line.send("Network.emulateNetworkConditions", LINE)
    page.goto(address, wait_until="load")
    there, came = page.evaluate(THERE)
    context.close()
    return there / 1000, came, len(foreign)


def main() -> None:
    """Print a row for each page."""
    folder = Path(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rows = []
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for path in sorted(folder.rglob("*.html")):
            place = path.relative_to(folder).as_posix()
            own = f"http://127.0.0.1:{server.server_port}/"
            spent, came, foreign = _visit(browser, own + place, own)
            rows.append([place, f"{spent:.2f}", f"{came / 1000:.0f}", str(foreign)])
        browser.close()
    print(machine())
    print_table(["page", "seconds", "kB", "requests to others"], rows)


if __name__ == "__main__":
    main()
