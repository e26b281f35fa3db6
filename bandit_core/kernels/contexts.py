"""Users with features: drawing theta, contexts and rewards, from the first generator of a stream.

``world`` is `contexts.Contexts.kernel_form`: (distribution, its numbers, table, actions, given theta, link, noise,
drawn). Draws here depend on no choice of a policy, so all lines of an experiment meet the same users in the same trial.
Everything of a step is drawn in this order: context(s), then the reward's noise (none where there is none). ``theta``
is (models, d): one row, or one for each arm; ``x`` is (vectors, d): one row for each arm, or one.
"""

from __future__ import annotations

import math

from numba import int64

from bandit_core.jit.decorators import inlined, piece
from bandit_core.kernels.labels import draw_labels
from bandit_core.kernels.normals import normal
from bandit_core.kernels.streams import next_uniform
from bandit_core.spec.contexts import CUBE, DISCRETE, GAUSSIAN, IDENTITY, LOGISTIC, MARGIN, POISSON_CAP, SPHERE, TABLE

MOST_TRIES = 2000  # draws of a discrete type until its gap is large enough
SHIFT_TRIES = 20  # draws of a context whose two best arms stay the best when it is moved to their border


@inlined
def dot(left, i, right, j):
    """Inner product of row i of ``left`` and row j of ``right``."""
    total = 0.0
    for k in range(left.shape[1]):
        total += left[i, k] * right[j, k]
    return total


@inlined
def mean_reward(link, predictor):
    """mu(predictor)."""
    if link == IDENTITY:
        return predictor
    if link == LOGISTIC:
        return 1.0 / (1.0 + math.exp(-predictor))
    return math.exp(min(predictor, POISSON_CAP))


@piece
def _on_sphere(state, row, x, i):
    """Row i uniform on the unit sphere."""
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
def draw_theta(world, state, row, order, theta):
    """The labels of this trial, and its parameters: given (one row, or one for each arm), or uniform on the sphere."""
    draw_labels(state, row, order)
    given = world[4]
    for i in range(theta.shape[0]):
        if given.shape[0] > 0:
            for k in range(theta.shape[1]):
                theta[i, k] = given[order[i] if theta.shape[0] > 1 else i, k]
        else:
            _on_sphere(state, row, theta, i)


@piece
def _margin_of_contexts(state, row, theta, x, gap):
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
            axis = theta[0, k] / norm if norm > 0.0 else (1.0 if k == 0 else 0.0)
            along += x[arm, k] * axis
        across = 0.0
        for k in range(d):
            axis = theta[0, k] / norm if norm > 0.0 else (1.0 if k == 0 else 0.0)
            x[arm, k] -= along * axis
            across += x[arm, k] * x[arm, k]
        stretch = math.sqrt(max(0.0, 1.0 - level * level) / across) if across > 1e-300 and d > 1 else 0.0
        for k in range(d):
            axis = theta[0, k] / norm if norm > 0.0 else (1.0 if k == 0 else 0.0)
            x[arm, k] = stretch * x[arm, k] + level * axis


@piece
def _top_two(theta, x):
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
def _margin_of_parameters(state, row, theta, x, gap):
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
def _gap_of(beta, smallest, uniform):
    """Inverse of (h^beta - m^beta) / (1 - m^beta); m^(1-u) at beta = 0."""
    if beta == 0.0:
        return smallest ** (1.0 - uniform)
    low = smallest**beta
    return (low + uniform * (1.0 - low)) ** (1.0 / beta)


@piece
def draw_pool(world, state, row, theta, x, pool, signal):
    """The types of a discrete distribution, drawn once for this trial: rows of ``pool``, (points, vectors x d)."""
    if world[0] != DISCRETE:
        return
    least = world[1][1]
    d = x.shape[1]
    for point in range(pool.shape[0]):
        if signal[0] != 0:
            return
        if theta.shape[0] == 1:
            gap = least + (1.0 - least) * next_uniform(state, row, 0)
            _margin_of_contexts(state, row, theta, x, gap)
            for i in range(x.shape[0]):
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


