"""Figures of papers computed at the papers' own scale, in one small file each that ships with the project.

A file (``papers/results/<preset>.json``, or ``<preset>--<study>.json``) holds the spec, some checkpoints per line
(mean, standard error, 5% and 95% quantile over trials, and the price against no privacy with the error of paired
trials), the regret of every trial at the horizon and over the times that statements need, what the noise of rewards
adds to a curve of realised regret, and how it was made: date, seed, versions, machine, time.
``python -m bandit_core reproduce`` writes them; everything else only reads them.
"""

import contextlib
import datetime
import json
import math
import os
import platform
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.experiments.presets import load_preset, preset_names
from bandit_core.literature.papers import Played, Window, played, reproducible
from bandit_core.paths import ROOT
from bandit_core.simulation.costs import worker_count
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.results import LineResult, Result, baseline, frame_of, half_width
from bandit_core.simulation.store import Store
from bandit_core.simulation.warm_up import compile_for
from bandit_core.spec.errors import InputError, Issue, refuse_if

FOLDER = ROOT / "papers" / "results"
FORMAT = 2
MAX_TIMES, STUDY_TIMES = 60, 20
_CURVES = {"mean": 6, "stderr": 3, "q05": 4, "q95": 4, "price": 5, "price_stderr": 3}  # significant digits
_TRIAL_DIGITS = 6  # of the regret of one trial


@dataclass(frozen=True)
class ShippedLine:
    """One line of a shipped file; the part of a `LineResult` that a chart draws.

    ``mean, stderr, q05, q95`` are (times,); ``final`` and the values of ``windows`` (regret averaged over that time)
    are (trials,), in the order of the trials, which lines share (trial *i* of every line has the same stream), except
    in a tally, which is sorted. ``noise`` is the variance that rewards add to the realised regret of one run, reward
    units squared. ``price`` and its error, (times,), are None for lines that have nothing to be compared with.
    """

    count: int
    mean: np.ndarray
    stderr: np.ndarray
    q05: np.ndarray
    q95: np.ndarray
    final: np.ndarray
    windows: dict[Window, np.ndarray]
    noise: float | None = None
    price: np.ndarray | None = None
    price_stderr: np.ndarray | None = None

    def quantile(self, q: float, /) -> np.ndarray:
        """The 5% or the 95% quantile over trials; a shipped file holds no other."""
        return {0.05: self.q05, 0.95: self.q95}[q]

    @property
    def std(self) -> np.ndarray:
        """Standard deviation over trials, shape (times,)."""
        return self.stderr * np.sqrt(self.count)

    def interval(self) -> tuple[np.ndarray, np.ndarray]:
        """Student's 95% interval of the mean, shape (times,) each: a shipped file holds no runs at other times."""
        width = half_width(self.count) * self.stderr
        return self.mean - width, self.mean + width


@dataclass(frozen=True)
class Shipped:
    """One shipped file, read; draws like a `Result`. ``made`` says how, when and on what it was computed."""

    name: str
    experiment: Experiment
    times: np.ndarray
    lines: tuple[ShippedLine, ...]
    made: dict[str, Any]
    tally: bool = False

    @property
    def share(self) -> float:
        """Share of the paper's trials that were played, 1 at full scale."""
        return min(line.count for line in self.lines) / self.experiment.trials

    @property
    def is_complete(self) -> bool:
        """Whether every line has as many trials as the paper."""
        return self.share == 1


def thinned(times: np.ndarray, most: int = MAX_TIMES) -> np.ndarray:
    """Places of at most ``most`` of the checkpoints, with the first and the last; shape (kept,)."""
    if len(times) <= most:
        return np.arange(len(times))
    return np.unique(np.round(np.linspace(0, len(times) - 1, most)).astype(int))


def averaged(times: np.ndarray, regret: np.ndarray, window: Window) -> np.ndarray:
    """Regret of every trial, (trials, times), averaged over the checkpoints from the first to the last of two times.

    One time twice is that time, straight between checkpoints. Shape (trials,).
    """
    inside = (times >= window[0]) & (times <= window[1])
    if window[0] < window[1] and np.any(inside):
        return np.asarray(regret[:, inside].mean(axis=1))
    after = int(np.clip(np.searchsorted(times, window[0]), 1, len(times) - 1))
    part = (window[0] - times[after - 1]) / (times[after] - times[after - 1])
    return np.asarray((1 - part) * regret[:, after - 1] + part * regret[:, after])


# ---------------------------------------------------------------------------------------------------------------
# Making


