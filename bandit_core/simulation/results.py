"""Finished (or partial) simulations: regret of every trial at every checkpoint, and tidy frames of it."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from bandit_core import paths
from bandit_core.experiments.curves import floor
from bandit_core.experiments.experiment import Band, Experiment
from bandit_core.simulation import comparisons
from bandit_core.simulation.prepared import prepared_lines
from bandit_core.simulation.tables import Bold, Shown, latex, markdown, with_origin, with_title
from bandit_core.spec.later import pd
from bandit_core.spec.number_text import count, with_error
from bandit_core.spec.number_text import number as written

CURVE_COLUMNS = ("line", "label", "policy", "t", "mean", "std", "stderr", "q05", "median", "q95", "trials")
FINAL_COLUMNS = ("line", "label", "policy", "guarantee", "trials", "regret", "stderr", "low", "high")
TRIAL_COLUMNS = ("line", "label", "policy", "guarantee_epsilon", "trial", "t", "regret", "best_share")
COMPARISON_COLUMNS = (
    "first", "second", "first_label", "second_label", "pairs", "difference", "low", "high", "p_value", "p_corrected",
    "p_floor",
)  # fmt: skip
BOLD = "lowest regret of each guarantee that several lines keep, and what a paired test does not tell from it"


@cache
def versions() -> dict[str, str]:
    """Of this project and of what its numbers come from."""
    libraries = {name: version(name) for name in ("numpy", "numba")}
    return libraries | {"python": platform.python_version(), "private-bandit-lab": paths.project_version()}


def linear_fit(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Least-squares straight line through the points.

    Parameters
    ----------
    x, y
        Coordinates, shape (points,).

    Returns
    -------
    slope, intercept, r_squared
        R^2 is the share of the variance of ``y`` that the line explains. All three are NaN with fewer than two
        different values of ``x``; R^2 is NaN where ``y`` does not vary.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    across = x - x.mean() if len(x) else x
    spread = float(across @ across)
    if not spread > 0:
        return float("nan"), float("nan"), float("nan")
    rise = y - y.mean()
    slope = float(across @ rise) / spread
    rest = rise - slope * across
    total = float(rise @ rise)
    return slope, float(y.mean() - slope * x.mean()), 1 - float(rest @ rest) / total if total > 0 else float("nan")


class Curve(Protocol):
    """What a chart draws of one line: a `LineResult`, or one that ships with the project (`ShippedLine`)."""

    @property
    def count(self) -> int: ...
    @property
    def mean(self) -> np.ndarray: ...
    @property
    def std(self) -> np.ndarray: ...
    @property
    def stderr(self) -> np.ndarray: ...
    def quantile(self, q: float, /) -> np.ndarray: ...
    def interval(self) -> tuple[np.ndarray, np.ndarray]: ...


class Drawable(Protocol):
    """What a chart draws: a `Result`, or one that ships with the project (`Shipped`)."""

    @property
    def experiment(self) -> Experiment: ...
    @property
    def times(self) -> np.ndarray: ...
    @property
    def lines(self) -> Sequence[Curve | None]: ...


def band(line: Curve, kind: Band) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper edge of the band around the mean, shape (checkpoints,) each.

    "middle-90" goes from the 5% to the 95% quantile over trials, "range" from the lowest to the highest;
    "interval-95" is the 95% confidence interval of the mean at each checkpoint by itself (NaN for one trial);
    "half-sd" and "quarter-sd" go that share of a standard deviation below and above the mean, as some papers
    draw it (it need not hold any share of the runs). A shipped figure has no "range".
    """
    if kind in ("middle-90", "range"):
        low = 0.05 if kind == "middle-90" else 0.0
        return line.quantile(low), line.quantile(1 - low)
    if kind == "interval-95":
        return line.interval()
    width = line.std * {"half-sd": 0.5, "quarter-sd": 0.25}[kind]
    return line.mean - width, line.mean + width


