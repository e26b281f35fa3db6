"""LDP-SGD: Han, Liang, Wang, Zhang 2021.

Each user sends one randomised gradient; the server takes one small step and everyone plays greedily.

    theta = 0
    for t = 1, 2, ...:
        the user plays the arm with the largest  x_a . theta  and is paid r
        g = (mu(x . theta) - r) x, clipped to norm R
        the user sends  z  = l2-ball mechanism of g, a point on a sphere
        theta -= eta_t z
    a parameter for each arm: warm-up in turns, then every user answers for all arms
        (the mechanism's answer to 0 for those not chosen), each at the whole epsilon (paper: epsilon/2)

Promise: epsilon-local DP for context, choice and reward of every user (pure)

Algorithms 1 and 2 with the SGD mechanism.

eta_t = step / (t + offset)^decay. The gradient is that of the loss at the reward. Links: identity, logistic, Poisson.

With one parameter for each arm: warm-up in turns, then every user answers for all arms (a response to the zero
gradient for those not chosen); optional elimination (h) as in LDP-OLS.

Guarantee: pure epsilon-local DP, because the mechanism is calibrated for the ball of radius R and every gradient is
clipped to it. With one parameter for each arm every message may have the whole epsilon (``accounting`` "tight"). Proof:
let two users differ. If both chose the same arm, all other messages have the same distribution, and the loss is that of
one message, at most epsilon. If one chose a and the other b, only the messages for a and b differ in distribution. A
response to 0 is uniform on the sphere; one to a gradient has, relative to that, a density between 2/(1 + e^eps) and 2
e^eps/(1 + e^eps) (it is rounded to the border, then given the right half sphere with probability e^eps/(1 + e^eps)).
The message for a goes from a gradient to uniform, a loss of at most ln[2 e^eps/(1 + e^eps)]; the message for b from
uniform to a gradient, at most ln[(1 + e^eps)/2]. The sum is epsilon exactly, and it is reached where both gradients
have norm R. The paper splits epsilon in two halves (``accounting`` "paper"), and such a run really keeps epsilon/2.
With one common parameter there is one message, and both words mean the same. There is no "advanced": no delta is spent.

Deviations: print has R = 2 c_r C_B and assumes that gradients stay inside, which holds only while theta
does; the published code takes R = 1 without clipping, where the mechanism is not defined. The warm-up uses SGD as
printed (the published code uses least squares there). ``project`` is ours, off by default; it looks at nothing but
the estimate, so it costs no privacy.
"""

import math
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.kernels.contextual import (
    Ball,
    Users,
    Visitor,
    dot,
    greedy_after_warm_up,
    mean_reward,
    play_users,
    predicted,
    release_into,
    remember,
    row_of,
)
from bandit_core.kernels.play import Rule, Stream
from bandit_core.mechanisms.l2_ball import radius
from bandit_core.model import KernelCall, Parameters, Release, RunSetup
from bandit_core.policies.contextual import family
from bandit_core.spec.contexts import LINKS
from bandit_core.spec.field_types import Number, Positive
from bandit_core.theory import contextual


class SGDParameters(family.WarmUpParameters):
    """Accounting, clipping, step size and warm-up."""

    accounting: Annotated[family.Accounting, Field(json_schema_extra=family.MULTI)] = "tight"
    """Budget of each message where a user answers for all arms (multi structure only). tight: the whole epsilon, which
    is proved to be kept. paper: half of it, and the run really keeps epsilon / 2."""
    gradient_bound: Annotated[Positive, Field(le=1000)] = 2.0
    """R: gradients are clipped to this norm, and noise grows with it. The paper has 2 c_r C_B, that is 2 for contexts
    and rewards of at most 1."""
    step: Annotated[Positive, Field(le=10**6)] | Literal["auto"] = "auto"
    """The step is step / (t + offset)^decay. auto: 5, or 5 x arms with a parameter for each arm."""
    offset: Annotated[Number, Field(ge=0, le=10**9)] = 1.0
    """Delays the shrinking of the steps."""
    decay: Annotated[Number, Field(ge=0.5, le=1)] = 1.0
    """Steps shrink like t to the minus this."""
    ridge: Annotated[Number, Field(ge=0, le=100)] = 0.0
    """Weight of |theta|^2 / 2 in the loss."""
    project: Annotated[Positive, Field(le=1000)] | Literal["off"] = "off"
    """After every step the server pulls theta back to this norm. off, as in the paper: the first, long steps may then
    throw theta far away, and it takes long to come back."""


