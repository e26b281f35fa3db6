"""Which promise of privacy implies which, and at what price.

The promises themselves stand in `bandit_core.model.promises`; those that no policy keeps, and the budgets between them
and central DP, are after Basu, Dimitrakakis and Tossou 2019.
"""

from collections.abc import Callable
from dataclasses import dataclass

from bandit_core.model import PROMISES, Model, Promise
from bandit_core.spec.found import all_fields

DEFINITIONS: dict[Model, Promise] = {key: promise for key, promise in PROMISES.items() if promise.formula}


_BUDGETS: dict[str, Callable[[float, int], float]] = {
    "ε": lambda epsilon, horizon: epsilon,
    "2ε": lambda epsilon, horizon: 2 * epsilon,
    "(T − 1) ε": lambda epsilon, horizon: max(horizon - 1, 0) * epsilon,
}


@dataclass(frozen=True)
class Implication:
    """``source`` at epsilon implies ``target`` at ``budget(epsilon, horizon)``; ``mark`` is that budget in words."""

    source: Model
    target: Model
    mark: str
    why: str

    def budget(self, epsilon: float, horizon: int) -> float:
        """Epsilon of the target for so many users."""
        return _BUDGETS[self.mark](epsilon, horizon)

    @property
    def lasting(self) -> bool:
        """Whether the budget stays the same for any number of users."""
        return self.budget(1.0, 10) == self.budget(1.0, 20)


_STATED = [*all_fields(__file__).values()]
IMPLICATIONS = (
    *(
        Implication(promise.key, target, "ε", promise.why)
        for promise in DEFINITIONS.values()
        for target in (promise.weaker, *promise.also)
        if target in DEFINITIONS
    ),
    *(Implication(**each) for each in _STATED if "mark" in each),
)
NOT_IMPLIED: tuple[tuple[Model, Model, str], ...] = (
    *(
        (target, each.key, each.not_back)
        for each in PROMISES.values()
        for target in (each.weaker, *each.also)
        if target and each.not_back
    ),
    *((each["source"], each["target"], each["why"]) for each in _STATED if "mark" not in each),
)
