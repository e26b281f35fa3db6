"""Contextual bandits: drawing theta, contexts and rewards, from the first generator of a stream.

Draws here depend on no choice of a policy, so all lines of an experiment meet the same users in the same trial.
Normal contexts, and those on the sphere, are drawn for a block of users before its first one comes, by lanes of
generators that follow from the fresh stream (see `normal_blocks`); all others user by user. The reward's noise is
drawn when it is paid.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import int64

from bandit_core.jit.decorators import device_function, inlined, kernel
from bandit_core.kernels.labels import draw_labels, seed_another
from bandit_core.kernels.linalg import sum_columns
from bandit_core.kernels.normal_blocks import LANES, fill_normals
from bandit_core.kernels.normals import normal
from bandit_core.kernels.streams import next_uniform
from bandit_core.spec import contexts

SPARE = 3  # columns of a block that belong to no one: without them all users of features would be others
BLOCK = 1024  # numbers of a block of users (features; means of arms), at most, unless one user takes more
MAX_TRIES = 2000  # draws of a discrete type until its gap is large enough
SHIFT_TRIES = 20  # draws of a context whose two best arms stay the best when it is moved to their border


class Users(NamedTuple):
    """Where the users of a block of trials come from, and the present ones: its arrays are filled again and again.

    With one parameter theta there is a context for each arm, else one context and a parameter for each arm. Arms are
    known by the labels of the trial (see `kernels.labels`). Users of a block lie side by side: see `column_of`. The
    last SPARE columns belong to no one.
    """

    state: np.ndarray  # (trials, 8) uint64, the streams
    signal: np.ndarray  # (2,) int64: stop asked for, steps done
    order: np.ndarray  # (arms,) int64, the arm that each label stands for
    theta: np.ndarray  # (models, dimension)
    pool: np.ndarray  # (points, vectors x dimension), the types of users of a discrete distribution
    seeds: np.ndarray  # (1, 4 x LANES) uint64, and the same numbers again:
    lanes: np.ndarray  # (4, LANES), the generators of a block
    words: np.ndarray  # (LANES,) uint64, room
    normals: np.ndarray  # (rows, LANES), variables made of the words, and some of these numbers again:
    x: np.ndarray  # (dimension, users x vectors + SPARE), the contexts of the present block of users
    room: np.ndarray  # (users x vectors + SPARE,)
    means: np.ndarray  # (users, arms), their mean rewards
    scores: np.ndarray  # (arms,), room for what a learner thinks of the arms


@kernel
def users_of(environment: contexts.Environment, state: np.ndarray, signal: np.ndarray) -> Users:
    """The arrays, not filled yet. How many users a block has depends on the contexts only."""
    arms, vectors, d = environment.arms, environment.vectors, environment.dimension
    theta, pool = np.empty((environment.models, d)), np.empty((environment.points, vectors * d))
    in_lanes = environment.distribution in (contexts.SPHERE, contexts.GAUSSIAN)
    users = max(1, BLOCK // max(vectors * d, arms)) if in_lanes else 1
    columns = users * vectors + SPARE
    seeds, normals = np.empty((1, 4 * LANES), np.uint64), np.empty((d * columns // LANES + 1, LANES))
    x = normals.reshape(-1)[: d * columns].reshape((d, columns))
    return Users(
        state, signal, np.empty(arms, np.int64), theta, pool, seeds, seeds.reshape((4, LANES)),
        np.empty(LANES, np.uint64), normals, x, np.empty(columns), np.empty((users, arms)), np.empty(arms),
    )  # fmt: skip


@inlined
def dot(left: np.ndarray, i: int, right: np.ndarray, j: int) -> float:
    """Inner product of row i of ``left`` and row j of ``right``."""
    total = 0.0
    for k in range(left.shape[1]):
        total += left[i, k] * right[j, k]
    return total


@inlined
def predictor(x: np.ndarray, at: int, theta: np.ndarray, model: int) -> float:
    """x . theta for column ``at`` of ``x`` and row ``model`` of ``theta``."""
    total = 0.0
    for k in range(theta.shape[1]):
        total += x[k, at] * theta[model, k]
    return total


@inlined
def row_of(arm: int, table: np.ndarray) -> int:
    """An arm's row among parameters, of which there is one for each arm, or one for all."""
    return arm if table.shape[0] > 1 else 0


@inlined
def column_of(users: Users, user: int, arm: int) -> int:
    """The column of ``users.x`` with the context of a user of the block for this arm."""
    return user if users.theta.shape[0] > 1 else user * users.order.shape[0] + arm


@inlined
def predict(users: Users, user: int, theta: np.ndarray) -> None:
    """x . theta of all arms into ``users.scores``."""
    if theta.shape[0] == 1:
        sum_columns(theta[0], users.x, column_of(users, user, 0), users.scores)
        return
    for arm in range(theta.shape[0]):
        users.scores[arm] = predictor(users.x, user, theta, arm)


