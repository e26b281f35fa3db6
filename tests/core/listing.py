"""What a policy of a few users gives away, by listing every outcome of it."""

import math
from collections.abc import Callable
from itertools import product

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
