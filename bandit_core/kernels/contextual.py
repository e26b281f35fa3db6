"""Users with features: contexts, small linear systems, sums with noise, indices, and the loop that plays a rule."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64

from bandit_core.jit.decorators import allocating, device_function, inlined, kernel
from bandit_core.kernels import play
from bandit_core.kernels.normal_blocks import LANES, fill_normals
from bandit_core.kernels.normals import fill_in_turn, normal
from bandit_core.kernels.play import Late, Stream, allows, draw_labels, seed_another
from bandit_core.kernels.streams import next_uniform
from bandit_core.model import Record
from bandit_core.spec import contexts
from bandit_core.spec.contexts import Environment

# ---------------------------------------------------------------------------------------------------------------------
# Small dense linear systems inside kernels. Only the upper triangle of a symmetric matrix is read and written.
#
# Matrices have shape (size, size), vectors (size,). Inner loops run along a row, over numbers that do not wait for each
# other, so that they use the vector units; every number is still the same sum in the same order. Columns are unsigned
# there: one that could count from the end is loaded by itself. Nothing here creates an array.


TOGETHER = 8  # rows of a triangle that are subtracted as one rectangle, with the zeros beside them


@inlined
def add_rows(
    sums: np.ndarray, sign: float, weights: np.ndarray, matrix: np.ndarray, first: int, last: int, start: int
) -> None:
    """Add ``sign`` x weights[i] x row i of ``matrix`` to ``sums``, for i = ``first``, ..., ``last`` - 1 in turn.

    ``sign`` is 1 or -1; of a row the numbers from ``start`` on. Four rows at a time, so that a sum is not stored after
    each of them.
    """
    left, whole = uint64(start), last - (last - first) % 4
    for i in range(first, whole, 4):
        one, two, three, four = uint64(i), uint64(i + 1), uint64(i + 2), uint64(i + 3)
        a, b, c, d = sign * weights[one], sign * weights[two], sign * weights[three], sign * weights[four]
        for j in range(sums.shape[0]):
            column = left + uint64(j)
            total = sums[j] + a * matrix[one, column]
            total += b * matrix[two, column]
            total += c * matrix[three, column]
            sums[j] = total + d * matrix[four, column]
    for i in range(whole, last):
        weight = sign * weights[uint64(i)]
        for j in range(sums.shape[0]):
            sums[j] += weight * matrix[uint64(i), left + uint64(j)]


@inlined
def sum_columns(weights: np.ndarray, matrix: np.ndarray, start: int, sums: np.ndarray) -> None:
    """Fill ``sums`` with the sums over the rows of ``matrix``, times ``weights`` (rows,), from column ``start`` on."""
    for j in range(sums.shape[0]):
        sums[j] = 0.0
    add_rows(sums, 1.0, weights, matrix, 0, weights.shape[0], start)


@device_function
def factorise(matrix: np.ndarray, shift: float, factor: np.ndarray, signal: np.ndarray) -> bool:
    """Cholesky: factor^T factor = matrix + shift I, upper triangle; False where that is not positive definite.

    False also where ``signal`` asks for a stop: large matrices take seconds.
    """
    size = matrix.shape[0]
    for i in range(size):
        for j in range(i, size):
            factor[i, uint64(j)] = matrix[i, uint64(j)]
        factor[i, i] += shift
        add_rows(factor[i, i:], -1.0, factor[:, i], factor, 0, i, i)
        pivot = factor[i, i]
        if not pivot > 0.0 or signal[0] != 0:
            return False
        scale = 1.0 / math.sqrt(pivot)
        for j in range(i, size):
            factor[i, uint64(j)] *= scale
    return True


@inlined
def _substitute_back(upper: np.ndarray, solution: np.ndarray) -> None:
    """Solve upper s = ``solution`` in place, for an upper triangle."""
    size = upper.shape[0]
    for i in range(size - 1, -1, -1):
        value = solution[i]
        for j in range(i + 1, size):
            value -= upper[i, j] * solution[j]
        solution[i] = value / upper[i, i]


@device_function
def solve_factored(factor: np.ndarray, right: np.ndarray, solution: np.ndarray) -> None:
    """Solve factor^T factor s = ``right`` into ``solution``."""
    size = factor.shape[0]
    for i in range(size):
        solution[i] = right[i]
    for i in range(size):
        value = solution[i] / factor[i, i]
        solution[i] = value
        for j in range(i + 1, size):
            solution[uint64(j)] -= value * factor[i, uint64(j)]
    _substitute_back(factor, solution)


@device_function
def solve_indefinite(
    matrix: np.ndarray, shift: float, right: np.ndarray, work: np.ndarray, solution: np.ndarray
) -> bool:
    """Solve (matrix + shift I) s = ``right`` by elimination with pivots; False where it is singular."""
    size = matrix.shape[0]
    for i in range(size):
        for j in range(size):
            work[i, j] = matrix[i, j] if j >= i else matrix[j, i]
        work[i, i] += shift
        solution[i] = right[i]
    for i in range(size):
        pivot = i
        for k in range(i + 1, size):
            if abs(work[k, i]) > abs(work[pivot, i]):
                pivot = k
        if not abs(work[pivot, i]) > 0.0:
            return False
        if pivot != i:
            for j in range(i, size):
                work[i, j], work[pivot, j] = work[pivot, j], work[i, j]
            solution[i], solution[pivot] = solution[pivot], solution[i]
        for k in range(i + 1, size):
            weight = work[k, i] / work[i, i]
            for j in range(i, size):
                work[k, j] -= weight * work[i, j]
            solution[k] -= weight * solution[i]
    _substitute_back(work, solution)
    return True


@device_function
def invert_factored(factor: np.ndarray, inverse: np.ndarray, block: int, signal: np.ndarray) -> None:
    """The inverse of factor^T factor: its lower triangle, and all of the blocks of size ``block`` on its diagonal.

    What stands to the right of a block is room to work in. A part of the inverse where ``signal`` asks for a stop.
    """
    size = factor.shape[0]
    for i in range(size):  # the columns of the unit matrix, factor^T solved
        for j in range(size):
            inverse[i, uint64(j)] = 1.0 if j == i else 0.0
        for first in range(0, i, TOGETHER):
            last = min(i, first + TOGETHER)
            add_rows(inverse[i, :last], -1.0, factor[:, i], inverse, first, last, 0)
        for j in range(i + 1):
            inverse[i, uint64(j)] /= factor[i, i]
    for i in range(size - 1, -1, -1):  # and then factor, as far as later rows need it
        if signal[0] != 0:
            return
        stop = min(size, (i // block + 1) * block)
        add_rows(inverse[i, :stop], -1.0, factor[i], inverse, i + 1, size, 0)
        for j in range(stop):
            inverse[i, uint64(j)] /= factor[i, i]


# ---------------------------------------------------------------------------------------------------------------------
# Contextual bandits: drawing theta, contexts and rewards, from the first generator of a stream.
#
# Draws here depend on no choice of a policy, so all lines of an experiment meet the same users in the same trial.
# Normal contexts, and those on the sphere, are drawn for a block of users before its first one comes, by lanes of
# generators that follow from the fresh stream (see `normal_blocks`); all others user by user. The reward's noise is
# drawn when it is paid.


SPARE = 3  # columns of a block that belong to no one: without them all users of features would be others
BLOCK = 1024  # numbers of a block of users (features; means of arms), at most, unless one user takes more
MAX_TRIES = 2000  # draws of a discrete type until its gap is large enough
SHIFT_TRIES = 20  # draws of a context whose two best arms stay the best when it is moved to their border


class Users(NamedTuple):
    """Where the users of a block of trials come from, and the present ones: its arrays are filled again and again.

    With one parameter theta there is a context for each arm, else one context and a parameter for each arm. Arms are
    known by the labels of the trial (see `kernels.play`). Users of a block lie side by side: see `column_of`. The
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


