"""Replays of policies that see rewards only through sums over batches."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandit_core.jit.decorators import kernel
from bandit_core.kernels import heavy, lazy_updates
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.streams import gamma
from bandit_core.model import KernelCall
from bandit_core.policies.elimination_family import OWN
from bandit_core.spec.rewards import TWO_POINT
from bandit_core.studies.replays.base import (
    Belief,
    Decision,
    Replay,
    around,
    chance_that_one,
    credible,
    draw_binomial,
    draws_won,
    laplace,
)


@kernel
def _difference_of_gammas(state: np.ndarray, shape: float) -> float:
    return gamma(state, 0, shape) - gamma(state, 0, shape)


@kernel
def _truncated_sum(
    state: np.ndarray, rewards: Rewards, arm: int, count: int, bound: float, at_once: bool, signal: np.ndarray
) -> float:
    return heavy.truncated_sum(rewards, arm, count, bound, at_once, state, 0, signal)


class Batches(Replay):
    """`kernels.batches`: rewards that are released by their sum."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        at_once = self.arguments[1]
        self.by_sum = [at_once and self.table[label, 0] == TWO_POINT for label in range(self.size)]
        self.waiting: list[list[int]] = [[] for _ in range(self.size)]  # users whose rewards are in no release yet
        self.fresh, self.pulled = np.zeros(self.size), np.zeros(self.size)
        self.means, self.released = np.full(self.size, np.nan), np.zeros(self.size)
        self.held: Belief | None = None

    def keep(self, label: int, t: int) -> None:
        """One pull, whose reward waits."""
        self.pulled[label] += 1
        self.waiting[label].append(t - 1)
        if not self.by_sum[label]:
            self.rewards[t - 1] = reward = self.draw(label)
            self.fresh[label] += reward

    def arrange(self, label: int, ones: float) -> None:
        """Give so many of the users who wait the larger reward, and use them up: any of them is as probable."""
        self.completed.add("rewards")
        users, self.waiting[label] = self.waiting[label], []
        chosen = self._spare.permutation(len(users)) < ones
        self.rewards[users] = np.where(chosen, self.table[label, 2], self.table[label, 1])

    def fresh_sum(self, label: int) -> float:
        """The sum of all rewards that wait."""
        count, low, high = len(self.waiting[label]), self.table[label, 1], self.table[label, 2]
        if self.by_sum[label]:
            ones = float(draw_binomial(self.state, float(count), self.table[label, 3]))
            self.arrange(label, ones)
            return float(low * (count - ones) + high * ones)
        self.waiting[label] = []
        total, self.fresh[label] = float(self.fresh[label]), 0.0
        return total

    def noise(self, scale: float) -> float:
        """The noise of one release."""
        return laplace(self.uniform(), scale)

    def finish(self) -> None:
        for label, users in enumerate(self.waiting):
            for user in users:
                if np.isnan(self.rewards[user]):
                    self.rewards[user] = self.felt(label)
        if self.sends:
            self.sent[:] = self.rewards

    def nothing(self) -> Belief:
        """Before the first release."""
        return Belief(self.unknown, self.unknown, self.unknown, self.unknown)


class OfRule(Batches):
    """A `kernels.batch_rule.BatchRule`, by its own functions."""

    def __init__(self, call: KernelCall, *given: Any) -> None:
        super().__init__(call, *given)
        self.rule, self.plan, self.decides = call.rule, self.arguments[2], call.rule.decides
        self.known, self.last, self.length, self.turns = self.rule.start(self.plan, self.size), 0, 0, 0

    def believes(self, t: int) -> Belief:
        if t > self.last:
            choose, learn, believe = self.rule.steps
            for label in self.known.members[: self.turns]:
                learn(self.plan, self.known, label, self.fresh_sum(label), float(self.length), self.state)
            self.turns, self.length = choose(self.plan, self.known, self.pulled, t - 1, self.state)
            self.last = t - 1 + self.turns * self.length
            self.held = Belief(*np.transpose([believe(self.plan, self.known, label, t) for label in range(self.size)]))
        return self.held or self.nothing()

    def pull(self, label: int, t: int) -> None:
        self.keep(label, t)


class HeavyEpochs(OfRule):
    """The rules of `policies.heavy_family`, whose truncated rewards are drawn at the end of an epoch."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        rewards, self.at_once, _ = self.arguments
        self.by_sum = [True] * self.size  # rewards are drawn when they are summed
        self.here = rewards._replace(table=np.ascontiguousarray(self.table))
        self.sends = not self.plan.local  # of local noise, too, only the sum is drawn

    def fresh_sum(self, label: int) -> float:
        users, before, bound = self.waiting[label], self.state.copy(), float(self.known.margins[OWN])
        signal, count = np.zeros(2, np.int64), len(users)
        total = _truncated_sum(self.state, self.here, label, count, bound, self.at_once, signal)
        low, high = (x if abs(x) <= bound else 0.0 for x in self.table[label, 1:3])
        if self.at_once and self.table[label, 0] == TWO_POINT:
            if low != high:
                self.arrange(label, round((total - low * count) / (high - low)))
        else:
            after, self.state = self.state, before
            drawn = [self.draw(label) for _ in users]
            if np.array_equal(self.state, after):  # they were drawn one by one
                self.rewards[users] = drawn
            self.state = after
        self.waiting[label] = []
        if self.plan.local:
            total += 2.0 * bound / self.plan.epsilon * _difference_of_gammas(self.state, float(count))
        return float(total)


class Lazy(Batches):
    """`kernels.lazy_updates`: an arm's mean is released after so many of its pulls, the arm chosen every time."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.first = 1

    def release(self, label: int) -> None:
        """Release an arm's mean."""
        raise NotImplementedError

    def wanted(self, label: int) -> float:
        """Pulls that an arm's next release waits for."""
        return 2 * self.released[label]

    def belief(self, t: int) -> Belief:
        """What follows from the released means."""
        raise NotImplementedError

    def believes(self, t: int) -> Belief:
        if t <= self.size * self.first:
            return self.nothing()
        for label in range(self.size):
            if len(self.waiting[label]) == (self.wanted(label) or self.first):
                self.release(label)
        return self.belief(t)

    def pull(self, label: int, t: int) -> None:
        self.keep(label, t)


