"""LinUCB on secure sums: after Shariff, Sheffet 2018 and Chowdhury, Zhou 2023.

LinUCB on sums of growing batches, whose users each add a pinch of noise to sums that no one can read in parts.

    G = 0; u = 0; arms in turn in the first batch
    for t = 1, 2, ...:
        play the arm with the largest  x_a . theta + beta |x_a|_(V^-1)
        the user rounds x x^T and r x to levels, adds a share of noise, and sends all modulo m
        if the batch is complete:  add its secure sums to G and u;  V = G + (ridge + 2 U) I;  theta = V^-1 u

Promise: (epsilon, delta)-distributed DP for features, choice and reward of every user

The sums are those of `jdp_linucb`.

Users come in batches that grow with their number. Each rounds the D = d(d+3)/2 numbers g x_i x_j (i < j), g x_i^2 /
sqrt(2) and g r x_i / sqrt(2) at random up or down, adds the difference of two Poisson variables of mean V/(2B), B users
being in the batch, and sends all modulo m = 2 (B (g + 1) + tau) + 1. With a parameter for each arm the numbers of other
arms are zeros, with noise. Secure aggregation shows the server the sums of a whole batch; it centres them and adds them
to those of earlier batches. Phones compute their own arm from the last theta; a server that sees the arm sees more than
is promised here.

Guarantee: (epsilon, delta)-distributed DP. A user is in one batch, which is released when it is complete. The noise of
a batch is Skellam of variance V on every number. Two users' numbers are at most D_2 = 1.5 g + 2 sqrt(D) apart in
Euclidean norm: 1.5 by the proof of `jdp_linucb`, and rounding moves each number by less than 1; users of different arms
are at most sqrt(2) (g + sqrt(D)) apart, which is less. These are whole numbers, so the sum of the absolute values is at
most D_1 = min(sqrt(n) D_2, D_2^2) with n = D, or 2 D for users of different arms. Renyi divergences of independent
numbers add up, and so does the bound on that of one number (`theory.definitions.skellam_renyi`, as published), with the
squares adding up to D_2^2 and the absolute values to D_1. V = (D_2/rate)^2 for the largest rate that keeps (epsilon,
delta).

tau = skellam_slack(V, alpha/(n N)): with chance 1 - alpha no sum of N batches is spoilt by the modulus. The bounds of
the index are those of normal noise of the same variance, a heuristic here: they are not proved for Skellam noise.
Rounding adds less than 1% to the noise for g = max(1000, 134 sqrt(D)) and is left out of them.
"""

import math
from functools import lru_cache
from typing import Annotated, Literal, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.jit.decorators import device_function
from bandit_core.kernels.contextual import (
    DIAGONAL,
    Optimism,
    Users,
    Visitor,
    clipped,
    numbers_of,
    optimism,
    play_users,
    row_of,
    shrunk,
)
from bandit_core.kernels.play import Rule, Stream, uniform
from bandit_core.kernels.poisson import poisson
from bandit_core.mechanisms.batch import decoded, skellam_slack
from bandit_core.model import Guarantee, KernelCall, Parameters, Release, RunSetup
from bandit_core.policies.contextual import family, jdp_linucb
from bandit_core.policies.contextual.exact_ols import Ridge
from bandit_core.policies.contextual.jdp_linucb import Shift, choose
from bandit_core.spec.contexts import Contexts
from bandit_core.spec.field_types import Number
from bandit_core.spec.portable_math import bisected
from bandit_core.theory import contextual
from bandit_core.theory.definitions import WHOLE_ORDERS, renyi_epsilon, skellam_renyi


class DistributedParameters(Parameters):
    """Privacy, batches, and optimism."""

    delta: jdp_linucb.Delta = 1e-6
    alpha: family.Alpha = 0.1
    growth: Annotated[Number, Field(ge=1.1, le=100)] = 2.0
    """A batch ends when the users so far have grown by this factor."""
    first: jdp_linucb.First = "auto"
    ridge: Ridge = 1.0
    width: Annotated[Number, Field(ge=0, le=1000)] = 1.0
    """Optimism for the noise of rewards, as in LinUCB: width |x|."""
    confidence: Annotated[Number, Field(ge=0, le=100)] | Literal["off"] = 1.0
    """Multiplier on the optimism for the privacy noise. off: greedy, without any optimism."""
    shift: Shift = 2.0


