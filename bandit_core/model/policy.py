"""What every policy tells about itself, and a curve of theory with everything a reader needs to judge it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from bandit_core.model.kernel_call import Block, KernelCall, Signal, run_kernel
from bandit_core.model.promises import MEASURES, PROMISES, Guarantee, Measure, Model, Privacy, Promise, Release
from bandit_core.model.setup import Parameters, RunSetup
from bandit_core.spec import rewards as distributions
from bandit_core.spec.budgets import BudgetDistribution

# ---------------------------------------------------------------------------------------------------------------------
# A curve of theory beside the simulated one, with everything a reader needs to judge it.


Side = Literal["upper", "lower"]
Status = Literal["proved", "derived", "as printed", "asymptotic", "order-only"]
Rewards = Literal["any", "[0, 1]", "0 or 1", "Gaussian", "heavy tails", "features"]
Form = Literal["bound", "slope", "shape"]
Kind = Literal["problem-dependent", "minimax", "Bayesian"]
Curve = Callable[[np.ndarray], np.ndarray]
STRICTER = "stated for {} privacy, and this run is private up to a failure probability {:.2g}"
TRIVIAL = "Trivial cap"  # name of the bound that every policy has: horizon times largest gap

STATUS_WORDS: dict[str, str] = {
    "proved": "proved in the paper for every horizon",
    "derived": "re-derived for this project with proof, not printed in a paper",
    "as printed": "as printed in the paper; no one here has seen its proof, so it does not count as proved",
    "asymptotic": "holds in the limit of long horizons; a curve may lie on either side of it at a finite one",
    "order-only": "only the shape is known; its constant is not",
}
IN_THE_LIMIT = "re-derived for this project with proof, not printed in a paper; " + STATUS_WORDS["asymptotic"]
KIND_WORDS: dict[str, str] = {
    "problem-dependent": "speaks of arms with these gaps",
    "minimax": "speaks of the hardest arms there are, for every policy",
    "Bayesian": "speaks of the mean over arms that are drawn from the hardest prior",
}


@dataclass(frozen=True)
class Bound:
    """One bound on the expected pseudo-regret (reward units) as a function of the number of users t.

    ``curve`` maps an array of t to values; ``not_applicable`` says in words why the bound does not apply here
    (then ``curve`` is not evaluated). ``worst_case`` bounds speak of the hardest instance, not of this one.
    ``drawn_with`` says what an order-only shape was drawn with: its multiplier, and what else tells two of them apart.
    ``only`` names the class of policies that it binds, empty where it binds every policy that keeps the promise (or,
    an upper bound, the policy it is stated for): membership is not known, so it is drawn beside no curve.
    ``model`` is the promise of privacy that the bound is about, and ``measure`` that of its budget: a lower bound
    holds under every promise that implies its own (see `judged`). ``rewards`` are the distributions it is stated for.
    """

    name: str
    side: Side
    model: Model
    rewards: Rewards
    source: str
    status: Status
    formula: str
    words: str
    assumptions: str
    curve: Curve
    kind: Kind = "problem-dependent"
    worst_case: bool = False
    asymptotic: bool = False
    not_applicable: str | None = None
    drawn_with: str = ""
    only: str = ""
    measure: Measure = "pure"

    def values(self, t: np.ndarray, largest_gap: float) -> np.ndarray:
        """The curve at ``t``, capped by the trivial bound t x largest gap and never below 0."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            raw = np.asarray(self.curve(np.asarray(t, float)), float)
        cap = np.asarray(t, float) * largest_gap
        return np.clip(np.where(np.isnan(raw), cap, raw), 0.0, cap)

    def ruled_out(self, why: str) -> Self:
        """The same bound, marked as not applicable, with the reason."""
        return replace(self, not_applicable=why)

    def only_if(self, holds: bool, why: str) -> Self:
        """The same bound, ruled out with the reason where a condition does not hold."""
        return self if holds else self.ruled_out(why)

    def judged(self, kept: Guarantee) -> Self:
        """The same bound beside a run: a lower bound is ruled out where it says nothing of what the run keeps."""
        if self.not_applicable or self.side == "upper" or self.model == "none":
            return self
        promise, measure = PROMISES[kept.model], MEASURES[kept.measure]
        if self.model != kept.model and self.model not in promise.implied():
            return self.ruled_out(f"stated for {PROMISES[self.model].name}, and this run keeps {promise.name}")
        if self.measure != kept.measure and self.measure not in measure.implied():
            return self.ruled_out(STRICTER.format(self.measure, kept.delta))
        return self

    def with_curve(self, curve: Curve) -> Self:
        """The same bound with its numbers."""
        return replace(self, curve=curve)

    @property
    def binds(self) -> bool:
        """Whether it applies, to every policy of its promise, and speaks of arms with these gaps."""
        return self.kind == "problem-dependent" and not (self.not_applicable or self.only or self.worst_case)

    @property
    def form(self) -> Form:
        """A "bound" holds at every t; a "slope" in the limit only; of a "shape" not even the constant is known."""
        if self.status == "order-only":
            return "shape"
        return "slope" if self.asymptotic or self.status == "asymptotic" else "bound"

    @property
    def sign(self) -> str:
        """What stands before its name beside curves; an arrow only where it is a limit at every t."""
        return ("↑" if self.side == "upper" else "↓") if self.form == "bound" else f"{self.form}:"

    @property
    def limits(self) -> str:
        """On which side it lies, said no more surely than it is known."""
        side = f"{self.side}, as printed" if self.status == "as printed" else self.side
        return {"bound": side, "slope": f"{self.side}, in the limit", "shape": "shape only"}[self.form]

    @property
    def superseded(self) -> bool:
        """Whether it is hidden because it cannot stand as printed, not because it does not apply here."""
        return self.not_applicable is not None and self.not_applicable.startswith("superseded")

    @property
    def label(self) -> str:
        """Name with what must never be lost: that it is asymptotic, derived, as printed, order-only (and with which
        multiplier) or of the worst case."""
        notes: list[str] = []
        if self.status != "proved":
            notes.append(self.status + (", proof not seen" if self.status == "as printed" else ""))
        if self.drawn_with:
            notes.append(self.drawn_with)
        if self.asymptotic and self.status != "asymptotic":
            notes.append("asymptotic")
        if self.worst_case:
            notes.append("worst case")
        if self.only:
            notes.append("for a class of policies")
        return f"{self.name} ({', '.join(notes)})" if notes else self.name


