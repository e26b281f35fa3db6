"""Finished (or partial) simulations: regret of every trial at every checkpoint, intervals, tests, tidy tables."""

from __future__ import annotations

import json
import math
import platform
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from hashlib import sha256
from importlib.metadata import version
from itertools import combinations
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import pydantic

from bandit_core import paths
from bandit_core.experiments.catalogue import Corridor, corridor, floor, line_bounds
from bandit_core.experiments.experiment import Band, Experiment, Line, Quantity
from bandit_core.model import TRIVIAL, Guarantee, Policy
from bandit_core.policies import registry
from bandit_core.simulation.prepared import prepared_lines
from bandit_core.spec.errors import InputError, refuse_if
from bandit_core.spec.later import pd
from bandit_core.spec.number_text import count, with_error
from bandit_core.spec.number_text import number as written

# ---------------------------------------------------------------------------------------------------------------------
# Intervals of a mean of runs, and paired tests of two lines at the horizon, corrected for how many there are.
#
# Most runs lose about the same and a few lose much more. Student's interval reaches equally far to both sides and
# misses the mean too often then, so `interval` is the union of Student's and of Hall's, which corrects for skewness.
# docs/intervals.md says how often it covers the mean, policy by policy (``python -m benchmarks.coverage``), and which
# policies have losses too rare for any interval from the runs alone.
#
# A reader looks at mean regrets and their difference: interval and p-value speak of that very number. Wilcoxon's
# signed-rank test asks whether differences lie evenly around 0, and a few costly runs, which decide a mean, may weigh
# little there. (The verdicts on papers use it, and look at the means as well.)


K = TypeVar("K")
CONFIDENCE = 0.95
LEVEL = 0.05


class Interval(NamedTuple):
    """Ends of a confidence interval of a mean, in the unit of the values: numbers, or arrays of shape (columns,)."""

    low: np.ndarray
    high: np.ndarray


class Estimate(NamedTuple):
    """A number with its standard error and the ends of its interval, of 95% unless it is said otherwise.

    Numbers, or arrays of one shape. NaN is what the runs cannot tell: all but the value after a single run.
    """

    value: Any
    stderr: Any = math.nan
    low: Any = math.nan
    high: Any = math.nan

    def differs(self, value: float = 0.0) -> bool:
        """Whether the interval leaves this value out; never where its ends are unknown."""
        return bool(self.low > value or self.high < value)

    def __mul__(self, factor: Any) -> Self:
        """In another unit, of which ``factor`` make one of this unit."""
        return type(self)(*(factor * each for each in self))

    def __str__(self) -> str:
        return with_error(self.value, self.stderr)


NOT_KNOWN = Estimate(math.nan)


def half_width(trials: int, level: float = CONFIDENCE) -> float:
    """Standard errors from a mean to an end of its Student interval; NaN for one trial."""
    from scipy.special import stdtrit

    return float(stdtrit(trials - 1, (1 + level) / 2)) if trials > 1 else math.nan


