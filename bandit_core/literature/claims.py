"""Does what a paper says of a figure hold? Computed from the shipped results by tests, never typed in.

An order of regrets: Wilcoxon's signed-rank test over pairs of trials (lines of one file share their streams), Mann and
Whitney's test between files. Several pairs hold together when each one does at the full size (intersection-union: their
joint size is no larger), and fail when the smallest p value the other way round does after Holm's correction. Where a
few runs turn the mean clearly against what most runs show, nothing is decided. An extreme of n runs: the probability of
the paper's outcome under our simulated distribution. A printed number: an error that includes that of the paper's own
runs. Sizes are `significance.ALPHA` throughout.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bandit_core.literature import papers, reproductions, significance
from bandit_core.literature.papers import Figure
from bandit_core.literature.reproductions import Shipped, ShippedLine
from bandit_core.literature.significance import ALPHA, Order
from bandit_core.mechanisms.shuffled_bits import noisy_share
from bandit_core.simulation.results import linear_fit
from bandit_core.simulation.summaries import baseline
from bandit_core.spec import number_text
from bandit_core.spec.errors import InputError
from bandit_core.spec.number_text import number, percent
from bandit_core.studies.threshold_check import MECHANISMS

Held = Literal["held", "not held", "not decided", "not checked"]
_RESAMPLES = 2000
_STUCK = 0.1  # of the largest possible regret, beyond the median run
HOW = (
    f"± is one standard error; every test has size {ALPHA:g}. Orders: Wilcoxon's signed-rank test over pairs of trials "
    "that share their random numbers, Mann and Whitney's test between different files. Several comparisons hold "
    "together when each does (intersection-union), and fail when one does after Holm's correction; where a few runs "
    "turn the mean against what most runs show, nothing is decided. The same within a factor: both orders, one side "
    "times the factor. Extremes of n runs: the probability of the paper's "
    "outcome under our simulated distribution, with its interval. Printed ratios: a z test whose error includes "
    "that of the "
    "paper's own runs, which show realised regret. The p value is the chance of such runs if the statement were wrong "
    "(where it is not held: if it were right); for numbers and extremes, the chance of what the paper reports. Power "
    "is the chance that so many runs find an order."
)


@dataclass(frozen=True)
class Test:
    """How a verdict was reached: the test, its p value, the trials it rests on, and what it would have found.

    ``p`` is the probability of something at least as extreme if the verdict were wrong; for "not decided", if the
    statement were wrong; for numbers and extremes, that of the paper's outcome under our distribution.
    """

    __test__ = False  # pytest: not a test of ours

    name: str
    p: float
    trials: int
    power: str

    @property
    def outcome(self) -> str:
        """The p value and the trials it rests on."""
        return f"p {'< 0.0001' if self.p < 1e-4 else f'= {self.p:.2g}'}, {self.trials:,} trials"

    @property
    def words(self) -> str:
        """In one line."""
        return f"{self.name}, size {ALPHA:g}, {self.outcome}; {self.power}"


@dataclass(frozen=True)
class Verdict:
    """One statement of a paper beside our measurement. ``reported`` is what the paper prints, if it prints a number;
    ``measured`` ours with its error; ``detail`` says what was compared; ``readings`` are verdicts under other readings
    of the paper, each by its name."""

    says: str
    held: Held
    measured: str
    reported: str = ""
    detail: str = ""
    test: Test | None = None
    basis: Literal["text", "reading"] = "text"
    readings: tuple[tuple[str, Verdict], ...] = ()

    @property
    def explained(self) -> str:
        """For what did not hold or was not decided: under which of the readings it comes out."""
        tried = [(name, verdict) for name, verdict in self.readings if verdict.held != "not checked"]
        if self.held in ("held", "not checked") or not tried:
            return ""
        come_out = [name for name, verdict in tried if verdict.held == "held"]
        if come_out:
            return f"It comes out with: {'; '.join(come_out)}."
        return f"None of the readings tried gives it ({'; '.join(name for name, _ in tried)})."


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

    def values(self, at: int | None = None) -> np.ndarray:
        """Regret of every trial at a time, else at the horizon; shape (trials,)."""
        return self.line.final if at in (None, self.shipped.experiment.horizon) else self.line.windows[at, at]


class _Files:
    """The shipped files of one figure in one study, by preset; statements may reach into others' by name."""

    def __init__(self, figure: Figure, folder: Path | str | None, study: str) -> None:
        self.figure, self.folder, self.study = figure, folder, study

    def file(self, preset: str) -> Shipped:
        name = papers.file_name(preset, self.study)
        try:
            shipped = reproductions.load(name, self.folder)
        except InputError as error:
            raise Missing(str(error)) from None
        if shipped is None:
            raise Missing(f"{name} has not been computed yet")
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
            raise LookupError(f"{shipped.name}: {reference!r} means {len(found)} lines")
        return _Found(shipped, found[0])


