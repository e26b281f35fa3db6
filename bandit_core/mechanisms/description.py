"""What every mechanism tells about itself: inputs, promise, source; the words stand in ``description.toml``."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from bandit_core.model import Privacy
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.found import entries, fields_of

# ---------------------------------------------------------------------------------------------------------------------
# What every mechanism tells about itself: what it takes, what it gives away, and how private that is.


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


# ---------------------------------------------------------------------------------------------------------------------
# What a mechanism tells about itself, promise, formulas, source: the table ``description.toml``.
#
# Every file here ends in ``DESCRIPTION`` (or ``DESCRIPTIONS``), which `bandit_core.mechanisms.registry` finds by
# itself.


Setting = Literal["delta", "dimension", "horizon", "users"]


@dataclass(frozen=True, kw_only=True)
class Formulas:
    """LaTeX; ``density`` of the output, ``loss`` = ln of the ratio of two densities, ``mean`` and ``variance``."""

    density: str
    loss: str
    mean: str
    variance: str


@dataclass(frozen=True, kw_only=True)
class Audited:
    """What an audit of a counter looks at: item number ``item`` of a stream of so many ``items`` is told apart.

    ``nodes`` are pairs (late, early) of counts: the released sum at the first less that at the second is one noisy
    node with the item in it. None where the noise is normal: there one weighted total of all sums tells everything.
    ``words`` say what that misses.
    """

    items: int
    item: int
    nodes: tuple[tuple[int, int], ...] = ()
    words: str = ""
    seen: str = "the noisy sums of which the item is part, each cut to [0, 1], added up"

    @property
    def inputs(self) -> str:
        """The two inputs, in words."""
        return f"item {self.item} of {self.items} is 0 or 1, all others are 0"


@dataclass(frozen=True, kw_only=True)
class Description:
    """One mechanism: who is trusted, what is promised, its formulas, and how to get one that runs.

    ``make(epsilon, **settings)`` builds it; ``settings`` are the names of those it takes besides epsilon.
    ``inputs`` are two inputs that show it well, in units of its domain; ``symbol`` says what an input is.
    ``pure`` is False where the promise may fail with probability delta. Counters say what of them is ``audited``.
    """

    name: str
    title: str
    paper: str
    words: str
    guarantee: str
    trust: Privacy
    kind: Literal["answer", "batch", "counter"]
    sensitivity: str
    formulas: Formulas
    make: Callable[..., Any]
    settings: tuple[Setting, ...] = ()
    pure: bool = True
    inputs: tuple[float, float] = (0.0, 1.0)
    symbol: str = "reward"
    remark: str = ""
    audited: Audited | None = None

    def started(self, epsilon: float, horizon: int, delta: float | None = None) -> Any:
        """A counter that runs: for ``horizon`` items where it must know their number, at ``delta`` where it has one."""
        given = {"horizon": horizon, "delta": delta}
        return self.make(epsilon, **{name: given[name] for name in self.settings if given.get(name) is not None})


def words_of(name: str) -> dict[str, Any]:
    """The fields of a `Mechanism` that are words, from the table."""
    said = fields_of(__file__, name)
    words = {field: said[field] for field in ("title", "paper", "words")}
    return {"name": name, **words, "guarantee_words": said["guarantee"]}


def described(name: str, make: Callable[..., Any], **given: Any) -> Description:
    """A mechanism as the table ``description.toml`` describes it; what is not there is ``given``."""
    said = fields_of(__file__, name) if name in entries(__file__) else {}
    if formulas := {field: said.pop(field) for field in ("density", "loss", "mean", "variance") if field in said}:
        said["formulas"] = Formulas(**formulas)
    if audited := said.pop("audited", None):
        nodes = tuple((late, early) for late, early in audited.get("nodes", ()))
        said["audited"] = Audited(**{**audited, "nodes": nodes})
    said |= {field: tuple(said[field]) for field in ("settings", "inputs") if field in said}
    return Description(name=name, make=make, **said | given)


def answer(mechanism: Mechanism, **given: Any) -> Description:
    """Describe a mechanism of one's own that stands in no table; name, title, words and the like are its own."""
    own = {"title": mechanism.title, "paper": mechanism.paper, "words": mechanism.words}
    own |= {"guarantee": mechanism.guarantee_words, "trust": "local", "kind": "answer"}
    return described(mechanism.name, lambda epsilon: mechanism, **{**own, **given})