@dataclass(frozen=True)
class Cost:
    """What a run took: seconds on the clock and of processor time, and the share of its work found in the store.

    ``jobs`` is the number of worker threads as it was asked for (None: ``LAB_JOBS`` or all cores).
    """

    seconds: float
    processor: float
    found: float = 0.0
    jobs: int | None = None


def document(result: Result, played: Played, cost: Cost) -> dict[str, Any]:
    """The document that ships: a complete ``result``, which may have only a part of the trials that are wanted."""
    experiment, name = played.experiment, played.name
    places = thinned(result.times, MAX_TIMES if name in preset_names() else STUDY_TIMES)
    lines = []
    for number, line in enumerate(result.lines):
        assert line is not None
        base = baseline(result.experiment, number)
        other = result.lines[base] if base is not None else None
        words = {"label": experiment.label(number), "policy": experiment.lines[number].policy, "trials": line.count}
        extra = {"noise": _rounded(_reward_noise(line, experiment), 4)} if experiment.contexts is None else {}
        lines.append(words | extra | _curves(line, other, places) | _trials(line, result.times, played))
    metadata = result.metadata
    made = {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seconds": round(cost.seconds, 2),
        "processor_seconds": round(cost.processor, 2),
        "found": round(cost.found, 3),
        "workers": worker_count(cost.jobs),
        "machine": machine(),
        "cores": os.cpu_count(),
        "kernels": metadata["kernels"],
        "versions": metadata["versions"],
    }
    return {
        "format": FORMAT,
        "name": name,
        "made": made,
        "seed": experiment.seed,
        "tally": played.tally,
        "spec": experiment.spec(),
        "t": result.times[places].tolist(),
        "lines": lines,
    }


def _curves(line: LineResult, other: LineResult | None, places: np.ndarray) -> dict[str, Any]:
    q05, q95 = np.quantile(line.regret[:, places], [0.05, 0.95], axis=0)
    numbers = {"mean": line.mean[places], "stderr": line.stderr[places], "q05": q05, "q95": q95}
    if other is not None:
        ratios = np.array([line.at(slice(place + 1)).ratio(other.at(slice(place + 1)))[:2] for place in places])
        numbers |= {"price": ratios[:, 0], "price_stderr": ratios[:, 1]}
    return {key: [_rounded(value, _CURVES[key]) for value in values.tolist()] for key, values in numbers.items()}


def _trials(line: LineResult, times: np.ndarray, played: Played) -> dict[str, Any]:
    """The regret of every trial at the horizon and over the windows; a tally as [value, how many of it]."""

    def rounded(values: np.ndarray) -> list[float | int | None]:
        return [_rounded(value, _TRIAL_DIGITS) for value in values.tolist()]

    final = rounded(line.regret[:, -1])
    if played.tally:
        return {"final": sorted([value, count] for value, count in Counter(final).items())}
    return {
        "final": final,
        "windows": [[*window, rounded(averaged(times, line.regret, window))] for window in played.windows],
    }


def _reward_noise(line: LineResult, experiment: Experiment) -> float:
    """Variance of (expected - received) reward summed over a run: sum over arms of sigma^2 E[pulls]."""
    means = experiment.means
    squares = np.array([arm.raw_moment(2) for arm in experiment.single_arms])
    return float((squares - means**2) @ line.pulls.mean(axis=0))


def _rounded(value: float, digits: int) -> float | int | None:
    """So many significant digits, as the shortest JSON number; null where there is none."""
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short == int(short) else short


