"""How far apart two reward distributions are, before and after a locally private channel.

Everything is in nats, vectorised where the arguments are numbers, and safe at the ends: means 0 and 1, epsilon so
small that everything is noise, epsilon so large that e^epsilon overflows.
"""

import math
from typing import Any

import numpy as np

from bandit_core.spec import rewards as distributions
from bandit_core.spec.own_data import remembered
from bandit_core.spec.portable_math import bisected, tanh

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(200)
_U = (_NODES + 1) / 2
_PROBABILITIES = _U * _U * (3 - 2 * _U)  # thins out towards 0 and 1, where quantiles have their singularities
_PROBABILITY_WEIGHTS = 3 * _U * (1 - _U) * _WEIGHTS


def _excess(x: np.ndarray) -> np.ndarray:
    """x - ln(1 + x) for |x| <= 1/2, without cancellation."""
    series = x * x * (1 / 2 + x * (-1 / 3 + x * (1 / 4 + x * (-1 / 5 + x * (1 / 6 + x * (-1 / 7 + x / 8))))))
    return np.where(np.abs(x) < 0.005, series, x - np.log1p(x))


def _binary_kl(p: np.ndarray, p_not: np.ndarray, q: np.ndarray, q_not: np.ndarray, rise: np.ndarray) -> np.ndarray:
    """d(p, q) from both probabilities, their complements and ``rise`` = q - p, each given as precisely as can be."""

    def part(before: np.ndarray, after: np.ndarray, change: np.ndarray) -> np.ndarray:
        """before ln(before/after) + change; the two changes cancel in the sum."""
        safe = np.where(before > 0, before, 1.0)
        relative = change / safe
        near = np.abs(relative) < 0.5
        far = change - before * (np.log(after) - np.log(safe))
        both = np.where(near, before * _excess(np.where(near, relative, 0.0)), far)
        return np.where(before > 0, both, change)

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return np.maximum(part(p, q, rise) + part(p_not, q_not, -rise), 0.0)


def bernoulli_kl(p: np.ndarray | float, q: np.ndarray | float) -> np.ndarray:
    """``d(p, q) = p ln(p/q) + (1-p) ln((1-p)/(1-q))`` of probabilities p, q (any shapes that broadcast).

    Infinite where q is 0 or 1 and p is not; accurate for p close to q.
    """
    p, q = np.broadcast_arrays(np.asarray(p, float), np.asarray(q, float))
    return _binary_kl(p, 1 - p, q, 1 - q, q - p)


def contrast(epsilon: np.ndarray | float) -> np.ndarray:
    """``c = tanh(eps/2) = (e^eps - 1)/(e^eps + 1)``: what randomised response leaves of a difference of means."""
    return tanh(np.asarray(epsilon, float) / 2)


def beta(epsilon: np.ndarray | float) -> np.ndarray:
    """``beta(eps) = coth(eps/2)^2``, the factor of randomised response (Ren et al. 2020); infinite at 0."""
    with np.errstate(divide="ignore", over="ignore"):
        return contrast(epsilon) ** -2.0


def duchi_alpha(epsilon: np.ndarray | float) -> np.ndarray:
    """``alpha_eps = min(4, e^(2 eps)) (e^eps - 1)^2`` (Duchi, Jordan, Wainwright 2013, Theorem 1).

    KL of the outputs of any eps-locally private channel is at most alpha_eps TV^2 of its inputs.
    Infinite where it exceeds the range of a double.
    """
    epsilon = np.asarray(epsilon, float)
    with np.errstate(over="ignore"):
        return np.exp(np.minimum(2 * epsilon, math.log(4))) * np.expm1(epsilon) ** 2


def response_mean(mean: np.ndarray | float, epsilon: np.ndarray | float) -> np.ndarray:
    """``lambda_eps(mu) = 1/2 + tanh(eps/2)(mu - 1/2)``: chance that randomised response of the reward is 1."""
    return 0.5 + contrast(epsilon) * (np.asarray(mean, float) - 0.5)


