"""The batch policies of central privacy again: slow, plain Python, step by step from the pseudo-code of their papers.

Every step chooses an arm and hands one reward, known by its number, to a `Curator`. Policies see nothing but what the
curator releases. The curator reads the trial's stream in the documented order: one uniform per reward that is drawn by
itself (when it is pulled), one per release for its noise; sums of two-valued rewards come from the stream's second
generator when they are released.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from statistics import NormalDist

from reference import INFINITY, Stream, divergence, first_largest, laplace, reward_of


def binomial(n: int, p: float, draw) -> int:
    """Hormann 1993: BTRS for n min(p, 1-p) >= 10, else inversion; the ratio of probabilities from ln of factorials."""
    if p in (0.0, 1.0):
        return int(n * p)
    if p > 0.5:
        return n - binomial(n, 1 - p, draw)
    if n * p < 10:
        u, k = draw(), 0
        while k < n and u >= (chance := math.comb(n, k) * p**k * (1 - p) ** (n - k)):
            u -= chance
            k += 1
        return k
    spread = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    m = math.floor((n + 1) * p)
    while True:
        u, v = draw() - 0.5, draw()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = math.floor((2 * a / us + b) * u + n * p + 0.5)
        if us >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        if not 0 <= k <= n:
            continue
        ratio = math.lgamma(m + 1) + math.lgamma(n - m + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        if v * (2.83 + 5.1 / b) * spread / (a / us**2 + b) <= math.exp(ratio + (k - m) * math.log(p / (1 - p))):
            return k


class Curator:
    """Sees the rewards, in the order of the pulls, and releases noisy sums of those it has not released before.

    ``releases`` keeps, for each of them, the arm and the numbers of the rewards in it.
    """

    def __init__(self, arms, stream: Stream, at_once: bool) -> None:
        self.arms, self.stream = arms, stream
        self.by_sum = [at_once and arm.kind in ("bernoulli", "two-point") for arm in arms]
        self.seen = 0
        self.waiting: list[list[int]] = [[] for _ in arms]
        self.total = [0.0] * len(arms)
        self.releases: list[tuple[int, list[int]]] = []

    def observe(self, a: int) -> None:
        """One pull of arm a."""
        if not self.by_sum[a]:
            self.total[a] += reward_of(self.arms[a], self.stream.uniform(), self.stream)
        self.waiting[a].append(self.seen)
        self.seen += 1

    def fresh_sum(self, a: int) -> float:
        """Sum of the arm's rewards that wait; from now on they wait no more."""
        rewards, self.waiting[a] = self.waiting[a], []
        self.releases.append((a, rewards))
        if self.by_sum[a]:
            arm = self.arms[a]
            low, high, p = (0.0, 1.0, arm.mean) if arm.kind == "bernoulli" else (arm.low, arm.high, arm.p_high)
            ones = binomial(len(rewards), p, self.stream.rejections.uniform)
            return low * (len(rewards) - ones) + high * ones
        total, self.total[a] = self.total[a], 0.0
        return total

    def noise(self, scale: float) -> float:
        """Laplace noise."""
        return laplace(self.stream.uniform(), scale)


def clip(x: float) -> float:
    """[x] between 0 and 1."""
    return min(1.0, max(0.0, x))


def first_smallest(values: list[float]) -> int:
    """Ties go to the lowest arm."""
    return values.index(min(values))


def d_eps_by_search(x: float, y: float, epsilon: float) -> float:
    """min over z between x and y of epsilon |z - x| + d(z, y), by golden section (the function is convex in z)."""
    if x == y:
        return 0.0
    low, high = min(x, y), max(x, y)
    golden = (math.sqrt(5) - 1) / 2

    def value(z: float) -> float:
        return epsilon * abs(z - x) + divergence(z, y)

    while high - low > 1e-12:
        left, right = high - golden * (high - low), low + golden * (high - low)
        if value(left) <= value(right):
            high = right
        else:
            low = left
    return min(value(low), value(high), value(x), value(y))


def d_eps(x: float, y: float, epsilon: float) -> float:
    """`d_eps_by_search` in closed form, for 0 <= x <= y <= 1."""
    if y == 1:
        return epsilon * (1 - x)
    left = 1 - y + y * math.exp(-epsilon)
    return divergence(x, y) if x >= y * math.exp(-epsilon) / left else -math.log(left) - epsilon * x


