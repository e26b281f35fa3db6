"""Contextual bandits: drawing theta, contexts and rewards, from the first generator of a stream.

Draws here depend on no choice of a policy, so all lines of an experiment meet the same users in the same trial.
Everything of a step is drawn in this order: context(s), then the reward's noise (none where there is none).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import int64

from bandit_core.jit.decorators import inlined, kernel, piece
from bandit_core.kernels.labels import draw_labels
from bandit_core.kernels.normals import normal
from bandit_core.kernels.streams import next_uniform
from bandit_core.spec.contexts import (
    CUBE,
    DISCRETE,
    GAUSSIAN,
    IDENTITY,
    LOGISTIC,
    MARGIN,
    POISSON_CAP,
    SPHERE,
    TABLE,
    Environment,
)

MOST_TRIES = 2000  # draws of a discrete type until its gap is large enough
SHIFT_TRIES = 20  # draws of a context whose two best arms stay the best when it is moved to their border


class Users(NamedTuple):
    """Where the users of a block of trials come from, and the present trial's: its arrays are filled again and again.

    With one parameter theta there is a context for each arm, else one context and a parameter for each arm. Arms are
    known by the labels of the trial (see `kernels.labels`).
    """

    state: np.ndarray  # (trials, 8) uint64, the streams
    signal: np.ndarray  # (2,) int64: stop asked for, steps done
    order: np.ndarray  # (arms,) int64, the arm that each label stands for
    theta: np.ndarray  # (models, dimension)
    pool: np.ndarray  # (points, vectors x dimension), the types of users of a discrete distribution
    x: np.ndarray  # (vectors, dimension), the context(s) of the present user
    means: np.ndarray  # (arms,), mean rewards for this user


@kernel
def users_of(environment: Environment, state: np.ndarray, signal: np.ndarray) -> Users:
    """The arrays, not filled yet."""
    arms, vectors, d = environment.arms, environment.vectors, environment.dimension
    theta, pool = np.empty((environment.models, d)), np.empty((environment.points, vectors * d))
    return Users(state, signal, np.empty(arms, np.int64), theta, pool, np.empty((vectors, d)), np.empty(arms))


@inlined
def dot(left: np.ndarray, i: int, right: np.ndarray, j: int) -> float:
    """Inner product of row i of ``left`` and row j of ``right``."""
    total = 0.0
    for k in range(left.shape[1]):
        total += left[i, k] * right[j, k]
    return total


@inlined
def row_of(arm: int, table: np.ndarray) -> int:
    """An arm's row among contexts or parameters, of which there is one for each arm, or one for all."""
    return arm if table.shape[0] > 1 else 0


@inlined
def arms_of(x: np.ndarray, theta: np.ndarray) -> int:
    """Number of arms for these contexts and parameters."""
    return max(x.shape[0], theta.shape[0])


@inlined
def predictor(x: np.ndarray, theta: np.ndarray, arm: int) -> float:
    """x . theta of an arm, for contexts (vectors, dimension) and parameters (models, dimension)."""
    return dot(x, row_of(arm, x), theta, row_of(arm, theta))


@inlined
def mean_reward(link: int, predicted: float) -> float:
    """mu(predicted)."""
    if link == IDENTITY:
        return predicted
    if link == LOGISTIC:
        return 1.0 / (1.0 + math.exp(-predicted))
    return math.exp(min(predicted, POISSON_CAP))


@piece
def _on_sphere(state: np.ndarray, row: int, x: np.ndarray, i: int) -> None:
    """Row i of ``x`` uniform on the unit sphere."""
    total = 0.0
    while total == 0.0:
        total = 0.0
        for k in range(x.shape[1]):
            x[i, k] = normal(state, row, 0)
            total += x[i, k] * x[i, k]
    norm = math.sqrt(total)
    for k in range(x.shape[1]):
        x[i, k] /= norm  # by division: exactly +-1 in one dimension, so that equal arms are equal


