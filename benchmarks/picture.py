"""The picture of the README, from the code of the app: ``python -m benchmarks.picture`` writes docs/picture.png.

Needs what tests/requirements.txt installs, and a ``chromium`` on PATH. The page
``/explore?preset=trust&bounds=0`` shows the same numbers.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from bandit_core import load_preset, simulate
from ui import charts

WHERE = Path(__file__).parent.parent / "docs" / "picture.png"
PRESET = "trust"
WIDTH, HEIGHT = 900, 460


def page() -> str:
    """The chart of the preset as a page that fills the window."""
    experiment = load_preset(PRESET).with_changes(view={"bounds": False})
    figure = charts.regret_chart(simulate(experiment), height=HEIGHT - 70)
    font = "'Source Sans 3', 'Source Sans Pro', 'DejaVu Sans', Helvetica, Arial, sans-serif"
    figure.update_layout(width=WIDTH - 20, height=HEIGHT - 20, paper_bgcolor="white", font_family=font)
    return figure.to_html(include_plotlyjs=True, config={"staticPlot": True})


def main() -> None:
    """Draw it and say where it is."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("no chromium on PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1.5)
        tab.set_content(page())
        tab.locator(".main-svg").first.wait_for()
        tab.screenshot(path=str(WHERE))
        browser.close()
    print(f"{WHERE} ({WHERE.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
