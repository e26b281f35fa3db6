"""Can we reproduce what a paper says of a figure? Computed from the shipped results by tests, never typed in."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from bandit_core.literature import papers, reproductions, significance
from bandit_core.literature.papers import Figure
from bandit_core.literature.reproductions import Shipped, ShippedLine
from bandit_core.literature.significance import ALPHA, AS_LITTLE, MARGIN, Order
from bandit_core.mechanisms.batch import noisy_share
from bandit_core.simulation.results import baseline, estimate, linear_fit, share_limits
from bandit_core.spec import number_text
from bandit_core.spec.errors import InputError
from bandit_core.spec.number_text import number, percent
from bandit_core.studies.sweep import MECHANISMS

# ---------------------------------------------------------------------------------------------------------------------
# Can we reproduce what a paper says of a figure? Computed from the shipped results by tests, never typed in.
#
# An order of regrets: Wilcoxon's signed-rank test over pairs of trials (lines of one file share their streams), Mann
# and Whitney's test between files. Several pairs are confirmed together when each one is at the full size
# (intersection-union: their joint size is no larger), and not confirmed when the smallest p value the other way round
# stands after Holm's correction. Where the mean difference is not clearly of the same sign, it is inconclusive. A
# printed number agrees by an equivalence test within `significance.MARGIN` of it, whose error includes that of the
# paper's own runs; else it is compatible, or not confirmed where a test tells it from ours. An extreme of n runs: the
# probability of the paper's outcome under our simulated distribution. Sizes are `significance.ALPHA` throughout.


Held = Literal["confirmed", "compatible", "not confirmed", "inconclusive", "not checked"]
_RESAMPLES = 2000
_STUCK = 0.1  # of the largest possible regret, beyond the median run
HOW = (papers.FOLDER / "verdicts.md").read_text(encoding="utf-8").strip().format_map(vars(significance))


@dataclass(frozen=True)
class Test:
    """How a verdict was reached: the test, its p value, the trials it rests on, and which effect it can detect.

    ``p`` is the probability of something at least as extreme if the verdict were wrong; for "inconclusive", if the
    statement were wrong; for what is compatible and for extremes, that of the paper's outcome under our distribution.
    """

    __test__ = False  # pytest: not a test of ours

    name: str
    p: float
    trials: int
    detectable: str

    @property
    def outcome(self) -> str:
        """The p value and the trials it rests on."""
        return f"p {'< 0.0001' if self.p < 1e-4 else f'= {self.p:.2g}'}, {self.trials:,} trials"

    @property
    def words(self) -> str:
        """In one line."""
        return f"{self.name}, size {ALPHA:g}, {self.outcome}; {self.detectable}"


@dataclass(frozen=True)
class Verdict:
    """One statement of a paper beside our measurement. ``reported`` is what the paper prints, if it prints a number;
    ``measured`` ours with its error; ``detail`` says what was compared; ``readings`` are verdicts under other readings
    of the paper, each by its name; ``about_a_number`` whether it is about a printed number, not about an order."""

    says: str
    held: Held
    measured: str
    reported: str = ""
    detail: str = ""
    test: Test | None = None
    basis: Literal["text", "reading"] = "text"
    readings: tuple[tuple[str, Verdict], ...] = ()
    about_a_number: bool = False

    @property
    def explained(self) -> str:
        """For what was not confirmed or is inconclusive: under which of the readings it comes out."""
        tried = [(name, verdict) for name, verdict in self.readings if verdict.held != "not checked"]
        if self.held not in ("not confirmed", "inconclusive") or not tried:
            return ""
        come_out = [name for name, verdict in tried if verdict.held in ("confirmed", "compatible")]
        if come_out:
            return f"It is {self.yes} with: {'; '.join(come_out)}."
        return f"No other reading gives it ({'; '.join(name for name, _ in tried)})."

    @property
    def yes(self) -> Held:
        """The best verdict that such a statement can get."""
        return "compatible" if self.about_a_number else "confirmed"


class Missing(LookupError):
    """Why a statement is not checked: a shipped file that it needs has not been made or is damaged, or the data say."""


# ---------------------------------------------------------------------------------------------------------------
# Looking up


@dataclass(frozen=True)
class _Place:
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

    def find(self, reference: str) -> _Place:
        """The line that a statement calls ``policy or label``, or ``preset/policy or label``."""
        preset, slash, name = reference.partition("/")
        shipped = self.file(preset) if slash else self.only
        name = name if slash else reference
        lines = shipped.experiment.lines
        labels = [number for number in range(len(lines)) if shipped.experiment.label(number) == name]
        matches = labels or [number for number, line in enumerate(lines) if line.policy == name]
        if len(matches) != 1:
            raise LookupError(f"{shipped.name}: {reference!r} means {len(matches)} lines")
        return _Place(shipped, matches[0])


_number, with_error = partial(number, whole=True), partial(number_text.with_error, whole=True)


def _chance(estimate: float, low: float, high: float) -> str:
    """``0.33 (0.041 to 0.61)``, to two digits."""
    words = ["0" if chance < 1e-4 else f"{chance:.2g}" for chance in (estimate, low, high)]
    return f"{words[0]} ({words[1]} to {words[2]})"


# ---------------------------------------------------------------------------------------------------------------
# The statements, by kind


def _compare(small: _Place, large: _Place, at: int | None = None, factor: float = 1.0) -> Order:
    together = small.shipped is large.shipped and not small.shipped.tally
    test = significance.paired if together else significance.unpaired
    return test(small.values(at), factor * large.values(at))


def _side(order: Order, pairs: int) -> Held:
    """The verdict on one of several pairs; inconclusive where the mean does not clearly say what most runs say."""
    if order.p_for <= ALPHA and order.in_the_mean:
        return "confirmed"
    return "not confirmed" if order.p_against <= ALPHA / pairs and order.gap <= 0 else "inconclusive"


def _together(orders: Sequence[Order]) -> tuple[Held, Test]:
    """Intersection-union for "all hold", the first step of Holm's procedure for "one does not"."""
    sides = [_side(order, len(orders)) for order in orders]
    held: Held = max(sides, key=("confirmed", "inconclusive", "not confirmed").index)
    weakest = max(orders, key=lambda order: order.p_for)
    p, name = weakest.p_for, weakest.test
    if held == "not confirmed":
        weakest = min(orders, key=lambda order: order.p_against)
        p = min(1.0, len(orders) * weakest.p_against)
    if len(orders) > 1:
        name += f" of {len(orders)} pairs, {'Holm' if held == 'not confirmed' else 'intersection-union'}"
    return held, Test(name, p, min(order.trials for order in orders), _detectable(weakest))