@piece
def draw_theta(environment: Environment, users: Users, row: int) -> None:
    """The labels of this trial, and its parameters: given (one row, or one for each arm), or uniform on the sphere."""
    given, theta = environment.theta, users.theta
    draw_labels(users.state, row, users.order)
    for i in range(theta.shape[0]):
        if given.shape[0] > 0:
            for k in range(theta.shape[1]):
                theta[i, k] = given[users.order[i] if theta.shape[0] > 1 else i, k]
        else:
            _on_sphere(users.state, row, theta, i)


@inlined
def _axis(theta: np.ndarray, norm: float, k: int) -> float:
    """Feature k of the direction of a single theta of this norm; any direction where theta is 0."""
    return theta[0, k] / norm if norm > 0.0 else (1.0 if k == 0 else 0.0)


@piece
def _margin_of_contexts(state: np.ndarray, row: int, theta: np.ndarray, x: np.ndarray, gap: float) -> None:
    """One parameter: unit contexts whose components along theta have exactly this gap between the best two."""
    arms, d = x.shape
    norm = math.sqrt(dot(theta, 0, theta, 0))
    middle = (2.0 * next_uniform(state, row, 0) - 1.0) * (1.0 - 0.5 * gap)
    second = middle - 0.5 * gap
    best = int64(next_uniform(state, row, 0) * arms)
    runner = (best + 1 + int64(next_uniform(state, row, 0) * (arms - 1))) % arms
    for arm in range(arms):
        level = -1.0 + next_uniform(state, row, 0) * (second + 1.0)
        if arm == best:
            level = middle + 0.5 * gap
        elif arm == runner:
            level = second
        _on_sphere(state, row, x, arm)
        along = 0.0
        for k in range(d):
            along += x[arm, k] * _axis(theta, norm, k)
        across = 0.0
        for k in range(d):
            x[arm, k] -= along * _axis(theta, norm, k)
            across += x[arm, k] * x[arm, k]
        stretch = math.sqrt(max(0.0, 1.0 - level * level) / across) if across > 1e-300 and d > 1 else 0.0
        for k in range(d):
            x[arm, k] = stretch * x[arm, k] + level * _axis(theta, norm, k)


@piece
def _top_two(theta: np.ndarray, x: np.ndarray) -> tuple[int, int, float]:
    """Best arm, second arm and their gap, for one context and a parameter for each arm."""
    best = 0
    second = -1
    top = dot(x, 0, theta, 0)
    next_top = -math.inf
    for arm in range(1, theta.shape[0]):
        value = dot(x, 0, theta, arm)
        if value > top:
            second = best
            next_top = top
            best = arm
            top = value
        elif value > next_top:
            second = arm
            next_top = value
    return best, second, top - next_top


@piece
def _margin_of_parameters(state: np.ndarray, row: int, theta: np.ndarray, x: np.ndarray, gap: float) -> None:
    """A parameter for each arm: a context moved towards the border of its two best arms until their gap is ``gap``."""
    for _ in range(SHIFT_TRIES):
        _on_sphere(state, row, x, 0)
        best, second, found = _top_two(theta, x)
        if found <= gap:
            return
        square = 0.0
        for k in range(x.shape[1]):
            square += (theta[best, k] - theta[second, k]) ** 2
        step = (found - gap) / square
        for k in range(x.shape[1]):
            x[0, k] -= step * (theta[best, k] - theta[second, k])
        now_best, now_second, _ = _top_two(theta, x)
        if now_best == best and now_second == second:
            return
    _on_sphere(state, row, x, 0)


@inlined
def _gap_of(beta: float, smallest: float, uniform: float) -> float:
    """Inverse of (h^beta - m^beta) / (1 - m^beta); m^(1-u) at beta = 0."""
    if beta == 0.0:
        return smallest ** (1.0 - uniform)
    low = smallest**beta
    return (low + uniform * (1.0 - low)) ** (1.0 / beta)