def _moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard deviation and skewness down the first axis; the last two are 0 where all values are equal."""
    mean = values.mean(axis=0)
    apart = values - mean
    spread = np.sqrt((apart**2).mean(axis=0))
    equal = (np.ptp(values, axis=0) == 0) | (spread <= 1e-12 * np.abs(mean))  # equal values may leave a rounding error
    unit = np.where(equal, 1.0, spread)
    skewness = np.where(equal, 0.0, ((apart / unit) ** 3).mean(axis=0))
    return mean, np.where(equal, 0.0, spread * math.sqrt(len(values) / max(len(values) - 1, 1))), skewness


def interval(values: np.ndarray, level: float = CONFIDENCE) -> Interval:
    """Confidence interval of the mean of independent runs that may be skewed: the union of Student's and Hall's.

    Hall (1992, On the removal of skewness by transformation, J. R. Statist. Soc. B 54) takes the skewness g out of
    W = (sample mean - mean) / sd by the monotone cubic W + g W^2 / 3 + g^2 W^3 / 27 + g / (6 n). Its quantile is
    Student's here. Losses rarer than about 3 in n runs may be absent from the sample: no interval from the runs alone
    can allow for them.

    Parameters
    ----------
    values
        One run in a row, shape (trials,) or (trials, columns).
    level
        Confidence, strictly between 0 and 1.

    Returns
    -------
    low, high
        Shape () or (columns,); NaN for a single run, and both are the mean where all values are equal.

    Raises
    ------
    InputError
        Where there are no values, or ``level`` is no confidence.
    """
    values = np.asarray(values, float)
    refuse_if(len(values) == 0, "values", "no runs", "at least one run")
    refuse_if(not 0 < level < 1, "level", level, "a confidence strictly between 0 and 1")
    mean, spread, skewness = _moments(values)
    trials, errors = len(values), half_width(len(values), level)
    reach, small = errors / math.sqrt(trials), np.abs(skewness) < 1e-6
    skew = np.where(small, 1.0, skewness)

    def untransformed(quantile: float) -> np.ndarray:
        cubed = np.cbrt(1 + skew * (quantile - skew / (6 * trials))) - 1
        return np.where(small, quantile, 3 / skew * cubed)

    low = mean - spread * np.maximum(reach, untransformed(reach))
    return Interval(low, mean - spread * np.minimum(-reach, untransformed(-reach)))


def estimate(values: np.ndarray, level: float = CONFIDENCE) -> Estimate:
    """The mean of runs, shape (trials,), with its `interval`; a single run has no error."""
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return Estimate(float(values.mean()), error, *map(float, interval(values, level)))


def interval_of_difference(first: np.ndarray, second: np.ndarray, level: float = CONFIDENCE) -> Interval:
    """Confidence interval of the difference of the means of two independent groups of runs, shape (trials,) each.

    Zou and Donner's (2008, Statist. Med. 27, 1693) combination of the `interval` of each group. NaN where one has a
    single run.
    """
    mine, theirs = interval(first, level), interval(second, level)
    one, other = np.mean(first), np.mean(second)
    below, above = np.hypot(one - mine.low, theirs.high - other), np.hypot(mine.high - one, other - theirs.low)
    return Interval(one - other - below, one - other + above)


def share_limits(count: Any, trials: int, tail: float = (1 - CONFIDENCE) / 2) -> Interval:
    """Clopper and Pearson's exact limits of a chance that was seen ``count`` times in ``trials``; arrays or numbers.

    Each limit is wrong with probability ``tail`` at most.

    >>> low, high = share_limits(0, 1000)
    >>> float(low), round(float(high), 4)
    (0.0, 0.0037)
    """
    from scipy.special import betaincinv  # heavy import

    some, few = np.maximum(count, 1), np.minimum(count, trials - 1)
    low = np.where(np.greater(count, 0), betaincinv(some, trials - some + 1, tail), 0.0)
    return Interval(low, np.where(np.less(count, trials), betaincinv(few + 1, trials - few, 1 - tail), 1.0))


def most_mean(mean: Any, sd: Any, runs: Any, largest: Any, error: float = 1e-4) -> Any:
    """Upper limit of the mean of values from 0 to ``largest``, whatever their distribution; arrays or numbers.

    ``mean`` and ``sd`` are those of so many ``runs``, two at least. It is wrong with probability ``error`` at most
    (Maurer and Pontil 2009, Theorem 4), and so high that losses too rare for the runs are in it.
    """
    log = math.log(2 / error)
    return mean + sd * np.sqrt(2 * log / runs) + largest * 7 * log / (3 * (runs - 1))


def p_value(values: np.ndarray, mean: float = 0.0) -> float:
    """Two-sided p-value of the hypothesis that runs, shape (trials,), have this mean: the test that `interval` inverts.

    The larger one of Student's and Hall's, so it is below 0.05 exactly where the 95% interval leaves the mean out.
    NaN for a single run; 1 or 0 where all values are equal.
    """
    from scipy.special import stdtr

    values = np.asarray(values, float)
    trials = len(values)
    if trials < 2:
        return math.nan
    average, spread, skewness = (float(each) for each in _moments(values))
    if spread == 0:
        return 1.0 if abs(average - mean) <= 1e-12 * max(abs(average), abs(mean)) else 0.0
    plain = (average - mean) / spread
    skewed = plain + skewness * plain**2 / 3 + skewness**2 * plain**3 / 27 + skewness / (6 * trials)
    nearest = 0.0 if plain * skewed <= 0 else min(abs(plain), abs(skewed))
    return 2 * float(stdtr(trials - 1, -math.sqrt(trials) * nearest))


@dataclass(frozen=True)
class Difference:
    """Final mean regret of the ``first`` line minus that of the ``second``, in reward units, over ``pairs`` of trials.

    ``low`` and ``high`` are the ends of its interval of `CONFIDENCE`, ``p_value`` is two-sided. Both are about this
    difference alone; ``p_corrected`` is about all of them together. NaN is what the trials cannot tell.
    """

    first: int
    second: int
    pairs: int
    difference: float
    low: float
    high: float
    p_value: float
    p_corrected: float

    @property
    def clear(self) -> bool:
        """Whether the corrected p-value is at most `LEVEL`; else the difference could be luck."""
        return self.p_corrected <= LEVEL


def least_p(pairs: int) -> float:
    """The smallest p-value that so many pairs can give: that of a sign test whose pairs all agree; NaN below two."""
    return 2.0 ** (1 - pairs) if pairs > 1 else math.nan


def not_beaten(groups: Iterable[Collection[K]], means: Mapping[K, float], even: Collection[tuple[K, K]]) -> set[K]:
    """Of each group of several the one with the least mean, and those that a test of a pair in ``even`` left open."""
    best = set[K]()
    for group in groups:
        if len(group) > 1:
            first = min(group, key=means.__getitem__)
            best |= {first, *(each for each in group if (first, each) in even or (each, first) in even)}
    return best


def holm(p_values: Sequence[float]) -> np.ndarray:
    """P-values, shape (tests,), corrected for their number (Holm 1979); NaN stays NaN and does not count.

    The chance that any true equality gets one of at most 0.05 is at most 0.05, however the tests depend on each other.
    """
    corrected = np.array(p_values, float)
    order = np.argsort(corrected)[: np.count_nonzero(~np.isnan(corrected))]  # NaN is sorted to the end
    steps = np.arange(len(order), 0, -1) * corrected[order]
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return corrected


def differences(lines: Sequence[Any]) -> list[Difference]:
    """Every pair of lines (`LineResult`, or None) that has trials, in their order, corrected together."""
    done = [(number, line) for number, line in enumerate(lines) if line is not None]
    tests: list[tuple[Any, ...]] = [
        (first, second, *line.paired_test(other)) for (first, line), (second, other) in combinations(done, 2)
    ]
    corrected = holm([each[-1] for each in tests])
    return [Difference(*(*each, float(p))) for each, p in zip(tests, corrected, strict=True)]


# ---------------------------------------------------------------------------------------------------------------------
# A table of text for a paper (LaTeX, package booktabs) or a README (Markdown), with how it was made in a comment.


_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "ε": r"$\varepsilon$", "δ": r"$\delta$", "α": r"$\alpha$", "ρ": r"$\rho$", "±": r"$\pm$", "−": "$-$", "–": "--",
    "∞": r"$\infty$", "≤": r"$\le$", "≥": r"$\ge$", "·": r"$\cdot$", "×": r"$\times$", "⁻": r"$^{-}$",
}  # fmt: skip
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~#&$])")


class Bold(str):
    """A cell that is shown in bold."""


class Shown:
    """One line for a prompt, ``<Kind ...>``, and for a notebook a table of a few columns."""

    def _words(self) -> str:
        """What it is of."""
        raise NotImplementedError

    def _shown(self) -> pd.DataFrame:
        """What a notebook shows."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._words()}>"

    def _repr_html_(self) -> str:
        return str(self._shown().to_html(index=False, float_format="{:.4g}".format, na_rep="–"))


