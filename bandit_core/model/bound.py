"""A curve of theory beside the simulated one, with everything a reader needs to judge it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from bandit_core.model.guarantee import Guarantee
from bandit_core.model.promises import MEASURES, PROMISES, Measure, Model

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
