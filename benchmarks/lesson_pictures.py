"""The small pictures of the lessons on page Teach: ``python -m benchmarks.lesson_pictures`` writes them anew."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from bandit_core import simulate
from ui.learn import course
from ui.teach.view import PICTURES

WIDTH, HEIGHT, EDGE = 260, 110, 8  # pixels
MAX_POINTS, MAX_DOTS = 60, 120


def main() -> None:
    """Draw every lesson where its slider begins, for light and dark ground."""
    PICTURES.mkdir(exist_ok=True)
    for step in course.LESSONS:
        found = step.found(step.slider.start, 0, simulate)
        for dark in (False, True):
            drawn = svg(step.draw(found, step.slider.start, dark, 320))
            (PICTURES / f"{step.name}-{'dark' if dark else 'light'}.svg").write_text(drawn + "\n", "utf-8")


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
        left = EDGE + (WIDTH - 2 * EDGE) * (x - across[0]) / (across[1] - across[0])
        top = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (y - up[0]) / (up[1] - up[0])
        seen = np.isfinite(left) & np.isfinite(top)
        drawn.append(_shape(trace, left[seen], np.clip(top[seen], 0, HEIGHT), WIDTH / (len(names) + 1)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}">{"".join(drawn)}</svg>'
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
            f'height="{HEIGHT - EDGE - y:.1f}" fill="{colour}"/>'
            for x, y in zip(left * (1 - width / WIDTH), top, strict=True)
        )
    colour, drawn = trace.line.color or trace.marker.color, ""
    if "lines" in (trace.mode or "") and trace.line.width:
        every = max(1, len(left) // MAX_POINTS)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(left[::every], top[::every], strict=True))
        drawn = f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{min(6, trace.line.width)}"/>'
    if "markers" in (trace.mode or ""):
        sizes = np.broadcast_to(np.asarray(6 if trace.marker.size is None else trace.marker.size, float), len(left))
        seen = np.flatnonzero(sizes)[:: max(1, np.count_nonzero(sizes) // MAX_DOTS)]
        drawn += "".join(
            f'<circle cx="{left[place]:.1f}" cy="{top[place]:.1f}" r="{3 if len(left) < MAX_POINTS else 2}" '
            f'fill="{colour}"/>'
            for place in seen
        )
    return drawn


if __name__ == "__main__":
    main()
