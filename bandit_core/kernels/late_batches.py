"""Late feedback for policies that see rewards only through sums over batches, see `kernels.play`.

A release needs rewards that are counted. So every arm is shown in turns until the first users, ``first`` of each arm,
are counted, and then

* committed: the arm of a batch is shown until so many of its rewards are counted as the batch shall have. All that are
  counted by then enter its release; who is counted later waits for the arm's next one. How long a batch is follows from
  the rewards that were released, as without lateness from the pulls.
* in turns, until one arm is left: an epoch ends when so many rewards of every arm that is left are counted, and all
  that are counted by then enter its release.

Which users are in a release follows from choices and the calendar, not from rewards, and every reward is in as many
releases as at once: the promise is the same. Rewards are drawn one by one. Batch 1 and delay 0 are the game of
`kernels.batches` with ``at_once`` = False.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bandit_core.jit.decorators import expanded, inlined, kernel, piece
from bandit_core.kernels import batched, gaussian_batches
from bandit_core.kernels.batches import begin, noise, room_for_batches, survivors
from bandit_core.kernels.curves import note, note_pulls, passed
from bandit_core.kernels.play import Late, Waiting, room_to_wait
from bandit_core.kernels.records import Batches, Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.model import Record


@inlined
def _take(batches: Batches, waiting: Waiting, user: int) -> int:
    """Count the reward of a user (from 0): add it to the fresh ones of its arm, which is given back."""
    place = user % waiting.arms.shape[0]
    arm = waiting.arms[place]
    batches.fresh[arm] += waiting.responses[place]
    return arm


@inlined
def _show(
    batches: Batches, waiting: Waiting, arm: int, t: int, place: int, contrast: float, state: np.ndarray, trial: int
) -> int:
    """Show ``arm`` to user ``t``, whose answer waits; the place of the next checkpoint, -1 to give up.

    ``contrast`` of the bit that is the answer (see `mechanisms.randomised_response`), 0 where it is the reward.
    """
    rewards, record = batches.rewards, batches.record
    last = (t - 1) % waiting.arms.shape[0]
    waiting.arms[last] = arm
    uniform = next_uniform(state, trial, 0)
    reward = draw_reward(rewards.table, rewards.values, arm, uniform, state, trial)
    if contrast > 0.0:
        reward = 1.0 if next_uniform(state, trial, 4) < 0.5 + contrast * (reward - 0.5) else 0.0
    waiting.responses[last] = reward
    batches.pulled[arm] += 1.0
    if t < record.checkpoints[place]:
        return place
    note(record, trial, place, batches.pulled, rewards.gaps)
    return -1 if passed(record, place, 1) else place + 1


@expanded
def play_committed(  # noqa: PLR0913 (see `batches.play_batches`)
    clear: Callable[..., None],
    choose: Callable[..., tuple[int, int]],
    release: Callable[..., None],
    rule: Any,
    known: Any,
    late: Late,
    state: np.ndarray,
    rewards: Rewards,
    record: Record,
) -> None:
    """Play one trial per row of ``state``: arms for whole batches; the pieces are those of `batches.play_batches`."""
    arms = rewards.table.shape[0]
    order, batches = room_for_batches(rewards, False, record)
    waiting, counts, released = room_to_wait(late, record.checkpoints[-1]), np.empty(arms), np.empty(arms)
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        clear(rule, known)
        counts[:], released[:] = 0.0, 0.0
        counted, place, arm, wanted = 0, 0, -1, 0
        for t in range(1, record.checkpoints[-1] + 1):
            while (t - 1) % late.batch == 0 and counted < t - 1 - late.delay:
                counts[_take(batches, waiting, counted)] += 1.0
                counted += 1
                if counted == arms * rule.first:
                    for other in range(arms):
                        release(rule, known, batches, other, rule.first, state, trial)
                        released[other], counts[other] = rule.first, 0.0
            if counted >= arms * rule.first:
                while arm < 0 or counts[arm] >= wanted:
                    if arm >= 0:
                        release(rule, known, batches, arm, int(counts[arm]), state, trial)
                        released[arm], counts[arm] = released[arm] + counts[arm], 0.0
                    arm, wanted = choose(rule, known, released, t - 1, state, trial)
            place = _show(batches, waiting, (t - 1) % arms if arm < 0 else arm, t, place, 0.0, state, trial)
            if place < 0:
                return
        note_pulls(record, trial, order, batches.pulled)


@kernel
def by_index(state: np.ndarray, rewards: Rewards, commitment: batched.Commitment, late: Late, record: Record) -> None:
    """`kernels.batched.by_index` with late feedback."""
    arms = rewards.table.shape[0]
    known = batched.Known(np.empty(arms), np.empty(arms), np.empty(arms))
    play_committed(
        batched.clear, batched.choose, batched.release, commitment, known, late, state, rewards, record
    )  # fmt: skip


@kernel
def with_normal_noise(
    state: np.ndarray, rewards: Rewards, doubling: gaussian_batches.Doubling, late: Late, record: Record
) -> None:
    """`kernels.gaussian_batches.by_index` with late feedback."""
    arms = rewards.table.shape[0]
    known = gaussian_batches.Known(np.empty(arms), np.empty(arms))
    play_committed(
        gaussian_batches.clear, gaussian_batches.choose, gaussian_batches.release, doubling, known, late, state,
        rewards, record,
    )  # fmt: skip


class Elimination(NamedTuple):
    """By step and number of arms left (steps, arms + 1): rewards of each arm, and how far below the best is out.

    ``contrast`` of randomised bits, 0 where rewards are sent; ``scale`` of the Laplace noise in a sum, 0 for none.
    """

    lengths: np.ndarray
    margins: np.ndarray
    contrast: float
    scale: float


@inlined
def _complete(plan: Elimination, number: int, members: np.ndarray, size: int, counts: np.ndarray) -> bool:
    """Whether a step that drops arms is over."""
    if size == 1 or number == plan.lengths.shape[0]:
        return False
    least = np.inf
    for turn in range(size):
        least = min(least, counts[members[turn]])
    return least >= plan.lengths[number, size]


@piece
def _mean(plan: Elimination, batches: Batches, counts: np.ndarray, arm: int, state: np.ndarray, trial: int) -> float:
    """Release the mean of an arm's fresh answers, and use them up."""
    total, count = batches.fresh[arm], counts[arm]
    batches.fresh[arm] = counts[arm] = 0.0
    if plan.scale > 0.0:
        total += noise(state, trial, plan.scale)
    return 0.5 + (total / count - 0.5) / plan.contrast if plan.contrast > 0.0 else total / count


