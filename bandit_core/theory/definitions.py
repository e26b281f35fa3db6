"""Which promise of privacy implies which, and at what price.

The promises themselves stand in `bandit_core.model.promises`; those that no policy keeps, and the budgets between them
and central DP, are after Basu, Dimitrakakis and Tossou 2019.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

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


# --- the same in numbers: a policy of a few users, every outcome of which can be listed -------------------------------

Chance = Callable[[tuple[int, ...], tuple[int, ...]], float]


def loss(chance: Chance, users: int) -> float:
    """Central epsilon of a policy of two arms by listing: largest log-ratio over neighbouring rewards of 0 or 1.

    Parameters
    ----------
    chance
        ``chance(actions, rewards)`` is the probability that arm 1 (of 0 and 1) is played next, given the earlier
        actions and rewards.
    users
        Number of users, at most 6 (the list is as long as 2^(3 users)).

    Returns
    -------
    float
        In nats.
    """

    def chance_of_all(actions: tuple[int, ...], rewards: tuple[int, ...]) -> float:
        return math.prod(_step(chance, actions, rewards, t) for t in range(users))

    return _largest_ratio(users, lambda actions, rewards: [chance_of_all(actions, rewards)])


def instantaneous_loss(chance: Chance, users: int) -> float:
    """Epsilon of the worst single action given the past, in nats; arguments as for `loss`."""
    return _largest_ratio(users, lambda actions, rewards: [_step(chance, actions, rewards, t) for t in range(users)])


def _step(chance: Chance, actions: tuple[int, ...], rewards: tuple[int, ...], t: int) -> float:
    one = chance(actions[:t], rewards[:t])
    return one if actions[t] else 1 - one


def _largest_ratio(
    users: int, chances: Callable[[tuple[int, ...], tuple[int, ...]], list[float]]
) -> float:  # over all actions and neighbouring rewards
    largest = 0.0
    for actions in product((0, 1), repeat=users):
        table = {rewards: chances(actions, rewards) for rewards in product((0, 1), repeat=users)}
        for rewards, here in table.items():
            for t in range(users):
                there = table[(*rewards[:t], 1 - rewards[t], *rewards[t + 1 :])]
                largest = max(largest, *(abs(math.log(p / q)) for p, q in zip(here, there, strict=True)))
    return largest
