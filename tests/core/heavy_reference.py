"""The heavy-tailed policies again: slow, plain Python, line by line from the pseudo-code of their papers."""

import math

from reference import INFINITY, Late, Stream, laplace, reward_of

PLAIN = [  # the kernel's Student draws read the second generator, which the reference does not model
    {"kind": "pareto", "mean": 0.8, "shape": 1.9},
    {"kind": "two-point", "low": -3.0, "high": 2.0, "p_high": 0.75},
    {"kind": "gaussian", "mean": 0.3, "sd": 1.0},
]
SHORT = {"dp-robust-se": {"kappa": 3e-4}, "ldp-robust-se": {"kappa": 2e-9, "shrink": 2}}  # epochs


def truncated(x: float, bound: float) -> float:
    """0 beyond the bound, not the bound."""
    return x if abs(x) <= bound else 0.0


class GrowingTree:
    """Algorithm 2 of Tao et al. with a list of p-sums; the noise of a node is drawn when it is closed."""

    def __init__(self, node_epsilon: float) -> None:
        self.node_epsilon, self.count = node_epsilon, 0
        self.sums, self.noisy = [0.0] * 40, [0.0] * 40

    def insert(self, x: float, bound: float, u: float) -> float:
        """Insert an item in [-bound, bound]; the released sum."""
        self.count += 1
        level = (self.count & -self.count).bit_length() - 1
        self.sums[level] = sum(self.sums[:level]) + x
        for lower in range(level):
            self.sums[lower] = self.noisy[lower] = 0.0
        self.noisy[level] = self.sums[level] + laplace(u, 2 * bound / self.node_epsilon)
        return sum(noisy for place, noisy in enumerate(self.noisy) if self.count >> place & 1)


def robust_ucb(instance, kappa, row) -> list[int]:
    """Arms pulled by Robust-UCB, a reward truncated with the t of its own pull, and known when it is counted."""
    arms, v, u, horizon = instance.arms, instance.parameters.v, instance.parameters.u, instance.horizon
    stream, counts, sums, pulled, late = Stream(row), [0] * len(arms), [0.0] * len(arms), [], Late(instance)
    for t in range(1, horizon + 1):
        index = [
            math.inf if n == 0 else s / n + kappa * 4 * u ** (1 / (1 + v)) * (2 * math.log(t) / n) ** (v / (1 + v))
            for s, n in zip(sums, counts, strict=True)
        ]
        a = late.first_largest(index)
        pulled.append(a)
        for b, (own, x) in late.counted(a, (t, reward_of(arms[a], stream.uniform(), stream))):
            counts[b] += 1
            bound = (u * counts[b] / (2 * math.log(own))) ** (1 / (1 + v)) if own > 1 else INFINITY
            sums[b] += truncated(x, bound)
    return pulled


def dp_robust_ucb(instance, kappa, row) -> list[int]:
    """Arms pulled by DPRUCB."""
    arms, v, u, horizon = instance.arms, instance.parameters.v, instance.parameters.u, instance.horizon
    epsilon = instance.epsilon.value
    stream, inside, log_t, late = Stream(row), min(1, epsilon), math.log(horizon), Late(instance)
    trees = [GrowingTree(epsilon / (math.floor(math.log2(horizon)) + 1)) for _ in arms]
    sums, pulled = [0.0] * len(arms), []
    for t in range(1, horizon + 1):
        clock = math.log(2 * t**4) * log_t ** (1.5 + 1 / v)
        index = [
            math.inf
            if tree.count == 0
            else s / tree.count + kappa * 18 * u ** (1 / (1 + v)) * (clock / (tree.count * inside)) ** (v / (1 + v))
            for s, tree in zip(sums, trees, strict=True)
        ]
        a = late.first_largest(index)
        pulled.append(a)
        for b, x in late.counted(a, reward_of(arms[a], stream.uniform(), stream)):
            bound = (inside * u * (trees[b].count + 1) / log_t**1.5) ** (1 / (1 + v))
            sums[b] = trees[b].insert(truncated(x, bound), bound, stream.rejections.uniform())
    return pulled


