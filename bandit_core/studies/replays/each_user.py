"""Replays of policies that learn from every user: posteriors, counters, truncated sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bandit_core.kernels import trees
from bandit_core.studies.replays.base import (
    SECOND,
    Belief,
    Decision,
    Replay,
    around,
    credible,
    draws_won,
    laplace,
)


class Bits(Replay):
    """What kl-UCB and Thompson sampling share: one random bit an answer, or the reward itself."""

    chances: np.ndarray  # that the bit of an arm is 1, by label

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        epsilon = self.setup.epsilon
        self.contrast = 1.0 if epsilon is None else math.tanh(self.setup.fixed_epsilon / 2)

    def bit(self, label: int, t: int) -> bool:
        """The bit of user ``t``."""
        one = self.uniform() < self.chances[label]
        self.rewards[t - 1] = self.behind(label, one, self.contrast)
        self.sent[t - 1] = self.rewards[t - 1] if self.setup.epsilon is None else float(one)
        return one

    def back(self, chance: np.ndarray) -> np.ndarray:
        """The mean reward behind a chance that the bit is 1."""
        return 0.5 + (chance - 0.5) / self.contrast


class Posterior(Bits):
    """`kernels.posterior`: draws are completed, given whose was the largest."""

    decides: Decision = "draw"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.chances = self.arguments[0].means[self.order]

    def believes(self, t: int) -> Belief:
        a, b = 1.0 + self.sums, 1.0 + self.counts - self.sums
        thetas = draws_won(self._spare, a, b, int(self.shown[t - 1]))
        self.completed.add("draws")
        return Belief(*(self.back(each) for each in (a / (a + b), *credible(a, b), thetas)))

    def pull(self, label: int, t: int) -> None:
        self.sums[label] += self.bit(label, t)
        self.counts[label] += 1


class Counters(Replay):
    """`kernels.trees`: sums from a counter for each arm, whose noise has a budget for blocks and one for trees."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.counters = self.arguments[1]
        self.held = [[0.0] * 64 for _ in range(self.size)]
        self.noises, self.items = np.zeros(self.size), np.zeros(self.size, np.int64)

    def grow(self, label: int) -> None:
        """One more item in the arm's counter, and the noise of its new sum."""
        self.items[label] += 1
        items = int(self.items[label])
        bits, (hybrid, block_scale, level_scale), held = items.bit_count(), self.counters, self.held[label]
        scale = level_scale if not hybrid else block_scale if bits == 1 else items.bit_length() * level_scale
        total = held[1 if hybrid and bits == 1 else bits - 1] + laplace(self.uniform(SECOND), scale)
        held[bits] = self.noises[label] = total

    def keep(self, label: int, t: int) -> None:
        """The reward of user ``t``."""
        self.rewards[t - 1] = self.sent[t - 1] = reward = self.draw(label)
        self.counts[label] += 1
        self.sums[label] += reward

    def noisy(self, margin: Callable[[np.ndarray], np.ndarray]) -> Belief:
        """Noisy means, and what they may be off by."""
        n = np.where(self.counts > 0, self.counts, np.nan)
        found = around((self.sums + self.noises) / n, margin(n), self.unknown)
        return found._replace(value=np.where(self.counts > 0, found.high, np.inf))


class Truncated(Counters):
    """`kernels.heavy.by_index`: truncated sums, in a tree where they are private."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.form = self.arguments[1]

    def believes(self, t: int) -> Belief:
        form = self.form
        clock = form.bonus * (form.slope * math.log(t) + form.offset) ** form.exponent
        return self.noisy(lambda n: clock * n**-form.exponent)

    def pull(self, label: int, t: int) -> None:
        form, level = self.form, math.log(t)
        self.counts[label] += 1
        bound = form.level * self.counts[label] ** (1 - form.exponent)
        if form.shrinks:
            bound = bound / (2 * level) ** (1 - form.exponent) if level > 0 else math.inf
        self.rewards[t - 1] = self.sent[t - 1] = reward = self.draw(label)
        self.sums[label] += reward if abs(reward) <= bound else 0.0
        if form.node_scale > 0:
            self.counters = trees.Counters(False, 0.0, form.node_scale * bound)
            self.grow(label)