# ---------------------------------------------------------------------------------------------------------------------
# Users with features: the loop that plays a `kernels.play.Rule` with them, and what such rules are written with.
#
# The rule's functions are those of `kernels.play`, but for three things:
#
# * ``start(numbers, users)`` gets the `Users`, which say how many arms, models and features there are. What is known
#   has ``estimate`` (models, dimension), by which the error is measured.
# * ``choose(numbers, known, now, stream)`` gets an `Arrival`: who comes, with the features.
# * ``learn(numbers, known, arm, response, user, stream)`` gets the reward as the response, and a `Visitor`: the number,
#   and the context of the arm that was played. What leaves the device follows from these; its noise comes from the
#   second generator. A message that depends on an estimate (LDP-SGD, LDP-GLOC) is made when it is counted, with the
#   estimate of that moment.
#
# A late rule learns what it would of the same users without lateness, only later. A warm-up in turns goes on until all
# of its users are counted.


LATE = False  # see `kernels.play`
start: Any = play.start
choose: Any = play.choose
learn: Any = play.learn


class Arrival(NamedTuple):
    """User ``t`` comes (from 1), number ``place`` of the present block of ``users``; ``counted`` rewards are known."""

    t: int
    counted: int
    users: Users
    place: int


class Visitor(NamedTuple):
    """Who is counted: the number, from 1, and the context (dimension,) of the arm that was played."""

    number: int
    context: np.ndarray