class LazyIndex(Lazy):
    """`kernels.lazy_updates.by_index`."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.schedule = self.arguments[2]
        self.first = self.schedule.first

    def wanted(self, label: int) -> float:
        return super().wanted(label) if self.schedule.kind == lazy_updates.DOUBLING else self.first

    def release(self, label: int) -> None:
        batch, total = len(self.waiting[label]), self.fresh_sum(label)
        if self.schedule.kind == lazy_updates.DOUBLING:
            self.released[label] = batch
            self.means[label] = (total + self.noise(1 / self.schedule.epsilon)) / batch
        else:
            self.released[label] += batch
            self.sums[label] += total
            n = self.released[label]
            self.means[label] = self.sums[label] / n + self.noise(n ** (0.5 * self.schedule.v - 1))

    def belief(self, t: int) -> Belief:
        n, level = self.released, math.log(t)
        margin = np.sqrt(self.schedule.per_root / n) * math.sqrt(level)
        margin = margin + self.schedule.per_level / (self.schedule.epsilon * n) * level
        found = around(self.means.copy(), margin, self.unknown)
        return found._replace(value=found.high)


class LazyPosterior(Lazy):
    """`kernels.lazy_posterior`: draws are completed, given whose was the largest."""

    decides: Decision = "draw"

    def release(self, label: int) -> None:
        batch, total = len(self.waiting[label]), self.fresh_sum(label)
        self.released[label] = batch
        self.means[label] = (total + self.noise(1 / self.arguments[2].epsilon)) / batch

    def belief(self, t: int) -> Belief:
        n = self.released
        mean = np.clip(self.means + 3 * math.log2(t) / self.arguments[2].epsilon / n, 0, 1)
        a, b = mean * n + 1, (1 - mean) * n + 1
        self.completed.add("draws")
        return Belief(self.means.copy(), *credible(a, b), draws_won(self._spare, a, b, int(self.shown[t - 1])))


class ABTest(Batches):
    """`kernels.explore_commit`: a test in turns, then the arm with the largest mean; after the test no one is asked."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        rewards, self.plan = self.arguments
        two_valued = all(self.table[label, 0] == TWO_POINT for label in range(self.size))
        self.by_sum = [self.plan.bits or (self.plan.at_once and two_valued)] * self.size
        self.chances = rewards.means[self.order]
        self.contrast = math.tanh(self.setup.fixed_epsilon / 2) if self.plan.bits else 1.0

    def _bits(self, label: int) -> float:
        """The mean of an arm whose users answered with bits, any of which is as probable to be a one."""
        users, self.waiting[label] = self.waiting[label], []
        ones = float(draw_binomial(self.state, float(len(users)), self.chances[label]))
        for user, bit in zip(users, self._spare.permutation(len(users)) < ones, strict=True):
            self.sent[user], self.rewards[user] = float(bit), self.behind(label, bool(bit), self.contrast)
        return 0.5 + (ones / len(users) - 0.5) / self.contrast

    def _release(self, label: int) -> None:
        users = self.waiting[label]
        if self.plan.bits:
            self.means[label] = self._bits(label)
            return
        total = self.fresh_sum(label)
        self.sent[users] = self.rewards[users]
        if self.plan.scale > 0:
            total += self.noise(self.plan.scale)
        self.means[label] = total / len(users)

    def believes(self, t: int) -> Belief:
        if t > self.plan.users and self.held is None:
            for label in range(self.size):
                if self.waiting[label]:
                    self._release(label)
            value = np.where(np.isnan(self.means), -np.inf, self.means)
            self.held = Belief(self.means, self.unknown, self.unknown, value)
        return self.held or self.nothing()

    def pull(self, label: int, t: int) -> None:
        if t <= self.plan.users:
            self.keep(label, t)
        else:
            self.rewards[t - 1] = self.felt(label)

    def finish(self) -> None:
        for label, users in enumerate(self.waiting):  # of a test that is not over
            for user in users:
                if np.isnan(self.rewards[user]):
                    self.rewards[user] = self.felt(label)
                self.sent[user] = self.rewards[user]
                if self.plan.bits:
                    one = chance_that_one(self.rewards[user], self.contrast)
                    self.sent[user] = float(self._spare.random() < one)
