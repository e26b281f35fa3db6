"""Reading a sweep: who is best at which budget, where privacy is free, and what each step of trust saves."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from bandit_core.experiments import trust_table
from bandit_core.experiments.catalogue import Corridor, corridor
from bandit_core.experiments.experiment import Experiment
from bandit_core.model import MEASURES, PROMISES, Guarantee, Measure, Privacy
from bandit_core.simulation.results import NOT_KNOWN, Estimate, LineResult, Reference, Result, reference
from bandit_core.spec.own_data import remembered
from bandit_core.studies.sweep import SweepResult, at_budget, swept_label

# ---------------------------------------------------------------------------------------------------------------------
# Reading a sweep: which policy is best at which budget, where privacy is free, where the curve is all noise.
#
# Who loses least, for every budget and every number of users at once, read off one sweep over budgets.
#
# A policy that does not ask how many users will come plays its first n users as a run of n users would (the tests hold
# every such policy to it, bit for bit), so each checkpoint of its curve is a run of that length. Policies that are made
# for one number of users have no such curve and are left out, and so are those whose run keeps a weaker promise than
# the budget says: they would win by it.


FREE_MARGIN = 0.05  # a price within 5% of 1 counts as free
LEVELS = {each.who for each in PROMISES.values()}  # whose best method may be another one at another budget
NOISE_SHARE = 0.9  # regret above 90% of what choosing blindly costs counts as nothing learned


@dataclass(frozen=True)
class Trace:
    """One line against the budget, at the horizon. Arrays have one entry per budget; NaN where nothing is done.

    ``price`` is over pairs of trials.
    """

    line: int
    label: str
    policy: str
    epsilons: np.ndarray
    mean: np.ndarray
    stderr: np.ndarray
    q05: np.ndarray
    q95: np.ndarray
    price: Estimate
    against: Reference | None  # what the price is relative to


def _at_end(line: LineResult | None) -> tuple[float, float, float, float]:
    if line is None:
        return (math.nan,) * 4
    low, high = np.quantile(line.regret[:, -1], [0.05, 0.95])
    return float(line.mean[-1]), float(line.stderr[-1]), float(low), float(high)


def traces(result: SweepResult) -> list[Trace]:
    """A `Trace` per line; lines without privacy are flat."""
    experiment = result.experiment
    found = []
    for number, line in enumerate(experiment.lines):
        ends = np.array([_at_end(point.lines[number]) for point in result.results])
        prices, against = [], None
        for point in result.results:
            mine, other = point.lines[number], reference(point, number)
            against = against or other
            prices.append(NOT_KNOWN if mine is None or other is None else mine.ratio(other.played))
        mean, stderr, q05, q95 = ends.T
        price, budgets = Estimate(*np.array(prices).T), np.array(result.epsilons)
        name = swept_label(line)
        name += f": {line.entry.title}" * (line.epsilon is not None and name in LEVELS)
        found.append(Trace(number, name, line.policy, budgets, mean, stderr, q05, q95, price, against))
    return found


@dataclass(frozen=True)
class Winner:
    """The best private line at one budget, and whether another one cannot be told apart from it."""

    epsilon: float
    line: int
    tied_with: tuple[int, ...]


def frontier(result: SweepResult) -> list[Winner]:
    """The private line with the least mean regret at every budget, and those that the trials cannot tell apart from it.

    That is decided by the 95% interval of the difference over pairs of trials.
    """
    private = [number for number, line in enumerate(result.experiment.lines) if line.epsilon is not None]
    winners = []
    for epsilon, point in zip(result.epsilons, result.results, strict=True):
        done = {number: line for number in private if (line := point.lines[number]) is not None}
        if not done:
            continue
        best = min(done, key=lambda number: float(done[number].mean[-1]))
        others = [number for number in done if number != best]
        tied = tuple(number for number in others if not done[number].difference(done[best]).low > 0)
        winners.append(Winner(epsilon, best, tied))
    return winners


def blind_regret(experiment: Experiment) -> float:
    """Regret of choosing arms at random: horizon x mean gap. Nothing is learned where a policy comes near it."""
    return experiment.horizon * float((experiment.means.max() - experiment.means).mean())


def free_from(trace: Trace) -> float | None:
    """Smallest budget from which on the price's whole interval stays below ``1 + FREE_MARGIN``.

    None where it never does, and where errors are unknown (a single trial).
    """
    free = trace.price.high <= 1 + FREE_MARGIN
    if not free[-1]:
        return None
    misses = np.flatnonzero(~free)
    return float(trace.epsilons[misses[-1] + 1 if len(misses) else 0])


def cheaper_at(trace: Trace) -> np.ndarray:
    """Budgets at which the price's whole interval lies below 1."""
    return trace.epsilons[trace.price.high < 1]


