"""Does what a paper says of a figure hold? Computed from the shipped results, never typed in.

A comparison of two regrets counts beyond two standard errors of the difference. Lines of one preset share their random
streams, so their difference takes its error over pairs of trials; lines of different presets are compared as
independent. A statement about several pairs holds when every pair clearly does, and does not hold as soon as one pair
is clearly the other way round; anything between is not decided.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from bandit_core import papers, reproductions
from bandit_core.papers import Figure
from bandit_core.problems import InvalidInput
from bandit_core.reproductions import Shipped, ShippedLine
from bandit_core.results import linear_fit
from bandit_core.threshold_check import MECHANISMS

Held = Literal["held", "not held", "not decided", "not checked"]
CLEAR = 2.0  # standard errors
DECIDING = 0.5  # share of the horizon from which on a reported ratio may lie on the curve


@dataclass(frozen=True)
class Verdict:
    """One statement of a paper beside our measurement. ``reported`` is what the paper prints, if it prints a number;
    ``measured`` ours with its error; ``detail`` says what was compared."""

    says: str
    held: Held
    measured: str
    reported: str = ""
    detail: str = ""
    basis: Literal["text", "reading"] = "text"


class Missing(LookupError):
    """A shipped file that a statement needs has not been made, or is damaged."""


# ---------------------------------------------------------------------------------------------------------------
# Looking up


@dataclass(frozen=True)
class _Found:
    shipped: Shipped
    number: int

    @property
    def line(self) -> ShippedLine:
        return self.shipped.lines[self.number]

    @property
    def label(self) -> str:
        return self.shipped.experiment.label(self.number)


class _Files:
    """The shipped files of one figure, by preset; statements may reach into others' by name."""

    def __init__(self, figure: Figure, folder: Path | None) -> None:
        self.figure, self.folder = figure, folder

    def file(self, preset: str) -> Shipped:
        try:
            shipped = reproductions.load(preset, self.folder)
        except InvalidInput as error:
            raise Missing(str(error)) from None
        if shipped is None:
            raise Missing(f"{preset} has not been computed yet")
        return shipped

    @property
    def only(self) -> Shipped:
        """The file of a figure that has one panel."""
        return self.file(self.figure.presets[0])

    def find(self, reference: str) -> _Found:
        """The line that a statement calls ``policy or label``, or ``preset/policy or label``."""
        preset, slash, name = reference.partition("/")
        shipped = self.file(preset) if slash else self.only
        name = name if slash else reference
        lines = shipped.experiment.lines
        labels = [number for number in range(len(lines)) if shipped.experiment.label(number) == name]
        found = labels or [number for number, line in enumerate(lines) if line.policy == name]
        if len(found) != 1:
            raise LookupError(f"{self.figure.name}: {reference!r} means {len(found)} lines")
        return _Found(shipped, found[0])


def _number(value: float) -> str:
    """Three digits, or all before the point; millions as such."""
    if abs(value) >= 1e6:
        return f"{value / 1e6:,.4g} million"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _time(value: float) -> str:
    """A time to three digits."""
    return _number(float(f"{value:.3g}"))


def with_error(value: float, error: float) -> str:
    """``72.6 ± 0.5``: no digits that the error makes meaningless (two digits of one that begins with 1 or 2)."""
    if not math.isfinite(error) or error <= 1e-9 * abs(value):
        return _number(value)
    if max(abs(value), error) >= 1e6:
        return f"({with_error(value / 1e6, error / 1e6)}) million"
    place = math.floor(math.log10(error))
    place -= error / 10**place < 3
    keep, decimals = 10.0**place, max(0, -place)
    return f"{round(value / keep) * keep:,.{decimals}f} ± {round(error / keep) * keep:,.{decimals}f}"


def _mean_and_error(sample: np.ndarray) -> tuple[float, float]:
    return float(sample.mean()), float(sample.std(ddof=1) / math.sqrt(len(sample))) if len(sample) > 1 else math.nan


def _value_at(found: _Found, time: int) -> tuple[float, float]:
    """Mean and standard error at a time, straight between checkpoints."""
    times = found.shipped.times
    return float(np.interp(time, times, found.line.mean)), float(np.interp(time, times, found.line.stderr))


# ---------------------------------------------------------------------------------------------------------------
# The statements, by kind. Each returns held, measured, reported, detail.

Answer = tuple[Held, str, str, str]


