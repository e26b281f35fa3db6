"""How many users until one option may be rolled out, and what is lost on the way: by an A/B test and by a policy that
stops, in every trust model, on the same options.

Rewards in [0, 1] count as bits that are 1 with this chance, as both do under local privacy; without it that is the
most varied case, which takes longest. The test is planned for the difference of the two best options, which one would
have to guess. Both then give their winner to everybody else; who has not decided by the last user rolls out nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.kernels.streams import streams
from bandit_core.model import Privacy, Signal
from bandit_core.policies.stopping import Rule, stopping_policies
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.store import Store
from bandit_core.spec import rewards as distributions
from bandit_core.spec.rewards import Arm, Bernoulli, TwoPoint
from bandit_core.studies.best_arm import StoppingResult, StoppingSpec, StoppingStudy
from bandit_core.theory.best_arm import TimeBound, time_bounds
from bandit_core.theory.power import TestSize, sample_size

TESTS: dict[Privacy, str] = {
    "none": "explore-then-commit",
    "local": "explore-then-commit-local",
    "central": "explore-then-commit-central",
}
CAP = 10**10  # users after which a search gives up; more than there are people
TRIALS = 1000
_LEAST = 1e-12  # a chance of 0 as the power calculation takes it


@dataclass(frozen=True)
class RollOutQuestion:
    """Options with rewards in [0, 1], ``users`` in all, and a budget for each private trust model in ``epsilons``.

    With privacy rewards are seen cut to ``clip`` (None: to 0 and 1); what is lost, and whether a recommendation is
    wrong, is counted in uncut rewards.
    ``delta`` is the chance of a wrong recommendation that is allowed, and the level of the test (Dunnett's for more
    than two options), whose chance of finding the difference is ``power``; ``rule`` is the threshold to stop by.
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

    @cached_property
    def means(self) -> tuple[float, ...]:
        """Mean reward of each option, before any cut."""
        return tuple(float(arm.expected) for arm in distributions.expand(self.arms))

    @cached_property
    def _means_of_cut(self) -> tuple[float, ...]:
        cut = distributions.seen(distributions.expand(self.arms), self.clip)
        return tuple(float(arm.expected) for arm in cut)

    def seen(self, privacy: Privacy) -> tuple[float, ...]:
        """Mean reward of each option as a trust model sees it: cut, and in units of the limits, if it is private."""
        return self.means if privacy == "none" else self._means_of_cut

    def bits(self, privacy: Privacy) -> tuple[Bernoulli, ...]:
        """The options as the bits that a trust model sees."""
        return tuple(Bernoulli(mean=mean) for mean in self.seen(privacy))

    def effect(self, privacy: Privacy) -> float:
        """Best mean minus the second best as a trust model sees them: 0 where no number of users decides."""
        second, best = sorted(self.seen(privacy))[-2:]
        return best - second

    @property
    def trusts(self) -> tuple[tuple[Privacy, float | None], ...]:
        """Every trust model with its budget, no privacy first."""
        return (("none", None), *self.epsilons)

    @property
    def sizes(self) -> tuple[TestSize, ...]:
        """Users that the test needs, by trust model."""
        return tuple(self._size(privacy, epsilon) for privacy, epsilon in self.trusts)

    def _size(self, privacy: Privacy, epsilon: float | None) -> TestSize:
        low = max(_LEAST, sorted(self.seen(privacy))[-2])
        effect = min(max(self.effect(privacy), _LEAST), 1 - low)
        return sample_size(low, effect, self.delta, self.power, privacy, epsilon, len(self.means))

    def specs(self, cap: int) -> list[StoppingSpec]:
        """Every policy that stops, in every trust model, by the rule, or by the proved one where it has no other; they
        give up after ``cap`` users.
        """
        shared = {"delta": self.delta, "trials": self.trials, "seed": self.seed, "cap": max(cap, len(self.means))}
        return [
            StoppingSpec.of(
                policy=policy.name, rule=rule, epsilon=epsilon, arms=self.bits(privacy), truth=self.means, **shared
            )
            for privacy, epsilon in self.trusts
            for policy in stopping_policies().values()
            if policy.privacy == privacy
            for rule in ([self.rule] if self.rule in policy.rules else ["proved"])
        ]

    @property
    def tests(self) -> tuple[Experiment, ...]:
        """The test of each trust model, followed by its winner, as an experiment over ``users``."""
        return tuple(map(self._test, self.sizes))

    def _test(self, size: TestSize) -> Experiment:
        budget = {} if size.epsilon is None else {"epsilon": {"kind": "fixed", "value": size.epsilon}}
        line = {"policy": TESTS[size.privacy], "params": {"users": size.total(len(self.means))}, **budget}
        numbers = {"horizon": self.users, "trials": self.trials, "seed": self.seed}
        if self.clip is None or size.privacy == "none":
            return Experiment.model_validate({"arms": self.bits(size.privacy), "lines": [line], **numbers})
        seen = zip(self.means, self.seen(size.privacy), strict=True)
        arms = tuple(two_amounts(mean, bit, self.clip) for mean, bit in seen)
        return Experiment.model_validate({"arms": arms, "clip": self.clip, "lines": [line], **numbers})


def two_amounts(mean: float, bit: float, clip: tuple[float, float]) -> Arm:
    """Rewards of two amounts with this mean that are, cut to ``clip``, a bit that is 1 with chance ``bit``."""
    low, high = clip
    beyond = mean - (low + (high - low) * bit)  # what the cut takes away
    if beyond >= 0:
        high += beyond / bit if bit > 0 else 0.0
    else:
        low += beyond / (1 - bit) if bit < 1 else 0.0
    return TwoPoint(low=low, high=high, p_high=bit)


