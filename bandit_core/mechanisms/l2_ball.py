"""The mechanism for vectors in a ball (Duchi, Jordan, Wainwright 2018; Han et al. 2021, Lemma 2.2, corrected).

A vector x with |x| <= R becomes a point z on a sphere of a fixed, larger radius r. First x is rounded to the border:
X = +-R x/|x|, plus with probability 1/2 + |x|/2R. Then z is uniform on the half sphere <z, X> > 0 with probability
e^eps / (e^eps + 1), else on the opposite one. Given X the density of z takes only two values, of ratio e^eps; rounding
only mixes them. E[z] = x for

    r = R sqrt(pi) (e^eps + 1)/(e^eps - 1) Gamma((d+1)/2) / Gamma(d/2).

The printed radius lost a fraction line. The printed X = (2b - 1)x is no direction at x = 0, which is exactly where
synthetic updates use it; there X is a uniform direction, so z is uniform on the whole sphere.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.mechanisms.description import Mechanism, described, words_of
from bandit_core.spec.errors import InputError, Issue, not_above_0, raise_any, refuse_if


def log_radius(dimension: int, epsilon: float) -> float:
    """ln of the radius for R = 1; by log-gamma, so that any dimension will do."""
    shape = math.lgamma((dimension + 1) / 2) - math.lgamma(dimension / 2)
    return 0.5 * math.log(math.pi) - math.log(math.tanh(epsilon / 2)) + shape


def radius(dimension: int, epsilon: float, bound: float = 1.0) -> float:
    """Radius of the sphere that responses lie on, for vectors of norm at most ``bound``.

    Examples
    --------
    >>> round(radius(2, 1.0, 2.0), 3)
    6.798

    Raises
    ------
    InputError
        When epsilon or the bound is not above 0, or the dimension below 1.
    """
    small = [Issue("dimension", dimension, "at least 1")] if dimension < 1 else []
    raise_any([*not_above_0(epsilon=epsilon, bound=bound), *small])
    return bound * math.exp(log_radius(dimension, epsilon))


def release(vectors: ArrayLike, epsilon: float, rng: np.random.Generator, bound: float = 1.0) -> np.ndarray:
    """Responses to vectors, shape (..., d), each of norm at most ``bound``; same shape.

    Raises
    ------
    InputError
        When a vector lies outside the ball: the mechanism is not defined there.
    """
    vectors = np.asarray(vectors, float)
    reach = radius(vectors.shape[-1], epsilon, bound)
    norms = np.linalg.norm(vectors, axis=-1)
    outside = np.flatnonzero(~(norms <= bound * (1 + 1e-12)))
    if len(outside):
        place = int(outside[0])
        words = f"a vector of norm at most {bound:g}; clip it first"
        raise InputError([Issue(f"vectors[{place}]", float(norms.flat[place]), words)])
    z = rng.standard_normal(vectors.shape)
    z *= reach / np.linalg.norm(z, axis=-1, keepdims=True)
    rounded_up = rng.random(norms.shape) < 0.5 + norms / (2 * bound)
    kept = rng.random(norms.shape) < 1 / (1 + math.exp(-epsilon))
    side = np.sum(z * vectors, axis=-1) > 0
    # Towards X, that is towards x if it was rounded up. At 0 the side is that of a uniform z: uniform either way.
    turn = side != (rounded_up == kept)
    return np.where((turn & (norms > 0))[..., None], -z, z)


def log_density(response: ArrayLike, vector: ArrayLike, epsilon: float, bound: float = 1.0) -> np.ndarray:
    """ln of the density of a response on the sphere relative to the uniform one; shapes (..., d), broadcast."""
    response, vector = np.asarray(response, float), np.asarray(vector, float)
    norm = np.linalg.norm(vector, axis=-1)
    towards = 0.5 + norm / (2 * bound)
    ahead = np.sum(response * vector, axis=-1) > 0
    up = np.where(ahead, towards, 1 - towards)
    with np.errstate(divide="ignore"):
        mass = np.logaddexp(np.log(up) + epsilon, np.log(1 - up)) - np.logaddexp(0.0, epsilon)
    return np.where(norm > 0, math.log(2) + mass, 0.0)


@dataclass(frozen=True, kw_only=True)
class BallAlong(Mechanism):
    """The ball mechanism for a vector of length |x| <= 1 along a known direction, seen along that direction.

    The density of z given x depends on the side of z only, and the coordinate of z along x tells the side: what is
    lost by looking at one coordinate tells nothing about x.
    """

    dimension: int

    def __post_init__(self) -> None:
        words = "at least 2; in one dimension this is randomised response"
        refuse_if(self.dimension < 2, "dimension", self.dimension, words)

    def _reach(self, epsilon: ArrayLike) -> np.ndarray:
        epsilon = np.asarray(epsilon, float)
        levels, places = np.unique(epsilon, return_inverse=True)
        return np.array([radius(self.dimension, float(level)) for level in levels])[places].reshape(epsilon.shape)

    def _respond(self, rewards: np.ndarray, epsilon: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        vectors = np.zeros((*rewards.shape, self.dimension))
        vectors[..., 0] = rewards
        responses = np.empty(rewards.shape)
        for level in np.unique(epsilon):
            chosen = epsilon == level
            responses[chosen] = release(vectors[chosen], float(level), rng)[..., 0]
        return responses

    def log_density(self, response: ArrayLike, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        response, reward, epsilon = np.broadcast_arrays(
            *(np.asarray(value, float) for value in (response, reward, epsilon))
        )
        place, d = response / self._reach(epsilon), self.dimension
        side = np.empty(response.shape)
        for level in np.unique(epsilon):
            chosen = epsilon == level
            side[chosen] = log_density(response[chosen][:, None], reward[chosen][:, None], float(level))
        with np.errstate(divide="ignore", invalid="ignore"):
            flat = (
                math.lgamma(d / 2) - math.lgamma((d - 1) / 2) - 0.5 * math.log(math.pi)
                + 0.5 * (d - 3) * np.log1p(-(place**2)) - np.log(self._reach(epsilon))
            )  # fmt: skip
        return np.where(np.abs(place) < 1, flat + side, -np.inf)

    def reach(self, epsilon: float) -> float:
        return radius(self.dimension, epsilon)

    def variance(self, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        # z_1^2 does not depend on the side, so it is as for a uniform point of the sphere.
        return self._reach(epsilon) ** 2 / self.dimension - np.asarray(reward, float) ** 2


def ball_along(epsilon: float = 1.0, *, dimension: int = 3) -> BallAlong:
    """The ball mechanism in ``dimension`` >= 2 dimensions, seen along one direction.

    >>> float(ball_along(dimension=2).mean(0.4, 1.0))
    0.4
    """
    shape: dict[str, Any] = {"outputs": "real", "domain": (-1.0, 1.0), "sensitivity": 2.0}
    return BallAlong(dimension=dimension, **shape, **words_of("l2-ball"))


DESCRIPTION = described("l2-ball", ball_along)
