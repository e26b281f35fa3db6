"""What kernels are called with, in a few records (numba takes them apart, they cost nothing)."""

from typing import NamedTuple

import numpy as np

from bandit_core.model import Record, RunSetup


class Rewards(NamedTuple):
    """The arms, in the order of the spec or of a trial's labels.

    ``table`` (arms, ROW) and ``values`` are those of `bandit_core.spec.rewards.tables`; ``means`` (arms,) is the mean
    of what a mechanism that answers with bits is fed with, ``gaps`` (arms,) what a pull loses, in reward units: best
    mean minus mean, before any cut.
    """

    table: np.ndarray
    values: np.ndarray
    means: np.ndarray
    gaps: np.ndarray


class Users(NamedTuple):
    """The users' budgets, see `bandit_core.spec.budgets`; who has less than ``eps_min`` shares nothing."""

    kind: int
    form: np.ndarray
    table: np.ndarray
    eps_min: float


class Index(NamedTuple):
    """An index of the form mean + width x clock, and what it is fed with; see `bandit_core.kernels.index`."""

    release: int = 0  # RAW
    squash: bool = False
    per_pull: float = 0.0
    per_spread: float = 0.0
    clock: int = 0  # PLAIN_CLOCK
    forced: float = 0.0


class Batches(NamedTuple):
    """A trial of a policy that plays in batches, see `bandit_core.kernels.batches`; ``rewards`` by the labels."""

    rewards: Rewards
    at_once: bool
    fresh: np.ndarray  # what rewards that are drawn one by one have added up to since the last release (arms,)
    pulled: np.ndarray
    record: Record


def rewards_of(setup: RunSetup, means: np.ndarray | None = None) -> Rewards:
    """The arms of a line; ``means`` of what its mechanism is fed with, where that is not the reward itself."""
    return Rewards(*setup.tables, setup.means if means is None else means, setup.regret_gaps)