@dataclass(frozen=True, eq=False)
class RollOut:
    """One trust model: users of the test, the ``times`` of the quickest policy that stops, and what both lose by the
    last user (trials,).

    Losses are in reward units; ``bound`` is the largest lower bound on the mean time of every policy of this trust and
    error (None: none applies). ``noiseless`` (trials,) is when the same policy stops with an infinite budget, in
    users, at most the cap (None without privacy): these users are the method's, the rest is privacy's.
    """

    privacy: Privacy
    epsilon: float | None
    test_users: int
    times: StoppingResult
    bound: TimeBound | None
    lost_by_test: np.ndarray
    lost_by_search: np.ndarray
    noiseless: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all runs."""
        times = self.times
        arrays = [times.trials, times.users, times.stopped, times.recommended, times.pulls]
        arrays += [] if self.noiseless is None else [self.noiseless]
        return sum(array.nbytes for array in (*arrays, self.lost_by_test, self.lost_by_search))


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """The mean and its standard error (NaN for a single value)."""
    error = float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return float(values.mean()), error


def noiseless_users(spec: StoppingSpec) -> np.ndarray | None:
    """Users until the same policy stops with an infinite budget, on the same streams (trials,); None where it is not
    private. Runs that do not stop count with the cap.
    """
    setup = spec.entry.without_noise(spec.setup)
    if setup is None:
        return None
    outcome = spec.entry.play(setup, streams(spec.seed, 0, spec.trials), Signal())
    assert outcome is not None  # nobody stops it
    return outcome.users


class RollOutStudy:
    """The searches and the tests being played, once; polled and stopped like a `Simulation`.

    Raises
    ------
    InputError
        When the options are no question to a policy that stops, or when it takes more than is allowed here.
    """

    def __init__(self, question: RollOutQuestion, store: Store | None = None) -> None:
        self.question = question
        self._remember = store is None  # else something was uploaded
        self._specs = question.specs(CAP)
        self._search = StoppingStudy([*self._specs, *question.specs(question.users)])
        self._tests = tuple(Simulation(test, store) for test in question.tests)
        self._parts: tuple[StoppingStudy | Simulation, ...] = (self._search, *self._tests)
        self._rows: tuple[RollOut, ...] | None = None

    @property
    def steps(self) -> int:
        """Users of all runs, at most."""
        return self.question.trials * len(self._specs) * (CAP + 2 * self.question.users)

    @property
    def missing_seconds(self) -> float:
        """Rough time, on one core, of what is not done, at most."""
        return sum(part.missing_seconds for part in self._parts)

    @property
    def fraction(self) -> float:
        """Share of the work that is done; the tests take a tenth of it, about."""
        tests = [test.fraction for test in self._tests]
        return 0.9 * self._search.fraction + 0.1 * sum(tests) / len(tests)

    @property
    def finished(self) -> bool:
        """Whether every run is done."""
        return self._search.finished and all(test.missing_seconds == 0 for test in self._tests)

    @property
    def waiting(self) -> bool:
        """Whether what is to be computed next waits for its turn."""
        return any(part.waiting for part in self._parts)

    @property
    def kept(self) -> bool:
        """Nothing of the searches is stored."""
        return False

    @property
    def notices(self) -> list[str]:
        """What the owner of the run should be told."""
        return list(dict.fromkeys(notice for test in self._tests for notice in test.notices))

    @property
    def stopped(self) -> bool:
        """Whether somebody asked for a stop."""
        return self._search.stopped

    def stop(self) -> None:
        """Stop soon; runs that are done are kept."""
        for part in self._parts:
            part.stop()

    def run(
        self, jobs: int | None = None, on_progress: Callable[[RollOutStudy], None] | None = None
    ) -> tuple[RollOut, ...] | None:
        """Play what is missing; calls ``on_progress(self)`` after every finished block. None where stopped."""
        for part in self._parts:
            if not self.stopped:
                part.run(jobs, None if on_progress is None else lambda _: on_progress(self))
        return self.result()

    def result(self) -> tuple[RollOut, ...] | None:
        """Every trust model, no privacy first, once all runs are done."""
        if self._rows is None and self.finished:
            self._rows = tuple(map(self._row, range(len(self.question.trusts))))
        return self._rows

    def _row(self, place: int) -> RollOut:
        question, (privacy, epsilon) = self.question, self.question.trusts[place]
        found, [line] = self._search.result(), self._tests[place].result().lines
        mine = [number for number, spec in enumerate(self._specs) if spec.entry.privacy == privacy]
        quickest = min(mine, key=lambda number: found[number].mean_users)  # type: ignore[union-attr]
        times, capped = found[quickest], found[len(self._specs) + quickest]
        assert times is not None and capped is not None and line is not None
        bounds = time_bounds(question.bits(privacy), question.delta, privacy, epsilon, self._remember)
        applicable = [bound for bound in bounds if bound.not_applicable is None]
        return RollOut(
            privacy=privacy,
            epsilon=epsilon,
            test_users=question.sizes[place].total(len(question.means)),
            times=times,
            bound=max(applicable, key=lambda bound: bound.users, default=None),
            lost_by_test=line.regret[:, -1],
            lost_by_search=capped.regret_at(max(question.users, len(question.means))),
            noiseless=noiseless_users(times.spec),
        )


def roll_outs(question: RollOutQuestion, jobs: int | None = None, store: Store | None = None) -> tuple[RollOut, ...]:
    """Users until a decision, and what is lost on the way; see `RollOutStudy`."""
    found = RollOutStudy(question, store).run(jobs)
    assert found is not None  # nobody could stop it
    return found
