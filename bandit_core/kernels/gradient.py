"""LDP-SGD: one private gradient step for each user, released through the l2-ball mechanism.

A response is a point on a sphere of radius ``reach``. It is uniform on the sphere and then turned to the side that two
coins choose, which is the same distribution as drawing the half sphere first. At a zero gradient (synthetic updates of
arms that were not chosen) it stays where it is.
"""

from __future__ import annotations

import math

import numpy as np

from bandit_core.jit.decorators import kernel, piece
from bandit_core.kernels.contexts import (
    chosen_arm,
    distance,
    dot,
    draw_contexts,
    draw_pool,
    draw_theta,
    mean_reward,
    played,
)
from bandit_core.kernels.normals import normal
from bandit_core.kernels.streams import next_uniform


@piece
def release_into(state, row, gradient, zero, limit, keep, reach, response):
    """Respond to ``gradient`` (clipped to norm ``limit``), or to 0, by a point on the sphere of radius ``reach``.

    Draws the direction first, then two coins, from the second generator; ``keep`` = e^eps / (e^eps + 1).
    """
    size = 0.0
    while size == 0.0:
        size = 0.0
        for k in range(response.shape[0]):
            response[k] = normal(state, row, 4)
            size += response[k] * response[k]
    scale = reach / math.sqrt(size)
    coin = next_uniform(state, row, 4)
    other_coin = next_uniform(state, row, 4)
    if not zero:
        square = 0.0
        along = 0.0
        for k in range(response.shape[0]):
            square += gradient[k] * gradient[k]
            along += gradient[k] * response[k]
        length = min(limit, math.sqrt(square))
        if length > 0.0:
            rounded_up = coin < 0.5 + 0.5 * length / limit
            kept = other_coin < keep
            if (along > 0.0) != (rounded_up == kept):
                scale = -scale
    for k in range(response.shape[0]):
        response[k] *= scale


@kernel
def play(
    state, world, pool, arms, models, vectors, d, limit, keep, reach, step, offset, decay, ridge, project, warm_up,
    spread, checkpoints, regret, best_pulls, pulls, error, signal,
):  # fmt: skip
    """One trial per row of ``state``, filling the outputs at the checkpoints. The step is step / (t + offset)^decay."""
    theta = np.empty((models, d))
    x = np.empty((vectors, d))
    arm_means = np.empty(arms)
    order = np.empty(arms, np.int64)
    gradient = np.empty(d)
    response = np.empty(d)
    estimate = np.empty((models, d))
    early = np.empty((models, d))
    link = world[5]
    for trial in range(state.shape[0]):
        draw_theta(world, state, trial, order, theta)
        draw_pool(world, state, trial, theta, x, pool, signal)
        estimate[:] = 0.0
        early[:] = 0.0
        lost = 0.0
        good = 0.0
        t = 1
        for checkpoint in range(checkpoints.shape[0]):
            started = t
            while t <= checkpoints[checkpoint]:
                draw_contexts(world, state, trial, order, theta, pool, x)
                arm = chosen_arm(t, warm_up, spread, estimate, early, x, arms)
                loss, best_played, reward = played(world, state, trial, order, theta, x, arm, arm_means, pulls)
                lost += loss
                good += best_played
                at = arm if vectors > 1 else 0
                model = arm if models > 1 else 0
                miss = mean_reward(link, dot(x, at, estimate, model)) - reward
                for k in range(d):
                    gradient[k] = miss * x[at, k]
                length = step / (t + offset) if decay == 1.0 else step / (t + offset) ** decay
                for i in range(models):
                    if i != model and t <= warm_up:
                        continue
                    release_into(state, trial, gradient, i != model, limit, keep, reach, response)
                    for k in range(d):
                        estimate[i, k] -= length * (response[k] + ridge * estimate[i, k])
                    if project < math.inf:
                        norm = math.sqrt(dot(estimate, i, estimate, i))
                        for k in range(d):
                            estimate[i, k] *= min(1.0, project / norm) if norm > 0.0 else 1.0
                if t == warm_up:
                    early[:] = estimate
                t += 1
            regret[trial, checkpoint] = lost
            best_pulls[trial, checkpoint] = good
            error[trial, checkpoint] = distance(estimate, theta)
            signal[1] += t - started
            if signal[0] != 0:
                return
