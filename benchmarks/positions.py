"""Play the positions that ship anew: ``python -m benchmarks.positions [LESSON ...]`` writes ``presets/positions``.

Each is 8,000 runs of the experiment that Explore opens from there, with its own seed. Kept are the mean and the band at
`POINTS` checkpoints, the numbers that the lesson says, and what the first `CHECKED` runs lost, which ``--check`` plays
again: the exit code is 1 where they lose something else.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bandit_core import Experiment, simulate
from bandit_core.export.page import Pool
from bandit_core.literature.reproductions import thinned
from bandit_core.simulation.results import LineResult, Result, band
from bandit_core.simulation.store import Store
from ui import gallery
from ui.learn import course, measured
from ui.player.slider import FOLDER, read
from ui.watch.view import frames

TRIALS, CHECKED, POINTS = 8_000, 20, 60
WATCHED = 500  # users of the one run that a lesson shows
DIGITS = 1e-5  # relative difference of two numbers that count as the same
STORE = Store(None, 2**29)


@dataclass(frozen=True)
class Lesson:
    """What ships under a name: the experiment at each stop, the first user that is drawn, and numbers by name."""

    name: str
    experiments: dict[float, Experiment]
    since: int
    numbers: dict[str, str]
    places: tuple[float, ...]  # of which a number may name the one ``at`` the stop, and its neighbours
    drawn: tuple[str, ...] = ()  # numbers that the picture shows at all places
    watched: Experiment | None = None  # of which the first users of the second line are shown one by one


def lessons() -> Iterator[Lesson]:
    """All of them; the first is Start."""
    start = {epsilon: gallery.home_experiment(epsilon) for epsilon in gallery.EPSILONS}
    yield Lesson(gallery.SHIPPED, start, gallery.SINCE, gallery.NUMBERS, gallery.EPSILONS)
    for step in (part for each in course.LESSONS for part in (each, each.second) if part is not None and part.setting):
        stops = {at: step.experiment(at) for at in step.slider.stops}
        drawn = tuple(each.numbers for each in step.picture.series)
        watched = stops[step.slider.start] if step.watch else None
        yield Lesson(step.name, stops, 1, step.numbers, step.places, drawn, watched)


def position(lesson: Lesson, at: float, result: Result, pool: Pool) -> dict[str, Any]:
    """What is kept of a position."""
    kept = np.flatnonzero(result.times >= lesson.since)
    kept = kept[thinned(kept, POINTS)]
    lines = []
    for line in result.lines:
        assert line is not None
        low, high = band(line, result.experiment.view.band)
        rows = [pool(values[kept]) for values in (line.mean, low, high)]
        lines.append([*rows, float(f"{line.final().stderr:.4g}"), _first(line)])
    asked = {name: (text, at) for name, text in lesson.numbers.items()}
    asked |= {f"{name} {place:g}": (lesson.numbers[name], place) for name in lesson.drawn for place in lesson.places}
    numbers = {
        name: _kept(measured.measure(text, result, lesson.places.index(place))) for name, (text, place) in asked.items()
    }
    return {"times": pool(result.times[kept]), "lines": lines, "numbers": numbers}


def _kept(number: Any) -> Any:
    if isinstance(number, str):
        return number
    return [float(f"{each:.6g}") for each in (number.value, number.error, number.low, number.high)]


def write(lesson: Lesson) -> None:
    """Play a lesson, and write its file."""
    pool, found = Pool(), {}
    for at, experiment in lesson.experiments.items():
        result = simulate(experiment.with_changes(trials=TRIALS), store=STORE)
        found[f"{at:g}"] = position(lesson, at, result, pool)
        print(lesson.name, at, found[f"{at:g}"]["numbers"], file=sys.stderr)
    document = {"trials": TRIALS, "positions": found, "rows": pool.rows}
    if lesson.watched is not None:
        document["run"] = frames(lesson.watched, 1, "", WATCHED)
    FOLDER.mkdir(exist_ok=True)
    text = json.dumps(document, separators=(",", ":"))
    (FOLDER / f"{lesson.name}.json").write_text(text + "\n", "utf-8")
    print(f"{lesson.name}: {len(text) / 1000:.1f} kB", file=sys.stderr)


def differs(lesson: Lesson, at: float) -> bool:
    """Whether the first runs of a position give other numbers than when it was played."""
    kept = read(lesson.name)["positions"][f"{at:g}"]["lines"]
    lines = simulate(lesson.experiments[at].with_changes(trials=CHECKED), store=STORE).lines
    return not np.allclose([line[-1] for line in kept], [_first(line) for line in lines], rtol=DIGITS)


def _first(line: LineResult | None) -> float:
    """Mean regret of the first runs at the end, to as many digits as are kept."""
    assert line is not None
    return float(f"{line.regret[:CHECKED, -1].mean():.6g}")


def main() -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="LESSON", help="only these")
    parser.add_argument("--check", action="store_true", help="play the first runs again and compare")
    asked = parser.parse_args()
    chosen = [lesson for lesson in lessons() if lesson.name in asked.names or not asked.names]
    if not asked.check:
        for lesson in chosen:
            write(lesson)
        return 0
    wrong = [f"{each.name} at {at:g}" for each in chosen for at in each.experiments if differs(each, at)]
    print("\n".join(wrong) or "all come out")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
