"""Elimination in growing batches again: slow, plain Python, user by user, from the pseudo-code.

Every user of a batch is met; when a batch is complete the server learns one number of each arm. The trial's stream is
read in the documented order: labels, then batch by batch and arm by arm what the batch needs.
"""

import math
from collections.abc import Iterator

from batch_reference import binomial
from reference import Late, Stream, laplace, reward_of


def poisson(mean: float, draw) -> int:
    """Hormann 1993: PTRS for means from 10 on, else inversion; probabilities by ln of factorials."""
    if mean < 10:
        u, k = draw(), 0
        while u >= (chance := math.exp(-mean) * mean**k / math.factorial(k)):
            u -= chance
            k += 1
        return k
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    while True:
        u, v = draw() - 0.5, draw()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + mean + 0.43)
        if us >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        if math.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / us**2 + b)) <= k * math.log(mean) - mean - math.lgamma(
            k + 1
        ):
            return k


def geometric_difference(rate: float, stream: Stream) -> int:
    """Discrete Laplace noise: two geometric variables, each by inversion, minus each other."""
    plus, minus = (math.floor(-math.log1p(-stream.uniform()) / rate) for _ in range(2))
    return plus - minus


class Batch:
    """The users of one arm's batch, and what their answers add up to."""

    def __init__(self, arm, users: int, stream: Stream, at_once: bool) -> None:
        self.arm, self.users, self.stream = arm, users, stream
        self.coin = stream.rejections.uniform
        self.two_valued = at_once and arm.kind in ("bernoulli", "two-point")
        self.at_once = at_once

    def rewards(self) -> list[float]:
        """All rewards; of two-valued ones only how often each comes is drawn."""
        if not self.two_valued:
            return [reward_of(self.arm, self.stream.uniform(), self.stream) for _ in range(self.users)]
        arm = self.arm
        low, high, p = (0.0, 1.0, arm.mean) if arm.kind == "bernoulli" else (arm.low, arm.high, arm.p_high)
        ones = binomial(self.users, p, self.coin)
        return [low] * (self.users - ones) + [high] * ones

    def total(self) -> float:
        """Sum of the rewards."""
        return sum(self.rewards())

    def ones(self, truth: float) -> int:
        """Bits that are 1 where each is the truth with chance ``truth``, else uniform."""
        if self.at_once:
            return binomial(self.users, 0.5 + truth * (self.arm.expected - 0.5), self.coin)
        count = 0
        for _ in range(self.users):
            reward = reward_of(self.arm, self.stream.uniform(), self.stream)
            count += self.coin() < 0.5 + truth * (reward - 0.5)
        return count

    def rounded(self, g: int) -> int:
        """Sum of the rewards on the grid of g levels, each rounded up with the chance of its fraction."""
        if self.two_valued:
            rewards, total = self.rewards(), 0
            for value in (min(rewards), max(rewards)) if len(set(rewards)) > 1 else (rewards[0],):
                count = rewards.count(value)
                total += count * math.floor(value * g) + binomial(count, value * g - math.floor(value * g), self.coin)
            return total
        total = 0
        for _ in range(self.users):
            value = reward_of(self.arm, self.stream.uniform(), self.stream) * g
            fraction = value - math.floor(value)
            total += math.floor(value) + (1 if fraction > 0 and self.coin() < fraction else 0)
        return total


def modular(total: int, users: int, g: int, tau: int) -> float:
    """What the server reads from a sum modulo m."""
    m = users * g + 2 * tau + 1
    rest = total % m
    return (rest - m if rest > users * g + tau else rest) / (g * users)