def response_kl(mean: np.ndarray | float, other: np.ndarray | float, epsilon: np.ndarray | float) -> np.ndarray:
    """``d(lambda_eps(mean), lambda_eps(other))``: what one randomised response tells about mean versus other."""
    shrink = np.exp(-np.asarray(epsilon, float))
    mean, other = np.asarray(mean, float), np.asarray(other, float)

    def ones_and_zeros(mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (mu + (1 - mu) * shrink) / (1 + shrink), ((1 - mu) + mu * shrink) / (1 + shrink)

    return _binary_kl(*ones_and_zeros(mean), *ones_and_zeros(other), contrast(epsilon) * (other - mean))


def gaussian_kl(mean: float, sd: float, other_mean: float, other_sd: float) -> float:
    """KL divergence of N(mean, sd^2) from N(other_mean, other_sd^2)."""
    more = (sd / other_sd) ** 2 - 1
    shape = float(_excess(np.array(more))) if abs(more) < 0.5 else more - 2 * math.log(sd / other_sd)
    return ((mean - other_mean) / other_sd) ** 2 / 2 + shape / 2


def _masses(
    distribution: distributions.RewardDistribution, other: distributions.RewardDistribution
) -> tuple[np.ndarray, np.ndarray] | None:
    """Probabilities of two discrete distributions on their common list of values; None unless both are discrete."""
    if distribution.atoms is None or other.atoms is None:
        return None
    values = np.union1d(distribution.atoms[0], other.atoms[0])
    both = np.zeros((2, len(values)))
    for row, (places, probabilities) in zip(both, (distribution.atoms, other.atoms), strict=True):
        np.add.at(row, np.searchsorted(values, places), probabilities)
    return both[0], both[1]


@remembered(4096)
def relative_entropy(distribution: distributions.RewardDistribution, other: distributions.RewardDistribution) -> float:
    """KL divergence of ``distribution`` from ``other`` for two discrete or two Gaussian distributions.

    Infinity for any other pair, which is always a safe upper estimate.
    """
    if isinstance(distribution, distributions.Gaussian) and isinstance(other, distributions.Gaussian):
        return gaussian_kl(distribution.mean, distribution.sd, other.mean, other.sd)
    masses = _masses(distribution, other)
    if masses is None:
        return math.inf
    p, q = masses
    with np.errstate(divide="ignore"):
        terms = p[p > 0] * (np.log(p[p > 0]) - np.log(q[p > 0]))
    return max(0.0, float(np.sum(terms)))


def _distribution(distribution: Any) -> Any:
    """A continuous distribution as SciPy has it, with its density and its distribution function."""
    from scipy import stats  # heavy import, needed only for continuous rewards

    match distribution:
        case distributions.Gaussian():
            return stats.norm(distribution.mean, distribution.sd)
        case distributions.Uniform():
            return stats.uniform(distribution.low, distribution.high - distribution.low)
        case distributions.Pareto():
            return stats.pareto(distribution.shape, scale=distribution.scale)
        case distributions.Student():
            return stats.t(distribution.df, distribution.mean, distribution.scale)
        case distributions.Beta():
            return stats.beta(distribution.a, distribution.b)
    raise TypeError(f"no density for {type(distribution).__name__}")


def _density_variation(
    distribution: distributions.RewardDistribution, other: distributions.RewardDistribution
) -> float:
    """Total variation of two distributions with densities: exact between the points where the densities cross."""
    from scipy.optimize import brentq

    f, g = _distribution(distribution), _distribution(other)
    ends = np.unique([*distribution.support, *other.support])
    tail = np.geomspace(1e-13, 0.5, 150)
    probabilities = np.concatenate([tail, 1 - tail])
    grid = np.unique(np.concatenate([distribution.quantile(probabilities), other.quantile(probabilities)]))
    grid = np.setdiff1d(grid[np.isfinite(grid)], ends)

    def difference(x: np.ndarray) -> np.ndarray:
        return np.asarray(f.logpdf(x) - g.logpdf(x))

    with np.errstate(invalid="ignore", divide="ignore"):
        height = difference(grid)
        usable = np.isfinite(height)
        changes = np.flatnonzero(usable[1:] & usable[:-1] & (np.sign(height[1:]) * np.sign(height[:-1]) < 0))
        crossings = [brentq(difference, grid[place], grid[place + 1]) for place in changes]
        knots = np.unique(np.concatenate([ends, grid[height == 0], crossings]))
        return float(min(1.0, np.sum(np.abs(np.diff(f.cdf(knots)) - np.diff(g.cdf(knots)))) / 2))


@remembered(4096)
def total_variation(distribution: distributions.RewardDistribution, other: distributions.RewardDistribution) -> float:
    """``TV = sup_A |P(A) - Q(A)|`` of two reward distributions, in [0, 1].

    Exact for two discrete distributions; through the crossings of the densities for two continuous ones; 1 for a
    discrete and a continuous distribution, which live on disjoint sets.
    """
    if distribution == other:
        return 0.0
    masses = _masses(distribution, other)
    if masses is not None:
        return float(min(1.0, np.abs(masses[0] - masses[1]).sum() / 2))
    if distribution.atoms is not None or other.atoms is not None:
        return 1.0
    if (
        isinstance(distribution, distributions.Gaussian)
        and isinstance(other, distributions.Gaussian)
        and distribution.sd == other.sd
    ):
        return math.erf(abs(distribution.mean - other.mean) / (2 * math.sqrt(2) * distribution.sd))
    return _density_variation(distribution, other)


@remembered(4096)
def kinf(distribution: distributions.RewardDistribution, target: float) -> float:
    """``Kinf(distribution, target)``: smallest KL divergence of ``distribution`` from a distribution on [0, 1] with a
    mean above ``target``.

    By duality (Honda and Takemura 2010) the maximum over 0 <= x <= 1/(1 - target) of E ln(1 - x (X - target)), a
    concave function of x. Infinite for target >= 1; 0 if the distribution's mean is not below the target.
    """
    if distribution.expected >= target:
        return 0.0
    if target >= 1:
        return math.inf
    if distribution.atoms is not None:
        rewards, weights = distribution.atoms
        rewards, weights = rewards[weights > 0], weights[weights > 0]
    else:
        rewards, weights = distribution.quantile(_PROBABILITIES), _PROBABILITY_WEIGHTS
    excess = rewards - target
    highest = 1 / (1 - target)

    def rises(x: float) -> bool:
        with np.errstate(divide="ignore"):
            return float(weights @ (-excess / np.maximum(1 - x * excess, 0.0))) > 0

    x = highest if rises(highest) else bisected(0.0, highest, rises, steps=60)[0]
    with np.errstate(divide="ignore"):
        value = float(weights @ np.log(np.maximum(1 - x * excess, 0.0)))
    return max(
        value, float(bernoulli_kl(distribution.expected, target))
    )  # a valid floor, accurate where the gap is tiny