def _ratio(claim: papers.Ratio, files: _Files) -> Answer:
    """A reported ratio holds where it lies within the errors of one of our ratios from half the horizon on.

    The paper's own error is unknown; with as many trials it is about as large as ours, hence the root of 2.
    """
    found = files.find(claim.line)
    assert found.line.price is not None and found.line.price_stderr is not None
    times = found.shipped.times
    late = slice(int(np.argmin(np.abs(times - DECIDING * times[-1]))), None)
    ratio, error = found.line.price[late], found.line.price_stderr[late]
    slack = CLEAR * math.sqrt(2) * error + claim.half
    held: Held = "held" if np.min(ratio - slack) <= claim.reported <= np.max(ratio + slack) else "not held"
    detail = f"at T = {_time(times[-1])}; {ratio[0]:.3g} at half of it. {_met(found, claim.reported)}"
    return held, with_error(float(ratio[-1]), float(error[-1])), f"{claim.reported:g}", detail


def _met(found: _Found, value: float) -> str:
    """Where the curve of ratios first passes a value, after the opening pulls."""
    times, ratios = found.shipped.times, found.line.price
    assert ratios is not None
    late = np.flatnonzero((times >= 1e-3 * times[-1]) & (ratios >= value))
    if not len(late):
        return f"The curve stays below {value:g} itself"
    return f"The curve first meets {value:g} at t = {_time(times[late[0]])}"


def _difference(small: _Found, large: _Found, at: int | None) -> tuple[float, float, str]:
    """Mean of the larger minus the smaller, its standard error, and both as words."""
    if at is None:
        values = [_mean_and_error(found.line.final) for found in (small, large)]
    else:
        values = [_value_at(found, at) for found in (small, large)]
    gap, error = values[1][0] - values[0][0], math.hypot(values[0][1], values[1][1])
    if at is None and small.shipped is large.shipped:
        gap, error = _mean_and_error(large.line.final - small.line.final)  # pairs of trials
    here = "" if small.shipped is large.shipped else f"{small.shipped.name}: "
    there = "" if small.shipped is large.shipped else f"{large.shipped.name}: "
    words = f"{here}{small.label} {with_error(*values[0])}, {there}{large.label} {with_error(*values[1])}"
    return gap, error, words


def _less(claim: papers.Less, files: _Files) -> Answer:
    pairs = [*claim.pairs, *zip(claim.rising, claim.rising[1:], strict=False)]
    clear, failed, details = 0, 0, []
    for small, large in pairs:
        gap, error, words = _difference(files.find(small), files.find(large), claim.at)
        sure = abs(gap) > CLEAR * error if math.isfinite(error) else gap != 0
        clear += sure and gap > 0
        failed += sure and gap < 0
        mark = "" if sure and gap > 0 else " (the other way round)" if sure else " (within the errors)"
        details.append(words + mark)
    held: Held = "not held" if failed else "held" if clear == len(pairs) else "not decided"
    if len(pairs) == 1:
        gap, error, _ = _difference(files.find(pairs[0][0]), files.find(pairs[0][1]), claim.at)
        return held, f"difference {with_error(gap, error)}", "", details[0]
    against = f", {failed} clearly the other way round" if failed else ""
    return held, f"{clear} of {len(pairs)} comparisons clearly so{against}", "", "; ".join(details)


def _v_of_lines(shipped: Shipped) -> np.ndarray:
    """V_L or V_B of every line, shape (lines,)."""
    values = []
    for line, instance in zip(shipped.experiment.lines, shipped.experiment.instances, strict=True):
        assert instance.epsilon is not None
        values.append(MECHANISMS[line.policy][1](instance.epsilon, instance.parameters.eps_min))
    return np.array(values)


def _straight(claim: papers.Straight, files: _Files) -> Answer:
    shipped = files.only
    means = np.array([line.mean[-1] for line in shipped.lines])
    slope, intercept, r_squared = linear_fit(_v_of_lines(shipped), means)
    held: Held = "held" if r_squared >= claim.at_least else "not held"
    detail = f"{len(means)} points; slope {_number(slope)}, intercept {_number(intercept)}; {claim.at_least:g} wanted"
    return held, f"R² = {r_squared:.4f}", f"R² = {claim.reported:g}", detail


