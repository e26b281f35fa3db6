"""LDP-LinUCB: Zheng, Cai, Huang, Li, Wang 2020.

Optimistic least squares on noisy sums; made for contexts that an adversary chooses.

    V = 0; u = 0
    for t = 1, 2, ...:
        Y_t = sigma sqrt(t) (4 sqrt(D) + 2 ln(2T / alpha));  c_t = 2 Y_t
        beta_t = 2 sigma sqrt(D ln T) + (sqrt(3 Y_t) + sigma sqrt(D t / Y_t)) D ln T
        theta = (V + c_t I)^-1 u
        play the arm with the largest  <theta, x> + beta_t |x|_(V + c_t I)^-1
        the user sends  x x^T + B  and  y x + xi;  V and u add them up

Promise: (epsilon, delta)-local DP for context, choice and reward of every user

LDP-GLOC: Zheng, Cai, Huang, Li, Wang 2020.

For curved links: a noisy online gradient feeds optimistic least squares.

    V = 0; u = 0; theta_hat = 0
    for t = 1, 2, ...:
        c_t = 2 sigma sqrt(t) (4 sqrt(D) + 2 ln(2T / alpha));  beta_t = sqrt(sigma sqrt(D t) / least slope of the link)
        theta = (V + c_t I)^-1 u
        play the arm with the largest  <theta, x> + beta_t |x|_(V + c_t I)^-1
        theta_hat -= zeta (noisy (mu(<theta_hat, x>) - r) x)
        the user sends  x x^T + B  and  <theta_hat, x> x + xi;  V and u add them up

Promise: (epsilon, delta)-local DP for context, choice and reward of every user

With a parameter for each arm both work in dimension
D = d x arms on contexts that stand in the block of their arm, as in the experiments of Han et al. 2021.

Guarantee: (epsilon, delta)-local DP. A user's message is the upper triangle of x x^T with one vector along x (LinUCB)
or two (GLOC), every number with the same normal noise. Its squared L2 sensitivity, with a, b = |x|^2, |x'|^2 <= 1 and
c = |cos| of the angle between x and x': the matrices differ by at most a^2 + b^2 - 2 a b c^2 (the triangle is no longer
than the matrix), vectors w x and w' x' with |w| <= 1 by at most a + b + 2 c sqrt(a b), GLOC's gradients, which are
clipped to norm 1 and may have it whatever |x|, by at most 2 + 2 c. The sum is largest at a = b = 1: it grows when both
are scaled up, and at a = 1 its derivative in b is at least 2 b - 2 c^2 + 1 + c >= 2 b.

* LinUCB: 4 + 2 c - 2 c^2, at most 4.5 (c = 1/2, reached for d >= 2).
* GLOC: 6 + 4 c - 2 c^2, at most 8 (c = 1). Its last vector depends on the noisy gradient sent before; the bound holds
  whatever that was, and normal noise composes adaptively as if it were one release (Gaussian DP; Dong, Roth, Su 2022).

With a parameter for each arm different arms only mean c = 0. ``accounting`` "tight" takes the smallest noise that the
exact condition of the Gaussian mechanism allows for this (Balle and Wang 2018). "paper": the printed sigma = 6 sqrt(2
ln(2.5/delta)) / epsilon (3.75 for GLOC's three releases), which is classical; where epsilon is so large that it no
longer suffices, the analytic one takes over. The guarantee shown is what the noise really keeps at delta. There is no
"advanced": the message is one release. For all this to be true contexts are shrunk to norm 1 (with their reward where
the link is the identity), LinUCB's rewards clipped to [-1, 1], and GLOC's gradient and <theta_hat, x> x clipped to norm
1; the published demonstration does none of this. Also unlike it, the bonus has its square root.

Deviations from print: theta is found after user t, with c_t and beta_t, not before user t + 1 with those of t + 1; so
the first user gets the arm of the lowest label, whatever the contexts are. The server may solve at growing intervals
(``refresh``, as in LDP-OLS). Where V + c I is not positive definite, the last solution stays.
"""

import math
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.jit.decorators import device_function
from bandit_core.kernels.contextual import (
    Arrival,
    NoisySums,
    Optimism,
    Users,
    Visitor,
    add_shared,
    clipped,
    complete,
    factorise,
    invert_factored,
    mean_reward,
    next_due,
    noisy_sums,
    optimism,
    optimistic_arm,
    play_users,
    predicted,
    row_of,
    shrunk,
    solve_factored,
)
from bandit_core.kernels.normals import fill_in_turn
from bandit_core.kernels.play import Rule, Stream
from bandit_core.mechanisms.gaussian import analytic_sd
from bandit_core.model import KernelCall, Parameters, Release, RunSetup
from bandit_core.policies.contextual import family
from bandit_core.spec.contexts import IDENTITY, LINKS, Contexts
from bandit_core.spec.field_types import Positive
from bandit_core.theory import contextual

