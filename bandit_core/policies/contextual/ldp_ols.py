"""LDP-OLS: Han, Liang, Wang, Zhang 2021.

Users send noisy sums for least squares; everyone plays what looks best under the common estimate.

    theta = 0; M = 0; u = 0
    for t = 1, 2, ...:
        the user plays the arm with the largest  x_a . theta  and is paid r
        the user sends  x x^T + W  and  r x + xi      (normal noise)
        M += x x^T + W;  u += r x + xi
        theta = (M + c sqrt(t) I)^-1 u
    a parameter for each arm: warm-up in turns, then every user answers for all arms
        (noisy zeros for those not chosen), all with the same noise (paper: each at (epsilon/2, delta/2))

Promise: (epsilon, delta)-local DP for context, choice and reward of every user

Algorithms 1 and 2 with the OLS mechanism.

t counts the releases, and

    c = shift x 2 sigma (4 sqrt(d) + 2 ln(2T/alpha))        (TK in place of T with a parameter for each arm).

With one parameter for each arm (Algorithm 2): a warm-up in turns; afterwards every user answers for all arms, noisy
zeros for those not chosen, so that the choice stays hidden; optionally arms that look hopeless after the warm-up are
left out (h).

Guarantee: (epsilon, delta)-local DP. The noise is sigma times 2 C_B^2 on every entry of the matrix and C_B c_r on every
entry of the vector; in these units a user's whole message has the L2 sensitivity 2. Proof, with C_B = c_r = 1, for
users (x, r) and (x', r') of norms at most 1 with the angle phi between x and x', c = |cos phi|: the upper triangle of a
symmetric matrix is no longer than the matrix.

* Same arm: |x x^T - x' x'^T|^2 / 4 + |r x - r' x'|^2 is at most (2 - 2 c^2)/4 + 2 + 2 c (it grows with both norms), and
  that grows with c: 4, at x' = -x, r' = r.
* Different arms: the message for one arm goes from (x x^T, r x) to zeros, the other the other way, each at most
  1/4 + 1: 2.5 in all. So users who chose different arms are told apart less easily than users of one arm, and nothing
  has to be split.

``accounting``: "tight" takes the smallest sigma that the exact condition of the Gaussian mechanism allows at
sensitivity 2 (analytic, Balle and Wang 2018), for the whole (epsilon, delta). "paper": the classical sigma for epsilon
<= 1 (analytic beyond, where the classical one is not proved), and with one parameter for each arm every answer at
(epsilon/2, delta/2); the guarantee shown is what that noise really keeps at delta. There is no "advanced": the whole
message is one release.

Deviations from print: the variance of W has C_B^4, for C_B^2 has the wrong dimension and fails for C_B > sqrt 2; a
user outside the ball |x| <= C_B shrinks context and reward together, which keeps a linear model true, and then clips
the reward to [-c_r, c_r]; the server may solve at growing intervals (``refresh``).
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.jit.decorators import device_function
from bandit_core.kernels.contextual import (
    NoisySums,
    Users,
    Visitor,
    add_shared,
    clipped,
    complete,
    factorise,
    greedy_after_warm_up,
    next_due,
    noisy_sums,
    play_users,
    remember,
    row_of,
    shrunk,
    solve_factored,
    solve_indefinite,
)
from bandit_core.kernels.play import Rule, Stream
from bandit_core.mechanisms.gaussian import analytic_sd, gaussian_sd
from bandit_core.model import KernelCall, Release, RunSetup
from bandit_core.policies.contextual import family
from bandit_core.spec.contexts import Contexts
from bandit_core.spec.field_types import Number, Positive
from bandit_core.theory import contextual

SENSITIVITY = 2.0  # joint L2 sensitivity of M / (2 C_B^2) and u / (C_B c_r), also over several arms


class OLSParameters(family.WarmUpParameters):
    """Privacy, regularisation, warm-up and how often the server solves."""

    accounting: family.Accounting = "tight"
    """How the noise follows from epsilon and delta. tight: the least that is proved to keep them. paper: the classical
    formula, at half of both where a user answers for all arms; more noise than needed."""
    delta: family.Delta = 0.01
    alpha: family.Alpha = 0.1
    shift: Annotated[Number, Field(ge=0, le=100)] = 1.0
    """Multiplier on the ridge c sqrt(n) of the paper; 0 leaves it out."""
    context_bound: Annotated[Positive, Field(le=1000)] = 1.0
    """C_B: contexts (and their rewards) outside are shrunk to this norm."""
    reward_bound: Annotated[Positive, Field(le=1000)] = 1.0
    """c_r: rewards are clipped to plus or minus this."""
    refresh: family.Refresh = 0.01


def noise(setup: RunSetup) -> tuple[float, float, float]:
    """sigma, and the standard deviations on every entry of the matrix and of the vector that a user sends."""
    parameters, epsilon = setup.parameters, setup.fixed_epsilon
    if parameters.accounting == "tight":
        sigma = analytic_sd(SENSITIVITY, epsilon, parameters.delta)
    else:
        parts = 2 if family.contexts_of(setup).structure == "multi" else 1
        sigma = gaussian_sd(SENSITIVITY, epsilon / parts, parameters.delta / parts)
    bound = parameters.context_bound
    return sigma, 2 * bound**2 * sigma, bound * parameters.reward_bound * sigma


def _releases(setup: RunSetup) -> list[Release]:
    what = "upper triangle of x x^T over 2 C_B^2, and r x over C_B c_r; where each arm has a parameter, of all arms"
    return family.one_message(what, sensitivity=SENSITIVITY, scale=noise(setup)[0])


class Numbers(NamedTuple):
    """Bounds, noise and when to solve."""

    bound: float  # of the norm of a context
    reward_bound: float
    matrix_sd: float  # noise on every entry of a matrix
    vector_sd: float  # and of a vector
    shift: float  # coefficient of sqrt(releases) I
    refresh: float  # next solution when users have grown by this share
    warm_up: int  # users who are met in turns first; 0 with one parameter
    spread: float  # h/2 of the elimination; infinite: none


class State(NamedTuple):
    """What the server keeps of each model, and room to work in."""

    estimate: np.ndarray  # (models, dimension)
    early: np.ndarray  # (models, dimension), the estimate after the warm-up
    sums: NoisySums  # M and u
    releases: np.ndarray  # (models,), in the sums with their noise
    due: np.ndarray  # (1,), step of the next solution
    work: np.ndarray  # (dimension, dimension)
    signal: np.ndarray


def start(numbers: Numbers, users: Users) -> State:
    """Empty sums."""
    models, d = users.theta.shape
    estimate, sums, due = np.zeros((models, d)), noisy_sums(users, models), np.ones(1, np.int64)
    return State(estimate, np.zeros((models, d)), sums, np.zeros(models), due, np.empty((d, d)), users.signal)


def learn(numbers: Numbers, known: State, arm: int, response: float, user: Visitor, stream: Stream) -> None:
    """Add  x x^T + W  and  r x + xi;  solve when it is due."""
    model, t, owed = row_of(arm, known.estimate), user.number, known.sums.owed
    reward = clipped(response * shrunk(user.context, numbers.bound, known.sums.shared), numbers.reward_bound)
    add_shared(known.sums, model, reward)
    if t <= numbers.warm_up:
        owed[model] += 1.0
    else:  # those who were not chosen release noisy zeros, so that no one sees who was
        for i in range(owed.shape[0]):
            owed[i] += 1.0
    if t >= known.due[0] or t == numbers.warm_up:
        known.due[0] = next_due(t, numbers.refresh)
        _solve(numbers, known, stream)
    if t == numbers.warm_up:
        remember(known.estimate, known.early)


@device_function
def _solve(numbers: Numbers, known: State, stream: Stream) -> None:
    """theta = (M + c sqrt(n) I)^-1 u  of each model with new releases, which get their noise now."""
    sums = known.sums
    for i in range(sums.owed.shape[0]):
        if sums.owed[i] == 0.0 or known.signal[0] != 0:
            continue
        known.releases[i] += sums.owed[i]
        complete(sums, i, numbers.matrix_sd, numbers.vector_sd, stream, known.work[0])
        gram, moment, estimate = sums.grams[i], sums.moments[i], known.estimate[i]
        ridge = numbers.shift * math.sqrt(known.releases[i])
        if factorise(gram, ridge, known.work, known.signal):
            solve_factored(known.work, moment, estimate)
        elif not solve_indefinite(gram, ridge, moment, known.work, estimate):
            estimate[:] = 0.0


RULE = Rule("by_least_squares", start, greedy_after_warm_up, learn, loop=play_users)


def _prepare(setup: RunSetup) -> KernelCall:
    parameters, contexts = setup.parameters, family.contexts_of(setup)
    sigma, matrix_sd, vector_sd = noise(setup)
    tries = 2 * setup.horizon * contexts.models / parameters.alpha
    shift = 2 * sigma * (4 * math.sqrt(contexts.dimension) + 2 * math.log(tries))
    numbers = Numbers(
        bound=parameters.context_bound,
        reward_bound=parameters.reward_bound,
        matrix_sd=matrix_sd,
        vector_sd=vector_sd,
        shift=parameters.shift * parameters.context_bound**2 * shift,
        refresh=parameters.refresh,
        **family.warm_up(setup),
    )
    return family.call(RULE, setup, numbers)


def _seconds(setup: RunSetup, contexts: Contexts) -> float:
    d = contexts.dimension
    share = family.solutions(setup.horizon, setup.parameters.refresh) / setup.horizon
    solve = contexts.models * (100e-9 + 3e-9 * d * d + 0.25e-9 * d**3)
    return 0.7e-9 * d * d + family.after_warm_up(setup) * share * solve


POLICY = family.policy(
    name="ldp-ols",
    privacy="local",
    anytime=False,
    parameters=OLSParameters,
    refuses=family.linear_only,
    prepare=_prepare,
    bounds=contextual.greedy_private,
    guarantee=lambda setup: family.gaussian_guarantee(setup, SENSITIVITY, noise(setup)[0]),
    releases=_releases,
    parent="greedy-ols",
    seconds=_seconds,
    held=family.numbers_held(lambda users: (users.models + 1) * users.dimension**2),
)