def _threshold(claim: papers.Threshold, files: _Files) -> Answer:
    shipped = files.only
    chosen = int(np.argmin(_v_of_lines(shipped)))
    best = int(np.argmin([line.mean[-1] for line in shipped.lines]))
    label = shipped.experiment.label
    others = [_Found(shipped, other) for other in range(len(shipped.lines)) if other != chosen]
    gaps = [_difference(_Found(shipped, chosen), other, None) for other in others]
    clear = all(gap > CLEAR * error for gap, error, _ in gaps)
    failed = any(gap < -CLEAR * error for gap, error, _ in gaps)
    held: Held = "not held" if failed else "held" if clear else "not decided"
    regrets = ", ".join(
        f"{label(number)}: {with_error(*_mean_and_error(line.final))}" for number, line in enumerate(shipped.lines)
    )
    return held, f"V chooses {label(chosen)}, simulation {label(best)}", "", regrets


def _crossing(claim: papers.Crossing, files: _Files) -> Answer:
    one, other = files.find(claim.line), files.find(claim.other)
    times = one.shipped.times
    early = (times >= claim.after) & (times <= claim.before)
    ahead = float(np.mean(one.line.mean[early] < other.line.mean[early]))
    gap, error, words = _difference(other, one, None)
    behind = gap > CLEAR * error
    held: Held = "held" if ahead > 0.5 and behind else "not decided" if ahead > 0.5 and gap > 0 else "not held"
    detail = f"early is t = {_time(claim.after)} to {_number(claim.before)}; at the horizon {words}"
    side = "behind" if gap > 0 else "still ahead"
    return held, f"ahead at {100 * ahead:.0f} % of the early times, {side} at the horizon", "", detail


def _after_release(found: _Found) -> int:
    """The checkpoint at twice the first noisy release: until then a policy that waits for it learns nothing."""
    shipped, times = found.shipped, found.shipped.times
    line, instance = shipped.experiment.lines[found.number], shipped.experiment.instances[found.number]
    released = np.flatnonzero(line.entry.spent(instance, times) > 0)
    return int(min(np.searchsorted(times, 2 * times[released[0]]), len(times) - 1)) if len(released) else len(times) - 1


def _gap(claim: papers.Gap, files: _Files) -> Answer:
    """Not held where the gap clearly grew; held where we can rule out that it grew by half."""
    one, other = files.find(claim.line), files.find(claim.other)
    place = _after_release(one)
    start = one.shipped.times[place]
    early = float(one.line.mean[place] - other.line.mean[place])
    late, late_error = _mean_and_error(one.line.final - other.line.final)  # pairs of trials
    growth, error = late - early, math.hypot(one.line.stderr[place], other.line.stderr[place], late_error)
    if start > 0.5 * one.shipped.times[-1]:
        why = "the first releases come in the second quarter of the run or later, too late to see what follows"
        return "not decided", f"gap {with_error(late, late_error)} at the horizon", "", why
    ruled_out = growth + CLEAR * error <= 0.5 * early
    held: Held = "not held" if growth > CLEAR * error else "held" if ruled_out else "not decided"
    median = float(np.median(one.line.final - other.line.final))
    detail = (
        f"the mean gap is {_number(early)} at t = {_time(start)}, twice the first release, and "
        f"{with_error(late, late_error)} at the horizon (median run: {_number(median)})"
    )
    return held, f"grew by {with_error(growth, error)}", "", detail


def _spread(claim: papers.Spread, files: _Files) -> Answer:
    found = [files.find(reference) for reference in claim.lines]
    widths = [float(np.ptp(each.line.final)) for each in found]
    detail = ", ".join(f"{each.label} {_number(width)}" for each, width in zip(found, widths, strict=True))
    runs = min(each.line.count for each in found)
    if claim.below is not None:
        held: Held = "held" if max(widths) < claim.below else "not held"
        return held, f"up to {_number(max(widths))} ({runs} runs)", f"below {claim.below:,g}", detail
    assert claim.reaches is not None
    held = "held" if min(widths) >= claim.reaches else "not held"
    return held, f"{_number(min(widths))} ({runs} runs)", f"{claim.reaches:,g}", detail


