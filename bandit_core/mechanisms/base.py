"""What every mechanism tells about itself: what it takes, what it gives away, and how private that is."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.spec.errors import InputError, Issue

Sampler = Callable[[np.ndarray, float, np.random.Generator], np.ndarray]  # such as `Mechanism.release`


@dataclass(frozen=True, kw_only=True)
class Mechanism(ABC):
    """A randomised map from one reward to one response, run by the user before anything leaves the device.

    ``domain`` is the closed interval of the rewards it protects; ``sensitivity`` the width of what is randomised;
    ``outputs`` says whether a response is a real number or one bit; ``instead`` names the mechanism for rewards
    outside the domain. All methods take arrays and broadcast; epsilon is in nats, one number or one per reward.
    """

    name: str
    title: str
    paper: str
    words: str
    outputs: Literal["real", "bit"]
    domain: tuple[float, float]
    sensitivity: float
    guarantee_words: str
    instead: str | None = None

    def release(self, rewards: ArrayLike, epsilon: ArrayLike, rng: np.random.Generator) -> np.ndarray:
        """Respond to each reward; shape of ``rewards`` broadcast with ``epsilon``.

        Raises
        ------
        InputError
            When a reward lies outside the domain, or an epsilon is not above 0.
        """
        rewards, epsilon = np.broadcast_arrays(self._checked(rewards), _positive(epsilon))
        return self._respond(rewards, epsilon, rng)

    def log_ratio(
        self, response: ArrayLike, reward: ArrayLike, other_reward: ArrayLike, epsilon: ArrayLike
    ) -> np.ndarray:
        """ln of how much likelier ``response`` is after ``reward`` than after ``other_reward``; at most epsilon."""
        return self.log_density(response, reward, epsilon) - self.log_density(response, other_reward, epsilon)

    @abstractmethod
    def _respond(self, rewards: np.ndarray, epsilon: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Responses to rewards that are known to lie in the domain."""

    @abstractmethod
    def log_density(self, response: ArrayLike, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        """ln of the density (of the mass, for bits) of ``response`` after ``reward``; -inf where it cannot occur."""

    def mean(self, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        """Expected response to ``reward``: the reward itself where noise of mean 0 is added."""
        return np.asarray(reward, float) + 0.0 * np.asarray(epsilon, float)

    @abstractmethod
    def variance(self, reward: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        """Variance of the response to ``reward``."""

    def reach(self, epsilon: float) -> float:
        """No response lies further than this from 0; infinite for noise without an end."""
        return math.inf

    def estimate(self, response: ArrayLike, epsilon: ArrayLike) -> np.ndarray:
        """Unbiased estimate of what was randomised (the reward, or its sigmoid) from one response."""
        return np.asarray(response, float) + 0.0 * np.asarray(epsilon, float)

    def _checked(self, rewards: ArrayLike) -> np.ndarray:
        rewards = np.asarray(rewards, float)
        low, high = self.domain
        outside = np.flatnonzero(~((rewards >= low) & (rewards <= high)))  # catches NaN as well
        if len(outside):
            place = int(outside[0])
            allowed = f"{self.title} takes numbers in [{low:g}, {high:g}]"
            if self.instead:
                allowed += f"; use {self.instead} for rewards outside"
            raise InputError([Issue(f"rewards[{place}]", float(rewards.flat[place]), allowed)])
        return rewards


def _positive(epsilon: ArrayLike) -> np.ndarray:
    epsilon = np.asarray(epsilon, float)
    wrong = np.flatnonzero(~(epsilon > 0))
    if len(wrong):
        value = float(epsilon.flat[int(wrong[0])])
        raise InputError([Issue("epsilon", value, "a number above 0; a user with epsilon = 0 shares nothing")])
    return epsilon