_number, with_error = partial(number, whole=True), partial(number_text.with_error, whole=True)


def _mean_and_error(sample: np.ndarray) -> tuple[float, float]:
    return float(sample.mean()), float(sample.std(ddof=1) / math.sqrt(len(sample))) if len(sample) > 1 else math.nan


def _chance(estimate: float, low: float, high: float) -> str:
    """``0.33 (0.041 to 0.61)``, to two digits."""
    words = ["0" if chance < 1e-4 else f"{chance:.2g}" for chance in (estimate, low, high)]
    return f"{words[0]} ({words[1]} to {words[2]})"


# ---------------------------------------------------------------------------------------------------------------
# The statements, by kind


@dataclass(frozen=True)
class _Answer:
    held: Held
    measured: str
    test: Test | None
    detail: str
    reported: str = ""


def _compare(small: _Found, large: _Found, at: int | None = None, factor: float = 1.0) -> Order:
    together = small.shipped is large.shipped and not small.shipped.tally
    test = significance.paired if together else significance.unpaired
    return test(small.values(at), factor * large.values(at))


def _side(order: Order, pairs: int) -> Held:
    """The verdict on one of several pairs; a mean that is clearly against what most runs show decides nothing."""
    if order.p_for <= ALPHA and not order.contrary:
        return "held"
    return "not held" if order.p_against <= ALPHA / pairs and order.gap <= 0 else "not decided"


def _together(orders: Sequence[Order]) -> tuple[Held, Test]:
    """Intersection-union for "all hold", the first step of Holm's procedure for "one does not"."""
    sides = [_side(order, len(orders)) for order in orders]
    held: Held = "not held" if "not held" in sides else "held" if set(sides) == {"held"} else "not decided"
    weakest = max(orders, key=lambda order: order.p_for)
    p, name = weakest.p_for, weakest.test
    if held == "not held":
        weakest = min(orders, key=lambda order: order.p_against)
        p = min(1.0, len(orders) * weakest.p_against)
    if len(orders) > 1:
        name += f" of {len(orders)} pairs, {'Holm' if held == 'not held' else 'intersection-union'}"
    return held, Test(name, p, min(order.trials for order in orders), _power(weakest))


def _power(order: Order) -> str:
    """Of the test of an order."""
    of = "averages of two pairs" if order.test.startswith("Wilcoxon") else "pairs"
    least = f"{significance.POWER:g} for one that {percent(order.detectable)} of {of} show"
    if order.detectable >= 1:
        least = f"below {significance.POWER:g} for any order with so few trials"
    return f"power {order.power:.2g} for an order as clear as the one seen, {least}"


