"""How many users until one option may be rolled out, and what is lost on the way: by an A/B test and by a policy that
stops, in every trust model, on the same options.

The test is planned with the variance of the amounts, and for the difference of the two best options, which one would
have to guess. To the policy rewards in [0, 1] count as bits that are 1 with this chance: the most varied case, which
takes longest. With privacy both see cut rewards; without it they may cut them, too, where that is quicker and the best
option stays the best. Both then give their winner to everyone else; who has not decided by the last user rolls out
nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.model import Privacy
from bandit_core.policies.stopping import Rule, StoppingPolicy, stopping_policies
from bandit_core.simulation.engine import Simulation
from bandit_core.simulation.store import Store
from bandit_core.simulation.together import Parts
from bandit_core.spec import rewards as distributions
from bandit_core.spec.budgets import LARGEST
from bandit_core.spec.field_types import SMALLEST
from bandit_core.spec.rewards import Arm, Bernoulli, TwoPoint
from bandit_core.studies.best_arm import StoppingResult, StoppingSpec, StoppingStudy
from bandit_core.studies.best_method import keeps
from bandit_core.theory.best_arm import TimeBound, time_bounds
from bandit_core.theory.power import TestSize, assured_size, sample_size

TESTS: dict[Privacy, str] = {
    "none": "explore-then-commit",
    "local": "explore-then-commit-local",
    "central": "explore-then-commit-central",
}
CAP = 10**10  # users after which a search gives up; more than there are people
TRIALS = 1000
_LEAST = SMALLEST  # a chance of 0 as the power calculation takes it
_NEVER = 1e-15  # a variance of 0


@dataclass(frozen=True)
class RollOutQuestion:
    """Options with rewards in [0, 1], ``users`` in all, and a budget for each private trust model in ``epsilons``.

    With privacy rewards are seen cut to ``clip`` (None: to 0 and 1); what is lost, and whether a recommendation is
    wrong, is counted in uncut rewards.
    ``delta`` is the chance of a wrong recommendation that is allowed, and the level of the test (Dunnett's for more
    than two options), whose chance of finding the difference is ``power``; ``rule`` is the threshold to stop by.
    Options that are worse than the best by ``zone`` at most count as equally good; 0: none are. Where the options are
    not known exactly, all is over ``draws`` of them, and the test finds the difference with ``power`` on average.
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

    @cached_property
    def each(self) -> tuple[RollOutQuestion, ...]:
        """The same question to each draw, with its share of the trials; the question itself where all is exact."""
        trials = math.ceil(self.trials / max(1, len(self.draws)))
        return tuple(
            replace(self, arms=arms, draws=(), trials=trials, seed=self.seed + 2 * place)
            for place, arms in enumerate(self.draws)
        ) or (self,)

    @cached_property
    def means(self) -> tuple[float, ...]:
        """Mean reward of each option, before any cut."""
        return tuple(float(arm.expected) for arm in distributions.expand(self.arms))

    @cached_property
    def _cut(self) -> tuple[distributions.RewardDistribution, ...]:
        return distributions.seen(distributions.expand(self.arms), self.clip)

    @cached_property
    def _means_of_cut(self) -> tuple[float, ...]:
        return tuple(float(arm.expected) for arm in self._cut)

    def seen(self, privacy: Privacy) -> tuple[float, ...]:
        """Mean reward of each option as a trust model sees it: cut, and in units of the limits, if it is private."""
        return self.means if privacy == "none" else self._means_of_cut

    @property
    def amounts(self) -> bool:
        """Whether a reward may be another than 0 and 1."""
        return not all(isinstance(arm, Bernoulli) for arm in (self.draws or (self.arms,))[0])

    def variances(self, privacy: Privacy) -> np.ndarray | None:
        """Variance of a reward of each option as a trust model sees it, shape (options,); None of successes."""
        if not self.amounts:
            return None
        arms = distributions.expand(self.arms) if privacy == "none" else self._cut
        return np.array([arm.expect(np.square) - arm.expected**2 for arm in arms])

    def views(self, privacy: Privacy) -> tuple[Privacy, ...]:
        """The trust models as which a tester may see the rewards: itself, and without privacy also cut ones."""
        cut = self._means_of_cut
        kept = max(self.means) - self.means[cut.index(max(cut))] <= self.zone + 1e-12
        return ("none", "central") if privacy == "none" and self.clip is not None and kept else (privacy,)

    def bits(self, privacy: Privacy) -> tuple[Bernoulli, ...]:
        """The options as the bits that a trust model sees."""
        return tuple(Bernoulli(mean=mean) for mean in self.seen(privacy))

    def _limits(self, privacy: Privacy) -> tuple[float, float]:
        """The rewards that a trust model sees as 0 and as 1."""
        return (0.0, 1.0) if privacy == "none" or self.clip is None else self.clip

    def width(self, privacy: Privacy) -> float:
        """What a reward of 1, as a trust model sees it, stands for."""
        low, high = self._limits(privacy)
        return high - low

    def _zone(self, privacy: Privacy) -> float:
        """The zone in the units in which a trust model sees the rewards."""
        return self.zone / self.width(privacy)

    def _truth(self, privacy: Privacy) -> tuple[float, ...]:
        """Mean reward of each option before any cut, in the units in which a trust model sees the rewards."""
        low, width = self._limits(privacy)[0], self.width(privacy)
        return tuple((mean - low) / width for mean in self.means)

    def effect(self, privacy: Privacy) -> float:
        """Best mean minus the next one outside the zone, as a trust model sees them: 0 where no test decides.

        The largest of all draws.
        """
        if self.draws:
            return max(each.effect(privacy) for each in self.each)
        *others, best = sorted(self.seen(privacy))
        if self.zone == 0:
            return best - others[-1]
        reach = self._zone(privacy) * (1 + 1e-9)
        return min((best - mean for mean in others if best - mean > reach), default=0.0)

    def lift(self, privacy: Privacy) -> float:
        """Best mean minus that of the first option, as a trust model sees them: 0 where that is within the zone.

        The largest of all draws.
        """
        if self.draws:
            return max(each.lift(privacy) for each in self.each)
        first, *_ = means = self.seen(privacy)
        return lift if (lift := max(means) - first) > self._zone(privacy) * (1 + 1e-9) else 0.0

    @property
    def trusts(self) -> tuple[tuple[Privacy, float | None], ...]:
        """Every trust model with its budget, no privacy first."""
        return (("none", None), *self.epsilons)

    @cached_property
    def planned(self) -> tuple[tuple[TestSize, Privacy], ...]:
        """The test that names the best option with the least users, by trust model, and as which it sees rewards."""
        found = []
        for privacy, epsilon in self.trusts:
            gaps = {view: [each.effect(view) for each in self.each] for view in self.views(privacy)}
            usable = [view for view in gaps if any(gaps[view])] or [privacy]
            tests = [(self._size(privacy, epsilon, view, gaps[view]), view) for view in usable]
            found.append(min(tests, key=lambda test: test[0].users_per_option))
        return tuple(found)

    @property
    def sizes(self) -> tuple[TestSize, ...]:
        """Users of a test that names the best option, by trust model."""
        return tuple(size for size, _ in self.planned)

    @property
    def lift_sizes(self) -> tuple[TestSize | None, ...]:
        """Users of a test that shows that the best option beats the first; None where it is no better."""
        found = []
        for privacy, epsilon in self.trusts:
            lifts = {view: [each.lift(view) for each in self.each] for view in self.views(privacy)}
            tests = [self._size(privacy, epsilon, view, lifts[view]) for view in lifts if any(lifts[view])]
            found.append(min(tests, key=lambda size: size.users_per_option, default=None))
        return tuple(found)

    def _size(self, privacy: Privacy, epsilon: float | None, view: Privacy, gaps: Sequence[float]) -> TestSize:
        """Users of a test for these differences of the draws; those without one are left out, unless all are."""
        cases, amounts = [], []
        for each, gap in zip(self.each, gaps, strict=True):
            if gap or not any(gaps):
                means, variances = np.array(each.seen(view)), each.variances(view)
                low = max(_LEAST, float(means.max()) - gap)
                cases.append((low, min(max(gap, _LEAST), 1 - low)))
                best, rival = means.argmax(), np.abs(means.max() - gap - means).argmin()
                amounts.append(None if variances is None else max(_NEVER, float(variances[best] + variances[rival])))
        asked: dict[str, Any] = {"alpha": self.delta, "power": self.power, "privacy": privacy, "epsilon": epsilon}
        asked["options"] = len(self.means)
        if not self.draws:
            return sample_size(*cases[0], **asked, amounts=amounts[0])
        known = amounts if self.amounts else None
        return assured_size([low for low, _ in cases], [gap for _, gap in cases], **asked, amounts=known)  # type: ignore[arg-type]

    def specs(self, cap: int, drawn: RollOutQuestion | None = None) -> list[StoppingSpec]:
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
                arms=each.bits(view),
                truth=each._truth(view),
                zone=self._zone(view),
                **shared,
            )
            for _, view, policy, epsilon in self._played
            for rule in ([self.rule] if self.rule in policy.rules else ["proved"])
        ]

    @property
    def _played(self) -> list[tuple[Privacy, Privacy, StoppingPolicy, float | None]]:
        """Every trust model, as which it sees the rewards, each policy that it may use, and its budget.

        Without privacy that is also DP-TT without noise: with many users its rule is quicker than that of Top-Two.
        """
        known = stopping_policies()
        usable = {
            privacy: [(policy, epsilon) for policy in known.values() if keeps(policy.privacy, privacy)]
            for privacy, epsilon in self.trusts
        }
        usable["none"].append((known["dp-tt"], LARGEST))
        return [
            (privacy, view, policy, epsilon)
            for privacy, _ in self.trusts
            for view in self.views(privacy)
            for policy, epsilon in usable[privacy]
        ]

    @property
    def levels(self) -> list[Privacy]:
        """The trust model that each of `specs` plays for."""
        return [privacy for privacy, *_ in self._played]

    @property
    def tests(self) -> tuple[Experiment, ...]:
        """The test of each trust model, followed by its winner, as an experiment over ``users``; draw by draw.

        Rewards are as the test sees them: two amounts with their mean and variance.
        """
        return tuple(each._test(*planned) for each in self.each for planned in self.planned)

    def _test(self, size: TestSize, view: Privacy) -> Experiment:
        budget = {} if size.epsilon is None else {"epsilon": {"kind": "fixed", "value": size.epsilon}}
        line = {"policy": TESTS[size.privacy], "params": {"users": size.total(len(self.means))}, **budget}
        numbers = {"horizon": self.users, "trials": self.trials, "seed": self.seed}
        variances = self.variances(view)
        arms = self.bits(view) if variances is None else tuple(map(two_amounts, self.seen(view), variances.tolist()))
        return Experiment.model_validate({"arms": arms, "lines": [line], **numbers})