def _detectable(order: Order) -> str:
    """Which order its test finds with probability `significance.POWER`."""
    of = "averages of two pairs" if order.test.startswith("Wilcoxon") else "pairs"
    if order.detectable >= 1:
        return f"with so few trials no order is found with probability {significance.POWER:g}"
    return f"an order that {percent(order.detectable)} of {of} show is found with probability {significance.POWER:g}"


def _times(small: np.ndarray, large: np.ndarray, together: bool) -> tuple[float, float]:
    """How many times as much the first loses on average, with its error; ``together``: trial by trial."""
    ratio = float(small.mean() / large.mean())
    spreads = [small - ratio * large] if together else [small, ratio * large]
    squares = sum(float(each.var(ddof=1)) / len(each) for each in spreads)
    return ratio, math.sqrt(squares) / float(large.mean())


def _pair_words(small: _Place, large: _Place, at: int | None, order: Order, factor: float = 1.0) -> str:
    apart = small.shipped is not large.shipped
    names = [f"{found.shipped.name}: {found.label}" if apart else found.label for found in (small, large)]
    values = [with_error(*estimate(found.values(at))[:2]) for found in (small, large)]
    note = ", but the mean does not clearly say so" if order.p_for <= ALPHA and not order.in_the_mean else ""
    smaller = "smaller" if factor == 1 else f"less than {factor:g} times it"
    return f"{names[0]} {values[0]}, {names[1]} {values[1]}: {smaller} in {percent(order.share)} of pairs{note}"