def _pair_words(small: _Found, large: _Found, at: int | None, order: Order, factor: float = 1.0) -> str:
    apart = small.shipped is not large.shipped
    names = [f"{found.shipped.name}: {found.label}" if apart else found.label for found in (small, large)]
    values = [with_error(*_mean_and_error(found.values(at))) for found in (small, large)]
    note = ", though the mean says the contrary" if order.p_for <= ALPHA and order.contrary else ""
    smaller = "smaller" if factor == 1 else f"less than {factor:g} times it"
    return f"{names[0]} {values[0]}, {names[1]} {values[1]}: {smaller} in {percent(order.share)} of pairs{note}"


def _ordered(pairs: Sequence[tuple[_Found, _Found]], at: int | None = None, factor: float = 1.0) -> _Answer:
    """The first of each pair has the smaller regret, or less than ``factor`` times that of the second."""
    orders = [_compare(small, large, at, factor) for small, large in pairs]
    held, test = _together(orders)
    details = [_pair_words(*pair, at, order, factor) for pair, order in zip(pairs, orders, strict=True)]
    if len(orders) == 1 and factor == 1:
        measured = (
            f"smaller in {percent(orders[0].share)} of pairs, mean difference "
            f"{with_error(orders[0].gap, orders[0].error)}"
        )
    else:
        sides = [_side(order, len(orders)) for order in orders]
        against = f", {sides.count('not held')} the other way round" if "not held" in sides else ""
        turned = sum(order.p_for <= ALPHA and order.contrary for order in orders)
        mean = f", in {turned} a few runs turn the mean" if turned else ""
        measured = f"{sides.count('held')} of {len(orders)} comparisons so{against}{mean}"
    return _Answer(held, measured, test, "; ".join(details))


def _less(claim: papers.Less, files: _Files) -> _Answer:
    pairs = [*claim.pairs, *zip(claim.rising, claim.rising[1:], strict=False)]
    return _ordered([(files.find(small), files.find(large)) for small, large in pairs], claim.at, claim.factor)


def _ratio(claim: papers.Ratio, files: _Files) -> _Answer:
    """The paper's curves have ``runs`` runs of realised regret each: spread over runs and noise of the rewards."""
    found = files.find(claim.line)
    base = _Found(found.shipped, _base(found))
    assert found.line.price is not None and found.line.price_stderr is not None
    ratio, ours = float(found.line.price[-1]), float(found.line.price_stderr[-1])
    level = float(base.line.final.mean())
    spreads = [each.line.final.var(ddof=1) + (each.line.noise or 0.0) for each in (found, base)]
    theirs = math.sqrt((spreads[0] + ratio**2 * spreads[1]) / claim.runs) / level
    error = math.hypot(ours, theirs)
    p = significance.two_sided(max(0.0, abs(claim.reported - ratio) - claim.half) / error)
    power = (
        f"a true ratio {_number(significance.detectable_number(error) + claim.half)} away from the printed one is "
        f"found with probability {significance.POWER:g}"
    )
    test = Test("z test with the error of the paper's own runs", p, found.line.count, power)
    detail = (
        f"at T = {number(found.shipped.times[-1])}; {claim.runs} runs of realised regret give a ratio with a standard "
        f"deviation of {_number(theirs)}, ours is known to {_number(ours)}"
    )
    return _Answer("held" if p > ALPHA else "not held", with_error(ratio, ours), test, detail, f"{claim.reported:g}")


def _base(found: _Found) -> int:
    base = baseline(found.shipped.experiment, found.number)
    assert base is not None
    return base


def _v_of_lines(shipped: Shipped) -> np.ndarray:
    """V_L or V_B of every line, shape (lines,)."""
    values = []
    for line, setup in zip(shipped.experiment.lines, shipped.experiment.setups, strict=True):
        assert setup.epsilon is not None
        values.append(MECHANISMS[line.policy][1](setup.epsilon, setup.parameters.eps_min))
    return np.array(values)


def _root(delta: np.ndarray | float) -> np.ndarray:
    """sqrt(ln(1/delta))."""
    return np.sqrt(np.log(1 / np.asarray(delta)))


