"""Pictures that ship, from the code of the app: ``python -m benchmarks.pictures`` draws them anew.

Those of the lessons on page Teach and of the gallery's cards (ui/assets/lessons), and README's (docs/picture.png).
It also prints what README says of its picture, the numbers of Start. ``--numbers`` prints them and draws nothing.

README's picture needs what tests/requirements.txt installs, and a ``chromium`` on PATH. Its numbers are Start's at
ε = 1, which ``python -m benchmarks.positions`` has played.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
from playwright.sync_api import sync_playwright

from bandit_core import simulate
from bandit_core.experiments.presets import presets
from bandit_core.literature import reproductions
from ui import charts, examples, gallery
from ui.learn import course
from ui.player.slider import SMALL

WHERE = Path(__file__).parent.parent / "docs" / "picture.png"
WIDTH, HEIGHT = 900, 460
LESSON_WIDTH, LESSON_HEIGHT, EDGE = 260, 110, 8  # pixels
MAX_POINTS, MAX_DOTS = 30, 40
USERS, TRIALS = 5_000, 8  # of an experiment on a card that ships no figure


def lessons() -> None:
    """Draw every lesson where its slider begins, for light and dark ground."""
    SMALL.mkdir(exist_ok=True)
    for step in course.LESSONS:
        found = step.content(step.slider.start)
        for dark in (False, True):
            _write(step.name, dark, step.draw(found, step.slider.start, dark, 320))


def cards() -> None:
    """Draw those of the gallery's cards: the shipped figure, or few runs at a horizon that computes at once."""
    for preset in presets():
        if preset.name.endswith(examples.QUICK):
            continue
        experiment = preset.experiment
        few = experiment.with_changes(horizon=min(experiment.horizon, USERS), trials=TRIALS)
        result = reproductions.of_experiment(experiment) or simulate(few)
        for dark in (False, True):
            _write(preset.name, dark, charts.regret_chart(charts.without_bounds(result), dark))


def _write(name: str, dark: bool, figure: go.Figure) -> None:
    (SMALL / f"{name}-{'dark' if dark else 'light'}.svg").write_text(svg(figure) + "\n", "utf-8")


def svg(figure: go.Figure) -> str:
    """Curves, dots and bars of a figure, without axes and words."""
    shapes, names = [], [name for trace in figure.data if trace.type == "bar" for name in trace.x]
    for trace in figure.data:
        values = np.asarray(trace.y, float)
        place = [names.index(name) for name in trace.x] if trace.type == "bar" else trace.x
        shapes.append((trace, _scaled(place, figure.layout.xaxis), _scaled(values, figure.layout.yaxis)))
    across = _ends([x for _, x, _ in shapes], None if names else figure.layout.xaxis.range)
    up = _ends([y for _, _, y in shapes], figure.layout.yaxis.range, zero=bool(names))
    drawn = []
    for trace, x, y in shapes:
        left = EDGE + (LESSON_WIDTH - 2 * EDGE) * (x - across[0]) / (across[1] - across[0])
        top = LESSON_HEIGHT - EDGE - (LESSON_HEIGHT - 2 * EDGE) * (y - up[0]) / (up[1] - up[0])
        seen = np.isfinite(left) & np.isfinite(top)
        drawn.append(_shape(trace, left[seen], np.clip(top[seen], 0, LESSON_HEIGHT), LESSON_WIDTH / (len(names) + 1)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LESSON_WIDTH}" height="{LESSON_HEIGHT}" '
        f'viewBox="0 0 {LESSON_WIDTH} {LESSON_HEIGHT}">{"".join(drawn)}</svg>'
    )


def _scaled(values: object, axis: go.layout.XAxis) -> np.ndarray:
    numbers = np.asarray(values, float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log10(numbers) if axis.type == "log" else numbers


def _ends(found: list[np.ndarray], stated: object, zero: bool = False) -> tuple[float, float]:
    if stated is not None:
        low, high = np.asarray(stated, float).tolist()
        return low, high
    whole = np.concatenate([*found, np.zeros(int(zero))])
    whole = whole[np.isfinite(whole)]
    low, high = [float(whole.min()), float(whole.max())] if len(whole) else [0.0, 1.0]
    return (low, high) if high > low else (low - 1, high + 1)


def _shape(trace: go.Scatter | go.Bar, left: np.ndarray, top: np.ndarray, width: float) -> str:
    if trace.type == "bar":
        colour = trace.marker.color
        return "".join(
            f'<rect x="{x + EDGE - width / 3:.1f}" y="{y:.1f}" width="{width / 1.5:.1f}" '
            f'height="{LESSON_HEIGHT - EDGE - y:.1f}" fill="{colour}"/>'
            for x, y in zip(left * (1 - width / LESSON_WIDTH), top, strict=True)
        )
    colour, drawn = trace.line.color or trace.marker.color, ""
    if "lines" in (trace.mode or "") and trace.line.width:
        every = max(1, len(left) // MAX_POINTS)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(left[::every], top[::every], strict=True))
        drawn = f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{min(6, trace.line.width)}"/>'
    if "markers" in (trace.mode or ""):
        sizes = np.broadcast_to(np.asarray(6 if trace.marker.size is None else trace.marker.size, float), len(left))
        few = trace.marker.maxdisplayed
        every = max(1, np.count_nonzero(sizes) // (few or MAX_DOTS))
        seen = np.flatnonzero(sizes)[every // 2 if few else 0 :: every]
        drawn += "".join(
            f'<circle cx="{left[place]:.1f}" cy="{top[place]:.1f}" r="{3 if len(left) < MAX_POINTS else 2}" '
            f'fill="{colour}"/>'
            for place in seen
        )
    return drawn


def page() -> str:
    """The chart of Start as a page that fills the window."""
    figure = charts.regret_chart(gallery.shown(1.0), height=HEIGHT - 70, since=gallery.SINCE)
    font = "'Source Sans 3', 'Source Sans Pro', 'DejaVu Sans', Helvetica, Arial, sans-serif"
    figure.update_layout(
        width=WIDTH - 20, height=HEIGHT - 20, paper_bgcolor="white", font_family=font, showlegend=False
    )
    return figure.to_html(include_plotlyjs=True, config={"staticPlot": True})


def numbers() -> tuple[str, str]:
    """README's numbers in its words: the losses, then the prices of privacy by trust in a curator and in no one."""
    found = gallery.shown(1.0)
    losses = [f"{line.mean[-1]:.0f}" for line in found.lines if line is not None]
    prices = [f"{found.numbers[name].value:.1f}" for name in ("central", "local")]
    message = (
        "without privacy about {} lost rewards in 10,000 users, with a trusted curator about {}, "
        "where no one is trusted about {}."
    )
    return message.format(*losses), "by about {} where a curator is trusted and by about {} where no one is".format(
        *prices
    )


def main() -> None:
    """Draw them, say where README's is, and what it must say."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--numbers", action="store_true", help="only print what the README must say")
    asked = parser.parse_args()
    print(*numbers(), sep="\n")
    if asked.numbers:
        return
    lessons()
    cards()
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