def noise_until(trace: Trace, experiment: Experiment) -> float | None:
    """Largest budget up to which the line learns next to nothing."""
    noisy = trace.mean >= NOISE_SHARE * blind_regret(experiment)
    if not noisy[0]:
        return None
    learns = np.flatnonzero(~noisy)
    return float(trace.epsilons[(learns[0] if len(learns) else len(noisy)) - 1])


def regime_change(experiment: Experiment) -> float | None:
    """Smallest epsilon with d_eps(mean, best) = d(mean, best) for every arm: the largest difference of their log-odds.

    From there on a trusted curator can do as well in the long run as no one's privacy would (the d_eps bound is met by
    DP-KLUCB and DP-IMED as closely as one likes), below it cannot. Bernoulli arms only (arXiv 2505.05613); None
    otherwise, without gaps, and where an arm always pays the same.
    """
    if any(arm.kind != "bernoulli" for arm in experiment.arms):
        return None
    best = experiment.means.max()
    worse = experiment.means[experiment.means < best]
    if not len(worse):
        return None
    with np.errstate(divide="ignore"):
        change = float((np.log(best / worse) - np.log((1 - best) / (1 - worse))).max())
    return change if math.isfinite(change) else None


@remembered(256)
def corridor_against_epsilon(experiment: Experiment, line: int, epsilons: tuple[float, ...]) -> Corridor:
    """The corridor of a private line at the horizon, with an entry per budget; it has no rate."""
    horizon = np.array([float(experiment.horizon)])
    every = [corridor(at_budget(experiment, epsilon), line, horizon) for epsilon in epsilons]
    lower, upper, blind, rate = (
        np.concatenate([getattr(each, name) for each in every]) for name in ("lower", "upper", "blind", "rate")
    )
    return replace(every[-1], lower=lower, upper=upper, blind=blind, rate=rate)


MAX_ROWS = 24


@dataclass(frozen=True)
class First:
    """The line with the least mean regret, and the one after it.

    ``clear`` where the 95% interval of their difference over pairs of trials leaves out 0.
    """

    line: int
    second: int | None
    clear: bool
    regret: Estimate
    price: Estimate


@dataclass(frozen=True)
class Map:
    """``first[row][column]`` for ``users[row]`` and ``epsilons[column]``, for one trust model; None where undone."""

    privacy: Privacy
    epsilons: tuple[float, ...]
    users: tuple[int, ...]
    first: tuple[tuple[First | None, ...], ...]


def weaker(experiment: Experiment) -> set[int]:
    """Lines whose run keeps a weaker promise than their budget or another line says: more than this epsilon, one with a
    delta, or one that hides a reward where others hide all of a user.
    """
    pairs = [*enumerate(zip(experiment.lines, experiment.setups, strict=True))]
    units = {number: line.entry.unit(setup) for number, (line, setup) in pairs if line.epsilon is not None}
    found = {number for number, unit in units.items() if unit == "one reward" and len(set(units.values())) > 1}
    for number, (line, setup) in pairs:
        guarantee = line.entry.guarantee(setup)
        more = line.epsilon is not None and (guarantee.epsilon or 0.0) > line.epsilon.largest * (1 + 1e-9)
        if more or guarantee.delta > 0:
            found.add(number)
    return found


def left_out(experiment: Experiment) -> set[int]:
    """Lines that take no part in the map: a weaker promise, or made for one number of users."""
    pairs = zip(experiment.lines, experiment.setups, strict=True)
    return weaker(experiment) | {
        number for number, (line, setup) in enumerate(pairs) if line.entry.knows_horizon(setup)
    }