def _places(claim: papers.Straight, shipped: Shipped) -> tuple[np.ndarray, list[np.ndarray]]:
    """Where the lines of a fit stand, (lines,), and the regret of their runs at the horizon."""
    if claim.over == "V":
        return _v_of_lines(shipped), [line.final for line in shipped.lines]
    deltas = [getattr(setup.parameters, "delta", None) for setup in shipped.experiment.setups]
    chosen = [(delta, line.final) for delta, line in zip(deltas, shipped.lines, strict=True) if delta is not None]
    return _root(np.array([delta for delta, _ in chosen])), [final for _, final in chosen]


def _straight(claim: papers.Straight, files: _Files) -> _Answer:
    """The share of bootstrap samples of the runs whose R^2 lies on the other side of what is wanted."""
    shipped = files.only
    v, finals = _places(claim, shipped)
    slope, intercept, r_squared = linear_fit(v, np.array([final.mean() for final in finals]))
    generator = np.random.default_rng(0)
    means = np.array([generator.choice(final, (_RESAMPLES, len(final))).mean(axis=1) for final in finals])
    fits = np.array([linear_fit(v, each)[2] for each in means.T])
    low, high = np.quantile(fits, [ALPHA / 2, 1 - ALPHA / 2])
    below = float(np.mean(fits < claim.at_least))
    refuted = 1 - below <= ALPHA and r_squared < claim.at_least  # resampling itself makes a line less straight
    held: Held = "held" if below <= ALPHA else "not held" if refuted else "not decided"
    p = 1 - below if held == "not held" else below
    test = Test("bootstrap of the runs", p, min(map(len, finals)), f"R² lies between {low:.4f} and {high:.4f}")
    reported = "" if claim.reported is None else f"R² = {claim.reported:g}"
    detail = (
        f"{len(v)} points at T = {number(shipped.times[-1])}; slope {_number(slope)}, intercept {_number(intercept)}; "
        f"{claim.at_least:g} wanted"
    )
    return _Answer(held, f"R² = {r_squared:.4f}", test, detail, reported)


def _noise(claim: papers.Noise, _: _Files) -> _Answer:
    """By the account alone: nothing is random, so nothing is tested."""
    deltas = np.array(sorted(claim.deltas, reverse=True))
    shares = np.array([noisy_share(claim.users, claim.epsilon, float(delta)) for delta in deltas])
    spread = np.sqrt(claim.users * shares * (2 - shares)) / 2 / (1 - shares)  # of the estimate of how many bits are 1
    r_squared = linear_fit(_root(deltas), spread)[2]
    exponent = math.log(spread[-1] / spread[-2]) / math.log(math.log(deltas[-1]) / math.log(deltas[-2]))
    held: Held = "held" if r_squared >= claim.at_least else "not held"
    noisy = [f"{_number(claim.users * share)} at {delta:g}" for delta, share in zip(deltas, shares, strict=True)]
    detail = (
        f"of {claim.users:,} users at ε = {claim.epsilon:g} so many answer at random, by δ: {', '.join(noisy)}; from "
        f"the last δ but one to the last the spread grows as ln(1/δ) to the power {exponent:.2f}; R² of "
        f"{claim.at_least:g} wanted"
    )
    return _Answer(held, f"R² = {r_squared:.4f} by the account", None, detail)


def _threshold(claim: papers.Threshold, files: _Files) -> _Answer:
    shipped = files.only
    chosen = int(np.argmin(_v_of_lines(shipped)))
    best = int(np.argmin([line.mean[-1] for line in shipped.lines]))
    others = [number for number in range(len(shipped.lines)) if number != chosen]
    answer = _ordered([(_Found(shipped, chosen), _Found(shipped, other)) for other in others])
    label = shipped.experiment.label
    measured = f"V chooses {label(chosen)}, simulation {label(best)}"
    return _Answer(answer.held, measured, answer.test, answer.detail)


