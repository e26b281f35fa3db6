"""Why truncate: what the private robust mean loses by truncation, by privacy noise, and by chance.

Rewards beyond +-B count 0. That pulls the mean towards 0 (bias), and makes noise of scale B enough for privacy.
A larger B means less bias and more noise, so B grows with the number n of rewards, at the pace that keeps the two in
step. Truncated moments are exact for Pareto, Student, Gaussian, uniform and discrete distributions; beta distributions
go through quadrature.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from bandit_core.spec import rewards as distributions
from bandit_core.spec.later import pd

Estimator = Literal["plain", "tree", "epoch", "local"]
_ONE_BY_ONE = 4096  # terms of a sum over n that are added singly
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def truncated_moments(
    distribution: distributions.RewardDistribution, bound: ArrayLike
) -> tuple[np.ndarray, np.ndarray]:
    """``E[X 1{|X| <= B}]`` and ``E[X^2 1{|X| <= B}]`` for bounds B >= 0 of any shape, reward units (squared)."""
    bound = np.asarray(bound, float)
    match distribution:
        case distributions.Pareto():
            beyond = np.maximum(bound, distribution.scale)
            return _pareto_moment(distribution, 1, beyond), _pareto_moment(distribution, 2, beyond)
        case distributions.Student():
            return _located(_student_partial, distribution.mean, distribution.scale, bound, distribution.df)
        case distributions.Gaussian():
            return _located(_normal_partial, distribution.mean, distribution.sd, bound, math.inf)
        case distributions.Uniform():
            low, high = np.clip(distribution.low, -bound, bound), np.clip(distribution.high, -bound, bound)
            width = distribution.high - distribution.low
            return (high**2 - low**2) / (2 * width), (high**3 - low**3) / (3 * width)
    if distribution.atoms is not None:
        values, probabilities = distribution.atoms
        inside = probabilities * (np.abs(values) <= bound[..., None])
        return inside @ values, inside @ values**2
    first = np.vectorize(lambda b: distribution.expect(lambda x: x * (np.abs(x) <= b)), otypes=[float])
    second = np.vectorize(lambda b: distribution.expect(lambda x: x * x * (np.abs(x) <= b)), otypes=[float])
    return first(bound), second(bound)


def _pareto_moment(distribution: distributions.Pareto, order: int, bound: np.ndarray) -> np.ndarray:
    logs, more = np.log(bound / distribution.scale), order - distribution.shape
    whole = distribution.shape * distribution.scale**order
    return whole * logs if more == 0 else whole * np.expm1(more * logs) / more


def _located(partial, mean: float, spread: float, bound: np.ndarray, df: float) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """From the partial moments of the standard distribution to those of mean + spread x standard, within +-bound."""
    high, low = partial((bound - mean) / spread, df), partial((-bound - mean) / spread, df)
    zero, one, two = (above - below for above, below in zip(high, low, strict=True))
    return mean * zero + spread * one, mean**2 * zero + 2 * mean * spread * one + spread**2 * two


def _normal_partial(z: np.ndarray, df: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Integrals of 1, z and z^2 over the standard normal density up to z."""
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return scipy.special.ndtr(z), -density, scipy.special.ndtr(z) - np.where(np.isinf(z), 0.0, z) * density


