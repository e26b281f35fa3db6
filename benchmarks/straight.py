"""What the engine's kernels are measured against: the same games, written straight.

The compiled ones recompute the index of every arm at every step, from the same streams and therefore the same draws
as the engine's kernels. Bernoulli arms only; ``state`` has one stream per trial, ``means`` (trials, arms) the means by
the labels of the trial (`bandit_core.kernels.labels`). Each returns the pulls by these labels, shape (trials, arms).
"""

from __future__ import annotations

import math
import random

import numpy as np
from numba import njit

from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.laplace import laplace_noise


def by_arm(order: np.ndarray, pulls: np.ndarray) -> np.ndarray:
    """Pulls of the arms, from those of the labels that stand for them; shapes (trials, arms)."""
    found = np.empty(pulls.shape)
    np.put_along_axis(found, order, pulls, axis=1)
    return found


@njit(nogil=True, error_model="numpy")
def ucb(state, means, horizon):
    """UCB1: mean + sqrt(2 ln t / N)."""
    arms = means.shape[1]
    pulls = np.zeros((state.shape[0], arms))
    sums = np.empty(arms)
    for trial in range(state.shape[0]):
        counts = pulls[trial]
        sums[:] = 0.0
        for t in range(1, horizon + 1):
            bonus = 2.0 * math.log(t)
            best, chosen = -1.0, 0
            for arm in range(arms):
                if counts[arm] == 0.0:
                    chosen = arm
                    break
                index = sums[arm] / counts[arm] + math.sqrt(bonus / counts[arm])
                if index > best:
                    best, chosen = index, arm
            if next_uniform(state, trial, 0) < means[trial, chosen]:
                sums[chosen] += 1.0
            counts[chosen] += 1.0
    return pulls


@njit(nogil=True, error_model="numpy")
def bits(state, means, horizon, epsilon):
    """HeLDP-UCB-B with one budget: 1/2 + coth(eps/2)/2 (mean of +-1 bits) + coth(eps/2) sqrt(2 ln t / N)."""
    arms = means.shape[1]
    noise = 1.0 / math.tanh(0.5 * epsilon)
    chances = 0.5 + (means - 0.5) * (1.0 / noise)
    pulls = np.zeros((state.shape[0], arms))
    sums = np.empty(arms)
    for trial in range(state.shape[0]):
        counts = pulls[trial]
        sums[:] = 0.0
        for t in range(1, horizon + 1):
            bonus = 2.0 * noise * noise * math.log(t)
            best, chosen = -np.inf, 0
            for arm in range(arms):
                if counts[arm] == 0.0:
                    chosen = arm
                    break
                index = 0.5 + 0.5 * noise * (sums[arm] / counts[arm]) + math.sqrt(bonus / counts[arm])
                if index > best:
                    best, chosen = index, arm
            sums[chosen] += 1.0 if next_uniform(state, trial, 0) < chances[trial, chosen] else -1.0
            counts[chosen] += 1.0
    return pulls


@njit(nogil=True, error_model="numpy")
def laplace(state, means, horizon, epsilon):
    """HeLDP-UCB-L with one budget: mean + sqrt(2 ln t / N) + sqrt(32 ln t / (eps^2 N)), forced while N <= 4 ln t."""
    arms = means.shape[1]
    spread = 1.0 / epsilon * (1.0 / epsilon)
    floor_factor = 4.0 / epsilon**2
    pulls = np.zeros((state.shape[0], arms))
    sums = np.empty(arms)
    spreads = np.empty(arms)
    for trial in range(state.shape[0]):
        counts = pulls[trial]
        sums[:] = 0.0
        spreads[:] = 0.0
        for t in range(1, horizon + 1):
            level = math.log(t)
            best, chosen = -np.inf, 0
            for arm in range(arms):
                if spreads[arm] <= floor_factor * level:
                    chosen = arm
                    break
                index = (
                    sums[arm] / counts[arm]
                    + math.sqrt(2.0 * level / counts[arm])
                    + math.sqrt(32.0 * level * spreads[arm]) / counts[arm]
                )
                if index > best:
                    best, chosen = index, arm
            reward = 1.0 if next_uniform(state, trial, 0) < means[trial, chosen] else 0.0
            sums[chosen] += reward + laplace_noise(next_uniform(state, trial, 0), 1.0 / epsilon)
            spreads[chosen] += spread
            counts[chosen] += 1.0
    return pulls


@njit(nogil=True, error_model="numpy")
def bare_draws(state, means, horizon, noisy):
    """No learning at all: draw as many numbers as a step needs and add the response up; ``means`` (arms,)."""
    total = 0.0
    for trial in range(state.shape[0]):
        for _ in range(horizon):
            response = 1.0 if next_uniform(state, trial, 0) < means[0] else 0.0
            if noisy:
                response += laplace_noise(next_uniform(state, trial, 0), 1.0)
            total += response
    return total


def plain_python(means: list[float], horizon: int, seed: int) -> list[int]:
    """UCB1 for one trial as a textbook would write it."""
    draw = random.Random(seed).random
    arms = range(len(means))
    counts, sums = [0] * len(means), [0.0] * len(means)
    for t in range(1, horizon + 1):
        if t <= len(means):
            chosen = t - 1
        else:
            bonus = 2 * math.log(t)
            chosen = max(arms, key=lambda arm: sums[arm] / counts[arm] + math.sqrt(bonus / counts[arm]))
        sums[chosen] += draw() < means[chosen]
        counts[chosen] += 1
    return counts


def vectorised_numpy(means: np.ndarray, horizon: int, trials: int, seed: int) -> np.ndarray:
    """UCB1, all trials advancing together in NumPy."""
    generator = np.random.default_rng(seed)
    rows = np.arange(trials)
    counts, sums = np.zeros((trials, len(means))), np.zeros((trials, len(means)))
    for t in range(1, horizon + 1):
        if t <= len(means):
            chosen = np.full(trials, t - 1)
        else:
            chosen = np.argmax(sums / counts + np.sqrt(2 * math.log(t) / counts), axis=1)
        sums[rows, chosen] += generator.random(trials) < means[chosen]
        counts[rows, chosen] += 1
    return counts