Releases = Literal[2, 3]  # a matrix with one vector (LinUCB) or two (GLOC)
SENSITIVITY: dict[Releases, float] = {2: math.sqrt(4.5), 3: math.sqrt(8)}  # joint, L2


class LinUCBParameters(Parameters):
    """Privacy and how often the server solves."""

    accounting: family.Accounting = "tight"
    """How the noise follows from epsilon and delta. tight: the least that is proved to keep them. paper: as printed,
    several times as much."""
    delta: family.Delta = 0.01
    alpha: family.Alpha = 0.1
    refresh: family.Refresh = 0.01


class GLOCParameters(LinUCBParameters):
    """The same with the step of the online gradient."""

    zeta: Annotated[Positive, Field(le=1000)] | Literal["auto"] = "auto"
    """Step of the online gradient. auto: 1 / sqrt(T)."""


def least_slope(link: str) -> float:
    """Smallest derivative of the link on [-1, 1]."""
    if link == "identity":
        return 1.0
    return math.exp(-1) if link == "poisson" else math.exp(-1) / (1 + math.exp(-1)) ** 2


def noise_sd(epsilon: float, delta: float, releases: Releases, accounting: family.Accounting = "tight") -> float:
    """Standard deviation on every number sent; as printed, more where that would break the promise.

    ``releases`` is 2 for LinUCB, 3 for GLOC.
    """
    if accounting == "tight":
        return analytic_sd(SENSITIVITY[releases], epsilon, delta)
    printed = 6 * math.sqrt(2 * math.log(1.25 * releases / delta)) / epsilon
    if epsilon <= 1:
        return printed
    return max(printed, analytic_sd(SENSITIVITY[releases], epsilon, delta))


def _is_gloc(setup: RunSetup) -> bool:
    return isinstance(setup.parameters, GLOCParameters)


def _sd(setup: RunSetup) -> float:
    parameters = setup.parameters
    return noise_sd(setup.fixed_epsilon, parameters.delta, 3 if _is_gloc(setup) else 2, parameters.accounting)


def _releases(setup: RunSetup) -> list[Release]:
    what = "the gradient and <theta_hat, x> x" if _is_gloc(setup) else "and y x"
    sensitivity = SENSITIVITY[3 if _is_gloc(setup) else 2]
    return family.one_message(f"upper triangle of x x^T, {what}", sensitivity=sensitivity, scale=_sd(setup))


class Numbers(NamedTuple):
    """Noise, exploration and when to solve."""

    link: int
    sd: float  # noise of every released number
    level: float  # 4 sqrt(D) + 2 ln(2T/alpha)
    horizon_log: float  # ln T
    gloc: bool  # LDP-GLOC, not LDP-LinUCB
    zeta: float  # GLOC's gradient step
    slope: float  # least slope of the link
    refresh: float  # next solution when users have grown by this share


class State(NamedTuple):
    """What the server keeps, and room to work in."""

    estimate: np.ndarray  # (models, dimension)
    online: np.ndarray  # (models, dimension), GLOC's estimate by gradient steps
    optimism: Optimism  # blocks on the inverse's diagonal
    sums: NoisySums  # V and u, in dimension D
    solution: np.ndarray  # (D,); room for noise until the next one
    factor: np.ndarray  # (D, D)
    inverse: np.ndarray  # (D, D)
    signal: np.ndarray


def start(numbers: Numbers, users: Users) -> State:
    """Zero estimates; solve after the first user."""
    models, d = users.theta.shape
    size = models * d
    return State(
        np.zeros((models, d)), np.zeros((models, d)), optimism(users, np.zeros((models, d, d)), 0.0, 1),
        noisy_sums(users, 1), np.empty(size), np.empty((size, size)), np.empty((size, size)), users.signal,
    )  # fmt: skip


def choose(numbers: Numbers, known: State, now: Arrival, stream: Stream) -> int:
    """The arm with the largest  <theta, x> + beta_t |x|."""
    return optimistic_arm(known.optimism, known.estimate, now)


def learn(numbers: Numbers, known: State, arm: int, response: float, user: Visitor, stream: Stream) -> None:
    """Add  x x^T + B  and  y x + xi  (GLOC: with its own prediction in place of y); solve when it is due."""
    model, sums = row_of(arm, known.estimate), known.sums
    # x stands in ``sums.shared``; `complete` adds the noise B and xi of all users since the last solution.
    scale = shrunk(user.context, 1.0, sums.shared)
    reward = response * scale if numbers.link == IDENTITY else response
    weight = _follow_gradient(numbers, known, model, reward, stream) if numbers.gloc else clipped(reward, 1.0)
    add_shared(sums, model, weight)
    sums.owed[0] += 1.0
    if user.number >= known.optimism.due[0]:
        known.optimism.due[0] = next_due(user.number, numbers.refresh)
        _solve(numbers, known, user.number, stream)