def learn(policy: str, batch: Batch, spec, size: int, b: int) -> tuple[float, float]:
    """(mean, radius) of a batch; ``spec`` has epsilon, beta, and what the account found (g of shuffling, rate)."""
    n, stream, epsilon, beta = batch.users, batch.stream, spec["epsilon"], spec["beta"]

    def level(c: float) -> float:
        return math.log(c * size * b**2 / beta)

    plain = math.sqrt(level(4) / (2 * n))
    if policy == "se":
        return batch.total() / n, plain
    if policy == "dp-se":
        mean = (batch.total() + laplace(stream.uniform(), 1 / epsilon)) / n
        return mean, math.sqrt(level(8) / (2 * n)) + level(4) / (epsilon * n)
    if policy in ("ldp-se", "shuffle-se"):
        truth = math.tanh(epsilon / 2) if policy == "ldp-se" else 1 - spec["noisy"][b - 1]
        return 0.5 + (batch.ones(truth) / n - 0.5) / truth, plain / truth
    if policy == "dist-dp-se":
        g = math.ceil(epsilon * math.sqrt(n))
        tau = math.ceil(g * math.log(2 / beta) / epsilon)
        total = batch.rounded(g) + geometric_difference(epsilon / g, stream)
        radius = plain + math.sqrt(2) / epsilon * math.sqrt(level(2)) / n + level(2) / (epsilon * n)
        return modular(total, n, g, tau), radius
    s, e = spec["scale"], spec["rate"]
    g = math.ceil(s * e * math.sqrt(n))
    variance, x = g**2 / e**2, math.log(4 / beta)
    total = batch.rounded(g) + poisson(variance / 2, batch.coin) - poisson(variance / 2, batch.coin)
    radius = plain + (2 / e + math.sqrt(2) / (s * e)) * math.sqrt(level(2)) / n + level(2) / (s * e * n)
    return modular(total, n, g, math.ceil(math.sqrt(2 * variance * x) + x / 3)), radius


def steps(policy: str, arms, stream: Stream, at_once: bool, spec, horizon: int) -> Iterator[int]:
    """The arms of all users, one by one."""
    left, b, t = list(range(len(arms))), 0, 0
    while len(left) > 1:
        b += 1
        n = spec["growth"] ** b
        for _ in range(n):
            yield from left
        t += n * len(left)
        if t >= horizon:
            return
        found = {a: learn(policy, Batch(arms[a], n, stream, at_once), spec, len(left), b) for a in left}
        best, radius = max(mean for mean, _ in found.values()), found[left[0]][1]
        left = [a for a in left if best - found[a][0] <= 2 * radius]
    while True:
        yield left[0]


class Answered(Batch):
    """A batch whose users have answered already, one after the other."""

    def __init__(self, answers: list[int], stream: Stream) -> None:
        self.answers, self.users, self.stream, self.coin = answers, len(answers), stream, stream.rejections.uniform

    def ones(self, truth: float) -> int:
        return sum(self.answers)

    rounded = ones


def answer(policy: str, reward: float, n: int, b: int, spec, coin) -> int:
    """What one user of a batch of n adds to its sum, but for the share of the noise."""
    if policy == "shuffle-se":
        return coin() < 0.5 + (1 - spec["noisy"][b - 1]) * (reward - 0.5)
    rate = spec["epsilon"] if policy == "dist-dp-se" else spec["scale"] * spec["rate"]
    level = reward * math.ceil(rate * math.sqrt(n))
    fraction = level - math.floor(level)
    return math.floor(level) + (1 if fraction > 0 and coin() < fraction else 0)


def late_play(policy: str, instance, words, spec) -> tuple[list[int], list[list[int]]]:
    """The arms one trial pulls where rewards are counted late, and the users of every batch that was complete."""
    stream, late = Stream(words), Late(instance)
    arms, left, b, began, pulled, batches = instance.arms, list(range(len(instance.arms))), 1, 1, [], []
    given: dict[int, list[tuple[int, int]]] = {a: [] for a in left}
    for t in range(1, instance.horizon + 1):
        n = spec["growth"] ** b
        if len(left) > 1 and all(len(given[a]) == n for a in left):
            found = {}
            for a in left:
                batches.append([user for user, _ in given[a]])
                found[a] = learn(policy, Answered([each for _, each in given[a]], stream), spec, len(left), b)
            best, radius = max(mean for mean, _ in found.values()), found[left[0]][1]
            left = [a for a in left if best - found[a][0] <= 2 * radius]
            b, began, given = b + 1, t, {a: [] for a in left}
        a = left[(t - began) % len(left)]
        pulled.append(a)
        for arm, (user, reward) in late.counted(a, (t, reward_of(arms[a], stream.uniform(), stream))):
            if user >= began and len(left) > 1 and len(given[arm]) < (n := spec["growth"] ** b):
                given[arm].append((user, answer(policy, reward, n, b, spec, stream.rejections.uniform)))
    return pulled, batches


def play(policy: str, instance, words, at_once: bool, spec) -> list[int]:
    """The arms one trial pulls, instance.horizon many."""
    stream = Stream(words)
    order = stream.labels(len(instance.arms))
    arms = [instance.arms[arm] for arm in order]
    pulled = []
    for a in steps(policy, arms, stream, at_once, spec, instance.horizon):
        pulled.append(order[a])
        if len(pulled) == instance.horizon:
            return pulled
    raise AssertionError("the batches end before the horizon")
