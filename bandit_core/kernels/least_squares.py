"""Least squares by features: private and greedy (LDP-OLS), and without privacy by rank-one updates.

Private: every release adds a noise matrix of full rank, so no rank-one formula applies, and a fresh solution costs
d^3/6 multiplications. The server's sums may be refreshed at growing intervals instead: after step t the next solution
is due at t + max(1, floor(refresh t)). Between solutions only the sum of the noise matters, and a sum of n normal
variables of variance s^2 is one of variance n s^2: it is drawn at once when it is needed. With refresh = 0 both happen
at every step, exactly as the policy is defined.
"""

from __future__ import annotations

import math

import numpy as np

from bandit_core.jit.decorators import inlined, kernel, piece
from bandit_core.kernels.contexts import (
    chosen_arm,
    distance,
    dot,
    draw_contexts,
    draw_pool,
    draw_theta,
    greedy_arm,
    played,
    shrunk,
)
from bandit_core.kernels.linalg import factorise, quadratic, solve_factored, solve_indefinite
from bandit_core.kernels.normals import normal


@inlined
def next_due(t, refresh):
    """When the solution after step t is to be renewed."""
    return t + max(1, int(refresh * t))


@piece
def add_noise(state, row, matrix, vector, at, releases, matrix_sd, vector_sd):
    """Add the noise of some releases at once: to the upper triangle, then to row ``at`` of ``vector``."""
    size = matrix.shape[0]
    scale = math.sqrt(releases)
    for i in range(size):
        for j in range(i, size):
            matrix[i, j] += scale * matrix_sd * normal(state, row, 4)
    for i in range(size):
        vector[at, i] += scale * vector_sd * normal(state, row, 4)


@kernel
def private(
    state, world, pool, arms, models, vectors, d, bound, reward_bound, matrix_sd, vector_sd, shift, refresh, warm_up,
    spread, checkpoints, regret, best_pulls, pulls, error, signal,
):  # fmt: skip
    """LDP-OLS: one trial per row of ``state``, filling the outputs at the checkpoints.

    ``shift`` is the coefficient of sqrt(releases) I; ``warm_up`` counts round-robin steps (several parameters only);
    ``spread`` is h/2 of the elimination, infinite without.
    """
    theta = np.empty((models, d))
    x = np.empty((vectors, d))
    arm_means = np.empty(arms)
    order = np.empty(arms, np.int64)
    shared = np.empty(d)
    grams = np.empty((models, d, d))
    moments = np.empty((models, d))
    estimate = np.empty((models, d))
    early = np.empty((models, d))
    work = np.empty((d, d))
    releases = np.empty(models)
    owed = np.empty(models)
    for trial in range(state.shape[0]):
        draw_theta(world, state, trial, order, theta)
        draw_pool(world, state, trial, theta, x, pool, signal)
        grams[:] = 0.0
        moments[:] = 0.0
        estimate[:] = 0.0
        releases[:] = 0.0
        owed[:] = 0.0
        lost = 0.0
        good = 0.0
        due = 1
        t = 1
        for checkpoint in range(checkpoints.shape[0]):
            started = t
            while t <= checkpoints[checkpoint]:
                draw_contexts(world, state, trial, order, theta, pool, x)
                arm = chosen_arm(t, warm_up, spread, estimate, early, x, arms)
                loss, best_played, reward = played(world, state, trial, order, theta, x, arm, arm_means, pulls)
                lost += loss
                good += best_played
                reward = shrunk(x, arm if vectors > 1 else 0, reward, bound, reward_bound, True, shared)
                model = arm if models > 1 else 0
                for i in range(d):
                    moments[model, i] += reward * shared[i]
                    for j in range(i, d):
                        grams[model, i, j] += shared[i] * shared[j]
                if models > 1 and t <= warm_up:
                    owed[model] += 1.0
                else:  # those who were not chosen release noisy zeros, so that nobody sees who was
                    for i in range(models):
                        owed[i] += 1.0
                if t >= due or t == warm_up:
                    due = next_due(t, refresh)
                    for i in range(models):
                        if owed[i] == 0.0 or signal[0] != 0:
                            continue
                        add_noise(state, trial, grams[i], moments, i, owed[i], matrix_sd, vector_sd)
                        releases[i] += owed[i]
                        owed[i] = 0.0
                        ridge = shift * math.sqrt(releases[i])
                        if factorise(grams[i], ridge, work, signal):
                            solve_factored(work, moments, i, estimate, i)
                        elif not solve_indefinite(grams[i], ridge, moments, i, work, estimate, i):
                            estimate[i, :] = 0.0
                    if t == warm_up:
                        early[:] = estimate
                t += 1
            regret[trial, checkpoint] = lost
            best_pulls[trial, checkpoint] = good
            error[trial, checkpoint] = distance(estimate, theta)
            signal[1] += t - started
            if signal[0] != 0:
                return


@kernel
def exact(
    state, world, pool, arms, models, vectors, d, ridge, width, warm_up, checkpoints, regret, best_pulls, pulls, error,
    signal,
):  # fmt: skip
    """Without privacy: ridge regression by rank-one updates of the inverse, index x.theta + width |x|_inverse."""
    theta = np.empty((models, d))
    x = np.empty((vectors, d))
    arm_means = np.empty(arms)
    order = np.empty(arms, np.int64)
    inverses = np.empty((models, d, d))
    image = np.empty(d)
    estimate = np.empty((models, d))
    for trial in range(state.shape[0]):
        draw_theta(world, state, trial, order, theta)
        draw_pool(world, state, trial, theta, x, pool, signal)
        estimate[:] = 0.0
        inverses[:] = 0.0
        for model in range(models):
            for i in range(d):
                inverses[model, i, i] = 1.0 / ridge
        lost = 0.0
        good = 0.0
        t = 1
        for checkpoint in range(checkpoints.shape[0]):
            started = t
            while t <= checkpoints[checkpoint]:
                draw_contexts(world, state, trial, order, theta, pool, x)
                if models > 1 and t <= warm_up:
                    arm = (t - 1) % arms
                elif width > 0.0:
                    arm = 0
                    best = -math.inf
                    for other in range(arms):
                        at = other if vectors > 1 else 0
                        model = other if models > 1 else 0
                        index = dot(x, at, estimate, model)
                        index += width * math.sqrt(max(0.0, quadratic(inverses[model], 0, x, at)))
                        if index > best:
                            best = index
                            arm = other
                else:
                    arm = greedy_arm(estimate, x, arms)
                loss, best_played, reward = played(world, state, trial, order, theta, x, arm, arm_means, pulls)
                lost += loss
                good += best_played
                at = arm if vectors > 1 else 0
                model = arm if models > 1 else 0
                spread = 1.0
                miss = reward - dot(x, at, estimate, model)
                for i in range(d):
                    total = 0.0
                    for j in range(d):
                        total += inverses[model, i, j] * x[at, j]
                    image[i] = total
                    spread += total * x[at, i]
                for i in range(d):
                    estimate[model, i] += image[i] * miss / spread
                    for j in range(d):
                        inverses[model, i, j] -= image[i] * image[j] / spread
                t += 1
            regret[trial, checkpoint] = lost
            best_pulls[trial, checkpoint] = good
            error[trial, checkpoint] = distance(estimate, theta)
            signal[1] += t - started
            if signal[0] != 0:
                return