def _student_partial(z: np.ndarray, df: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Integrals of 1, z and z^2 over Student's density up to z (the last one up to a constant)."""
    if df == 2:  # the primitive of z^2 has a logarithm there; a neighbour is as good as the digits left
        df += 1e-7
    norm = math.exp(scipy.special.gammaln((df + 1) / 2) - scipy.special.gammaln(df / 2)) / math.sqrt(df * math.pi)
    density = norm * (1 + z**2 / df) ** (-(df + 1) / 2)
    below = scipy.special.stdtr(df, z)
    return below, -(df + z**2) / (df - 1) * density, (df * below - z * (df + z**2) * density) / (df - 2)


def chance_beyond(distribution: distributions.RewardDistribution, size: ArrayLike) -> np.ndarray:
    """``P(|X| > size)`` for sizes >= 0 of any shape, by bisection on the quantile (absolute error 1e-15)."""
    size = np.asarray(size, float)

    def up_to(x: np.ndarray) -> np.ndarray:
        low, high = np.zeros(x.shape), np.ones(x.shape)
        for _ in range(52):
            middle = (low + high) / 2
            below = distribution.quantile(middle) <= x
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2

    under = up_to(np.nextafter(-size, -np.inf)) if distribution.support[0] < 0 else np.zeros(size.shape)
    return np.clip(1 - up_to(size) + under, 0.0, 1.0)


def truncation_level(
    n: ArrayLike, *, v: float, u: float, estimator: Estimator, epsilon: float = 1.0, logarithm: float
) -> np.ndarray:
    """B after n rewards, reward units.

    ``logarithm`` is what the rewards share confidence with: 2 ln t for "plain" (Robust-UCB), ln^1.5 T for "tree"
    (DPRUCB), ln(4 |S| tau^2 / beta) for "epoch" (DPRSE), ln(8 |S| tau^2 / beta) for "local" (LDPRSE).
    """
    n = np.asarray(n, float)
    effective = {
        "plain": n / logarithm,
        "tree": n * min(1.0, epsilon) / logarithm,
        "epoch": n * min(1.0, epsilon) / logarithm,
        "local": np.sqrt(n / logarithm) * epsilon,
    }[estimator]
    return (u * effective) ** (1 / (1 + v))


def errors(
    distribution: distributions.RewardDistribution,
    n: ArrayLike,
    *,
    v: float,
    u: float,
    estimator: Estimator,
    epsilon: float = 1.0,
    logarithm: float,
    levels: int = 1,
) -> pd.DataFrame:
    """The three parts of the error of the robust mean of n rewards.

    Parameters
    ----------
    distribution
        Reward distribution of the arm.
    n
        Numbers of rewards, at least 1.
    v, u, epsilon
        As in the policies; ``epsilon`` is not used by "plain".
    estimator
        "plain" and "tree" truncate the s-th reward at B_s; "epoch" and "local" all of them at B_n.
    logarithm
        See `truncation_level`.
    levels
        Nodes a reward may enter, floor(log2 T) + 1; for "tree" only.

    Returns
    -------
    DataFrame
        Columns n, level (B_n), bias (mean minus expected truncated mean; signed), noise (standard deviation of the
        noise of privacy), sampling (standard deviation of the truncated mean), all in reward units, and
        untruncated (standard deviation of the plain mean; infinite if the distribution has no variance).
    """
    n = np.asarray(n, np.int64)
    rule: dict[str, Any] = dict(v=v, u=u, estimator=estimator, epsilon=epsilon, logarithm=logarithm)
    level = truncation_level(n, **rule)

    def lost(place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first, second = truncated_moments(distribution, truncation_level(place, **rule))
        return distribution.expected - first, np.maximum(second - first**2, 0.0)

    if estimator in ("plain", "tree"):
        bias, variance = (total / n for total in _running_sums(lost, n))
    else:
        bias, variance = lost(n)
    whole = distribution.raw_moment(2) - distribution.expected**2 if distribution.moment_limit > 2 else math.inf
    return pd.DataFrame(
        {
            "n": n,
            "level": level,
            "bias": bias,
            "noise": _noise(n, level, levels, rule),
            "sampling": np.sqrt(variance / n),
            "untruncated": np.sqrt(whole / n),
        }
    )


def _noise(n: np.ndarray, level: np.ndarray, levels: int, rule: dict[str, Any]) -> np.ndarray:
    """Standard deviation of the noise of privacy on the mean of n rewards, see `errors`."""
    noise = np.zeros(n.shape)
    estimator, epsilon = rule["estimator"], rule["epsilon"]
    if estimator == "tree":
        scale = 2 * levels / epsilon
        for place in np.ndindex(n.shape):
            closed = _nodes(int(n[place]))
            each = scale * truncation_level(closed, **rule)
            noise[place] = math.sqrt(2 * float(np.sum(each**2))) / n[place]
    elif estimator == "epoch":
        noise = math.sqrt(2) * 2 * level / (n * epsilon)
    elif estimator == "local":
        noise = math.sqrt(2) * 2 * level / (np.sqrt(n) * epsilon)
    return noise


def _nodes(n: int) -> np.ndarray:
    """When the nodes were closed that make up the first n items: n with its low ones removed, one after another."""
    closed = []
    while n > 0:
        closed.append(n)
        n &= n - 1
    return np.array(closed)


def _running_sums(terms, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """Sums of two smooth sequences up to each of ``ends``: term by term, then by the integral between half steps."""
    few = min(int(ends.max()), _ONE_BY_ONE)
    start = np.cumsum(np.stack(terms(np.arange(1, few + 1))), axis=1)
    totals = start[:, np.minimum(ends, few) - 1]
    if ends.max() > few:
        edges = np.unique(np.concatenate([ends[ends > few] + 0.5, np.geomspace(few + 0.5, ends.max() + 0.5, 400)]))
        half = np.diff(edges)[:, None] / 2
        panels = (half * _WEIGHTS * np.stack(terms(edges[:-1, None] + half * (1 + _NODES)))).sum(axis=2)
        above = np.concatenate([np.zeros((2, 1)), np.cumsum(panels, axis=1)], axis=1)
        totals = totals + np.where(ends > few, above[:, np.searchsorted(edges, np.maximum(ends, few) + 0.5)], 0.0)
    return totals[0], totals[1]
