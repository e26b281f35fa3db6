"""LDP-SGD: one private gradient step for each user, released through the l2-ball mechanism.

A response is a point on a sphere. It is uniform on the sphere and then turned to the side that two coins choose, which
is the same distribution as drawing the half sphere first. At a zero gradient (synthetic updates of arms that were not
chosen) it stays where it is.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import uint64

from bandit_core.jit.decorators import inlined, kernel, piece
from bandit_core.kernels.contexts import Users, dot, mean_reward, predictor, row_of, users_of
from bandit_core.kernels.contextual import greedy_after_warm_up, play_users, remember
from bandit_core.kernels.normal_blocks import normals_in_turn
from bandit_core.kernels.streams import next_uniform
from bandit_core.model import Record
from bandit_core.spec.contexts import Environment


class Ball(NamedTuple):
    """The l2-ball mechanism at one epsilon."""

    bound: float  # gradients are clipped to this norm
    keep: float  # e^epsilon / (e^epsilon + 1)
    radius: float  # norm of every response


class Learner(NamedTuple):
    """Steps of length step / (t + offset)^decay."""

    link: int
    ball: Ball
    step: float
    offset: float
    decay: float
    ridge: float  # weight of |theta|^2 / 2 in the loss
    project: float  # largest norm of an estimate; infinite: any
    warm_up: int  # round-robin users at first; 0 with one parameter
    spread: float  # h/2 of the elimination; infinite: none


class Memory(NamedTuple):
    """What the server keeps, (models, dimension), and two vectors of the present user, (dimension,)."""

    estimate: np.ndarray
    early: np.ndarray  # the estimate after the warm-up
    gradient: np.ndarray
    response: np.ndarray


@piece
def release_into(
    ball: Ball, state: np.ndarray, row: int, gradient: np.ndarray, zero: bool, response: np.ndarray
) -> None:
    """Respond to ``gradient`` (clipped to the ball), or to 0; both vectors have shape (dimension,).

    Draws the direction first, then two coins, from the second generator.
    """
    size, square, along = 0.0, 0.0, 0.0
    while size == 0.0:
        normals_in_turn(state, row, 4, response)
        size, square, along = 0.0, 0.0, 0.0
        for k in range(response.shape[0]):
            drawn, own = response[uint64(k)], gradient[uint64(k)]
            size += drawn * drawn
            square += own * own
            along += own * drawn
    scale = ball.radius / math.sqrt(size)
    coin = next_uniform(state, row, 4)
    other_coin = next_uniform(state, row, 4)
    length = min(ball.bound, math.sqrt(square))
    if not zero and length > 0.0:
        rounded_up = coin < 0.5 + 0.5 * length / ball.bound
        kept = other_coin < ball.keep
        if (along > 0.0) != (rounded_up == kept):
            scale = -scale
    for k in range(response.shape[0]):
        response[k] *= scale


@inlined
def _reset(learner: Learner, memory: Memory) -> None:
    memory.estimate[:] = 0.0


@inlined
def _learn(learner: Learner, memory: Memory, users: Users, row: int, at: int, t: int, arm: int, reward: float) -> None:
    estimate, response = memory.estimate, memory.response
    models, d = estimate.shape
    model = row_of(arm, estimate)
    miss = mean_reward(learner.link, predictor(users.x, at, estimate, model)) - reward
    for k in range(d):
        memory.gradient[k] = miss * users.x[k, at]
    late = t + learner.offset
    length = learner.step / late if learner.decay == 1.0 else learner.step / late**learner.decay
    for i in range(models):
        if i != model and t <= learner.warm_up:
            continue
        release_into(learner.ball, users.state, row, memory.gradient, i != model, response)
        for k in range(d):
            estimate[i, k] -= length * (response[k] + learner.ridge * estimate[i, k])
        if learner.project < math.inf:
            norm = math.sqrt(dot(estimate, i, estimate, i))
            for k in range(d):
                estimate[i, k] *= min(1.0, learner.project / norm) if norm > 0.0 else 1.0
    if t == learner.warm_up:
        remember(estimate, memory.early)


@kernel
def play(state: np.ndarray, environment: Environment, learner: Learner, record: Record) -> None:
    """One trial per row of ``state``."""
    shape = (environment.models, environment.dimension)
    memory = Memory(np.empty(shape), np.empty(shape), np.empty(shape[1]), np.empty(shape[1]))
    users = users_of(environment, state, record.signal)
    play_users(_reset, greedy_after_warm_up, _learn, learner, memory, environment, users, record)


reset, learn = _reset, _learn  # for `kernels.late_contextual`; renamed, they would be new versions
