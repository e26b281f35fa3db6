"""Positions of a slider that ship: means, bands and numbers of 8,000 runs, so that nothing is played or compiled there.

``python -m benchmarks.positions`` writes them, a file of `FOLDER` for each lesson.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from bandit_core import Experiment, paths
from bandit_core.spec.errors import InputError, unreadable
from ui.learn.measured import Number

FOLDER = paths.ROOT / "presets" / "positions"


@dataclass(frozen=True, eq=False)
class Mean:
    """One line: mean regret and the edges of its band, (times,) in reward units; ``error`` is that of the last mean."""

    count: int
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    error: float

    @property
    def stderr(self) -> np.ndarray:
        """Standard errors of the mean, (times,); NaN but for the last."""
        return np.append(np.full(len(self.mean) - 1, np.nan), self.error)

    @property
    def std(self) -> np.ndarray:
        """Standard deviations over trials, (times,); NaN but for the last."""
        return self.stderr * np.sqrt(self.count)

    def quantile(self, q: float, /) -> np.ndarray:
        """The edge of the band, which is all that ships: below ``q`` = 0.5 the lower one."""
        return self.low if q < 0.5 else self.high

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Both edges of the band."""
        return self.low, self.high


@dataclass(frozen=True, eq=False)
class Shipped:
    """A position; draws like a `Result`. ``numbers`` are what a lesson says of it, some of them words.

    ``run`` are frames of one run where the slider begins (ui/watch/frames.py), of a lesson that shows one.
    """

    experiment: Experiment
    times: np.ndarray
    lines: tuple[Mean | None, ...]
    numbers: Mapping[str, Any]
    run: Mapping[str, Any] = field(default_factory=dict)
    companions: tuple[()] = ()  # nothing was run for comparison alone


@cache
def read(name: str) -> dict[str, Any]:
    """The file of a lesson, read once."""
    found = dict(json.loads((FOLDER / f"{name}.json").read_text("utf-8")))
    return found | {"rows": [np.array(row, float) for row in found["rows"]]}


def shipped(name: str, at: float, experiment: Experiment) -> Shipped:
    """The position ``at`` of a lesson, whose ``experiment`` says how it is drawn.

    Raises
    ------
    InputError
        Where the file is missing or damaged.
    """
    try:
        found = read(name)
        stop, rows, trials = found["positions"][f"{at:g}"], found["rows"], found["trials"]
        lines = [Mean(trials, rows[y], rows[low], rows[high], error) for y, low, high, error, _ in stop["lines"]]
        numbers = {
            name: each if isinstance(each, str) else Number(each[0], each[1], (each[2], each[3]))
            for name, each in stop["numbers"].items()
        }
        return Shipped(experiment, rows[stop["times"]], tuple(lines), numbers, found.get("run", {}))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError([unreadable("positions", f"{name}.json", error)]) from None