def _crossing(claim: papers.Crossing, files: _Files) -> _Answer:
    one, other = files.find(claim.line), files.find(claim.other)
    [window] = claim.windows(one.shipped.experiment.horizon)
    early = significance.paired(one.line.windows[window], other.line.windows[window])
    late = _compare(other, one)
    held, test = _together([early, late])
    detail = (
        f"early is the average over t = {number(window[0])} to {_number(window[1])}; at the horizon "
        f"{_pair_words(other, one, None, late)}"
    )
    measured = (
        f"early ahead in {percent(early.share)} of runs (by {with_error(early.gap, early.error)}), at the horizon "
        f"behind in {percent(late.share)} (by {with_error(late.gap, late.error)})"
    )
    return _Answer(held, measured, test, detail)


def _first_release(found: _Found) -> int:
    """When a noisy release comes first: until then a policy that waits for it learns nothing."""
    setup, before, after = found.shipped.experiment.setups[found.number], 0, found.shipped.experiment.horizon
    spent = found.shipped.experiment.lines[found.number].entry.spent
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (before, middle) if spent(setup, np.array([middle]))[0] > 0 else (middle, after)
    return after


def _stuck(found: _Found) -> tuple[float, str]:
    """The share of runs that are stuck, and how many of how many with the interval of the share."""
    final, experiment = found.line.final, found.shipped.experiment
    limit = _STUCK * experiment.horizon * experiment.largest_gap
    count = int(np.sum(final > np.median(final) + limit))
    low, high = significance.share_interval(count, len(final))
    words = (
        f"stuck ({_STUCK:.0%} of the largest possible regret beyond the median run) are {count} of {len(final):,} "
        f"runs, {percent(low)} to {percent(high)}"
    )
    return count / len(final), words


def _gap(claim: papers.Gap, files: _Files) -> _Answer:
    """About the typical run; a few runs that are stuck for good make the mean grow for ever."""
    one, other, after = files.find(claim.line), files.find(claim.other), claim.after
    early, late = (one.values(at) - other.values(at) for at in (after, None))
    order, first = significance.paired(late, early), _first_release(one)
    held: Held = "held" if order.p_for <= ALPHA else "not held" if order.p_against <= ALPHA else "not decided"
    if first >= after:
        held = "not decided"
    many = _Files(files.figure, files.folder, claim.many) if claim.many else files
    share, stuck = _stuck(many.find(claim.line))
    medians, means = [float(np.median(gap)) for gap in (early, late)], [_mean_and_error(gap) for gap in (early, late)]
    detail = (
        f"the first release comes at t = {number(first)}; from t = {number(after)} to {number(one.shipped.times[-1])} "
        f"the median gap went from {_number(medians[0])} to {_number(medians[1])}, the mean gap from "
        f"{with_error(*means[0])} to {with_error(*means[1])}; {stuck}"
    )
    measured = f"typical run: {float(np.median(late - early)):+.3g}; {percent(share)} of runs are stuck"
    p = order.p_against if held == "not held" else order.p_for
    return _Answer(held, measured, Test(order.test, p, order.trials, _power(order)), detail)


def _fading(claim: papers.Fading, files: _Files) -> _Answer:
    one, other = files.find(claim.line), files.find(claim.other)
    early, late = (
        (one.values(at) - other.values(at)) / (at or one.shipped.experiment.horizon) for at in (claim.after, None)
    )
    order = significance.paired(late, early)
    held, test = _together([order])
    ends = [with_error(*_mean_and_error(gap)) for gap in (early, late)]
    measured = f"per user {ends[0]} at t = {number(claim.after)}, {ends[1]} at {number(one.shipped.times[-1])}"
    return _Answer(held, measured, test, f"{one.label} less {other.label}; smaller in {percent(order.share)} of runs")


