"""One line of an experiment, ready to be played: arms or contexts, budget, resolved parameters, horizon."""

import threading
import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from pydantic import ConfigDict

from bandit_core.spec import rewards as distributions
from bandit_core.spec.budgets import BudgetDistribution
from bandit_core.spec.contexts import Contexts
from bandit_core.spec.feedback import IMMEDIATE, Feedback
from bandit_core.spec.field_types import Frozen


class Tables:
    """What kernels read of some arms, and these arms, so that nothing else can have their identity."""

    def __init__(self, arms: tuple[distributions.RewardDistribution, ...]) -> None:
        self.arms = arms

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """See `bandit_core.spec.rewards.tables`."""
        return distributions.tables(self.arms)

    @cached_property
    def means(self) -> np.ndarray:
        """Mean rewards, shape (arms,)."""
        return np.array(distributions.each(self.arms, lambda arm: arm.expected))

    @cached_property
    def gaps(self) -> np.ndarray:
        """Best mean minus mean, shape (arms,), reward units."""
        return self.means.max() - self.means


_sharing = threading.Lock()
_shared: weakref.WeakValueDictionary[int, Tables] = weakref.WeakValueDictionary()  # that someone holds, by arms


def _tables_of(arms: tuple[distributions.RewardDistribution, ...]) -> Tables:
    with _sharing:
        tables = _shared.get(id(arms)) or Tables(arms)
        _shared[id(arms)] = tables
    return tables


class Parameters(Frozen):
    """Base of every policy's parameters: fields with a range, a default, and a docstring that is the help text."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        for field in cls.model_fields.values():
            field.description = " ".join((field.description or "").split())  # it may stand on several lines

    def settled(self, **numbers: Any) -> Self:
        """The same with these numbers in place of "auto"; a field that has one keeps it."""
        return self.model_copy(update={name: each for name, each in numbers.items() if getattr(self, name) == "auto"})


@dataclass(frozen=True)
class RunSetup:
    """One line of an experiment, ready to be played.

    ``arms`` are single arms in the order of the spec; ``epsilon``, None for policies without privacy, is what one
    answer may spend: of a person who comes ``visits`` times one part in so many, or more where the person's promise
    may fail with chance ``visits_delta`` (0: basic composition). ``parameters`` has every "auto" already replaced by a
    number. Where users have features, ``contexts`` says how, and there are no ``arms``.
    ``feedback`` says when rewards are counted. ``uncut`` are the arms that the loss is counted by, where the learner
    sees their rewards cut and rescaled (`arms`); None where it sees them as they are.
    """

    arms: tuple[distributions.RewardDistribution, ...]
    epsilon: BudgetDistribution | None
    parameters: Any  # of the policy's own subclass of Parameters
    horizon: int
    contexts: Contexts | None = None
    feedback: Feedback = IMMEDIATE
    visits: int = 1
    visits_delta: float = 0.0
    uncut: tuple[distributions.RewardDistribution, ...] | None = None

    @cached_property
    def means(self) -> np.ndarray:
        """Mean rewards, shape (arms,)."""
        return self.shared_tables().means

    @property
    def budgets(self) -> BudgetDistribution:
        """The budgets of the users of a private policy, nats."""
        assert self.epsilon is not None, "this line is not private"
        return self.epsilon

    @property
    def fixed_epsilon(self) -> float:
        """The one budget of every user, nats; an error where there is none."""
        assert self.budgets.fixed is not None, "this line has no budget for all users"
        return self.budgets.fixed

    def shared_tables(self) -> Tables:
        """What the kernels read of the arms: one copy for all who play these arms while anyone holds it."""
        return _tables_of(self.arms)

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray]:
        """The arrays of `shared_tables` (see `bandit_core.spec.rewards.tables`)."""
        return self.shared_tables().arrays

    @cached_property
    def gaps(self) -> np.ndarray:
        """Best mean minus mean of what the learner sees, shape (arms,), reward units."""
        return self.shared_tables().gaps

    @cached_property
    def regret_gaps(self) -> np.ndarray:
        """Best mean minus mean of the uncut rewards, which the loss is counted by, shape (arms,), reward units."""
        return self.gaps if self.uncut is None else _tables_of(self.uncut).gaps