@dataclass(frozen=True, kw_only=True)
class Theorem:
    """A bound with a file of its own in ``theory``, which ends in ``BOUND = Theorem(...)`` and is found by itself.

    ``state(setup)`` gives the bound for one line of an experiment. It speaks of the ``policies`` that are named; where
    none is, of every policy that keeps ``promise`` or one that implies it.
    """

    state: Callable[[Any], Bound]
    promise: Model = "none"
    policies: tuple[str, ...] = ()
    setting: Literal["arms", "contexts"] = "arms"

    def speaks_of(self, policy: Any) -> bool:
        """Whether the bound belongs beside the curves of a policy (`bandit_core.model.Policy`)."""
        if self.policies or self.setting != policy.setting:
            return policy.name in self.policies
        return self.promise in PROMISES[policy.privacy].implied()


def status_words(bound: Bound) -> str:
    """What its status means, and that it speaks of long horizons only where it does."""
    return IN_THE_LIMIT if bound.status == "derived" and bound.asymptotic else STATUS_WORDS[bound.status]


# ---------------------------------------------------------------------------------------------------------------------
# What every policy tells about itself.


Setting = Literal["arms", "contexts"]


def numbers_held(setup: RunSetup, rows: int) -> float:
    """Numbers (of 8 bytes) that the kernels for plain arms hold while they play ``rows`` trials, at most."""
    together, asked = min(rows, 64), setup.feedback  # trials that advance side by side, see `kernels.index`
    waiting = 0.0 if asked.immediate else 3.0 * min(asked.batch + asked.delay, setup.horizon)  # users not counted yet
    return len(setup.arms) * (48 + 6 * together) + waiting