def largest_mean(measure, mean: float, budget: float) -> float:
    """max{q in [mean, 1]: measure(mean, q) <= budget} by bisection; above 1 - 1e-9 it counts as 1."""
    low, high = mean, 1.0
    if measure(mean, 1.0) <= budget:
        return 1.0
    while high - low > 1e-14:
        middle = (low + high) / 2
        if measure(mean, middle) <= budget:
            low = middle
        else:
            high = middle
    return low if low <= 1 - 1e-9 else 1.0


def in_turns(arms: int, each: int, horizon: int) -> list[int]:
    """Every arm ``each`` times, in turns, cut at the horizon."""
    return [t % arms for t in range(min(arms * each, horizon))]


def adap(instance, curator: Curator, kl: bool) -> Iterator[int]:
    """Azize and Basu 2022, AdaP-UCB and AdaP-KLUCB."""
    k, epsilon, alpha = len(instance.arms), instance.epsilon.value, instance.parameters.alpha
    pulls, n, mean = [1] * k, [1] * k, [0.0] * k
    yield from range(k)
    for a in range(k):
        mean[a] = curator.fresh_sum(a) + curator.noise(1 / epsilon)
    t = k + 1
    while True:
        log_t = math.log(t)
        if kl:
            index = [
                largest_mean(divergence, clip(mean[a] + alpha * log_t / (epsilon * n[a])), alpha * log_t / n[a])
                for a in range(k)
            ]
        else:
            index = [
                mean[a] + math.sqrt(alpha * log_t / (2 * n[a])) + alpha * log_t / (epsilon * n[a]) for a in range(k)
            ]
        a = first_largest(index)
        target = 2 * pulls[a]
        while pulls[a] < target:
            yield a
            pulls[a] += 1
            t += 1
        n[a] = target // 2
        mean[a] = curator.fresh_sum(a) / n[a] + curator.noise(1 / (epsilon * n[a]))


def adac(instance, curator: Curator, rho: float) -> Iterator[int]:
    """Azize and Basu 2023, AdaC-UCB."""
    k, alpha = len(instance.arms), instance.parameters.alpha
    pulls, n = [1] * k, [1] * k

    def noisy_mean(a: int) -> float:
        mean = curator.fresh_sum(a) / n[a]
        return mean + NormalDist(0, math.sqrt(1 / (2 * rho * n[a] ** 2))).inv_cdf(curator.stream.uniform() + 2.0**-53)

    yield from range(k)
    mean = [noisy_mean(a) for a in range(k)]
    t = k + 1
    while True:
        bonus = [math.sqrt((1 / (2 * n[a]) + 1 / (rho * n[a] ** 2)) * alpha * math.log(t)) for a in range(k)]
        a = first_largest([mean[a] + bonus[a] for a in range(k)])
        n[a] = pulls[a]
        yield from [a] * n[a]
        pulls[a] += n[a]
        t += n[a]
        mean[a] = noisy_mean(a)


def dp_klucb_imed(instance, curator: Curator, imed: bool) -> Iterator[int]:
    """arXiv 2505.05613, DP-KLUCB and DP-IMED."""
    k, epsilon, rho = len(instance.arms), instance.epsilon.value, instance.parameters.growth
    first = instance.parameters.first_batch
    yield from in_turns(k, first, instance.horizon)
    n = [first] * k
    s = [curator.fresh_sum(a) + curator.noise(1 / epsilon) for a in range(k)]
    t = k * first + 1
    while True:
        mean = [s[a] / n[a] for a in range(k)]
        if imed:
            top = max(mean)
            a = first_smallest(
                [
                    (n[b] * d_eps(clip(mean[b]), clip(top), epsilon) if mean[b] < top else 0.0) + math.log(n[b])
                    for b in range(k)
                ]
            )
        else:
            a = first_largest(
                [largest_mean(lambda x, q: d_eps(x, q, epsilon), clip(mean[b]), math.log(t) / n[b]) for b in range(k)]
            )
        batch = max(1, math.floor(rho * n[a]) - n[a])
        yield from [a] * batch
        t += batch
        n[a] += batch
        s[a] += curator.fresh_sum(a) + curator.noise(1 / epsilon)