def two_amounts(mean: float, variance: float) -> Arm:
    """Rewards of 0 or one amount, at most 1, with the mean and the variance of rewards in [0, 1]."""
    if mean == 0 or variance >= mean * (1 - mean) * (1 - 1e-9):
        return Bernoulli(mean=mean)
    high = mean + variance / mean
    return TwoPoint(low=0.0, high=high, p_high=min(1.0, mean / high))


@dataclass(frozen=True, eq=False)
class RollOut:
    """One trust model: users of the test, the ``times`` of the quickest policy that stops (on average; it may ask for
    less trust), and what both lose by the last user (trials,). All is over the draws of the question.

    Losses are in reward units; ``bound`` is the largest lower bound on the mean time of every policy of this trust and
    error (None: none applies, or there are draws, a zone or amounts). ``noiseless`` (trials,) is when the same policy
    stops with an infinite budget, in users, at most the cap (None without privacy): these users are the method's, the
    rest is privacy's.
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


class RollOutStudy(Parts):
    """The searches and the tests being played, once; polled and stopped like a `Simulation`.

    The quickest search of each trust model is then played up to the last user, for what it loses, and without noise.

    Raises
    ------
    InputError
        When the options are no question to a policy that stops, or when it takes more than is allowed here.
    """

    def __init__(self, question: RollOutQuestion, store: Store | None = None) -> None:
        self.question = question
        self._specs = [question.specs(CAP, each) for each in question.each]
        self._capped = [question.specs(question.users, each) for each in question.each]
        # A policy may play for two trust models.
        self._search = StoppingStudy(list(dict.fromkeys(itertools.chain(*self._specs))))
        self._tests = tuple(Simulation(test, store) for test in question.tests)
        self._last: tuple[StoppingStudy, ...] = ()  # to the last user, and without noise; once the searches are done
        self._rows: tuple[RollOut, ...] | None = None

    @property
    def steps(self) -> int:
        """Users of all runs, at most."""
        return self.question.trials * len(set(self._specs[0])) * (CAP + 2 * self.question.users)

    @property
    def _parts(self) -> tuple[StoppingStudy | Simulation, ...]:
        return (self._search, *self._tests, *self._last)

    def _of_trust(self, privacy: Privacy) -> list[int]:
        """Places of the searches of one trust model."""
        return [place for place, level in enumerate(self.question.levels) if level == privacy]

    def _quickest(self, privacy: Privacy) -> int:
        """The place of the search with the least mean time over all draws, once all are done."""
        return min(self._of_trust(privacy), key=lambda place: self._times(self._specs, place).mean_users)

    def _times(self, specs: Sequence[Sequence[StoppingSpec]], place: int) -> StoppingResult:
        """Over all draws, the runs of the policy at this place."""
        study = self._search if specs is self._specs else self._last[0]
        found = dict(zip(study.specs, study.result(), strict=True))
        return _mixed([found[each[place]] for each in specs])  # type: ignore[misc]

    @property
    def missing_seconds(self) -> float:
        """Rough time, on one core, of what is not done, at most."""
        later = 0.0
        if not self._last:
            places = [self._of_trust(privacy) for privacy, _ in self.question.trusts]
            seconds = [[spec.trials * spec.trial_seconds for spec in specs] for specs in (*self._specs, *self._capped)]
            later = sum(max(each[place] for place in mine) for mine in places for each in seconds)
        return later + super().missing_seconds

    @property
    def fraction(self) -> float:
        """Share of the work that is done; tests take a tenth of it, about, and the last runs a fifth."""
        last = sum(study.fraction for study in self._last)
        tests = [test.fraction for test in self._tests]
        return 0.7 * self._search.fraction + 0.1 * sum(tests) / len(tests) + 0.1 * last

    @property
    def finished(self) -> bool:
        """Whether every run is done."""
        return (
            self._search.finished
            and all(test.missing_seconds == 0 for test in self._tests)
            and bool(self._last)
            and all(study.finished for study in self._last)
        )

    @property
    def kept(self) -> bool:
        """Nothing of the searches is stored."""
        return False

    def run(
        self, jobs: int | None = None, on_progress: Callable[[RollOutStudy], None] | None = None
    ) -> tuple[RollOut, ...] | None:
        """Play what is missing; calls ``on_progress(self)`` after every finished block. None where stopped."""
        message = None if on_progress is None else lambda _: on_progress(self)
        self._search.run(jobs, message)
        for test in self._tests:
            if not self.stopped:
                test.run(jobs, message)
        if not self.stopped and self._search.finished:
            if not self._last:
                quickest = [self._quickest(privacy) for privacy, _ in self.question.trusts]
                capped = dict.fromkeys(each[place] for place in quickest for each in self._capped)
                private = [each[place] for place in quickest[1:] for each in self._specs]
                self._last = StoppingStudy(list(capped)), StoppingStudy(private, noiseless=True)
            for study in self._last:
                if not self.stopped:
                    study.run(jobs, message)
        return self.result()

    def result(self) -> tuple[RollOut, ...] | None:
        """Every trust model, no privacy first, once all runs are done."""
        if self._rows is None and self.finished:
            self._rows = tuple(map(self._row, range(len(self.question.trusts))))
        return self._rows

    def _row(self, place: int) -> RollOut:
        question, (privacy, epsilon) = self.question, self.question.trusts[place]
        draws, quickest, end = len(question.each), self._quickest(privacy), max(question.users, len(question.means))
        capped = self._times(self._capped, quickest)
        gaps = [max(each.means) - np.array(each.means) for each in question.each]
        width = question.width(question._played[quickest][1])
        # Bounds are for successes whose chances are known, and for the single best option.
        exact = not question.draws and not question.zone and question.clip is None and not question.amounts
        bounds = time_bounds(question.arms, question.delta, privacy, epsilon) if exact else []
        applicable = [bound for bound in bounds if bound.not_applicable is None]
        plain = self._last[1].result()[(place - 1) * draws : place * draws] if place else ()  # no privacy comes first
        tests = [test.result().lines[0] for test in self._tests[place :: len(question.trusts)]]
        return RollOut(
            privacy=privacy,
            epsilon=epsilon,
            test_users=question.sizes[place].total(len(question.means)),
            times=self._times(self._specs, quickest),
            bound=max(applicable, key=lambda bound: bound.users, default=None),
            lost_by_test=np.concatenate([line.pulls @ gap for line, gap in zip(tests, gaps, strict=True)]),  # type: ignore[union-attr]
            lost_by_search=width
            * np.concatenate([part.regret_at(end) for part in getattr(capped, "parts", (capped,))]),
            noiseless=np.concatenate([part.users for part in plain]) if plain else None,  # type: ignore[union-attr]
        )


def roll_outs(question: RollOutQuestion, jobs: int | None = None, store: Store | None = None) -> tuple[RollOut, ...]:
    """Users until a decision, and what is lost on the way; see `RollOutStudy`."""
    found = RollOutStudy(question, store).run(jobs)
    assert found is not None  # no one could stop it
    return found