def _growth(claim: papers.Growth, files: _Files) -> Answer:
    """A statement about the limit can be supported by a finite run, but not refuted."""
    found = files.find(claim.line)
    span = math.log(found.shipped.times[-1] / found.shipped.early_time)
    early, late = _mean_and_error(found.line.early), _mean_and_error(found.line.final)
    exponent = math.log(late[0] / early[0]) / span
    error = math.hypot(early[1] / early[0], late[1] / late[0]) / span
    held: Held = "held" if exponent + CLEAR * error <= claim.at_most else "not decided"
    detail = f"between t = {_time(found.shipped.early_time)} and {_number(found.shipped.times[-1])}, {found.label}"
    return held, f"exponent {with_error(exponent, error)}", f"at most {claim.at_most:g} in the limit", detail


_JUDGES: dict[str, Callable[[Any, _Files], Answer]] = {
    "ratio": _ratio, "less": _less, "straight": _straight, "threshold": _threshold, "crossing": _crossing,
    "gap": _gap, "spread": _spread, "growth": _growth,
}  # fmt: skip


def verdicts(figure: Figure, folder: Path | None = None) -> list[Verdict]:
    """One verdict per statement about the figure, from the shipped files (or those in ``folder``)."""
    files, found = _Files(figure, folder), []
    for claim in figure.claims:
        if isinstance(claim, papers.Unchecked):
            found.append(Verdict(claim.says, "not checked", claim.why, basis=claim.basis))
            continue
        try:
            held, measured, reported, detail = _JUDGES[claim.kind](claim, files)
        except Missing as missing:
            found.append(Verdict(claim.says, "not checked", str(missing), basis=claim.basis))
        else:
            found.append(Verdict(claim.says, held, measured, reported, detail, claim.basis))
    return found


# ---------------------------------------------------------------------------------------------------------------
# What ships, as a document


def table(names: list[str], folder: Path | None = None) -> str:
    """How every file of these presets was made, and which statements hold: Markdown."""
    head = "# The papers' figures: what was computed, and whether it holds\n\n"
    made = "Made by `python -m bandit_core reproduce --table`; do not edit by hand.\n"
    out = [head + made]
    wanted = [
        (paper, figure)
        for paper in papers.papers()
        for figure in paper.figures
        if not figure.presets or set(figure.presets) & set(names)
    ]
    counts: dict[str, int] = {}
    rows = ["| figure | statement | paper | here | |", "|---|---|---|---|---|"]
    for paper, figure in wanted:
        for verdict in verdicts(figure, folder):
            counts[verdict.held] = counts.get(verdict.held, 0) + 1
            title = f"{paper.short}, {figure.title.partition(':')[0]}"
            word = f"**{verdict.held}**" if verdict.held == "not held" else verdict.held
            mark = " *" if verdict.basis == "reading" else ""
            rows.append(f"| {title} | {verdict.says}{mark} | {verdict.reported} | {verdict.measured} | {word} |")
    tally = ", ".join(f"{counts[held]} {held}" for held in get_args(Held) if held in counts)
    out.append(f"Statements: {tally}. Those with * are our reading of a theorem, the others are the paper's own.\n")
    out += ["\n".join(rows) + "\n", "## How long it took\n", _costs(names, folder)]
    return "\n".join(out)


def _costs(names: list[str], folder: Path | None) -> str:
    rows = [
        "| preset | users | trials | seconds | processor seconds | from the cache | sampler | date | machine |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    wall = work = found = 0.0
    for name in names:
        shipped = reproductions.load(name, folder)
        if shipped is None:
            rows.append(f"| {name} | not made yet | | | | | | | |")
            continue
        made = shipped.made
        wall, work, found = wall + made["seconds"], work + made["processor_seconds"], found + made["found"]
        trials = f"{min(line.count for line in shipped.lines)} of {shipped.experiment.trials}"
        rows.append(
            f"| {name} | {shipped.experiment.horizon:.0e} | {trials} | {made['seconds']:.1f} | "
            f"{made['processor_seconds']:.1f} | {made['found']:.0%} | {made['sampler']} | {made['date']} | "
            f"{made['machine']}, {made['cores']} cores |".replace("e+0", "e")
        )
    total = f"Together {wall / 60:.1f} minutes on the clock, {work / 60:.1f} of processor time. "
    words = (
        "Compiling is not counted. Seconds on the clock include waiting for other programs on the same machine; "
        "processor seconds divided by the number of cores are what an idle machine needs at least."
    )
    if found:
        words += " Lines that several figures share were computed once: what was found in the cache took no time."
    return "\n".join(rows) + "\n\n" + total + words + "\n"
