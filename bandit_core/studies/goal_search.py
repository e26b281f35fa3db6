"""From a wish to a budget: the smallest epsilon, or the fewest users, that meet a goal.

A goal is a limit on a quantity that falls as the budget grows: regret at the horizon (in all, beyond no privacy, as a
ratio to it, or in per cent of what the best arm would bring), or the share of users who do not get the best arm at the
end. It is asked of a line of an experiment, or of the best method of a trust model. The search bisects a fixed lattice
of budgets (eight per doubling), so that its simulations are found in the cache when the question, or a similar one, is
asked again, and the answer is always the same. Trials share their random streams across budgets, which keeps the curve
smooth. The stated interval holds every budget at which the 95% interval of the quantity does not rule the goal out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.experiments.arguments import check_fields, checked
from bandit_core.experiments.experiment import Experiment
from bandit_core.model import Privacy
from bandit_core.simulation.comparisons import interval
from bandit_core.simulation.engine import simulate
from bandit_core.simulation.results import LineResult, Result
from bandit_core.simulation.store import Store
from bandit_core.simulation.summaries import reference, with_companions
from bandit_core.simulation.together import Parts
from bandit_core.spec.errors import InputError, Issue
from bandit_core.studies.best_method import Contest, Decision, Question
from bandit_core.studies.sweep import at_budget
from bandit_core.studies.tradeoff import blind_regret

PER_DOUBLING = 8
LOWEST, HIGHEST = -64, 48  # lattice places: 2^-8 to 2^6
Kind = Literal["regret", "extra", "price", "percent", "missed"]


class Measured(NamedTuple):
    """A quantity and the ends of its 95% interval; NaN where they cannot be had."""

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Goal:
    """``kind`` at most ``limit``.

    "regret" is lost reward in all, "extra" what is lost beyond no privacy, "price" the ratio to it, "percent" the loss
    in per cent of what the best arm would bring, "missed" the share of the last pulls that miss the best arm.
    ``offset`` is what a reward of 0 stands for, in units of a reward of 1 ("percent" only).
    """

    kind: Kind
    limit: Annotated[float, Field(ge=0)]
    offset: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def compares(self) -> bool:
        """Whether a line without privacy is needed to measure it."""
        return self.kind in ("price", "extra")

    def measure(self, result: Result, line: int) -> Measured:
        """The quantity at the horizon."""
        chosen = result.lines[line]
        assert chosen is not None
        lost = Measured(float(chosen.mean[-1]), *chosen.final_interval())
        if self.kind == "regret":
            return lost
        if self.kind == "percent":
            whole = result.experiment.horizon * (float(result.experiment.means.max()) + self.offset) / 100
            return Measured(*(each / whole for each in lost)) if whole > 0 else Measured(math.nan)
        if self.compares:
            against = reference(result, line)
            if against is None:
                return Measured(math.nan)
            if self.kind == "price":
                return Measured(chosen.ratio_to(against.played)[0], *chosen.ratio_interval(against.played))
            return Measured(chosen.difference_to(against.played)[0], *chosen.difference_interval(against.played))
        return _missed(chosen, result.times)


def _missed(line: LineResult, times: np.ndarray) -> Measured:
    """Share of the last tenth of the run that did not go to a best arm."""
    start = min(int(np.searchsorted(times, 0.9 * times[-1])), len(times) - 2) if len(times) > 1 else None
    won = line.best_pulls[:, -1] - (line.best_pulls[:, start] if start is not None else 0.0)
    share = 1 - won / (times[-1] - (times[start] if start is not None else 0))
    return Measured(float(share.mean()), *map(float, interval(share)))


@dataclass(frozen=True)
class Point:
    """One searched budget (or horizon): the measured quantity and the ends of its 95% interval."""

    at: float
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Answer:
    """The smallest value that meets the goal, the interval the data allow, and everything that was searched.

    ``best`` is None where even the largest value searched misses the goal; ``low`` is None where even the
    smallest meets it.
    """

    best: float | None
    low: float | None
    high: float | None
    points: tuple[Point, ...]

    @property
    def measured(self) -> np.ndarray:
        """Value, low and high of every point, shape (3, points)."""
        return np.array([(point.value, point.low, point.high) for point in self.points]).T


def _place(lattice: int) -> float:
    return 2.0 ** (lattice / PER_DOUBLING)


def _users(lattice: int, most: int) -> int:
    """Whole users at a lattice place; the last one is the whole horizon, wherever that lies."""
    return min(most, round(_place(lattice)))


def _last_users(most: int) -> int:
    return math.ceil(math.log2(most) * PER_DOUBLING)


def _search(measure: Callable[[int], Measured], limit: float, first: int, last: int) -> Answer:
    """Bisect for the first lattice place whose value, and each end of its interval, is within the limit."""
    seen: dict[int, Measured] = {}

    def value(place: int, which: str) -> float:
        if place not in seen:
            seen[place] = measure(place)
        found: float = getattr(seen[place], which)
        if which != "value" and math.isnan(found) and not math.isnan(seen[place].value):
            return -math.inf if which == "low" else math.inf  # a single trial proves nothing
        return found

    def first_within(which: str) -> int | None:
        if not value(last, which) <= limit:  # also where there is no value, as a price without anything to compare
            return None
        low, high = first - 1, last  # everything up to low misses, high is within
        while high - low > 1:
            middle = (low + high) // 2
            if value(middle, which) <= limit:
                high = middle
            else:
                low = middle
        return high

    best, optimist, pessimist = (first_within(which) for which in ("value", "low", "high"))
    points = tuple(Point(_place(place), *seen[place]) for place in sorted(seen))
    return Answer(
        best=None if best is None else _place(best),
        low=None if optimist is None or optimist == first else _place(optimist - 1),
        high=None if pessimist is None else _place(pessimist),
        points=points,
    )


def _check_line(experiment: Experiment, line: int) -> None:
    if not 0 <= line < len(experiment.lines):
        raise InputError([Issue("line", line, f"must be from 0 to {len(experiment.lines) - 1}")])


def _needed(experiment: Experiment, line: int, goal: Goal) -> tuple[Experiment, int]:
    """The line alone, or for its price after all that it may be compared with, and its place there."""
    _check_line(experiment, line)
    kept = [number for number, each in enumerate(experiment.lines) if goal.compares and each.epsilon is None]
    hidden = [place for place, number in enumerate(kept) if number in experiment.view.hidden]
    lines = [experiment.spec()["lines"][number] for number in (*kept, line)]
    small = experiment.with_changes(lines=lines, view={"against": experiment.view.against, "hidden": hidden})
    return (with_companions(small) if goal.compares else small), len(kept)


def smallest_epsilon(
    experiment: Experiment,
    line: int,
    goal: Goal,
    jobs: int | None = None,
    on_point: Callable[[float], None] | None = None,
    store: Store | None = None,
) -> Answer:
    """The smallest budget at which ``line`` meets ``goal`` with the experiment's arms, horizon and trials.

    ``on_point`` hears every budget before it is simulated; an exception in it ends the search.

    Raises
    ------
    InputError
        Where the experiment has no such line.
    """
    small, place = _needed(experiment, line, goal)

    def measure(lattice: int) -> Measured:
        if on_point is not None:
            on_point(_place(lattice))
        result = simulate(at_budget(small, _place(lattice)), jobs, store=store)
        return goal.measure(result, place)

    return _search(measure, goal.limit, LOWEST, HIGHEST)


def fewest_users(
    experiment: Experiment,
    line: int,
    goal: Goal,
    jobs: int | None = None,
    on_point: Callable[[float], None] | None = None,
    store: Store | None = None,
) -> Answer:
    """The shortest horizon at which ``line`` misses the best arm no more often than ``goal`` allows.

    The lattice of horizons has eight places per doubling, from 8 up to the experiment's horizon, which is the last.

    Raises
    ------
    InputError
        For another kind of goal: regret and price do not fall as users arrive. For fewer than 16 users, and where the
        experiment has no such line.
    """
    if goal.kind != "missed":
        raise InputError([Issue("goal", goal.kind, "the fewest users can be searched for 'missed' only")])
    if experiment.horizon < 16:
        raise InputError([Issue("horizon", experiment.horizon, "at least 16 users to search in")])
    _check_line(experiment, line)
    lines = [experiment.spec()["lines"][line]]

    def measure(lattice: int) -> Measured:
        horizon = _users(lattice, experiment.horizon)
        if on_point is not None:
            on_point(float(horizon))
        result = simulate(experiment.with_changes(lines=lines, horizon=horizon, view={}), jobs, store=store)
        return goal.measure(result, 0)

    last = _last_users(experiment.horizon)
    return _whole(_search(measure, goal.limit, PER_DOUBLING * 3, last), experiment.horizon)


# ---------------------------------------------------------------------------------------------------------------
# The same by the best method of a trust model


@dataclass(frozen=True)
class Found:
    """The answer for one trust model, and the method and loss (reward units) at it; none where it is not reached.

    ``lost_high`` is the upper end of the loss's 95% interval, ``blind`` what choosing arms at random loses there.
    """

    privacy: Privacy
    answer: Answer
    method: str = ""
    lost: float = math.nan
    lost_stderr: float = math.nan
    lost_high: float = math.nan
    blind: float = math.nan

    @property
    def at_random(self) -> bool:
        """Whether the answer is met by a method that cannot be told to be better than choosing at random."""
        return no_better_than(self.lost, self.lost_high, self.blind)


def no_better_than(lost: float, high: float, blind: float) -> bool:
    """Whether a loss, up to the end ``high`` of its interval, may reach ``blind`` (less a billionth for rounding).

    NaN is an unknown end: then the loss itself counts.
    """
    return (lost if math.isnan(high) else high) >= blind * (1 - 1e-9)


class _Missing(Exception):
    """A contest that the search needs is not finished."""


class BestSearch(Parts):
    """The smallest budget, or the fewest users, at which the best method of each trust model meets a goal.

    At every searched value the best method there is looked for anew (`Contest`). Polled and stopped like a
    `Simulation`; a search whose trials are all in the store is finished as soon as it is made.

    Parameters
    ----------
    question
        Options, users and budget; the one that is searched for is replaced.
    goal
        What is to be met. The fewest users can be searched for "percent" only: what is lost in all grows with users.
    promises
        The trust models to answer for.
    users
        Search users (from 8 up to those of the question) instead of budgets.
    store
        Where trials are kept.

    Raises
    ------
    InputError
        For a goal that cannot be searched for, fewer than 16 users, or what a `Contest` refuses.
    """

    USUAL_POINTS = 14  # values that a search usually tries

    @checked
    def __init__(
        self,
        question: Question,
        goal: Goal,
        promises: Sequence[Privacy] = ("local", "central"),
        users: bool = False,
        store: Store | None = None,
    ) -> None:
        if users and goal.kind != "percent":
            raise InputError([Issue("goal", goal.kind, "the fewest users can be searched for 'percent' only")])
        if users and question.horizon < 16:
            raise InputError([Issue("users", question.horizon, "at least 16 users to search in")])
        self.question, self.goal, self.users, self.store = question, goal, users, store
        self._promises = tuple(promises)
        self._done: dict[tuple[Privacy, int | None], Decision] = {}
        self._now: Contest | None = None
        self._found: list[Found] | None = None
        self._advance(None)

    def _asked(self, place: int | None) -> Question:
        if place is None:
            return self.question
        if self.users:
            return replace(self.question, horizon=_users(place, self.question.horizon))
        return replace(self.question, epsilon=_place(place))

    def _decided(self, privacy: Privacy, place: int | None, work: Callable[[Contest], None] | None) -> Decision:
        """The best method there; raises `_Missing` where that is not known and there is no ``work``."""
        key = privacy, place
        if key not in self._done:
            contest = self._now = Contest(self._asked(place), (privacy,), self.store)
            if work is not None and not contest.finished:
                work(contest)
            decision = contest.result()
            if decision is None:
                raise _Missing
            self._let_go()
            self._done[key] = decision
        return self._done[key]

    def _measured(self, privacy: Privacy, work: Callable[[Contest], None] | None, place: int) -> Measured:
        result = self._decided(privacy, place, work).result
        if not self.goal.compares:
            return self.goal.measure(result, 0)
        base = self._decided("none", None, work).result
        both = result.experiment.with_lines((*base.experiment.lines, *result.experiment.lines))
        return self.goal.measure(Result(both, result.times, (*base.lines, *result.lines)), 1)

    def _advance(self, work: Callable[[Contest], None] | None) -> None:
        """Search as far as the finished contests reach, and further where there is ``work``."""
        first, last = LOWEST, HIGHEST
        if self.users:
            first, last = PER_DOUBLING * 3, _last_users(self.question.horizon)
        found = []
        try:
            for privacy in self._promises:
                answer = _search(partial(self._measured, privacy, work), self.goal.limit, first, last)
                found.append(self._told(privacy, answer))
        except _Missing:
            return
        self._found = found

    def _told(self, privacy: Privacy, answer: Answer) -> Found:
        message = _whole(answer, self.question.horizon) if self.users else answer
        if answer.best is None:
            return Found(privacy, message)
        decision = self._decided(privacy, round(math.log2(answer.best) * PER_DOUBLING), None)
        [line] = decision.result.lines
        assert line is not None
        method = decision.chosen(privacy).title
        blind = blind_regret(decision.result.experiment)
        _, high = line.final_interval()
        return Found(privacy, message, method, float(line.mean[-1]), float(line.stderr[-1]), high, blind)

    @property
    def _parts(self) -> list[Contest]:
        return [] if self._now is None else [self._now]

    @property
    def missing_seconds(self) -> float:
        """Rough time, on one core, of what is left: the points that a search usually tries."""
        if self._found is not None:
            return 0.0
        assert self._now is not None
        points = max(1, self.USUAL_POINTS * len(self._promises) - len(self._done))
        return points * self._now.missing_seconds

    @property
    def steps(self) -> int:
        """Pulls that the usual number of points takes at most."""
        return self.USUAL_POINTS * sum(Contest(self.question, (p,), self.store).steps for p in self._promises)

    @property
    def fraction(self) -> float:
        """Share of the usual work that is done."""
        if self._found is not None:
            return 1.0
        now = self._now.fraction if self._now is not None and not self._now.finished else 0.0
        return min(0.99, (len(self._done) + now) / (self.USUAL_POINTS * len(self._promises)))

    def run(
        self, jobs: int | None = None, on_progress: Callable[[BestSearch], None] | None = None
    ) -> list[Found] | None:
        """Compute what is missing; calls ``on_progress(self)`` after every finished block. None where stopped."""

        def work(contest: Contest) -> None:
            if not self.stopped:
                contest.run(jobs, None if on_progress is None else lambda _: on_progress(self))

        if self._found is None:
            self._advance(work)
        return self._found

    def result(self) -> list[Found] | None:
        """What was found for each trust model, once all of it is."""
        return self._found


def _whole(answer: Answer, most: int) -> Answer:
    """The same in whole users, at most ``most``."""

    def users(at: float) -> float:
        return float(min(most, round(at)))

    best, low, high = (None if at is None else users(at) for at in (answer.best, answer.low, answer.high))
    return Answer(best, low, high, tuple(replace(point, at=users(point.at)) for point in answer.points))
