"""LinUCB: Li, Chu, Langford, Schapire 2010.

Without privacy: plays the arm that could still be best for this user, by ridge regression.

    A = ridge I; b = 0
    for t = 1, 2, ...:
        theta = A^-1 b
        play the arm with the largest  x_a . theta + width sqrt(x_a^T A^-1 x_a)
        A += x x^T;  b += r x

Promise: none: the learner sees every context and reward

Greedy OLS: Bastani, Bayati, Khosravi 2017.

Without privacy: plays what looks best under ridge regression; the users' variety explores for it.

    A = ridge I; b = 0
    for t = 1, 2, ...:
        theta = A^-1 b
        play the arm with the largest  x_a . theta      (a parameter for each arm: in turns during the warm-up)
        A += x x^T;  b += r x

Promise: none: the learner sees every context and reward

Ridge regression with rank-one updates of its inverse (Sherman and Morrison), d^2 operations a step. With a parameter
for each arm there is one regression for each; greedy then begins with a warm-up in turns, as LDP-OLS does.
"""

from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.kernels.contextual import (
    Arrival,
    Inverses,
    Optimism,
    Users,
    Visitor,
    add_context,
    greedy_arm,
    inverses_of,
    optimism,
    optimistic_arm,
    play_users,
    predicted,
    row_of,
)
from bandit_core.kernels.play import Rule, Stream
from bandit_core.model import Guarantee, KernelCall, Parameters, RunSetup
from bandit_core.policies.contextual import family
from bandit_core.spec.contexts import Contexts
from bandit_core.spec.field_types import Number, Positive
from bandit_core.theory import contextual

Ridge = Annotated[Positive, Field(le=10**6, description="Weight of |theta|^2 in the least squares.")]


class LinUCBParameters(Parameters):
    """Exploration and regularisation."""

    width: Annotated[Number, Field(ge=0, le=1000)] = 1.0
    """Optimism: the index adds width x |x| in the inverse's norm."""
    ridge: Ridge = 1.0


class GreedyParameters(Parameters):
    """Regularisation and warm-up."""

    ridge: Ridge = 1.0
    warm_up: family.WarmUp = 10


class Numbers(NamedTuple):
    """Regularisation, exploration, and the users who are met in turns first (0 with one parameter)."""

    ridge: float
    width: float  # 0: greedy
    warm_up: int


class State(NamedTuple):
    """The estimate of each model (models, dimension), and the inverse of  ridge I + sum of x x^T."""

    estimate: np.ndarray
    models: Inverses
    optimism: Optimism


def start(numbers: Numbers, users: Users) -> State:
    """Zero estimates."""
    models = inverses_of(numbers.ridge, users)
    return State(np.zeros(users.theta.shape), models, optimism(users, models.inverses, numbers.width, 0))


def choose(numbers: Numbers, known: State, now: Arrival, stream: Stream) -> int:
    """In turns in the warm-up; then the arm with the largest  x . theta + width |x|,  in the norm of the inverse."""
    if now.counted < numbers.warm_up:
        return (now.t - 1) % now.users.order.shape[0]
    if numbers.width == 0.0:
        return greedy_arm(now.users, now.place, known.estimate)
    return optimistic_arm(known.optimism, known.estimate, now)


def learn(numbers: Numbers, known: State, arm: int, response: float, user: Visitor, stream: Stream) -> None:
    """theta += A^-1 x (r - x . theta)  with the new A, which is A + x x^T."""
    model = row_of(arm, known.estimate)
    miss = response - predicted(user.context, known.estimate, model)
    share = add_context(known.models, model, user.context)
    for i in range(user.context.shape[0]):
        known.estimate[model, i] += known.models.image[i] * miss * share


RULE = Rule("by_ridge", start, choose, learn, loop=play_users)


def _prepare(setup: RunSetup) -> KernelCall:
    parameters, contexts = setup.parameters, family.contexts_of(setup)
    optimistic = isinstance(parameters, LinUCBParameters)
    width = parameters.width if optimistic else 0.0
    warm_up = 0 if optimistic or contexts.models == 1 else contexts.arms * parameters.warm_up
    return family.call(RULE, setup, Numbers(parameters.ridge, width, warm_up))


def _seconds(setup: RunSetup, contexts: Contexts) -> float:
    indices = contexts.arms * 0.9e-9 if isinstance(setup.parameters, LinUCBParameters) else 0.0
    return contexts.dimension**2 * (1.5e-9 + indices)


_COMMON: dict[str, Any] = dict(
    refuses=family.linear_only,
    prepare=_prepare,
    bounds=contextual.nothing_stated,
    guarantee=lambda setup: Guarantee("none", "no privacy: the learner sees every context and reward"),
    seconds=_seconds,
    held=family.numbers_held(lambda users: users.models * users.dimension**2),
)

POLICIES = tuple(
    family.policy(name=name, parameters=parameters, **_COMMON)
    for name, parameters in (("linucb", LinUCBParameters), ("greedy-ols", GreedyParameters))
)