def batches(horizon: int, first: int, growth: float) -> list[int]:
    """After how many users each complete batch ends; the first one, even if it is too long to be completed."""
    ends = [first]
    while (end := max(ends[-1] + 1, int(growth * ends[-1]))) <= horizon:
        ends.append(end)
    return ends


def levels(numbers: int) -> int:
    """g for D numbers a user."""
    return max(1000, math.ceil(134 * math.sqrt(numbers)))


def distances(numbers: int, levels: int, several: bool) -> tuple[float, float]:
    """D_2 and D_1, the farthest that one user moves a sum; ``several``: arms have a parameter each."""
    far = jdp_linucb.SENSITIVITY * levels + 2 * math.sqrt(numbers)
    return far, min(math.sqrt(2 * numbers if several else numbers) * far, far**2)


@lru_cache(maxsize=1024)
def variance(epsilon: float, delta: float, numbers: int, several: bool) -> float:
    """V: the least (rounded up) that keeps (``epsilon``, ``delta``) for one batch, in squared levels."""
    far, total = distances(numbers, levels(numbers), several)

    def is_kept(rate: float) -> bool:
        divergences = skellam_renyi(WHOLE_ORDERS, far, (far / rate) ** 2, total)
        return float(renyi_epsilon(divergences, delta, WHOLE_ORDERS)) <= epsilon

    return (far / bisected(0.0, math.sqrt(2 * epsilon) + 1.0, is_kept, 1e-9, 100)[0]) ** 2


def _shape(setup: RunSetup) -> tuple[int, bool]:
    """D, and whether arms have a parameter each."""
    contexts = family.contexts_of(setup)
    return contexts.dimension * (contexts.dimension + 3) // 2, contexts.models > 1


def variance_of(setup: RunSetup) -> float:
    """V of a line."""
    return variance(setup.fixed_epsilon, setup.parameters.delta, *_shape(setup))


def _guarantee(setup: RunSetup) -> Guarantee:
    epsilon, delta = setup.fixed_epsilon, setup.parameters.delta
    words = (
        f"the secure sums of every batch are ({epsilon:g}, {delta:g})-private in one user's features, arm and reward"
    )
    words += ", by a bound on Skellam noise as published (Agarwal, Kairouz and Liu 2021), which is not proved here"
    return Guarantee("distributed", words, epsilon, delta)


def _releases(setup: RunSetup) -> list[Release]:
    shape = _shape(setup)
    g = levels(shape[0])
    return family.one_message(
        "sums of x x^T and r x of a batch, rounded to levels, modulo m", scale=math.sqrt(variance_of(setup)) / g,
        sensitivity=distances(shape[0], g, shape[1])[0] / g, budget=setup.fixed_epsilon, mechanism="skellam", norm="L2",
        at="once, when the batch is complete", delta=setup.parameters.delta,
    )  # fmt: skip


class Numbers(NamedTuple):
    """Rounding, noise and its bounds, and when a batch ends."""

    levels: float  # g
    variance: float  # V
    slack: float  # tau
    first: int
    growth: float
    ridge: float
    sd: float  # noise beside the diagonal after one batch, in rewards
    matrix_bound: float  # of |W|, over the noise of a release; greedy: the shift
    vector_bound: float  # of |h|
    width: float
    confidence: float
    optimistic: bool


class State(NamedTuple):
    """The sums of the batch, in levels, what the server has added up, and room to work in."""

    estimate: np.ndarray  # (models, dimension)
    optimism: Optimism
    batch: np.ndarray  # (models x D,), rounded numbers of the present batch
    total: np.ndarray  # (models x D,), centred sums of all batches
    counted: np.ndarray  # (2,), batches, and users of all of them
    shared: np.ndarray  # (dimension,)
    gram: np.ndarray  # (dimension, dimension)
    moment: np.ndarray  # (dimension,)
    factor: np.ndarray  # (dimension, dimension)
    signal: np.ndarray


def start(numbers: Numbers, users: Users) -> State:
    """No batch."""
    models, d = users.theta.shape
    size = numbers_of(models, d)
    return State(
        np.zeros((models, d)), optimism(users, np.zeros((models, d, d)), 0.0, numbers.first), np.zeros(size),
        np.zeros(size), np.zeros(2, np.int64), np.empty(d), np.empty((d, d)), np.empty(d), np.empty((d, d)),
        users.signal,
    )  # fmt: skip