def with_title(label: str, title: str) -> str:
    """A line's label for a table, with the title of its policy where that is not in it."""
    return label if title in label else f"{label} ({title})"


def with_origin(frame: pd.DataFrame, made: Mapping[str, Any]) -> pd.DataFrame:
    """The frame with how it was made in ``attrs["made"]``, which Parquet keeps."""
    frame.attrs["made"] = made
    return frame


def _cell(text: str, plain: Callable[[str], str], bold: str) -> str:
    return bold % plain(text) if isinstance(text, Bold) else plain(text)


def latex_text(text: str) -> str:
    r"""The text as LaTeX prints it, on one line; signs of Latin and other scripts stay as they are (UTF-8).

    >>> latex_text("50 % of_x, ε = 1 ± 2")
    '50 \\% of\\_x, $\\varepsilon$ = 1 $\\pm$ 2'
    """
    return "".join(_LATEX.get(sign, sign) for sign in " ".join(text.split()))


def markdown_text(text: str) -> str:
    r"""The text as Markdown shows it, on one line.

    >>> markdown_text("a|b *c*")
    'a\\|b \\*c\\*'
    """
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def latex(columns: Sequence[str], rows: Sequence[Sequence[str]], made: Mapping[str, Any] | None) -> str:
    """A ``tabular`` with the rules of booktabs; ``made`` stands above it as JSON in a comment."""
    message = [" & ".join(_cell(text, latex_text, r"\textbf{%s}") for text in row) + r" \\" for row in (columns, *rows)]
    wide = ["p{4cm}" if max(map(len, column)) > 40 else "l" for column in zip(columns, *rows, strict=True)]
    begin = rf"\begin{{tabular}}{{{''.join(wide)}}}"
    lines = [begin, r"\toprule", message[0], r"\midrule", *message[1:], r"\bottomrule", r"\end{tabular}"]
    comment = [] if made is None else [f"% {json.dumps(made)}"]
    return "\n".join([*comment, *lines]) + "\n"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]], made: Mapping[str, Any] | None) -> str:
    """A table of Markdown with pipes; ``made`` stands below it as JSON in a comment."""
    texts = ["| " + " | ".join(_cell(text, markdown_text, "**%s**") for text in row) + " |" for row in (columns, *rows)]
    lines = [texts[0], "|" + " --- |" * len(columns), *texts[1:]]
    # Two dashes could end the comment; the JSON is the same without them.
    message = "" if made is None else "\n<!-- " + json.dumps(made).replace("--", "-\\u002d") + " -->\n"
    return "\n".join(lines) + "\n" + message


