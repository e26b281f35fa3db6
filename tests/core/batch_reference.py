"""The batch policies of central privacy again: slow, plain Python, user by user, from the pseudo-code of their papers.

A trial reads its stream in the documented order: one uniform for each reward when its user answers, one for each
release's noise. Where nothing is late an answer is counted before the next user comes.
"""

import math
from statistics import NormalDist

import reference
from reference import Stream, divergence, first_largest, laplace, reward_of

from bandit_core.policies import adac, dp_ucb_int

LAZY = ("anytime-lazy-ucb", "lazy-dp-ts", "dp-ucb-int")


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


class Batches:
    """One trial: what is counted of every arm and not released yet (``fresh``), and what is released."""

    def __init__(self, name, setup, words) -> None:
        self.name, self.setup, self.stream = name, setup, Stream(words)
        self.order = self.stream.labels(len(setup.arms))
        self.arms = [setup.arms[arm] for arm in self.order]
        k = len(self.arms)
        self.fresh = [[] for _ in range(k)]
        self.n, self.sums, self.mean, self.released = [0] * k, [0.0] * k, [0.0] * k, [0] * k
        self.releases: list[tuple[int, list[int]]] = []
        self.epsilon, self.parameters = setup.epsilon and setup.epsilon.value, setup.parameters
        self.first, self.chosen = getattr(self.parameters, "first_batch", 1), None
        if name == "dp-ucb-int":
            self.first = min(dp_ucb_int.interval(setup), setup.horizon)

    def release(self, a: int) -> None:
        """Publish what is fresh of an arm."""
        rewards, self.fresh[a] = self.fresh[a], []
        self.releases.append((a, [user for user, _ in rewards]))
        total, count, u = sum(reward for _, reward in rewards), len(rewards), self.stream.uniform()
        self.released[a] += count
        if self.name == "dp-ucb-int":
            self.n[a] += count
            self.sums[a] += total
            self.mean[a] = self.sums[a] / self.n[a] + laplace(u, self.n[a] ** (self.parameters.v / 2 - 1))
            return
        if self.name == "adac-ucb":
            sd = math.sqrt(1 / (2 * adac.budget(self.setup)))
            noise = NormalDist().inv_cdf(u + 2.0**-53) * sd
        else:
            noise = laplace(u, 1 / self.epsilon)
        keep = self.name in ("dp-klucb", "dp-imed")
        self.sums[a] = (self.sums[a] if keep else 0.0) + total + noise
        self.n[a] = (self.n[a] if keep else 0) + count
        self.mean[a] = self.sums[a] / self.n[a]

    def due(self, a: int) -> bool:
        """Whether an arm of a lazy policy has its next release."""
        return len(self.fresh[a]) == (self.first if self.name == "dp-ucb-int" else 2 * self.n[a])

    def leader(self, t: int) -> int:
        """The arm that is chosen before user t."""
        level, eps, arms = math.log(t), self.epsilon, range(len(self.arms))
        m, n, alpha = self.mean, self.n, getattr(self.parameters, "alpha", None)
        if self.name == "dp-imed":
            top = max(m)
            costs = [n[a] * d_eps(clip(m[a]), clip(top), eps) if m[a] < top else 0.0 for a in arms]
            return first_smallest([math.log(n[a]) + costs[a] for a in arms])
        if self.name == "lazy-dp-ts":
            b = [clip(m[a] + 3 * math.log2(t) / (eps * n[a])) for a in arms]
            return first_largest([self.stream.beta(b[a] * n[a] + 1, (1 - b[a]) * n[a] + 1) for a in arms])
        index = {
            "adap-ucb": lambda a: m[a] + math.sqrt(alpha * level / (2 * n[a])) + alpha * level / (eps * n[a]),
            "adap-klucb": lambda a: largest_mean(
                divergence, clip(m[a] + alpha * level / (eps * n[a])), alpha * level / n[a]
            ),
            "dp-klucb": lambda a: largest_mean(lambda x, q: d_eps(x, q, eps), clip(m[a]), level / n[a]),
            "adac-ucb": lambda a: (
                m[a] + math.sqrt((1 / (2 * n[a]) + 1 / (adac.budget(self.setup) * n[a] ** 2)) * alpha * level)
            ),
            "anytime-lazy-ucb": lambda a: m[a] + math.sqrt(3 * level / n[a]) + 3 * level / (eps * n[a]),
            "dp-ucb-int": lambda a: m[a] + math.sqrt(2 * level / n[a]),
        }[self.name]
        return first_largest([index(a) for a in arms])

    def wanted(self, a: int) -> int:
        """How many rewards the batch of an arm shall have."""
        growth = getattr(self.parameters, "growth", 2.0)
        return max(1, int(growth * self.released[a]) - self.released[a])

    def answer(self, a: int) -> float:
        """What a user of an arm sends."""
        return reward_of(self.arms[a], self.stream.uniform(), self.stream)

    def take(self, a: int, counted: int) -> None:
        """Release what is due now that an answer was counted."""
        if counted == len(self.arms) * self.first:
            for b in range(len(self.arms)):
                self.release(b)
        elif counted > len(self.arms) * self.first and self.name in LAZY and self.due(a):
            self.release(a)

    def choose(self, t: int, counted: int) -> int:
        """The arm of user t."""
        if counted < len(self.arms) * self.first:
            return (t - 1) % len(self.arms)
        if self.name in LAZY:
            return self.leader(t)
        while self.chosen is None or len(self.fresh[self.chosen]) >= self.wanted(self.chosen):
            if self.chosen is not None:
                self.release(self.chosen)
            self.chosen = self.leader(t)
        return self.chosen

    def play(self) -> list[int]:
        """The arm of every user, as the spec numbers arms."""
        counted, arrived, shown, late = 0, [], [], reference.Late(self.setup)
        for t in range(1, self.setup.horizon + 1):
            for a, answer in arrived:
                counted += 1
                self.fresh[a].append((counted, answer))
                self.take(a, counted)
            a = self.choose(t, counted)
            arrived = list(late.counted(a, self.answer(a)))
            shown.append(self.order[a])
        return shown


