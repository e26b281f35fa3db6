"""DP-UCB: an index whose sums come from hybrid counters that all grow at every step, by a zero for arms not pulled.

The release of an arm's counter is its sum plus noise, and the index (S + noise) / n + sqrt(2 ln t / n), or without the
root. Ties go to the lowest label, and arms never pulled come first. A step takes one uniform for the reward from the
first generator of the stream, as `ucb` does; the noise comes from the second one, a Laplace variable for every arm.

All noises change at every step, but they decide only which index is the largest. So each is kept as the uniform that it
is drawn from, and nearly: the logarithm of a uniform by a polynomial, whose error is known, for all arms at once. Where
these errors leave one arm it is pulled. Where they leave several, the noise of these is found exactly from its
uniforms, in the order in which the nodes are added up. So the arms, hence all numbers, are those of exact noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import uint64

from bandit_core.jit.decorators import allocating, device_function, inlined, kernel
from bandit_core.kernels.labels import room_for
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform, stepped
from bandit_core.kernels.trees import Counters, Margin
from bandit_core.kernels.trial_loop import play_trials
from bandit_core.mechanisms.counter import set_bits
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.model import Record
from bandit_core.spec.rewards import TWO_POINT

AHEAD = 16  # steps whose uniforms are drawn at once, where rewards take none of the second generator
_COLUMNS = 40  # noise terms a counter can hold; a horizon of 10^9 needs 31
_EXPONENT, _MANTISSA, _ONE = uint64(52), uint64((1 << 52) - 1), uint64(0x3FF0000000000000)
_WHOLE, _WHOLE_FLOAT = uint64(0x4330000000000000), 2.0**52 + 1023.0  # a number below 2^52 as the bits of 2^52 + it
_LN_2 = math.log(2.0)
ROUNDING = 1e-12  # of an index, far above that of its few operations
_LOG = (
    1.1447e-05,
    0.999166401,
    -0.48969909,
    0.283823183,
    -0.129957198,
    0.029808765,
)  # ln(1 + f) by powers of f in [0, 1)
NEARLY = 1.3e-05  # at most its error


class Problem(NamedTuple):
    """The arms by the labels, their counters, and the index: 2 for its root, 0 without."""

    rewards: Rewards
    counters: Counters
    per_pull: float


class Ahead(NamedTuple):
    """Uniforms of the next ``AHEAD`` steps, (steps x arms,), a step after the other; numbers, and the same as bits."""

    taken: np.ndarray  # (1,), steps of them that are played
    drawn: np.ndarray  # 1 + uniform
    drawn_bits: np.ndarray
    rest: np.ndarray  # what the logarithm is taken of
    rest_bits: np.ndarray
    exponent: np.ndarray  # its exponent, as `_WHOLE` has it
    exponent_bits: np.ndarray
    mantissa: np.ndarray  # in [1, 2)
    mantissa_bits: np.ndarray
    noise: np.ndarray  # nearly Laplace(1)


class ArmState(NamedTuple):
    """What every arm has given so far, and its counter; (arms,)."""

    pulled: np.ndarray
    sums: np.ndarray
    shares: np.ndarray  # 1 over the pulls
    widths: np.ndarray
    blocks: np.ndarray  # the noise of the blocks
    depth: np.ndarray  # (1,), of what the counters count
    drawn: np.ndarray  # (_COLUMNS, arms), 1 + the uniforms of the nodes
    near: np.ndarray  # (_COLUMNS, arms), nearly the noise of the blocks and of the first so many nodes
    means: np.ndarray
    high: np.ndarray  # the index is at most this
    ahead: Ahead


@inlined
def _fill(state: np.ndarray, row: int, words: np.ndarray, number: int) -> None:
    """The next uniforms of the second generator, as the bits of 1 + uniform."""
    a, b, c, d = state[row, 4], state[row, 5], state[row, 6], state[row, 7]
    for place in range(number):
        word, a, b, c, d = stepped(a, b, c, d)
        words[place] = (word >> uint64(12)) | _ONE
    state[row, 4], state[row, 5], state[row, 6], state[row, 7] = a, b, c, d


@inlined
def _centred(drawn: float) -> float:
    return (drawn - 1.5) + 2.0**-53


@device_function
def nearly(ahead: Ahead, number: int) -> None:
    """Find nearly the noise of scale 1 that each of so many uniforms stands for; loops that use the vector units."""
    drawn, rest, rest_bits, noise = ahead.drawn, ahead.rest, ahead.rest_bits, ahead.noise
    exponent, exponent_bits = ahead.exponent, ahead.exponent_bits
    mantissa, mantissa_bits = ahead.mantissa, ahead.mantissa_bits
    for place in range(number):
        rest[place] = 1.0 - 2.0 * abs(_centred(drawn[place]))
    for place in range(number):
        exponent_bits[place] = (rest_bits[place] >> _EXPONENT) | _WHOLE
        mantissa_bits[place] = (rest_bits[place] & _MANTISSA) | _ONE
    for place in range(number):
        f = mantissa[place] - 1.0
        log = ((((_LOG[5] * f + _LOG[4]) * f + _LOG[3]) * f + _LOG[2]) * f + _LOG[1]) * f + _LOG[0]
        log += (exponent[place] - _WHOLE_FLOAT) * _LN_2
        noise[place] = math.copysign(log, _centred(drawn[place]))


@device_function
def _exactly(arms: ArmState, bits: int, scale: float, level: float, bar: float) -> int:
    """The arm with the largest index, among those that may reach ``bar``."""
    choice = 0
    best = -np.inf
    for arm in range(arms.pulled.shape[0]):
        if arms.high[arm] >= bar:
            noise = arms.blocks[arm]
            for node in range(2, bits + 1):
                noise += laplace_noise(arms.drawn[node, arm] - 1.0, scale)
            index = (arms.sums[arm] + noise) / arms.pulled[arm] + level * arms.widths[arm]
            if index > best:
                best = index
                choice = arm
    return choice


@device_function
def _among_several(arms: ArmState, bits: int, scale: float, level: float) -> int:
    """The arm with the largest index, where nearly the noise does not tell at once that it is the last one pulled."""
    near, means, shares, widths, high = arms.near[bits], arms.means, arms.shares, arms.widths, arms.high
    choice, bar, rivals = 0, -np.inf, 0
    for arm in range(means.shape[0]):
        middle = means[arm] + near[arm] * shares[arm] + level * widths[arm]
        error = bits * NEARLY * scale * shares[arm] + ROUNDING * (1.0 + abs(middle))
        high[arm] = middle + error
        if middle - error > bar:
            bar = middle - error
            choice = arm
    for arm in range(means.shape[0]):
        rivals += high[arm] >= bar
    return choice if rivals == 1 else _exactly(arms, bits, scale, level, bar)


@inlined
def _largest(arms: ArmState, bits: int, scale: float, level: float, choice: int) -> int:
    """The arm with the largest index; most probably ``choice``."""
    near, means, shares, widths = arms.near[bits], arms.means, arms.shares, arms.widths
    error = bits * NEARLY * scale
    bar = means[choice] + (near[choice] - error) * shares[choice] + level * widths[choice]
    bar -= 2.0 * ROUNDING * (1.0 + abs(bar))
    rivals = 0
    for arm in range(means.shape[0]):
        rivals += means[arm] + (near[arm] + error) * shares[arm] + level * widths[arm] >= bar
    return choice if rivals == 1 else _among_several(arms, bits, scale, level)


@inlined
def _grow(game: Problem, arms: ArmState, bits: int, steps: int, state: np.ndarray, trial: int) -> float:
    """One more item in every counter, whose number then has so many ``bits``; the scale of the noise of its nodes."""
    number, ahead = arms.sums.shape[0], arms.ahead
    if ahead.taken[0] >= steps:
        _fill(state, trial, ahead.drawn_bits, number * steps)
        nearly(ahead, number * steps)
        ahead.taken[0] = 0
    first = ahead.taken[0] * number
    ahead.taken[0] += 1
    if bits == 1:
        arms.depth[0] += 1
        for arm in range(number):
            arms.blocks[arm] += laplace_noise(ahead.drawn[first + arm] - 1.0, game.counters.block_scale)
            arms.near[1, arm] = arms.blocks[arm]
        return 0.0
    scale = arms.depth[0] * game.counters.level_scale
    kept, near, before = arms.drawn[bits], arms.near[bits], arms.near[bits - 1]
    for arm in range(number):
        kept[arm] = ahead.drawn[first + arm]
        near[arm] = before[arm] + scale * ahead.noise[first + arm]
    return scale


@inlined
def _play(game: Problem, arms: ArmState, first: int, last: int, choice: int, state: np.ndarray, trial: int) -> int:
    """Play the pulls from ``first`` to ``last``, the first of them of label ``choice - 1``; the next such number."""
    table, values, _, _ = game.rewards
    number = arms.sums.shape[0]
    steps = AHEAD
    for arm in range(number):
        if table[arm, 0] != TWO_POINT:
            steps = 1
    choice -= 1
    for t in range(first, last + 1):
        arms.sums[choice] += draw_reward(table, values, choice, next_uniform(state, trial, 0), state, trial)
        arms.pulled[choice] += 1.0
        arms.shares[choice] = 1.0 / arms.pulled[choice]
        arms.means[choice] = arms.sums[choice] * arms.shares[choice]
        arms.widths[choice] = math.sqrt(game.per_pull * arms.pulled[choice]) / arms.pulled[choice]
        bits = set_bits(t)
        scale = _grow(game, arms, bits, steps, state, trial)
        if t < number:
            choice = t
        elif bits == 1:
            arms.high[:] = np.inf
            choice = _exactly(arms, bits, scale, math.sqrt(math.log(t + 1)), 0.0)
        else:
            choice = _largest(arms, bits, scale, math.sqrt(math.log(t + 1)), choice)
    return choice + 1


@inlined
def _clear(arms: ArmState) -> None:
    arms.pulled[:] = 0.0
    arms.sums[:] = 0.0
    arms.blocks[:] = 0.0
    arms.depth[0] = 0
    arms.ahead.taken[0] = AHEAD


@allocating
def room(number: int) -> ArmState:
    """Room for so many arms."""
    bits, noise = np.empty((4, AHEAD * number), np.uint64), np.empty(AHEAD * number)
    numbers, each, nodes = bits.view(np.float64), np.empty((7, number)), np.empty((2, _COLUMNS, number))
    ahead = Ahead(
        np.empty(1, np.int64), numbers[0], bits[0], numbers[1], bits[1], numbers[2], bits[2], numbers[3], bits[3], noise
    )
    return ArmState(
        each[0], each[1], each[2], each[3], each[4], np.empty(1, np.int64), nodes[0], nodes[1], each[5], each[6], ahead
    )


@kernel
def common_counters(state: np.ndarray, rewards: Rewards, counters: Counters, margin: Margin, record: Record) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints."""
    game, arms = Problem(room_for(rewards), counters, margin.per_pull), room(rewards.table.shape[0])
    play_trials(_clear, _play, game, arms, state, rewards, record)