# ---------------------------------------------------------------------------------------------------------------------
# Finished (or partial) simulations: regret of every trial at every checkpoint, and tidy frames of it.
#
# What a reader asks of a result: the final numbers, the price of privacy, and the curve in another unit.


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
    if len(x) < 2 or not np.ptp(x) > 0:
        return math.nan, math.nan, math.nan
    slope, intercept = map(float, np.polyfit(x, y, 1))
    return slope, intercept, float(np.corrcoef(x, y)[0, 1]) ** 2 if np.ptp(y) > 0 else math.nan


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

    def interval(self, level: float = CONFIDENCE) -> Interval:
        """Confidence interval of the mean at each checkpoint by itself, arrays (checkpoints,); NaN for one trial."""
        return interval(self.regret, level)

    def first(self, count: int) -> Self:
        """The same of the first trials only."""
        kept = {each.name: value[:count] for each in fields(self) if (value := getattr(self, each.name)) is not None}
        return replace(self, **kept)

    def at(self, places: slice) -> Self:
        """The same trials at some checkpoints, without the others' memory; ``pulls`` are of the whole run."""
        regret, best_pulls = self.regret[:, places].copy(), self.best_pulls[:, places].copy()
        return replace(self, regret=regret, best_pulls=best_pulls, error=None)

    def final(self, level: float = CONFIDENCE) -> Estimate:
        """The mean regret at the last checkpoint."""
        return Estimate(float(self.mean[-1]), float(self.stderr[-1]), *map(float, interval(self.regret[:, -1], level)))

    def _pairs(self, other: LineResult) -> tuple[np.ndarray, np.ndarray]:
        """Final regrets of both lines over the trials that both have, shape (pairs,) each."""
        _, mine, theirs = np.intersect1d(self.trials, other.trials, return_indices=True)
        return self.regret[mine, -1], other.regret[theirs, -1]

    def differences_from(self, other: LineResult) -> np.ndarray:
        """Final regret minus another line's, for every pair of trials with the same number, shape (pairs,)."""
        ours, theirs = self._pairs(other)
        return ours - theirs

    def difference(self, other: LineResult, level: float = CONFIDENCE) -> Estimate:
        """Final mean regret minus another line's over pairs of trials."""
        apart = self.differences_from(other)
        return estimate(apart, level) if len(apart) else NOT_KNOWN

    def ratio(self, other: LineResult, level: float = CONFIDENCE) -> Estimate:
        """Final mean regret divided by another line's.

        Trials with the same number share their random stream, so error and interval are over the pairs (delta method);
        NaN where the other mean is 0, or so small that the ratio is no number.
        """
        ours, base = self._pairs(other)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            ratio = float(ours.mean() / base.mean()) if len(ours) else float("nan")
        if not np.isfinite(ratio):
            return NOT_KNOWN
        if len(ours) < 2:
            return Estimate(ratio)
        rest, unit = ours - ratio * base, base.mean()
        low, high = interval(rest, level)
        error = float(rest.std(ddof=1) / np.sqrt(len(rest)) / unit)
        return Estimate(ratio, error, ratio + float(low / unit), ratio + float(high / unit))

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
        least = least_p(pairs)
        if error <= 1e-12 * size:  # all pairs alike, but for rounding
            return pairs, difference, math.nan, math.nan, least if abs(difference) > 1e-12 * size else 1.0
        return pairs, difference, *ends, max(p_value(apart), least)