Acceptor = Callable[[Sequence[distributions.RewardDistribution]], str | None]


def any_rewards(arms: Sequence[distributions.RewardDistribution]) -> str | None:
    """Accepts every distribution."""
    return None


def no_privacy(setup: Any) -> Guarantee:
    """What is promised where the learner sees every reward."""
    return Guarantee("none", "no privacy: the learner sees every reward")


@dataclass(frozen=True, kw_only=True)
class Described:
    """What every policy says of itself in words; without privacy where it says nothing of that.

    ``title``, ``paper``, ``summary``, ``pseudo_code`` and ``guarantee_words`` need not be given: the docstring of its
    file has them, see `described`.
    ``parent`` names the policy without privacy that remains for a large epsilon.
    """

    name: str
    title: str = ""
    paper: str = ""
    summary: str = ""
    pseudo_code: str = ""
    privacy: Privacy = "none"
    guarantee_words: str = "none: the learner sees every reward"
    parent: str | None = None

    def described(self, docstring: str) -> Self:
        """The same with the words that it lacks: the paragraph ``title: paper.``, the next one, and indented lines.

        A paragraph ``Promise: ...`` after them has the guarantee, whatever was given. Without a title: that which is
        the name but for capitals and hyphens, or has the name behind it (``title (`name`): paper.``), or else the one
        that comes first.
        """
        paragraphs = [*re.split(r"\n\s*\n", docstring), "", "", ""]
        heads = [text.partition(":")[0] for text in paragraphs]
        own = [each for each in heads if re.sub(r"\W+", "-", each.lower()) == self.name or f"(`{self.name}`)" in each]
        head = self.title or [*own, *heads][0]
        at = next((place for place, text in enumerate(paragraphs) if text.startswith(f"{head}: ")), None)
        if at is None:
            return replace(self, title=self.title or self.name)
        paper, summary, code, promise = paragraphs[at : at + 4]
        words: dict[str, Any] = {
            "title": head.partition(" (`")[0],
            "paper": " ".join(paper.removeprefix(f"{head}: ").removesuffix(".").split()),
            "summary": " ".join(summary.split()),
            "pseudo_code": textwrap.dedent(code).strip() if code.startswith("    ") else "",
        }
        lacking = {name: text for name, text in words.items() if not getattr(self, name)}
        if promise.startswith("Promise: "):
            lacking["guarantee_words"] = " ".join(promise.split()[1:])
        return replace(self, **lacking)


