"""One loop for every rule, over trials, users and checkpoints; the records it is called with, and labels of arms."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from types import FunctionType
from typing import Any, Literal, NamedTuple

import numpy as np
from numba import uint64

from bandit_core.jit.decorators import allocating, device_function, inline_loop, inlined, rebound
from bandit_core.kernels.normals import normal
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.binary import tree_noise as binary_noise
from bandit_core.mechanisms.counter import set_bits
from bandit_core.mechanisms.hybrid import hybrid_noise
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.mechanisms.signed_digits import count_on, fresh_nodes, signed_noise
from bandit_core.mechanisms.square_root import spread_noise
from bandit_core.model import KernelCall, Record, RunSetup
from bandit_core.model.kernel_call import NAN_INDEX

# ---------------------------------------------------------------------------------------------------------------------
# What kernels are called with, in a few records (numba takes them apart, they cost nothing).


class Rewards(NamedTuple):
    """The arms, in the order of the spec or of a trial's labels.

    ``table`` (arms, ROW) and ``values`` are those of `bandit_core.spec.rewards.tables`; ``means`` (arms,) is the mean
    of what a mechanism that answers with bits is fed with, ``gaps`` (arms,) what a pull loses, in reward units: best
    mean minus mean, before any cut.
    """

    table: np.ndarray
    values: np.ndarray
    means: np.ndarray
    gaps: np.ndarray


class Users(NamedTuple):
    """The users' budgets, see `bandit_core.spec.budgets`; who has less than ``eps_min`` shares nothing."""

    kind: int
    form: np.ndarray
    table: np.ndarray
    eps_min: float


class Index(NamedTuple):
    """An index of the form mean + width x clock, and what it is fed with; see `bandit_core.kernels.index`."""

    release: int = 0  # RAW
    squash: bool = False
    per_pull: float = 0.0
    per_spread: float = 0.0
    clock: int = 0  # PLAIN_CLOCK
    forced: float = 0.0


class Batches(NamedTuple):
    """A trial of a policy that plays in batches, see `bandit_core.kernels.batch_rule`; ``rewards`` by the labels."""

    rewards: Rewards
    at_once: bool
    fresh: np.ndarray  # what rewards that are drawn one by one have added up to since the last release (arms,)
    pulled: np.ndarray
    record: Record


def rewards_of(setup: RunSetup, means: np.ndarray | None = None) -> Rewards:
    """The arms of a line; ``means`` of what its mechanism is fed with, where that is not the reward itself."""
    return Rewards(*setup.tables, setup.means if means is None else means, setup.regret_gaps)


# ---------------------------------------------------------------------------------------------------------------------
# Arms have no order: in every trial they carry labels that are drawn at random.
#
# Many policies break ties in favour of the lowest arm, and some meet ties often (an index that cannot exceed 1, say).
# If an arm's place in the list were its label, regret would depend on how an experiment is written down. So a kernel
# knows arms by labels only: at the start of a trial it arranges the table of rewards and the gaps in the order of
# `draw_labels`, and `pulls` are noted under the arm that a label stands for. The order follows from the trial's stream,
# hence it is the same for all lines of an experiment, and it takes no draw from the stream.


_GOLDEN = uint64(0x9E3779B97F4A7C15)


@inlined
def _mixed(word: Any) -> Any:
    """SplitMix64's finaliser (Steele, Lea and Flood 2014)."""
    word = (word ^ (word >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> uint64(27))) * uint64(0x94D049BB133111EB)
    return word ^ (word >> uint64(31))


@device_function
def draw_labels(state: np.ndarray, row: int, order: np.ndarray) -> None:
    """Fill ``order`` (arms,) with a random permutation: label i stands for arm ``order[i]``.

    Fisher and Yates' shuffle, by numbers of SplitMix64 seeded with all eight words of the fresh stream.
    """
    seed = uint64(0)
    for word in range(state.shape[1]):
        seed = _mixed(seed + _GOLDEN + state[row, word])
    for label in range(order.shape[0]):
        order[label] = label
    for label in range(order.shape[0] - 1, 0, -1):
        seed += _GOLDEN
        uniform = (_mixed(seed) >> uint64(11)) * 2.0**-53
        other = int(uniform * (label + 1))
        moved = order[label]
        order[label] = order[other]
        order[other] = moved


@device_function
def seed_another(state: np.ndarray, row: int, own: np.ndarray) -> None:
    """Fill ``own`` (1, words) with streams that are independent of that at ``row``, and follow from it, by SplitMix64.

    ``state`` stays as it is.
    """
    seed = uint64(1)
    for word in range(state.shape[1]):
        seed = _mixed(seed + _GOLDEN + state[row, word])
    for word in range(own.shape[1]):
        seed += _GOLDEN
        own[0, word] = _mixed(seed)


@device_function
def arrange(order: np.ndarray, given: np.ndarray, arranged: np.ndarray) -> None:
    """Fill ``arranged`` (arms,) with ``given`` (arms,) in the order of the labels."""
    for label in range(order.shape[0]):
        arranged[label] = given[order[label]]