def _spread(claim: papers.Spread, files: _Files) -> _Answer:
    """The probability that the paper's number of runs shows what it reports; lines are taken as independent."""
    found = [files.find(reference) for reference in claim.lines]
    width = claim.below if claim.below is not None else (claim.reaches or 0.0) - claim.half
    chances = [significance.chance_of_narrow(each.line.final, claim.runs, width) for each in found]
    estimate, low, high = (float(np.prod(ends)) for ends in zip(*chances, strict=True))
    if claim.reaches is not None:
        estimate, low, high = 1 - estimate, 1 - high, 1 - low
    held: Held = "not held" if high <= ALPHA else "held" if low > ALPHA else "not decided"
    words = [
        f"{each.label} {float(np.ptp(each.line.final)):,.0f} in {each.line.count:,} runs, "
        f"below {width:,g} with probability {_chance(*chance)}"
        for each, chance in zip(found, chances, strict=True)
    ]
    trials = min(each.line.count for each in found)
    power = f"interval {_chance(estimate, low, high).partition(' ')[2]}"
    test = Test(f"probability of the paper's outcome in {claim.runs} runs", estimate, trials, power)
    reported = f"below {width:,g}" if claim.reaches is None else f"{claim.reaches:,g}"
    return _Answer(held, f"probability {_chance(estimate, low, high)}", test, "; ".join(words), reported)


def _growth(claim: papers.Growth, files: _Files) -> _Answer:
    """A statement about the limit can be supported by a finite run, but not refuted."""
    found = files.find(claim.line)
    start = found.shipped.experiment.horizon // 10
    early, late = _mean_and_error(found.values(start)), _mean_and_error(found.line.final)
    span = math.log(found.shipped.experiment.horizon / start)
    exponent = math.log(late[0] / early[0]) / span
    error = math.hypot(early[1] / early[0], late[1] / late[0]) / span
    p = significance.two_sided((exponent - claim.at_most) / error) / 2
    p = 1 - p if exponent > claim.at_most else p
    power = (
        f"an exponent {significance.detectable_number(error):.2g} below it is found with probability "
        f"{significance.POWER:g}"
    )
    test = Test("one-sided z test", p, found.line.count, power)
    detail = f"between t = {number(start)} and {_number(found.shipped.times[-1])}, {found.label}"
    reported = f"at most {claim.at_most:g} in the limit"
    held: Held = "held" if p <= ALPHA else "not decided"
    return _Answer(held, f"exponent {with_error(exponent, error)}", test, detail, reported)


_JUDGES: dict[str, Callable[[Any, _Files], _Answer]] = {
    "ratio": _ratio, "less": _less, "straight": _straight, "noise": _noise, "threshold": _threshold,
    "crossing": _crossing, "gap": _gap, "fading": _fading, "spread": _spread, "growth": _growth,
}  # fmt: skip


def _verdict(claim: Any, files: _Files) -> Verdict:
    try:
        answer = _JUDGES[claim.kind](claim, files)
    except Missing as missing:
        return Verdict(claim.says, "not checked", str(missing), basis=claim.basis)
    return Verdict(claim.says, answer.held, answer.measured, answer.reported, answer.detail, answer.test, claim.basis)


def verdicts(figure: Figure, folder: Path | str | None = None) -> list[Verdict]:
    """One verdict per statement about the figure, from the shipped files (or those in ``folder``)."""
    found = []
    for claim in figure.claims:
        if isinstance(claim, papers.Unchecked):
            found.append(Verdict(claim.says, "not checked", claim.why, basis=claim.basis))
            continue
        other = claim.model_copy(update={"many": ""}) if isinstance(claim, papers.Gap) else claim
        readings = tuple(
            (papers.study(figure.name, name).says, _verdict(other, _Files(figure, folder, name)))
            for name in claim.readings
        )
        found.append(replace(_verdict(claim, _Files(figure, folder, claim.study)), readings=readings))
    return found


def reading_words(name: str, verdict: Verdict) -> str:
    """What came out under another reading, in one line."""
    return f"{name}: {verdict.held}, {verdict.measured}" + (f"; {verdict.test.outcome}" if verdict.test else "")
