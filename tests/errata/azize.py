"""A gap in Azize and Basu 2022, When Privacy Meets Partial Information: what to do among arms of equal index."""

import math

import numpy as np

from bandit_core.literature.erratum import Check

_ALPHA = 3.1  # its regret bound is proved for values above 3


def _index(mean: float, pulls: int, t: int, epsilon: float) -> float:
    """AdaP-KLUCB's: the largest q up to 1 with d([mean + alpha ln t / (epsilon n)], q) <= alpha ln t / n."""
    room = _ALPHA * math.log(t) / pulls
    p = min(max(mean + room / epsilon, 0.0), 1.0)
    if p == 1.0:
        return 1.0
    low, high = p, 1.0
    for _ in range(30):
        q = (low + high) / 2
        far = p * math.log(p / q) if p > 0 else 0.0
        far += (1 - p) * math.log((1 - p) / (1 - q))
        low, high = (q, high) if far <= room else (low, q)
    return 1.0 if high == 1.0 else low  # not to be told from 1 by 30 halvings


def _regret(means: tuple[float, ...], first_listed: bool, epsilon: float, users: int, seed: int) -> float:
    """Pseudo-regret of one run of AdaP-KLUCB: doubling episodes, each with one noisy mean, older ones forgotten."""
    rng = np.random.default_rng(seed)
    estimate = [float(rng.random() < mean) + rng.laplace(0, 1 / epsilon) for mean in means]
    length, pulls, t = [1] * len(means), [1] * len(means), len(means)
    while t < users:
        index = [_index(m, n, t + 1, epsilon) for m, n in zip(estimate, length, strict=True)]
        best = [arm for arm, value in enumerate(index) if value == max(index)]
        arm = best[0] if first_listed else int(rng.choice(best))
        length[arm] = min(pulls[arm], users - t)
        total = rng.binomial(length[arm], means[arm]) + rng.laplace(0, 1 / epsilon)
        estimate[arm] = total / length[arm]
        pulls[arm] += length[arm]
        t += length[arm]
    return sum((max(means) - mean) * count for mean, count in zip(means, pulls, strict=True))


def order_of_arms() -> Check:
    means, epsilon, users, runs = (0.9, 0.8, 0.7, 0.6, 0.5), 0.5, 1000, 60

    def difference(first_listed: bool) -> float:
        first = [_regret(means, first_listed, epsilon, users, seed) for seed in range(runs)]
        last = [_regret(means[::-1], first_listed, epsilon, users, seed) for seed in range(runs, 2 * runs)]
        error = math.sqrt((np.var(first, ddof=1) + np.var(last, ddof=1)) / runs)
        return float(abs(np.mean(last) - np.mean(first)) / error)

    measure = "regret with the best arm listed last, less that with it first, in standard errors (ε = 0.5, 1,000 users)"
    return Check(measure, "at most", 3.5, difference, True, False)
