"""The picture of the README, from the code of the app: ``python -m benchmarks.picture`` writes docs/picture.png.

It also prints what README says of it; those numbers are over 2,000 runs, as the picture's own are too few for
two digits. ``--numbers`` prints them and draws nothing.

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
TRIALS = 2_000  # for the numbers in words


def page() -> str:
    """The chart of the preset as a page that fills the window."""
    experiment = load_preset(PRESET).with_changes(view={"bounds": False})
    figure = charts.regret_chart(simulate(experiment), height=HEIGHT - 70)
    font = "'Source Sans 3', 'Source Sans Pro', 'DejaVu Sans', Helvetica, Arial, sans-serif"
    figure.update_layout(width=WIDTH - 20, height=HEIGHT - 20, paper_bgcolor="white", font_family=font)
    return figure.to_html(include_plotlyjs=True, config={"staticPlot": True})


def numbers() -> tuple[str, str]:
    """README's numbers in its words: the losses, then the prices of privacy by trust in a curator and in no one."""
    result = simulate(load_preset(PRESET).with_changes(trials=TRIALS))
    free, curator, nobody = (line for line in result.lines if line is not None)
    losses = [f"{line.mean[-1]:.0f}" for line in (free, curator, nobody)]
    prices = [f"{line.ratio_to(free)[0]:.1f}" for line in (curator, nobody)]
    message = (
        "without privacy about {} lost rewards in 10,000 users, with a trusted curator about {}, "
        "where no one is trusted about {}."
    )
    return message.format(*losses), "by about {} where a curator is trusted and by about {} where no one is".format(
        *prices
    )


def main() -> None:
    """Draw it, say where it is, and what README must say."""
    print(*numbers(), sep="\n")
    if "--numbers" in sys.argv[1:]:
        return
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
