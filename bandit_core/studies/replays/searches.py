"""Replay of a search for the best arm, and of what everyone gets once it has ended."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandit_core.jit.decorators import kernel
from bandit_core.kernels.search import Rule, State, decide
from bandit_core.studies.replays.base import Belief, Decision, Replay, chance_that_one, draw_binomial, laplace


@kernel
def _decision(known: State, rule: Rule, t: int, state: np.ndarray) -> tuple[int, int]:
    return decide(known, rule, t, state, 0)


class Search(Replay):
    """`kernels.search`: the leader and the challenger in turns, then the arm that is recommended.

    Rewards count as bits that are 1 with this chance; with noise the bits of a whole phase are drawn by their sum.
    """

    decides: Decision = "rivals"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        rewards, self.rule = self.arguments
        self.chances = rewards.means[self.order]
        self.local = self.setup.epsilon is not None and self.rule.epsilon == 0
        self.contrast = math.tanh(self.setup.fixed_epsilon / 2) if self.local else 1.0
        self.known = State._make([*np.zeros((6, self.size)), np.zeros(2, np.int64)])
        self.waiting: list[list[int]] = [[] for _ in range(self.size)]  # users whose bits are not drawn yet
        self.users, self.last = dict.fromkeys(range(self.size), 1), float(self.size)  # of the turns that are played
        self.held: Belief | None = None

    def _learn(self, label: int, users: int) -> None:
        """Draw and count the answers of an arm's users, or wait for the end of its phase."""
        known, epsilon = self.known, self.rule.epsilon
        known.counts[label] += users
        if epsilon == 0:
            known.ones[label] += self._bits(label, users)
            known.means[label] = known.ones[label] / known.counts[label]
            return
        known.fresh[label] += users
        if users > 0 and 2 * known.fresh[label] >= known.counts[label]:
            length, noise = int(known.fresh[label]), laplace(self.uniform(), 1 / epsilon)
            known.means[label] = (self._bits(label, length) + noise) / length
            known.lengths[label], known.fresh[label] = length, 0.0
            known.phases[label] += 1

    def _bits(self, label: int, count: int) -> float:
        """How many of the users who wait answered with a one; any of them are as probable."""
        users, self.waiting[label] = self.waiting[label], []
        ones = float(draw_binomial(self.state, float(count), self.chances[label]))
        for user, bit in zip(users, self._spare.permutation(len(users)) < ones, strict=True):
            self.rewards[user] = reward = self.behind(label, bool(bit), self.contrast)
            self.sent[user] = float(bit) if self.local else reward
        return ones

    def believes(self, t: int) -> Belief:
        if t > self.last:
            for label, users in self.users.items():
                self._learn(label, users)
            size, own = _decision(self.known, self.rule, t - 1, self.state)
            leader, challenger = (int(label) for label in self.known.pair)
            self.users = {leader: own, challenger: size - own}
            self.last = t - 1 + size if size else math.inf
            means = 0.5 + (self.known.means - 0.5) / self.contrast
            self.held = Belief(means, self.unknown, self.unknown, self.unknown if size else means)
        return self.held or Belief(self.unknown, self.unknown, self.unknown, self.unknown)

    def pull(self, label: int, t: int) -> None:
        if math.isinf(self.last):
            self.rewards[t - 1] = self.felt(label)
        else:
            self.waiting[label].append(t - 1)

    def finish(self) -> None:
        for label, users in enumerate(self.waiting):  # of turns that are not over
            for user in users:
                self.rewards[user] = self.sent[user] = reward = self.felt(label)
                if self.local:
                    self.sent[user] = float(self._spare.random() < chance_that_one(reward, self.contrast))
