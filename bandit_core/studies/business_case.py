"""A practitioner's question: typed rates as arms, and what each trust model loses.

Options whose means are not known exactly: lifts typed as ranges or as unknown, and means within their intervals.

`DRAWS` sets of options stand for what is not known. Simulated runs are spread evenly over them, so a mean over the runs
is a mean over what is not known, too, and its spread has two sources: chance, and the options.

Amounts of two parts as typed: most users bring nothing, the others an amount with a lognormal distribution.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from bandit_core.data.observations import MAX_OPTIONS, Option
from bandit_core.model import PROMISES, Privacy
from bandit_core.simulation.results import NOT_KNOWN, Estimate, Result, reference
from bandit_core.spec.errors import InputError, Issue, raise_any, refuse_if
from bandit_core.spec.field_types import SMALLEST
from bandit_core.spec.number_text import either, read_shares, typed_numbers, write_number
from bandit_core.spec.rewards import MAX_OBSERVED, Arm, Bernoulli, Empirical, TwoPoint
from bandit_core.studies.goal_search import Goal, Kind, no_better_than

GOALS: tuple[Kind, ...] = ("price", "extra", "regret", "percent")
UNKNOWN: Literal["?"] = "?"  # a lift of which nothing is known
Lift = float | tuple[float, float] | Literal["?"]  # exact, anything between two ends, or not known
_RANGE = re.compile(r"([+-]?[\d.]+(?: ?%)?)(?:-| - | ?to ?|\.\.)([+-]?[\d.]+(?: ?%)?)")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d(?!\d)|0\d)")  # as it may be; before 15 it stands between two lifts
LITTLE = 0.9  # a loss above this share of what choosing at random loses: next to nothing is learned


def goal(kind: Kind, limit: float, low: float, high: float) -> Goal:
    """A limit in the asker's unit, whose rewards lie between ``low`` and ``high``, as a goal for rewards in [0, 1]."""
    scale = high - low
    return Goal(kind, limit / scale if kind in ("extra", "regret") else limit, low / scale)


def read_lifts(text: str, relative: bool = True) -> list[Lift]:
    """Expected lifts in percent from text: ``5%, 8-15 %, ?``; with semicolons or line breaks, commas are decimal.

    ``5``, ``5%`` and ``0.05`` are the same; see `read_shares`. Lifts that are not ``relative`` are points or plain
    amounts, which no sign may follow.

    Raises
    ------
    InputError
        With every part that is neither a number, nor a range, nor ``?``, or that may be two of them: ``8,5``.
    """
    parts = re.split(r"[;\n]", text.replace(",", ".")) if re.search(r"[;\n]", text) else text.split(",")
    lifts: list[Lift] = []
    issues: list[Issue] = []
    for place, part in enumerate(filter(None, (part.strip() for part in parts))):
        try:
            lifts.append(_read_lift(f"lifts[{place}]", part, relative))
        except InputError as error:
            issues += error.issues
    raise_any(issues)
    allowed = f"{'this is empty; ' * (not lifts)}write 1 to {MAX_OPTIONS - 1} lifts, such as 20, 50"
    refuse_if(not 1 <= len(lifts) < MAX_OPTIONS, "lifts", len(lifts) or None, allowed)
    decimal, listed = _DECIMAL_COMMA.sub(".", text), [part.strip() for part in parts]
    both = f"may be {decimal} or {' and '.join(listed)}; write {decimal} or {', '.join(listed)}"
    refuse_if(decimal != text and not re.search(r",\S|\.\d+\.", decimal) and ";" not in text, "lifts", text, both)
    return lifts


def _read_lift(path: str, text: str, relative: bool) -> Lift:
    """A number, two in ascending order, or ``?``."""
    if text == UNKNOWN:
        return UNKNOWN
    found = _RANGE.fullmatch(re.sub("[−–]", "-", text))
    ends = found.groups() if found else (text,)
    numbers = [typed_numbers(end) for end in ends]
    allowed = "numbers, ranges or ?, with commas between: 5%, 8-15%, ?"
    refuse_if(not all(readings for readings, _ in numbers), path, text, allowed)
    if relative:
        read = [round(100 * share, 10) for share in read_shares(path, *ends)]
    elif any(percent for _, percent in numbers):
        raise InputError([Issue(path, text, "points or amounts without a sign, or lifts in % of the baseline")])
    else:
        for readings, _ in numbers:
            refuse_if(len(readings) > 1, path, text, either(readings))
        read = [float(readings[0]) for readings, _ in numbers]
    refuse_if(read[0] > read[-1], path, text, "the smaller end first")
    return (read[0], read[1]) if len(read) == 2 else read[0]


