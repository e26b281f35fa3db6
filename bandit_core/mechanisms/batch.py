"""A whole batch as one mechanism: its users send something each, the server sees one number."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.spec.portable_math import bisected


@dataclass(frozen=True, kw_only=True)
class Batch(ABC):
    """A batch of ``users`` with rewards in [0, 1]. What is protected is one of them; their number is public."""

    users: int

    @abstractmethod
    def release(self, rewards: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        """What the server sees of batches of rewards, user by user; shape (..., users) in, (...,) out."""

    @abstractmethod
    def estimate(self, seen: ArrayLike) -> np.ndarray:
        """Estimate of the mean reward of the batch from what the server sees; unbiased but for a rare overflow."""

    @abstractmethod
    def law(self, ones: int) -> tuple[np.ndarray, np.ndarray]:
        """Everything that the server may see (outcomes,), and its chances, if ``ones`` users have 1 and the rest 0."""


def batch_delta(first: np.ndarray, second: np.ndarray, epsilon: float) -> float:
    """Delta at ``epsilon`` of two distributions over the same outcomes; the larger of both orders."""
    growth = np.exp(min(700.0, epsilon))
    return float(max(np.maximum(p - growth * q, 0).sum() for p, q in ((first, second), (second, first))))


def batch_epsilon(first: np.ndarray, second: np.ndarray, delta: float) -> float:
    """The smallest epsilon that two distributions keep at ``delta`` (rounded up); infinite where none does.

    >>> round(batch_epsilon(np.array([0.75, 0.25]), np.array([0.25, 0.75]), 0.0), 6)  # ln 3
    1.098612
    """
    if batch_delta(first, second, 700.0) > delta:
        return np.inf
    return bisected(0.0, 700.0, lambda epsilon: batch_delta(first, second, epsilon) > delta, steps=60)[1]
