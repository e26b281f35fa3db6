"""Your numbers' whole question: what each level of trust costs at each budget, in losses, users and weeks.

There are three ways to find the best option: a planned A/B test, one with looks, which may end early, and a learner
that earns while it learns. Tests count each person once, so the whole budget of a person goes into one answer. A
learner meets a person ``visits`` times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from bandit_core.data.observations import Observations, read_observations
from bandit_core.data.reading import Reading
from bandit_core.experiments.arguments import checked
from bandit_core.model import KEPT, PROMISES, Privacy
from bandit_core.policies.stopping import Rule
from bandit_core.simulation.questions import Answer, Round, Rounds, Study, answer
from bandit_core.simulation.results import NOT_KNOWN, Estimate, Shown
from bandit_core.simulation.sentences import surest
from bandit_core.simulation.store import Store
from bandit_core.spec import notation
from bandit_core.spec.errors import InputError, Issue, raise_any, refuse_if, unreadable
from bandit_core.spec.feedback import MAX_VISITS, MAX_WAITING
from bandit_core.spec.later import pd
from bandit_core.spec.number_text import number
from bandit_core.spec.rewards import Arm
from bandit_core.studies import business_case
from bandit_core.studies.best_arm import TRIALS, RollOutQuestion
from bandit_core.studies.best_method import Decision, Question, contests, known_words
from bandit_core.studies.production import LEAST_EPSILON

COLUMNS = (
    "trust", "epsilon", "method", "loss", "loss_stderr", "loss_q95", "extra", "extra_stderr", "test_users",
    "test_weeks", "beats_users", "beats_weeks", "looks_users_most", "looks_users_mean", "looks_users_median",
    "looks_weeks_median",
)  # fmt: skip
LOOKS = 5
EPSILONS = (0.5, 1.0, 2.0, 4.0)
MAX_EPSILONS = 8
MAX_EPSILON = 10.0
MAX_PEOPLE = 10**10
MAX_WEEKLY = 10**10
MAX_WEEKS = 104  # a longer test is not practical
TestTrust = Literal["local", "shuffle", "distributed", "central"]
PRIVATE: tuple[TestTrust, ...] = ("local", "central")  # least trust first
MAX_LOOKS = 10
Budget = Annotated[float, Field(ge=LEAST_EPSILON, le=MAX_EPSILON)]

Escape = Callable[[str], str]


def weeks_words(weeks: float) -> str:
    """A time in words: ``9.9 weeks``, ``3.5 days``, ``5.4 years``."""
    if not math.isfinite(weeks):
        return "not in practice"
    if weeks > MAX_WEEKS:
        years = weeks * 7 / 365.25
        return f"{'over 1,000' if years > 1000 else number(years, 2)} years"
    if weeks >= 1:
        return f"{number(weeks, 2)} week{'' if number(weeks, 2) == '1' else 's'}"
    days = number(7 * weeks, 2)
    return "less than a day" if weeks < 1 / 7 else f"{days} day{'' if days == '1' else 's'}"


def read_epsilons(text: str) -> tuple[float, ...]:
    """Budgets from text such as ``0.5, 1, 2, 4``, ascending, each once.

    Raises
    ------
    InputError
        Where one is no number from 0.01 to 10, or where there are too many.
    """
    found = [notation.read_number(part) for part in text.split(",")]
    fitting = [each for each in found if not isinstance(each, str) and LEAST_EPSILON <= each <= MAX_EPSILON]
    allowed = f"1 to {MAX_EPSILONS} numbers from {LEAST_EPSILON:g} to {MAX_EPSILON:g}, such as 0.5, 1, 2"
    refuse_if(not len(fitting) == len(found) <= MAX_EPSILONS, "epsilon", text, allowed)
    return tuple(sorted(map(float, set(fitting))))


def sure_words(epsilon: float) -> str:
    """What ``50% sure`` of someone's answer can become at most: ``73%``."""
    sure = surest(epsilon)
    return f"{sure:.0f}%" if sure < 99 else f"{sure:.4g}%"


