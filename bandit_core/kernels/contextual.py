"""What contextual learners share: the loop over users, the choice of an arm, and what a user lets the server see.

A learner is three pieces over two records of its own, its numbers (``learner``) and its ``memory``, of which only
``estimate`` (models, dimension) is read here:

* ``reset(learner, memory)`` before every trial;
* ``choose(learner, memory, x, t)``: the arm of user t, whose contexts ``x`` has;
* ``learn(learner, memory, users, row, t, arm, reward)``: what the server makes of it. Its noise comes from the second
  generator of the stream ``users.state[row]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from bandit_core.jit.decorators import expanded, inlined
from bandit_core.kernels.contexts import (
    Users,
    arms_of,
    dot,
    draw_contexts,
    draw_pool,
    draw_reward,
    draw_theta,
    find_means,
    predictor,
    row_of,
)
from bandit_core.kernels.linalg import quadratic
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
                draw_contexts(environment, users, row)
                arm = choose(learner, memory, users.x, t)
                top = find_means(environment.link, users)
                mean = users.means[arm]
                lost += top - mean
                good += mean == top
                record.pulls[row, users.order[arm]] += 1.0
                learn(learner, memory, users, row, t, arm, draw_reward(environment, users.state, row, mean))
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
def greedy_arm(x: np.ndarray, estimate: np.ndarray) -> int:
    """Arm with the largest estimated predictor; ties go to the lowest label (see `kernels.labels`)."""
    choice = 0
    best = -math.inf
    for arm in range(arms_of(x, estimate)):
        value = predictor(x, estimate, arm)
        if value > best:
            best = value
            choice = arm
    return choice


@inlined
def _surviving_arm(x: np.ndarray, estimate: np.ndarray, early: np.ndarray, spread: float) -> int:
    """Greedy arm among those whose early predictor is above the best early one less ``spread`` (elimination)."""
    top = -math.inf
    for arm in range(arms_of(x, early)):
        top = max(top, predictor(x, early, arm))
    choice = 0
    best = -math.inf
    for arm in range(arms_of(x, early)):
        if predictor(x, early, arm) > top - spread:
            value = predictor(x, estimate, arm)
            if value > best:
                best = value
                choice = arm
    return choice


@inlined
def greedy_after_warm_up(learner: Any, memory: Any, x: np.ndarray, t: int) -> int:
    """Round-robin up to ``learner.warm_up``, then greedy, among surviving arms where ``learner.spread`` is finite.

    ``memory.early`` has the estimates at the end of the warm-up.
    """
    if t <= learner.warm_up:
        return (t - 1) % arms_of(x, memory.estimate)
    if learner.spread < math.inf:
        return _surviving_arm(x, memory.estimate, memory.early, learner.spread)
    return greedy_arm(x, memory.estimate)


@inlined
def remember(estimate: np.ndarray, early: np.ndarray) -> None:
    """Keep the estimates of this moment."""
    for i in range(estimate.shape[0]):
        for k in range(estimate.shape[1]):
            early[i, k] = estimate[i, k]


@inlined
def optimistic_arm(x: np.ndarray, estimate: np.ndarray, inverses: np.ndarray, bonus: float) -> int:
    """Arm with the largest predictor plus ``bonus`` |x| in the norm of its model's matrix (of ``inverses``)."""
    choice = 0
    best = -math.inf
    for arm in range(arms_of(x, estimate)):
        square = quadratic(inverses[row_of(arm, estimate)], x, row_of(arm, x))
        index = predictor(x, estimate, arm) + bonus * math.sqrt(max(0.0, square))
        if index > best:
            best = index
            choice = arm
    return choice


@inlined
def shrunk(x: np.ndarray, i: int, bound: float, shared: np.ndarray) -> float:
    """Put row i of ``x`` into the ball of radius ``bound``: ``shared`` (1, dimension) receives it; returns the factor.

    Where the mean is linear the reward shrinks by the same factor, which keeps the model true.
    """
    norm = math.sqrt(dot(x, i, x, i))
    scale = bound / norm if norm > bound else 1.0
    for k in range(x.shape[1]):
        shared[0, k] = scale * x[i, k]
    return scale


@inlined
def clipped(value: float, bound: float) -> float:
    """The nearest number in [-bound, bound]."""
    return min(bound, max(-bound, value))


distance = _distance  # for `kernels.late_contextual`; renamed, it would be a new version
