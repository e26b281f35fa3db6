"""Replay of elimination in growing batches, whatever the server learns of a batch."""

from __future__ import annotations

import math
from typing import Any

from bandit_core.kernels.ladder import BITS, LAPLACE, POLYA, SUMS
from bandit_core.policies.elimination_family import NUMBER
from bandit_core.spec.rewards import TWO_POINT
from bandit_core.studies.replays.base import SECOND, chance_that_one, draw_binomial
from bandit_core.studies.replays.batches import OfRule


class Ladder(OfRule):
    """The rules of `policies.elimination_by_trust`, whose batches are drawn when they are complete.

    What users of a secure sum send is uniform modulo m on its own, and no run draws it.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        rewards, self.at_once, self.steps = self.arguments
        self.by_sum = [True] * self.size  # nothing is drawn before the batch is complete
        self.chances = rewards.means[self.order]
        self.sends = self.steps.learns < POLYA

    @property
    def number(self) -> int:
        """The present batch, from 0."""
        return int(self.known.place[NUMBER]) - 1

    def fresh_sum(self, label: int) -> float:
        if self.steps.learns == BITS:
            return self._bits(label, float(self.steps.contrast[self.number]))
        return self._total(label, float(self.steps.levels[self.number]) if self.steps.learns >= POLYA else 0.0)

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
                    contrast = float(self.steps.contrast[min(self.number, len(self.steps.contrast) - 1)])
                    self.sent[user] = float(self._spare.random() < chance_that_one(reward, contrast))
        if self.steps.learns in (SUMS, LAPLACE):
            self.sent[:] = self.rewards
