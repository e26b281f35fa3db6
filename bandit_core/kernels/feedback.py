"""Late feedback: rewards that are counted some users later, and only every so many users, as by a daily job.

The reward of user t enters the statistics at the first multiple of ``batch`` at or after t + ``delay``, so user n is
met with the rewards of the users up to batch floor((n - 1) / batch) - delay. One plain loop plays every policy: a
policy ``choose``s an arm by what is counted, the arm and its user ``answer``, and much later the policy ``learn``s the
answer. Batch 1 and delay 0 are the game of `kernels.explore_commit`.

The clock of an index is the number of users, which nobody has to wait for. Of arms that must be tried, having an
infinite index, the one that the fewest users who are not counted yet were given comes first, else the lowest label:
without that, everybody would be given the same arm until the first rewards are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, expanded, inlined, kernel
from bandit_core.kernels.curves import note, note_pulls, passed
from bandit_core.kernels.explore_commit import Plan
from bandit_core.kernels.labels import relabel_arms, room_for
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.model import Record


class Late(NamedTuple):
    """See `bandit_core.spec.feedback.Feedback`."""

    batch: int
    delay: int


class Arms(NamedTuple):
    """What is counted of every arm, how many answers of it wait to be counted, and its pulls (arms,)."""

    counts: np.ndarray
    sums: np.ndarray
    spreads: np.ndarray
    means: np.ndarray  # infinite before anything is counted
    widths: np.ndarray
    waiting: np.ndarray
    pulled: np.ndarray


class Waiting(NamedTuple):
    """Who waits to be counted, in a ring: the arm, its answer, and the spread of that (0: nothing was shared)."""

    arms: np.ndarray
    answers: np.ndarray
    spreads: np.ndarray


class Comparison(NamedTuple):
    """An A/B test, see `bandit_core.kernels.explore_commit`."""

    rewards: Rewards
    bits: bool
    plan: Plan


@allocating
def _arms(count: int) -> Arms:
    return Arms(
        np.empty(count), np.empty(count), np.empty(count), np.empty(count), np.empty(count), np.empty(count),
        np.empty(count),
    )  # fmt: skip


@allocating
def _waiting(late: Late, horizon: int) -> Waiting:
    size = min(late.batch + late.delay, horizon)
    return Waiting(np.empty(size, np.int64), np.empty(size), np.empty(size))


@inlined
def _clear(arms: Arms) -> None:
    for arm in range(arms.counts.shape[0]):
        arms.counts[arm] = arms.sums[arm] = arms.spreads[arm] = arms.widths[arm] = 0.0
        arms.waiting[arm] = arms.pulled[arm] = 0.0
        arms.means[arm] = np.inf


@expanded
def play_late(
    choose: Callable[..., int],
    answer: Callable[..., tuple[float, float]],
    learn: Callable[..., None],
    game: Any,
    late: Late,
    state: np.ndarray,
    rewards: Rewards,
    record: Record,
) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints; ``game.rewards`` is by the labels.

    ``choose(game, arms, t, state, trial)`` gives the arm for user t, ``answer(game, arm, state, trial)`` what that
    user sends with its spread, and ``learn(game, arms, arm, answer, spread)`` counts it.
    """
    arms = _arms(rewards.table.shape[0])
    waiting = _waiting(late, record.checkpoints[-1])
    order, size = np.empty(rewards.table.shape[0], np.int64), waiting.arms.shape[0]
    for trial in range(state.shape[0]):
        relabel_arms(state, trial, rewards, order, game.rewards)
        _clear(arms)
        counted = 0
        place = 0
        for t in range(1, record.checkpoints[-1] + 1):
            if (t - 1) % late.batch == 0:
                while counted < t - 1 - late.delay:
                    first = counted % size
                    arm = waiting.arms[first]
                    arms.waiting[arm] -= 1.0
                    learn(game, arms, arm, waiting.answers[first], waiting.spreads[first])
                    counted += 1
            last = (t - 1) % size
            arm = choose(game, arms, t, state, trial)
            waiting.arms[last] = arm
            waiting.answers[last], waiting.spreads[last] = answer(game, arm, state, trial)
            arms.waiting[arm] += 1.0
            arms.pulled[arm] += 1.0
            if t == record.checkpoints[place]:
                note(record, trial, place, arms.pulled, game.rewards.gaps)
                if passed(record, place, 1):
                    return
                place += 1
        note_pulls(record, trial, order, arms.pulled)


@inlined
def _answer(game: Any, arm: int, state: np.ndarray, trial: int) -> tuple[float, float]:
    uniform = next_uniform(state, trial, 0)
    if game.bits:
        return (1.0 if uniform < game.rewards.means[arm] else 0.0), 1.0
    return draw_reward(game.rewards.table, game.rewards.values, arm, uniform, state, trial), 1.0


# A/B tests


@inlined
def _decide(game: Comparison, arms: Arms, state: np.ndarray, trial: int) -> None:
    """Fill the means, once."""
    for arm in range(arms.counts.shape[0]):
        total = arms.sums[arm]
        if arms.counts[arm] == 0.0:
            arms.means[arm] = -np.inf
            continue
        if game.plan.scale > 0.0:
            total += laplace_noise(next_uniform(state, trial, 0), game.plan.scale)
        arms.means[arm] = total / arms.counts[arm]


@inlined
def _choose_in_turns(game: Comparison, arms: Arms, t: int, state: np.ndarray, trial: int) -> int:
    """In turns until every user of the test is counted, then the arm with the largest mean."""
    if arms.means[0] == np.inf:
        if arms.spreads[0] < game.plan.users:
            return (t - 1) % arms.counts.shape[0]
        _decide(game, arms, state, trial)
    best = 0
    for arm in range(arms.counts.shape[0]):
        if arms.means[arm] > arms.means[best]:
            best = arm
    return best


@inlined
def _learn_a_test(game: Comparison, arms: Arms, arm: int, answer: float, spread: float) -> None:
    """Count a user of the test; ``spreads[0]`` holds how many were. Who comes after them is not counted."""
    if arms.spreads[0] < game.plan.users:
        arms.spreads[0] += 1.0
        arms.counts[arm] += 1.0
        arms.sums[arm] += answer


@kernel
def explore_then_commit(state: np.ndarray, rewards: Rewards, plan: Plan, late: Late, record: Record) -> None:
    """`bandit_core.kernels.explore_commit` with late feedback; every reward is drawn by itself."""
    game = Comparison(room_for(rewards), plan.bits, plan)
    play_late(_choose_in_turns, _answer, _learn_a_test, game, late, state, rewards, record)


room_to_wait = _waiting  # for `kernels.late_batches`
