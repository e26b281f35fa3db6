"""What all replays share: the stream, the arms by label, and rewards that the run does not draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bandit_core.jit.decorators import kernel
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.labels import labels
from bandit_core.kernels.play import Decision
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.mechanisms.randomised_response import chance_of_one
from bandit_core.model import KernelCall, RunSetup

FIRST, SECOND = 0, 4  # columns of a stream's two generators
TAIL = 0.05  # of a posterior, beyond either end of what is shown of it
MAX_TRIES = 2**18  # numbers drawn at once


class Belief(NamedTuple):
    """What the server holds of every arm, by label (arms,): estimate, interval and what decides; NaN for nothing."""

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    value: np.ndarray


@kernel
def _uniform(state: np.ndarray, at: int) -> float:
    return next_uniform(state, 0, at)


@kernel
def _reward(state: np.ndarray, table: np.ndarray, values: np.ndarray, arm: int, uniform: float) -> float:
    return draw_reward(table, values, arm, uniform, state, 0)


@kernel
def draw_binomial(state: np.ndarray, count: float, chance: float) -> float:
    return binomial(count, chance, state, 0)


def plain(device_function: Any) -> Callable[..., float]:
    """The Python that a piece of a kernel is compiled from: quicker for single numbers."""
    found: Callable[..., float] = getattr(device_function, "py_func", device_function)
    return found


laplace, chance_that_one = plain(laplace_noise), plain(chance_of_one)


def around(estimate: np.ndarray, margin: np.ndarray, value: np.ndarray) -> Belief:
    return Belief(estimate, estimate - margin, estimate + margin, value)


def credible(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The middle of Beta(a, b), `TAIL` beyond either end."""
    from scipy.special import betaincinv

    return betaincinv(a, b, TAIL), betaincinv(a, b, 1 - TAIL)


def draws_won(rng: np.random.Generator, a: np.ndarray, b: np.ndarray, label: int) -> np.ndarray:
    """One draw from each Beta(a, b), given that the one of ``label`` is the largest; all of shape (arms,)."""
    tries = 8
    while True:
        thetas = rng.beta(a, b, (tries, len(a)))
        largest = np.flatnonzero(thetas.argmax(axis=1) == label)
        if len(largest):
            return np.asarray(thetas[largest[0]])
        tries = min(8 * tries, 1 + MAX_TRIES // len(a))


def spare_generator(words: np.ndarray) -> np.random.Generator:
    """A generator that no run uses, for what the trial with this stream (1, 8) does not draw."""
    return np.random.default_rng([int(word) for word in words[0]])


def reward_given(arm: Any, chance: Callable[[float], float], rng: np.random.Generator) -> float:
    """A reward of an arm, given an event that has this ``chance`` when the reward is known."""
    while True:
        reward = float(arm.quantile(np.asarray(rng.random())))
        if rng.random() < chance(reward):
            return reward


class Replay:
    """What all replays share; ``words`` (1, 8) is the fresh stream of the trial.

    ``shown`` are the labels of the arms that users are shown, set before the first is asked about.
    ``believes(t)`` is what the server holds when it chooses for user t (counted from 1), and is asked in this order;
    ``pull(label, t)`` then plays the arm that was chosen, and fills ``rewards``, ``sent`` and ``epsilons`` (users,):
    NaN where there is nothing, or nothing that the run has drawn. ``finish()`` comes after the last user.
    """

    decides: Decision = "largest"
    sends = True  # whether what single users send is drawn
    shown: np.ndarray

    def __init__(self, call: KernelCall, setup: RunSetup, words: np.ndarray, users: int) -> None:
        self.setup, self.arguments, self.state = setup, call.arguments, words.copy()
        self.order = labels(words, call.arms)[0]
        self.arms = [setup.arms[arm] for arm in self.order]
        self.table, self.values = setup.tables[0][self.order], setup.tables[1]
        self.rewards, self.sent, self.epsilons = (np.full(users, np.nan) for _ in range(3))
        self.size = call.arms
        self.completed: set[str] = set()  # what was drawn afterwards
        self.counts, self.sums = np.zeros(self.size), np.zeros(self.size)
        self.unknown = np.full(self.size, np.nan)
        self._spare = spare_generator(words)

    def believes(self, t: int) -> Belief:
        """What the server holds when it chooses for user ``t``."""
        raise NotImplementedError

    def pull(self, label: int, t: int) -> None:
        """Play the arm behind ``label`` with user ``t``."""
        raise NotImplementedError

    def finish(self) -> None:
        """After the last user."""

    def uniform(self, at: int = FIRST) -> float:
        """The next uniform of one of the two generators."""
        return float(_uniform(self.state, at))

    def draw(self, label: int, uniform: float | None = None) -> float:
        """The next reward of an arm, as the kernel draws it."""
        uniform = self.uniform() if uniform is None else uniform
        return float(_reward(self.state, self.table, self.values, label, uniform))

    def felt(self, label: int, chance: Callable[[float], float] = lambda reward: 1.0) -> float:
        """A reward that the kernel does not draw, given an event that has this ``chance`` when the reward is known."""
        self.completed.add("rewards")
        return reward_given(self.arms[label], chance, self._spare)

    def behind(self, label: int, bit: bool, contrast: float, change: Callable[[float], float] = float) -> float:
        """The reward of a user whose random bit is known."""

        def chance(reward: float) -> float:
            one = chance_that_one(change(reward), contrast)
            return one if bit else 1 - one

        return self.felt(label, chance)
