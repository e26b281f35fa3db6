"""What "private" may mean for a bandit: four promises, who is trusted in each, and which implies which.

After Basu, Dimitrakakis and Tossou 2019, in the notation of this project: x_1, x_2, ... are the rewards of the users,
z_t is what a device sends in place of x_t, a_1, a_2, ... are the arms that are played, theta the arms' means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from bandit_core.model.bound import Model


@dataclass(frozen=True)
class Definition:
    """One promise of privacy, in words and as a formula (LaTeX)."""

    name: Model
    title: str
    promise: str
    formula: str
    neighbouring: str
    trusted: str
    seen: str
    example: str


DEFINITIONS: dict[Model, Definition] = {
    each.name: each
    for each in (
        Definition(
            "central",
            "Central DP",
            "Whoever sees every arm that was played cannot tell one user's reward from another one's.",
            r"P(a_1,\dots,a_T\mid x)\;\le\;e^{\epsilon}\,P(a_1,\dots,a_T\mid x')",
            "two tables of rewards x and x' that differ in the rewards of one user",
            "a curator who sees every reward as it is",
            "the public sees the arms that were played",
            "A hospital knows its patients' results; who reads which treatment was chosen, when, learns almost nothing "
            "about any one patient.",
        ),
        Definition(
            "instantaneous",
            "Instantaneous DP",
            "Each single choice, given the earlier ones, says almost nothing about any one earlier reward.",
            r"P(a_t\mid a_{1:t-1},x)\;\le\;e^{\epsilon}\,P(a_t\mid a_{1:t-1},x')\qquad\text{for every }t",
            "two tables of rewards x and x' that differ in the rewards of one user, for one choice at a time",
            "a curator who sees every reward, and whoever counts what all the choices together give away",
            "the public sees the arms that were played, and is asked about one choice",
            "Today's advertisement hides yesterday's click. The advertisements of a whole year may still show it, "
            "because every choice gives away a little more.",
        ),
        Definition(
            "local",
            "Local DP",
            "What leaves a user's device could have come from any other reward about as well.",
            r"P(z_t\in S\mid x_t)\;\le\;e^{\epsilon}\,P(z_t\in S\mid x_t')\qquad\text{for every }t\text{ and }S",
            "any two rewards of one user",
            "nobody but one's own device",
            "the learner sees noisy answers, the public the arms that were played",
            "A phone tosses a coin before it says whether you clicked. Even the learner cannot be sure of any answer.",
        ),
        Definition(
            "environment",
            "Environment privacy",
            "Whoever sees every arm that was played cannot tell what people like on the whole.",
            r"P(a_1,\dots,a_T\mid\theta)\;\le\;e^{\epsilon\,\rho(\theta,\theta')}\,P(a_1,\dots,a_T\mid\theta')",
            "any two environments theta and theta', the closer (rho), the harder to tell apart",
            "whoever runs the learner",
            "the public sees the arms that were played",
            "A shop's rivals watch what it recommends and shall not learn what its customers prefer. But playing the "
            "best arm shows it: this promise and learning exclude each other in the long run.",
        ),
    )
}


@dataclass(frozen=True)
class Implication:
    """``source`` at epsilon implies ``target`` at ``budget(epsilon, horizon)``; ``mark`` is that budget in words."""

    source: Model
    target: Model
    mark: str
    why: str
    budget: Callable[[float, int], float]

    @property
    def lasting(self) -> bool:
        """Whether the budget stays the same for any number of users."""
        return self.budget(1.0, 10) == self.budget(1.0, 20)


IMPLICATIONS = (
    Implication(
        "local",
        "central",
        "ε",
        "The arms are chosen from answers that are private already; nothing computed from them tells more "
        "(post-processing).",
        lambda epsilon, horizon: epsilon,
    ),
    Implication(
        "central",
        "instantaneous",
        "2ε",
        "The chance of one choice given the past is a quotient of two chances of whole sequences; each changes by at "
        "most e^ε.",
        lambda epsilon, horizon: 2 * epsilon,
    ),
    Implication(
        "instantaneous",
        "central",
        "(T − 1) ε",
        "A reward can show in every later choice, and what the choices give away adds up (composition).",
        lambda epsilon, horizon: max(horizon - 1, 0) * epsilon,
    ),
    Implication(
        "central",
        "environment",
        "(T − 1) ε",
        "Another environment may change every user's reward, and that of the last one is too late to show; for "
        "everybody at once the budgets add up (group privacy). The budget holds at any distance ρ.",
        lambda epsilon, horizon: max(horizon - 1, 0) * epsilon,
    ),
)

NOT_IMPLIED: tuple[tuple[Model, Model, str], ...] = (
    ("central", "local", "A curator who adds noise to sums has seen every reward: no ε, however large, makes up."),
    (
        "environment",
        "central",
        "A rule that repeats the first user's reward in its first choice hides the environment well (one reward says "
        "little about the means) and that user not at all.",
    ),
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

    def whole(actions: tuple[int, ...], rewards: tuple[int, ...]) -> float:
        return math.prod(_step(chance, actions, rewards, t) for t in range(users))

    return _largest_ratio(users, lambda actions, rewards: [whole(actions, rewards)])


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
