"""Replays of policies that learn from every user: posteriors, counters, truncated sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandit_core.studies.replays.base import (
    Belief,
    Decision,
    Replay,
    credible,
    draws_won,
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
