"""The heavy-tailed policies again: slow, plain Python, line by line from the pseudo-code of their papers."""

from __future__ import annotations

import math

from reference import Stream, laplace, reward_of


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


def robust_ucb(arms, v, u, kappa, horizon, row) -> list[int]:
    """Arms pulled by Robust-UCB, a reward truncated with the t of its own pull."""
    stream, counts, sums, pulled = Stream(row), [0] * len(arms), [0.0] * len(arms), []
    for t in range(1, horizon + 1):
        index = [
            math.inf if n == 0 else s / n + kappa * 4 * u ** (1 / (1 + v)) * (2 * math.log(t) / n) ** (v / (1 + v))
            for s, n in zip(sums, counts, strict=True)
        ]
        a = index.index(max(index))
        counts[a] += 1
        bound = (u * counts[a] / (2 * math.log(t))) ** (1 / (1 + v)) if t > 1 else math.inf
        sums[a] += truncated(reward_of(arms[a], stream.uniform(), stream), bound)
        pulled.append(a)
    return pulled


def dp_robust_ucb(arms, v, u, kappa, epsilon, horizon, row) -> list[int]:
    """Arms pulled by DPRUCB."""
    stream, inside, log_t = Stream(row), min(1, epsilon), math.log(horizon)
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
        a = index.index(max(index))
        bound = (inside * u * (trees[a].count + 1) / log_t**1.5) ** (1 / (1 + v))
        x = truncated(reward_of(arms[a], stream.uniform(), stream), bound)
        sums[a] = trees[a].insert(x, bound, stream.rejections.uniform())
        pulled.append(a)
    return pulled


def robust_elimination(arms, v, u, kappa, epsilon, beta, horizon, row, local, shrink=2):  # noqa: PLR0913 (the symbols of its formula)
    """Arms pulled, and (tau, D, R, B, err, arms left) of every complete epoch, of DPRSE or LDPRSE."""
    stream, left, pulled, epochs, tau = Stream(row), list(range(len(arms))), [], [], 0
    e = epsilon if local else min(1, epsilon)
    while len(left) > 1 and len(pulled) < horizon:
        tau += 1
        d = shrink**-tau
        if local:
            log = math.log(8 * len(left) * tau**2 / beta)
            r = math.ceil(kappa * u ** (2 / v) * 28 ** (2 * (1 + v) / v) * log / (e**2 * d ** (2 * (1 + v) / v)) + log)
            b = (u * math.sqrt(r) * e / math.sqrt(log)) ** (1 / (1 + v))
            err = u ** (1 / (1 + v)) * (math.sqrt(log) / (math.sqrt(r) * e)) ** (v / (1 + v))
            threshold = 14 * kappa ** (v / (2 * (1 + v))) * err
        else:
            log = math.log(4 * len(left) * tau**2 / beta)
            r = math.ceil(kappa * u ** (1 / v) * 24 ** ((1 + v) / v) * log / (e * d ** ((1 + v) / v)) + 1)
            b = (u * r * e / log) ** (1 / (1 + v))
            err = u ** (1 / (1 + v)) * (log / (r * e)) ** (v / (1 + v))
            threshold = 12 * kappa ** (v / (1 + v)) * err
        plan = [a for _ in range(min(r, horizon)) for a in left]
        if r * len(left) > horizon - len(pulled):
            pulled += plan[: horizon - len(pulled)]
            break
        pulled += plan
        means = {}
        for a in left:
            total = sum(truncated(reward_of(arms[a], stream.uniform(), stream), b) for _ in range(r))
            if local:  # the sum of r Laplace variables
                total += 2 * b / epsilon * (stream.gamma(r) - stream.gamma(r))
                means[a] = total / r
            else:
                means[a] = total / r + laplace(stream.rejections.uniform(), 2 * b / (r * epsilon))
        left = [a for a in left if max(means.values()) - means[a] <= threshold]
        epochs.append((tau, d, r, b, err, len(left)))
    pulled += [left[0]] * (horizon - len(pulled))
    return pulled, epochs
