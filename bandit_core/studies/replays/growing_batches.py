"""Replay of elimination in growing batches, whatever the server learns of a batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandit_core.jit.decorators import kernel
from bandit_core.kernels.ladder import BITS, LAPLACE, POLYA, SUMS
from bandit_core.kernels.poisson import poisson
from bandit_core.mechanisms.modular_sums import decoded, discrete_laplace
from bandit_core.spec.rewards import TWO_POINT
from bandit_core.studies.replays.base import SECOND, chance_that_one, draw_binomial, plain
from bandit_core.studies.replays.batches import Epochs


@kernel
def _difference(state: np.ndarray, mean: float) -> float:
    return poisson(mean, state, 0) - poisson(mean, state, 0)


class Ladder(Epochs):
    """`kernels.ladder.elimination`: a batch is drawn when it is complete.

    What users of a secure sum send is uniform modulo m on its own, and no run draws it.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        rewards, self.at_once, self.steps = self.arguments
        self.by_sum = [True] * self.size  # nothing is drawn before the batch is complete
        self.chances = rewards.means[self.order]
        self.sends = self.steps.learns < POLYA

    def plan(self) -> tuple[float, float]:
        number = self.epoch - 1
        if number >= len(self.steps.lengths):
            return math.inf, math.inf
        return float(self.steps.lengths[number]), float(self.steps.margins[number, len(self.members)])

    def mean(self, label: int) -> float:
        steps, number = self.steps, self.epoch - 1
        if steps.learns == BITS:
            contrast = float(steps.contrast[number])
            return 0.5 + (self._bits(label, contrast) / self.length - 0.5) / contrast
        levels, spread = float(steps.levels[number]), float(steps.spread[number])
        total = self._total(label, levels if steps.learns >= POLYA else 0.0)
        if steps.learns == SUMS:
            return total / self.length
        if steps.learns == LAPLACE:
            return (total + self.noise(spread)) / self.length
        if steps.learns == POLYA:
            first = self.uniform()
            total += plain(discrete_laplace)(first, self.uniform(), spread)
        else:
            total += float(_difference(self.state, 0.5 * spread))
        return plain(decoded)(total, self.length * levels, float(steps.slack[number])) / (self.length * levels)

    def _bits(self, label: int, contrast: float) -> float:
        """How many users of a batch sent a 1; where only that is drawn, any of them are as probable."""
        users, self.waiting[label] = self.waiting[label], []
        if self.at_once:
            chance = 0.5 + contrast * (self.chances[label] - 0.5)
            ones = float(draw_binomial(self.state, float(len(users)), chance))
            for user, bit in zip(users, self._spare.permutation(len(users)) < ones, strict=True):
                self.sent[user], self.rewards[user] = float(bit), self.behind(label, bool(bit), contrast)
            return ones
        for user in users:
            self.rewards[user] = reward = self.draw(label)
            self.sent[user] = float(self.uniform(SECOND) < 0.5 + contrast * (reward - 0.5))
        return float(self.sent[users].sum())

    def _total(self, label: int, levels: float) -> float:
        """Sum of a batch's rewards, in ``levels`` if they are rounded to any."""
        users, low, high = self.waiting[label], self.table[label, 1], self.table[label, 2]
        if self.at_once and self.table[label, 0] == TWO_POINT:
            ones = float(draw_binomial(self.state, float(len(users)), self.table[label, 3]))
            zeros = len(users) - ones
            self.arrange(label, ones)
            if levels == 0:
                return float(low * zeros + high * ones)
            return self._rounded(low, levels, zeros) + self._rounded(high, levels, ones)
        self.waiting[label] = []
        total = 0.0
        for user in users:
            self.rewards[user] = reward = self.draw(label)
            below = math.floor(reward * levels)
            fraction = reward * levels - below
            if levels == 0:
                total += reward
            else:
                total += below + (1.0 if fraction > 0 and self.uniform(SECOND) < fraction else 0.0)
        return total

    def _rounded(self, value: float, levels: float, count: float) -> float:
        below = math.floor(value * levels)
        return count * below + float(draw_binomial(self.state, count, value * levels - below))

    def finish(self) -> None:
        for label, users in enumerate(self.waiting):  # of batches that decide nothing
            for user in users:
                self.rewards[user] = reward = self.felt(label)
                if self.steps.learns == BITS:
                    contrast = float(self.steps.contrast[min(self.epoch, len(self.steps.contrast)) - 1])
                    self.sent[user] = float(self._spare.random() < chance_that_one(reward, contrast))
        if self.steps.learns in (SUMS, LAPLACE):
            self.sent[:] = self.rewards