def learn(numbers: Numbers, known: State, arm: int, response: float, user: Visitor, stream: Stream) -> None:
    """Add the rounded numbers of a user to the batch; open its sums when it is complete."""
    model, x, d = row_of(arm, known.estimate), known.shared, known.shared.shape[0]
    reward = clipped(response * shrunk(user.context, 1.0, x), 1.0)
    at = numbers_of(model, d)
    for i in range(d):
        for j in range(i, d):
            value = x[i] * x[j] / (DIAGONAL if i == j else 1.0)
            known.batch[at] += math.floor(numbers.levels * value + uniform(stream))
            at += 1
    for i in range(d):
        known.batch[at] += math.floor(numbers.levels * reward * x[i] / DIAGONAL + uniform(stream))
        at += 1
    if user.number >= known.optimism.due[0]:
        _open(numbers, known, user.number, stream)
        known.optimism.due[0] = max(user.number + 1, int(numbers.growth * user.number))


@device_function
def _open(numbers: Numbers, known: State, t: int, stream: Stream) -> None:
    """Add the noise of all, centre the sums, and solve; of a matrix that is not positive definite nothing changes."""
    users = t - known.counted[1]
    known.counted[0] += 1
    known.counted[1] = t
    known.optimism.ahead[0] = 0
    most, half = users * (numbers.levels + 1.0), 0.5 * numbers.variance
    for at in range(known.batch.shape[0]):
        noise = poisson(half, stream.words, stream.trial) - poisson(half, stream.words, stream.trial)
        known.total[at] += decoded(known.batch[at] + noise + most, 2.0 * most, numbers.slack) - most
        known.batch[at] = 0.0
    sd = numbers.sd * math.sqrt(known.counted[0])
    bound = sd * numbers.matrix_bound
    shift = numbers.ridge + (2.0 * bound if numbers.optimistic else bound)
    models, d = known.estimate.shape
    for model in range(models):
        at = numbers_of(model, d)
        for i in range(d):
            for j in range(i, d):
                known.gram[i, j] = known.total[at] / numbers.levels * (DIAGONAL if i == j else 1.0)
                at += 1
        for i in range(d):
            known.moment[i] = known.total[at] / numbers.levels * DIAGONAL
            at += 1
        jdp_linucb.solve(numbers, known, model, shift)
    known.optimism.bonus[0] = jdp_linucb.bonus(numbers, sd, bound)


RULE = Rule("by_secure_sums", start, choose, learn, loop=play_users)


def _prepare(setup: RunSetup) -> KernelCall:
    parameters, contexts = setup.parameters, family.contexts_of(setup)
    size, _ = _shape(setup)
    g, noise, d = levels(size), variance_of(setup), contexts.dimension
    count = len(batches(setup.horizon, parameters.first, parameters.growth))
    every = size * contexts.models * count
    optimistic = parameters.confidence != "off"
    bound, vector_bound = jdp_linucb.noise_bounds(d, count * contexts.models, parameters.alpha)
    numbers = Numbers(
        levels=float(g),
        variance=noise,
        slack=float(skellam_slack(noise, parameters.alpha / every)),
        **parameters.model_dump(include={"first", "growth", "ridge"}),
        sd=math.sqrt(noise) / g,
        matrix_bound=bound if optimistic else 2 * parameters.shift * math.sqrt(d),
        vector_bound=math.sqrt(2) * vector_bound,
        width=parameters.width if optimistic else 0.0,
        confidence=parameters.confidence if optimistic else 0.0,
        optimistic=optimistic,
    )
    return family.call(RULE, setup, numbers)


def _seconds(setup: RunSetup, contexts: Contexts) -> float:
    size, _ = _shape(setup)
    optimistic = setup.parameters.confidence != "off"
    indices = contexts.arms * (5e-9 + 0.5e-9 * contexts.dimension**2) if optimistic else 0.0
    count = len(batches(setup.horizon, setup.parameters.first, setup.parameters.growth))
    opened = count / setup.horizon * contexts.models * (300e-9 * size + 1e-9 * contexts.dimension**3)
    return indices + 4e-9 * size + opened


POLICY = family.policy(
    name="dist-linucb",
    privacy="distributed",
    anytime=False,
    parameters=DistributedParameters,
    refuses=family.linear_only,
    settle=lambda setup: jdp_linucb.settle_first(setup, 2),
    prepare=_prepare,
    bounds=contextual.joint_lower,
    guarantee=_guarantee,
    releases=_releases,
    parent="linucb",
    seconds=_seconds,
    held=family.numbers_held(
        lambda users: 3.0 * users.models * users.dimension**2 + users.models * users.dimension * (users.dimension + 3)
    ),
)
