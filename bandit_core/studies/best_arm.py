"""How many users until the best arm is known, or until one option may be rolled out?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self, get_args

import numpy as np
from pydantic import Field

from bandit_core.experiments.experiment import Document, Experiment, Line, clip_problems
from bandit_core.kernels.stopping import Outcome
from bandit_core.kernels.streams import streams
from bandit_core.model import Privacy, Signal
from bandit_core.policies.stopping import Rule, StoppingPolicy, StoppingSetup, stopping_policies
from bandit_core.simulation.costs import Cost, refuse, worker_count
from bandit_core.simulation.engine import Run, Task
from bandit_core.simulation.questions import Round, Rounds, Study, answer
from bandit_core.simulation.results import CONFIDENCE, Shown, estimate, share_limits
from bandit_core.simulation.store import Store, default_store
from bandit_core.spec import rewards as distributions
from bandit_core.spec.budgets import LARGEST
from bandit_core.spec.errors import InputError, Issue, raise_any, refuse_if, validated
from bandit_core.spec.field_types import SMALLEST, Frozen, Number, Whole
from bandit_core.spec.later import pd
from bandit_core.spec.notation import write_epsilon
from bandit_core.spec.number_text import read_shares
from bandit_core.spec.rewards import Arm, Bernoulli, RewardDistribution, expand, seen
from bandit_core.studies.best_method import keeps
from bandit_core.studies.business_case import Belief, drawn_means
from bandit_core.theory.best_arm import TimeBound, time_bounds
from bandit_core.theory.power import Goal, TestSize, assured_size

# ---------------------------------------------------------------------------------------------------------------------
# How many users until the best arm is known? Policies that stop, played many times: when they end, and who is right.
#
# Trial i plays with the i-th child of ``SeedSequence(seed)``, as everywhere, so no number depends on workers or blocks.
# A decision between two others is played as one draw (`bandit_core.kernels.stopping`), so a run costs about the
# logarithm of its users; nothing is stored.
#
# When does each line of a spec know the best arm? The document is the usual one; its lines name policies that stop.
#
# A line gives the policy and its budget, the document the arms, the seed, the number of runs, and the users after which
# a run gives up (``horizon``). Which policies stop, and by which rules: `bandit_core.policies.stopping`. Those that are
# lines of an experiment, too (`bandit_core.policies.search_then_commit`), play the same searches there: a run that
# stops here after so many users has shown the same arms to them there, and shows everyone else what is recommended
# here.


MAX_USERS = 10**15  # in one run: counts stay exact
MAX_ARMS = 10_000
QUANTILES = (0.05, 0.5, 0.95)
COLUMNS = (
    "policy", "privacy", "epsilon", "rule", "delta", "trials", "not_stopped", "mean", "stderr", "q05", "median", "q95",
    "wrong", "wrong_low", "wrong_high", "regret", "regret_stderr", "at_least",
)  # fmt: skip


class StoppingSpec(Frozen):
    """A question to one policy that stops: which arm is the best, wrong with probability ``delta`` at most.

    ``rule`` is the threshold to stop by, ``cap`` the users after which a run gives up, ``growth`` the factor by which
    users grow from one decision to the next (1: a decision for every user). A recommendation is wrong where it is worse
    than the best arm by more than ``zone``. ``truth`` are the mean rewards of single arms that loss and error are
    counted by, where ``arms`` are what the policy sees of cut rewards (None: of ``arms``).
    """

    arms: Annotated[tuple[Arm, ...], Field(min_length=1)]
    policy: str
    delta: Annotated[Number, Field(gt=0, lt=1)] = 0.05
    epsilon: Annotated[Number, Field(gt=0, le=LARGEST)] | None = None
    rule: Rule = "proved"
    truth: Annotated[tuple[Number, ...], Field(min_length=1)] | None = None
    trials: Annotated[Whole, Field(ge=1, le=10**7)] = 1000
    seed: Annotated[Whole, Field(ge=0, lt=2**63)] = 0
    cap: Annotated[Whole, Field(ge=2, le=MAX_USERS)] = 10**8
    growth: Annotated[Number, Field(ge=1, le=2)] = 1.02
    zone: Annotated[Number, Field(ge=0)] = 0.0

    @classmethod
    def of(cls, **fields: Any) -> StoppingSpec:
        """A checked spec.

        Raises
        ------
        InputError
            With every field that is wrong, and what does not fit together.
        """
        spec: StoppingSpec = validated(cls, fields)
        raise_any(spec._problems())
        return spec

    def _problems(self) -> Iterator[Issue]:
        known = stopping_policies()
        if self.policy not in known:
            yield Issue("policy", self.policy, f"one of {', '.join(known)}")
            return
        policy = self.entry
        if (self.epsilon is None) != (policy.privacy == "none"):
            allowed = "needs a privacy budget" if self.epsilon is None else "takes none: it is not private"
            yield Issue("epsilon", self.epsilon, f"{policy.name} {allowed}")
        if self.rule not in policy.rules:
            yield Issue("rule", self.rule, f"{policy.name} stops by {', '.join(policy.rules)}")
        for place, arm in enumerate(self.arms):
            if not arm.inside(0.0, 1.0):
                yield Issue(f"arms[{place}]", arm.kind, "rewards in [0, 1]: they are read as bits")
        count = sum(arm.count for arm in self.arms)
        if not 2 <= count <= MAX_ARMS:
            yield Issue("arms", count, f"from 2 to {MAX_ARMS} arms")
        elif self.truth is not None and len(self.truth) != count:
            yield Issue("truth", len(self.truth), f"{count} means, one for each arm")
        elif self.cap < count:
            yield Issue("cap", self.cap, f"at least {count}, one user for each arm")

    @property
    def entry(self) -> StoppingPolicy:
        """The policy's description."""
        return stopping_policies()[self.policy]

    @property
    def setup(self) -> StoppingSetup:
        """What the kernel is played on."""
        means = np.array([arm.expected for arm in distributions.expand(self.arms)])
        return StoppingSetup(means, self.delta, self.epsilon, self.rule, self.growth, self.cap, min(self.zone, 1.0))

    @property
    def decisions(self) -> float:
        """Decisions that a run takes at most, about."""
        return self.entry.most_decisions(self.setup)

    @property
    def trial_seconds(self) -> float:
        """Rough time of one run on one core, at most."""
        return 25e-6 + self.decisions * (5e-7 + 7e-8 * sum(arm.count for arm in self.arms))