@inlined
def mean_reward(link: int, predicted: float) -> float:
    """mu(predicted)."""
    if link == contexts.IDENTITY:
        return predicted
    if link == contexts.LOGISTIC:
        return 1.0 / (1.0 + math.exp(-predicted))
    return math.exp(min(predicted, contexts.POISSON_CAP))


@device_function
def _on_sphere(state: np.ndarray, row: int, x: np.ndarray, i: int) -> None:
    """Column i of ``x`` uniform on the unit sphere."""
    total = 0.0
    while total == 0.0:
        total = 0.0
        for k in range(x.shape[0]):
            x[k, i] = normal(state, row, 0)
            total += x[k, i] * x[k, i]
    norm = math.sqrt(total)
    for k in range(x.shape[0]):
        x[k, i] /= norm  # by division: exactly +-1 in one dimension, so that equal arms are equal


@device_function
def draw_theta(environment: contexts.Environment, users: Users, row: int) -> None:
    """Labels, lanes and parameters of this trial, these given (a row, or one for each arm) or uniform on the sphere."""
    given, theta, x = environment.theta, users.theta, users.x
    draw_labels(users.state, row, users.order)
    seed_another(users.state, row, users.seeds)
    for i in range(theta.shape[0]):
        if given.shape[0] > 0:
            for k in range(theta.shape[1]):
                theta[i, k] = given[users.order[i] if theta.shape[0] > 1 else i, k]
        else:
            _on_sphere(users.state, row, x, 0)
            for k in range(theta.shape[1]):
                theta[i, k] = x[k, 0]


@inlined
def _axis(theta: np.ndarray, norm: float, k: int) -> float:
    """Feature k of the direction of a single theta of this norm; any direction where theta is 0."""
    return theta[0, k] / norm if norm > 0.0 else (1.0 if k == 0 else 0.0)


@device_function
def _margin_of_contexts(users: Users, row: int, gap: float) -> None:
    """One parameter: unit contexts whose components along theta have exactly this gap between the best two."""
    state, theta, x = users.state, users.theta, users.x
    arms, d = users.order.shape[0], x.shape[0]
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
            along += x[k, arm] * _axis(theta, norm, k)
        across = 0.0
        for k in range(d):
            x[k, arm] -= along * _axis(theta, norm, k)
            across += x[k, arm] * x[k, arm]
        stretch = math.sqrt(max(0.0, 1.0 - level * level) / across) if across > 1e-300 and d > 1 else 0.0
        for k in range(d):
            x[k, arm] = stretch * x[k, arm] + level * _axis(theta, norm, k)


@device_function
def _top_two(theta: np.ndarray, x: np.ndarray) -> tuple[int, int, float]:
    """Best arm, second arm and their gap, for one context and a parameter for each arm."""
    best = 0
    second = -1
    top = predictor(x, 0, theta, 0)
    next_top = -math.inf
    for arm in range(1, theta.shape[0]):
        value = predictor(x, 0, theta, arm)
        if value > top:
            second = best
            next_top = top
            best = arm
            top = value
        elif value > next_top:
            second = arm
            next_top = value
    return best, second, top - next_top


@device_function
def _margin_of_parameters(state: np.ndarray, row: int, theta: np.ndarray, x: np.ndarray, gap: float) -> None:
    """A parameter for each arm: a context moved towards the border of its two best arms until their gap is ``gap``."""
    for _ in range(SHIFT_TRIES):
        _on_sphere(state, row, x, 0)
        best, second, found = _top_two(theta, x)
        if found <= gap:
            return
        square = 0.0
        for k in range(x.shape[0]):
            square += (theta[best, k] - theta[second, k]) ** 2
        step = (found - gap) / square
        for k in range(x.shape[0]):
            x[k, 0] -= step * (theta[best, k] - theta[second, k])
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


@device_function
def draw_pool(environment: contexts.Environment, users: Users, row: int) -> None:
    """The types of a discrete distribution, drawn once for this trial; fewer where a stop is asked for."""
    if environment.distribution != contexts.DISCRETE:
        return
    state, theta, x, pool = users.state, users.theta, users.x, users.pool
    least = environment.form[1]
    vectors, d = environment.vectors, environment.dimension
    for point in range(pool.shape[0]):
        if users.signal[0] != 0:
            return
        if theta.shape[0] == 1:
            _margin_of_contexts(users, row, least + (1.0 - least) * next_uniform(state, row, 0))
            for i in range(vectors):
                for k in range(d):
                    pool[point, i * d + k] = x[k, i]
            continue
        largest = -1.0
        for _ in range(MAX_TRIES):
            _on_sphere(state, row, x, 0)
            _, _, gap = _top_two(theta, x)
            if gap > largest:
                largest = gap
                for k in range(d):
                    pool[point, k] = x[k, 0]
            if gap >= least:
                break


