"""Replays of policies that learn from every user: index policies, kl-UCB, posteriors, counters, truncated sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np

from bandit_core.jit.decorators import kernel
from bandit_core.kernels import index, kl, trees
from bandit_core.kernels.normals import normal
from bandit_core.kernels.rewards import sigmoid
from bandit_core.kernels.users import draw_epsilon
from bandit_core.mechanisms.signed_digits import nodes_of
from bandit_core.mechanisms.square_root import squared_length
from bandit_core.spec.budgets import FIXED
from bandit_core.studies.replays.base import (
    SECOND,
    TAIL,
    Belief,
    Decision,
    Replay,
    around,
    chance_that_one,
    credible,
    draws_won,
    laplace,
    plain,
)

_BEYOND = NormalDist().inv_cdf(1 - TAIL)  # standard deviations
_clock, _sigmoid = plain(index.clock), plain(sigmoid)


@kernel
def _epsilon(kind: int, form: np.ndarray, table: np.ndarray, uniform: float) -> float:
    return draw_epsilon(kind, form, table, uniform)


@kernel
def _normal(state: np.ndarray) -> float:
    return normal(state, 0, SECOND)


@kernel
def _quantile(mean: float, budget: float) -> float:
    return kl.upper_quantile(mean, budget) if mean < 1.0 else 1.0


class Index(Replay):
    """`kernels.index`: mean + width x clock."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        rewards, self.users, self.form = self.arguments
        self.means, self.spreads = rewards.means[self.order], np.zeros(self.size)
        self.one_budget = self.users.kind == FIXED
        self.bits = self.form.release == index.BITS
        self.noise = self._noise_of(float(self.users.form[0])) if self.one_budget else 1.0
        self.shift, self.stretch = (0.5, 0.5 * self.noise) if self.bits else (0.0, 1.0)

    def _noise_of(self, epsilon: float) -> float:
        if self.form.release == index.LAPLACE:
            return 1 / epsilon
        return 1 / math.tanh(epsilon / 2) if self.bits else 1.0

    def believes(self, t: int) -> Belief:
        n, form = np.where(self.counts > 0, self.counts, np.nan), self.form
        width = (np.sqrt(form.per_pull * n) + np.sqrt(form.per_spread * self.spreads)) / n
        found = around(self.shift + self.stretch * (self.sums / n), width * _clock(t, form.clock), self.unknown)
        value = np.where(self.counts > 0, found.high, np.inf)
        if form.forced > 0:
            value[self.spreads <= form.forced * math.log(t)] = np.inf
        return found._replace(value=value)

    def pull(self, label: int, t: int) -> None:
        uniform, noise = self.uniform(), self.noise
        u_noise = self.uniform() if self.form.release == index.LAPLACE else 0.0
        if not self.one_budget:
            users = self.users
            epsilon = float(_epsilon(users.kind, users.form, users.table, self.uniform()))
            self.epsilons[t - 1] = epsilon
            if epsilon < users.eps_min:
                self.rewards[t - 1] = self.felt(label)
                return
            noise = self._noise_of(epsilon)
        change = _sigmoid if self.form.squash else float
        if self.bits:
            bit = uniform < chance_that_one(self.means[label], 1 / noise)
            self.rewards[t - 1], self.sent[t - 1] = self.behind(label, bit, 1 / noise, change), float(bit)
            unit = 1.0 if self.one_budget else noise
            value = unit if bit else -unit
        else:
            self.rewards[t - 1] = reward = self.draw(label, uniform)
            value = change(reward)
            if self.form.release == index.LAPLACE:
                value += laplace(u_noise, noise)
            self.sent[t - 1] = value
        self.counts[label] += 1
        self.sums[label] += value
        self.spreads[label] += noise * noise


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


