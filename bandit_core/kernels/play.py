"""One loop for every rule: who learns from single users writes down the rule, and the loop plays it.

A `Rule` is five plain functions over two records of its own, ``numbers`` that stay and what the server has ``known`` so
far; of a rule that plays the largest index the `index` is enough. `play` is their loop, user after user. It is compiled
for each rule anew, in which the functions below stand for those of the rule, and two words for how it is played:

* ``LATE``: rewards are counted some users later, and only every so many users, as by a daily job: that of user t at the
  first multiple of ``batch`` at or after t + ``delay``. User n is met with the rewards of the users up to
  batch floor((n - 1) / batch) - delay. They are counted in the order of the users.
* ``WATCHED``: what every user felt and sent, and what the server believed, is noted, too. It changes no draw.

A step takes one uniform of the stream's first generator for the reward, so that all lines meet the same rewards; noise
comes from the second one, unless the rule has an `answer` of its own. Ties are for the rule to break: `first` gives way
to arms that must be tried.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import FunctionType
from typing import Any, Literal, NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, inlined, rebound
from bandit_core.kernels.labels import relabel_arms, room_for
from bandit_core.kernels.normals import normal
from bandit_core.kernels.records import Rewards, rewards_of
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.kernels.trial_loop import allows, should_stop, write_checkpoint, write_pulls
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.model import KernelCall, RunSetup
from bandit_core.model.kernel_call import NAN_INDEX

Decision = Literal["largest", "smallest", "draw", "turns"]
Belief = tuple[float, float, float, float]
LATE = WATCHED = False


class Stream(NamedTuple):
    """The random numbers of a trial, see `bandit_core.kernels.streams`."""

    words: np.ndarray
    trial: int


class Now(NamedTuple):
    """A moment: user ``t`` comes (from 1), rewards of the first ``counted`` users are known.

    ``waiting`` (arms,) is how many users of each arm wait to be counted: none where no one is late.
    """

    t: int
    counted: int
    waiting: np.ndarray


class Late(NamedTuple):
    """See `bandit_core.spec.feedback.Feedback`."""

    batch: int
    delay: int


class User(NamedTuple):
    """The user of a response: the number, from 1, and the budget that is theirs alone; NaN where all have the same."""

    number: int
    epsilon: float


class Watched(NamedTuple):
    """A `Record` that takes what is watched of one trial: (users,), and ``beliefs`` (4, users, arms) of `belief`."""

    checkpoints: np.ndarray
    regret: np.ndarray
    best_pulls: np.ndarray
    pulls: np.ndarray
    error: np.ndarray
    signal: np.ndarray
    arms: np.ndarray
    rewards: np.ndarray
    sent: np.ndarray
    epsilons: np.ndarray
    beliefs: np.ndarray


# What a rule is made of.


def start(numbers: Any, arms: int) -> Any:
    """What the server knows before the first user of a trial: a NamedTuple of new arrays."""
    raise NotImplementedError


def choose(numbers: Any, known: Any, now: Now, stream: Stream) -> int:
    """The arm for the user who comes."""
    raise NotImplementedError


def respond(numbers: Any, reward: float, stream: Stream) -> float:
    """What leaves the device of a user who felt a reward; without local privacy the reward itself."""
    return reward


def answer(numbers: Any, rewards: Rewards, arm: int, t: int, stream: Stream) -> tuple[float, float, float]:
    """What user ``t`` feels, what leaves the device, and the user's own budget; NaN for what is not there."""
    uniform = next_uniform(stream.words, stream.trial, 0)
    reward = draw_reward(rewards.table, rewards.values, arm, uniform, stream.words, stream.trial)
    return reward, respond(numbers, reward, stream), math.nan


def learn(numbers: Any, known: Any, arm: int, response: float, user: User, stream: Stream) -> None:
    """Count the response of a user."""
    raise NotImplementedError


# What a rule is made of that plays the arm with the largest index, unless it has parts of its own.


class Means(NamedTuple):
    """Of every arm (arms,): sum and number of its responses, and their mean, infinite before the first one."""

    sums: np.ndarray
    counts: np.ndarray
    means: np.ndarray


def no_responses(numbers: Any, arms: int) -> Means:
    """The `start`: every arm must be tried."""
    return Means(np.zeros(arms), np.zeros(arms), np.full(arms, np.inf))


def index(numbers: Any, known: Any, arm: int, t: int) -> float:
    """What decides for user ``t`` among the arms that have responses."""
    raise NotImplementedError