def typed_arms(
    baseline: float, lifts: Sequence[float], relative: bool, limits: tuple[float, float] = (0.0, 1.0)
) -> tuple[Bernoulli, ...]:
    """The baseline and an option per lift, rescaled to [0, 1].

    Of typed options only the mean is known. Between given limits the distribution that varies most pays the smallest or
    the largest amount, so this is what they are taken for: a safe assumption, as it takes longest to learn.

    Parameters
    ----------
    baseline
        Mean reward of the first option.
    lifts
        What each further option adds: a share of the baseline where ``relative`` (0.08: 8% more), else reward units.
    limits
        Smallest and largest reward of one user.

    Raises
    ------
    InputError
        With every option whose mean lies outside the limits.
    """
    low, high = limits
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError([Issue("limits", [low, high], "the smallest reward must be below the largest one")])
    means = [baseline, *(baseline * (1 + lift) if relative else baseline + lift for lift in lifts)]
    if any(lifts) and ((relative and baseline == 0) or (baseline == high and min(lifts) >= 0)):
        raise InputError([Issue("baseline", f"{baseline:.6g}", "nothing to find: no lift can move such a mean")])
    paths = ["baseline", *(f"lifts[{place}]" for place in range(len(lifts)))]
    typed = [f"{baseline:.6g}", *(f"{100 * lift:.6g}%" if relative else f"{lift:.6g}" for lift in lifts)]
    raise_any(
        Issue(path, said, f"must give a mean between {low:g} and {high:g}; this gives {mean:.6g}")
        for path, said, mean in zip(paths, typed, means, strict=True)
        if not low <= mean <= high
    )
    chances = [min(1.0, max(0.0, (mean - low) / (high - low))) for mean in means]
    raise_any(
        Issue(path, said, f"a mean of {low:g}, or more by at least {write_number(SMALLEST)} of the range")
        for path, said, chance in zip(paths, typed, chances, strict=True)
        if 0 < chance < SMALLEST
    )
    return tuple(Bernoulli(mean=chance) for chance in chances)


def observed_arms(
    options: Sequence[Option], limits: tuple[float, float]
) -> tuple[tuple[Arm, ...], float, float, tuple[float, float] | None]:
    """Observed rewards as arms in [0, 1], what 0 and 1 stand for, and the limits of a private method in these units.

    The limits are None where they cut nothing.

    Raises
    ------
    InputError
        Where the limits are none.
    """
    cut = sum(option.outside(*limits) for option in options) > 0
    low = min(limits[0], *(option.low for option in options))
    high = max(limits[1], *(option.high for option in options))
    options = [option.rescaled(low, high) for option in options]
    ends = tuple((limit - low) / (high - low) for limit in limits)
    clip = (ends[0], ends[1]) if cut else None
    return tuple(option.arm(clip) for option in options), low, high, clip


@dataclass(frozen=True)
class Cost:
    """What one trust model loses over all users, in the unit of the rewards.

    ``extra`` is the loss beyond no privacy (over pairs of trials), ``price`` the ratio to it; NaN for no privacy
    itself and where the loss without privacy is 0. ``worst`` is what one run in 20 loses more than.
    """

    line: int
    privacy: Privacy
    label: str
    lost: Estimate
    extra: Estimate
    price: Estimate
    trials: int
    worst: float = math.nan

    @property
    def price_of_privacy(self) -> Literal["more", "less", "open"]:
        """Whether more or less is lost than without privacy, or the interval of the difference leaves it open."""
        if not self.extra.differs():
            return "open"
        return "more" if self.extra.low > 0 else "less"

    def learned(self, blind: float) -> Literal["much", "little", "nothing"]:
        """How much was learned where choosing at random loses ``blind``: nothing if that is not more beyond doubt."""
        if no_better_than(self.lost, blind):
            return "nothing"
        return "little" if self.lost.value >= LITTLE * blind else "much"