def _ordered(says: str, pairs: Sequence[tuple[_Place, _Place]], at: int | None = None, factor: float = 1.0) -> Verdict:
    """The first of each pair has the smaller regret, or less than ``factor`` times that of the second."""
    orders = [_compare(small, large, at, factor) for small, large in pairs]
    held, test = _together(orders)
    details = [_pair_words(*pair, at, order, factor) for pair, order in zip(pairs, orders, strict=True)]
    if len(orders) == 1 and factor > 1:
        [(small, large)] = pairs
        measured = f"{with_error(*_times(small.values(at), large.values(at), small.shipped is large.shipped))} times"
    elif len(orders) == 1:
        measured = (
            f"smaller in {percent(orders[0].share)} of pairs, mean difference "
            f"{with_error(orders[0].gap, orders[0].error)}"
        )
    else:
        sides = [_side(order, len(orders)) for order in orders]
        against = f", {sides.count('not confirmed')} reversed" if "not confirmed" in sides else ""
        unclear = sum(order.p_for <= ALPHA and not order.in_the_mean for order in orders)
        mean = f", in {unclear} the mean does not clearly say so" if unclear else ""
        measured = f"{sides.count('confirmed')} of {len(orders)} comparisons confirmed{against}{mean}"
    return Verdict(says, held, measured, detail="; ".join(details), test=test)


def _less(claim: papers.Less, files: _Files) -> Verdict:
    pairs = [*claim.pairs, *zip(claim.rising, claim.rising[1:], strict=False)]
    return _ordered(
        claim.says,
        [(files.find(small), files.find(large)) for small, large in pairs],
        claim.at,
        AS_LITTLE if claim.as_little else 1.0,
    )


def _ratio(claim: papers.Ratio, files: _Files) -> Verdict:
    """The paper's curves have ``runs`` runs of realised regret each: spread over runs and noise of the rewards."""
    place = files.find(claim.line)
    free = baseline(place.shipped.experiment, place.number)
    assert free is not None and place.line.price is not None and place.line.price_stderr is not None
    base = _Place(place.shipped, free)
    ratio, ours = float(place.line.price[-1]), float(place.line.price_stderr[-1])
    level = float(base.line.final.mean())
    spreads = [each.line.final.var(ddof=1) + (each.line.noise or 0.0) for each in (place, base)]
    theirs = math.sqrt((spreads[0] + ratio**2 * spreads[1]) / claim.runs) / level
    error = math.hypot(ours, theirs)
    held, test = _printed_number(claim, ratio, error, place.line.count)
    measured = with_error(ratio, ours)
    if held == "compatible":
        low, high = significance.compatible_range(claim.reported, error, claim.half)
        measured += f" (anything from {_number(low)} to {_number(high)} would be compatible)"
    detail = (
        f"at T = {number(place.shipped.times[-1])}; {claim.runs} runs of realised regret give a ratio with a standard "
        f"deviation of {_number(theirs)}, ours is known to {_number(ours)}"
    )
    return Verdict(claim.says, held, measured, f"{claim.reported:g}", detail, test)


def _printed_number(claim: papers.Ratio, ratio: float, error: float, trials: int) -> tuple[Held, Test]:
    """Equivalence within the margin, else whether ours can be told from the printed number."""
    distance, margin = ratio - claim.reported, MARGIN * claim.reported
    agrees = significance.equivalent(distance, error, margin)
    detectable = (
        f"a true ratio {_number(significance.detectable_number(error) + claim.half)} away from the printed one is "
        f"found with probability {significance.POWER:g}"
    )
    if agrees <= ALPHA:
        return "confirmed", Test(f"equivalence within {MARGIN:.0%}, two z tests", agrees, trials, detectable)
    p = significance.two_sided(max(0.0, abs(distance) - claim.half) / error)
    held: Held = "compatible" if p > ALPHA else "not confirmed"
    name = f"z test with the error of the paper's own runs (equivalence within {MARGIN:.0%}: p = {agrees:.2g})"
    return held, Test(name, p, trials, detectable)


