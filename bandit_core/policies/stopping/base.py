"""What every policy that stops tells about itself, and what it is played on."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bandit_core.kernels import stopping
from bandit_core.kernels.stopping import Outcome, Search
from bandit_core.model import Described, Guarantee, Release, Signal, no_privacy
from bandit_core.theory import divergences

Rule = Literal["proved", "paper", "heuristic"]
RULE_WORDS: dict[Rule, str] = {
    "proved": "the recommendation is wrong with probability delta at most: proved, the proof is in this project",
    "paper": "as its paper proves it; checked here, and stricter than needed",
    "heuristic": "as public code stops, without a proof: how often it errs can only be measured",
}
_CODES: dict[Rule, int] = {"proved": stopping.PROVED, "heuristic": stopping.HEURISTIC, "paper": stopping.PAPER}


@dataclass(frozen=True, eq=False)
class StoppingSetup:
    """One question ready to be played: mean rewards (arms,), the chance of error that is allowed, and how to stop.

    ``growth``: after t users the next decision comes (growth - 1) t users later; ``cap``: users at most. Arms that are
    worse than the best by ``zone`` at most may be recommended.
    """

    means: np.ndarray
    delta: float
    epsilon: float | None
    rule: Rule
    growth: float
    cap: int
    zone: float = 0.0

    @property
    def gaps(self) -> np.ndarray:
        """Best mean minus mean, shape (arms,), reward units."""
        gaps: np.ndarray = self.means.max() - self.means
        return gaps

    @property
    def decisions(self) -> float:
        """Decisions that a run takes at most, about."""
        step = self.growth - 1
        singly = min(float(self.cap), 1 / step if step > 0 else math.inf)
        return singly + (math.log(self.cap / singly) / math.log(self.growth) if self.cap > singly else 0.0)

    def search(self, chances: np.ndarray | None = None, contrast: float = 1.0, epsilon: float = 0.0) -> Search:
        """What a kernel of `bandit_core.kernels.stopping` is called with; ``chances`` of the bits, if not the means.

        ``contrast`` is what is left of a difference of two means where the kernel compares them, ``epsilon`` that of
        the noise in what is released.
        """
        bits = np.ascontiguousarray(self.means if chances is None else chances, float)
        return Search(bits, self.delta, _CODES[self.rule], self.growth, self.cap, contrast * self.zone, epsilon)

    @property
    def contrast(self) -> float:
        """What is left of a difference of two means between the users' randomised bits."""
        assert self.epsilon is not None
        return float(divergences.contrast(self.epsilon))

    @property
    def randomised(self) -> np.ndarray:
        """Chances that the users' randomised bits are 1, shape (arms,)."""
        assert self.epsilon is not None
        return divergences.response_mean(self.means, self.epsilon)


@dataclass(frozen=True, kw_only=True)
class StoppingPolicy(Described):
    """A policy that ends by itself.

    ``rules`` are the stopping thresholds that it knows, each with its formula; those called proved or paper have a
    proof in `bandit_core.kernels.stopping`. ``prepare(setup)`` gives the kernel and its arguments between the streams
    and the outcome. ``decisions`` says whether ``growth`` matters to it, ``most_decisions(setup)`` how often a run
    decides at most, about.
    """

    rules: Mapping[Rule, str]
    prepare: Callable[[StoppingSetup], tuple[Callable[..., None], tuple[Any, ...]]]
    guarantee: Callable[[StoppingSetup], Guarantee] = no_privacy
    releases: Callable[[StoppingSetup], list[Release]] = lambda setup: []
    decisions: bool = True
    most_decisions: Callable[[StoppingSetup], float] = lambda setup: setup.decisions

    def without_noise(self, setup: StoppingSetup) -> StoppingSetup | None:
        """The same search with an infinite budget: what the method itself takes. None where it is not private."""
        return None if self.privacy == "none" else replace(setup, epsilon=math.inf)

    def play(self, setup: StoppingSetup, rows: np.ndarray, signal: Signal) -> Outcome | None:
        """One run per row of streams (trials, 8), which stay as they are; None where the signal asked for a stop."""
        kernel, arguments = self.prepare(setup)
        count = len(rows)
        outcome = Outcome(
            np.zeros(count, np.int64), np.zeros(count, np.bool_), np.zeros(count, np.int64),
            np.zeros((count, len(setup.means))), signal.cells,
        )  # fmt: skip
        kernel(rows.copy(), *arguments, outcome)
        return None if signal.stopped else outcome


def local_privacy(setup: StoppingSetup) -> Guarantee:
    """Every answer is private, whatever the learner does."""
    return Guarantee("local", f"every reward is {setup.epsilon:g}-locally differentially private", setup.epsilon)


def central_privacy(setup: StoppingSetup) -> Guarantee:
    """Actions, end and recommendation are computed from releases, each reward being in one of them."""
    words = f"actions, stopping time and recommendation are {setup.epsilon:g}-differentially private in every reward"
    return Guarantee("central", words, setup.epsilon)


def random_bit(setup: StoppingSetup) -> list[Release]:
    """Every user sends one bit."""
    return [
        Release(
            mechanism="randomised response", released="a bit for the reward", unit="one reward",
            at="once, by its user", budget=setup.epsilon,
        )
    ]  # fmt: skip


def noisy_mean(when: str) -> Callable[[StoppingSetup], list[Release]]:
    """Every reward is in one mean, which is released with Laplace noise."""

    def releases(setup: StoppingSetup) -> list[Release]:
        assert setup.epsilon is not None
        return [
            Release(
                mechanism="laplace", released=f"the sum of an arm's rewards in {when} (its mean, times a public "
                "number)", unit="one reward", at=f"once, at the end of {when}", norm="L1", sensitivity=1.0,
                scale=1 / setup.epsilon,
            )
        ]  # fmt: skip

    return releases
