"""The best method known for each trust model, found by simulation on the asker's own options.

A level of trust is everything that keeps at least its promise (`bandit_core.model.promises`): who is trusted with the
rewards may also use a method that needs no trust. So the candidates of "a curator is trusted" are the central, the
distributed, the shuffle and the local policies of the registry, as far as they accept the options, and its best method
cannot lose clearly more than that of "no one is trusted". Without privacy there are only the policies that keep no
promise: what privacy costs is measured against them.

Screening halves the field: after 8, 16 and 32 trials (more where users are few) each candidate that is clearly worse
than the leader (three standard errors over pairs of trials) goes, and so does the worse half of the rest (as in
sequential halving, Karnin, Koren and Somekh 2013, "Almost optimal exploration in multi-armed bandits"). After 64 trials
at most `FINALISTS` are left. A budget need not be spent: what keeps a smaller one keeps this one, too. So each of them
is joined by itself at the next `LESS` smaller usual budgets, because some methods lose more at a larger budget (DP-IMED
on ten arms, from 1.5 to 2). Those that are not clearly worse than their leader go on, up to 1,000 trials where users
are few enough (`MAX_PULLS`). Of those that are tied then, the one that fits more settings (`settings_taken`) is
chosen, and of one method at two budgets the larger budget. What is reported of it comes from trials with another seed,
which had no part in the choice, so that the choice does not flatter it.

What a contest asks of a policy before it plays: how many settings it fits, and what it reads off the options.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from pydantic import Field

from bandit_core.experiments.arguments import check_fields
from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.model import PROMISES, Policy, Privacy
from bandit_core.policies import registry
from bandit_core.simulation.comparisons import Estimate, interval_of_difference
from bandit_core.simulation.costs import most_steps, trial_seconds
from bandit_core.simulation.questions import Round, Rounds, Study, answer, over_draws
from bandit_core.simulation.results import LineResult, Result
from bandit_core.simulation.store import Store
from bandit_core.simulation.tables import Shown
from bandit_core.spec.budgets import Epsilon
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.number_text import write_number
from bandit_core.spec.rewards import Arm, Bernoulli, Beta, Gaussian, expand
from bandit_core.studies.sweep import EPSILONS
from bandit_core.theory.threshold import recommended

TRIALS = 100
ROUNDS = (8, 16, 32, 64)  # screening trials that a candidate has played at the end of each of the first rounds
LAST_ROUNDS = (125, 250, 500, 1000)  # and of the rounds among those that are still not clearly worse than the leader
MAX_PULLS = 25_000_000  # screening trials x users of one candidate in the last rounds
FINALISTS = 3  # candidates of one trust model after the first rounds, at most; twice as many once budgets differ
LESS = 2  # smaller budgets that a finalist is tried at
SHORT, LONG = 50_000, 1_000_000  # users: up to twice as many trials below, down to a quarter of them above
CLEARLY = 3.0  # standard errors by which a candidate must be behind to go at once: that only steers effort
DROPPED = 0.9973  # level of the interval that must leave out 0 before a candidate that went is said to be worse
CLOSE = 0.05  # share of the leader's loss by which a tied candidate is behind at most
COMPARED: tuple[Privacy, ...] = ("none", "local", "central")  # the trust models of the contest


@dataclass(frozen=True)
class Question:
    """Options with rewards in [0, 1], the number of users, and one budget or how the budgets are spread.

    ``trials`` are those that are reported; the default spends more on short runs and less on very long ones. ``note``
    goes with the experiments. ``clip`` are the limits to which methods with privacy see the rewards cut (None: to 0 and
    1); what is lost, and so which method is best, is counted in uncut rewards. A person comes ``visits`` times, and
    ``horizon`` counts visits; rewards are counted after every ``batch`` of them. Methods that cannot are no candidates.
    Where the options are not known exactly, ``draws`` of them are played by the reported trials; ``arms`` are those by
    which the methods are chosen.
    """

    arms: tuple[Arm, ...]
    horizon: Annotated[int, Field(ge=1, le=10**9)]
    epsilon: Epsilon | Annotated[float, Field(gt=0)]
    trials: Annotated[int, Field(ge=1)] | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    note: str = ""
    clip: tuple[float, float] | None = None
    visits: int = 1
    batch: int = 1
    draws: tuple[tuple[Arm, ...], ...] = ()

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def effort(self) -> float:
        """How many times the usual number of trials this many users deserve, from 1/4 to 2."""
        return max(min(2.0, max(1.0, SHORT / max(1, self.horizon))) * min(1.0, LONG / max(1, self.horizon)), 0.25)

    @property
    def reported(self) -> int:
        """Trials that are reported."""
        return round(TRIALS * self.effort) if self.trials is None else self.trials

    @property
    def screening_seed(self) -> int:
        """The seed of the trials that methods are chosen by: another one than that of the reported trials."""
        return self.seed ^ 1

    @property
    def rounds(self) -> tuple[int, ...]:
        """Trials that a candidate has played at the end of each round of the screening, the last ones included."""
        first = tuple(round(trials * self.effort) for trials in ROUNDS)
        most = MAX_PULLS / max(1, self.horizon)
        return (*first, *(trials for trials in LAST_ROUNDS if first[-1] < trials <= most))

    @property
    def screening(self) -> tuple[tuple[int, int | None], ...]:
        """The rounds by which methods are chosen: trials that a candidate has played by its end, and how many are left.

        None is half of those before. In the second round of equal trials smaller budgets join.
        """
        first, last = self.rounds[: len(ROUNDS)], self.rounds[len(ROUNDS) - 1 :]
        return (*((each, None) for each in first[:-1]), (first[-1], FINALISTS), *((e, 2 * FINALISTS) for e in last))

    @property
    def gaps(self) -> np.ndarray:
        """Best mean minus mean of each option, shape (draws, options); one draw where all is exact."""
        means = np.array([[arm.expected for arm in expand(arms)] for arms in self.draws or (self.arms,)])
        return means.max(axis=1, keepdims=True) - means

    @property
    def smaller(self) -> tuple[float, ...]:
        """The next usual budgets (nats) below that of the question, which may be spent in its place, largest first."""
        if not isinstance(self.epsilon, int | float):
            return ()
        return tuple(sorted((each for each in EPSILONS if each < self.epsilon), reverse=True)[:LESS])


def candidates(question: Question, privacy: Privacy) -> tuple[Experiment, ...]:
    """One experiment per policy that keeps at least the promise ``privacy`` and accepts options and budget.

    Promises are pure: a policy that keeps its own only up to some delta > 0 is left out. What a policy would read off
    the options themselves (bounds on moments, say) is replaced by what holds for any rewards in [0, 1], because no one
    knows it beforehand.

    Raises
    ------
    InputError
        When no policy without privacy accepts the question.
    """
    found: list[Experiment] = []
    refusal: InputError | None = None
    for policy in registry().values():
        if not keeps(policy.privacy, privacy) or policy.setting != "arms":
            continue
        try:
            candidate = _candidate(question, policy, privacy)
        except InputError as error:
            refusal = refusal or error
            continue
        if policy.guarantee(candidate.setups[0]).delta == 0:
            found.append(candidate)
    if privacy == "none" and not found and refusal is not None:
        raise refusal
    return tuple(found)


def keeps(promise: Privacy, level: Privacy) -> bool:
    """Whether a policy of that promise belongs to a level of trust: the promise is that one, or implies it.

    Without privacy only those belong that keep none, as they are what the price of privacy is measured against.
    """
    return promise == level if level == "none" else level in PROMISES[promise].implied()


def _candidate(question: Question, policy: Policy, privacy: Privacy, label: str = "") -> Experiment:
    line: dict[str, Any] = {"policy": policy.name, "label": label or PROMISES[privacy].who}
    if policy.epsilon != "none":
        line["epsilon"] = question.epsilon
    if "eps_min" in policy.parameters.model_fields and not isinstance(question.epsilon, int | float):
        line["params"] = {"eps_min": recommended(question.epsilon, "v_b")}
    document = {
        "arms": tuple(question.arms),
        "clip": question.clip,
        "lines": [line],
        "horizon": question.horizon,
        "visits": question.visits,
        "feedback": {"batch": question.batch},
        "trials": question.reported,
        "seed": question.seed,
        "note": question.note,
        "view": {"bounds": False},
    }
    candidate = Experiment.model_validate(document)
    if not (blind := known_beforehand(policy, candidate)):
        return candidate
    return Experiment.model_validate({**document, "lines": [{**line, "params": {**line.get("params", {}), **blind}}]})


# ---------------------------------------------------------------------------------------------------------------
# The contest

Name = TypeVar("Name")  # of a candidate


class Method(NamedTuple):
    """A candidate: a policy, and the budget (nats) that it spends where that is less than it may (None: all of it)."""

    policy: str
    spent: float | None = None

    @property
    def title(self) -> str:
        """What a reader calls it."""
        less = "" if self.spent is None else f", spending only ε = {write_number(self.spent)}"
        return registry()[self.policy].title + less


@dataclass(frozen=True)
class Tried:
    """One candidate's loss over all users in reward units, and how far it is behind the chosen one of its trust model.

    ``finalist`` says whether the trials are the reported ones, else they are of the screening. ``behind`` is positive
    where it loses more, and 0 for the chosen one; that of a finalist is over pairs of trials. Its interval has level
    95% for a finalist and `DROPPED` for others: the trials that they were dropped for flatter them least. ``tied`` says
    whether the last screening round left it tied with the leader, so that it could have been chosen as well.
    """

    privacy: Privacy
    method: Method
    trials: int
    lost: Estimate
    behind: Estimate
    chosen: bool
    finalist: bool
    tied: bool = False

    @property
    def policy(self) -> str:
        """The policy of the method."""
        return self.method.policy

    @property
    def title(self) -> str:
        """What a reader calls the method."""
        return self.method.title

    @property
    def apart(self) -> bool:
        """Whether the interval tells it apart from the chosen one."""
        return not self.chosen and self.behind.differs()


@dataclass(frozen=True, repr=False)
class Decision(Shown):
    """The chosen method of each trust model, one line each (`result`), and every candidate, best first."""

    result: Result
    tried: tuple[Tried, ...]

    def of(self, privacy: Privacy) -> tuple[Tried, ...]:
        """The candidates of one trust model: the chosen one first, then by loss."""
        return tuple(each for each in self.tried if each.privacy == privacy)

    def _words(self) -> str:
        return "; ".join(f"{level}: {self.chosen(level).title}" for level in self.levels)

    def _shown(self) -> Any:
        return self.result.final[["label", "guarantee", "trials", "regret", "stderr"]]

    def policies(self, privacy: Privacy) -> int:
        """How many policies of a trust model were tried, each at one budget or more."""
        return len({each.policy for each in self.of(privacy)})

    def chosen(self, privacy: Privacy) -> Method:
        """The chosen method of a trust model."""
        return self.of(privacy)[0].method

    def equals(self, privacy: Privacy) -> tuple[Tried, ...]:
        """Policies that cannot be told apart from the chosen one, without it and its other budgets."""
        best, *others = self.of(privacy)
        found: dict[str, Tried] = {}
        for each in others:
            if each.policy != best.policy and not each.apart:
                found.setdefault(each.policy, each)
        return tuple(found.values())

    def alternatives(self, privacy: Privacy) -> tuple[Tried, ...]:
        """Candidates that were tied with the chosen one in the choice, and are in the reported trials."""
        return tuple(each for each in self.equals(privacy) if each.tied)

    @property
    def levels(self) -> tuple[Privacy, ...]:
        """The trust model of each line of the result; a line's policy may keep a stronger promise."""
        return tuple(dict.fromkeys(each.privacy for each in self.tried))