def first_of(result: Result, place: int, contenders: Collection[int]) -> First | None:
    """Who of these lines has lost least at the checkpoint at ``place``; None where none of them is done."""
    done = {number: line.at(slice(place + 1)) for number in contenders if (line := result.lines[number]) is not None}
    order = sorted(done, key=lambda number: float(done[number].mean[-1]))
    if not order:
        return None
    best, second = order[0], order[1] if len(order) > 1 else None
    clear = second is None or done[second].difference(done[best]).low > 0
    against = reference(result, best, place)
    price = NOT_KNOWN if against is None else done[best].ratio(against.played.at(slice(place + 1)))
    return First(best, second, clear, done[best].final(), price)


def rows_of(times: np.ndarray) -> np.ndarray:
    """Places of at most `MAX_ROWS` checkpoints, evenly spread in the logarithm, with the last one."""
    wanted = np.geomspace(times[0], times[-1], MAX_ROWS)
    return np.unique(np.abs(np.log(times)[None, :] - np.log(wanted)[:, None]).argmin(axis=1))


def who_wins(swept: SweepResult, hidden: Collection[int] = ()) -> tuple[Map, ...]:
    """A `Map` for each trust model that has a line in it, no one trusted first; ``hidden`` lines take no part."""
    found = []
    times = swept.results[0].times
    places = rows_of(times)
    trusts: tuple[Privacy, ...] = ("local", "central")
    for privacy in trusts:
        columns = []
        for result in swept.results:
            out = left_out(result.experiment) | set(hidden)
            lines = enumerate(result.experiment.lines)
            kept = [number for number, line in lines if line.entry.privacy == privacy and number not in out]
            columns.append([first_of(result, int(place), kept) for place in places])
        if any(each is not None for column in columns for each in column):
            users = tuple(int(time) for time in times[places])
            found.append(Map(privacy, swept.epsilons, users, tuple(zip(*columns, strict=True))))
    return tuple(found)


# ---------------------------------------------------------------------------------------------------------------------
# What trust saves: the lines of an experiment in the order of their promises, step by step.
#
# Promises are counted in measures: pure, or less than that, at a delta. A step from a line with a delta to a pure one
# would change two things at once and could go either way, so each measure has a ladder of its own. At the foot of every
# one stands a pure line with less trust than all of it, as pure privacy keeps every weaker measure, too; at the top of
# every one stands the line without privacy.
#
# Whoever is trusted may also use a method that needs less trust: a level whose own line clearly loses more than a line
# that keeps at least its promise stands on that one (`standing`), so no step of trust clearly costs anything.


CLEARLY = 0.9973  # level of the interval that must leave out 0 (three standard errors of a normal): many are looked at


@dataclass(frozen=True)
class Ladder:
    """Lines whose promises are counted in one measure, least trust first; the last one may be without privacy."""

    measure: Measure
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """Two lines that follow each other on a ladder: what the level with more trust loses less at the horizon (rewards).

    ``saved`` is over pairs of trials, its interval of level `CLEARLY`. ``played`` are the lines that the two levels
    stand on, see `standing`; ``same`` says that these play the same, so that the additional trust is of no use.
    """

    stronger: int
    weaker: int
    saved: Estimate
    measure: Measure
    played: tuple[int, int]
    same: bool

    @property
    def clear(self) -> bool:
        """Whether the sign of what is saved is beyond doubt."""
        return self.saved.differs()


def kept(experiment: Experiment, line: int) -> Guarantee:
    """What a line really promises."""
    return experiment.lines[line].entry.guarantee(experiment.setups[line])


def level_of(experiment: Experiment, line: int) -> Privacy:
    """The level of trust that a line stands for: that of its promise; in Home's picture a curator may need no trust."""
    at_home = trust_table.position(experiment) is not None
    return trust_table.LEVELS[line] if at_home else experiment.lines[line].entry.privacy


def levels(experiment: Experiment) -> set[Privacy]:
    """The levels of trust that lines stand for."""
    return {level_of(experiment, line) for line in range(len(experiment.lines))}


def _trust(experiment: Experiment, line: int) -> int:
    """The larger, the more trust a line asks for."""
    return -len(PROMISES[level_of(experiment, line)].implied())