def costs(result: Result, scale: float = 1.0, levels: Sequence[Privacy] = ()) -> list[Cost]:
    """A `Cost` per finished line; ``scale`` is what a reward of 1 stands for.

    ``levels`` is the trust model that each line stands for (default: that of the promise which its policy keeps).
    """
    rows = []
    for number, line in enumerate(result.lines):
        if line is None:
            continue
        chosen = result.experiment.lines[number]
        against, extra, price = reference(result, number), NOT_KNOWN, NOT_KNOWN
        if against is not None:
            extra, price = line.difference(against.played) * scale, line.ratio(against.played)
        privacy = levels[number] if levels else chosen.entry.privacy
        label = PROMISES[privacy].who if levels else chosen.written_label or chosen.entry.title
        worst = scale * float(line.quantile(0.95)[-1])
        rows.append(Cost(number, privacy, label, line.final() * scale, extra, price, line.count, worst))
    return rows


DRAWS = 20
REACH = 0.2  # share of the baseline that a lift may lie above or below it, where nothing is known of it
_COUNTED = 10**6  # weights of amounts become counts that sum to about this
_STEEPEST = 500.0  # of the exponent in `_tilted`


@dataclass(frozen=True, order=True)
class Belief:
    """What is known of an option's mean in [0, 1]: uniform between two ends, or normal with a mean and a deviation.

    ``beta``: ``low`` plus ``width`` times a beta variable of the parameters ``first`` and ``second``.
    """

    kind: Literal["uniform", "beta", "normal"]
    first: float
    second: float
    low: float = 0.0
    width: float = 1.0

    def at(self, chances: np.ndarray) -> np.ndarray:
        """The means below which the true one lies with these chances."""
        if self.kind == "uniform":
            return self.first + chances * (self.second - self.first)
        places = scipy.special.ndtri(chances)
        if self.kind == "normal":
            return np.asarray(self.first + self.second * places)
        grid = np.linspace(-5.0, 5.0, 401)  # an exact quantile takes 10 microseconds, and between these it is smooth
        return self.low + self.width * np.interp(
            places, grid, scipy.special.betaincinv(self.first, self.second, scipy.special.ndtr(grid))
        )


def drawn_means(beliefs: Sequence[Belief], draws: int) -> np.ndarray:
    """Means of each option that stand for what is not known, evenly spread, shape (draws, options).

    A Latin hypercube of the first points of Sobol's sequence. An option takes the dimension of its rank among the
    beliefs, so the draws do not depend on the order of the options.

    >>> sorted(drawn_means([Belief("uniform", 0, 2), Belief("uniform", 0, 1)], 4).tolist())
    [[0.25, 0.125], [0.75, 0.875], [1.25, 0.625], [1.75, 0.375]]
    """
    points = scipy.stats.qmc.Sobol(len(beliefs), scramble=False).random_base2(math.ceil(math.log2(draws)))[:draws]
    chances = (points.argsort(axis=0).argsort(axis=0) + 0.5) / draws
    found = np.empty_like(chances)
    for dimension, place in enumerate(sorted(range(len(beliefs)), key=lambda place: beliefs[place])):
        found[:, place] = beliefs[place].at(chances[:, dimension])
    return found


@dataclass(frozen=True)
class Options:
    """Options with rewards in [0, 1], what is known of their means, and `DRAWS` draws; nothing where all is exact."""

    arms: tuple[Arm, ...]
    beliefs: tuple[Belief, ...] = ()
    draws: tuple[tuple[Arm, ...], ...] = ()


def ranges_of(beliefs: Sequence[Belief]) -> list[tuple[float, float]]:
    """Ends of the ranges that were typed; empty where nothing was."""
    return [(each.first, each.second) for each in beliefs if each.kind == "uniform"]


def typed_options(
    baseline: float, lifts: Sequence[Lift], relative: bool, limits: tuple[float, float] = (0.0, 1.0)
) -> Options:
    """As `typed_arms`, where a lift may also be a range, in which every value is equally likely, or ``?``.

    ``?`` is anything from `REACH` of the baseline below it to as much above. The arms are those in the middle.

    Raises
    ------
    InputError
        With every option whose mean can lie outside the limits.
    """
    raise_any(
        Issue(f"lifts[{place}]", list(lift), "the smaller end first")
        for place, lift in enumerate(lifts)
        if isinstance(lift, tuple) and not lift[0] <= lift[1]
    )
    reach = REACH if relative else REACH * abs(baseline)
    ends = [(-reach, reach) if lift == "?" else lift if isinstance(lift, tuple) else (lift, lift) for lift in lifts]
    sides = [typed_arms(baseline, [pair[side] for pair in ends], relative, limits) for side in (0, 1)]
    pairs = list(zip(*([arm.mean for arm in arms] for arms in sides), strict=True))
    if all(low == high for low, high in pairs):
        return Options(sides[0])
    middle = typed_arms(baseline, [(low + high) / 2 for low, high in ends], relative, limits)
    beliefs = tuple(Belief("uniform", min(pair), max(pair)) for pair in pairs)
    drawn = drawn_means(beliefs, DRAWS).tolist()
    return Options(middle, beliefs, tuple(tuple(Bernoulli(mean=_chance(mean)) for mean in row) for row in drawn))