def _survivors(field: Sequence[Name], played: Mapping[Name, LineResult], most: int | None = None) -> list[Name]:
    """Who goes into the next round, best first, at most so many (default: half of the field, but two).

    Ties are broken by the order of the field.
    """
    ranked = sorted(field, key=lambda name: played[name].mean[-1])
    leader = played[ranked[0]]
    near = []
    for name in ranked:
        behind, error, *_ = played[name].difference(leader)
        if not behind > CLEARLY * error:
            near.append(name)
    return near[: _half(len(field)) if most is None else most]


def _half(size: int) -> int:
    return max(2, -(-size // 2))


def _tied(ranked: Sequence[Name], played: Mapping[Name, LineResult]) -> list[Name]:
    """Those as good as the leader, who is first: not clearly behind, nor by `CLOSE` of its loss.

    Clearly is what the 95% interval over pairs of trials says. The second holds where trials are few, so that a large
    error alone makes no one as good.
    """
    leader, tied = played[ranked[0]], [ranked[0]]
    for name in ranked[1:]:
        behind = played[name].difference(leader)
        if not behind.low > 0 and behind.value <= CLOSE * leader.mean[-1]:
            tied.append(name)
    return tied


def _fits_most(method: Method) -> tuple[int, int, float]:
    """The order in which tied methods are chosen: settings that they fit, how little trust they need, their budget."""
    entry = registry()[method.policy]
    return settings_taken(entry), len(entry.promise.implied()), math.inf if method.spent is None else method.spent


def _plan(question: Question, sizes: Mapping[Privacy, int]) -> list[tuple[int, dict[Privacy, int]]]:
    """New trials of each candidate, and how many of each trust model play them at most, round by round."""
    plan, before = [], 0
    for trials, most in question.screening:
        playing = {privacy: size if size > 1 else 0 for privacy, size in sizes.items()}
        if trials == before:  # smaller budgets join
            playing = {privacy: size * len(_smaller_budgets(question, privacy)) for privacy, size in sizes.items()}
            sizes = {privacy: size + playing[privacy] for privacy, size in sizes.items()}
        plan.append((trials - before or trials, playing))
        sizes = {privacy: min(size, most or _half(size)) for privacy, size in sizes.items()}
        before = trials
    return [*plan, (question.reported, dict(sizes))]


def _smaller_budgets(question: Question, privacy: Privacy) -> tuple[float, ...]:
    """The smaller budgets that methods of a trust model are tried at."""
    return () if privacy == "none" else question.smaller


def _smaller(question: Question, privacy: Privacy, policy: str) -> dict[Method, Experiment]:
    """A finalist by itself at smaller budgets, as far as it accepts them."""
    found, who = {}, f"{PROMISES[privacy].who}, spending only {{epsilon}}"
    for spent in _smaller_budgets(question, privacy):
        with contextlib.suppress(InputError):
            asked = replace(question, epsilon=spent)
            found[Method(policy, spent)] = _candidate(asked, registry()[policy], privacy, who)
    return found


def contest(question: Question, promises: Sequence[Privacy] = COMPARED) -> Rounds[Decision]:
    """The best method of each of these trust models.

    Raises
    ------
    InputError
        When no policy accepts the question, or the whole costs more than ``LAB_MAX_STEPS``.
    """
    fields: dict[Privacy, dict[Method, Experiment]] = {}
    for privacy in promises:
        if entered := candidates(question, privacy):
            fields[privacy] = {Method(each.lines[0].policy): each for each in entered}
    pool = {method: each for field in fields.values() for method, each in field.items()}
    alive = {privacy: list(field) for privacy, field in fields.items()}
    plan = _plan(question, {privacy: len(field) for privacy, field in fields.items()})
    most = [len(pool)] * len(ROUNDS) + [(1 + LESS) * len(pool)] * len(plan)  # a policy of several levels plays once
    pulls = [trials * min(each, sum(sizes.values())) for (trials, sizes), each in zip(plan, most, strict=False)]
    if (steps := question.horizon * sum(pulls)) > most_steps():
        allowed = f"at most {most_steps():.3g} steps (users x trials x methods) here; ask for fewer users"
        raise InputError([Issue("horizon", f"{steps:.3g} steps", allowed)])
    versions = {""}

    def playing(place: int, trials: int, seed: int, methods: Iterable[Method]) -> Rounds[dict[Method, LineResult]]:
        asked = {each: pool[each].model_copy(update={"trials": trials, "seed": seed}) for each in methods}
        drawn = question.draws if place == len(plan) - 1 else ()
        runs = [over_draws(each, drawn) if drawn else each for each in asked.values()]
        later = sum(count * _trial_seconds(alive, pool, sizes) for count, sizes in plan[place + 1 :])
        results = yield Round(runs, place / len(plan), (place + 1) / len(plan), later, steps=steps)
        versions.update(each.bundled_results for each in results)
        return {method: each.lines[0] for method, each in zip(asked, results, strict=True)}

    screened: dict[Method, LineResult] = {}
    for place, (trials, left) in enumerate(question.screening):
        if place == len(ROUNDS):
            for privacy, field in alive.items():
                more = {name: each for policy, _ in field for name, each in _smaller(question, privacy, policy).items()}
                fields[privacy] |= more
                pool = pool | more | pool
                field.extend(more)
        names = dict.fromkeys(name for field in alive.values() if len(field) > 1 for name in field)
        new = [name for name in names if name not in screened or screened[name].count < trials]
        screened |= yield from playing(place, trials, question.screening_seed, new)
        alive |= {each: _survivors(field, screened, left) for each, field in alive.items() if len(field) > 1}
    finalists = dict.fromkeys(name for field in alive.values() for name in field)
    reported = yield from playing(len(plan) - 1, question.reported, question.seed, finalists)
    tied = {privacy: _tied(field, screened) if field[1:] else field for privacy, field in alive.items()}
    best = {privacy: max(names, key=_fits_most) for privacy, names in tied.items()}
    lines = tuple(fields[privacy][name].lines[0] for privacy, name in best.items())
    experiment = next(iter(pool.values())).with_lines(lines)
    done, times = tuple(reported[name] for name in best.values()), checkpoints(question.horizon)
    tried = []
    for privacy, entries in fields.items():
        rows = [_tried(privacy, name, best[privacy], tied[privacy], screened, reported) for name in entries]
        tried += sorted(rows, key=lambda row: (not row.chosen, row.lost.value))
    return Decision(Result(experiment, times, done, bundled_results=max(versions)), tuple(tried))


def _tried(
    privacy: Privacy,
    name: Method,
    best: Method,
    tied: Collection[Method],
    screened: Mapping[Method, LineResult],
    reported: Mapping[Method, LineResult],
) -> Tried:
    finalist, chosen = name in reported, reported[best]
    line = (reported if finalist else screened)[name]
    if finalist:
        behind = line.difference(chosen)
    else:
        ends = interval_of_difference(line.regret[:, -1], chosen.regret[:, -1], DROPPED)
        error = math.hypot(line.stderr[-1], chosen.stderr[-1])
        behind = Estimate(float(line.mean[-1] - chosen.mean[-1]), error, *map(float, ends))
    return Tried(privacy, name, line.count, line.final(), behind, name == best, finalist, name in tied)


def _trial_seconds(
    alive: Mapping[Privacy, Sequence[Method]], pool: Mapping[Method, Experiment], sizes: Mapping[Privacy, int]
) -> float:
    """Rough time of one trial of those that are left, at most so many of each trust model and the slowest first."""
    seconds = {name: trial_seconds(pool[name], 0) for field in alive.values() for name in field}
    slowest = {privacy: sorted(map(seconds.__getitem__, field))[::-1] for privacy, field in alive.items()}
    return min(sum(sum(each[: sizes[privacy]]) for privacy, each in slowest.items()), sum(seconds.values()))


class Contest(Study[Decision]):
    """The search for the best method of each trust model; see `contest`."""

    def __init__(self, question: Question, promises: Sequence[Privacy] = COMPARED, store: Store | None = None) -> None:
        super().__init__(contest(question, promises), store)


def best_methods(
    question: Question,
    promises: Sequence[Privacy] = COMPARED,
    jobs: int | None = None,
    store: Store | None = None,
) -> Decision:
    """The best method known of each trust model; see `Contest`."""
    return answer(contest(question, promises), jobs, store)


def settings_taken(policy: Policy) -> int:
    """How many other settings a policy fits, from 0 to 5, as the registry says.

    Rewards that are counted late or in batches, users with budgets of their own, any number of users, rewards in [0, 1]
    that are no coins, and rewards without limits.
    """
    taken = (
        policy.late,
        policy.epsilon != "one",
        policy.anytime,
        policy.accepts((Beta(a=1.0, b=1.0),)) is None,
        policy.accepts((Gaussian(mean=0.5, sd=1.0),)) is None,
    )
    return sum(taken)


def known_beforehand(policy: Policy, candidate: Experiment) -> dict[str, Any]:
    """Parameters that were read off the options, as they are for the largest rewards in [0, 1]."""
    [setup] = candidate.setups
    [line] = candidate.lines
    asked = policy.resolve(policy.parameters.model_validate(line.params), line.epsilon)
    largest = (Bernoulli(mean=1.0),) * len(setup.arms)
    settled = policy.settle(replace(setup, arms=largest, parameters=asked))
    return {name: value for name, value in settled.model_dump().items() if value != getattr(setup.parameters, name)}
