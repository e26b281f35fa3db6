"""Policies that see rewards only through sums over batches of users: a `BatchRule`, and the loops that play it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, device_function, inlined, rebound
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.play import (
    STOPPED,
    Batches,
    Belief,
    Decision,
    Late,
    Now,
    Rewards,
    Rule,
    Stream,
    User,
    allows,
    piece_of,
    relabel_arms,
    respond,
    rewards_of,
    room_for,
    should_stop,
    with_parts,
    write_checkpoint,
    write_pulls,
)
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.model import KernelCall, Record, RunSetup
from bandit_core.model.kernel_call import WRONG_BATCH
from bandit_core.spec.rewards import TWO_POINT

# ---------------------------------------------------------------------------------------------------------------------
# What the kernels of batch policies share: playing many pulls at once, and drawing what they paid.
#
# These policies look at rewards only through sums over batches. So pulls are counted in bulk (a checkpoint inside a
# batch needs nothing else), and the sum of a batch of two-valued rewards is one binomial variable. Other distributions
# are drawn reward by reward. ``at_once`` = False does the same for two-valued distributions: the plain form, for tests.


@allocating
def room_for_batches(rewards: Rewards, at_once: bool, record: Record) -> tuple[np.ndarray, Batches]:
    """`Batches` to be filled by `begin`, and room for the labels."""
    arms = rewards.table.shape[0]
    order = np.empty(arms, np.int64)
    return order, Batches(room_for(rewards), at_once, np.empty(arms), np.empty(arms), record)


@inlined
def begin(batches: Batches, rewards: Rewards, order: np.ndarray, state: np.ndarray, trial: int) -> None:
    """Begin a trial: draw the labels, forget what was pulled."""
    relabel_arms(state, trial, rewards, order, batches.rewards)
    for arm in range(order.shape[0]):
        batches.fresh[arm] = 0.0
        batches.pulled[arm] = 0.0


@inlined
def _by_the_sum(batches: Batches, arm: int) -> bool:
    return batches.at_once and batches.rewards.table[arm, 0] == TWO_POINT


@inlined
def _in_turns(  # noqa: PLR0913 (what `pull_in_turns` is called with)
    batches: Batches, members: np.ndarray, size: int, t: int, steps: int, place: int, drawn: bool,
    state: np.ndarray, trial: int,
) -> int:  # fmt: skip
    """See `pull_in_turns`; ``drawn``: rewards of arms whose sums do not wait are drawn here."""
    fresh, pulled, record, rewards = batches.fresh, batches.pulled, batches.record, batches.rewards
    turn = 0  # whose turn it is
    while steps > 0:
        length = min(steps, record.checkpoints[place] - t)
        at = turn
        for _ in range(length if drawn else 0):
            arm = members[at]
            at = at + 1 if at + 1 < size else 0
            if not _by_the_sum(batches, arm):
                uniform = next_uniform(state, trial, 0)
                fresh[arm] += draw_reward(rewards.table, rewards.values, arm, uniform, state, trial)
        rounds = length // size
        for other in range(size):
            pulled[members[other]] += rounds
        for other in range(turn, turn + length - rounds * size):
            pulled[members[other if other < size else other - size]] += 1.0
        turn = (turn + length) % size
        t += length
        steps -= length
        if t == record.checkpoints[place]:
            write_checkpoint(record, trial, place, pulled, rewards.gaps)
            if should_stop(record, place, 1):
                return STOPPED
            place += 1
    return place


@device_function
def count_pulls(
    batches: Batches, members: np.ndarray, size: int, t: int, steps: int, place: int, state: np.ndarray, trial: int
) -> int:
    """`pull_in_turns` where no reward is drawn before its sum is asked for."""
    return _in_turns(batches, members, size, t, steps, place, False, state, trial)


@device_function
def pull_in_turns(
    batches: Batches, members: np.ndarray, size: int, t: int, steps: int, place: int, state: np.ndarray, trial: int
) -> int:
    """Pull the first ``size`` arms of ``members`` in turns, ``steps`` pulls in all, after ``t`` pulls so far.

    Counts the pulls and fills the checkpoints passed, the next of which is at ``place``. Rewards that are drawn one by
    one are added up here, in the order of the pulls; those that are drawn by their sum wait for `fresh_sum`.

    Returns the place of the next checkpoint, or STOPPED.
    """
    drawn = False
    for turn in range(size):
        drawn |= not _by_the_sum(batches, members[turn])
    return _in_turns(batches, members, size, t, steps, place, drawn, state, trial)


@device_function
def fresh_sum(batches: Batches, arm: int, count: float, state: np.ndarray, trial: int) -> float:
    """Sum of the ``count`` rewards of ``arm`` since its last release. They are used up: no reward is summed twice."""
    table = batches.rewards.table
    if _by_the_sum(batches, arm):
        low = table[arm, 1]
        ones = binomial(count, table[arm, 3], state, trial)
        return low * (count - ones) + table[arm, 2] * ones
    total = batches.fresh[arm]
    batches.fresh[arm] = 0.0
    return total


@inlined
def noise(state: np.ndarray, trial: int, scale: float) -> float:
    """Laplace(scale) noise of one release, from one uniform of the stream."""
    return laplace_noise(next_uniform(state, trial, 0), scale)


@inlined
def survivors(members: np.ndarray, size: int, means: np.ndarray, margin: float) -> int:
    """Drop from the first ``size`` of ``members`` those whose mean is more than ``margin`` below the highest.

    How many are left; they stand first, in their order.
    """
    highest = -np.inf
    for turn in range(size):
        highest = max(highest, means[members[turn]])
    left = 0
    for turn in range(size):
        if highest - means[members[turn]] <= margin:
            members[left] = members[turn]
            left += 1
    return left


# ---------------------------------------------------------------------------------------------------------------------
# Policies that see rewards only through sums over batches of users: a `BatchRule`, and the loops that play it.
#
# It is four plain functions, as those of a `kernels.play.Rule` one level up, over ``numbers`` that stay and what the
# server has ``known`` so far, whose ``members`` (arms,) are all arms at first:
#
# * ``choose(numbers, known, pulled, t, stream)`` gives the batch after ``t`` users: how many of the arms that stand
#   first in ``members`` take turns, and how often each of them is shown; `NEVER` ends a batch with the last user.
# * ``learn(numbers, known, arm, total, count, stream)`` gets the sum of ``count`` rewards of an arm, arm by arm.
# * ``start`` is that of a rule, and ``believe`` its ``belief``, of which the first user of a batch counts.
#
# Where rewards are counted at once, pulls are counted in bulk, and a batch takes as few draws as `total` needs.
#
# Where they are counted late, the loop of all rules plays it user by user, by functions below. A batch takes turns
# until so many rewards of each of its arms are counted. Which users are then in the sum follows from choices and the
# calendar, not from rewards, and every reward is in one sum at most, as at once: the promise is the same. ``TAKES``
# says who:
#
# * `ALL` who are counted by then; whoever is counted later waits for the next batch of the arm.
# * `OWN`: those of them who came in the batch itself.
# * `EXACTLY` the first so many of the batch's own; no one asks the others. For noise that is made for so many users.


NEVER = 2**62  # pulls of a batch without an end
ALL, OWN, EXACTLY = range(3)
TAKES, PROMPT = ALL, False
SIZE, LENGTH, TURN, BEGAN = range(4)  # of the present batch: its arms, how often, whose turn, its first user


def start(numbers: Any, arms: int) -> Any:
    """What the server knows before the first user of a trial: a NamedTuple of new arrays."""
    raise NotImplementedError


def choose(numbers: Any, known: Any, pulled: np.ndarray, t: int, stream: Stream) -> tuple[int, int]:
    """The arms of the batch after ``t`` users, and how often each of them is shown."""
    raise NotImplementedError


def learn(numbers: Any, known: Any, arm: int, total: float, count: float, stream: Stream) -> None:
    """Count the sum of a batch."""
    raise NotImplementedError


def believe(numbers: Any, known: Any, arm: int, t: int) -> Belief:
    """What is believed of an arm when user ``t`` begins a batch."""
    raise NotImplementedError


def total(numbers: Any, known: Any, batches: Batches, arm: int, count: int, stream: Stream) -> float:
    """The sum of the rewards of a batch."""
    return fresh_sum(batches, arm, float(count), stream.words, stream.trial)


pull = pull_in_turns


def play_batches(state: np.ndarray, rewards: Rewards, at_once: bool, numbers: Any, record: Record) -> None:
    """Play one trial per row of ``state``; ``at_once`` = False draws every reward by itself: other draws, one law."""
    arms, horizon = rewards.table.shape[0], record.checkpoints[-1]
    order, batches = room_for_batches(rewards, at_once, record)
    for trial in range(state.shape[0]):
        stream = Stream(state, trial)
        begin(batches, rewards, order, state, trial)
        known = start(numbers, arms)
        t, place = 0, 0
        while t < horizon:
            size, length = choose(numbers, known, batches.pulled, t, stream)
            if not (0 < size <= arms and length > 0):
                allows(record, trial, WRONG_BATCH)
                return
            steps = length * size if length <= (horizon - t) // size else horizon - t
            place = pull(batches, known.members, size, t, steps, place, state, trial)
            if place == STOPPED:
                return
            t += steps
            if t < horizon:  # later no one asks any more
                for turn in range(size):
                    arm = known.members[turn]
                    found = total(numbers, known, batches, arm, length, stream)
                    learn(numbers, known, arm, found, float(length), stream)
                if record.signal[0] != 0:
                    return
        write_pulls(record, trial, order, batches.pulled)


# Late: a rule of single users.


class Waits(NamedTuple):
    """What is known; of every arm (arms,) the sum and number of rewards that no batch has learned yet, and how many the
    batches have; and the present batch."""

    known: Any
    fresh: np.ndarray
    counts: np.ndarray
    released: np.ndarray
    plan: np.ndarray


def take(numbers: Any, known: Any, fresh: np.ndarray, arm: int, response: float, stream: Stream) -> None:
    """Add the response of a user of the present batch to ``fresh``, the sums of all arms."""
    fresh[arm] += response


@inlined
def _complete(waits: Waits) -> bool:
    """Whether enough rewards of each arm of the batch are counted."""
    least = np.inf
    for turn in range(waits.plan[SIZE]):
        least = min(least, waits.counts[waits.known.members[turn]])
    return least >= waits.plan[LENGTH]


def release(numbers: Any, waits: Waits, stream: Stream) -> None:
    """End the present batch, if there is one."""
    for turn in range(waits.plan[SIZE]):
        arm = waits.known.members[turn]
        learn(numbers, waits.known, arm, waits.fresh[arm], waits.counts[arm], stream)
        waits.released[arm] += waits.counts[arm]
        waits.fresh[arm] = waits.counts[arm] = 0.0
    waits.plan[SIZE] = 0


def _start(numbers: Any, arms: int) -> Waits:
    return Waits(start(numbers, arms), np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(4, np.int64))


def _choose(numbers: Any, waits: Waits, now: Now, stream: Stream) -> int:
    """The arm whose turn it is in the present batch, or in a new one where that is complete."""
    plan = waits.plan
    while plan[SIZE] == 0 or _complete(waits):
        release(numbers, waits, stream)
        plan[SIZE], plan[LENGTH] = choose(numbers, waits.known, waits.released, now.t - 1, stream)
        if not (0 < plan[SIZE] <= waits.counts.shape[0] and plan[LENGTH] > 0):
            return WRONG_BATCH
        plan[TURN], plan[BEGAN] = 0, now.t
    turn = plan[TURN]
    plan[TURN] = turn + 1 if turn + 1 < plan[SIZE] else 0
    return waits.known.members[turn]


def _learn(numbers: Any, waits: Waits, arm: int, response: float, user: User, stream: Stream) -> None:
    """Count a reward, if it is one of the batch."""
    plan, counts = waits.plan, waits.counts
    if TAKES != ALL:
        most = plan[LENGTH] if TAKES == EXACTLY else NEVER
        if user.number < plan[BEGAN] or plan[LENGTH] == NEVER or counts[arm] >= most:
            return
    counts[arm] += 1.0
    take(numbers, waits.known, waits.fresh, arm, response, stream)
    if PROMPT and plan[BEGAN] == 1 and _complete(waits):
        release(numbers, waits, stream)
        plan[BEGAN] = 0


def _belief(numbers: Any, waits: Waits, arm: int, t: int) -> Belief:
    return believe(numbers, waits.known, arm, waits.plan[BEGAN])


@dataclass(frozen=True, eq=False)
class BatchRule:
    """The functions of a rule, see above; plain functions of a module. See `kernels.play.Rule` for the other fields.

    ``total`` draws the sum of a batch after ``pull`` has counted its pulls; ``take`` and ``takes`` are for late
    rewards. ``prompt``: the first batch ends as soon as it can, not when the next user comes.
    """

    name: str
    start: Callable[..., Any]
    choose: Callable[..., tuple[int, int]]
    learn: Callable[..., None]
    believe: Callable[..., Belief] = believe
    decides: Decision = "largest"
    parts: Mapping[str, Any] = field(default_factory=dict)
    prompt: bool = False
    total: Callable[..., float] = total
    pull: Callable[..., int] = pull
    take: Callable[..., None] = take
    takes: int = ALL
    respond: Callable[..., float] = respond
    hides: bool = False

    @cached_property
    def _pieces(self) -> dict[str, Any]:
        names = ("choose", "learn", "believe", "take", "total")
        pieces = {each: piece_of(getattr(self, each), self.parts) for each in names}
        return {**pieces, "start": allocating(with_parts(self.start, self.parts)), "pull": self.pull}

    @cached_property
    def at_once(self) -> Callable[..., None]:
        """The kernel of runs whose rewards are counted at once."""
        return rebound(play_batches, self.choose, self.name, **self._pieces)

    @cached_property
    def by_user(self) -> Rule:
        """The same, user by user."""
        parts = {**self._pieces, "PROMPT": self.prompt, "TAKES": self.takes}
        parts["release"] = piece_of(release, parts)
        return Rule(
            self.name, _start, _choose, _learn, _belief, self.respond, self.decides, parts, hides=self.hides
        )  # fmt: skip

    def call(self, setup: RunSetup, numbers: Any, at_once: bool = True) -> KernelCall:
        """The call that plays a line with these numbers; for ``at_once`` see `play_batches`."""
        if not setup.feedback.immediate:
            return self.by_user.call(setup, numbers)
        rewards, watched = rewards_of(setup), Late(setup.feedback.batch, setup.feedback.delay)
        arguments = (rewards, at_once, numbers)
        return KernelCall(self.at_once, arguments, len(setup.arms), rule=self, watched=(rewards, numbers, watched))


def rule_of(call: KernelCall) -> Rule | None:
    """The rule whose loop plays a line user by user; None for searches that stop."""
    rule: Rule | None = call.rule.by_user if isinstance(call.rule, BatchRule) else call.rule
    return rule


# ---------------------------------------------------------------------------------------------------------------------
# What the users of a batch add up to, for elimination in batches that grow by a factor.
#
# Every arm that is left is pulled equally often in a batch, in turns; the batch's means decide which arms stay. So a
# batch is drawn when it is complete, arm by arm, by as few draws as its distribution allows: bits that users randomise
# are binomial whatever the rewards are, sums of two-valued rewards are binomial, and the noise of all users of a batch
# is one variable (see `bandit_core.mechanisms.batch`). Other rewards are drawn one by one. ``at_once`` = False
# does so for all of them: the plain form, for tests.
#
# Draws: sums of batches from the stream's second generator, as are bits and rounding; of rewards one by one each takes
# a uniform of the first; noise takes one (Laplace) or two (discrete Laplace) uniforms of the first, Skellam noise as
# many of the second as it needs.


SUMS, LAPLACE, BITS, POLYA, SKELLAM = range(5)  # what the server learns; from POLYA on sums modulo m
_LOOK = 65_536  # rewards drawn one by one between two looks at the signal


class Ladder(NamedTuple):
    """What the server learns, and what `bandit_core.theory.ladder.Steps` says of each batch; ``margins``: 2 radii."""

    learns: int
    lengths: np.ndarray
    margins: np.ndarray
    contrast: np.ndarray
    levels: np.ndarray
    spread: np.ndarray
    slack: np.ndarray


@inlined
def rounded(value: float, levels: float, state: np.ndarray, trial: int) -> float:
    """A reward on the grid of ``levels``: the level below, or the next one with the chance of the fraction."""
    below = math.floor(value * levels)
    fraction = value * levels - below
    return below + 1.0 if fraction > 0.0 and next_uniform(state, trial, 4) < fraction else below


@inlined
def _rounded_sum(value: float, levels: float, count: float, state: np.ndarray, trial: int) -> float:
    """Sum of ``count`` equal rewards, each rounded by itself."""
    below = math.floor(value * levels)
    return count * below + binomial(count, value * levels - below, state, trial)


@device_function
def batch_total(
    batches: Batches, arm: int, count: float, learns: int, contrast: float, levels: float, state: np.ndarray, trial: int
) -> float:
    """What the users of a batch add up to before noise is added to the sum: rewards, bits that are 1, or levels."""
    rewards, signal = batches.rewards, batches.record.signal
    if learns == BITS and batches.at_once:
        return binomial(count, 0.5 + contrast * (rewards.means[arm] - 0.5), state, trial)
    table = rewards.table
    if batches.at_once and table[arm, 0] == TWO_POINT:
        low, high = table[arm, 1], table[arm, 2]
        ones = binomial(count, table[arm, 3], state, trial)
        if learns >= POLYA:
            total = _rounded_sum(low, levels, count - ones, state, trial)
            return total + _rounded_sum(high, levels, ones, state, trial)
        return low * (count - ones) + high * ones
    total = 0.0
    for user in range(int(count)):
        if user % _LOOK == 0 and signal[0] != 0:
            break
        reward = draw_reward(table, rewards.values, arm, next_uniform(state, trial, 0), state, trial)
        if learns == BITS:
            total += 1.0 if next_uniform(state, trial, 4) < 0.5 + contrast * (reward - 0.5) else 0.0
        elif learns >= POLYA:
            total += rounded(reward, levels, state, trial)
        else:
            total += reward
    return total