@device_function
def arrange_rows(order: np.ndarray, given: np.ndarray, arranged: np.ndarray) -> None:
    """The same for tables, one row per arm."""
    for label in range(order.shape[0]):
        for column in range(given.shape[1]):
            arranged[label, column] = given[order[label], column]


@allocating
def room_for(rewards: Rewards) -> Rewards:
    """`Rewards` of the same arms, to be filled by `relabel_arms`."""
    return Rewards(
        np.empty_like(rewards.table), rewards.values, np.empty_like(rewards.means), np.empty_like(rewards.gaps)
    )


@inlined
def relabel_arms(state: np.ndarray, row: int, rewards: Rewards, order: np.ndarray, here: Rewards) -> None:
    """Draw the labels of a trial into ``order`` and fill ``here`` with what a kernel knows of the arms."""
    draw_labels(state, row, order)
    arrange_rows(order, rewards.table, here.table)
    arrange(order, rewards.means, here.means)
    arrange(order, rewards.gaps, here.gaps)


# ---------------------------------------------------------------------------------------------------------------------
# The loop over trials and checkpoints, and what a kernel notes at them.


STOPPED = -1  # in place of the next checkpoint


@inlined
def write_checkpoint(record: Record, trial: int, place: int, pulled: np.ndarray, gaps: np.ndarray) -> None:
    """Note what so many pulls of each arm have lost, and how many were of best arms."""
    lost, good = 0.0, 0.0
    for arm in range(gaps.shape[0]):
        lost += pulled[arm] * gaps[arm]
        if gaps[arm] == 0.0:
            good += pulled[arm]
    record.regret[trial, place] = lost
    record.best_pulls[trial, place] = good


@inlined
def allows(record: Record, trial: int, arm: int) -> bool:
    """Whether an arm is one. What is none, or stands for a mistake, is noted for `run_kernel`, and no run goes on."""
    if 0 <= arm < record.pulls.shape[1]:
        return True
    record.pulls[trial, 0], record.regret[trial, 0] = np.nan, arm
    return False


@inlined
def should_stop(record: Record, place: int, trials: int) -> bool:
    """Count the steps of ``trials`` trials that have come to the checkpoint at ``place``; whether to give up now."""
    before = record.checkpoints[place - 1] if place > 0 else 0
    record.signal[1] += trials * (record.checkpoints[place] - before)
    return record.signal[0] != 0


@inlined
def write_pulls(record: Record, trial: int, order: np.ndarray, pulled: np.ndarray) -> None:
    """Note the pulls of a whole trial under the arms that labels stand for."""
    for label in range(order.shape[0]):
        record.pulls[trial, order[label]] = pulled[label]


@inlined
def next_window(window: int, length: int, done: int) -> int:
    """Pulls until the next look at other arms: twice as many after a whole window, as few as a run that broke off."""
    if done < length:
        return done
    return 2 * window if length == window else window


@inline_loop
def play_trials(
    start: Callable[..., Any],
    play: Callable[..., int],
    game: Any,
    state: np.ndarray,
    rewards: Rewards,
    record: Record,
) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints.

    ``game.rewards`` receives the ``rewards`` in the order of the trial's labels. ``start(number)`` gives so many arms
    of which nothing is known; their ``pulled`` has the pulls so far. ``play(game, arms, first, last, window, state,
    trial)`` plays pulls ``first`` to ``last`` and gives back its next ``window``, which is 1 at first.
    """
    order = np.empty(rewards.table.shape[0], np.int64)
    for trial in range(state.shape[0]):
        relabel_arms(state, trial, rewards, order, game.rewards)
        arms = start(rewards.table.shape[0])
        window = 1
        done = 0
        for place in range(record.checkpoints.shape[0]):
            until = record.checkpoints[place]
            window = play(game, arms, done + 1, until, window, state, trial)
            done = until
            write_checkpoint(record, trial, place, arms.pulled, game.rewards.gaps)
            if should_stop(record, place, 1):
                return
        write_pulls(record, trial, order, arms.pulled)


# ---------------------------------------------------------------------------------------------------------------------
# One loop for every rule: who learns from single users writes down the rule, and the loop plays it.
#
# A `Rule` is five plain functions over two records of its own, ``numbers`` that stay and what the server has ``known``
# so far; of a rule that plays the largest index the `index` is enough. `play` is their loop, user after user. It is
# compiled for each rule anew, in which the functions below stand for those of the rule, and two words for how it is
# played:
#
# * ``LATE``: rewards are counted some users later, and only every so many users, as by a daily job: that of user t at
#   the first multiple of ``batch`` at or after t + ``delay``. User n is met with the rewards of the users up to batch
#   floor((n - 1) / batch) - delay. They are counted in the order of the users.
# * ``WATCHED``: what every user felt and sent, and what the server believed, is noted, too. It changes no draw.
#
# A step takes one uniform of the stream's first generator for the reward, so that all lines meet the same rewards;
# noise comes from the second one, unless the rule has an `answer` of its own. Ties are for the rule to break: `first`
# gives way to arms that must be tried.


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


# ---------------------------------------------------------------------------------------------------------------------
# Counters of sums, one for each arm: what rules on them share.
#
# A counter's release is the sum of an arm's items plus noise (`bandit_core.mechanisms`), which these pieces draw from
# the second generator of the stream: a Laplace variable for each item of a binary or hybrid counter, and for each node
# that is new of a k-ary tree with signed digits; one normal variable for a square-root factorisation. Of each there are
# three: an empty one, the noise when one more item is in it, and the ``spread`` of that noise over that of a single
# variable.


_COLUMNS = 40  # noise terms a binary counter can hold; a horizon of 10^9 needs 31


class Counters(NamedTuple):
    """Their noise: Laplace(``block_scale``) on blocks, Laplace(depth x ``level_scale``) on the nodes of trees.

    Not ``hybrid``: Laplace(``level_scale``) on all nodes.
    """

    hybrid: bool
    block_scale: float
    level_scale: float


class Nodes(NamedTuple):
    """Binary or hybrid counters of all arms: ``held`` noise terms (arms, _COLUMNS), items and their bits (arms,)."""

    held: np.ndarray
    items: np.ndarray
    depths: np.ndarray


@allocating
def empty_nodes(counters: Counters, arms: int) -> Nodes:
    """Without items."""
    return Nodes(np.zeros((arms, _COLUMNS)), np.zeros(arms, np.int64), np.zeros(arms, np.int64))


@inlined
def node_noise(counters: Counters, nodes: Nodes, arm: int, stream: Stream) -> float:
    """Noise of an arm's sum when one more item is in its counter."""
    nodes.items[arm] += 1
    bits = set_bits(nodes.items[arm])
    nodes.depths[arm] += bits == 1
    if counters.hybrid:
        scale = counters.block_scale if bits == 1 else nodes.depths[arm] * counters.level_scale
        return hybrid_noise(nodes.held, arm, bits, laplace(stream, scale))
    return binary_noise(nodes.held, arm, bits, laplace(stream, counters.level_scale))