@dataclass(frozen=True, kw_only=True)
class Policy(Described):
    """A learning algorithm as the rest of the project sees it.

    ``accepts`` looks at single arms and returns None, or the words it refuses with.
    ``prepare(setup)`` gives the kernel that plays the line, and the numbers that it is called with.
    ``resolve(parameters, epsilon)`` replaces every "auto" by a number; ``settle(setup)`` those that depend on the
    arms or the horizon.
    ``spending(setup, times)`` is needed only where the budget of one reward is spent little by little: see `spent`.
    ``releases(setup)`` lists what the account of one reward (or user) is made of; nothing without privacy.
    ``step_cost`` is the rough time of one pull relative to ``ucb`` (for cost estimates only); a function of the
    instance where that decides it.
    ``held(setup, trials)`` counts the numbers (of 8 bytes) that a kernel holds while it plays so many trials,
    besides the arms' tables and the block it fills (for estimates of memory).
    ``setting`` says whether it plays arms, or chooses by the features of users.
    ``anytime`` says that it needs no horizon, ``for_one_horizon(setup)`` which of its lines need it all the same.
    ``late`` says whether ``prepare``, ``step_cost`` and ``held`` heed ``setup.feedback``; an experiment
    refuses others where feedback is not immediate, in the words of ``cannot_wait``.
    ``for_amounts`` says that its family hides amounts: with privacy it adds noise to a number, also where a yes or no
    could be a coin-flipped bit, which has less noise. The contest for the best method has it for amounts only.
    ``stops`` says whether it searches until it is sure and then shows what it recommends, so that its runs have a
    stopping time (see `bandit_core.studies.best_arm`).
    ``epsilon`` says whose budgets it can keep: "one" for all, as a private policy has where nothing is said, or "any",
    which users have of their own.
    ``privacy`` is the key of its `promise`. Where the budget is concentrated, the epsilon of the spec and the parameter
    ``delta`` say how much: rho is the largest that gives (epsilon, delta)-DP (see `theory.definitions.zcdp_rho`).
    """

    epsilon: Literal["none", "one", "any"] = "none"
    anytime: bool = True
    parameters: type[Parameters] = Parameters
    accepts: Acceptor = any_rewards
    bounds: Callable[[RunSetup], list[Bound]]
    guarantee: Callable[[Any], Guarantee] = no_privacy
    prepare: Callable[[RunSetup], KernelCall]
    resolve: Callable[[Any, BudgetDistribution | None], Parameters] = lambda parameters, epsilon: parameters
    settle: Callable[[RunSetup], Parameters] = lambda setup: setup.parameters
    refuses: Callable[[RunSetup], str | None] = lambda setup: None
    spending: Callable[[RunSetup, np.ndarray], np.ndarray] | None = None
    releases: Callable[[RunSetup], list[Release]] = lambda setup: []
    step_cost: float | Callable[[RunSetup], float] = 1.0
    held: Callable[[RunSetup, int], float] = numbers_held
    setting: Setting = "arms"
    late: bool = False
    cannot_wait: str = "has no rule here for rewards that are not there yet"
    stops: bool = False
    for_amounts: bool = False
    for_one_horizon: Callable[[RunSetup], bool] = lambda setup: False

    def __post_init__(self) -> None:
        if self.privacy != "none" and self.epsilon == "none":
            object.__setattr__(self, "epsilon", "one")

    def knows_horizon(self, setup: RunSetup) -> bool:
        """Whether the line is made for its number of users: stopped earlier, it is not the line for fewer users."""
        return not self.anytime or self.for_one_horizon(setup)

    @property
    def promise(self) -> Promise:
        """The promise that ``privacy`` names."""
        return PROMISES[self.privacy]

    def unit(self, setup: RunSetup) -> str:
        """What of a user all its releases hide; no more than one reward where it lists none."""
        units = {each.unit for each in self.releases(setup)}
        return units.pop() if len(units) == 1 else "one reward"

    def play(self, setup: RunSetup, streams: np.ndarray, checkpoints: np.ndarray, signal: Signal) -> Block:
        """One trial per row of ``streams``, see `run_kernel`."""
        return run_kernel(self.prepare(setup), streams, checkpoints, signal)

    def cost(self, setup: RunSetup) -> float:
        """Rough time of one pull of this instance relative to ``ucb``."""
        return self.step_cost(setup) if callable(self.step_cost) else self.step_cost

    def spent(self, setup: RunSetup, times: np.ndarray) -> np.ndarray:
        """Epsilon that the user of one reward has spent after ``times`` pulls, in the worst case; shape (times,).

        Without ``spending`` everything is spent at the first release. Users with budgets of their own: the largest
        of them. Infinite without privacy.
        """
        if self.spending is not None:
            return self.spending(setup, times)
        epsilon = self.guarantee(setup).epsilon
        if self.privacy == "none":
            epsilon = np.inf
        elif epsilon is None:
            epsilon = setup.budgets.largest
        return np.full(np.shape(times), epsilon, float)
