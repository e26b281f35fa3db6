"""From a wish to a budget: the smallest epsilon, or the fewest users, that meet a goal.

A goal is a limit on a quantity that falls as the budget grows: regret at the horizon (in all, beyond no privacy, as a
ratio to it, or in per cent of what the best arm would bring), or the share of users who do not get the best arm at the
end. It is asked of a line of an experiment, or of the best method of a trust model. The search bisects a fixed lattice
of budgets (eight per doubling), so that its simulations are found in the cache when the question, or a similar one, is
asked again, and the answer is always the same. Trials share their random streams across budgets, which keeps the curve
smooth. The stated interval holds every budget at which the 95% interval of the quantity does not rule the goal out.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from bandit_core.experiments.arguments import check_fields, checked
from bandit_core.experiments.experiment import Experiment
from bandit_core.model import Privacy
from bandit_core.simulation.questions import Round, Rounds, Study, answer, within
from bandit_core.simulation.results import NOT_KNOWN, Estimate, LineResult, Result, estimate, reference, with_companions
from bandit_core.simulation.store import Store
from bandit_core.spec.errors import InputError, Issue, refuse_if
from bandit_core.studies.best_method import Decision, Question, contest
from bandit_core.studies.sweep import at_budget
from bandit_core.studies.tradeoff import blind_regret

PER_DOUBLING = 8
LOWEST, HIGHEST = -64, 48  # lattice places: 2^-8 to 2^6
FEWEST = 3 * PER_DOUBLING  # 8 users
USUAL_POINTS = 14  # values that a search usually tries
Kind = Literal["regret", "extra", "price", "percent", "missed"]


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

    def measure(self, result: Result, line: int) -> Estimate:
        """The quantity at the horizon; all NaN where it cannot be had."""
        chosen = result.lines[line]
        assert chosen is not None
        if self.compares:
            against = reference(result, line)
            if against is None:
                return NOT_KNOWN
            return (chosen.ratio if self.kind == "price" else chosen.difference)(against.played)
        if self.kind == "missed":
            return _missed(chosen, result.times)
        lost = chosen.final()
        if self.kind == "regret":
            return lost
        whole = result.experiment.horizon * (float(result.experiment.means.max()) + self.offset) / 100
        return Estimate(*(each / whole for each in lost)) if whole > 0 else NOT_KNOWN


def _missed(line: LineResult, times: np.ndarray) -> Estimate:
    """Share of the last tenth of the run that did not go to a best arm."""
    start = min(int(np.searchsorted(times, 0.9 * times[-1])), len(times) - 2) if len(times) > 1 else None
    won = line.best_pulls[:, -1] - (line.best_pulls[:, start] if start is not None else 0.0)
    return estimate(1 - won / (times[-1] - (times[start] if start is not None else 0)))


@dataclass(frozen=True)
class Answer:
    """The smallest value that meets the goal, the interval the data allow, and what was measured wherever it was tried.

    ``best`` is None where even the largest value searched misses the goal; ``low`` is None where even the
    smallest meets it.
    """

    best: float | None
    low: float | None
    high: float | None
    points: Mapping[float, Estimate]

    @property
    def measured(self) -> np.ndarray:
        """Value, low and high of every point, shape (3, points)."""
        return np.array([(point.value, point.low, point.high) for point in self.points.values()]).T


def _epsilon(place: int) -> float:
    """The budget at a place of the lattice."""
    return 2.0 ** (place / PER_DOUBLING)


def _users(most: int) -> tuple[Callable[[int], float], int]:
    """Whole users at a place of the lattice, and the last place, which is ``most`` wherever that lies."""
    return (lambda place: float(min(most, round(_epsilon(place))))), math.ceil(math.log2(most) * PER_DOUBLING)


def _search(
    measure: Callable[[float], Rounds[Estimate]], limit: float, at: Callable[[int], float], first: int, last: int
) -> Rounds[Answer]:
    """Bisect for the first lattice place whose value, and each end of its interval, is within the limit."""
    seen: dict[float, Estimate] = {}

    def first_within(which: str) -> Rounds[int | None]:
        low, high, place = first - 1, last + 1, last  # everything up to low misses, high is within
        while high - low > 1:
            if at(place) not in seen:
                seen[at(place)] = yield from measure(at(place))
            point = seen[at(place)]
            end = getattr(point, which)
            if math.isnan(end) and not math.isnan(point.value):  # a single trial proves nothing
                end = -math.inf if which == "low" else math.inf
            if end <= limit:
                high = place
            elif place == last:  # also where there is no value, as a price without anything to compare
                return None
            else:
                low = place
            place = (low + high) // 2
        return high

    best = yield from first_within("value")
    optimist = yield from first_within("low")
    pessimist = yield from first_within("high")
    return Answer(
        best=None if best is None else at(best),
        low=None if optimist is None or optimist == first else at(optimist - 1),
        high=None if pessimist is None else at(pessimist),
        points=dict(sorted(seen.items())),
    )


def _check_line(experiment: Experiment, line: int) -> None:
    refuse_if(not 0 <= line < len(experiment.lines), "line", line, f"must be from 0 to {len(experiment.lines) - 1}")


def _needed(experiment: Experiment, line: int, goal: Goal) -> tuple[Experiment, int]:
    """The line alone, or for its price after all that it may be compared with, and its place there."""
    _check_line(experiment, line)
    kept = [number for number, each in enumerate(experiment.lines) if goal.compares and each.epsilon is None]
    hidden = [place for place, number in enumerate(kept) if number in experiment.view.hidden]
    lines = [experiment.spec()["lines"][number] for number in (*kept, line)]
    small = experiment.with_changes(lines=lines, view={"against": experiment.view.against, "hidden": hidden})
    return (with_companions(small) if goal.compares else small), len(kept)


def _at_points(
    point: Callable[[float], Experiment], goal: Goal, line: int, on_point: Callable[[float], None] | None
) -> Callable[[float], Rounds[Estimate]]:
    """What measures a goal on a line of the experiment at a value."""

    def measure(value: float) -> Rounds[Estimate]:
        if on_point is not None:
            on_point(value)
        [result] = yield Round([point(value)])
        return goal.measure(result, line)

    return measure


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
    measure = _at_points(lambda epsilon: at_budget(small, epsilon), goal, place, on_point)
    return answer(_search(measure, goal.limit, _epsilon, LOWEST, HIGHEST), jobs, store)


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
    refuse_if(goal.kind != "missed", "goal", goal.kind, "the fewest users can be searched for 'missed' only")
    refuse_if(experiment.horizon < 16, "horizon", experiment.horizon, "at least 16 users to search in")
    _check_line(experiment, line)
    alone = experiment.with_changes(lines=[experiment.spec()["lines"][line]], view={})
    measure = _at_points(lambda users: alone.with_changes(horizon=int(users)), goal, 0, on_point)
    at, last = _users(experiment.horizon)
    return answer(_search(measure, goal.limit, at, FEWEST, last), jobs, store)


# ---------------------------------------------------------------------------------------------------------------
# The same by the best method of a trust model


@dataclass(frozen=True)
class Found:
    """The answer for one trust model, and the method and loss (reward units) at it; none where it is not reached.

    ``blind`` is what choosing arms at random loses there.
    """

    privacy: Privacy
    answer: Answer
    method: str = ""
    lost: Estimate = NOT_KNOWN
    blind: float = math.nan

    @property
    def at_random(self) -> bool:
        """Whether the answer is met by a method that cannot be told to be better than choosing at random."""
        return no_better_than(self.lost, self.blind)


def no_better_than(lost: Estimate, blind: float) -> bool:
    """Whether a loss, up to the high end of its interval, may reach ``blind`` (less a billionth for rounding).

    Where that end is not known the loss itself counts.
    """
    return bool((lost.value if math.isnan(lost.high) else lost.high) >= blind * (1 - 1e-9))


def best_search(question: Question, goal: Goal, promises: Sequence[Privacy], users: bool) -> Rounds[list[Found]]:
    """The smallest value at which the best method of each trust model meets a goal; see `BestSearch`."""
    if users and goal.kind != "percent":
        raise InputError([Issue("goal", goal.kind, "the fewest users can be searched for 'percent' only")])
    refuse_if(users and question.horizon < 16, "users", question.horizon, "at least 16 users to search in")
    usual = USUAL_POINTS * len(promises)
    steps = USUAL_POINTS * sum(next(contest(question, (each,))).steps for each in promises)
    at: Callable[[int], float] = _epsilon
    first, last = LOWEST, HIGHEST
    if users:
        (at, last), first = _users(question.horizon), FEWEST
    decisions: dict[tuple[Privacy, float | None], Decision] = {}

    def decided(privacy: Privacy, value: float | None) -> Rounds[Decision]:
        asked = replace(question, trials=question.reported)
        if value is not None:
            asked = replace(asked, horizon=int(value)) if users else replace(asked, epsilon=value)
        if (privacy, value) not in decisions:
            begin, end = (min(0.99, (len(decisions) + more) / usual) for more in (0, 1))
            left = max(1, usual - len(decisions))
            decisions[privacy, value] = yield from within(contest(asked, (privacy,)), begin, end, left, steps)
        return decisions[privacy, value]

    found = []
    for privacy in promises:

        def measure(value: float, privacy: Privacy = privacy) -> Rounds[Estimate]:
            result = (yield from decided(privacy, value)).result
            if not goal.compares:
                return goal.measure(result, 0)
            base = (yield from decided("none", None)).result
            both = result.experiment.with_lines((*base.experiment.lines, *result.experiment.lines))
            return goal.measure(Result(both, result.times, (*base.lines, *result.lines)), 1)

        least = yield from _search(measure, goal.limit, at, first, last)
        if not users:  # what keeps a smaller budget keeps a larger one, too
            falling = accumulate(least.points.values(), lambda *pair: min(pair, key=lambda each: each.value))
            least = replace(least, points=dict(zip(least.points, falling, strict=True)))
        if least.best is None:
            found.append(Found(privacy, least))
            continue
        there = replace(question, horizon=int(least.best)) if users else replace(question, epsilon=least.best)
        done = min(0.99, len(decisions) / usual)
        decision = yield from within(contest(there, (privacy,)), done, done, 1, steps)
        blind, best = blind_regret(decision.result.experiment), decision.of(privacy)[0]
        found.append(Found(privacy, least, best.title, best.lost, blind))
    return found


class BestSearch(Study[list[Found]]):
    """The smallest budget, or the fewest users, at which the best method of each trust model meets a goal.

    At every searched value the best method there is looked for anew. Polled and stopped like a `Simulation`; a search
    whose trials are all in the store is finished as soon as it is made.

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
        For a goal that cannot be searched for, fewer than 16 users, or what a contest refuses.
    """

    @checked
    def __init__(
        self,
        question: Question,
        goal: Goal,
        promises: Sequence[Privacy] = ("local", "central"),
        users: bool = False,
        store: Store | None = None,
    ) -> None:
        super().__init__(best_search(question, goal, promises, users), store)