@inlined
def _from_table(environment: contexts.Environment, users: Users, user: int) -> None:
    """The context(s) of one row of the table."""
    table, actions, x = environment.table, environment.actions, users.x
    vectors, d = environment.vectors, environment.dimension
    half = d // 2
    for i in range(vectors):
        arm = users.order[i] if vectors > 1 else i
        for k in range(d):
            if actions.shape[0] == 0:
                x[k, i] = table[user, arm * d + k]
            elif k < half:
                x[k, i] = table[user, k]
            else:
                x[k, i] = actions[arm] * table[user, k - half]


@device_function
def _draw_block(environment: contexts.Environment, users: Users, row: int) -> None:
    """Normal contexts for a block of users, or, divided by their norms, contexts on the sphere."""
    x, room = users.x, users.room
    fill_normals(users.lanes, users.words, users.normals, users.state, row)
    if environment.distribution == contexts.GAUSSIAN:
        for k in range(x.shape[0]):
            for at in range(x.shape[1]):
                x[k, at] *= environment.form[0]
    elif x.shape[0] > 1:
        room[:] = 0.0
        for k in range(x.shape[0]):
            own = x[k]
            for at in range(own.shape[0]):
                room[at] += own[at] * own[at]
        for at in range(room.shape[0]):
            room[at] = 1.0 / math.sqrt(room[at])
        for k in range(x.shape[0]):
            own = x[k]
            for at in range(own.shape[0]):
                own[at] *= room[at]
    else:  # exactly +-1, so that equal arms are equal
        for at in range(x.shape[1]):
            x[0, at] = math.copysign(1.0, x[0, at])


@inlined
def _draw_one(environment: contexts.Environment, users: Users, row: int) -> None:
    """The context(s) of the next user, where they are drawn user by user."""
    state, x = users.state, users.x
    distribution, form = environment.distribution, environment.form
    vectors, d = environment.vectors, environment.dimension
    if distribution == contexts.CUBE:
        for i in range(vectors):
            for k in range(d):
                x[k, i] = form[0] * (2.0 * next_uniform(state, row, 0) - 1.0)
    elif distribution == contexts.MARGIN:
        gap = _gap_of(form[0], form[1], next_uniform(state, row, 0))
        if users.theta.shape[0] == 1:
            _margin_of_contexts(users, row, gap)
        else:
            _margin_of_parameters(state, row, users.theta, x, gap)
    elif distribution == contexts.DISCRETE:
        point = int64(next_uniform(state, row, 0) * users.pool.shape[0])
        for i in range(vectors):
            for k in range(d):
                x[k, i] = users.pool[point, i * d + k]
    elif distribution == contexts.TABLE:
        _from_table(environment, users, int64(next_uniform(state, row, 0) * environment.table.shape[0]))


@device_function
def _find_means(environment: contexts.Environment, users: Users) -> None:
    """Mean rewards of the block's users, into ``users.means``."""
    x, theta, means, link = users.x, users.theta, users.means, environment.link
    columns = x.shape[1] - SPARE
    if theta.shape[0] == 1:
        sum_columns(theta[0], x, 0, means.reshape(-1))
    else:
        for model in range(theta.shape[0]):
            sum_columns(theta[model], x, 0, users.room[:columns])
            for user in range(columns):
                means[user, model] = users.room[user]
    if link != contexts.IDENTITY:
        for user in range(means.shape[0]):
            for arm in range(means.shape[1]):
                means[user, arm] = mean_reward(link, means[user, arm])


@inlined
def meet(environment: contexts.Environment, users: Users, row: int, t: int) -> int:
    """The place of user t = 1, 2, ... in its block, whose users are drawn when the first of them comes."""
    user = (t - 1) % users.means.shape[0]
    if user == 0:
        if environment.distribution in (contexts.SPHERE, contexts.GAUSSIAN):
            _draw_block(environment, users, row)
        else:
            _draw_one(environment, users, row)
        _find_means(environment, users)
    return user


@inlined
def largest_mean(users: Users, user: int) -> float:
    """Mean reward of a user's best arm."""
    top = -math.inf
    for arm in range(users.means.shape[1]):
        top = max(top, users.means[user, arm])
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
def draw_reward(environment: contexts.Environment, state: np.ndarray, row: int, mean: float) -> float:
    """The reward of an arm of this mean; takes the same draws whatever the mean is."""
    if environment.drawn:
        uniform = next_uniform(state, row, 0)
        if environment.link == contexts.LOGISTIC:
            return 1.0 if uniform < mean else 0.0
        return _count(mean, uniform)
    if environment.noise > 0.0:
        return mean + environment.noise * normal(state, row, 0)
    return mean
