"""Compiled Bernoulli divergences of central privacy: d_eps and the largest mean that a record does not rule out.

d_eps(x, y) = min over z between x and y of eps |z - x| + d(z, y) (arXiv 2505.05613), where d is the Bernoulli
Kullback-Leibler divergence. For x < y the minimum is at z* = y / (y + (1-y) e^eps) or at x, whichever is larger.
"""

import math

from bandit_core.jit.decorators import device_function
from bandit_core.kernels.kl import upper_quantile

TOP = 1.0 - 1e-9  # an index above this counts as 1: nearer to 1, rounding would decide who is ahead


@device_function
def _rising(x: float, y: float, epsilon: float) -> float:
    """d_eps for 0 <= x < y <= 1."""
    rest = 1.0 - y
    shrunk = y * math.exp(-epsilon)
    if y >= 1.0:
        return epsilon * (1.0 - x)
    if x * (shrunk + rest) < shrunk:
        left = shrunk + rest  # 1 - y (1 - e^-eps), which may be near 1 or near 0
        return (-math.log(left) if left < 0.5 else -math.log1p(y * math.expm1(-epsilon))) - epsilon * x
    total = -(1.0 - x) * math.log1p(-(y - x) / (1.0 - x))
    return total - x * math.log1p((y - x) / x) if x > 0.0 else total


@device_function
def d_eps(x: float, y: float, epsilon: float) -> float:
    """d_eps(x, y) for means x, y in [0, 1] and epsilon > 0, in nats."""
    if x == y:
        return 0.0
    return max(0.0, _rising(x, y, epsilon) if x < y else _rising(1.0 - x, 1.0 - y, epsilon))


@device_function
def largest_mean(mean: float, budget: float) -> float:
    """max{q in [0, 1]: d(mean, q) <= budget} for a mean in [0, 1] and a budget > 0."""
    if mean >= 1.0:
        return 1.0
    q = upper_quantile(mean, budget)
    return q if q <= TOP else 1.0


@device_function
def largest_private_mean(mean: float, budget: float, epsilon: float) -> float:
    """max{q in [0, 1]: d_eps(mean, q) <= budget} for a mean in [0, 1] and a budget > 0.

    Up to the q at which z* passes the mean, d_eps is d; beyond, it has an inverse in closed form.
    """
    if mean >= 1.0 or budget <= epsilon * (1.0 - mean) + math.log(mean + (1.0 - mean) * math.exp(-epsilon)):
        return largest_mean(mean, budget)
    q = math.expm1(-(budget + epsilon * mean)) / math.expm1(-epsilon)
    return q if q <= TOP else 1.0