def _v_of_lines(shipped: Shipped) -> np.ndarray:
    """V_L or V_B of every line, shape (lines,)."""
    values = []
    for line, setup in zip(shipped.experiment.lines, shipped.experiment.setups, strict=True):
        values.append(MECHANISMS[line.policy][1](setup.budgets, setup.parameters.eps_min))
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


def _straight(claim: papers.Straight, files: _Files) -> Verdict:
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
    held: Held = "confirmed" if below <= ALPHA else "not confirmed" if refuted else "inconclusive"
    p = 1 - below if held == "not confirmed" else below
    test = Test("bootstrap of the runs", p, min(map(len, finals)), f"R² lies between {low:.4f} and {high:.4f}")
    reported = "" if claim.reported is None else f"R² = {claim.reported:g}"
    detail = (
        f"{len(v)} points at T = {number(shipped.times[-1])}; slope {_number(slope)}, intercept {_number(intercept)}; "
        f"{claim.at_least:g} wanted"
    )
    return Verdict(claim.says, held, f"R² = {r_squared:.4f}", reported, detail, test)


def _noise(claim: papers.Noise, _: _Files) -> Verdict:
    """By the account alone: nothing is random, so nothing is tested."""
    deltas = np.array(sorted(claim.deltas, reverse=True))
    shares = np.array([noisy_share(claim.users, claim.epsilon, float(delta)) for delta in deltas])
    spread = np.sqrt(claim.users * shares * (2 - shares)) / 2 / (1 - shares)  # of the estimate of how many bits are 1
    r_squared = linear_fit(_root(deltas), spread)[2]
    exponent = math.log(spread[-1] / spread[-2]) / math.log(math.log(deltas[-1]) / math.log(deltas[-2]))
    held: Held = "confirmed" if r_squared >= claim.at_least else "not confirmed"
    noisy = [f"{_number(claim.users * share)} at {delta:g}" for delta, share in zip(deltas, shares, strict=True)]
    detail = (
        f"of {claim.users:,} users at ε = {claim.epsilon:g} so many answer at random, by δ: {', '.join(noisy)}; from "
        f"the last δ but one to the last the spread grows as ln(1/δ) to the power {exponent:.2f}; R² of "
        f"{claim.at_least:g} wanted"
    )
    return Verdict(claim.says, held, f"R² = {r_squared:.4f} by the account", detail=detail)


def _threshold(claim: papers.Threshold, files: _Files) -> Verdict:
    shipped = files.only
    chosen = int(np.argmin(_v_of_lines(shipped)))
    best = int(np.argmin([line.mean[-1] for line in shipped.lines]))
    others = [number for number in range(len(shipped.lines)) if number != chosen]
    verdict = _ordered(claim.says, [(_Place(shipped, chosen), _Place(shipped, other)) for other in others])
    label = shipped.experiment.label
    return replace(verdict, measured=f"V chooses {label(chosen)}, simulation {label(best)}")


def _crossing(claim: papers.Crossing, files: _Files) -> Verdict:
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
    return Verdict(claim.says, held, measured, detail=detail, test=test)


def _first_release(place: _Place) -> int:
    """When a noisy release comes first: until then a policy that waits for it learns nothing."""
    experiment = place.shipped.experiment
    setup, spent = experiment.setups[place.number], experiment.lines[place.number].entry.spent
    return bisect_left(range(setup.horizon), True, 1, key=lambda t: bool(spent(setup, np.array([t]))[0] > 0))


def _stuck(place: _Place) -> tuple[float, str]:
    """The share of runs that are stuck, and how many of how many with the interval of the share."""
    final, experiment = place.line.final, place.shipped.experiment
    limit = _STUCK * experiment.horizon * experiment.largest_gap
    count = int(np.sum(final > np.median(final) + limit))
    low, high = map(float, share_limits(count, len(final)))
    words = (
        f"stuck ({_STUCK:.0%} of the largest possible regret beyond the median run) are {count} of {len(final):,} "
        f"runs, {percent(low)} to {percent(high)}"
    )
    return count / len(final), words