@dataclass(frozen=True)
class PriceQuestion:
    """Options with rewards in [0, 1], ``users`` people, ``weekly`` of them a week, and the budgets of a person.

    A reward of 0 is ``low`` of the ``unit``, and one of 1 is ``scale`` more. ``beliefs`` and ``draws`` are empty where
    the means are exact. ``trusts`` are the private levels of trust, the least first, and ``looks`` those of the test
    with looks. The rest is as in `Question` and `RollOutQuestion`.
    """

    arms: tuple[Arm, ...]
    users: int
    weekly: int
    epsilons: tuple[float, ...]
    visits: int = 1
    batch: int = 1
    delta: float = 0.05
    power: float = 0.8
    rule: Rule = "proved"
    trials: int = TRIALS
    zone: float = 0.0
    seed: int = 0
    clip: tuple[float, float] | None = None
    note: str = ""
    names: tuple[str, ...] = ()
    low: float = 0.0
    scale: float = 1.0
    unit: str = "conversions"
    beliefs: tuple[business_case.Belief, ...] = ()
    draws: tuple[tuple[Arm, ...], ...] = ()
    trusts: tuple[Privacy, ...] = PRIVATE
    looks: int = LOOKS
    sides: int = 2
    split: float = 1.0

    @property
    def weeks(self) -> float:
        """Weeks until everyone has come."""
        return self.users / self.weekly

    @cached_property
    def keep(self) -> float:
        """What giving everyone the first option loses, in the unit; the mean over all draws."""
        lost = [max(each.means) - each.means[0] for each in self.tests.each]
        return self.users * self.visits * self.scale * sum(lost) / len(lost)

    @property
    def typical(self) -> tuple[Arm, ...]:
        """The options that learners are chosen by: those given, or a middle draw where several of these are best."""
        exact = not self.draws or _lead(self.arms) > 1e-9
        return self.arms if exact else sorted(self.draws, key=_lead)[len(self.draws) // 2]

    def contest(self, epsilon: float) -> Question:
        """The question which learner loses least."""
        return Question(
            self.typical, self.users * self.visits, epsilon, seed=self.seed, note=self.note, clip=self.clip,
            visits=self.visits, batch=self.batch, draws=self.draws,
        )  # fmt: skip

    def roll_out(self, *epsilons: float) -> RollOutQuestion:
        """The question when a test ends, at these budgets for each private level of trust."""
        budgets = tuple((privacy, epsilon) for privacy in PRIVATE for epsilon in epsilons)
        return replace(self.tests, epsilons=budgets)

    @cached_property
    def tests(self) -> RollOutQuestion:
        """The question how many users a test takes."""
        return RollOutQuestion(
            self.arms, self.users, (), self.delta, self.power, self.rule, self.trials, self.seed, self.clip,
            self.zone, self.draws, self.beliefs, self.sides, self.split,
        )  # fmt: skip


def _lead(arms: Sequence[Arm]) -> float:
    """Best mean minus the next one."""
    *_, second, best = sorted(arm.expected for arm in arms)
    return best - second


@dataclass(frozen=True)
class Row:
    """One level of trust at one budget. Losses are in the unit; what is not known is NaN, and never is infinite.

    ``worst`` is what one run in 20 loses more than. ``test_users`` name the best option in a planned test,
    ``lift_users`` show there that it beats the first one. With looks naming the best takes ``most_users``,
    ``mean_users`` on average and ``median_users`` in half of the tests. Where the means are not known exactly, powers
    are averages over the draws; ``cases`` are the users that 10%, half and 90% of the draws need at most to name the
    best, and ``unknown`` is the share of the variance of the loss over runs that comes from the draws.
    """

    privacy: Privacy
    epsilon: float | None
    test_users: float
    lift_users: float
    most_users: float
    mean_users: float
    median_users: float
    method: str = ""
    loss: Estimate = NOT_KNOWN
    worst: float = math.nan
    extra: Estimate = NOT_KNOWN
    cases: tuple[int, ...] | None = None
    unknown: float = math.nan

    @property
    def who(self) -> str:
        """``trust a curator at ε = 1``."""
        return PROMISES[self.privacy].who + ("" if self.epsilon is None else f" at ε = {self.epsilon:g}")


def rows_of(question: PriceQuestion, decisions: Mapping[float, Decision] = {}) -> tuple[Row, ...]:
    """No privacy, then each level of trust at each budget; with what is known of learners."""
    asked, rows = question.tests, []
    options, several = len(asked.means), len(asked.means) > 2
    budgets = [(privacy, epsilon) for privacy in question.trusts for epsilon in question.epsilons]
    for privacy, epsilon in [("none", None), *budgets]:
        size = asked.test_for(privacy, epsilon, "best")
        lift = asked.test_for(privacy, epsilon, "baseline") if several else size
        looks = asked.test_for(privacy, epsilon, "best", question.looks)
        at = question.epsilons[0] if epsilon is None else epsilon
        decision, known = decisions.get(at), dict[str, Any]()
        for cost in () if decision is None else business_case.costs(decision.result, question.scale, decision.levels):
            if cost.privacy == privacy:
                title = decision.chosen(privacy).title  # type: ignore[union-attr]
                known = {"loss": cost.lost, "worst": cost.worst, "extra": cost.extra, "method": title}
                if question.draws:
                    line: Any = decision.result.lines[cost.line]  # type: ignore[union-attr]
                    known["unknown"] = business_case.unknown_share(line.regret[:, -1], line.trials, len(question.draws))
        found = asked.effect(privacy) > 0
        total = looks.total(options) if found else math.inf
        rows.append(
            Row(
                privacy,
                epsilon,
                size.total(options) if found else math.inf,
                lift.total(options) if asked.effect(privacy, "baseline") > 0 else math.inf,
                total,
                looks.mean * total,
                looks.median * total,
                cases=size.cases and tuple(replace(size, users_per_option=each).total(options) for each in size.cases),
                **known,
            )
        )
    return tuple(rows)


def unknown_words(question: PriceQuestion, rows: Sequence[Row]) -> str:
    """That the answers average over what is not known, and how much of the spread that is; empty where all is exact."""
    if not question.draws:
        return ""
    told = (
        f"Powers of tests are averages over {question.tests.cases:,} draws of the means that are not known, and losses "
        f"over {len(question.draws)}."
    )
    shares = [round(100 * row.unknown) for row in rows if not math.isnan(row.unknown)]
    if shares:
        ends = f"{min(shares)}%" if min(shares) == max(shares) else f"{min(shares)}% to {max(shares)}%"
        told += f" They make {ends} of the variance of what a learner loses. The rest is chance."
    return told


# ---------------------------------------------------------------------------------------------------------------
# Advice


@dataclass(frozen=True)
class Advice:
    """What to do: the row that it speaks of (None: keep the first option), and the sentence."""

    kind: Literal["test", "learn", "keep", "open", "nothing", "limits"]
    row: Row | None
    words: str


def _less(row: Row, keep: float) -> bool:
    """Whether the learner of a row clearly loses less than ``keep``."""
    return row.loss.value + 2 * row.loss.stderr < keep


def advise(question: PriceQuestion, rows: Sequence[Row], escape: Escape = str) -> Advice:
    """What follows from a table.

    The least trust at which a test ends in time, and there the smallest ε. Where none does, the learner that loses
    least, as long as it clearly loses less than keeping the first option.
    """
    plain, *private = rows
    limit = min(question.weeks, MAX_WEEKS)
    if not any(math.isfinite(row.test_users) for row in rows):
        return Advice("nothing", None, "**Nothing to find**: several options are equally good.")
    view = question.tests.view("central")
    if view.misleads:
        looks, is_best = (escape(question.names[int(np.argmax(means))]) for means in (view.means, view.truth))
        message = f"once rewards are cut to these, {looks} looks best, but {is_best} is the best option"
        return Advice("limits", None, f"**Choose wider limits**: {message}. With privacy no method would find it.")
    private.sort(key=lambda row: (KEPT.index(row.privacy), row.epsilon))

    def weeks(users: float) -> str:
        return weeks_words(users / question.weekly)

    for row in private:
        if row.test_users / question.weekly <= limit:
            message = f"**If you {row.who}, a planned A/B test takes {weeks(row.test_users)}**; "
            message += f"without privacy it takes {weeks(plain.test_users)}"
            if question.clip is not None and plain.test_users > row.test_users:
                message += " (uncut; cut at the same limits it would be quicker, too)"
            message += "."
            fair = [each for each in private if each.epsilon == row.epsilon]  # another ε is another question
            if less := [each for each in fair if KEPT.index(each.privacy) < KEPT.index(row.privacy)]:
                best = min(less, key=lambda each: each.test_users)
                message += f" If you {best.who}, it takes {weeks(best.test_users)}."
            return Advice("test", row, message)
    first = escape(question.names[0]) if question.names else "the first option"
    budgets = {row.epsilon for row in private}
    at = f" at ε = {private[0].epsilon:g}" if len(budgets) == 1 else ""
    late = f"no private test{at} ends within {weeks(limit * question.weekly)}"
    if plain.test_users / question.weekly > limit:  # then traffic is to blame, not privacy
        late = f"too few people come for any test to end within {weeks(limit * question.weekly)}. Even without privacy "
        late += f"the planned test takes {weeks(plain.test_users)}"
    simulated = [row for row in private if not math.isnan(row.loss.value)]
    if not simulated:
        return Advice("open", None, f"**{late[0].upper()}{late[1:]}.** What a learner loses was not simulated.")
    learners = [row for row in simulated if _less(row, question.keep)]
    if learners:
        best = min(learners, key=lambda row: row.loss.value)
        unit = escape(question.unit)
        return Advice(
            "learn",
            best,
            f"**Learn while you earn**: {late}. If you {best.who}, you lose {best.loss} {unit}"
            f"{known_words(best.loss)} with {escape(best.method)}; keeping {first} loses {number(question.keep)}.",
        )
    which = (
        "learner, even without privacy,"
        if not _less(plain, question.keep)
        else f"private learner{at if simulated == private else ' that was simulated'}"
    )
    return Advice("keep", None, f"**Keep {first}**: {late}, and no {which} clearly loses less than keeping it.")


# ---------------------------------------------------------------------------------------------------------------
# The study


@dataclass(frozen=True, eq=False, repr=False)
class Price(Shown):
    """The answer: a row for no privacy, then one for each level of trust and budget; they come from the decisions."""

    question: PriceQuestion
    rows: tuple[Row, ...]
    decisions: Mapping[float, Decision] = field(default_factory=dict)

    @cached_property
    def advice(self) -> Advice:
        """What follows from the rows."""
        return advise(self.question, self.rows)

    @property
    def unknown(self) -> str:
        """What means that are not known exactly do to the rows; empty where all are."""
        return unknown_words(self.question, self.rows)

    @property
    def table(self) -> pd.DataFrame:
        """Columns `COLUMNS`: losses in the unit, times in people and in weeks."""
        cells = [
            (
                row.privacy, math.nan if row.epsilon is None else row.epsilon, row.method, *row.loss[:2],
                row.worst, *row.extra[:2], row.test_users, row.test_users / self.question.weekly, row.lift_users,
                row.lift_users / self.question.weekly, row.most_users, row.mean_users, row.median_users,
                row.median_users / self.question.weekly,
            )
            for row in self.rows
        ]  # fmt: skip
        return pd.DataFrame(cells, columns=list(COLUMNS))

    def _words(self) -> str:
        return f"of {len(self.rows)} answers: {self.advice.words.replace('*', '')}"

    def _shown(self) -> pd.DataFrame:
        return self.table


def _affordable(rounds: Rounds[Answer]) -> Rounds[Answer | None]:
    """A question; answered by None where it costs more than is allowed here.

    Raises
    ------
    InputError
        Where it is refused for another reason.
    """
    try:
        return (yield from rounds)
    except InputError as error:
        if any(issue.path not in ("horizon", "trials") for issue in error.issues):
            raise
        return None


def priced(question: PriceQuestion) -> Rounds[Price]:
    """The contest of every budget; what costs more than is allowed here stays unknown.

    Raises
    ------
    InputError
        When no policy accepts the question.
    """
    [found] = yield Round([_affordable(contests([*map(question.contest, question.epsilons)]))])
    decisions = dict(zip(question.epsilons, found or (), strict=found is not None))
    return Price(question, rows_of(question, decisions), decisions)


class PriceStudy(Study[Price]):
    """The contest of every budget being played; see `priced`."""

    def __init__(self, question: PriceQuestion, store: Store | None = None) -> None:
        super().__init__(priced(question), store)


# ---------------------------------------------------------------------------------------------------------------
# From a file or typed numbers


@checked
def price_question(  # noqa: PLR0913 - one argument for each thing that is asked
    file: str | Path | Observations | None = None,
    *,
    option: str | None = None,
    outcome: str | None = None,
    person: str | None = None,
    weight: str | None = None,
    rows: Literal["person", "total", "wide"] | None = None,
    answers: Mapping[str, str] | None = None,
    baseline: Annotated[float, Field(ge=0, le=1)] | None = None,
    lifts: Sequence[float | tuple[float, float] | Literal["?"]] = (),
    first: str | None = None,
    purchase: tuple[float, float] | None = None,
    limits: tuple[float, float] | None = None,
    weekly: Annotated[int, Field(ge=1, le=MAX_WEEKLY)] = 5000,
    weeks: Annotated[float, Field(ge=1e-6, le=10**4)] = 10,
    epsilon: Annotated[Sequence[Budget], Field(min_length=1, max_length=MAX_EPSILONS)] = EPSILONS,
    visits: Annotated[int, Field(ge=1, le=MAX_VISITS)] = 1,
    batch: Annotated[int, Field(ge=1, le=MAX_WAITING)] = 1,
    delta: Annotated[float, Field(ge=0.0001, le=0.3)] = 0.05,
    power: Annotated[float, Field(ge=0.5, le=0.999)] = 0.8,
    zone: Annotated[float, Field(ge=0, le=1000)] = 0.0,
    trusts: Annotated[Sequence[TestTrust], Field(min_length=1)] = PRIVATE,
    looks: Annotated[int, Field(ge=2, le=MAX_LOOKS)] = LOOKS,
    sides: Annotated[int, Field(ge=1, le=2)] = 2,
    split: Annotated[float, Field(ge=0.1, le=10)] = 1.0,
    unit: str = "",
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0,
) -> PriceQuestion:
    """A checked `PriceQuestion`; see `price`.

    Raises
    ------
    InputError
        With every number that is out of its range, or what is wrong with the file.
    """
    issues = []
    if (file is None) == (baseline is None):
        issues.append(Issue("baseline", baseline, "either a file with observations, or a baseline and lifts"))
    elif purchase is not None and (file is not None or limits is None or limits[0] != 0):
        issues.append(Issue("limits", limits, "0 and the largest amount, where purchases are typed"))
    elif file is None and not lifts:
        issues.append(Issue("lifts", list(lifts), "at least one"))
    raise_any(issues)
    clip, low, scale = None, 0.0, 1.0
    if file is None:
        assert baseline is not None
        percent, relative = round(100 * baseline, 10), business_case.shares(lifts)
        options = business_case.typed_options(percent, relative, True, (0.0, 100.0))
        names = ("the baseline", *(f"option {place}" for place in range(1, len(options.arms))))
        if purchase is not None and limits is not None:
            sold = business_case.sales(names, options, *purchase, limits[1])
            options, scale, clip = sold.options, sold.high, sold.clip
    else:
        about = {
            "option": option,
            "outcome": outcome,
            "person": person,
            "weight": weight,
            "rows": rows,
            "answers": answers,
        }
        seen = file if isinstance(file, Observations) else reading_of(Path(file), **about).data
        if limits is None and not seen.yes_or_no:
            low, high = seen.limits
            raise InputError([Issue("limits", None, f"amounts need limits; here they run from {low:g} to {high:g}")])
        seen = seen if first is None else seen.starting_with(first)
        arms, low, high, clip = business_case.observed_arms(seen.options, limits or (0.0, 1.0))
        names, scale = tuple(option.name for option in seen.options), high - low
        options = business_case.observed(seen.options, arms, scale)
    users = round(weekly * weeks)
    if not 10 <= users <= MAX_PEOPLE:
        raise InputError([Issue("weeks", weeks, f"so many that 10 to {number(MAX_PEOPLE)} people come in all")])
    budgets = tuple(sorted({float(each) for each in epsilon}))
    ignored = zone / 100 * abs(low / scale + options.arms[0].expected)
    unit = unit or ("conversions" if limits is None else "units of reward")
    return PriceQuestion(
        options.arms, users, weekly, budgets, visits, batch, delta, power, zone=ignored, seed=seed, clip=clip,
        names=names, low=low, scale=scale, unit=unit, beliefs=options.beliefs, draws=options.draws,
        trusts=tuple(sorted(set(trusts), key=KEPT.index)), looks=looks, sides=sides, split=split,
    )  # fmt: skip


def reading_of(file: Path, **about: Any) -> Reading[Observations]:
    """What a file with observations says; ``about`` as for `read_observations`."""
    try:
        return read_observations(file.read_bytes(), **about)
    except OSError as error:
        raise InputError([unreadable("file", file, error)]) from None


def price(
    file: str | Path | Observations | None = None, *, jobs: int | None = None, store: Store | None = None, **fields: Any
) -> Price:
    """What privacy costs with your numbers: losses, users and weeks, for each level of trust and each budget.

    Parameters
    ----------
    file
        Observations, or a file with them.
    option, outcome, person, weight, rows, answers
        How the file is to be read, as for `read_observations`.
    baseline, lifts
        Instead of a file: the rate of the present option as a share, and a lift in percent for each new one. A lift may
        be a range such as ``(8, 15)``, in which every value is equally likely, or ``"?"``: anything from -20 to 20.
        The means of a file are drawn from what its data allow.
    first
        Name of the option in a file that the others are compared with (default: control, baseline or A, in this order;
        else the first one).
    purchase
        Instead of a rate of success: the baseline is the share of people who buy, and a purchase has this mean and
        standard deviation (lognormal). Lifts raise the share.
    limits
        Smallest and largest reward of one person, where there are amounts; with privacy they are cut to these.
    weekly, weeks
        People a week, and for how many weeks.
    epsilon
        The budgets of a person (nats).
    visits, batch
        How often a person comes, and after how many visits a learner learns. Methods that cannot do so are left out.
    delta, power
        Chance of error, and of finding the difference in a planned test.
    zone
        Options that are worse than the best by this at most (percent of the first one) count as equally good in tests.
    trusts
        Private levels of trust: of ``local``, ``shuffle``, ``distributed`` and ``central``. Learners are simulated for
        the first and the last only; a shuffler's tests keep delta = 1e-6.
    looks
        How often the test with looks looks at the data, at equal distances.
    sides, split
        1: only a better option counts (two options, and against the first one). Users of the first option for one of
        each other, where a test compares with the first one.
    unit
        What a reward is called.
    seed
        Of the streams; the page uses 0.

    Raises
    ------
    InputError
        With everything that is wrong.

    >>> found = price(baseline=0.5, lifts=[60], weekly=40, weeks=5, epsilon=[2])
    >>> list(found.table["trust"]), found.table["test_users"].is_monotonic_increasing
    (['none', 'local', 'central'], False)
    """
    return answer(priced(price_question(file, **fields)), jobs, store)