def dp_se(instance, curator: Curator) -> Iterator[int]:
    """Sajed and Sheffet 2019."""
    epsilon, beta = instance.epsilon.value, instance.parameters.beta
    beta = 1 / instance.horizon if beta == "auto" else beta
    s, e = list(range(len(instance.arms))), 0
    while len(s) > 1:
        e += 1
        d = 2.0**-e
        r = math.floor(
            max(32 * math.log(8 * len(s) * e**2 / beta) / d**2, 8 * math.log(4 * len(s) * e**2 / beta) / (epsilon * d))
            + 1
        )
        for _ in range(r):
            yield from s
        mean = {a: curator.fresh_sum(a) / r + curator.noise(1 / (epsilon * r)) for a in s}
        h = math.sqrt(math.log(8 * len(s) * e**2 / beta) / (2 * r))
        c = math.log(4 * len(s) * e**2 / beta) / (r * epsilon)
        s = [a for a in s if not max(mean.values()) - mean[a] > 2 * h + 2 * c]
    while True:
        yield s[0]


def lazily(instance, curator: Curator, choose) -> Iterator[int]:
    """An arm's mean is that of its last full batch of 1, 2, 4, ... fresh rewards; ``choose(t, mean, o)`` at each t."""
    k, epsilon = len(instance.arms), instance.epsilon.value
    yield from range(k)
    o, mean = [1] * k, [curator.fresh_sum(a) + curator.noise(1 / epsilon) for a in range(k)]
    t = k
    while True:
        t += 1
        a = choose(t, mean, o)
        yield a
        if len(curator.waiting[a]) == 2 * o[a]:
            o[a] *= 2
            mean[a] = curator.fresh_sum(a) / o[a] + curator.noise(1 / (epsilon * o[a]))


def anytime_lazy_ucb(instance, curator: Curator) -> Iterator[int]:
    """Hu, Huang, Mehta 2021, reconstructed: the leader is elected at every step."""
    epsilon = instance.epsilon.value
    return lazily(
        instance,
        curator,
        lambda t, mean, o: first_largest(
            [m + math.sqrt(3 * math.log(t) / n) + 3 * math.log(t) / (epsilon * n) for m, n in zip(mean, o, strict=True)]
        ),
    )


def lazy_dp_ts(instance, curator: Curator) -> Iterator[int]:
    """Hu and Hegde 2022, Lazy-DP-TS."""
    epsilon = instance.epsilon.value

    def choose(t, mean, o):
        clipped = [clip(m + 3 * math.log2(t) / (epsilon * n)) for m, n in zip(mean, o, strict=True)]
        return first_largest([curator.stream.beta(m * n + 1, (1 - m) * n + 1) for m, n in zip(clipped, o, strict=True)])

    return lazily(instance, curator, choose)


def dp_ucb_int(instance, curator: Curator, f: int) -> Iterator[int]:
    """Tossou and Dimitrakakis 2016, Algorithm 3, with one noise per release and the sums kept from the first pull."""
    k, v = len(instance.arms), instance.parameters.v
    n, s = [0] * k, [0.0] * k
    mean, released = [0.0] * k, [0] * k
    t = 0
    while True:
        t += 1
        if t <= k * f:
            a = (t - 1) % k
        else:
            for b in range(k):
                if n[b] % f == 0 and n[b] != released[b]:
                    s[b] += curator.fresh_sum(b)
                    mean[b], released[b] = s[b] / n[b] + curator.noise(n[b] ** (v / 2 - 1)), n[b]
            a = first_largest(
                [mean[b] + math.sqrt(2 * math.log(t) / released[b]) if released[b] else INFINITY for b in range(k)]
            )
        yield a
        n[a] += 1


POLICIES = {
    "adac-ucb": adac,
    "dp-ucb-int": dp_ucb_int,
    "adap-ucb": lambda instance, curator: adap(instance, curator, kl=False),
    "adap-klucb": lambda instance, curator: adap(instance, curator, kl=True),
    "dp-klucb": lambda instance, curator: dp_klucb_imed(instance, curator, imed=False),
    "dp-imed": lambda instance, curator: dp_klucb_imed(instance, curator, imed=True),
    "dp-se": dp_se,
    "anytime-lazy-ucb": anytime_lazy_ucb,
    "lazy-dp-ts": lazy_dp_ts,
}


def play(policy: str, instance, words, at_once: bool, **options) -> tuple[list[int], Curator]:
    """The arms one trial pulls, instance.horizon many, and the curator with all its releases."""
    order = Stream(words).labels(len(instance.arms))
    instance = replace(instance, arms=tuple(instance.arms[arm] for arm in order))
    curator = Curator(instance.arms, Stream(words), at_once)
    steps = POLICIES[policy](instance, curator, **options)
    arms = []
    for a in steps:
        arms.append(order[a])
        curator.observe(a)
        if len(arms) == instance.horizon:
            break
    curator.releases = [(order[a], rewards) for a, rewards in curator.releases]
    return arms, curator