@piece
def draw_pool(environment: Environment, users: Users, row: int) -> None:
    """The types of a discrete distribution, drawn once for this trial; fewer where a stop is asked for."""
    if environment.distribution != DISCRETE:
        return
    state, theta, x, pool = users.state, users.theta, users.x, users.pool
    least = environment.form[1]
    vectors, d = x.shape
    for point in range(pool.shape[0]):
        if users.signal[0] != 0:
            return
        if theta.shape[0] == 1:
            _margin_of_contexts(state, row, theta, x, least + (1.0 - least) * next_uniform(state, row, 0))
            for i in range(vectors):
                for k in range(d):
                    pool[point, i * d + k] = x[i, k]
            continue
        largest = -1.0
        for _ in range(MOST_TRIES):
            _on_sphere(state, row, x, 0)
            _, _, gap = _top_two(theta, x)
            if gap > largest:
                largest = gap
                for k in range(d):
                    pool[point, k] = x[0, k]
            if gap >= least:
                break


@inlined
def _from_table(environment: Environment, users: Users, user: int) -> None:
    """The context(s) of one row of the table."""
    table, actions, x = environment.table, environment.actions, users.x
    vectors, d = x.shape
    half = d // 2
    for i in range(vectors):
        arm = users.order[i] if vectors > 1 else i
        for k in range(d):
            if actions.shape[0] == 0:
                x[i, k] = table[user, arm * d + k]
            elif k < half:
                x[i, k] = table[user, k]
            else:
                x[i, k] = actions[arm] * table[user, k - half]


@inlined
def draw_contexts(environment: Environment, users: Users, row: int) -> None:  # noqa: C901 (one step, whose parts go on from the same numbers)
    """The context(s) of the next user."""
    state, x = users.state, users.x
    distribution, form = environment.distribution, environment.form
    vectors, d = x.shape
    if distribution == SPHERE:
        for i in range(vectors):
            _on_sphere(state, row, x, i)
    elif distribution == GAUSSIAN:
        for i in range(vectors):
            for k in range(d):
                x[i, k] = form[0] * normal(state, row, 0)
    elif distribution == CUBE:
        for i in range(vectors):
            for k in range(d):
                x[i, k] = form[0] * (2.0 * next_uniform(state, row, 0) - 1.0)
    elif distribution == MARGIN:
        gap = _gap_of(form[0], form[1], next_uniform(state, row, 0))
        if users.theta.shape[0] == 1:
            _margin_of_contexts(state, row, users.theta, x, gap)
        else:
            _margin_of_parameters(state, row, users.theta, x, gap)
    elif distribution == DISCRETE:
        point = int64(next_uniform(state, row, 0) * users.pool.shape[0])
        for i in range(vectors):
            for k in range(d):
                x[i, k] = users.pool[point, i * d + k]
    elif distribution == TABLE:
        _from_table(environment, users, int64(next_uniform(state, row, 0) * environment.table.shape[0]))


@inlined
def find_means(link: int, users: Users) -> float:
    """Mean reward of every arm for the present user, into ``users.means``; returns the largest."""
    x, theta, means = users.x, users.theta, users.means
    top = -math.inf
    for arm in range(means.shape[0]):
        means[arm] = mean_reward(link, predictor(x, theta, arm))
        top = max(top, means[arm])
    return top


@inlined
def _count(mean: float, uniform: float) -> float:
    """Poisson variable by inversion (means are at most e^5, so that e^-mean is far from 0)."""
    mass = math.exp(-mean)
    total = mass
    count = 0
    while uniform >= total and mass > 0.0:
        count += 1
        mass *= mean / count
        total += mass
    return float(count)


@inlined
def draw_reward(environment: Environment, state: np.ndarray, row: int, mean: float) -> float:
    """The reward of an arm of this mean; takes the same draws whatever the mean is."""
    if environment.drawn:
        uniform = next_uniform(state, row, 0)
        if environment.link == LOGISTIC:
            return 1.0 if uniform < mean else 0.0
        return _count(mean, uniform)
    if environment.noise > 0.0:
        return mean + environment.noise * normal(state, row, 0)
    return mean