def shares(lifts: Sequence[Lift]) -> list[Lift]:
    """Lifts in percent as shares."""
    return [
        lift if lift == "?" else (lift[0] / 100, lift[1] / 100) if isinstance(lift, tuple) else lift / 100
        for lift in lifts
    ]


def _chance(mean: float) -> float:
    """A chance that an option takes: 0, or large enough."""
    return mean if mean == 0 else min(max(mean, SMALLEST), 1.0)


def observed(options: Sequence[Option], arms: Sequence[Arm], scale: float) -> Options:
    """Observed options with means from what the data allow; exact where an option leaves its own error unknown.

    A rate has a uniform prior. The mean of amounts is normal around the observed one; the weights of the amounts then
    change by an exponential factor, which moves the mean and keeps every amount.

    Parameters
    ----------
    options, arms
        What was observed, and the same as arms.
    scale
        What a reward of 1 of an arm is worth.
    """
    if any(option.interval is None for option in options):
        return Options(tuple(arms))
    beliefs = tuple(_believed(*each, scale) for each in zip(options, arms, strict=True))
    drawn = drawn_means(beliefs, DRAWS).tolist()
    return Options(tuple(arms), beliefs, tuple(tuple(map(_moved, arms, row)) for row in drawn))


def _believed(option: Option, arm: Arm, scale: float) -> Belief:
    """What the data say of an arm's mean."""
    if not option.yes_or_no:
        return Belief("normal", arm.expected, option.sd / math.sqrt(option.count) / scale)
    won = option.mean * option.count
    return Belief("beta", 1 + won, 1 + option.count - won, arm.expected - option.mean / scale, 1 / scale)


def _moved(arm: Arm, mean: float) -> Arm:
    """The arm with another mean and the same rewards."""
    if isinstance(arm, Bernoulli):
        return Bernoulli(mean=_chance(mean))
    if isinstance(arm, TwoPoint):
        share = (mean - arm.low) / (arm.high - arm.low)
        return arm.model_copy(update={"p_high": min(max(share, SMALLEST), 1 - SMALLEST)})
    return _tilted(arm, mean) if isinstance(arm, Empirical) and len(arm.values) > 1 else arm


def _tilted(arm: Empirical, mean: float) -> Empirical:
    """The same values with weights times exp(slope x value), so that the mean becomes this one."""
    values, weights = arm.atoms
    places = (values - values[0]) / (values[-1] - values[0])
    wanted = (mean - values[0]) / (values[-1] - values[0])

    def tilted(slope: float) -> np.ndarray:
        grown = weights * np.exp(slope * (places - (slope > 0)))
        return grown / grown.sum()

    def off(slope: float) -> float:
        return float(tilted(slope) @ places) - wanted

    inside = off(-_STEEPEST) < 0 < off(_STEEPEST)
    slope = scipy.optimize.brentq(off, -_STEEPEST, _STEEPEST) if inside else math.copysign(_STEEPEST, wanted - 0.5)
    counts = np.maximum(np.round(tilted(slope) * (_COUNTED - len(values))), 1).astype(int)
    return Empirical(values=tuple(values.tolist()), counts=tuple(counts.tolist()))


def unknown_share(values: np.ndarray, trials: np.ndarray, draws: int) -> float:
    """Share of the variance over runs that lies between the draws, in [0, 1]; NaN where runs are too few.

    Parameters
    ----------
    values, trials
        A number of each run, and its number, shape (runs,): run i plays draw i modulo ``draws``.

    >>> unknown_share(np.array([1.0, 5.0, 1.0, 5.0]), np.arange(4), 2)
    1.0
    """
    groups = [mine for place in range(draws) if len(mine := values[trials % draws == place])]
    if len(groups) < 2 or min(map(len, groups)) < 2:
        return math.nan
    within = float(np.mean([mine.var(ddof=1) for mine in groups]))
    means = np.array([mine.mean() for mine in groups])
    between = max(0.0, float(means.var(ddof=1)) - within / float(np.mean([len(mine) for mine in groups])))
    return between / (between + within) if between + within > 0 else 0.0