class Waiting(NamedTuple):
    """Who waits to be counted, in a ring: the arm's label, its context (users, dimension), and the reward."""

    arms: np.ndarray
    contexts: np.ndarray
    rewards: np.ndarray


@allocating
def _room_to_wait(environment: Environment, late: Late, horizon: int) -> Waiting:
    size = min(late.batch + late.delay, horizon)
    return Waiting(np.empty(size, np.int64), np.empty((size, environment.dimension)), np.empty(size))


def play_users(state: np.ndarray, environment: Environment, numbers: Any, late: Late, record: Record) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints."""
    users = users_of(environment, state, record.signal)
    ring = _room_to_wait(environment, late, record.checkpoints[-1])
    size = ring.arms.shape[0]
    for trial in range(state.shape[0]):
        stream = Stream(state, trial)
        draw_theta(environment, users, trial)
        draw_pool(environment, users, trial)
        known = start(numbers, users)
        lost, good = 0.0, 0.0
        counted, done = 0, 0
        for place in range(record.checkpoints.shape[0]):
            until = record.checkpoints[place]
            for t in range(done + 1, until + 1):
                user = meet(environment, users, trial, t)
                arm = choose(numbers, known, Arrival(t, counted, users, user), stream)
                if not allows(record, trial, arm):
                    return
                top, mean = largest_mean(users, user), users.means[user, arm]
                lost += top - mean
                good += mean == top
                record.pulls[trial, users.order[arm]] += 1.0
                at, column = (t - 1) % size if LATE else 0, column_of(users, user, arm)
                for k in range(users.x.shape[0]):
                    ring.contexts[at, k] = users.x[k, column]
                ring.arms[at] = arm
                ring.rewards[at] = draw_reward(environment, state, trial, mean)
                while counted < t - late.delay and (not LATE or t % late.batch == 0):
                    at = counted % size if LATE else 0
                    counted += 1
                    learn(numbers, known, ring.arms[at], ring.rewards[at], Visitor(counted, ring.contexts[at]), stream)
            record.regret[trial, place] = lost
            record.best_pulls[trial, place] = good
            record.error[trial, place] = _distance(known.estimate, users.theta)
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
    """The arm with the largest score; ties go to the lowest label (see `kernels.play`)."""
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


def greedy_after_warm_up(numbers: Any, known: Any, now: Arrival, stream: Stream) -> int:
    """In turns until ``numbers.warm_up`` users are counted; then the greedy arm, among those that survived if
    ``numbers.spread`` is finite. ``known.early`` has the estimates at the end of the warm-up.
    """
    if now.counted < numbers.warm_up:
        return (now.t - 1) % now.users.order.shape[0]
    if numbers.spread < math.inf:
        return _surviving_arm(now.users, now.place, known.estimate, known.early, numbers.spread)
    return greedy_arm(now.users, now.place, known.estimate)


@inlined
def remember(estimate: np.ndarray, early: np.ndarray) -> None:
    """Keep the estimates of this moment."""
    for i in range(estimate.shape[0]):
        for k in range(estimate.shape[1]):
            early[i, k] = estimate[i, k]


@inlined
def predicted(context: np.ndarray, theta: np.ndarray, model: int) -> float:
    """x . theta for a context and row ``model`` of ``theta``."""
    total = 0.0
    for k in range(theta.shape[1]):
        total += context[k] * theta[model, k]
    return total


@inlined
def shrunk(context: np.ndarray, bound: float, shared: np.ndarray) -> float:
    """Put a context into the ball of radius ``bound``: ``shared`` (dimension,) receives it.

    Returns the factor. Where the mean is linear the reward shrinks by it, too, which keeps the model true.
    """
    square = 0.0
    for k in range(context.shape[0]):
        square += context[k] * context[k]
    norm = math.sqrt(square)
    scale = bound / norm if norm > bound else 1.0
    for k in range(context.shape[0]):
        shared[k] = scale * context[k]
    return scale


@inlined
def clipped(value: float, bound: float) -> float:
    """The nearest number in [-bound, bound]."""
    return min(bound, max(-bound, value))


# ---------------------------------------------------------------------------------------------------------------------
# Inverses of regularised sums of x x^T, by rank-one updates.


class Inverses(NamedTuple):
    """The inverse of each model (models, dimension, dimension), and the ``image`` (dimension,), one of them times x."""

    inverses: np.ndarray
    image: np.ndarray


@allocating
def inverses_of(ridge: float, users: Users) -> Inverses:
    """Those of ``ridge`` x I."""
    models, d = users.theta.shape
    inverses = np.zeros((models, d, d))
    for model in range(models):
        for i in range(d):
            inverses[model, i, i] = 1.0 / ridge
    return Inverses(inverses, np.empty(d))


@inlined
def add_context(known: Inverses, model: int, context: np.ndarray) -> float:
    """Add x x^T to the matrix behind an inverse (Sherman and Morrison). Afterwards ``known.image`` times what is
    returned is the new inverse times x.
    """
    inverse, image, share = known.inverses[model], known.image, 1.0
    sum_columns(context, inverse, 0, image)  # along rows, as it is symmetric
    for k in range(image.shape[0]):
        share += context[k] * image[k]
    share = 1.0 / share
    for i in range(image.shape[0]):
        own, weight = inverse[i], image[i]
        for j in range(image.shape[0]):
            own[j] -= weight * image[j] * share
    return share


# ---------------------------------------------------------------------------------------------------------------------
# Sums of x x^T and of weights times x in normal noise, as least squares of users with local privacy need them.
#
# Every release adds a noise matrix of full rank, so no rank-one formula applies, and a fresh solution costs d^3/6
# multiplications. The server's sums may be refreshed at growing intervals instead: after step t the next solution is
# due at t + max(1, floor(refresh t)). Between solutions only the sum of the noise matters, and a sum of n normal
# variables of variance s^2 is one of variance n s^2: it is drawn at once when it is needed. With refresh = 0 both
# happen at every step, exactly as the policies are defined.


class NoisySums(NamedTuple):
    """Sums for each model, or one with a block for each model; and room for a context as it is sent."""

    grams: np.ndarray  # (sums, size, size), upper triangles
    moments: np.ndarray  # (sums, size)
    owed: np.ndarray  # (sums,), releases whose noise is not drawn yet
    shared: np.ndarray  # (dimension,)


@allocating
def noisy_sums(users: Users, sums: int) -> NoisySums:
    """Nothing, in so many sums: one, or one for each model."""
    models, d = users.theta.shape
    size = models * d // sums
    return NoisySums(np.zeros((sums, size, size)), np.zeros((sums, size)), np.zeros(sums), np.empty(d))


@inlined
def next_due(t: int, refresh: float) -> int:
    """When the solution after step t is to be renewed."""
    return t + max(1, int(refresh * t))


@device_function
def _add_noise(
    state: np.ndarray, row: int, gram: np.ndarray, moment: np.ndarray, releases: float, gram_sd: float,
    moment_sd: float, room: np.ndarray,
) -> None:  # fmt: skip
    """Add the noise of some releases at once: to the upper triangle, then to the vector; ``room`` is of its size."""
    size = gram.shape[0]
    scale = math.sqrt(releases)
    for i in range(size):
        own, drawn = gram[i, i:], room[i:]
        fill_in_turn(state, row, 4, drawn)
        for j in range(own.shape[0]):
            own[j] += scale * gram_sd * drawn[j]
    fill_in_turn(state, row, 4, room)
    for i in range(size):
        moment[i] += scale * moment_sd * room[i]


@device_function
def add_shared(sums: NoisySums, model: int, weight: float) -> None:
    """Count the context of ``sums.shared``: x x^T, and ``weight`` times x."""
    x, own = sums.shared, row_of(model, sums.moments)
    gram, moment, start = sums.grams[own], sums.moments[own], (model - own) * x.shape[0]
    for i in range(x.shape[0]):
        moment[start + i] += weight * x[i]
        for j in range(i, x.shape[0]):
            gram[start + i, start + j] += x[i] * x[j]


@device_function
def complete(sums: NoisySums, own: int, gram_sd: float, moment_sd: float, stream: Stream, room: np.ndarray) -> None:
    """Add the noise that is owed to a sum; ``room`` is of its size."""
    _add_noise(stream.words, stream.trial, sums.grams[own], sums.moments[own], sums.owed[own], gram_sd, moment_sd, room)
    sums.owed[own] = 0.0


# ---------------------------------------------------------------------------------------------------------------------
# Noise of sums that a curator releases again and again: normal noise that hangs together from release to release.
#
# A model has d(d+3)/2 numbers: the upper triangle of its sum of x x^T, row by row, and its sum of r x. Release i has
# the noise (sd = 1 here)
#
# * tree: of each node in the binary form of the place, the largest first. A place is the number of the release, or of
#   the users if the tree's leaves are users. A node's noise is drawn when it is first read.
# * else: sum over j of f_(i-j) Z_j, f being a mixture of exponentials (see `mechanisms.square_root`); with one term
#   that does not fall, f = 1, every release has fresh noise and keeps that of all before it.


DIAGONAL = math.sqrt(2.0)  # noise on the diagonal, over that beside it


class Counter(NamedTuple):
    """Which noise: a tree with as many levels as there are ``rates``, or exponentials (terms,)."""

    tree: bool
    weights: np.ndarray
    rates: np.ndarray


class Noise(NamedTuple):
    """What is kept of it: of every level or term ``held`` (rows, numbers), and the ``nodes`` of a tree (rows,).

    ``now`` (numbers,) is the noise of the present release, ``fresh`` (numbers,) the last normal variables.
    """

    held: np.ndarray
    nodes: np.ndarray
    now: np.ndarray
    fresh: np.ndarray


@allocating
def no_noise(counter: Counter, numbers: int) -> Noise:
    """Before the first release."""
    rows = counter.rates.shape[0]
    return Noise(np.zeros((rows, numbers)), np.zeros(rows, np.int64), np.zeros(numbers), np.empty(numbers))


@inlined
def numbers_of(models: int, dimension: int) -> int:
    """How many numbers are released at a time."""
    return models * (dimension * (dimension + 3) // 2)


@device_function
def next_noise(counter: Counter, noise: Noise, place: int, stream: Stream) -> None:
    """Make ``noise.now`` that of the release at ``place``, which grows."""
    now = noise.now
    now[:] = 0.0
    if not counter.tree:
        fill_in_turn(stream.words, stream.trial, 4, noise.fresh)
        for term in range(counter.rates.shape[0]):
            held, rate, weight = noise.held[term], counter.rates[term], counter.weights[term]
            for i in range(now.shape[0]):
                held[i] = rate * held[i] + weight * noise.fresh[i]
                now[i] += held[i]
        return
    for level in range(counter.rates.shape[0] - 1, -1, -1):
        node, held = place >> level, noise.held[level]
        if node & 1:
            if noise.nodes[level] != node:
                noise.nodes[level] = node
                fill_in_turn(stream.words, stream.trial, 4, held)
            for i in range(now.shape[0]):
                now[i] += held[i]


@device_function
def with_noise(
    sums: NoisySums, model: int, noise: np.ndarray, sd: float, ratio: float, gram: np.ndarray, moment: np.ndarray
) -> None:
    """The sums of a model with noise: ``sd`` beside the diagonal, ``ratio`` times as much on the vector."""
    d = moment.shape[0]
    at = numbers_of(model, d)
    for i in range(d):
        for j in range(i, d):
            gram[i, j] = sums.grams[model, i, j] + sd * (DIAGONAL if i == j else 1.0) * noise[at]
            at += 1
    for i in range(d):
        moment[i] = sums.moments[model, i] + sd * ratio * noise[at]
        at += 1


# ---------------------------------------------------------------------------------------------------------------------
# Optimistic indices of users: predictor plus bonus |x| in the norm of an inverse.
#
# Until the next solution nothing of an index depends on the users in between: the indices of all who are expected
# before it, or before the block of users ends, are computed together, and anew where a solution comes earlier.


class Optimism(NamedTuple):
    """What makes an index out of an estimate, and the indices of a block of users."""

    inverses: np.ndarray  # (models, dimension, dimension); of a single model its lower triangle counts
    bonus: np.ndarray  # (1,)
    due: np.ndarray  # (1,), step of the next solution
    ahead: np.ndarray  # (1,), users of the block before this one have their indices; a solution sets it to 0
    indices: np.ndarray  # (users x arms,)
    parts: np.ndarray  # (2, users x arms), room


@allocating
def optimism(users: Users, inverses: np.ndarray, bonus: float, due: int) -> Optimism:
    """No index yet."""
    size, ahead = users.means.size, np.zeros(1, np.int64)
    return Optimism(inverses, np.full(1, bonus), np.full(1, due), ahead, np.empty(size), np.empty((2, size)))


@inlined
def optimistic_arm(known: Optimism, estimate: np.ndarray, now: Arrival) -> int:
    """The arm with the largest  x . theta + bonus |x|."""
    ahead, (block, arms) = known.ahead, now.users.means.shape
    if now.place == 0 or now.place >= ahead[0]:
        ahead[0] = min(block, now.place + max(1, known.due[0] - now.t))
        first, last = column_of(now.users, now.place, 0), column_of(now.users, ahead[0], 0)
        _look_ahead(known, estimate, now.users.x, first, last)
    return highest(known.indices[now.place * arms :], arms)


@inlined
def _look_ahead(known: Optimism, estimate: np.ndarray, x: np.ndarray, first: int, last: int) -> None:
    """The indices for the columns ``first`` to ``last - 1`` and every model.

    Of a single model the inverse's lower triangle is known: half of the squared norm.
    """
    models, squares, sums = estimate.shape[0], known.parts[0, first:last], known.parts[1, first:last]
    for model in range(models):
        inverse, indices = known.inverses[model], known.indices[first * models + model :: models]
        squares[:] = 0.0
        for k in range(x.shape[0]):
            own, half = x[k, first:last], 0.5 * inverse[k, k] if models == 1 else 0.0
            for at in range(own.shape[0]):
                sums[at] = half * own[at]
            add_rows(sums, 1.0, inverse[:, k], x, k + 1 if models == 1 else 0, x.shape[0], first)
            for at in range(own.shape[0]):
                squares[at] += own[at] * sums[at]
        sum_columns(estimate[model], x, first, sums)
        whole = 2.0 if models == 1 else 1.0
        for at in range(sums.shape[0]):
            indices[at] = sums[at] + known.bonus[0] * math.sqrt(max(0.0, whole * squares[at]))


# ---------------------------------------------------------------------------------------------------------------------
# The l2-ball mechanism inside kernels, see `bandit_core.mechanisms.l2_ball`.
#
# A response is a point on a sphere. It is uniform on the sphere and then turned to the side that two coins choose,
# which is the same distribution as drawing the half sphere first. At a zero gradient (synthetic updates of arms that
# were not chosen) it stays where it is.


class Ball(NamedTuple):
    """The l2-ball mechanism at one epsilon."""

    bound: float  # gradients are clipped to this norm
    keep: float  # e^epsilon / (e^epsilon + 1)
    radius: float  # norm of every response


@device_function
def release_into(
    ball: Ball, state: np.ndarray, row: int, gradient: np.ndarray, zero: bool, response: np.ndarray
) -> None:
    """Respond to ``gradient`` (clipped to the ball), or to 0; both vectors have shape (dimension,).

    Draws the direction first, then two coins, from the second generator.
    """
    size, square, along = 0.0, 0.0, 0.0
    while size == 0.0:
        fill_in_turn(state, row, 4, response)
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