def _gap(claim: papers.Gap, files: _Files) -> Verdict:
    """As every order: where the mean does not say what most runs say (some are stuck for good), it is inconclusive."""
    one, other, after = files.find(claim.line), files.find(claim.other), claim.after
    early, late = (one.values(at) - other.values(at) for at in (after, None))
    order, first = significance.paired(late, early), _first_release(one)
    held = _side(order, 1)
    if first >= after:
        held = "inconclusive"
    many = _Files(files.figure, files.folder, claim.many) if claim.many else files
    share, stuck = _stuck(many.find(claim.line))
    medians, means = [float(np.median(gap)) for gap in (early, late)], [estimate(gap)[:2] for gap in (early, late)]
    detail = (
        f"the first release comes at t = {number(first)}; from t = {number(after)} to {number(one.shipped.times[-1])} "
        f"the median gap went from {_number(medians[0])} to {_number(medians[1])}, the mean gap from "
        f"{with_error(*means[0])} to {with_error(*means[1])}; {stuck}"
    )
    grown = late - early
    measured = (
        f"median {float(np.median(grown)):+.3g}, mean {with_error(*estimate(grown)[:2])}; "
        f"{percent(share)} of runs are stuck"
    )
    p = order.p_against if held == "not confirmed" else order.p_for
    test = Test(order.test, p, order.trials, _detectable(order))
    return Verdict(claim.says, held, measured, detail=detail, test=test)


def _fading(claim: papers.Fading, files: _Files) -> Verdict:
    one, other = files.find(claim.line), files.find(claim.other)
    early, late = (
        (one.values(at) - other.values(at)) / (at or one.shipped.experiment.horizon) for at in (claim.after, None)
    )
    order = significance.paired(late, early)
    held, test = _together([order])
    ends = [with_error(*estimate(gap)[:2]) for gap in (early, late)]
    measured = f"per user {ends[0]} at t = {number(claim.after)}, {ends[1]} at {number(one.shipped.times[-1])}"
    detail = f"{one.label} less {other.label}; smaller in {percent(order.share)} of runs"
    return Verdict(claim.says, held, measured, detail=detail, test=test)


def _spread(claim: papers.Spread, files: _Files) -> Verdict:
    """The probability that the paper's number of runs shows what it reports; lines are taken as independent."""
    lines = [files.find(reference) for reference in claim.lines]
    width = claim.below if claim.below is not None else (claim.reaches or 0.0) - claim.half
    chances = [significance.chance_of_narrow(each.line.final, claim.runs, width) for each in lines]
    estimate, low, high = (float(np.prod(ends)) for ends in zip(*chances, strict=True))
    if claim.reaches is not None:
        estimate, low, high = 1 - estimate, 1 - high, 1 - low
    held: Held = "not confirmed" if high <= ALPHA else "compatible" if low > ALPHA else "inconclusive"
    words = [
        f"{each.label} {float(np.ptp(each.line.final)):,.0f} in {each.line.count:,} runs, "
        f"below {width:,g} with probability {_chance(*chance)}"
        for each, chance in zip(lines, chances, strict=True)
    ]
    trials = min(each.line.count for each in lines)
    interval = f"interval {_chance(estimate, low, high).partition(' ')[2]}"
    test = Test(f"probability of the paper's outcome in {claim.runs} runs", estimate, trials, interval)
    reported = f"below {width:,g}" if claim.reaches is None else f"{claim.reaches:,g}"
    measured = f"probability {_chance(estimate, low, high)}"
    return Verdict(claim.says, held, measured, reported, "; ".join(words), test)