def epoch(instance, tau: int, left: int) -> tuple[float, float, float]:
    """R, B and the threshold of an epoch of DPRSE or LDPRSE with so many arms."""
    p, epsilon = instance.parameters, instance.epsilon.value
    v, u, kappa = p.v, p.u, p.kappa
    if hasattr(p, "shrink"):
        d, log = p.shrink**-tau, math.log(8 * left * tau**2 / p.beta)
        r = math.ceil(kappa * u ** (2 / v) * (28 / d) ** (2 * (1 + v) / v) * log / epsilon**2 + log)
        m, cut = math.sqrt(r / log) * epsilon, 14 * kappa ** (v / (2 * (1 + v)))
    else:
        d, log, e = 2.0**-tau, math.log(4 * left * tau**2 / p.beta), min(1, epsilon)
        r = math.ceil(kappa * u ** (1 / v) * (24 / d) ** ((1 + v) / v) * log / e + 1)
        m, cut = r * e / log, 12 * kappa ** (v / (1 + v))
    return r, (u * m) ** (1 / (1 + v)), cut * u ** (1 / (1 + v)) * m ** (-v / (1 + v))


def late_elimination(instance, row) -> tuple[list[int], list[list[int]]]:
    """Arms pulled by DPRSE or LDPRSE whose rewards are counted late, and the users in every released mean."""
    stream, late, arms = Stream(row), Late(instance), instance.arms
    local, epsilon = hasattr(instance.parameters, "shrink"), instance.epsilon.value
    left, tau, began, pulled, released = list(range(len(arms))), 1, 1, [], []
    rewards: dict[int, list[tuple[int, float]]] = {a: [] for a in left}
    for t in range(1, instance.horizon + 1):
        if len(left) > 1:
            r, bound, threshold = epoch(instance, tau, len(left))
            if min(len(rewards[a]) for a in left) >= r:
                means = {}
                for a in left:
                    n = len(rewards[a])
                    means[a] = sum(x for _, x in rewards[a]) / n
                    if not local:
                        means[a] += laplace(stream.rejections.uniform(), 2 * bound / (n * epsilon))
                    released.append([user for user, _ in rewards[a]])
                left = [a for a in left if max(means.values()) - means[a] <= threshold]
                tau, began, rewards = tau + 1, t, {a: [] for a in left}
                r, bound, threshold = epoch(instance, tau, len(left))
        a = left[(t - began) % len(left)]
        pulled.append(a)
        for b, (user, x) in late.counted(a, (t, reward_of(arms[a], stream.uniform(), stream))):
            if user >= began and len(left) > 1:
                sent = truncated(x, bound)
                if local:
                    sent += laplace(stream.rejections.uniform(), 2 * bound / epsilon)
                rewards[b].append((user, sent))
    return pulled, released


def robust_elimination(instance, row, epochs: list) -> list[int]:
    """Arms pulled by DPRSE or LDPRSE; ``epochs`` gets (arms, rewards of each, bound, threshold) of each that began."""
    stream, arms, horizon = Stream(row), instance.arms, instance.horizon
    local, epsilon = hasattr(instance.parameters, "shrink"), instance.epsilon.value
    left, pulled = list(range(len(arms))), []
    while len(left) > 1 and len(pulled) < horizon:
        r, bound, threshold = epoch(instance, len(epochs) + 1, len(left))
        epochs.append((len(left), r, bound, threshold))
        whole = r * len(left) <= horizon - len(pulled)
        pulled += [a for _ in range(min(r, horizon)) for a in left]
        if not whole:
            break
        means = {}
        for a in left:
            means[a] = sum(truncated(reward_of(arms[a], stream.uniform(), stream), bound) for _ in range(r)) / r
            if local:  # the sum of r Laplace variables
                means[a] += 2 * bound / (r * epsilon) * (stream.gamma(r) - stream.gamma(r))
            else:
                means[a] += laplace(stream.rejections.uniform(), 2 * bound / (r * epsilon))
        left = [a for a in left if max(means.values()) - means[a] <= threshold]
    return (pulled + [left[0]] * horizon)[:horizon]
