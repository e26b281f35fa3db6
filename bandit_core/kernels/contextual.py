"""Users with features: the loop that plays a `kernels.play.Rule` with them, and what such rules are written with.

The rule's functions are those of `kernels.play`, but for three things:

* ``start(numbers, users)`` gets the `Users`, which say how many arms, models and features there are. What is known has
  ``estimate`` (models, dimension), by which the error is measured.
* ``choose(numbers, known, now, stream)`` gets an `Arrival`: who comes, with the features.
* ``learn(numbers, known, arm, response, user, stream)`` gets the reward as the response, and a `Visitor`: the number,
  and the context of the arm that was played. What leaves the device follows from these; its noise comes from the
  second generator. A message that depends on an estimate (LDP-SGD, LDP-GLOC) is made when it is counted, with the
  estimate of that moment.

A late rule learns what it would of the same users without lateness, only later. A warm-up in turns goes on until all of
its users are counted.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from bandit_core.jit.decorators import allocating, inlined
from bandit_core.kernels import play
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
    users_of,
)
from bandit_core.kernels.play import Late, Stream
from bandit_core.kernels.trial_loop import allows
from bandit_core.model import Record
from bandit_core.spec.contexts import Environment

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