def _growth(claim: papers.Growth, files: _Files) -> Verdict:
    """A statement about the limit can be supported by a finite run, but not refuted."""
    place = files.find(claim.line)
    start = place.shipped.experiment.horizon // 10
    early, late = estimate(place.values(start))[:2], estimate(place.line.final)[:2]
    span = math.log(place.shipped.experiment.horizon / start)
    exponent = math.log(late[0] / early[0]) / span
    error = math.hypot(early[1] / early[0], late[1] / late[0]) / span
    p = significance.two_sided((exponent - claim.at_most) / error) / 2
    p = 1 - p if exponent > claim.at_most else p
    detectable = (
        f"an exponent {significance.detectable_number(error):.2g} below it is found with probability "
        f"{significance.POWER:g}"
    )
    test = Test("one-sided z test", p, place.line.count, detectable)
    detail = f"between t = {number(start)} and {_number(place.shipped.times[-1])}, {place.label}"
    reported = f"at most {claim.at_most:g} in the limit"
    held: Held = "confirmed" if p <= ALPHA else "inconclusive"
    return Verdict(claim.says, held, f"exponent {with_error(exponent, error)}", reported, detail, test)


def _unchecked(claim: papers.Unchecked, _: _Files) -> Verdict:
    raise Missing(claim.why)


_JUDGES: dict[str, Callable[[Any, _Files], Verdict]] = {
    "ratio": _ratio, "less": _less, "straight": _straight, "noise": _noise, "threshold": _threshold,
    "crossing": _crossing, "gap": _gap, "fading": _fading, "spread": _spread, "growth": _growth,
    "unchecked": _unchecked,
}  # fmt: skip


def _verdict(claim: Any, files: _Files) -> Verdict:
    try:
        verdict = _JUDGES[claim.kind](claim, files)
    except Missing as missing:
        verdict = Verdict(claim.says, "not checked", str(missing))
    return replace(verdict, basis=claim.basis, about_a_number=claim.about_a_number)


def verdicts(figure: Figure, folder: Path | str | None = None) -> list[Verdict]:
    """One verdict per statement about the figure, from the shipped files (or those in ``folder``)."""
    judged = []
    for claim in figure.claims:
        other = claim.model_copy(update={"many": ""}) if isinstance(claim, papers.Gap) else claim
        readings = tuple(
            (papers.study(figure.name, name).says, _verdict(other, _Files(figure, folder, name)))
            for name in claim.readings
        )
        judged.append(replace(_verdict(claim, _Files(figure, folder, claim.study)), readings=readings))
    return judged


def reading_words(name: str, verdict: Verdict) -> str:
    """What came out under another reading, in one line."""
    return f"{name}: {verdict.held}, {verdict.measured}" + (f"; {verdict.test.outcome}" if verdict.test else "")


# ---------------------------------------------------------------------------------------------------------------------
# The verdicts as Markdown: every statement and its verdict, and on request readings, tests and how files were made.


_Judged = list[tuple[str, Verdict]]


def table(names: list[str], folder: Path | None = None, details: bool = False) -> str:
    """The verdict on every statement about the files of these names, and ``details`` of each: Markdown."""
    more = "" if details else " `--details` adds other readings, the tests and how long each file took."
    out = [
        "# Can we reproduce the papers' figures?\n",
        f"Made by `python -m bandit_core reproduce --table`; do not edit by hand.{more}\n",
    ]
    wanted = [
        (paper, figure)
        for paper in papers.papers()
        for figure in paper.figures
        if not figure.presets or set(figure.presets) & set(names)
    ]
    judged = [
        (f"{paper.short}, {figure.title.partition(':')[0]}", verdict)
        for paper, figure in wanted
        for verdict in verdicts(figure, folder)
    ]
    out += [
        f"{' '.join(tally(verdict for _, verdict in judged))} Those with * are our reading of a theorem, the others "
        "are the paper's own.\n",
        f"{HOW}\n",
        "\n".join(["| figure | statement | paper | here | |", "|---|---|---|---|---|", *_rows(judged)]) + "\n",
    ]
    if details:
        tests = [f"| {title} | {each.says} | {each.test.words} |" for title, each in judged if each.test is not None]
        out += [
            "## Other readings\n",
            "\n".join(_explanations(judged)) + "\n",
            "## The tests\n",
            "\n".join(["| figure | statement | test |", "|---|---|---|", *tests]) + "\n",
            "## How long it took\n",
            _costs(names, folder),
        ]
    return "\n".join(out)