@inlined
def no_spread(nodes: Nodes, arm: int) -> float:
    """0: the margins of the papers do not follow it."""
    return 0.0


class Tree(NamedTuple):
    """The tree of each arm: ``levels``, the largest digit ``half``, Laplace(``node_scale``) on every node."""

    levels: int
    half: int
    node_scale: float


class Root(NamedTuple):
    """A square root: the standard deviation of each normal variable, and its sums of exponentials (terms,)."""

    sd: float
    weights: np.ndarray
    rates: np.ndarray


class Trees(NamedTuple):
    """The trees of all arms: ``added`` and ``digits`` (arms, levels), ``removed`` (arms, levels, half + 1).

    ``fresh`` is room for the noise of new nodes.
    """

    added: np.ndarray
    removed: np.ndarray
    digits: np.ndarray
    fresh: np.ndarray


class Roots(NamedTuple):
    """The square roots of all arms: ``held`` (arms, terms), and (arms,) items, last coefficients, sums of squares."""

    held: np.ndarray
    items: np.ndarray
    coefficients: np.ndarray
    lengths: np.ndarray


@allocating
def empty_trees(tree: Tree, arms: int) -> Trees:
    """Without items."""
    levels, half, _ = tree
    removed, digits = np.zeros((arms, levels, half + 1)), np.zeros((arms, levels), np.int64)
    return Trees(np.zeros((arms, levels)), removed, digits, np.empty(levels * half + 1))


@allocating
def empty_roots(root: Root, arms: int) -> Roots:
    """Without items."""
    return Roots(np.zeros((arms, root.rates.shape[0])), np.zeros(arms), np.ones(arms), np.zeros(arms))


@inlined
def tree_noise(tree: Tree, trees: Trees, arm: int, stream: Stream) -> float:
    """Noise of an arm's sum when one more item is in its tree."""
    added, removed, digits, fresh = trees
    for node in range(fresh_nodes(digits[arm], tree.half)):
        fresh[node] = laplace(stream, tree.node_scale)
    count_on(digits[arm], tree.half)
    return signed_noise(added, removed, arm, digits[arm], tree.half, fresh)


@inlined
def tree_spread(trees: Trees, arm: int) -> float:
    """The square root of the nodes in an arm's sum."""
    nodes = 0
    for level in range(trees.digits.shape[1]):
        nodes += abs(trees.digits[arm, level])
    return math.sqrt(nodes)


@inlined
def root_noise(root: Root, roots: Roots, arm: int, stream: Stream) -> float:
    """Noise of an arm's sum when one more item is in its square root."""
    return spread_noise(roots.held, arm, root.weights, root.rates, root.sd * gaussian(stream))


@inlined
def root_spread(roots: Roots, arm: int) -> float:
    """The length of the row behind an arm's sum, after `root_noise`: its noise has so many times the deviation sd."""
    roots.items[arm] += 1.0
    count = roots.items[arm]
    if count > 1.0:
        roots.coefficients[arm] *= (count - 1.5) / (count - 1.0)
    roots.lengths[arm] += roots.coefficients[arm] * roots.coefficients[arm]
    return math.sqrt(roots.lengths[arm])