@dataclass(frozen=True, repr=False)
class Result(Shown):
    """What `simulate` returns; ``lines[i]`` is None while no trial of that line is done.

    ``companions`` are lines that the experiment lacks and that were run for comparison.
    ``bundled_results`` names the version, where trials were not computed here but came with the project; where only
    some lines' did, also these lines.
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
        even = [(each.first, each.second) for each in differences(self.lines) if each.p_corrected > LEVEL]
        return frozenset(not_beaten(groups.values(), means, even))

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
                if most_mean(line.mean[-1], line.std[-1], line.count, users * gap) < least:
                    found[number] = least
        return found

    def _final_text(self) -> tuple[list[str], list[list[str]]]:
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
                "p_floor": least_p(each.pairs),
            }
            for each in differences(self.lines)
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


QUANTITY_WORDS: dict[Quantity, str] = {
    "regret": "lost reward so far (regret)",
    "regret-per-log": "regret / ln t",
    "regret-per-user": "lost reward per user",
    "price": "price of privacy (ratio of regrets)",
}


PRICE_BAND = " (of the regret; what it is divided by counts as exact)"


# Methods without privacy that are run for comparison where none is drawn: of the first row that accepts the arms those
# that do. For rewards in [0, 1]; for rewards without limits; for users with features.
FIELDS = (("thompson", "kl-ucb"), ("ucb", "robust-ucb"), ("linucb", "greedy-ols"))


def counterpart(policy: Policy) -> Policy | None:
    """The same method without privacy: the nearest ancestor that is not private; None for one that is not private."""
    ancestor = policy
    while ancestor.privacy != "none":
        if ancestor.parent is None:
            return None
        ancestor = registry()[ancestor.parent]
    return None if ancestor is policy else ancestor


def _free(experiment: Experiment) -> list[int]:
    """Lines without privacy that are drawn."""
    return [number for number in experiment.drawn if experiment.lines[number].entry.privacy == "none"]


def _field(experiment: Experiment) -> tuple[Line, ...]:
    """The methods without privacy, with their usual parameters, that are run where none is drawn (see `FIELDS`)."""
    setting = "arms" if experiment.contexts is None else "contexts"
    for names in FIELDS:
        policies = [policy for name in names if (policy := registry()[name]).setting == setting]
        if able := [policy for policy in policies if policy.accepts(experiment.single_arms) is None]:
            return tuple(Line(policy=policy.name) for policy in able)
    return ()


def _companion(line: Line, other: Policy) -> Line:
    """The counterpart of a line with the parameters that both know; with its own where those are out of its range."""
    common = {name: value for name, value in line.params.items() if name in other.parameters.model_fields}
    try:
        other.parameters.model_validate(common)
    except pydantic.ValidationError:
        common = {}
    return Line(policy=other.name, params=common)


def companions(experiment: Experiment) -> tuple[Line, ...]:
    """Lines without privacy that the experiment lacks: what must be run for comparison to state every line's price."""
    private = [number for number, line in enumerate(experiment.lines) if line.entry.privacy != "none"]
    if experiment.view.against == "best":
        return _field(experiment) if private and not _free(experiment) else ()
    by_policy: dict[str, Line] = {}
    for number in private:
        line = experiment.lines[number]
        other = counterpart(line.entry)
        if other is not None and baseline(experiment, number) is None and other.accepts(experiment.single_arms) is None:
            by_policy.setdefault(other.name, _companion(line, other))
    return tuple(by_policy.values())