def largest_index(numbers: Any, known: Any, now: Now, stream: Stream) -> int:
    """The `choose`: an arm that must be tried, else the one with the largest index."""
    best, highest = 0, -np.inf
    for arm in range(known.means.shape[0]):
        value = index(numbers, known, arm, now.t) if known.means[arm] != np.inf else np.inf
        if math.isnan(value):
            return NAN_INDEX
        if first(value, highest, now, arm, best):
            best, highest = arm, value
    return best


def add(numbers: Any, known: Any, arm: int, response: float, user: User, stream: Stream) -> None:
    """The `learn`: the response counts."""
    known.sums[arm] += response
    known.counts[arm] += 1.0
    known.means[arm] = known.sums[arm] / known.counts[arm]


def belief(numbers: Any, known: Any, arm: int, t: int) -> Belief:
    """What is believed of an arm when it was chosen for user ``t``: the mean reward, its low and high end, and the
    number that decides. NaN where there is none; infinity where the arm must be tried first.
    """
    if known.means[arm] == np.inf:
        return UNTRIED
    value = index(numbers, known, arm, t)
    return around(known.means[arm], value - known.means[arm], value)


# What rules are written with.


@inlined
def first(index: float, highest: float, now: Now, arm: int, best: int) -> bool:
    """Whether an arm comes before the best so far; of arms that must be tried the one for whom the fewest wait."""
    return index > highest or (index == np.inf and now.waiting[arm] < now.waiting[best])


@inlined
def uniform(stream: Stream) -> float:
    """In [0, 1), for what privacy or the rule itself draws."""
    return next_uniform(stream.words, stream.trial, 4)


@inlined
def laplace(stream: Stream, scale: float) -> float:
    """Laplace noise."""
    return laplace_noise(next_uniform(stream.words, stream.trial, 4), scale)


@inlined
def gaussian(stream: Stream) -> float:
    """A standard normal variable."""
    return normal(stream.words, stream.trial, 4)


@inlined
def around(estimate: float, margin: float, value: float) -> Belief:
    """A `belief` in an interval."""
    return estimate, estimate - margin, estimate + margin, value


UNTRIED = (math.nan, math.nan, math.nan, math.inf)  # a `belief`
NOTHING = (math.nan, math.nan, math.nan, math.nan)


class Waiting(NamedTuple):
    """Who waits to be counted, in a ring: the arm, the response, and the budget."""

    arms: np.ndarray
    responses: np.ndarray
    epsilons: np.ndarray


@allocating
def room_to_wait(late: Late, horizon: int) -> Waiting:
    """A ring with room for all who can wait at a time."""
    size = min(late.batch + late.delay, horizon)
    return Waiting(np.empty(size, np.int64), np.empty(size), np.empty(size))