def machine() -> str:
    """The processor, as the system calls it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def check_folder(folder: Path) -> None:
    """Make the folder, so that one that cannot be had is refused before anything is computed.

    Raises
    ------
    InputError
        When it cannot be made, or not be written to.
    """
    reason = "is not a folder that can be written to"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"cannot be made: {error.strerror}"
    refuse_if(not (folder.is_dir() and os.access(folder, os.W_OK)), "out", str(folder), reason)


def write(content: dict[str, Any], folder: Path) -> Path:
    """Write a document as ``<name>.json``, whole or not at all; one line of text per field and per line of the figure.

    Raises
    ------
    InputError
        When the folder cannot be written to.
    """

    def short(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))

    fields = [f"{short(key)}: {short(value)}" for key, value in content.items() if key != "lines"]
    lines = ",\n".join(f"  {short(line)}" for line in content["lines"])
    text = "{\n" + ",\n".join([*fields, f'"lines": [\n{lines}\n]']) + "\n}\n"
    path = folder / f"{content['name']}.json"
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise InputError([Issue("out", str(folder), f"cannot be written: {error}")]) from None
    return path


def reproduce(
    name: str,
    folder: Path | str,
    trials: int | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    run: Callable[[Simulation, int | None], Result] = Simulation.run,
) -> Path:
    """Play a preset that a paper's figure draws (or a study of it) at the paper's scale, and write it to ``folder``.

    Parameters
    ----------
    name
        Of the file, as `files_of` a figure and the command ``reproduce`` call it.
    folder
        Where the file goes; `load` reads it from there.
    trials
        Plays at most so many trials of each line; the file says so.
    jobs
        Worker threads; never changes a number.
    fresh
        Uses nothing that was computed before, for honest times.
    run
        Runs the simulation; where it raises, nothing is written.

    Raises
    ------
    InputError
        For a name that is none, or a folder that cannot be written to.
    """
    refuse_if(name not in reproducible(), "name", name, f"allowed: {', '.join(reproducible())}")
    folder, wanted = Path(folder), played()[name]
    check_folder(folder)
    experiment = wanted.experiment
    part = experiment.with_changes(trials=min(trials or experiment.trials, experiment.trials))
    compile_for(part)  # before the clock runs
    simulation = Simulation(part, Store(None, 0) if fresh else None)
    reused, start, worked = simulation.fraction, time.perf_counter(), time.process_time()
    result = run(simulation, jobs)
    cost = Cost(time.perf_counter() - start, time.process_time() - worked, reused, jobs)
    return write(document(result, wanted, cost), folder)


# ---------------------------------------------------------------------------------------------------------------
# Reading


def path_of(name: str, folder: Path | str | None = None) -> Path:
    """Where the file of that name stands, or would."""
    return Path(folder or FOLDER) / f"{name}.json"


def load(name: str, folder: Path | str | None = None) -> Shipped | None:
    """The shipped file of that name; None where it has not been made.

    Raises
    ------
    InputError
        When the file is damaged or of another format.
    """
    path = path_of(name, folder)
    if not path.exists():
        return None
    return _read(path, path.stat().st_mtime_ns)


def of_experiment(experiment: Experiment) -> Shipped | None:
    """The shipped figure of whoever plays the same with the same seed, drawn as the ``experiment`` says.

    None where there is none at full scale, and for prices, which need more than a figure keeps.
    """
    for name in preset_names() if experiment.view.quantity != "price" else ():
        if load_preset(name).plays_as(experiment) and (shipped := load(name)) is not None and shipped.is_complete:
            there = shipped.experiment
            same = (there.trials, there.seed) == (experiment.trials, experiment.seed)
            return replace(shipped, experiment=experiment) if same and there.plays_as(experiment) else None
    return None


@lru_cache(64)
def _read(path: Path, changed: int) -> Shipped:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']}, not {FORMAT}")
        times = np.array(content["t"], np.int64)
        lines = tuple(_shipped_line(line, content["tally"]) for line in content["lines"])
        experiment = Experiment.model_validate(content["spec"])
        if any(len(line.mean) != len(times) for line in lines) or len(lines) != len(experiment.lines):
            raise ValueError("lines and times do not fit together")
        return Shipped(content["name"], experiment, times, lines, content["made"], content["tally"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        words = f"is no shipped result ({type(error).__name__}: {error}); make it again with the command reproduce"
        raise InputError([Issue("file", path.name, words)]) from None


def _spread_out(tally: list[list[float]]) -> np.ndarray:
    values, counts = np.array(tally, float).T
    return np.repeat(values, counts.astype(int))


def _shipped_line(line: dict[str, Any], tally: bool) -> ShippedLine:
    arrays = {key: np.array(line[key], float) for key in _CURVES if key in line}  # null becomes NaN
    final = _spread_out(line["final"]) if tally else np.array(line["final"], float)
    windows = {(first, last): np.array(values, float) for first, last, values in line.get("windows", [])}
    noise = line.get("noise")
    return ShippedLine(count=int(line["trials"]), final=final, windows=windows, noise=noise, **arrays)


def curves(shipped: Shipped) -> Any:
    """The shipped numbers as a pandas DataFrame, one row per line and time."""
    columns = ("line", "label", "policy", "t", "mean", "stderr", "q05", "q95", "trials")

    def numbers(line: ShippedLine, number: int) -> tuple[Any, ...]:
        return shipped.times, line.mean, line.stderr, line.q05, line.q95, line.count

    return frame_of(shipped, columns, numbers)