def _rivals(experiment: Experiment, line: int) -> list[tuple[str, str, int, bool]]:
    """What a private line may be compared with: label, policy, place, and whether that is among the `companions`."""
    best = experiment.view.against == "best"
    base, other = baseline(experiment, line), counterpart(experiment.lines[line].entry)
    drawn = _free(experiment) if best else [] if base is None else [base]
    if drawn:
        return [(experiment.label(each), experiment.lines[each].policy, each, False) for each in drawn]
    more = [(each.entry.title, each.policy, place, True) for place, each in enumerate(companions(experiment))]
    if best:
        return more
    return [each for each in more if other is not None and each[1] == other.name]


def has_price(experiment: Experiment, line: int) -> bool:
    """Whether there is something that a private line can be compared with, on the chart or run for comparison."""
    return counterpart(experiment.lines[line].entry) is not None and bool(_rivals(experiment, line))


def with_companions(experiment: Experiment) -> Experiment:
    """The experiment, and after its own lines its `companions`; itself where nothing can be added."""
    more = [line.model_dump(mode="json", exclude_none=True) for line in companions(experiment)]
    if not more:
        return experiment
    try:
        return experiment.with_changes(lines=[*experiment.spec()["lines"], *more])
    except InputError:  # too many lines
        return experiment


def split(played: Result, experiment: Experiment) -> Result:
    """The result of ``experiment``, from that of `with_companions`: what was run for comparison stands by itself."""
    own = len(experiment.lines)
    return replace(played, experiment=experiment, lines=played.lines[:own], companions=played.lines[own:])


@dataclass(frozen=True)
class Reference:
    """What a private line is compared with: label, policy and trials; a companion (see `companions`) is not drawn.

    ``among`` is the number of methods without privacy that it is the best of; 0 for the line's own counterpart.
    """

    label: str
    policy: str
    played: LineResult
    is_companion: bool
    among: int


def reference(result: Result, line: int, place: int = -1) -> Reference | None:
    """What the price of a private line is relative to; None where there is nothing, or where it is not computed.

    By itself the line without privacy that has lost least at the checkpoint at ``place``, of those that are drawn, else
    of `FIELDS`; of equal ones the first. The least of several means can only be too small by chance, so the choice
    makes no price look smaller than it is. Its own counterpart where the view asks for that.
    """
    private = result.experiment.lines[line].entry.privacy != "none"
    return _reference(result, line, place) if private else None


def _reference(result: Result, line: int, place: int = -1) -> Reference | None:
    done = []
    for label, policy, number, is_companion in _rivals(result.experiment, line):
        played = dict(enumerate(result.companions if is_companion else result.lines)).get(number)
        if played is not None:
            done.append((label, policy, played, is_companion))
    if not done:
        return None
    best = min(done, key=lambda each: float(each[2].mean[place]))
    methods = {played.mean.tobytes() for _, _, played, _ in done}  # one that is there twice counts once
    return Reference(*best, len(methods) if result.experiment.view.against == "best" else 0)


@dataclass(frozen=True)
class Summary:
    """One line at the horizon: what it has ``lost``, that as a ``ratio`` to what it is compared with, and how much it
    is ``behind`` that, both over pairs of trials. The single numbers have names, too, such as ``price_stderr``.
    """

    line: int
    label: str
    policy: str
    trials: int
    lost: Estimate
    ratio: Estimate
    behind: Estimate
    against: Reference | None
    best_share: float
    guarantee: Guarantee
    bound: float

    regret, stderr = property(attrgetter("lost.value")), property(attrgetter("lost.stderr"))
    price, price_stderr = property(attrgetter("ratio.value")), property(attrgetter("ratio.stderr"))
    extra, extra_stderr = property(attrgetter("behind.value")), property(attrgetter("behind.stderr"))
    extra_low, extra_high = property(attrgetter("behind.low")), property(attrgetter("behind.high"))

    @property
    def differs(self) -> bool:
        """Whether the price is surely not 1: the 95% interval of the extra regret over pairs of trials leaves out 0.

        (A ratio's own error says little where the other regret is near 0.) Never where the error is unknown.
        """
        return self.behind.differs()

    @property
    def regret_over_bound(self) -> float:
        """Regret as a share of the smallest proved upper bound that says something of the policy (NaN without one)."""
        return self.regret / self.bound if self.bound > 0 else float("nan")


