"""What every policy tells about itself, and the instance it is given to play."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bandit_core import arms as laws
from bandit_core.contextual.contexts import Contexts
from bandit_core.epsilons import _EpsilonLaw
from bandit_core.numbers import Frozen

if TYPE_CHECKING:
    from bandit_core.theory.bound import Bound

Privacy = Literal["none", "local", "central"]
Setting = Literal["arms", "contexts"]
PRIVACY_WORDS: dict[Privacy, str] = {
    "none": "no privacy: the learner sees every reward as it is",
    "local": "local DP: nobody is trusted, each reward is randomised before it leaves its user",
    "central": "central DP: a trusted curator sees the rewards, what it publishes is private",
}


class Tables:
    """Kernel tables of some arms, and these arms, so that nothing else can have their identity."""

    def __init__(self, arms: tuple[laws._Law, ...]) -> None:
        self.arms, self.arrays = arms, laws.tables(arms)


_sharing = threading.Lock()
_shared: weakref.WeakValueDictionary[int, Tables] = weakref.WeakValueDictionary()  # that somebody holds, by arms


class Parameters(Frozen):
    """Base of every policy's parameters; ranges, defaults and help texts live in the fields."""


@dataclass(frozen=True)
class Instance:
    """One line of an experiment, ready to be played.

    ``arms`` are single arms in the order of the spec; ``epsilon`` is None for policies without privacy;
    ``parameters`` has every "auto" already replaced by a number. Where users have features, ``contexts`` says how,
    and there are no ``arms``.
    """

    arms: tuple[laws._Law, ...]
    epsilon: _EpsilonLaw | None
    parameters: Any  # of the policy's own subclass of Parameters
    horizon: int
    contexts: Contexts | None = None

    @cached_property
    def means(self) -> np.ndarray:
        """Mean rewards, shape (arms,)."""
        return np.array(laws.each(self.arms, lambda arm: arm.law_mean))

    def shared_tables(self) -> Tables:
        """What the kernels read of the arms: one copy for all who play these arms while anybody holds it."""
        with _sharing:
            found = _shared.get(id(self.arms)) or Tables(self.arms)
            _shared[id(self.arms)] = found
        return found

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """The arrays of `shared_tables` (see `bandit_core.arms.tables`)."""
        return self.shared_tables().arrays

    @cached_property
    def gaps(self) -> np.ndarray:
        """Best mean minus mean, shape (arms,), reward units."""
        return self.means.max() - self.means


@dataclass(frozen=True)
class Guarantee:
    """The privacy that a run really has. ``epsilon`` None means one budget per user, from the law of the spec."""

    model: Privacy
    words: str
    epsilon: float | None = None
    delta: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Release:
    """What leaves users or the curator, as one reward's (or one user's) account sees it, so that anyone can add it up.

    ``times`` counts the releases of this kind that one ``unit`` is in, at most; ``at`` says when they are made.
    ``sensitivity`` is the farthest that one unit moves what is released, in ``norm``, and ``scale`` that of the noise
    in the same units (Laplace: its scale; Gaussian: its standard deviation). Mechanisms whose budget is not the
    quotient of the two have ``budget`` (nats) instead. Where users have budgets of their own it is that of the largest.
    """

    mechanism: Literal["laplace", "gaussian", "randomised response", "l2-ball"]
    released: str
    unit: Literal["one reward", "one user's context, choice and reward"]
    at: str
    times: int = 1
    norm: Literal["L1", "L2"] | None = None
    sensitivity: float | None = None
    scale: float | None = None
    budget: float | None = None

    @property
    def epsilon(self) -> float | None:
        """Pure epsilon (nats) of one such release; None where there is none (Gaussian)."""
        if self.mechanism == "gaussian":
            return None
        if self.budget is not None:
            return self.budget
        assert self.sensitivity is not None and self.scale is not None
        return self.sensitivity / self.scale if self.scale > 0 else np.inf


@dataclass(frozen=True)
class Block:
    """Regret and pulls of best arms at the checkpoints (trials, checkpoints), and final pulls (trials, arms).

    Where users have features, a pull is best when no arm had a larger mean for that user, and ``error`` is the distance
    of the estimated from the true parameters at the checkpoints (trials, checkpoints): Euclidean, root mean square
    over the arms' parameters.
    """

    regret: np.ndarray
    best_pulls: np.ndarray
    pulls: np.ndarray
    error: np.ndarray | None = None

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, without those that are absent; each has one row per trial."""
        found = {name: getattr(self, name) for name in ("regret", "best_pulls", "pulls", "error")}
        return {name: array for name, array in found.items() if array is not None}

    @property
    def trials(self) -> int:
        """Number of trials in the block."""
        return len(self.regret)


@dataclass(frozen=True)
class Signal:
    """Shared with a running kernel: ``cells[0]`` = 1 asks it to stop, ``cells[1]`` counts the steps done."""

    cells: np.ndarray = field(default_factory=lambda: np.zeros(2, np.int64))

    def stop(self) -> None:
        """Ask the kernel to give up at its next checkpoint."""
        self.cells[0] = 1

    @property
    def stopped(self) -> bool:
        """Whether a stop was asked for."""
        return bool(self.cells[0])

    @property
    def steps(self) -> int:
        """Steps (pulls x trials) done so far."""
        return int(self.cells[1])


class Stopped(Exception):
    """A kernel gave up because its signal asked it to; its block is incomplete and must not be used."""


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
