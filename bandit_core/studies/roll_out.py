"""How many users until one option may be rolled out, and what is lost on the way: by an A/B test and by a policy that
stops, in every trust model, on the same options.

The test is planned with the variance of the amounts, and for the difference of the two best options, which one would
have to guess. To the policy rewards in [0, 1] count as bits that are 1 with this chance: the most varied case, which
takes longest. With privacy both see cut rewards; without it they see uncut ones, in units of the range in which these
lie. Where another option looks best once rewards are cut, no private test finds the best one. Both then give their
winner to everyone else; who has not decided by the last user rolls out nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.model import Privacy
from bandit_core.policies.stopping import Rule, StoppingPolicy, stopping_policies
from bandit_core.simulation.questions import Round, Rounds, Study, answer
from bandit_core.simulation.store import Store
from bandit_core.spec.budgets import LARGEST
from bandit_core.spec.field_types import SMALLEST
from bandit_core.spec.rewards import Arm, Bernoulli, RewardDistribution, TwoPoint, expand, seen
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

    @property
    def effect(self) -> float:
        """Best mean minus the next one outside the zone: 0 where no test decides."""
        *others, best = sorted(self.means)
        if self.misleads:
            return 0.0
        if self.zone == 0:
            return best - others[-1]
        return min((best - mean for mean in others if best - mean > self.zone * (1 + 1e-9)), default=0.0)

    @property
    def lift(self) -> float:
        """Best mean minus that of the first option: 0 where that is within the zone."""
        lift = 0.0 if self.misleads else max(self.means) - self.means[0]
        return lift if lift > self.zone * (1 + 1e-9) else 0.0


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

    def _gaps(self, privacy: Privacy, gap: Callable[[View], float]) -> list[float]:
        """A difference in each draw; 0 in all where cut rewards mislead."""
        return [0.0 if self.view(privacy).misleads else gap(each.view(privacy)) for each in self.each]

    def effect(self, privacy: Privacy) -> float:
        """The largest `View.effect` of all draws."""
        return max(self._gaps(privacy, attrgetter("effect")))

    @property
    def trusts(self) -> tuple[tuple[Privacy, float | None], ...]:
        """Every trust model with its budget, no privacy first."""
        return (("none", None), *self.epsilons)

    @cached_property
    def sizes(self) -> tuple[TestSize, ...]:
        """Users of a test that names the best option, by trust model."""
        return tuple(self._size(*trust, self._gaps(trust[0], attrgetter("effect"))) for trust in self.trusts)

    @property
    def lift_sizes(self) -> tuple[TestSize | None, ...]:
        """Users of a test that shows that the best option beats the first; None where it is no better."""
        lifts = [self._gaps(privacy, attrgetter("lift")) for privacy, _ in self.trusts]
        return tuple(
            self._size(*trust, gaps) if any(gaps) else None for trust, gaps in zip(self.trusts, lifts, strict=True)
        )

    def _size(self, privacy: Privacy, epsilon: float | None, gaps: Sequence[float]) -> TestSize:
        """Users of a test for these differences of the draws; those without one are left out, unless all are."""
        cases, amounts = [], []
        for each, gap in zip(self.each, gaps, strict=True):
            if gap or not any(gaps):
                means, variances = np.array(each.view(privacy).means), each.view(privacy).variances
                low = max(_LEAST, float(means.max()) - gap)
                cases.append((low, min(max(gap, _LEAST), 1 - low)))
                best, rival = means.argmax(), np.abs(means.max() - gap - means).argmin()
                amounts.append(max(_NEVER, float(variances[best] + variances[rival])))
        asked: dict[str, Any] = {"alpha": self.delta, "power": self.power, "privacy": privacy, "epsilon": epsilon}
        asked["options"] = len(self.means)
        if not self.draws:
            return sample_size(*cases[0], **asked, amounts=amounts[0] if self.amounts else None)
        known = amounts if self.amounts else None
        return assured_size([low for low, _ in cases], [gap for _, gap in cases], **asked, amounts=known)

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

    @property
    def tests(self) -> tuple[Experiment, ...]:
        """The test of each trust model, followed by its winner, as an experiment over ``users``; draw by draw.

        Rewards are as the test sees them: two amounts with their mean and variance.
        """
        return tuple(each._test(size) for each in self.each for size in self.sizes)

    def _test(self, size: TestSize) -> Experiment:
        budget = {} if size.epsilon is None else {"epsilon": {"kind": "fixed", "value": size.epsilon}}
        line = {"policy": TESTS[size.privacy], "params": {"users": size.total(len(self.means))}, **budget}
        numbers = {"horizon": self.users, "trials": self.trials, "seed": self.seed}
        shown = self.view(size.privacy)
        arms = tuple(map(two_amounts, shown.means, shown.variances.tolist())) if self.amounts else shown.bits
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
    """The searches and the tests, once, no privacy first.

    The quickest search of each trust model is then played up to the last user, for what it loses, and without noise.

    Raises
    ------
    InputError
        When the options are no question to a policy that stops, or when it takes more than is allowed here.
    """
    specs = [question.specs(CAP, each) for each in question.each]
    capped = [question.specs(question.users, each) for each in question.each]
    places = [[place for place, level in enumerate(question.levels) if level == each] for each, _ in question.trusts]
    seconds = [[spec.trials * spec.trial_seconds for spec in each] for each in (*specs, *capped)]
    later = sum(max(each[place] for place in mine) for mine in places for each in seconds)
    steps = question.trials * len(set(specs[0])) * (CAP + 2 * question.users)
    search = StoppingStudy(list(dict.fromkeys(itertools.chain(*specs))))  # a policy may play for two trust models
    found, *tests = yield Round([search, *question.tests], 0.0, 0.8, later, steps=steps)
    by_spec = dict(zip(search.specs, found, strict=True))
    times = [_mixed([by_spec[each[place]] for each in specs]) for place in range(len(question.levels))]
    quickest = [min(mine, key=lambda place: times[place].mean_users) for mine in places]
    ends = StoppingStudy(list(dict.fromkeys(each[place] for place in quickest for each in capped)))
    plain = StoppingStudy([each[place] for place in quickest[1:] for each in specs], noiseless=True)
    lost, noiseless = yield Round([ends, plain], 0.8)
    by_spec = dict(zip(ends.specs, lost, strict=True))
    gaps = [max(each.means) - np.array(each.means) for each in question.each]
    # Bounds are for successes whose chances are known, and for the single best option.
    exact = not question.draws and not question.zone and question.clip is None and not question.amounts
    rows = []
    for number, ((privacy, epsilon), place) in enumerate(zip(question.trusts, quickest, strict=True)):
        bounds = time_bounds(question.arms, question.delta, privacy, epsilon) if exact else []
        played = [test.lines[0] for test in tests[number :: len(question.trusts)]]
        end, width = max(question.users, len(question.means)), question.view(privacy).width
        at_once = noiseless[(number - 1) * len(specs) : number * len(specs)] if number else ()  # no privacy comes first
        rows.append(
            RollOut(
                privacy=privacy,
                epsilon=epsilon,
                test_users=question.sizes[number].total(len(question.means)),
                times=times[place],
                bound=max((b for b in bounds if b.not_applicable is None), key=lambda b: b.users, default=None),
                lost_by_test=np.concatenate([line.pulls @ gap for line, gap in zip(played, gaps, strict=True)]),
                lost_by_search=width * np.concatenate([by_spec[each[place]].regret_at(end) for each in capped]),
                noiseless=np.concatenate([part.users for part in at_once]) if number else None,
            )
        )
    return tuple(rows)


class RollOutStudy(Study[tuple[RollOut, ...]]):
    """The searches and the tests being played; see `until_decided`."""

    def __init__(self, question: RollOutQuestion, store: Store | None = None) -> None:
        super().__init__(until_decided(question), store)


def roll_outs(question: RollOutQuestion, jobs: int | None = None, store: Store | None = None) -> tuple[RollOut, ...]:
    """Users until a decision, and what is lost on the way; see `until_decided`."""
    return answer(until_decided(question), jobs, store)