def frame_of(result: Drawable, columns: Sequence[str], numbers: Callable[[Any, int], tuple[Any, ...]]) -> pd.DataFrame:
    """The ``numbers`` of each line that has trials, and of its place; before them place, label and policy."""
    frames = []
    for number, line in enumerate(result.lines):
        if line is not None:
            named = (number, result.experiment.label(number), result.experiment.lines[number].policy)
            frames.append(pd.DataFrame(dict(zip(columns, (*named, *numbers(line, number)), strict=True))))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(columns))


@dataclass(frozen=True, repr=False)
class LineResult:
    """One line's trials. ``regret`` and ``best_pulls`` are (trials, checkpoints), ``pulls`` is (trials, arms).

    ``trials`` holds the numbers of the trials that are done, ascending, shape (trials,); regret is in reward units.
    ``error``, for users with features, is the distance of the estimated parameters from the true ones (see `Block`).
    """

    trials: np.ndarray
    regret: np.ndarray
    best_pulls: np.ndarray
    pulls: np.ndarray
    error: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"<LineResult: {self.count:,} trials, regret {self.final().value:.4g} at the last checkpoint>"

    @property
    def count(self) -> int:
        """Number of trials done."""
        return len(self.trials)

    @cached_property
    def mean(self) -> np.ndarray:
        """Mean regret at the checkpoints."""
        return self.regret.mean(axis=0)

    @cached_property
    def std(self) -> np.ndarray:
        """Standard deviation over trials (NaN for a single trial)."""
        if self.count < 2:
            return np.full(self.regret.shape[1], np.nan)
        spread = self.regret.std(axis=0, ddof=1)
        return np.where(np.ptp(self.regret, axis=0) == 0, 0.0, spread)  # equal values may leave a rounding error

    @cached_property
    def stderr(self) -> np.ndarray:
        """Standard error of the mean (NaN for a single trial)."""
        return self.std / np.sqrt(self.count)

    def quantile(self, q: float) -> np.ndarray:
        """Quantile over trials at the checkpoints."""
        return np.quantile(self.regret, q, axis=0)

    def interval(self, level: float = comparisons.CONFIDENCE) -> comparisons.Interval:
        """Confidence interval of the mean at each checkpoint by itself, arrays (checkpoints,); NaN for one trial."""
        return comparisons.interval(self.regret, level)

    def first(self, count: int) -> Self:
        """The same of the first trials only."""
        kept = {each.name: value[:count] for each in fields(self) if (value := getattr(self, each.name)) is not None}
        return replace(self, **kept)

    def at(self, places: slice) -> Self:
        """The same trials at some checkpoints, without the others' memory; ``pulls`` are of the whole run."""
        regret, best_pulls = self.regret[:, places].copy(), self.best_pulls[:, places].copy()
        return replace(self, regret=regret, best_pulls=best_pulls, error=None)

    def final(self, level: float = comparisons.CONFIDENCE) -> comparisons.Estimate:
        """The mean regret at the last checkpoint."""
        return comparisons.Estimate(
            float(self.mean[-1]), float(self.stderr[-1]), *map(float, comparisons.interval(self.regret[:, -1], level))
        )

    def _pairs(self, other: LineResult) -> tuple[np.ndarray, np.ndarray]:
        """Final regrets of both lines over the trials that both have, shape (pairs,) each."""
        _, mine, theirs = np.intersect1d(self.trials, other.trials, return_indices=True)
        return self.regret[mine, -1], other.regret[theirs, -1]

    def differences_from(self, other: LineResult) -> np.ndarray:
        """Final regret minus another line's, for every pair of trials with the same number, shape (pairs,)."""
        ours, theirs = self._pairs(other)
        return ours - theirs

    def difference(self, other: LineResult, level: float = comparisons.CONFIDENCE) -> comparisons.Estimate:
        """Final mean regret minus another line's over pairs of trials."""
        apart = self.differences_from(other)
        return comparisons.estimate(apart, level) if len(apart) else comparisons.NOT_KNOWN

    def ratio(self, other: LineResult, level: float = comparisons.CONFIDENCE) -> comparisons.Estimate:
        """Final mean regret divided by another line's.

        Trials with the same number share their random stream, so error and interval are over the pairs (delta method);
        NaN where the other mean is 0, or so small that the ratio is no number.
        """
        ours, base = self._pairs(other)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            ratio = float(ours.mean() / base.mean()) if len(ours) else float("nan")
        if not np.isfinite(ratio):
            return comparisons.NOT_KNOWN
        if len(ours) < 2:
            return comparisons.Estimate(ratio)
        rest, unit = ours - ratio * base, base.mean()
        low, high = comparisons.interval(rest, level)
        error = float(rest.std(ddof=1) / np.sqrt(len(rest)) / unit)
        return comparisons.Estimate(ratio, error, ratio + float(low / unit), ratio + float(high / unit))

    def paired_test(self, other: LineResult) -> tuple[int, float, float, float, float]:
        """Test of the difference from another line over the trials that both have, by `interval` and `p_value`.

        The p-value is never below `least_p`: where few regrets are possible, some pairs may differ by nearly the same
        amount by chance, and then there is no spread to measure luck by. So fewer than six pairs are never clear at
        0.05.

        Returns
        -------
        pairs, difference, low, high, p_value
            In reward units. The interval is NaN where all pairs differ by the same amount, and the p-value, too, where
            there are fewer than two pairs.
        """
        apart = self.differences_from(other)
        pairs, (difference, error, *ends) = len(apart), self.difference(other)
        if pairs < 2:
            return pairs, difference, math.nan, math.nan, math.nan
        size = max(abs(float(self.mean[-1])), abs(float(other.mean[-1])))
        least = comparisons.least_p(pairs)
        if error <= 1e-12 * size:  # all pairs alike, but for rounding
            return pairs, difference, math.nan, math.nan, least if abs(difference) > 1e-12 * size else 1.0
        return pairs, difference, *ends, max(comparisons.p_value(apart), least)


