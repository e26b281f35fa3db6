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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np
from pydantic import Field

from bandit_core.experiments.arguments import check_fields
from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.model import PROMISES, Policy, Privacy
from bandit_core.policies import registry
from bandit_core.simulation.comparisons import interval_of_difference
from bandit_core.simulation.costs import most_steps, trial_seconds
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.results import LineResult, Result
from bandit_core.simulation.store import Store
from bandit_core.simulation.tables import Shown
from bandit_core.simulation.together import Mixture, Parts
from bandit_core.spec.budgets import Epsilon
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.number_text import write_number
from bandit_core.spec.rewards import Arm, expand
from bandit_core.studies.candidates import known_beforehand, settings_taken
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
    where it loses more, and 0 for the chosen one; that of a finalist is over pairs of trials. Errors are standard
    errors, ``behind_low`` and ``behind_high`` the ends of its interval, of level 95% for a finalist and `DROPPED` for
    others: the trials that they were dropped for flatter them least. All are NaN for a single trial. ``tied`` says
    whether the last screening round left it tied with the leader, so that it could have been chosen as well.
    ``spent`` is the budget of a `Method` that spends less than it may.
    """

    privacy: Privacy
    policy: str
    title: str
    trials: int
    lost: float
    stderr: float
    behind: float
    behind_stderr: float
    behind_low: float
    behind_high: float
    chosen: bool
    finalist: bool
    tied: bool = False
    spent: float | None = None

    @property
    def apart(self) -> bool:
        """Whether the interval tells it apart from the chosen one."""
        return not self.chosen and (self.behind_low > 0 or self.behind_high < 0)


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
        best = self.of(privacy)[0]
        return Method(best.policy, best.spent)

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
        behind, error = played[name].difference_to(leader)
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
        behind, _ = played[name].difference_to(leader)
        if not played[name].difference_interval(leader)[0] > 0 and behind <= CLOSE * leader.mean[-1]:
            tied.append(name)
    return tied


def _fits_most(method: Method) -> tuple[int, int, float]:
    """The order in which tied methods are chosen: settings that they fit, how little trust they need, their budget."""
    entry = registry()[method.policy]
    return settings_taken(entry), len(entry.promise.implied()), math.inf if method.spent is None else method.spent


def _behind(mine: LineResult, chosen: LineResult, paired: bool) -> tuple[float, float, float, float]:
    """How much more is lost at the horizon, the standard error of that, and the ends of its interval (see `Tried`)."""
    if paired:
        return *mine.difference_to(chosen), *mine.difference_interval(chosen)
    behind, error = float(mine.mean[-1] - chosen.mean[-1]), math.hypot(mine.stderr[-1], chosen.stderr[-1])
    low, high = interval_of_difference(mine.regret[:, -1], chosen.regret[:, -1], DROPPED)
    return behind, error, float(low), float(high)


class Contest(Parts):
    """The search for the best method of each trust model; polled and stopped like a `Simulation`.

    Parameters
    ----------
    question
        What is asked.
    promises
        The trust models to search for.
    store
        Where trials are kept (default: the process's store on disk). A contest whose trials are all there is finished
        as soon as it is made.

    Raises
    ------
    InputError
        When no policy accepts the question, or the whole costs more than ``LAB_MAX_STEPS``.
    """

    def __init__(self, question: Question, promises: Sequence[Privacy] = COMPARED, store: Store | None = None) -> None:
        self.question, self.store = question, store
        fields = {privacy: candidates(question, privacy) for privacy in promises}
        self._fields: dict[Privacy, dict[Method, Experiment]] = {
            privacy: {Method(each.lines[0].policy): each for each in field}
            for privacy, field in fields.items()
            if field
        }
        self._sizes = {privacy: len(field) for privacy, field in self._fields.items()}
        self._pool = {name: each for field in self._fields.values() for name, each in field.items()}
        self._alive = {privacy: list(field) for privacy, field in self._fields.items()}
        self._screened: dict[Method, LineResult] = {}
        self._reported: dict[Method, LineResult] = {}
        self._refuse_if_too_large()
        self._round = 0
        self._beforehand = ""  # see `Result`
        self._times = checkpoints(question.horizon)
        self._now = self._simulations()
        self._catch_up()

    def _refuse_if_too_large(self) -> None:
        if self.steps > most_steps():
            allowed = f"at most {most_steps():.3g} steps (users x trials x methods) here; ask for fewer users"
            raise InputError([Issue("horizon", f"{self.steps:.3g} steps", allowed)])

    @property
    def _trials(self) -> tuple[int, ...]:
        """Trials that a candidate has played at the end of each round; in round `len(ROUNDS)` smaller budgets join."""
        first, last = self.question.rounds[: len(ROUNDS)], self.question.rounds[len(ROUNDS) :]
        return (*first, first[-1], *last)

    @property
    def _rounds(self) -> int:
        return len(self._trials)

    def _most_survivors(self, round_: int, size: int) -> int:
        """How many of a field of that size go on from a round."""
        if round_ < len(ROUNDS) - 1:
            return _half(size)
        return FINALISTS if round_ == len(ROUNDS) - 1 else 2 * FINALISTS

    def _smaller(self, privacy: Privacy) -> tuple[float, ...]:
        """The smaller budgets that methods of a trust model are tried at."""
        return () if privacy == "none" else self.question.smaller

    def _worth_playing(self) -> bool:
        """Whether the present round of the screening has anything to decide; smaller budgets join before it does."""
        if self._round == len(ROUNDS):
            self._join()
            return any(name.spent is not None for field in self._alive.values() for name in field)
        return any(len(field) > 1 for field in self._alive.values())

    def _join(self) -> None:
        """Each finalist of a trust model is joined by itself at smaller budgets."""
        for privacy, field in self._alive.items():
            for policy, _ in tuple(field):
                for spent in self._smaller(privacy):
                    method = Method(policy, spent)
                    who = f"{PROMISES[privacy].who}, spending only {{epsilon}}"
                    asked = replace(self.question, epsilon=spent)
                    try:
                        candidate = _candidate(asked, registry()[policy], privacy, who)
                    except InputError:  # a policy may refuse so small a budget
                        continue
                    self._pool.setdefault(method, candidate)
                    self._fields[privacy][method] = candidate
                    field.append(method)

    def _plan(self) -> list[tuple[int, dict[Privacy, int]]]:
        """New trials of each candidate, and how many candidates at most play them, round by round.

        A policy that is a candidate of several trust models plays once for all of them.
        """
        sizes, rounds, plan = dict(self._sizes), self._trials, []
        for place, (before, now) in enumerate(zip((0, *rounds), rounds, strict=False)):
            joins = place == len(ROUNDS)
            if joins:
                new = {privacy: size * len(self._smaller(privacy)) for privacy, size in sizes.items()}
                sizes = {privacy: size + new[privacy] for privacy, size in sizes.items()}
            playing = new if joins else {privacy: size if size > 1 else 0 for privacy, size in sizes.items()}
            plan.append((now if joins else now - before, playing))
            sizes = {privacy: min(size, self._most_survivors(place, size)) for privacy, size in sizes.items()}
        return [*plan, (self.question.reported, sizes)]

    @property
    def steps(self) -> int:
        """Pulls that the contest takes at most."""
        policies = len({name.policy for name in self._pool})
        playing = [
            trials * min(policies * (1 if place < len(ROUNDS) else 1 + LESS), sum(sizes.values()))
            for place, (trials, sizes) in enumerate(self._plan())
        ]
        return self.question.horizon * sum(playing)

    def _simulations(self) -> dict[Method, Simulation | Mixture]:
        """What the present round plays, each policy once; nothing once the contest is over."""
        while self._round < self._rounds and not self._worth_playing():
            self._round += 1
        if self._round > self._rounds:
            return {}
        screening = self._round < self._rounds
        trials = self._trials[self._round] if screening else self.question.reported
        seed = self.question.screening_seed if screening else self.question.seed
        playing = dict.fromkeys(
            name for field in self._alive.values() for name in field if len(field) > 1 or not screening
        )
        if self._round == len(ROUNDS):  # most of the others have played these trials
            played = {name for name, line in self._screened.items() if line.count == trials}
            playing = {name: None for name in playing if name not in played}
        asked = {name: self._pool[name].model_copy(update={"trials": trials, "seed": seed}) for name in playing}
        if self.question.draws and not screening:
            return {name: Mixture(each, self.question.draws, self.store) for name, each in asked.items()}
        return {name: Simulation(each, self.store) for name, each in asked.items()}

    def _catch_up(self) -> None:
        """Close every round whose trials are all there."""
        while self._now and all(simulation.missing_seconds == 0 for simulation in self._now.values()):
            results = {key: simulation.result() for key, simulation in self._now.items()}
            played = {key: result.lines[0] for key, result in results.items()}
            self._beforehand = max([self._beforehand, *(result.bundled_results for result in results.values())])
            self._let_go()
            done = self._screened if self._round < self._rounds else self._reported
            done.update({name: line for name, line in played.items() if line is not None})
            if self._round < self._rounds:
                for privacy, field in self._alive.items():
                    if len(field) > 1:
                        most = self._most_survivors(self._round, len(field))
                        self._alive[privacy] = _survivors(field, self._screened, most)
            self._round += 1
            self._now = self._simulations()

    @property
    def _parts(self) -> list[Simulation | Mixture]:
        return list(self._now.values())

    @property
    def finished(self) -> bool:
        """Whether everything is decided."""
        return not self._now

    @property
    def missing_seconds(self) -> float:
        """Rough time, on one core, of what is at most left; what the store already holds of later rounds is counted."""
        later = self._plan()[self._round + 1 :]
        return super().missing_seconds + sum(trials * self._seconds_of(sizes) for trials, sizes in later)

    def _seconds_of(self, sizes: Mapping[Privacy, int]) -> float:
        """Rough time of one trial of those that are left, at most so many of each trust model and the slowest first."""
        left = dict.fromkeys(name for field in self._alive.values() for name in field)
        seconds = {name: trial_seconds(self._pool[name], 0) for name in left}
        slowest = {privacy: sorted(map(seconds.__getitem__, field))[::-1] for privacy, field in self._alive.items()}
        apart = sum(sum(each[: sizes[privacy]]) for privacy, each in slowest.items())
        return min(apart, sum(seconds.values()))

    @property
    def fraction(self) -> float:
        """Share of the work that is done: rounds count alike, and the present one as far as it is."""
        now = [simulation.fraction for simulation in self._now.values()]
        return min(1.0, (self._round + (sum(now) / len(now) if now else 0.0)) / (self._rounds + 1))

    def run(self, jobs: int | None = None, on_progress: Callable[[Contest], None] | None = None) -> Decision | None:
        """Compute what is missing; calls ``on_progress(self)`` after every finished block. None where stopped."""
        whole = self.missing_seconds
        while self._now and not self.stopped:
            for simulation in self._now.values():
                simulation.whole_seconds = whole
                if self.stopped:
                    return None
                simulation.run(jobs, None if on_progress is None else lambda _: on_progress(self))
            if not self.stopped:
                self._catch_up()
        return self.result()

    def result(self) -> Decision | None:
        """The decision, once there is one."""
        if not self.finished:
            return None
        tied = {privacy: _tied(field, self._screened) if field[1:] else field for privacy, field in self._alive.items()}
        best = {privacy: max(names, key=_fits_most) for privacy, names in tied.items()}
        lines = [self._fields[privacy][name].lines[0] for privacy, name in best.items()]
        experiment = next(iter(self._pool.values())).with_lines(tuple(lines))
        done = tuple(self._reported[name] for name in best.values())
        tried = [each for privacy in self._fields for each in self._tried(privacy, best[privacy], tied[privacy])]
        return Decision(Result(experiment, self._times, done, bundled_results=self._beforehand), tuple(tried))

    def _tried(self, privacy: Privacy, best: Method, tied: Sequence[Method]) -> list[Tried]:
        rows, chosen = [], self._reported[best]
        for name in self._fields[privacy]:
            finalist = name in self._reported
            line = (self._reported if finalist else self._screened)[name]
            behind, error, low, high = _behind(line, chosen, finalist)
            rows.append(
                Tried(
                    privacy=privacy,
                    policy=name.policy,
                    title=name.title,
                    trials=line.count,
                    lost=float(line.mean[-1]),
                    stderr=float(line.stderr[-1]),
                    behind=behind,
                    behind_stderr=error,
                    behind_low=low,
                    behind_high=high,
                    chosen=name == best,
                    finalist=finalist,
                    tied=name in tied,
                    spent=name.spent,
                )
            )
        return sorted(rows, key=lambda row: (not row.chosen, row.lost))


def best_methods(
    question: Question,
    promises: Sequence[Privacy] = COMPARED,
    jobs: int | None = None,
    store: Store | None = None,
) -> Decision:
    """The best method known of each trust model; see `Contest`."""
    decision = Contest(question, promises, store).run(jobs)
    assert decision is not None  # no one could stop it
    return decision
