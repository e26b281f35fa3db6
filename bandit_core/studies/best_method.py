"""The best method known for each trust model, found by simulation on the asker's own options.

Every policy of the registry that keeps a promise and accepts the options is a candidate. Screening halves the field:
after 8, 16, 32 and 64 trials (more where users are few) each candidate that is clearly worse than the leader (three
standard errors over pairs of trials) goes, and so does the worse half of the rest (as in sequential halving, Karnin,
Koren and Somekh 2013, "Almost optimal exploration in multi-armed bandits"). The leader of the last round is chosen.
What is reported of it comes from trials with another seed, which had no part in the choice, so that the choice does
not flatter it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bandit_core.experiments.experiment import Experiment, checkpoints
from bandit_core.model import Policy, Privacy
from bandit_core.policies import registry
from bandit_core.simulation.costs import most_steps, trial_seconds
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.results import LineResult, Result
from bandit_core.simulation.store import Store
from bandit_core.spec.budgets import Epsilon
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.rewards import Arm, Bernoulli
from bandit_core.theory.threshold import recommended

TRIALS = 100
ROUNDS = (8, 16, 32, 64)  # screening trials that a candidate has played at the end of each round
SHORT, LONG = 50_000, 1_000_000  # users: up to twice as many trials below, down to a quarter of them above
CLEARLY = 3.0  # standard errors by which a candidate must be behind to go at once
COMPARED: tuple[Privacy, ...] = ("none", "local", "central")  # the trust models of the contest


@dataclass(frozen=True)
class Question:
    """Options with rewards in [0, 1], the number of users, and one budget or how the budgets are spread.

    ``trials`` are those that are reported; the default spends more on short runs and less on very long ones. ``note``
    goes with the experiments.
    """

    arms: tuple[Arm, ...]
    horizon: int
    epsilon: Epsilon | float
    trials: int | None = None
    seed: int = 0
    note: str = ""

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
        """Trials that a candidate has played at the end of each round of the screening."""
        return tuple(round(trials * self.effort) for trials in ROUNDS)

    @property
    def one_budget(self) -> bool:
        """Whether all users have the same budget."""
        return isinstance(self.epsilon, int | float)


def candidates(question: Question, privacy: Privacy) -> tuple[Experiment, ...]:
    """One experiment per policy that keeps the promise ``privacy`` and accepts options and budget.

    Promises are pure: a policy that keeps its own only up to some delta > 0 is left out. What a policy would read off
    the options themselves (bounds on moments, say) is replaced by what holds for any rewards in [0, 1], because nobody
    knows it beforehand.

    Raises
    ------
    InputError
        When no policy without privacy accepts the question.
    """
    found: list[Experiment] = []
    refusal: InputError | None = None
    for policy in registry().values():
        if policy.privacy != privacy or policy.setting != "arms":
            continue
        try:
            candidate = _candidate(question, policy)
        except InputError as error:
            refusal = refusal or error
            continue
        if policy.guarantee(candidate.setups[0]).delta == 0:
            found.append(candidate)
    if privacy == "none" and not found and refusal is not None:
        raise refusal
    return tuple(found)


def _candidate(question: Question, policy: Policy) -> Experiment:
    line: dict[str, Any] = {"policy": policy.name, "label": policy.promise.who}
    if policy.epsilon != "none":
        line["epsilon"] = (
            {"kind": "fixed", "value": float(question.epsilon)}  # type: ignore[arg-type]
            if question.one_budget
            else question.epsilon
        )
    if "eps_min" in policy.parameters.model_fields and not question.one_budget:
        # Automatic thresholds are remembered by the process; budgets that somebody uploaded must not be.
        line["params"] = {"eps_min": recommended.__wrapped__(question.epsilon, "v_b")}
    document = {
        "arms": tuple(question.arms),
        "lines": [line],
        "horizon": question.horizon,
        "trials": question.reported,
        "seed": question.seed,
        "note": question.note,
        "view": {"bounds": False},
    }
    candidate = Experiment.model_validate(document)
    blind = known_beforehand(policy, candidate)
    if not blind:
        return candidate
    return Experiment.model_validate({**document, "lines": [{**line, "params": {**line.get("params", {}), **blind}}]})


def known_beforehand(policy: Policy, candidate: Experiment) -> dict[str, Any]:
    """Parameters that were read off the options, as they are for the largest rewards in [0, 1]."""
    [setup] = candidate.setups
    [line] = candidate.lines
    asked = policy.resolve(policy.parameters.model_validate(line.params), line.epsilon)
    largest = (Bernoulli(mean=1.0),) * len(setup.arms)
    settled = policy.settle(replace(setup, arms=largest, parameters=asked))
    return {name: value for name, value in settled.model_dump().items() if value != getattr(setup.parameters, name)}


# ---------------------------------------------------------------------------------------------------------------
# The contest


@dataclass(frozen=True)
class Tried:
    """One candidate's loss over all users in reward units, and how far it is behind the chosen one of its trust model.

    ``finalist`` says whether the trials are the reported ones, else they are of the screening. ``behind`` is positive
    where it loses more, and 0 for the chosen one; that of a finalist is over pairs of trials. Errors are standard
    errors (NaN for a single trial).
    """

    privacy: Privacy
    policy: str
    title: str
    trials: int
    lost: float
    stderr: float
    behind: float
    behind_stderr: float
    chosen: bool
    finalist: bool

    @property
    def apart(self) -> bool:
        """Whether it can be told apart from the chosen one by two standard errors.

        By three where it was dropped: the trials that it was dropped for flatter it least.
        """
        return not self.chosen and abs(self.behind) > (2.0 if self.finalist else CLEARLY) * self.behind_stderr


@dataclass(frozen=True)
class Decision:
    """The chosen method of each trust model, one line each (`result`), and every candidate, best first."""

    result: Result
    tried: tuple[Tried, ...]

    def of(self, privacy: Privacy) -> tuple[Tried, ...]:
        """The candidates of one trust model: the chosen one first, then by loss."""
        return tuple(each for each in self.tried if each.privacy == privacy)

    def equals(self, privacy: Privacy) -> tuple[Tried, ...]:
        """Candidates that cannot be told apart from the chosen one, without it."""
        return tuple(each for each in self.of(privacy) if not each.chosen and not each.apart)


def _survivors(field: Sequence[int], played: Mapping[int, LineResult]) -> list[int]:
    """Who goes into the next round, best first; ties are broken by the order of the registry."""
    ranked = sorted(field, key=lambda number: (played[number].mean[-1], number))
    leader = played[ranked[0]]
    near = []
    for number in ranked:
        behind, error = played[number].difference_to(leader)
        if not behind > CLEARLY * error:
            near.append(number)
    return near[: max(2, -(-len(field) // 2))]


def _behind(mine: LineResult, chosen: LineResult, paired: bool) -> tuple[float, float]:
    """How much more is lost at the horizon, and the standard error of that."""
    if paired:
        return mine.difference_to(chosen)
    return float(mine.mean[-1] - chosen.mean[-1]), math.hypot(mine.stderr[-1], chosen.stderr[-1])


class Contest:
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
        self._fields = {privacy: field for privacy, field in fields.items() if field}
        self._alive = {privacy: list(range(len(field))) for privacy, field in self._fields.items()}
        self._screened: dict[tuple[Privacy, int], LineResult] = {}
        self._reported: dict[tuple[Privacy, int], LineResult] = {}
        self.stopped = False
        self._refuse_if_too_large()
        self._round = 0
        self._kept = True
        self._notices: list[str] = []
        self._beforehand = ""  # see `Result`
        self._times = checkpoints(question.horizon)
        self._now = self._simulations()
        self._catch_up()

    def _refuse_if_too_large(self) -> None:
        if self.steps > most_steps():
            allowed = f"at most {most_steps():.3g} steps (users x trials x methods) here; ask for fewer users"
            raise InputError([Issue("horizon", f"{self.steps:.3g} steps", allowed)])

    def _plan(self) -> list[tuple[int, dict[Privacy, int]]]:
        """New trials of each candidate, and how many candidates at most play them, round by round."""
        sizes = {privacy: len(field) for privacy, field in self._fields.items()}
        rounds, plan = self.question.rounds, []
        for before, now in zip((0, *rounds), rounds, strict=False):
            plan.append((now - before, {privacy: size if size > 1 else 0 for privacy, size in sizes.items()}))
            sizes = {privacy: min(size, max(2, -(-size // 2))) for privacy, size in sizes.items()}
        return [*plan, (self.question.reported, sizes)]

    @property
    def steps(self) -> int:
        """Pulls that the contest takes at most."""
        return self.question.horizon * sum(trials * sum(sizes.values()) for trials, sizes in self._plan())

    def _simulations(self) -> dict[tuple[Privacy, int], Simulation]:
        """What the present round plays; nothing once the contest is over."""
        while self._round < len(ROUNDS) and all(len(field) < 2 for field in self._alive.values()):
            self._round += 1
        if self._round > len(ROUNDS):
            return {}
        screening = self._round < len(ROUNDS)
        trials = self.question.rounds[self._round] if screening else self.question.reported
        seed = self.question.screening_seed if screening else self.question.seed
        return {
            (privacy, number): Simulation(
                self._fields[privacy][number].model_copy(update={"trials": trials, "seed": seed}), self.store
            )
            for privacy, field in self._alive.items()
            for number in field
            if len(field) > 1 or not screening
        }

    def _catch_up(self) -> None:
        """Close every round whose trials are all there."""
        while self._now and all(simulation.missing_seconds == 0 for simulation in self._now.values()):
            results = {key: simulation.result() for key, simulation in self._now.items()}
            played = {key: result.lines[0] for key, result in results.items()}
            self._beforehand = max([self._beforehand, *(result.beforehand for result in results.values())])
            self._kept, self._notices = self.kept, self.notices  # the simulations themselves are let go
            done = self._screened if self._round < len(ROUNDS) else self._reported
            done.update({key: line for key, line in played.items() if line is not None})
            if self._round < len(ROUNDS):
                for privacy, field in self._alive.items():
                    if len(field) > 1:
                        mine = {number: self._screened[privacy, number] for number in field}
                        self._alive[privacy] = _survivors(field, mine)
            self._round += 1
            self._now = self._simulations()

    @property
    def finished(self) -> bool:
        """Whether everything is decided."""
        return not self._now

    @property
    def missing_seconds(self) -> float:
        """Rough time, on one core, of what is at most left; what the store already holds of later rounds is counted."""
        now = sum(simulation.missing_seconds for simulation in self._now.values())
        later = 0.0
        for trials, sizes in self._plan()[self._round + 1 :]:
            for privacy, field in self._alive.items():
                seconds = sorted((trial_seconds(self._fields[privacy][number], 0) for number in field), reverse=True)
                later += trials * sum(seconds[: sizes[privacy]])
        return now + later

    @property
    def fraction(self) -> float:
        """Share of the work that is done: rounds count alike, and the present one as far as it is."""
        now = [simulation.fraction for simulation in self._now.values()]
        return min(1.0, (self._round + (sum(now) / len(now) if now else 0.0)) / (len(ROUNDS) + 1))

    @property
    def waiting(self) -> bool:
        """Whether what is to be computed next waits for its turn."""
        return any(simulation.waiting for simulation in self._now.values())

    @property
    def compiles(self) -> bool:
        """Whether a kernel must be compiled before what comes next can be played."""
        return any(simulation.compiles for simulation in self._now.values())

    @property
    def kept(self) -> bool:
        """Whether the store took every block."""
        return self._kept and all(simulation.kept for simulation in self._now.values())

    @property
    def notices(self) -> list[str]:
        """What the owner of the run should be told, each once."""
        told = [notice for simulation in self._now.values() for notice in simulation.notices]
        return list(dict.fromkeys([*self._notices, *told]))

    def stop(self) -> None:
        """Stop soon; what is finished is kept."""
        self.stopped = True
        for simulation in self._now.values():
            simulation.stop()

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
        best = {privacy: field[0] for privacy, field in self._alive.items()}
        lines = [self._fields[privacy][number].lines[0] for privacy, number in best.items()]
        first = next(iter(self._fields.values()))[0]
        experiment = first.with_lines(tuple(lines))
        done = tuple(self._reported[key] for key in best.items())
        tried = [each for privacy in self._fields for each in self._tried(privacy, best[privacy])]
        return Decision(Result(experiment, self._times, done, beforehand=self._beforehand), tuple(tried))

    def _tried(self, privacy: Privacy, best: int) -> list[Tried]:
        rows, chosen = [], self._reported[privacy, best]
        for number, candidate in enumerate(self._fields[privacy]):
            finalist = (privacy, number) in self._reported
            line = (self._reported if finalist else self._screened)[privacy, number]
            behind, error = _behind(line, chosen, finalist)
            policy = candidate.lines[0].entry
            rows.append(
                Tried(
                    privacy=privacy,
                    policy=policy.name,
                    title=policy.title,
                    trials=line.count,
                    lost=float(line.mean[-1]),
                    stderr=float(line.stderr[-1]),
                    behind=behind,
                    behind_stderr=error,
                    chosen=number == best,
                    finalist=finalist,
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
    assert decision is not None  # nobody could stop it
    return decision
