"""What every policy tells about itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bandit_core.model.block import Block, Signal
from bandit_core.model.bound import Bound
from bandit_core.model.guarantee import Guarantee, Privacy, Release
from bandit_core.model.setup import Instance, Parameters
from bandit_core.spec import rewards as laws
from bandit_core.spec.budgets import _EpsilonLaw

Setting = Literal["arms", "contexts"]


def numbers_held(instance: Instance, rows: int) -> float:
    """Numbers (of 8 bytes) that the kernels for plain arms hold while they play ``rows`` trials, at most."""
    together = min(rows, 64)  # trials that advance side by side, see `kernels.index`
    return len(instance.arms) * (48 + 6 * together) + min(instance.horizon, 65_536)


Simulator = Callable[[Instance, np.ndarray, np.ndarray, Signal], Block]
Acceptor = Callable[[Sequence[laws._Law]], str | None]


def any_rewards(arms: Sequence[laws._Law]) -> str | None:
    """Accepts every law."""
    return None


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A learning algorithm as the rest of the project sees it.

    ``accepts`` looks at single arms and returns None, or the words it refuses with.
    ``simulate(instance, streams, checkpoints, signal)`` plays one trial per row of ``streams``.
    ``resolve(parameters, epsilon)`` replaces every "auto" by a number; ``settle(instance)`` those that depend on the
    arms or the horizon.
    ``spending(instance, times)`` is needed only where the budget of one reward is spent little by little: see `spent`.
    ``releases(instance)`` lists what the account of one reward (or user) is made of; nothing without privacy.
    ``sampler(instance)`` names how the instance is drawn, for those that know more than one way: part of the key of
    stored blocks, because another sampler of the same law gives other numbers.
    ``step_cost`` is the rough time of one pull relative to ``ucb`` (for cost estimates only); a function of the
    instance where that decides it.
    ``held(instance, trials)`` counts the numbers (of 8 bytes) that a kernel holds while it plays so many trials,
    besides the arms' tables and the block it fills (for estimates of memory).
    ``setting`` says whether it plays arms, or chooses by the features of users.
    """

    name: str
    title: str
    paper: str
    summary: str
    privacy: Privacy
    guarantee_words: str
    epsilon: Literal["none", "one", "any"]
    anytime: bool
    parameters: type[Parameters]
    accepts: Acceptor
    simulate: Simulator
    bounds: Callable[[Instance], list[Bound]]
    guarantee: Callable[[Instance], Guarantee]
    resolve: Callable[[Any, _EpsilonLaw | None], Parameters] = lambda parameters, epsilon: parameters
    settle: Callable[[Instance], Parameters] = lambda instance: instance.parameters
    refuses: Callable[[Instance], str | None] = lambda instance: None
    spending: Callable[[Instance, np.ndarray], np.ndarray] | None = None
    releases: Callable[[Instance], list[Release]] = lambda instance: []
    parent: str | None = None
    pseudo_code: str = ""
    sampler: Callable[[Instance], str] = lambda instance: "step"
    step_cost: float | Callable[[Instance], float] = 1.0
    held: Callable[[Instance, int], float] = numbers_held
    setting: Setting = "arms"

    def cost(self, instance: Instance) -> float:
        """Rough time of one pull of this instance relative to ``ucb``."""
        return self.step_cost(instance) if callable(self.step_cost) else self.step_cost

    def spent(self, instance: Instance, times: np.ndarray) -> np.ndarray:
        """Epsilon that the user of one reward has spent after ``times`` pulls, in the worst case; shape (times,).

        Without ``spending`` everything is spent at the first release. Users with budgets of their own: the largest
        of them. Infinite without privacy.
        """
        if self.spending is not None:
            return self.spending(instance, times)
        whole = self.guarantee(instance).epsilon
        if self.privacy == "none":
            whole = np.inf
        elif whole is None:
            assert instance.epsilon is not None
            whole = instance.epsilon.largest
        return np.full(np.shape(times), whole, float)
