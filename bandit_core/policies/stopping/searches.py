"""AdaP-TT: Azize, Jourdan, Al Marjani, Basu 2023.

Top-Two on averages that a curator publishes with noise, each arm's at phases that double.

    ask each arm once; when an arm's fresh rewards are as many as all before them:
        M_a = mean of the n_a fresh rewards + Laplace(1 / (epsilon n_a));  k_a += 1
    for t = K, K+1, ...:
        stop and recommend the arm with the largest M if it is far enough above every other one
        B = the arm with the largest M_a + ln t / (epsilon n_a) + sqrt(ln t / (2 n_a))
        C = the arm with the smallest (M_B - M_a + 1 / (1 + sqrt t)) / sqrt(1/N_B + 1/N_a)
        ask B with probability 1/2, else C; once t is large, many users before the next decision

Promise: epsilon-central DP (pure): every reward enters one released mean

Far enough, for every other arm, n and m being the rewards in M_B and M_a:

* proved: M_B - M_a >= sqrt((1/n + 1/m) ln(3/d)/2) + (1/n + 1/m) ln(3/(2d))/epsilon,
  d = delta/((K-1) k_B (k_B+1) k_a (k_a+1)),
* paper: (M_B - M_a)^2/(2(1/n + 1/m)) >= 2 C(ln((K-1) zeta(2) k^2/delta)/2) + 2 ln(4 + ln n) + 2 ln(4 + ln m)
  + (1/n + 1/m) ln^2(2 K zeta(2) k^2/delta)/epsilon^2, C(x) = x + ln x,
* heuristic: (M_B - M_a)^2/(2(1/n + 1/m)) >= ln(1/delta) + ln(1 + ln n) + ln(1 + ln m) + (1/n + 1/m)
  ln^2(1/delta)/epsilon^2; its variance is four times that of proved, so it often stops later.

Guarantee: epsilon-central DP, pure. Released: one mean per arm and phase; every reward is in at most one of them, and
actions, stopping time and recommendation are computed from these means and coins alone.

DP-TT (Top-Two on noisy sums) (`dp-tt`): derived here; compare Jourdan, Azize 2025.

Top-Two on sums that a curator publishes with noise, batch by batch; no reward is forgotten.

    whenever an arm's batch is full: Y_a += sum of the batch + Laplace(1 / epsilon);  k_a += 1
        its next batch doubles n_a while n_a < 512 or epsilon^2 n_a < 32, then adds 30%
    ask each arm until its first batch is full, max(32, 4 / epsilon) users
    loop:
        B = the arm with the largest Y_a / n_a
        Z_a = how far the two sums contradict equal chances, the noise of k_B and k_a releases allowed for
        stop and recommend B if Z_a reaches its threshold for every other arm
        C = the arm with the smallest (distance in standard deviations)^2 / 2 + ln(users)
        ask B and C in turns until a batch of one of them is full

Promise: epsilon-central DP (pure): every reward enters one released sum

The threshold, proved: Z_a >= c + ln((k_B+5)(k_B+6)/6) + ln((k_a+5)(k_a+6)/6), (K-1) (1+c) e^-c = delta; heuristic:
Z_a >= ln(1/delta) + ln(1 + ln n) + ln(1 + ln m).

Guarantee: epsilon-central DP, pure. Released: one sum per arm and batch; every reward is in at most one of them, and
actions, stopping time and recommendation are computed from these sums and coins alone. The stopping rule and its proof
are derived in `bandit_core.kernels.stopping`. Jourdan and Azize 2025 (arXiv 2510.17348) have a rule of the same
kind (arm-dependent geometric batches, transportation costs that know the noise); theirs is another one.

Elimination (`se`): Sajed, Sheffet 2019 (DP-SE), with an end.

Shows all options equally often and drops the ones that are clearly worse, until one is left.

    S = all arms
    for e = 1, 2, ... while more than one arm is left:
        R = [8 ln(4 |S| e^2 / delta) / 4^-e] + 1;  m_a = mean of R fresh rewards of each arm of S
        drop every arm with  m_a < max m - 2 sqrt(ln(4 |S| e^2 / delta) / (2 R))
    recommend the arm that is left

Elimination on randomised bits (`ldp-se`): Sajed, Sheffet 2019 (DP-SE), with an end.

Elimination, but every user answers with one coin-flipped bit.

    w = coth(epsilon / 2);  means of bits are 1/2 + w (share of ones - 1/2)
    S = all arms
    for e = 1, 2, ... while more than one arm is left:
        R = [8 w^2 ln(4 |S| e^2 / delta) / 4^-e] + 1;  m_a = mean of R fresh rewards of each arm of S
        drop every arm with  m_a < max m - 2 w sqrt(ln(4 |S| e^2 / delta) / (2 R))
    recommend the arm that is left

Promise: epsilon-local DP for every reward (pure)

DP-SE with an end (`dp-se`): Sajed, Sheffet 2019 (DP-SE), with an end.

Elimination on averages that a curator publishes with noise at the end of each epoch.

    S = all arms
    for e = 1, 2, ... while more than one arm is left:
        R = [max(32 ln(8 |S| e^2 / delta) / 4^-e,  8 ln(4 |S| e^2 / delta) / (epsilon 2^-e))] + 1
        m_a = mean of R fresh rewards + Laplace(1 / (epsilon R)) of each arm of S
        drop every arm with  m_a < max m - 2 sqrt(ln(8 |S| e^2 / delta) / (2 R)) - 2 ln(4 |S| e^2 / delta) / (R epsilon)
    recommend the arm that is left

Promise: epsilon-central DP (pure): every reward enters one released mean

Elimination in epochs until one arm is left: DP-SE (Sajed and Sheffet 2019) with an end, in three trusts. Its rule is
proved: each mean keeps within its radius but with probability delta in all.

Top-Two: Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022 (EB-TCI).

Shows the leader and its closest rival in turns until the leader is surely the best.

    ask each arm once
    for t = K, K+1, ...:
        B = the arm with the largest mean
        Z_a = n_B kl(m_B, x) + n_a kl(m_a, x),  x the mean of both together
        stop and recommend B if Z_a reaches its threshold for every other arm
        C = the arm with the smallest Z_a + ln n_a
        ask B with probability 1/2, else C; once t is large, many users before the next decision

CTB-TT (Top-Two on randomised bits) (`ctb-tt`): Jourdan, Degenne, Baudry, de Heide, Kaufmann 2022 (EB-TCI), on
randomised bits.

Top-Two, but every user answers with one coin-flipped bit.

    ask each arm once; every answer is one randomised bit, m the share of ones
    for t = K, K+1, ...:
        B = the arm with the largest mean
        Z_a = n_B kl(m_B, x) + n_a kl(m_a, x),  x the mean of both together
        stop and recommend B if Z_a reaches its threshold for every other arm
        C = the arm with the smallest Z_a + ln n_a
        ask B with probability 1/2, else C; once t is large, many users before the next decision

Promise: epsilon-local DP for every reward (pure)

The threshold of both, proved: Z_a >= ln((K-1)/delta) + ln(n m)/2 + 2 ln 2; heuristic: Z_a >= ln(1/delta)
+ ln(1 + ln n) + ln(1 + ln m).

Half of the users get the leader, half the arm that is hardest to tell from it. On rewards or on bits.

EB-TCI of Jourdan, Degenne, Baudry, de Heide and Kaufmann 2022; on randomised bits it is CTB-TT. Rewards in [0, 1] count
as bits that are 1 with this chance.

What every policy that stops tells about itself, and what it is played on.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bandit_core.kernels import stopping
from bandit_core.kernels.stopping import Epochs, Outcome, Search, dp_tt, elimination, top_two
from bandit_core.model import Described, Guarantee, Release, Signal, no_privacy
from bandit_core.policies.central_family import noisy_sums
from bandit_core.spec.budgets import LARGEST
from bandit_core.theory import divergences

Rule = Literal["proved", "paper", "heuristic"]
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
        return np.asarray(self.means.max() - self.means)

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

    ``rules`` are the stopping thresholds that it knows. With those called proved or paper, of which
    `bandit_core.kernels.stopping` has proofs, the recommendation is wrong with probability delta at most; paper is
    stricter than needed. Nothing is proved of the heuristic one, by which public code stops. ``prepare(setup)`` gives
    the kernel and its arguments between the streams and the outcome. ``decisions`` says whether ``growth`` matters to
    it, ``most_decisions(setup)`` how often a run decides at most, about.
    """

    rules: tuple[Rule, ...]
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
    what = f"the sum of an arm's rewards in {when} (its mean, times a public number)"
    return noisy_sums(what, lambda setup: 1 / setup.epsilon, f"once, at the end of {when}")


