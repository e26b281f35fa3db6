"""Policies that see rewards only through sums over batches of users: a `BatchRule`, and the loops that play it.

It is four plain functions, as those of a `kernels.play.Rule` one level up, over ``numbers`` that stay and what the
server has ``known`` so far, whose ``members`` (arms,) are all arms at first:

* ``choose(numbers, known, pulled, t, stream)`` gives the batch after ``t`` users: how many of the arms that stand first
  in ``members`` take turns, and how often each of them is shown; `NEVER` ends a batch with the last user.
* ``learn(numbers, known, arm, total, count, stream)`` gets the sum of ``count`` rewards of an arm, arm by arm.
* ``start`` is that of a rule, and ``believe`` its ``belief``, of which the first user of a batch counts.

Where rewards are counted at once, pulls are counted in bulk, and a batch takes as few draws as `total` needs.

Where they are counted late, the loop of all rules plays it user by user, by functions below. A batch takes turns until
so many rewards of each of its arms are counted. Which users are then in the sum follows from choices and the calendar,
not from rewards, and every reward is in one sum at most, as at once: the promise is the same. ``TAKES`` says who:

* `ALL` who are counted by then; whoever is counted later waits for the next batch of the arm.
* `OWN`: those of them who came in the batch itself.
* `EXACTLY` the first so many of the batch's own; no one asks the others. For noise that is made for so many users.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, inlined, rebound
from bandit_core.kernels.batches import begin, fresh_sum, pull_in_turns, room_for_batches
from bandit_core.kernels.play import Belief, Decision, Late, Now, Rule, Stream, User, piece_of, respond, with_parts
from bandit_core.kernels.records import Batches, Rewards, rewards_of
from bandit_core.kernels.trial_loop import STOPPED, allows, write_pulls
from bandit_core.model import KernelCall, Record, RunSetup
from bandit_core.model.kernel_call import WRONG_BATCH

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
