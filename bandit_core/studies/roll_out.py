"""How many users until one option may be rolled out: of planned tests, and of policies that stop by themselves, in
every trust model, on the same options.

A test is planned with the variance of the amounts, and for the difference of the two best options, which one would
have to guess. To the policy rewards in [0, 1] count as bits that are 1 with this chance: the most varied case, which
takes longest. With privacy both see cut rewards; without it they see uncut ones, in units of the range in which these
lie. Where another option looks best once rewards are cut, no private test finds the best one.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, get_args

import numpy as np

from bandit_core.model import Privacy
from bandit_core.policies.stopping import Rule, StoppingPolicy, stopping_policies
from bandit_core.simulation.questions import Round, Rounds, Study, answer
from bandit_core.simulation.store import Store
from bandit_core.spec.budgets import LARGEST
from bandit_core.spec.field_types import SMALLEST
from bandit_core.spec.rewards import Arm, Bernoulli, RewardDistribution, expand, seen
from bandit_core.studies.best_arm import StoppingResult, StoppingSpec, StoppingStudy
from bandit_core.studies.best_method import keeps
from bandit_core.studies.business_case import Belief, drawn_means
from bandit_core.theory.best_arm import TimeBound, time_bounds
from bandit_core.theory.power import Goal, TestSize, assured_size

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