class KL(Bits):
    """`kernels.kl`: the largest mean that is not ruled out yet."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        rewards, self.release, _, _ = self.arguments
        self.chances = rewards.means[self.order]

    def believes(self, t: int) -> Belief:
        level = plain(kl.exploration)(t)
        found = np.full((3, self.size), np.nan)
        for label in np.flatnonzero(self.counts):
            mean, budget = self.sums[label] / self.counts[label], level / self.counts[label]
            found[:, label] = mean, 1 - _quantile(1 - mean, budget), _quantile(mean, budget)
        estimate, low, high = self.back(found)
        return Belief(estimate, low, high, np.where(self.counts > 0, high, np.inf))

    def pull(self, label: int, t: int) -> None:
        if self.release == kl.BITS:
            self.sums[label] += self.bit(label, t)
        else:
            self.rewards[t - 1] = self.sent[t - 1] = reward = self.draw(label)
            self.sums[label] += reward
        self.counts[label] += 1


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


class NormalPosterior(Replay):
    """`kernels.gaussian_posterior`: a normal draw for every arm."""

    decides: Decision = "draw"

    def believes(self, t: int) -> Belief:
        _, factor, first = self.arguments
        n = self.counts + 1
        mean, sd = self.sums / n, np.sqrt(factor / n)
        if t <= self.size * first:
            turn = np.where(np.arange(self.size) == (t - 1) % self.size, np.inf, 0.0)
            return around(mean, _BEYOND * sd, turn)
        return around(mean, _BEYOND * sd, mean + sd * [_normal(self.state) for _ in range(self.size)])

    def pull(self, label: int, t: int) -> None:
        self.rewards[t - 1] = self.sent[t - 1] = reward = self.draw(label)
        self.counts[label] += 1
        self.sums[label] += reward


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


class OwnCounters(Counters):
    """A counter grows with the pulls of its arm."""

    def believes(self, t: int) -> Belief:
        form = self.arguments[2]
        level = math.log(t)

        def factor(n: float) -> float:
            since = n - 2.0 ** (int(n).bit_length() - 1) if n > 0 else 0.0
            if form.shape == trees.FLAT or since == 0:
                return 1.0
            return (math.log(n) if form.shape == trees.LOG_PULLS else math.log2(since)) + 1.0

        def margin(n: np.ndarray) -> np.ndarray:
            factors = np.array([factor(count) for count in self.counts])
            return np.sqrt(level * form.per_pull * n) / n + (form.slope * level + form.offset) * factors / n

        return self.noisy(margin)

    def pull(self, label: int, t: int) -> None:
        self.keep(label, t)
        self.grow(label)


class CommonCounters(Counters):
    """All counters grow at every step."""

    def per_pull(self) -> float:
        """2 if the index has its root, 0 without."""
        return float(self.arguments[2].per_pull)

    def believes(self, t: int) -> Belief:
        return self.noisy(lambda n: np.sqrt(math.log(t) * self.per_pull() * n) / n)

    def pull(self, label: int, t: int) -> None:
        self.keep(label, t)
        for each in range(self.size):
            self.grow(each)


class _Trees(Counters):
    """k-ary trees; the noise of every node by itself."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.nodes: list[dict[tuple[int, int], float]] = [{} for _ in range(self.size)]
        self.spreads = np.zeros(self.size)  # square roots of the nodes that are in the sums

    def grow(self, label: int) -> None:
        tree, known, total = self.arguments[1], self.nodes[label], 0.0
        self.items[label] += 1
        nodes = nodes_of(int(self.items[label]), 2 * tree.half + 1)
        for sign, *node in nodes:
            place = (node[0], node[1])
            if place not in known:
                known[place] = laplace(self.uniform(SECOND), tree.node_scale)
            total += sign * known[place]
        self.noises[label], self.spreads[label] = total, math.sqrt(len(nodes))


class _Roots(Counters):
    """Square roots; the normal variables as they were drawn, through sums of exponentials as the kernel has them."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.root = self.arguments[1]
        self.terms = np.zeros((self.size, len(self.root.rates)))
        self.spreads = np.zeros(self.size)  # lengths of the rows that stand behind the sums

    def grow(self, label: int) -> None:
        fresh, terms = self.root.sd * _normal(self.state), self.terms[label]
        terms[:] = self.root.rates * terms + self.root.weights * fresh
        self.items[label] += 1
        self.noises[label], self.spreads[label] = terms.sum(), math.sqrt(squared_length(self.items[label]))


class _Covered(Counters):
    """`kernels.covered_counters`: an index whose margin covers the counter's noise; grows with the pulls of its arm."""

    spreads: np.ndarray

    def believes(self, t: int) -> Belief:
        form, clock = self.arguments[2], math.log(t)
        certainty = form.slope * clock + form.offset

        def margin(n: np.ndarray) -> np.ndarray:
            covered = math.sqrt(certainty) * form.spread * self.spreads + form.tail * certainty
            return np.sqrt(clock * form.per_pull * n) / n + covered / n

        return self.noisy(margin)

    def pull(self, label: int, t: int) -> None:
        self.keep(label, t)
        self.grow(label)


class OwnTrees(_Covered, _Trees):
    """`kernels.covered_counters.own_trees`."""


class OwnRoots(_Covered, _Roots):
    """`kernels.covered_counters.own_roots`."""


class SignedTrees(_Trees, CommonCounters):
    """`kernels.signed_trees`: k-ary trees that all grow at every step."""

    def per_pull(self) -> float:
        return float(self.arguments[2])


class CommonRoots(_Roots, CommonCounters):
    """`kernels.covered_counters.common_roots`: square roots that all grow at every step."""


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