def play(state: np.ndarray, rewards: Rewards, numbers: Any, late: Late, record: Any) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints."""
    arms = rewards.table.shape[0]
    here, order = room_for(rewards), np.empty(arms, np.int64)
    pulled, waiting = np.empty(arms), np.empty(arms)
    ring = room_to_wait(late, record.checkpoints[-1])
    size = ring.arms.shape[0]
    for trial in range(state.shape[0]):
        stream = Stream(state, trial)
        relabel_arms(state, trial, rewards, order, here)
        known = start(numbers, arms)
        pulled[:] = 0.0
        waiting[:] = 0.0
        counted, done = 0, 0
        for place in range(record.checkpoints.shape[0]):
            for t in range(done + 1, record.checkpoints[place] + 1):
                if LATE and (t - 1) % late.batch == 0:
                    while counted < t - 1 - late.delay:
                        at = counted % size
                        counted += 1
                        arm = ring.arms[at]
                        waiting[arm] -= 1.0
                        learn(numbers, known, arm, ring.responses[at], User(counted, ring.epsilons[at]), stream)
                arm = choose(numbers, known, Now(t, counted if LATE else t - 1, waiting), stream)
                if not allows(record, trial, arm):
                    return
                reward, response, epsilon = answer(numbers, here, arm, t, stream)
                pulled[arm] += 1.0
                if WATCHED:
                    record.arms[t - 1], record.rewards[t - 1] = order[arm], reward
                    record.sent[t - 1], record.epsilons[t - 1] = response, epsilon
                    for each in range(arms):
                        record.beliefs[:, t - 1, order[each]] = belief(numbers, known, each, t)
                if LATE:
                    at = (t - 1) % size
                    ring.arms[at], ring.responses[at], ring.epsilons[at] = arm, response, epsilon
                    waiting[arm] += 1.0
                else:
                    learn(numbers, known, arm, response, User(t, epsilon), stream)
            done = record.checkpoints[place]
            write_checkpoint(record, trial, place, pulled, here.gaps)
            if should_stop(record, place, 1):
                return
        write_pulls(record, trial, order, pulled)


_inlined = cache(inlined)  # one piece for each function, whichever rules it is in


def with_parts(function: Any, parts: Mapping[str, Any]) -> Any:
    """The function with other meanings of global names: ``parts``, and of plain functions beside it their pieces."""
    for name in set(function.__code__.co_names) - parts.keys():
        helper = function.__globals__.get(name)
        if isinstance(helper, FunctionType) and helper.__module__ == function.__module__ and helper is not function:
            parts = {**parts, name: piece_of(helper)}
    if not parts.keys() & set(function.__code__.co_names):
        return function
    made = FunctionType(function.__code__, {**function.__globals__, **parts}, function.__name__)
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return made


def piece_of(function: Any, parts: Mapping[str, Any] | None = None) -> Any:
    """A function as a piece of kernels; some names of its module may mean other ``parts``."""
    return _inlined(with_parts(function, parts or {}))


@dataclass(frozen=True, eq=False)
class Rule:
    """The functions of a rule, see `start`, `choose`, `respond`, `learn` and `belief`; plain functions of a module.

    One that plays the arm with the largest `index` needs no more than that: the others are `no_responses`,
    `largest_index`, `add` and `belief`. Its own ones may stand in place of some; of what is known they read ``means``,
    and `add` also ``sums`` and ``counts``.

    ``name`` tells its kernels from others of the module of ``index`` or ``choose``. ``decides`` says what the last
    number of ``belief`` is (see `bandit_core.studies.one_run`). ``parts`` are other meanings of names that the
    functions read of their module, where several rules differ in them only.

    A rule whose users differ, or whose responses are drawn without a reward, has an `answer` in place of ``respond``.
    ``likelihood(numbers, reward, response, epsilon)``, which is not compiled, is the chance of such a response given
    the reward; a watched run draws the reward by it.

    ``loop`` is `play`, or `kernels.contextual.play_users` where users have features: no belief is asked for there.
    ``hides``: what leaves a device is made later than the response, and a watched run does not tell it.
    """

    name: str
    start: Callable[..., Any] = no_responses
    choose: Callable[..., int] = largest_index
    learn: Callable[..., None] = add
    belief: Callable[..., Belief] = belief
    respond: Callable[..., float] = respond
    decides: Decision = "largest"
    parts: Mapping[str, Any] = field(default_factory=dict)
    answer: Callable[..., tuple[float, float, float]] = answer
    likelihood: Callable[..., float] | None = None
    loop: Callable[..., None] = play
    hides: bool = False
    index: Callable[..., float] = index

    def _kernel(self, name: str, **words: bool) -> Callable[..., None]:
        own = {"index": piece_of(self.index, self.parts)}  # the functions of a policy may mean something else by it
        functions = {"choose": self.choose, "learn": self.learn, "belief": self.belief}
        pieces = {
            name: piece_of(function, own if function in (largest_index, belief) else self.parts)
            for name, function in functions.items()
        }
        parts = {**self.parts, "respond": piece_of(self.respond, self.parts)}
        pieces["answer"] = piece_of(self.answer, parts)
        start = allocating(with_parts(self.start, self.parts))
        place = self.choose if self.index is index else self.index
        return rebound(self.loop, place, name, start=start, **pieces, **words)

    @cached_property
    def at_once(self) -> Callable[..., None]:
        """The kernel of runs whose rewards are counted at once."""
        return self._kernel(self.name)

    @cached_property
    def late(self) -> Callable[..., None]:
        """That of runs whose rewards are counted late."""
        return self._kernel(f"{self.name}_late", LATE=True)

    @cached_property
    def watched(self) -> Callable[..., None]:
        """That of a run to watch, late or not, whose record is `Watched`."""
        return self._kernel(f"{self.name}_watched", LATE=True, WATCHED=True)

    def call(
        self,
        setup: RunSetup,
        numbers: Any,
        fast: Callable[[], KernelCall] | None = None,
        means: np.ndarray | None = None,
    ) -> KernelCall:
        """The call that plays a line with these numbers; rewards that are counted at once by an accelerator, if any.

        ``means`` are those of `Rewards`.
        """
        asked = setup.feedback
        arguments = (rewards_of(setup, means), numbers, Late(asked.batch, asked.delay))
        if asked.immediate and fast is not None:
            return replace(fast(), rule=self, watched=arguments)
        kernel = self.at_once if asked.immediate else self.late
        return KernelCall(kernel, arguments, len(setup.arms), rule=self, watched=arguments)