def baseline(experiment: Experiment, line: int) -> int | None:
    """The line of the experiment that plays the counterpart of a private one; None where there is none.

    Of several those with the parameters that the private line shares come first.
    """
    chosen = experiment.lines[line]
    other = counterpart(chosen.entry)
    if other is None:
        return None
    same_policy = [number for number, each in enumerate(experiment.lines) if each.policy == other.name]
    wanted = _companion(chosen, other).params

    def differences(number: int) -> int:
        params = experiment.lines[number].params
        return sum(params.get(name) != value for name, value in wanted.items())

    return min(same_policy, key=differences, default=None)


def best_share_at_end(line: LineResult, times: np.ndarray) -> float:
    """Share of the best arms among the pulls of the last half of the run, averaged over trials."""
    start = int(np.searchsorted(times, times[-1] / 2))
    start = min(start, len(times) - 2) if len(times) > 1 else -1
    if start < 0:
        return float(line.best_pulls[:, -1].mean() / times[-1])
    won = line.best_pulls[:, -1] - line.best_pulls[:, start]
    return float(won.mean() / (times[-1] - times[start]))


def summaries(result: Result) -> list[Summary]:
    """One `Summary` per finished (or partly finished) line."""
    experiment = result.experiment
    rows = []
    for number, line in enumerate(result.lines):
        if line is None:
            continue
        chosen = experiment.lines[number]
        against = reference(result, number)
        proved = [
            float(bound.values(result.times[-1:], experiment.largest_gap)[0])
            for bound in line_bounds(experiment, number)
            if bound.binds and bound.side == "upper" and bound.status == "proved"
            if bound.name != TRIVIAL  # it holds for choosing blindly, too
        ]
        rows.append(
            Summary(
                line=number,
                label=experiment.label(number),
                policy=chosen.policy,
                trials=line.count,
                lost=line.final(),
                ratio=NOT_KNOWN if against is None else line.ratio(against.played),
                behind=NOT_KNOWN if against is None else line.difference(against.played),
                against=against,
                best_share=best_share_at_end(line, result.times),
                guarantee=chosen.entry.guarantee(experiment.setups[number]),
                bound=min(proved, default=float("nan")),
            )
        )
    return rows


def line_corridor(result: Drawable, line: int | None) -> tuple[Corridor, np.ndarray] | None:
    """The corridor of a played line, and what the view's quantity divides it by; None where either is missing."""
    played = None if line is None else result.lines[line]
    if line is None or played is None or (divisor := scale(result, line, result.experiment.view.quantity)) is None:
        return None
    return corridor(result.experiment, line, result.times, played.mean), divisor


def scale(result: Drawable, line: int, quantity: Quantity) -> np.ndarray | None:
    """What regret is divided by at every checkpoint to give ``quantity``; None where it cannot be had."""
    times = result.times.astype(float)
    if quantity == "regret":
        return np.ones_like(times)
    if quantity == "regret-per-user":
        return times
    if quantity == "regret-per-log":
        return np.where(times > 1, np.log(np.maximum(times, 2)), np.nan)
    free = result.experiment.lines[line].entry.privacy == "none"
    other: Curve | None = result.lines[line] if free else None
    if isinstance(result, Result):
        best = free and result.experiment.view.against == "best"
        against = (_reference if best else reference)(result, line)
        other = against.played if against is not None else other
    if other is None:
        return None
    return np.where(other.mean > 0, other.mean, np.nan)


def local_wins(result: Result) -> bool:
    """Whether a drawn policy that trusts no one surely loses less than every one of a curator, at one budget for all.

    At the horizon: the 95% interval of the difference over pairs of trials lies above 0.
    """
    experiment = result.experiment
    if len({line.epsilon for line in experiment.lines if line.epsilon is not None}) != 1:
        return False
    best: dict[str, LineResult] = {}
    for number, played in enumerate(result.lines):
        if played is None or number in experiment.view.hidden:
            continue
        trust = experiment.lines[number].entry.privacy
        if trust not in best or played.mean[-1] < best[trust].mean[-1]:
            best[trust] = played
    if "local" not in best or "central" not in best:
        return False
    return bool(best["central"].difference(best["local"]).low > 0)