@device_function
def _follow_gradient(numbers: Numbers, known: State, model: int, reward: float, stream: Stream) -> float:
    """GLOC's noisy gradient step; returns what it now predicts, in place of the reward."""
    online, shared, square = known.online, known.sums.shared, 0.0
    for k in range(shared.shape[0]):
        square += shared[k] * shared[k]
    miss = mean_reward(numbers.link, clipped(predicted(shared, online, model), 5.0)) - reward
    length = abs(miss) * math.sqrt(square)
    if length > 1.0:  # the gradient's noise is meant for norms of at most 1
        miss /= length
    drawn = known.solution.reshape(online.shape)
    fill_in_turn(stream.words, stream.trial, 4, known.solution)
    for i in range(online.shape[0]):
        for k in range(online.shape[1]):
            slope = miss * shared[k] if i == model else 0.0
            online[i, k] -= numbers.zeta * (slope + numbers.sd * drawn[i, k])
    return clipped(predicted(shared, online, model), 1.0)  # and so is that of (x . theta) x


@device_function
def _solve(numbers: Numbers, known: State, t: int, stream: Stream) -> None:
    """theta = (V + c_t I)^-1 u  and beta_t; the last solution stands where the matrix is not positive definite."""
    sd, size = numbers.sd, known.solution.shape[0]
    models, d = known.estimate.shape
    complete(known.sums, 0, sd, sd, stream, known.solution)
    upsilon = sd * math.sqrt(t) * numbers.level
    if not factorise(known.sums.grams[0], 2.0 * upsilon, known.factor, known.signal):
        return
    known.optimism.ahead[0] = 0
    solve_factored(known.factor, known.sums.moments[0], known.solution)
    invert_factored(known.factor, known.inverse, d if models > 1 else 1, known.signal)
    for i in range(models):
        for k in range(d):
            known.estimate[i, k] = known.solution[i * d + k]
            for j in range(d if models > 1 else k + 1):
                known.optimism.inverses[i, k, j] = known.inverse[i * d + k, i * d + j]
    if numbers.gloc:
        known.optimism.bonus[0] = math.sqrt(sd / numbers.slope * math.sqrt(size * t))
    else:
        bonus = 2.0 * sd * math.sqrt(size * numbers.horizon_log)
        bonus += (math.sqrt(3.0 * upsilon) + sd * math.sqrt(size * t / upsilon)) * size * numbers.horizon_log
        known.optimism.bonus[0] = bonus


RULE = Rule("by_optimism", start, choose, learn, loop=play_users)


def _prepare(setup: RunSetup) -> KernelCall:
    parameters, contexts, horizon = setup.parameters, family.contexts_of(setup), setup.horizon
    size = contexts.dimension * contexts.models
    numbers = Numbers(
        link=LINKS.index(contexts.link),
        sd=_sd(setup),
        level=4 * math.sqrt(size) + 2 * math.log(2 * horizon / parameters.alpha),
        horizon_log=math.log(horizon),
        gloc=_is_gloc(setup),
        zeta=parameters.zeta if _is_gloc(setup) else 0.0,
        slope=least_slope(contexts.link),
        refresh=parameters.refresh,
    )
    return family.call(RULE, setup, numbers)


def _seconds(setup: RunSetup, contexts: Contexts) -> float:
    size = contexts.dimension * contexts.models
    share = family.solutions(setup.horizon, setup.parameters.refresh) / setup.horizon
    indices = contexts.arms * (5e-9 + 0.5e-9 * contexts.dimension**2)
    steps = 4e-9 * size if _is_gloc(setup) else 0.0
    solve = 100e-9 + 3e-9 * size**2 + 1.0e-9 * size**3
    return indices + steps + share * solve


_COMMON: dict[str, Any] = dict(
    privacy="local",
    anytime=False,
    bounds=lambda setup: [contextual.zheng(setup.fixed_epsilon)],
    guarantee=lambda setup: family.gaussian_guarantee(setup, SENSITIVITY[3 if _is_gloc(setup) else 2], _sd(setup)),
    releases=_releases,
    prepare=_prepare,
    seconds=_seconds,
    parent="linucb",
    held=family.numbers_held(lambda users: (3.0 * users.models + 1) * users.models * users.dimension**2),
)

POLICIES = (
    family.policy(
        name="ldp-linucb",
        parameters=LinUCBParameters,
        refuses=family.linear_only,
        **_COMMON,
    ),
    family.policy(
        name="ldp-gloc",
        parameters=GLOCParameters,
        settle=lambda setup: setup.parameters.settled(zeta=1 / math.sqrt(setup.horizon)),
        **_COMMON,
    ),
)