@kernel
def elimination(state: np.ndarray, rewards: Rewards, plan: Elimination, late: Late, record: Record) -> None:
    """`kernels.batched.elimination` and `kernels.ladder.elimination` with late feedback."""
    arms = rewards.table.shape[0]
    order, batches = room_for_batches(rewards, False, record)
    waiting, counts, means = room_to_wait(late, record.checkpoints[-1]), np.empty(arms), np.empty(arms)
    members = np.empty(arms, np.int64)
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        for arm in range(arms):
            members[arm], counts[arm] = arm, 0.0
        size, number, turn, counted, place = arms, 0, 0, 0, 0
        for t in range(1, record.checkpoints[-1] + 1):
            if (t - 1) % late.batch == 0:
                while counted < t - 1 - late.delay:
                    counts[_take(batches, waiting, counted)] += 1.0
                    counted += 1
                while _complete(plan, number, members, size, counts):
                    for other in range(size):
                        means[members[other]] = _mean(plan, batches, counts, members[other], state, trial)
                    size = survivors(members, size, means, plan.margins[number, size])
                    number, turn = number + 1, 0
            place = _show(batches, waiting, members[turn], t, place, plan.contrast, state, trial)
            turn = turn + 1 if turn + 1 < size else 0
            if place < 0:
                return
        note_pulls(record, trial, order, batches.pulled)