def tally(judged: Iterable[Verdict]) -> tuple[str, str]:
    """How many statements on orders and shapes have which verdict; and the same of printed numbers and extremes."""
    verdicts = list(judged)

    def counted(about_a_number: bool, what: str) -> str:
        counts = Counter(each.held for each in verdicts if each.about_a_number == about_a_number)
        counts.pop("not checked", None)
        words = ", ".join(f"{counts[held]} {held}" for held in get_args(Held) if held in counts)
        return f"{sum(counts.values())} {what}: {words or 'none'}."

    missing = sum(each.held == "not checked" for each in verdicts)
    numbers = counted(True, "printed numbers and extremes")
    return counted(False, "statements on orders and shapes"), f"{numbers} {missing} not checked, each with its reason."


def _rows(judged: _Judged) -> list[str]:
    rows = []
    for title, verdict in judged:
        word = f"**{verdict.held}**" if verdict.held == "not confirmed" else verdict.held
        mark = " *" if verdict.basis == "reading" else ""
        rows.append(f"| {title} | {verdict.says}{mark} | {verdict.reported} | {verdict.measured} | {word} |")
    return rows


def _explanations(judged: _Judged) -> list[str]:
    """Every statement that was judged under other readings, with what came out."""
    rows = []
    for title, verdict in judged:
        if not verdict.readings:
            continue
        rows.append(f"- {title}: {verdict.says} **{verdict.held}**. {verdict.explained}".rstrip())
        rows += [f"  - {reading_words(name, other)}" for name, other in verdict.readings]
    return rows


_TITLE, _SAYS, _HELD = 0, 1, 4  # columns of a row of the table


def _read_rows(text: str) -> dict[tuple[str, str], tuple[str, str]]:
    """Verdict and measurement of every statement of a table, by figure and statement."""
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" |")]
        if len(cells) == _HELD + 1 and cells[_HELD].strip("*") in get_args(Held):
            rows[cells[_TITLE], cells[_SAYS]] = (cells[_HELD].strip("*"), cells[_HELD - 1])
    return rows


def changes(before: str, after: str) -> str:
    """The statements whose verdicts differ between two tables as `table` writes them, as Markdown."""
    old, new = _read_rows(before), _read_rows(after)
    rows = ["| figure | statement | before | now | before, measured | now, measured |", "|---|---|---|---|---|---|"]
    for key in [*new, *(key for key in old if key not in new)]:
        then, now = old.get(key, ("–", "–")), new.get(key, ("–", "–"))
        if then[0] != now[0]:
            rows.append(f"| {key[0]} | {key[1]} | {then[0]} | {now[0]} | {then[1]} | {now[1]} |")
    return "\n".join(rows) + "\n"


def _costs(names: list[str], folder: Path | None) -> str:
    rows = [
        "| file | users | trials | seconds | processor seconds | from the cache | date | machine |",
        "|---|---|---|---|---|---|---|---|",
    ]
    wall = work = reused = 0.0
    for name in names:
        shipped = reproductions.load(name, folder)
        if shipped is None:
            rows.append(f"| {name} | not made yet | | | | | | |")
            continue
        made = shipped.made
        wall, work, reused = wall + made["seconds"], work + made["processor_seconds"], reused + made["found"]
        trials = f"{min(line.count for line in shipped.lines)} of {shipped.experiment.trials}"
        rows.append(
            f"| {name} | {shipped.experiment.horizon:.0e} | {trials} | {made['seconds']:.1f} | "
            f"{made['processor_seconds']:.1f} | {made['found']:.0%} | {made['date']} | "
            f"{made['machine']}, {made['cores']} cores |".replace("e+0", "e")
        )
    total = f"Together {wall / 60:.1f} minutes on the clock, {work / 60:.1f} of processor time. "
    words = (
        "Compiling is not counted. Seconds on the clock include waiting for other programs on the same machine; "
        "processor seconds divided by the number of cores are what an idle machine needs at least."
    )
    if reused:
        words += " Lines that several figures share were computed once: what was found in the cache took no time."
    return "\n".join(rows) + "\n\n" + total + words + "\n"