def _settled(setup: RunSetup) -> Parameters:
    return setup.parameters if setup.contexts is None else setup.parameters.settled(step=5.0 * setup.contexts.models)


def release_epsilon(setup: RunSetup) -> float:
    """Budget of one message: epsilon, or epsilon/2 where a user answers for all arms with the account of the paper.

    It is also what all messages of a user keep together (proved above).
    """
    halved = family.contexts_of(setup).structure == "multi" and setup.parameters.accounting == "paper"
    return setup.fixed_epsilon / (2 if halved else 1)


def _releases(setup: RunSetup) -> list[Release]:
    what = "the gradient; where each arm has a parameter, the messages for all arms together"
    epsilon = release_epsilon(setup)
    reach = radius(family.contexts_of(setup).dimension, epsilon, setup.parameters.gradient_bound)
    return family.one_message(what, scale=reach, budget=epsilon)


class Numbers(NamedTuple):
    """Steps of length step / (t + offset)^decay."""

    link: int
    ball: Ball
    step: float
    offset: float
    decay: float
    ridge: float  # weight of |theta|^2 / 2 in the loss
    project: float  # largest norm of an estimate; infinite: any
    warm_up: int  # users who are met in turns first; 0 with one parameter
    spread: float  # h/2 of the elimination; infinite: none


class State(NamedTuple):
    """What the server keeps, (models, dimension), and two vectors of the present user, (dimension,)."""

    estimate: np.ndarray
    early: np.ndarray  # the estimate after the warm-up
    gradient: np.ndarray
    response: np.ndarray


def start(numbers: Numbers, users: Users) -> State:
    """Zero estimates."""
    shape = users.theta.shape
    return State(np.zeros(shape), np.zeros(shape), np.empty(shape[1]), np.empty(shape[1]))


def learn(numbers: Numbers, known: State, arm: int, response: float, user: Visitor, stream: Stream) -> None:
    """One step against what the device sends for the gradient at the reward."""
    estimate, message, t = known.estimate, known.response, user.number
    models, d = estimate.shape
    model = row_of(arm, estimate)
    miss = mean_reward(numbers.link, predicted(user.context, estimate, model)) - response
    for k in range(d):
        known.gradient[k] = miss * user.context[k]
    late = t + numbers.offset
    length = numbers.step / late if numbers.decay == 1.0 else numbers.step / late**numbers.decay
    for i in range(models):
        if i != model and t <= numbers.warm_up:
            continue
        release_into(numbers.ball, stream.words, stream.trial, known.gradient, i != model, message)
        for k in range(d):
            estimate[i, k] -= length * (message[k] + numbers.ridge * estimate[i, k])
        if numbers.project < math.inf:
            norm = math.sqrt(dot(estimate, i, estimate, i))
            for k in range(d):
                estimate[i, k] *= min(1.0, numbers.project / norm) if norm > 0.0 else 1.0
    if t == numbers.warm_up:
        remember(estimate, known.early)


RULE = Rule("by_gradient", start, greedy_after_warm_up, learn, loop=play_users)


def _prepare(setup: RunSetup) -> KernelCall:
    parameters, contexts, epsilon = setup.parameters, family.contexts_of(setup), release_epsilon(setup)
    bound = parameters.gradient_bound
    reach = radius(contexts.dimension, epsilon, bound)
    numbers = Numbers(
        link=LINKS.index(contexts.link),
        ball=Ball(bound, keep=1 / (1 + math.exp(-epsilon)), radius=reach),
        **parameters.model_dump(include={"step", "offset", "decay", "ridge"}),
        project=math.inf if parameters.project == "off" else parameters.project,
        **family.warm_up(setup),
    )
    return family.call(RULE, setup, numbers)


POLICY = family.policy(
    name="ldp-sgd",
    privacy="local",
    parameters=SGDParameters,
    prepare=_prepare,
    bounds=contextual.greedy_private,
    guarantee=lambda setup: family.local_guarantee(setup, 0.0, release_epsilon(setup)),
    releases=_releases,
    settle=_settled,
    parent="greedy-ols",
    seconds=lambda setup, contexts: family.after_warm_up(setup) * contexts.models * (30e-9 + 6e-9 * contexts.dimension),
    held=family.numbers_held(lambda users: 0.0),
)