@dataclass(frozen=True, repr=False)
class Result(Shown):
    """What `simulate` returns; ``lines[i]`` is None while no trial of that line is done.

    ``companions`` are lines that the experiment lacks and that were run for comparison.
    ``bundled_results`` names the version, where trials were not computed here but came with the project.
    """

    experiment: Experiment
    times: np.ndarray
    lines: tuple[LineResult | None, ...]
    companions: tuple[LineResult | None, ...] = ()
    bundled_results: str = ""

    @property
    def complete(self) -> bool:
        """Whether every trial of every line is there."""
        return all(line is not None and line.count == self.experiment.trials for line in self.lines)

    @cached_property
    def content(self) -> bytes:
        """A hash of the experiment, its view and words too, and of which trials are done: equal ones look the same.

        Trials of an experiment have the same numbers whoever computes them.
        """
        digest = sha256(self.experiment.model_dump_json().encode())
        for line in (*self.lines, None, *self.companions):
            digest.update(b"none" if line is None else b"%d:" % line.count + line.trials.tobytes())
        return digest.digest()

    @cached_property
    def curves(self) -> pd.DataFrame:
        """One row per line and checkpoint, columns `CURVE_COLUMNS`."""

        def numbers(line: LineResult, number: int) -> tuple[Any, ...]:
            quantiles = np.quantile(line.regret, [0.05, 0.5, 0.95], axis=0)
            return (self.times, line.mean, line.std, line.stderr, *quantiles, line.count)

        return with_origin(frame_of(self, CURVE_COLUMNS, numbers), self.metadata)

    @cached_property
    def trials_frame(self) -> pd.DataFrame:
        """One row per line, trial and checkpoint, columns `TRIAL_COLUMNS`.

        ``guarantee_epsilon`` is in nats (NaN where the guarantee has no one number), ``regret`` in reward units, and
        ``best_share`` the share of the first ``t`` users who got a best arm.
        """

        def numbers(line: LineResult, number: int) -> tuple[Any, ...]:
            entry, setup = self.experiment.lines[number].entry, self.experiment.setups[number]
            budget = np.nan if entry.privacy == "none" else entry.guarantee(setup).epsilon
            trials, times = np.repeat(line.trials, len(self.times)), np.tile(self.times, line.count)
            return budget, trials, times, line.regret.ravel(), (line.best_pulls / self.times).ravel()

        return with_origin(frame_of(self, TRIAL_COLUMNS, numbers), self.metadata)

    @cached_property
    def final(self) -> pd.DataFrame:
        """One row per line at the last checkpoint, columns `FINAL_COLUMNS`.

        ``regret`` is the mean over ``trials`` in reward units, ``stderr`` its standard error, ``low`` and ``high`` the
        ends of its 95% interval (NaN for one trial), ``guarantee`` the privacy that the line really has.
        """
        rows = []
        for number, (line, setup) in enumerate(zip(self.lines, self.experiment.setups, strict=True)):
            if line is None:
                continue
            entry, (low, high) = self.experiment.lines[number].entry, band(line, "interval-95")
            named = (number, self.experiment.label(number), entry.name, entry.guarantee(setup).words)
            rows.append((*named, line.count, line.mean[-1], line.stderr[-1], low[-1], high[-1]))
        return with_origin(pd.DataFrame(rows, columns=list(FINAL_COLUMNS)), self.metadata)

    def to_latex(self, comment: bool = True) -> str:
        """The `final` numbers as a LaTeX table (package booktabs), with 95% intervals and prices of privacy.

        Bold is the lowest regret of each guarantee that several lines keep, with what a paired test does not tell from
        it. ``comment`` says above the table how it was made: the `metadata` as JSON. Leave it out where the spec holds
        data that must not be published.
        """
        return latex(*self._final_text(), self.metadata | {"bold": BOLD} if comment else None)

    def to_markdown(self, comment: bool = True) -> str:
        """The same as a table of Markdown, with the comment below it."""
        return markdown(*self._final_text(), self.metadata | {"bold": BOLD} if comment else None)

    def plot(self, dark: bool = False, height: int = 520) -> Any:
        """The chart of page Explore, by the experiment's ``view``: a Plotly figure, with `metadata` in ``layout.meta``.

        Raises
        ------
        InputError
            Where the packages of the app are not installed.
        """
        charts = paths.app_module("ui.charts")
        figure = charts.name_band(charts.regret_chart(self, dark, height), self)
        figure.layout.meta = self.metadata
        return figure

    def save(self, path: str | Path) -> None:
        """Write the chart: SVG, PDF or PNG for print, or HTML, as the file's ending says. It carries `metadata`.

        Raises
        ------
        InputError
            For another ending, a file that cannot be written, or where the packages of the app are not installed.
        """
        paths.app_module("ui.printing").save(self.plot(), Path(path))

    def _words(self) -> str:
        done = min((line.count if line else 0 for line in self.lines), default=0)
        return f"of {self.experiment!r}: {done:,} of {self.experiment.trials:,} trials done"

    def _shown(self) -> pd.DataFrame:
        return self.final[["label", "guarantee", "trials", "regret", "stderr"]]

    @property
    def best(self) -> frozenset[int]:
        """The numbers of the lines that tables show in bold: `BOLD`."""
        groups: dict[tuple[Any, ...], list[int]] = {}
        means = {number: float(line.mean[-1]) for number, line in enumerate(self.lines) if line is not None}
        for number in [each for each in means if each not in self.refuted]:
            line = self.experiment.lines[number]
            guarantee = line.entry.guarantee(self.experiment.setups[number])
            users = line.epsilon if guarantee.epsilon is None else None  # a budget of each user's own
            unit = line.entry.unit(self.experiment.setups[number])
            groups.setdefault((guarantee.model, unit, guarantee.epsilon, guarantee.delta, users), []).append(number)
        even = [
            (each.first, each.second)
            for each in comparisons.differences(self.lines)
            if each.p_corrected > comparisons.LEVEL
        ]
        return frozenset(comparisons.not_beaten(groups.values(), means, even))

    @cached_property
    def refuted(self) -> dict[int, float]:
        """Lines whose mean regret is clearly below the `floor` of every policy with their guarantee, with that floor.

        One that keeps its guarantee, and does not know the arms, is among them with a chance of 1 in 10,000 at most.
        """
        users, gap = int(self.times[-1]), self.experiment.largest_gap
        found = {}
        for number, line in enumerate(self.lines):
            if line is not None and line.count > 1:
                least = floor(self.experiment, number)
                if comparisons.most_mean(line.mean[-1], line.std[-1], line.count, users * gap) < least:
                    found[number] = least
        return found

    def _final_text(self) -> tuple[list[str], list[list[str]]]:
        summaries = import_module("bandit_core.simulation.summaries").summaries  # which builds on this module
        message = f"lost rewards in {count(int(self.times[-1]))} users (mean ± standard error)"
        best, prices = self.best, summaries(self)
        against = dict.fromkeys(each.against.label for each in prices if each.against is not None)
        rows = []
        for row, each in zip(self.final.itertuples(), prices, strict=True):
            title = self.experiment.lines[each.line].entry.title
            lost = with_error(row.regret, row.stderr)
            cells = [
                with_title(row.label, title), row.guarantee, count(row.trials),
                Bold(lost) if each.line in best else lost, f"{written(row.low)} to {written(row.high)}",
            ]  # fmt: skip
            rows.append([*cells, *([with_error(each.price, each.price_stderr)] if against else [])])
        columns = ["policy", "privacy", "runs", message, "95% interval"]
        return [*columns, *([f"regret relative to {', '.join(against)}"] if against else [])], rows

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """Could a difference be luck? One row per pair of lines, columns `COMPARISON_COLUMNS`.

        ``difference`` is the first line's mean regret at the horizon minus the second's, in reward units, over pairs of
        trials with the same random numbers, ``low`` and ``high`` its 95% interval. ``p_value`` is two-sided, of the
        paired test that this interval inverts; ``p_corrected`` is the same corrected for all pairs of lines (Holm).
        ``p_floor`` is the smallest p-value that so many pairs can give. Above 0.05 the difference could be luck, which
        does not prove the lines equal. NaN with fewer than two trials.
        """
        labels = [self.experiment.label(number) for number in range(len(self.lines))]
        rows = [
            {
                **vars(each), "first_label": labels[each.first], "second_label": labels[each.second],
                "p_floor": comparisons.least_p(each.pairs),
            }
            for each in comparisons.differences(self.lines)
        ]  # fmt: skip
        return with_origin(pd.DataFrame(rows, columns=list(COMPARISON_COLUMNS)), self.metadata)

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """What is needed to get these numbers again, and the privacy that every line really has."""
        guarantees = []
        for line, setup in zip(self.experiment.lines, self.experiment.setups, strict=True):
            kept = vars(line.entry.guarantee(setup))
            named = {name: kept[name] for name in ("model", "epsilon", "delta", "words")}
            guarantees.append({**named, "parameters": setup.parameters.model_dump()})
        return {
            "spec": self.experiment.spec(),
            "seed": self.experiment.seed,
            "kernels": {line.kernel: line.version for line in prepared_lines(self.experiment)},
            "versions": dict(versions()),
            "guarantees": guarantees,
            **({"bundled_results": self.bundled_results} if self.bundled_results else {}),
        }