def ladder(experiment: Experiment) -> tuple[int, ...]:
    """The first visible line of each promise in each measure, the strongest promise (least trust) first."""
    first: dict[tuple[Privacy, Measure], int] = {}
    for number in experiment.drawn:
        first.setdefault((level_of(experiment, number), kept(experiment, number).measure), number)
    measures = list(MEASURES)
    return tuple(
        first[key] for key in sorted(first, key=lambda key: (_trust(experiment, first[key]), measures.index(key[1])))
    )


def ladders(experiment: Experiment, lines: Sequence[int] | None = None) -> tuple[Ladder, ...]:
    """A ladder for each measure in which a line is private; of ``lines`` only, else of all in `ladder`."""
    rungs = [line for line in ladder(experiment) if lines is None or line in lines]
    open_ = [line for line in rungs if kept(experiment, line).model == "none"]
    private = {
        measure: [line for line in rungs if line not in open_ and kept(experiment, line).measure == measure]
        for measure in MEASURES
    }
    every = []
    for measure, mine in private.items():
        if not mine:
            continue
        below = [line for line in private["pure"] if _trust(experiment, line) < _trust(experiment, mine[0])]
        every.append(Ladder(measure, (*below[-1:], *mine, *open_)))
    return tuple(every)


def _keeps(experiment: Experiment, line: int, level: int) -> bool:
    """Whether a line keeps at least what another one promises, in its measure and at no larger budget."""
    mine, theirs = kept(experiment, line), kept(experiment, level)
    if theirs.model not in PROMISES[mine.model].implied() or mine.measure not in ("pure", theirs.measure):
        return False
    if theirs.model == "none":
        return True
    units = [experiment.lines[each].entry.unit(experiment.setups[each]) for each in (line, level)]
    if units[0] == "one reward" != units[1]:
        return False
    if mine.epsilon is None or theirs.epsilon is None:  # budgets of the users' own
        return experiment.lines[line].epsilon == experiment.lines[level].epsilon
    if theirs.rho is not None:
        return (mine.epsilon**2 / 2 if mine.rho is None else mine.rho) <= theirs.rho
    return mine.epsilon <= theirs.epsilon and mine.delta <= theirs.delta


def best_lines(result: Result) -> dict[int, int]:
    """The line that each level of `ladder` stands on: its own, or the best of those that clearly lose less than that
    (95% interval at the horizon) and keep at least its promise.
    """
    experiment, hidden = result.experiment, result.experiment.view.hidden
    played = {number: line for number, line in enumerate(result.lines) if line is not None and number not in hidden}
    best = {}
    for level in ladder(experiment):
        own = played.get(level)
        better = [
            number
            for number, line in played.items()
            if own is not None
            and number != level
            and _keeps(experiment, number, level)
            and own.difference(line).low > 0
        ]
        best[level] = min(better, key=lambda number: played[number].mean[-1], default=level)
    return best


def by_level(result: Result) -> Result:
    """The result with the line that each level stands on in the place of its own, named as such."""
    experiment, moved = result.experiment, best_lines(result)
    stated, played = list(experiment.lines), list(result.lines)
    for level, line in moved.items():
        if level != line:
            used = experiment.lines[line]
            label = f"{PROMISES[level_of(experiment, level)].who}: {used.entry.title} is best"
            stated[level], played[level] = used.model_copy(update={"label": label}), result.lines[line]
    if stated == list(experiment.lines):
        return result
    return replace(result, experiment=experiment.with_lines(tuple(stated)), lines=tuple(played))


def steps(result: Result) -> tuple[Step, ...]:
    """The steps of every ladder between lines that are played; needs two trials for an error."""
    played = [number for number, line in enumerate(result.lines) if line is not None]
    stand, pairs = best_lines(result), []
    for each in ladders(result.experiment, played):
        for stronger, weaker in pairwise(each.lines):
            used = stand[stronger], stand[weaker]
            mine, theirs = (result.lines[line] for line in used)
            if mine is not None and theirs is not None:
                one, other = (result.experiment.played[line] for line in used)
                pairs.append(Step(stronger, weaker, mine.difference(theirs, CLEARLY), each.measure, used, one == other))
    return tuple(pairs)