@dataclass(frozen=True, eq=False, repr=False)
class StoppingResult(Shown):
    """Runs that are done, one entry (row) per trial; ``trials`` are their numbers.

    ``users`` (trials,) is the stopping time, or the cap where a run did not stop; ``stopped`` (trials,) says which;
    ``recommended`` (trials,) is the place of an arm in the list of single arms, of runs that did not stop their guess;
    ``pulls`` (trials, arms).
    """

    spec: StoppingSpec
    trials: np.ndarray
    users: np.ndarray
    stopped: np.ndarray
    recommended: np.ndarray
    pulls: np.ndarray

    @property
    def count(self) -> int:
        """Runs that are done."""
        return len(self.trials)

    @cached_property
    def gaps(self) -> np.ndarray:
        """Best mean minus mean of uncut rewards, shape (arms,), reward units."""
        if self.spec.truth is None:
            return self.spec.setup.gaps
        return max(self.spec.truth) - np.array(self.spec.truth)

    @property
    def wrong(self) -> np.ndarray:
        """Runs that stopped with an arm that is worse than the best by more than the zone, shape (trials,)."""
        return np.asarray(self.stopped & (self.gaps[self.recommended] > self.spec.zone * (1 + 1e-9)))

    @property
    def not_stopped(self) -> float:
        """Share of the runs that came to the cap."""
        return float(1 - self.stopped.mean())

    @property
    def mean_users(self) -> float:
        """Mean stopping time; runs that did not stop count with the cap, so it is then too small."""
        return float(self.users.mean())

    def quantile(self, share: float) -> float:
        """Users after which this share of the runs has stopped; infinite where so many never did."""
        times = np.where(self.stopped, self.users.astype(float), np.inf)
        return float(np.quantile(times, share, method="inverted_cdf"))

    @property
    def wrong_share(self) -> float:
        """Share of all runs that ended with a wrong recommendation; what ``delta`` limits."""
        return float(self.wrong.mean())

    def wrong_limits(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Clopper and Pearson's limits of the chance of a wrong recommendation."""
        low, high = share_limits(self.wrong.sum(), self.count, (1 - confidence) / 2)
        return float(low), float(high)

    @property
    def regret(self) -> np.ndarray:
        """What each run has lost by its end, shape (trials,), reward units."""
        return np.asarray(self.pulls @ self.gaps)

    def regret_at(self, horizon: int) -> np.ndarray:
        """What each run has lost after ``horizon`` users who get the recommended arm once it is there, shape (trials,).

        Raises
        ------
        InputError
            When some run took more users than that: choose the horizon as the cap.
        """
        if self.users.max() > horizon:
            raise InputError([Issue("horizon", horizon, f"at least {self.users.max()}, the users of the longest run")])
        return np.asarray(self.regret + (horizon - self.users) * self.gaps[self.recommended])

    @property
    def at_least(self) -> float:
        """Mean users of every policy of this trust and error: the largest bound of theory that applies, else NaN."""
        spec = self.spec
        if spec.zone > 0:
            return math.nan  # the bounds are for the single best arm
        pure = spec.entry.guarantee(spec.setup).measure == "pure"
        bounds = time_bounds(spec.arms, spec.delta, spec.entry.privacy, spec.epsilon, pure=pure)
        return max((bound.users for bound in bounds if bound.not_applicable is None), default=math.nan)

    @property
    def row(self) -> dict[str, Any]:
        """The run in numbers, `COLUMNS`; NaN for the mean time where some runs did not stop."""
        spec, (low, high), lost = self.spec, self.wrong_limits(), estimate(self.regret)
        times = estimate(self.users)[:2] if self.stopped.all() else (math.nan, math.nan)
        values = (
            spec.policy, spec.entry.privacy, math.nan if spec.epsilon is None else spec.epsilon, spec.rule, spec.delta,
            self.count, self.not_stopped, *times, *map(self.quantile, QUANTILES), self.wrong_share,
            low, high, *lost[:2], self.at_least,
        )  # fmt: skip
        return dict(zip(COLUMNS, values, strict=True))

    def _words(self) -> str:
        least = "" if self.stopped.all() else "at least "
        return f"of {self.spec.policy}: {least}{self.mean_users:,.0f} users on average in {self.count:,} runs"

    def _shown(self) -> pd.DataFrame:
        return pd.DataFrame([self.row])


def play(spec: StoppingSpec, rows: np.ndarray, signal: Signal, noiseless: bool = False) -> Outcome | None:
    """One run per row of ``rows`` (trials, 8); None where the signal asked for a stop.

    ``noiseless`` plays a private policy with an infinite budget (`StoppingPolicy.without_noise`).
    """
    setup = spec.entry.without_noise(spec.setup) if noiseless else None
    return spec.entry.play(setup or spec.setup, rows, signal)


class StoppingStudy(Run[tuple[StoppingResult | None, ...]]):
    """Several specs being played, once; polled and stopped like a `Simulation`. Nothing is stored.

    ``noiseless`` as in `play`.

    Raises
    ------
    InputError
        When it takes more steps (decisions x trials), seconds or memory than `simulation.costs.refuse` allows here.
    """

    def __init__(self, specs: Sequence[StoppingSpec], noiseless: bool = False) -> None:
        self.specs, self._noiseless = tuple(specs), noiseless
        super().__init__([spec.trial_seconds for spec in self.specs], 1, default_store().claims)
        self.kept = False
        arms = [sum(arm.count for arm in spec.arms) for spec in self.specs]
        numbers = sum(spec.trials * (each + 6) for spec, each in zip(self.specs, arms, strict=True))
        steps = math.ceil(sum(spec.decisions * spec.trials for spec in self.specs))
        seconds = sum(spec.trials * spec.trial_seconds for spec in self.specs) / worker_count()
        taken = Cost(steps, seconds, 24.0 * numbers, 2.0**20)
        refuse(taken, path="cap", factors="decisions x trials x policies", fewer="arms, policies or ")
        self._outcomes = [
            Outcome(
                np.zeros(spec.trials, np.int64), np.zeros(spec.trials, np.bool_), np.zeros(spec.trials, np.int64),
                np.zeros((spec.trials, each)), np.zeros(2, np.int64),
            )
            for spec, each in zip(self.specs, arms, strict=True)
        ]  # fmt: skip
        self._done = [np.zeros(spec.trials, bool) for spec in self.specs]

    @property
    def finished(self) -> bool:
        """Whether every run is done."""
        return all(done.all() for done in self._done)

    def result(self) -> tuple[StoppingResult | None, ...]:
        """What is done of each spec; None where nothing is."""
        with self._lock:
            rows = [np.flatnonzero(done) for done in self._done]
        return tuple(
            StoppingResult(spec, mine, out.users[mine], out.stopped[mine], out.recommended[mine], out.pulls[mine])
            if len(mine)
            else None
            for spec, mine, out in zip(self.specs, rows, self._outcomes, strict=True)
        )

    def _block(self, task: Task) -> Outcome | None:
        spec = self.specs[task.line]
        return play(spec, streams(spec.seed, task.first, task.last), task.signal, self._noiseless)

    def _take(self, task: Task, block: Outcome) -> None:
        part = slice(task.first, task.last)
        for mine, given in zip(self._outcomes[task.line][:4], block[:4], strict=True):
            mine[part] = given
        self._done[task.line][part] = True


def stopping(specs: Sequence[StoppingSpec], jobs: int | None = None) -> tuple[StoppingResult, ...]:
    """Play every spec to its end, results in the same order; see `StoppingStudy`.

    >>> arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)]
    >>> (result,) = stopping([StoppingSpec.of(arms=arms, policy="top-two", trials=100)], jobs=1)
    >>> bool(result.stopped.all()), result.wrong_share <= 0.05
    (True, True)
    """
    results = StoppingStudy(specs).run(jobs)
    return tuple(result for result in results if result is not None)


def every_spec(
    arms: Sequence[Arm], epsilon: float, names: Sequence[str] | None = None, **fields: Any
) -> list[StoppingSpec]:
    """A spec for each policy (default: all) and each rule that it knows, private ones at ``epsilon``.

    Raises
    ------
    InputError
        See `StoppingSpec.of`.
    """
    known = stopping_policies()
    specs = []
    for name in known if names is None else names:
        for rule in known[name].rules if name in known else ("proved",):
            private = name in known and known[name].privacy != "none"
            budget = {"epsilon": epsilon} if private else {}
            specs.append(StoppingSpec.of(arms=tuple(arms), policy=name, rule=rule, **budget, **fields))
    return specs


# Gaps far too small to be found by the users of these runs: who stops there was misled, in every other run or more.
HARD: dict[str, tuple[float, ...]] = {
    "two halves": (0.5, 0.5 - 1e-7),
    "two rare": (0.03, 0.03 - 1e-8),
    "ten halves": (0.5, *[0.5 - 1e-7] * 9),
    "one behind": (0.5, 0.5 - 1e-7, 0.1),
}


def asked(means: str | None, names: str | None, **fields: Any) -> tuple[list[str] | None, list[StoppingSpec]]:
    """What a command line asks: (instance of each spec, specs); `HARD` ones, or no instances where ``means`` are given.

    ``means`` and ``names`` (of policies) are separated by commas, ``fields`` are those of a `StoppingSpec`; "auto" as
    ``cap`` or ``epsilon`` is 10^8 and 1, and for instances that mislead 10^9 and 0.001: small budgets mislead most.

    Raises
    ------
    InputError
        See `StoppingSpec.of`.
    """
    wanted = None if names is None else [name.strip() for name in names.split(",")]
    usual = {"cap": 10**9, "epsilon": 1e-3} if means is None else {"cap": 10**8, "epsilon": 1.0}
    chosen = fields | {name: value for name, value in usual.items() if fields.get(name, "auto") == "auto"}
    if means is not None:
        rows = [{"mean": read_shares("means", text, asks=False)[0]} for text in means.split(",")]
        return None, every_spec(validated(tuple[Bernoulli, ...], rows, ("means",)), names=wanted, **chosen)
    instances = {name: [Bernoulli(mean=mean) for mean in means] for name, means in HARD.items()}
    every = {name: every_spec(arms, names=wanted, **chosen) for name, arms in instances.items()}
    return [name for name, specs in every.items() for _ in specs], [spec for specs in every.values() for spec in specs]


def table(results: Sequence[StoppingResult], names: Sequence[str] | None = None) -> pd.DataFrame:
    """One row per result, columns `COLUMNS`: times in users, regret in reward units; ``names`` of instances first."""
    frame = pd.DataFrame([result.row for result in results], columns=list(COLUMNS))
    if names is not None:
        frame.insert(0, "instance", list(names))
    return frame


DECISION_COLUMNS = (
    "line", "label", "policy", "epsilon", "delta", "rule", "stop_mean", "stop_q05", "stop_median", "stop_q95",
    "not_stopped", "wrong", "wrong_low", "wrong_high", "lower_bound", "trials",
)  # fmt: skip
_AS_DECISION = {"mean": "stop_mean", "q05": "stop_q05", "median": "stop_median", "q95": "stop_q95",
                "at_least": "lower_bound"}  # fmt: skip
_OF_A_LINE = ("policy", "epsilon")  # fields of a `StoppingSpec` that a line has
_PARAMETERS = ("delta", "rule", "growth")  # that a line may have of its own
_NAMES = {"cap": "horizon"}  # fields that a document calls otherwise


@dataclass(frozen=True)
class StoppingLine:
    """A line of a document: what the reader calls it, and the question that it asks."""

    label: str
    spec: StoppingSpec


def stopping_lines(
    document: Experiment | Mapping[str, Any],
    delta: float = 0.05,
    rule: Rule = "proved",
    trials: int | None = None,
    split_visits: bool = False,
) -> list[StoppingLine]:
    """The lines of a document; ``trials`` replaces its own, ``delta`` and ``rule`` are those of lines that have none.

    ``split_visits``: where people come several times, each answer spends its part of the person's budget.

    Raises
    ------
    InputError
        With every problem: wrong fields, and lines whose policy has no stopping rule, at their path.
    """
    said = document.spec() if isinstance(document, Experiment) else document
    asked: Document = validated(Document, said)
    if asked.contexts is not None:
        raise InputError([Issue("contexts", "users with features", "policies that stop play plain arms; give arms")])
    allowed = "policies that stop count every reward at once; omit it"
    refuse_if(not asked.feedback.immediate, "feedback", said.get("feedback"), allowed)
    allowed = (
        f"policies that stop know people who come once; use ε/{asked.visits} for each answer (--split-visits), or "
        "count each person once and leave it out"
    )
    refuse_if(asked.visits > 1 and not split_visits, "visits", asked.visits, allowed)
    issues = clip_problems(asked)
    raise_any(issues)
    shared = {"delta": delta, "rule": rule, "trials": asked.trials if trials is None else trials}
    lines = []
    for number, line in enumerate(asked.lines):
        try:
            lines.append(StoppingLine(_label(line, asked.lines), _question(line, asked, shared)))
        except InputError as error:
            issues += [replace(issue, path=_path(issue.path, number)) for issue in error.issues]
    raise_any(issue for place, issue in enumerate(issues) if issue not in issues[:place])
    return lines


def _question(line: Line, asked: Document, shared: Mapping[str, Any]) -> StoppingSpec:
    allowed = f"{line.policy} has no stopping rule; those that stop: {', '.join(stopping_policies())}"
    refuse_if(line.policy not in stopping_policies(), "policy", line.policy, allowed)
    budget = None if line.epsilon is None else line.epsilon.fixed
    if line.epsilon is not None and budget is None:
        raise InputError([Issue("epsilon", line.epsilon.kind, f"{line.policy} needs one fixed epsilon for all users")])
    allowed = f"{', '.join(_PARAMETERS)} are all that {line.policy} takes until it stops"
    refuse_if(set(line.params) - set(_PARAMETERS), "params", dict(line.params), allowed)
    if budget is not None:
        budget /= asked.visits
    numbers = {"seed": asked.seed, "cap": asked.horizon, **shared, **line.params}
    return StoppingSpec.of(policy=line.policy, epsilon=budget, **numbers, **_seen(asked, line.policy))


def _seen(asked: Document, policy: str) -> dict[str, Any]:
    """The arms as a policy sees them, and the means of the uncut ones where it sees them cut."""
    if asked.clip is None or stopping_policies()[policy].privacy == "none":
        return {"arms": asked.arms}
    arms = expand(asked.arms)
    return {"arms": seen(arms, asked.clip), "truth": tuple(arm.expected for arm in arms)}


def searches_of(experiment: Experiment) -> list[StoppingLine]:
    """The lines of an experiment that search and stop, as the questions that their runs answer: none where none does.

    Every budget is that of one answer, as people come again.
    """
    found = []
    for number, (line, setup) in enumerate(zip(experiment.lines, experiment.setups, strict=True)):
        if line.entry.stops and setup.horizon >= len(setup.arms) > 1:
            epsilon = None if setup.epsilon is None else setup.fixed_epsilon
            chosen = {name: getattr(setup.parameters, name) for name in _PARAMETERS}
            numbers = {"trials": experiment.trials, "seed": experiment.seed, "cap": experiment.horizon, **chosen}
            spec = StoppingSpec.of(policy=line.policy, epsilon=epsilon, **numbers, **_seen(experiment, line.policy))
            found.append(StoppingLine(experiment.label(number), spec))
    return found


def _path(path: str, number: int) -> str:
    return f"lines[{number}].{path}" if path in (*_OF_A_LINE, "params") else _NAMES.get(path, path)


def _label(line: Line, lines: Sequence[Line]) -> str:
    if line.label:
        return line.written_label
    title = stopping_policies()[line.policy].title if line.policy in stopping_policies() else line.policy
    alone = line.epsilon is None or sum(other.policy == line.policy for other in lines) == 1
    return title if alone or line.epsilon is None else f"{title}, ε {write_epsilon(line.epsilon)}"


def decision_table(lines: Sequence[StoppingLine], results: Sequence[StoppingResult]) -> pd.DataFrame:
    """One row per line, columns `DECISION_COLUMNS`: times in users, shares in [0, 1].

    Where a run does not stop by the horizon, ``stop_mean`` is NaN, and the run counts as infinite in the quantiles.
    ``lower_bound`` holds for the mean time of every policy that keeps the line's promise
    and errs with probability delta at most; NaN where none is known.
    """

    frame = table(results).rename(columns=_AS_DECISION)
    frame.insert(0, "line", range(len(lines)))
    frame.insert(1, "label", [line.label for line in lines])
    return frame[list(DECISION_COLUMNS)]


def decide(
    document: Experiment | Mapping[str, Any],
    delta: float = 0.05,
    rule: Rule = "proved",
    trials: int | None = None,
    jobs: int | None = None,
    split_visits: bool = False,
) -> pd.DataFrame:
    """Users until each line of a document has decided which arm is best; see `stopping_lines` and `decision_table`.

    Raises
    ------
    InputError
        See `stopping_lines`, and where the runs take more than this machine allows.

    >>> arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)]
    >>> frame = decide({"arms": arms, "lines": [{"policy": "top-two"}], "trials": 100})
    >>> bool(frame["lower_bound"][0] < frame["stop_mean"][0]), float(frame["not_stopped"][0])
    (True, 0.0)
    """
    lines = stopping_lines(document, delta, rule, trials, split_visits)
    return decision_table(lines, stopping([line.spec for line in lines], jobs))


# ---------------------------------------------------------------------------------------------------------------------
# How many users until one option may be rolled out: of planned tests, and of policies that stop by themselves, in
# every trust model, on the same options.
#
# A test is planned with the variance of the amounts, and for the difference of the two best options, which one would
# have to guess. To the policy rewards in [0, 1] count as bits that are 1 with this chance: the most varied case, which
# takes longest. With privacy both see cut rewards; without it they see uncut ones, in units of the range in which these
# lie. Where another option looks best once rewards are cut, no private test finds the best one.


CAP = 10**10  # users after which a search gives up; more than there are people
TRIALS = 1000
CASES, FEW_CASES = 2**16, 2**14  # draws of means that are not known, for planned tests: of up to `FEW` options, of more
FEW = 16
ALIKE, GROUPS = 125, 1000  # parts of draws with about the same difference, and these by their variance
_LEAST = SMALLEST  # a chance of 0 as the power calculation takes it
_NEVER = 1e-15  # a variance of 0


@dataclass(frozen=True)
class View:
    """The options as a tester sees their rewards: cut to limits, or between those that occur, in units of ``width``.

    In these units the options differ by more than ``zone`` where they differ, and their uncut means are ``truth``.
    """

    arms: tuple[RewardDistribution, ...]
    width: float
    zone: float
    truth: tuple[float, ...]

    @cached_property
    def means(self) -> tuple[float, ...]:
        """Mean reward of each option."""
        return tuple(float(arm.expected) for arm in self.arms)

    @property
    def bits(self) -> tuple[Bernoulli, ...]:
        """The options as bits of these means."""
        return tuple(Bernoulli(mean=mean) for mean in self.means)

    @cached_property
    def variances(self) -> np.ndarray:
        """Variance of a reward of each option, shape (options,)."""
        return np.array([arm.expect(np.square) - arm.expected**2 for arm in self.arms])

    @cached_property
    def misleads(self) -> bool:
        """Whether an option looks best that is worse than the best one by more than the zone."""
        worst = min(true for true, mean in zip(self.truth, self.means, strict=True) if mean == max(self.means))
        return max(self.truth) - worst > self.zone + 1e-12


@dataclass(frozen=True)
class RollOutQuestion:
    """Options with rewards in [0, 1], ``users`` in all, and a budget for each private trust model in ``epsilons``.

    With privacy rewards are seen cut to ``clip`` (None: to 0 and 1); whether a recommendation is wrong is counted in
    uncut rewards.
    ``delta`` is the chance of a wrong recommendation that is allowed, and the level of the test, whose chance of
    finding the difference is ``power``; ``rule`` is the threshold to stop by. ``sides`` and ``split`` are those of the
    test.
    Options that are worse than the best by ``zone`` at most count as equally good; 0: none are. Where the options are
    not known exactly, all is over ``draws`` of them, and the test finds the difference with ``power`` on average over
    `cases` draws from the ``beliefs``.
    """

    arms: tuple[Arm, ...]
    users: int
    epsilons: tuple[tuple[Privacy, float], ...]
    delta: float = 0.05
    power: float = 0.8
    rule: Rule = "proved"
    trials: int = TRIALS
    seed: int = 0
    clip: tuple[float, float] | None = None
    zone: float = 0.0
    draws: tuple[tuple[Arm, ...], ...] = ()
    beliefs: tuple[Belief, ...] = ()
    sides: int = 2
    split: float = 1.0

    @cached_property
    def each(self) -> tuple[Self, ...]:
        """The same question to each draw, with its share of the trials; the question itself where all is exact."""
        trials = math.ceil(self.trials / max(1, len(self.draws)))
        return tuple(
            replace(self, arms=arms, draws=(), trials=trials, seed=self.seed + 2 * place)
            for place, arms in enumerate(self.draws)
        ) or (self,)

    @cached_property
    def _views(self) -> tuple[View, View]:
        arms, limits = expand(self.arms), self.clip or (0.0, 1.0)
        ends = [arm.support for arm in arms]
        whole = min(low for low, _ in ends), max(high for _, high in ends)

        def view(low: float, high: float) -> View:
            truth = tuple((mean - low) / (high - low) for mean in self.means)
            return View(seen(arms, (low, high)), high - low, self.zone / (high - low), truth)

        return view(*(whole if whole[0] < whole[1] else limits)), view(*limits)

    def view(self, privacy: Privacy) -> View:
        """The options as a trust model sees them: with privacy cut."""
        return self._views[privacy != "none"]

    @cached_property
    def means(self) -> tuple[float, ...]:
        """Mean reward of each option, before any cut."""
        return tuple(float(arm.expected) for arm in expand(self.arms))

    @property
    def amounts(self) -> bool:
        """Whether a reward may be another than 0 and 1."""
        return not all(isinstance(arm, Bernoulli) for arm in (self.draws or (self.arms,))[0])

    def effect(self, privacy: Privacy, goal: Goal = "best") -> float:
        """The largest difference of all draws that is to be found: 0 where no test decides."""
        return float(self._cases[privacy != "none", goal][1].max())

    @property
    def trusts(self) -> tuple[tuple[Privacy, float | None], ...]:
        """Every trust model with its budget, no privacy first."""
        return (("none", None), *self.epsilons)

    @cached_property
    def sizes(self) -> tuple[TestSize, ...]:
        """Users of a test that names the best option, by trust model."""
        return tuple(self.test_for(privacy, epsilon, "best") for privacy, epsilon in self.trusts)

    def test_for(self, privacy: Privacy, epsilon: float | None, goal: Goal, looks: int = 1) -> TestSize:
        """Users of a test that names the best option, or shows that it beats the first one.

        Draws without a difference are left out, unless all are.
        """
        lows, gaps, spreads = self._cases[privacy != "none", goal]
        lows = np.maximum(lows, _LEAST)  # the mean of several may end just below
        fitting = np.clip(gaps, _LEAST, 1 - lows).tolist()
        size = assured_size(
            lows.tolist(), fitting, spreads.tolist() if self.amounts else None, alpha=self.delta, power=self.power,
            privacy=privacy, epsilon=epsilon, options=len(self.means), goal=goal, looks=looks, sides=self.sides,
            split=self.split if goal == "baseline" or len(self.means) == 2 else 1.0,
        )  # fmt: skip
        return size if self.draws else replace(size, cases=None)

    @property
    def cases(self) -> int:
        """Draws that the power of a test averages over."""
        return CASES if len(self.beliefs) <= FEW else FEW_CASES

    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """True means, (cases, options), and means and variances as seen, (2 views, 2, cases, options).

        The means of `cases` draws follow from the beliefs; the rest is the parabola through `draws`, which is exact for
        rates and sales.
        """
        known = np.array([[(view.means, view.variances) for view in each._views] for each in self.each])
        known, truth = np.moveaxis(known, 0, 2), np.array([each.means for each in self.each])
        if not self.draws:
            return truth, known
        drawn = drawn_means(self.beliefs, self.cases)
        found = np.empty((2, 2, *drawn.shape))
        for view, kind, place in np.ndindex(2, 2, drawn.shape[1]):
            means, values = truth[:, place], known[view, kind, :, place]
            found[view, kind, :, place] = values[0]
            if np.ptp(means) > _NEVER:
                curve = np.polynomial.Polynomial.fit(means, values, min(2, len(means) - 1))
                found[view, kind, :, place] = curve(drawn[:, place])
        return drawn, found

    @cached_property
    def _cases(self) -> dict[tuple[bool, Goal], np.ndarray]:
        """By view and goal: mean of the rival, its distance from the best, the sum of both variances, (3, cases).

        The rival is the next best option outside the zone, or the first one; without it the distance is 0, as where cut
        rewards mislead. Draws with about the same distance and variance count as one case with their mean.
        """
        cases: dict[tuple[bool, Goal], np.ndarray] = {}
        truth, moments = self._moments()
        for private, (means, variances) in enumerate(moments):
            view, best = self._views[private], means.argmax(axis=1)[:, None]
            behind, zone = np.take_along_axis(means, best, 1) - means, view.zone * (1 + 1e-9)
            lost = truth.max(axis=1)[:, None] - np.take_along_axis(truth, best, 1)
            apart = {"baseline": behind > zone, "best": behind > zone if zone else np.arange(means.shape[1]) != best}
            apart["baseline"][:, 1:] = False
            for goal in get_args(Goal):
                gaps = np.where(apart[goal], behind, np.inf)
                rival = gaps.argmin(axis=1)[:, None]
                gap = np.take_along_axis(gaps, rival, 1)
                gap[np.isinf(gap) | (lost > self.zone + 1e-12) | view.misleads] = 0.0
                low = np.clip(np.take_along_axis(means, rival, 1), _LEAST, 1 - _LEAST)
                spread = sum(np.take_along_axis(variances, option, 1) for option in (best, rival))
                found = np.hstack([low, gap, np.maximum(spread, _NEVER)])
                found = found[gap[:, 0] > 0] if gap.any() else found
                found = found[found[:, 1].argsort(kind="stable")]
                alike = np.arange(len(found)) * ALIKE // len(found)
                found = found[np.lexsort((found[:, 2], alike))]
                starts = np.unique(np.linspace(0, len(found), GROUPS + 1).astype(int))
                cases[bool(private), goal] = np.add.reduceat(found, starts[:-1]).T / np.diff(starts)
        return cases

    def specs(self, cap: int, drawn: Self | None = None) -> list[StoppingSpec]:
        """Every policy that stops and keeps at least the promise, in every trust model (`levels` has these in the same
        order), by the rule, or by the proved one where it has no other; they give up after ``cap`` users.

        ``drawn`` has the options of a draw.
        """
        each = drawn or self
        shared = {"delta": self.delta, "trials": each.trials, "seed": each.seed, "cap": max(cap, len(self.means))}
        return [
            StoppingSpec.of(
                policy=policy.name,
                rule=rule,
                epsilon=epsilon,
                arms=each.view(privacy).bits,
                truth=each.view(privacy).truth,
                zone=self.view(privacy).zone,
                **shared,
            )
            for privacy, policy, epsilon in self._played
            for rule in ([self.rule] if self.rule in policy.rules else ["proved"])
        ]

    @property
    def _played(self) -> list[tuple[Privacy, StoppingPolicy, float | None]]:
        """Every trust model, each policy that it may use, and its budget.

        Without privacy that is also DP-TT without noise: with many users its rule is quicker than that of Top-Two.
        """
        known = stopping_policies()
        usable = {
            privacy: [(policy, epsilon) for policy in known.values() if keeps(policy.privacy, privacy)]
            for privacy, epsilon in self.trusts
        }
        usable["none"].append((known["dp-tt"], LARGEST))
        return [(privacy, *policy) for privacy, _ in self.trusts for policy in usable[privacy]]

    @property
    def levels(self) -> list[Privacy]:
        """The trust model that each of `specs` plays for."""
        return [privacy for privacy, *_ in self._played]


@dataclass(frozen=True, eq=False)
class RollOut:
    """One trust model: users of the test, and the ``times`` of the quickest policy that stops (on average; it may ask
    for less trust). All is over the draws of the question.

    ``bound`` is the largest lower bound on the mean time of every policy of this trust and error (None: none applies,
    or there are draws, a zone or amounts). ``noiseless`` (trials,) is when the same policy stops with an infinite
    budget, in users, at most the cap (None without privacy): these users are the method's, the rest is privacy's.
    """

    privacy: Privacy
    epsilon: float | None
    test_users: int
    times: StoppingResult
    bound: TimeBound | None
    noiseless: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all runs."""
        times = self.times
        arrays = [times.trials, times.users, times.stopped, times.recommended, times.pulls]
        arrays += [] if self.noiseless is None else [self.noiseless]
        return sum(array.nbytes for array in arrays)


@dataclass(frozen=True, eq=False, repr=False)
class MixedTimes(StoppingResult):
    """Runs on several draws of the options, one after the other; ``spec`` is that of the first draw."""

    parts: tuple[StoppingResult, ...] = ()

    @property
    def wrong(self) -> np.ndarray:
        """Runs that stopped with an option that is not the best of its draw, shape (trials,)."""
        return np.concatenate([part.wrong for part in self.parts])


def _mixed(parts: Sequence[StoppingResult]) -> StoppingResult:
    """The runs of all draws as one result."""
    if len(parts) == 1:
        return parts[0]
    names = ("users", "stopped", "recommended", "pulls")
    arrays: Any = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return MixedTimes(parts[0].spec, np.arange(sum(part.count for part in parts)), **arrays, parts=tuple(parts))


def until_decided(question: RollOutQuestion) -> Rounds[tuple[RollOut, ...]]:
    """The searches, once, no privacy first; the quickest of each trust model is then played without noise.

    Raises
    ------
    InputError
        When the options are no question to a policy that stops, or when it takes more than is allowed here.
    """
    specs = [question.specs(CAP, each) for each in question.each]
    places = [[place for place, level in enumerate(question.levels) if level == each] for each, _ in question.trusts]
    seconds = [[spec.trials * spec.trial_seconds for spec in each] for each in specs]
    later = sum(max(each[place] for place in mine) for mine in places[1:] for each in seconds)
    steps = question.trials * len(set(specs[0])) * CAP
    search = StoppingStudy(list(dict.fromkeys(itertools.chain(*specs))))  # a policy may play for two trust models
    [found] = yield Round([search], 0.0, 0.8, later, steps=steps)
    by_spec = dict(zip(search.specs, found, strict=True))
    times = [_mixed([by_spec[each[place]] for each in specs]) for place in range(len(question.levels))]
    quickest = [min(mine, key=lambda place: times[place].mean_users) for mine in places]
    plain = StoppingStudy([each[place] for place in quickest[1:] for each in specs], noiseless=True)
    [noiseless] = yield Round([plain], 0.8)
    # Bounds are for successes whose chances are known, and for the single best option.
    exact = not question.draws and not question.zone and question.clip is None and not question.amounts
    rows = []
    for number, ((privacy, epsilon), place) in enumerate(zip(question.trusts, quickest, strict=True)):
        bounds = time_bounds(question.arms, question.delta, privacy, epsilon) if exact else []
        at_once = noiseless[(number - 1) * len(specs) : number * len(specs)] if number else ()  # no privacy comes first
        rows.append(
            RollOut(
                privacy=privacy,
                epsilon=epsilon,
                test_users=question.sizes[number].total(len(question.means)),
                times=times[place],
                bound=max((b for b in bounds if b.not_applicable is None), key=lambda b: b.users, default=None),
                noiseless=np.concatenate([part.users for part in at_once]) if number else None,
            )
        )
    return tuple(rows)


class RollOutStudy(Study[tuple[RollOut, ...]]):
    """The searches being played; see `until_decided`."""

    def __init__(self, question: RollOutQuestion, store: Store | None = None) -> None:
        super().__init__(until_decided(question), store)


def roll_outs(question: RollOutQuestion, jobs: int | None = None, store: Store | None = None) -> tuple[RollOut, ...]:
    """Users until a decision; see `until_decided`."""
    return answer(until_decided(question), jobs, store)
