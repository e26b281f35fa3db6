"""What contextual learners share: the loop over users, the choice of an arm, and what a user lets the server see.

A learner is three pieces over two records of its own, its numbers (``learner``) and its ``memory``, of which only
``estimate`` (models, dimension) is read here:

* ``reset(learner, memory)`` before every trial;
* ``choose(learner, memory, users, user, t)``: the arm of user t, who is number ``user`` of the present block;
* ``learn(learner, memory, users, row, at, t, arm, reward)``: what the server makes of it and of the arm's context,
  column ``at`` of ``users.x``. Its noise comes from the second generator of the stream ``users.state[row]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import uint64

from bandit_core.jit.decorators import expanded, inlined
from bandit_core.kernels.contexts import (
    Users,
    column_of,
    draw_pool,
    draw_reward,
    draw_theta,
    largest_mean,
    meet,
    predict,
    predictor,
)
from bandit_core.model import Record
from bandit_core.spec.contexts import Environment


@expanded
def play_users(
    reset: Callable[..., None],
    choose: Callable[..., int],
    learn: Callable[..., None],
    learner: Any,
    memory: Any,
    environment: Environment,
    users: Users,
    record: Record,
) -> None:
    """Play one trial per row of ``users.state``, filling the record at the checkpoints."""
    for row in range(users.state.shape[0]):
        draw_theta(environment, users, row)
        draw_pool(environment, users, row)
        reset(learner, memory)
        lost = 0.0
        good = 0.0
        done = 0
        for checkpoint in range(record.checkpoints.shape[0]):
            until = record.checkpoints[checkpoint]
            for t in range(done + 1, until + 1):
                user = meet(environment, users, row, t)
                arm = choose(learner, memory, users, user, t)
                top = largest_mean(users, user)
                mean = users.means[user, arm]
                lost += top - mean
                good += mean == top
                record.pulls[row, users.order[arm]] += 1.0
                reward = draw_reward(environment, users.state, row, mean)
                learn(learner, memory, users, row, column_of(users, user, arm), t, arm, reward)
            record.regret[row, checkpoint] = lost
            record.best_pulls[row, checkpoint] = good
            record.error[row, checkpoint] = _distance(memory.estimate, users.theta)
            record.signal[1] += until - done
            done = until
            if record.signal[0] != 0:
                return


@inlined
def _distance(estimate: np.ndarray, theta: np.ndarray) -> float:
    """Root mean square, over the parameters, of the Euclidean distance."""
    total = 0.0
    for i in range(theta.shape[0]):
        for k in range(theta.shape[1]):
            total += (estimate[i, k] - theta[i, k]) ** 2
    return math.sqrt(total / theta.shape[0])


@inlined
def highest(scores: np.ndarray, arms: int) -> int:
    """The arm with the largest score; ties go to the lowest label (see `kernels.labels`)."""
    choice, top = 0, scores[0]
    for arm in range(1, arms):  # without branches, which would be mispredicted about twice
        score = scores[uint64(arm)]
        choice = arm if score > top else choice
        top = score if score > top else top
    return choice


@inlined
def greedy_arm(users: Users, user: int, estimate: np.ndarray) -> int:
    """Arm with the largest estimated predictor."""
    predict(users, user, estimate)
    return highest(users.scores, users.order.shape[0])


@inlined
def _surviving_arm(users: Users, user: int, estimate: np.ndarray, early: np.ndarray, spread: float) -> int:
    """Greedy arm among those whose early predictor is above the best early one less ``spread`` (elimination)."""
    scores, arms = users.scores, early.shape[0]
    predict(users, user, early)
    bar = scores[highest(scores, arms)] - spread
    for arm in range(arms):
        scores[arm] = predictor(users.x, user, estimate, arm) if scores[arm] > bar else -math.inf
    return highest(scores, arms)


@inlined
def greedy_after_warm_up(learner: Any, memory: Any, users: Users, user: int, t: int) -> int:
    """Round-robin up to ``learner.warm_up``, then greedy, among surviving arms where ``learner.spread`` is finite.

    ``memory.early`` has the estimates at the end of the warm-up.
    """
    if t <= learner.warm_up:
        return (t - 1) % users.order.shape[0]
    if learner.spread < math.inf:
        return _surviving_arm(users, user, memory.estimate, memory.early, learner.spread)
    return greedy_arm(users, user, memory.estimate)


@inlined
def remember(estimate: np.ndarray, early: np.ndarray) -> None:
    """Keep the estimates of this moment."""
    for i in range(estimate.shape[0]):
        for k in range(estimate.shape[1]):
            early[i, k] = estimate[i, k]


@inlined
def shrunk(x: np.ndarray, at: int, bound: float, shared: np.ndarray) -> float:
    """Put column ``at`` of ``x`` into the ball of radius ``bound``: ``shared`` (dimension,) receives it.

    Returns the factor. Where the mean is linear the reward shrinks by it, too, which keeps the model true.
    """
    square = 0.0
    for k in range(x.shape[0]):
        square += x[k, at] * x[k, at]
    norm = math.sqrt(square)
    scale = bound / norm if norm > bound else 1.0
    for k in range(x.shape[0]):
        shared[k] = scale * x[k, at]
    return scale


@inlined
def clipped(value: float, bound: float) -> float:
    """The nearest number in [-bound, bound]."""
    return min(bound, max(-bound, value))


distance = _distance  # for `kernels.late_contextual`; renamed, it would be a new version