class Epochs(Batches):
    """The same for elimination: ``growth`` a number, or the epochs of DP-SE."""

    def __init__(self, name, setup, words) -> None:
        super().__init__(name, setup, words)
        self.left, self.number, self.turn = list(range(len(self.arms))), 1, 0

    def step(self) -> tuple[int, float]:
        """Rewards of each arm, and how far below the best is out."""
        growth, eps, k, number = self.parameters.growth, self.epsilon, len(self.left), self.number
        beta = 1 / self.setup.horizon if self.parameters.beta == "auto" else self.parameters.beta
        if growth == "auto":
            size = max(32 * math.log(8 * k * number**2 / beta) * 4**number, 0.0)
            size = int(max(size, 8 * math.log(4 * k * number**2 / beta) * 2**number / eps) + 1)
            h = math.sqrt(math.log(8 * k * number**2 / beta) / (2 * size))
            return size, 2 * h + 2 * math.log(4 * k * number**2 / beta) / (size * eps)
        size = growth**number
        if self.name == "dp-se":
            wide = math.sqrt(math.log(8 * k * number**2 / beta) / (2 * size))
            return size, 2 * (wide + math.log(4 * k * number**2 / beta) / (size * eps))
        width = 1 / math.tanh(eps / 2) if self.name == "ldp-se" else 1.0
        return size, 2 * width * math.sqrt(math.log(4 * k * number**2 / beta) / (2 * size))

    def answer(self, a: int) -> float:
        """What a user of an arm sends."""
        reward = reward_of(self.arms[a], self.stream.uniform(), self.stream)
        if self.name != "ldp-se":
            return reward
        return float(self.stream.rejections.uniform() < 0.5 + math.tanh(self.epsilon / 2) * (reward - 0.5))

    def mean_of(self, a: int) -> float:
        """Publish the mean of what is fresh of an arm."""
        rewards, self.fresh[a] = self.fresh[a], []
        self.releases.append((a, [user for user, _ in rewards]))
        total = sum(reward for _, reward in rewards)
        if self.name == "dp-se":
            total += laplace(self.stream.uniform(), 1 / self.epsilon)
        mean = total / len(rewards)
        return 0.5 + (mean - 0.5) / math.tanh(self.epsilon / 2) if self.name == "ldp-se" else mean

    def take(self, a: int, counted: int) -> None:
        """Nothing: an epoch ends before the next user is answered."""

    def choose(self, t: int, counted: int) -> int:
        """The arm of user t: those that are left take turns."""
        while len(self.left) > 1 and min(len(self.fresh[a]) for a in self.left) >= self.step()[0]:
            margin = self.step()[1]
            means = {a: self.mean_of(a) for a in self.left}
            self.left = [a for a in self.left if max(means.values()) - means[a] <= margin]
            self.number, self.turn = self.number + 1, 0
        self.turn += 1
        return self.left[(self.turn - 1) % len(self.left)]
