"""Private optimism (Zheng et al. 2020): LDP-LinUCB and LDP-GLOC, in dimension D = d, or d x arms in blocks.

With a parameter for each arm a context stands in the block of its arm and the released matrix is D x D, noise
everywhere. Solutions and noise are refreshed as in `least_squares`: with refresh = 0 at every step, else at growing
intervals, with c_t and beta_t of the step when it was solved.
"""

from __future__ import annotations

import math

import numpy as np

from bandit_core.jit.decorators import kernel
from bandit_core.kernels.contexts import (
    distance,
    dot,
    draw_contexts,
    draw_pool,
    draw_theta,
    mean_reward,
    played,
    shrunk,
)
from bandit_core.kernels.least_squares import add_noise, next_due
from bandit_core.kernels.linalg import factorise, invert_factored, quadratic, solve_factored
from bandit_core.kernels.normals import normal


@kernel
def play(
    state, world, pool, arms, models, vectors, d, bound, reward_bound, sd, level, horizon_log, gloc, zeta,
    slope, refresh, checkpoints, regret, best_pulls, pulls, error, signal,
):  # fmt: skip
    """One trial per row of ``state``, filling the outputs at the checkpoints.

    ``sd`` is the noise of every released number, ``level`` = 4 sqrt(D) + 2 ln(2T/alpha), ``horizon_log`` = ln T.
    ``gloc`` switches from LinUCB to GLOC, with gradient step ``zeta`` and least slope ``slope`` of the link.
    """
    theta = np.empty((models, d))
    x = np.empty((vectors, d))
    arm_means = np.empty(arms)
    order = np.empty(arms, np.int64)
    shared = np.empty(d)
    size = models * d
    gram = np.empty((size, size))
    factor = np.empty((size, size))
    inverse = np.empty((size, size))
    moment = np.empty((1, size))
    whole = np.empty((1, size))
    estimate = np.empty((models, d))
    online = np.empty((models, d))
    link = world[5]
    linear = link == 0
    for trial in range(state.shape[0]):
        draw_theta(world, state, trial, order, theta)
        draw_pool(world, state, trial, theta, x, pool, signal)
        gram[:] = 0.0
        moment[:] = 0.0
        estimate[:] = 0.0
        online[:] = 0.0
        inverse[:] = 0.0
        bonus = 0.0
        owed = 0.0
        lost = 0.0
        good = 0.0
        due = 1
        t = 1
        for checkpoint in range(checkpoints.shape[0]):
            started = t
            while t <= checkpoints[checkpoint]:
                draw_contexts(world, state, trial, order, theta, pool, x)
                arm = 0
                best = -math.inf
                for other in range(arms):
                    at = other if vectors > 1 else 0
                    model = other if models > 1 else 0
                    index = dot(x, at, estimate, model)
                    index += bonus * math.sqrt(max(0.0, quadratic(inverse, model * d, x, at)))
                    if index > best:
                        best = index
                        arm = other
                loss, best_played, reward = played(world, state, trial, order, theta, x, arm, arm_means, pulls)
                lost += loss
                good += best_played
                at = arm if vectors > 1 else 0
                model = arm if models > 1 else 0
                reward = shrunk(x, at, reward, bound, reward_bound, linear, shared)
                start = model * d
                weight = reward
                if gloc:
                    predictor = 0.0
                    square = 0.0
                    for k in range(d):
                        predictor += online[model, k] * shared[k]
                        square += shared[k] * shared[k]
                    miss = mean_reward(link, min(5.0, max(-5.0, predictor))) - reward
                    length = abs(miss) * math.sqrt(square)
                    if length > 1.0:  # the gradient's noise is meant for norms of at most 1
                        miss /= length
                    for i in range(models):
                        for k in range(d):
                            pull = miss * shared[k] if i == model else 0.0
                            online[i, k] -= zeta * (pull + sd * normal(state, trial, 4))
                    predictor = 0.0
                    for k in range(d):
                        predictor += online[model, k] * shared[k]
                    weight = min(1.0, max(-1.0, predictor))  # and so is that of (x . theta) x
                for i in range(d):
                    moment[0, start + i] += weight * shared[i]
                    for j in range(i, d):
                        gram[start + i, start + j] += shared[i] * shared[j]
                owed += 1.0
                if t >= due:
                    due = next_due(t, refresh)
                    add_noise(state, trial, gram, moment, 0, owed, sd, sd)
                    owed = 0.0
                    upsilon = sd * math.sqrt(t) * level
                    if factorise(gram, 2.0 * upsilon, factor, signal):  # else the last solution stands
                        solve_factored(factor, moment, 0, whole, 0)
                        invert_factored(factor, inverse, signal)
                        for i in range(models):
                            for k in range(d):
                                estimate[i, k] = whole[0, i * d + k]
                        if gloc:
                            bonus = math.sqrt(sd / slope * math.sqrt(size * t))
                        else:
                            bonus = 2.0 * sd * math.sqrt(size * horizon_log)
                            bonus += (
                                (math.sqrt(3.0 * upsilon) + sd * math.sqrt(size * t / upsilon)) * size * horizon_log
                            )
                t += 1
            regret[trial, checkpoint] = lost
            best_pulls[trial, checkpoint] = good
            error[trial, checkpoint] = distance(estimate, theta)
            signal[1] += t - started
            if signal[0] != 0:
                return