@piece
def draw_contexts(world, state, row, order, theta, pool, x):
    """The context(s) of the next user."""
    distribution = world[0]
    form = world[1]
    rows, d = x.shape
    if distribution == SPHERE:
        for i in range(rows):
            _on_sphere(state, row, x, i)
    elif distribution == GAUSSIAN:
        for i in range(rows):
            for k in range(d):
                x[i, k] = form[0] * normal(state, row, 0)
    elif distribution == CUBE:
        for i in range(rows):
            for k in range(d):
                x[i, k] = form[0] * (2.0 * next_uniform(state, row, 0) - 1.0)
    elif distribution == MARGIN:
        gap = _gap_of(form[0], form[1], next_uniform(state, row, 0))
        if theta.shape[0] == 1:
            _margin_of_contexts(state, row, theta, x, gap)
        else:
            _margin_of_parameters(state, row, theta, x, gap)
    elif distribution == DISCRETE:
        point = int64(next_uniform(state, row, 0) * pool.shape[0])
        for i in range(rows):
            for k in range(d):
                x[i, k] = pool[point, i * d + k]
    elif distribution == TABLE:
        table = world[2]
        actions = world[3]
        user = int64(next_uniform(state, row, 0) * table.shape[0])
        half = d // 2
        for i in range(rows):
            arm = order[i] if rows > 1 else i
            for k in range(d):
                if actions.shape[0] == 0:
                    x[i, k] = table[user, arm * d + k]
                elif k < half:
                    x[i, k] = table[user, k]
                else:
                    x[i, k] = actions[arm] * table[user, k - half]


@inlined
def _count(mean, uniform):
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
def draw_reward(world, state, row, mean):
    """The reward of an arm of this mean; takes the same draws whatever the mean is."""
    if world[7]:
        uniform = next_uniform(state, row, 0)
        if world[5] == LOGISTIC:
            return 1.0 if uniform < mean else 0.0
        return _count(mean, uniform)
    if world[6] > 0.0:
        return mean + world[6] * normal(state, row, 0)
    return mean


@inlined
def means_of(world, theta, x, arm_means):
    """Mean reward of every arm for this user; returns the largest."""
    top = -math.inf
    for arm in range(arm_means.shape[0]):
        i = arm if x.shape[0] > 1 else 0
        j = arm if theta.shape[0] > 1 else 0
        arm_means[arm] = mean_reward(world[5], dot(x, i, theta, j))
        top = max(top, arm_means[arm])
    return top


@inlined
def greedy_arm(estimate, x, arms):
    """Arm with the largest estimated predictor; ties go to the lowest label (see `kernels.labels`)."""
    choice = 0
    best = -math.inf
    for arm in range(arms):
        value = dot(x, arm if x.shape[0] > 1 else 0, estimate, arm if estimate.shape[0] > 1 else 0)
        if value > best:
            best = value
            choice = arm
    return choice


@inlined
def surviving_arm(estimate, early, x, spread):
    """Greedy arm among those whose early predictor is above the best early one less ``spread`` (elimination)."""
    top = -math.inf
    for arm in range(estimate.shape[0]):
        top = max(top, dot(x, 0, early, arm))
    choice = 0
    best = -math.inf
    for arm in range(estimate.shape[0]):
        if dot(x, 0, early, arm) > top - spread:
            value = dot(x, 0, estimate, arm)
            if value > best:
                best = value
                choice = arm
    return choice


@inlined
def chosen_arm(t, warm_up, spread, estimate, early, x, arms):
    """The arm of a greedy learner; with several parameters in turns at first, then of those that survive."""
    if estimate.shape[0] > 1 and t <= warm_up:
        return (t - 1) % arms
    if estimate.shape[0] > 1 and spread < math.inf:
        return surviving_arm(estimate, early, x, spread)
    return greedy_arm(estimate, x, arms)


@inlined
def played(world, state, row, order, theta, x, arm, arm_means, pulls):
    """Play ``arm`` for this user: what that loses against the best arm, whether it is one, and the reward."""
    top = means_of(world, theta, x, arm_means)
    pulls[row, order[arm]] += 1.0
    mean = arm_means[arm]
    return top - mean, mean == top, draw_reward(world, state, row, mean)


@inlined
def distance(estimate, theta):
    """Root mean square, over the parameters, of the Euclidean distance."""
    total = 0.0
    for i in range(theta.shape[0]):
        for k in range(theta.shape[1]):
            total += (estimate[i, k] - theta[i, k]) ** 2
    return math.sqrt(total / theta.shape[0])


@inlined
def shrunk(x, i, reward, bound, reward_bound, linear, shared):
    """Put (x, reward) of a user into the ball of radius ``bound`` and [-reward_bound, reward_bound].

    ``shared`` receives the context. Where the mean is linear the reward shrinks with its context, which keeps the
    model true; the reward that comes out is returned.
    """
    norm = math.sqrt(dot(x, i, x, i))
    scale = bound / norm if norm > bound else 1.0
    for k in range(x.shape[1]):
        shared[k] = scale * x[i, k]
    if linear:
        reward *= scale
    return min(reward_bound, max(-reward_bound, reward))