def _budget(setup: StoppingSetup) -> float:
    """The budget; infinite where no double can hold the noise, which is far quicker to play."""
    assert setup.epsilon is not None
    return math.inf if setup.epsilon >= LARGEST else setup.epsilon


def epochs_of(setup: StoppingSetup) -> Epochs:
    """What an answer is worth to a locally private setup."""
    assert setup.epsilon is not None
    return Epochs(1 / math.tanh(setup.epsilon / 2), False, 0.0)


def _policy(**fields: Any) -> StoppingPolicy:
    return StoppingPolicy(
        **{
            "rules": ("proved",),
            "decisions": False,
            "most_decisions": lambda setup: 60.0,  # epochs grow fourfold
            "parent": "se",
            **fields,
        }
    )


_LOCAL: dict[str, Any] = {"privacy": "local", "guarantee": local_privacy, "releases": random_bit}


def _central(when: str) -> dict[str, Any]:
    return {"privacy": "central", "guarantee": central_privacy, "releases": noisy_mean(when)}


_ON_SUMS: tuple[Rule, ...] = ("proved", "heuristic")
POLICIES = (
    StoppingPolicy(
        name="adap-tt",
        rules=("proved", "paper", "heuristic"),
        prepare=lambda setup: (top_two, (setup.search(epsilon=setup.epsilon or 0.0),)),
        **_central("a phase"),
        parent="top-two",
    ),
    StoppingPolicy(
        name="dp-tt",
        rules=_ON_SUMS,
        prepare=lambda setup: (dp_tt, (setup.search(epsilon=_budget(setup)),)),
        **_central("a batch"),
        decisions=False,
        most_decisions=lambda setup: 4.0 * len(setup.means) * max(1.0, math.log(setup.cap / len(setup.means) / 32)),
        parent="top-two",
    ),
    _policy(
        name="se",
        prepare=lambda setup: (elimination, (setup.search(), Epochs(1.0, False, 0.0))),
        parent=None,
    ),
    _policy(
        name="ldp-se",
        prepare=lambda setup: (elimination, (setup.search(setup.randomised), epochs_of(setup))),
        **_LOCAL,
    ),
    _policy(
        name="dp-se",
        prepare=lambda setup: (elimination, (setup.search(), Epochs(1.0, True, setup.epsilon or 0.0))),
        **_central("an epoch"),
    ),
    StoppingPolicy(
        name="top-two",
        rules=_ON_SUMS,
        prepare=lambda setup: (top_two, (setup.search(),)),
    ),
    StoppingPolicy(
        name="ctb-tt",
        rules=_ON_SUMS,
        prepare=lambda setup: (top_two, (setup.search(setup.randomised, setup.contrast),)),
        **_LOCAL,
        parent="top-two",
    ),
)