def chances_of_being_best(options: Sequence[Option], draws: int = 20_000) -> np.ndarray:
    """How likely each option has the largest true mean, given its observations; shape (options,).

    Rates have a uniform prior; amounts are taken as normally distributed around the observed mean. Where an option
    leaves its own error unknown (see `Option.interval`) nothing can be said: all NaN.
    """
    random = np.random.default_rng(0)
    samples = np.empty((len(options), draws))
    for place, option in enumerate(options):
        if option.yes_or_no:
            won = option.mean * option.count
            samples[place] = random.beta(1 + won, 1 + option.count - won, draws)
        elif option.interval is None:
            return np.full(len(options), np.nan)
        else:
            samples[place] = random.normal(option.mean, option.sd / math.sqrt(option.count), draws)
    return np.bincount(samples.argmax(axis=0), minlength=len(options)) / draws


PARTS = 50  # of equal weight, that stand for the amounts of those who buy
TAIL = 4  # times that the largest part is halved: it has much of the variance
LARGEST_AMOUNT = 1e9  # amount


def purchases(mean: float, sd: float) -> tuple[np.ndarray, np.ndarray]:
    """Means of parts of a lognormal distribution, ascending, and their weights in whole numbers, shape (parts,).

    >>> amounts, weights = purchases(40.0, 60.0)
    >>> round(float(np.average(amounts, weights=weights)), 9), weights[-6:].tolist()
    (40.0, [16, 8, 4, 2, 1, 1])

    Raises
    ------
    InputError
        Where the mean or the standard deviation is out of its range.
    """
    raise_any(
        Issue(name, value, f"a number above {low:g}, at most {high:g}")
        for name, value, low, high in (
            ("mean purchase", mean, 0, LARGEST_AMOUNT),
            ("standard deviation", sd, 0, 20 * mean),
        )
        if not low < value <= high
    )
    weights = 2 ** np.array([*[TAIL] * (PARTS - 1), *range(TAIL - 1, -1, -1), 0])
    ends = np.array([0, *np.cumsum(weights)]) / weights.sum()
    below = scipy.special.ndtr(scipy.special.ndtri(ends) - math.sqrt(math.log1p((sd / mean) ** 2)))
    return mean * np.diff(below) / np.diff(ends), weights


@dataclass(frozen=True)
class Sales:
    """Options as arms in [0, 1], what 0 and 1 stand for, the limits in these units, and the amounts themselves."""

    options: Options
    low: float
    high: float
    clip: tuple[float, float] | None
    amounts: tuple[Option, ...]


def sales(names: Sequence[str], rates: Options, mean: float, sd: float, limit: float) -> Sales:
    """Options of which the arms of ``rates`` say how many users buy; what lies above ``limit`` is cut with privacy.

    Raises
    ------
    InputError
        Where an amount is out of its range.
    """
    bought = purchases(mean, sd)
    refuse_if(not 0 < limit <= LARGEST_AMOUNT, "largest amount", limit, f"a number above 0, at most {LARGEST_AMOUNT:g}")

    def made(arms: Sequence[Arm]) -> tuple[Option, ...]:
        return tuple(_option(name, arm.expected, *bought) for name, arm in zip(names, arms, strict=True))

    middle = made(rates.arms)
    arms, low, high, clip = observed_arms(middle, (0.0, limit))
    draws = tuple(observed_arms(made(each), (0.0, limit))[0] for each in rates.draws)
    beliefs = [Belief("uniform", *(end * mean / high for end in pair)) for pair in ranges_of(rates.beliefs)]
    return Sales(Options(arms, tuple(beliefs), draws), low, high, clip, middle)


def _option(name: str, rate: float, amounts: np.ndarray, weights: np.ndarray) -> Option:
    """As if so many users had been observed that the share of those who bought is right to one in a million."""
    if rate == 0:
        return Option(name, np.zeros(1), np.ones(1, int))
    counts = max(1, int(0.999 * rate * MAX_OBSERVED / weights.sum())) * weights
    counts = np.array([round(counts.sum() * (1 - rate) / rate), *counts])
    return Option(name, np.array([0.0, *amounts])[counts > 0], counts[counts > 0])
