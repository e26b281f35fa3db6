"""Index policies whose sums come from a counter that grows with its arm: Private-UCB and DP-UCB-BOUND.

Every arm has its own counter (binary or hybrid mechanism), whose release is the arm's sum plus noise. The index is

    (S + noise) / n + sqrt(2 ln t / n) [or without] + f(n) (slope ln t + offset) / n,

with f(n) = 1, ln n + 1, or log2 n' + 1, where n' = n - 2^floor(log2 n); at powers of two f is always 1. Ties go to the
lowest label, and arms never pulled come first.

A step takes one uniform for the reward from the first generator of the stream, as `ucb` does, so that lines with and
without privacy meet the same rewards; the noise comes from the second one, one Laplace variable for each insertion.
The leader is pulled without comparing while a conservative test shows that no one can have passed it. For counters that
all grow at every step (DP-UCB) see `common_counters`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, inlined, kernel
from bandit_core.kernels.labels import room_for
from bandit_core.kernels.records import Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.kernels.trial_loop import next_window, play_trials
from bandit_core.mechanisms.binary import tree_noise
from bandit_core.mechanisms.counter import set_bits
from bandit_core.mechanisms.hybrid import hybrid_noise
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.model import Record

FLAT, LOG_PULLS, LOG_SINCE = range(3)  # f(n): 1, ln n + 1, log2 n' + 1
_COLUMNS = 40  # noise terms a counter can hold; a horizon of 10^9 needs 31
_KNOWN = 65_536  # times whose logarithms are tabled


class Counters(NamedTuple):
    """Their noise: Laplace(``block_scale``) on blocks, Laplace(depth x ``level_scale``) on the nodes of trees.

    Not ``hybrid``: Laplace(``level_scale``) on all nodes.
    """

    hybrid: bool
    block_scale: float
    level_scale: float


class Margin(NamedTuple):
    """The index: ``per_pull`` is 2 for its root, 0 without; ``shape``, ``slope`` and ``offset`` as above."""

    per_pull: float
    shape: int
    slope: float
    offset: float


class Problem(NamedTuple):
    """The arms by the labels, their counters and index, and the logarithms of the first times."""

    rewards: Rewards
    counters: Counters
    margin: Margin
    logs: np.ndarray


class ArmState(NamedTuple):
    """What every arm has given so far, its counter, and its index mean + width sqrt(ln t) + margin x clock; (arms,)."""

    held: np.ndarray  # noise terms of its counter (arms, _COLUMNS)
    pulled: np.ndarray
    depths: np.ndarray  # bits of what the counter counts
    sums: np.ndarray
    means: np.ndarray
    widths: np.ndarray
    margins: np.ndarray


@inlined
def _factor(shape: int, count: int, depth: int) -> float:
    """f(n) of a number with so many bits; 1 at powers of two, where only the logarithmic mechanism speaks."""
    since = count - (1 << (depth - 1))
    if shape == FLAT or since == 0:
        return 1.0
    return (math.log(count) if shape == LOG_PULLS else math.log2(since)) + 1.0


@inlined
def _clocks(game: Problem, t: int) -> tuple[float, float]:
    """What widths and margins are multiplied by at step ``t``: sqrt(ln t), slope ln t + offset."""
    log_t = game.logs[t] if t < game.logs.shape[0] else math.log(t)
    return math.sqrt(log_t), game.margin.slope * log_t + game.margin.offset


@inlined
def _index(arms: ArmState, arm: int, level: float, clock: float) -> float:
    return arms.means[arm] + level * arms.widths[arm] + clock * arms.margins[arm]


@inlined
def _leader(arms: ArmState, level: float, clock: float) -> int:
    """The arm with the largest index."""
    best = -np.inf
    arm = 0
    for other in range(arms.means.shape[0]):
        index = _index(arms, other, level, clock)
        if index > best:
            best = index
            arm = other
    return arm


@inlined
def _bar(game: Problem, arms: ArmState, arm: int, t: int, length: int) -> float:
    """The noisy mean above which the leader surely stays ahead for ``length`` pulls."""
    level, clock = _clocks(game, t)
    end_level, end_clock = _clocks(game, t + length - 1)
    rival = -1e300
    for other in range(arms.means.shape[0]):
        if other != arm:
            rival = max(rival, _index(arms, other, end_level, end_clock))
    count = int(arms.pulled[arm])
    most = count + length
    width = level * math.sqrt(game.margin.per_pull * most) / most
    # f grows with n between powers of two, so its first value bounds it from below.
    margin = clock * _factor(game.margin.shape, count + 1, arms.depths[arm]) / most
    return rival - width - margin + 1e-10 * (1.0 + abs(rival) + width + margin)


@inlined
def _noise(game: Problem, arms: ArmState, arm: int, count: int, depth: int, state: np.ndarray, row: int) -> float:
    """The noise of an arm's counter at its next number, ``count``, which has so many bits."""
    hybrid, block_scale, level_scale = game.counters
    bits = set_bits(count)
    u_noise = next_uniform(state, row, 4)
    if hybrid:
        scale = block_scale if bits == 1 else depth * level_scale
        return hybrid_noise(arms.held, arm, bits, laplace_noise(u_noise, scale))
    return tree_noise(arms.held, arm, bits, laplace_noise(u_noise, level_scale))


@inlined
def _run(game: Problem, arms: ArmState, arm: int, length: int, bar: float, state: np.ndarray, row: int) -> int:
    """Pull an arm up to ``length`` times while its noisy mean is above the bar; how often it was pulled."""
    table, values, _, _ = game.rewards
    count, total = int(arms.pulled[arm]), arms.sums[arm]
    depth = arms.depths[arm] + (set_bits(count + 1) == 1)  # until the run ends
    done = 0
    while True:
        count += 1
        total += draw_reward(table, values, arm, next_uniform(state, row, 0), state, row)
        noisy = total + _noise(game, arms, arm, count, depth, state, row)
        done += 1
        if done >= length or not noisy > bar * count:
            break
    arms.pulled[arm] = count
    arms.depths[arm] = depth
    arms.sums[arm] = total
    arms.means[arm] = noisy / count
    arms.widths[arm] = math.sqrt(game.margin.per_pull * count) / count
    arms.margins[arm] = _factor(game.margin.shape, count, depth) / count
    return done


@inlined
def _play_own(game: Problem, arms: ArmState, t: int, until: int, window: int, state: np.ndarray, trial: int) -> int:
    """Play the pulls from ``t`` to ``until``; the next window."""
    while t <= until:
        level, clock = _clocks(game, t)
        arm = _leader(arms, level, clock)
        # A run ends before the count reaches a power of two, where f(n) and the noise change their form.
        room = (1 << arms.depths[arm]) - 1 - int(arms.pulled[arm])
        length = max(1, min(window, until - t + 1, room))
        bar = _bar(game, arms, arm, t, length) if length > 1 else np.inf
        done = _run(game, arms, arm, length, bar, state, trial)
        t += done
        window = next_window(window, length, done)
    return window


@inlined
def _clear(arms: ArmState) -> None:
    arms.held[:] = 0.0
    arms.pulled[:] = 0.0
    arms.depths[:] = 0
    arms.sums[:] = 0.0
    arms.means[:] = np.inf
    arms.widths[:] = 0.0
    arms.margins[:] = 0.0


@allocating
def _room(rewards: Rewards, counters: Counters, margin: Margin, horizon: int) -> tuple[Problem, ArmState]:
    count = rewards.table.shape[0]
    logs = np.zeros(min(horizon, _KNOWN) + 1)
    for t in range(1, logs.shape[0]):
        logs[t] = math.log(t)
    held, depths = np.empty((count, _COLUMNS)), np.empty(count, np.int64)
    pulled, sums, means = np.empty(count), np.empty(count), np.empty(count)
    arms = ArmState(held, pulled, depths, sums, means, np.empty(count), np.empty(count))
    return Problem(room_for(rewards), counters, margin, logs), arms


@kernel
def own_counters(state: np.ndarray, rewards: Rewards, counters: Counters, margin: Margin, record: Record) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints."""
    game, arms = _room(rewards, counters, margin, record.checkpoints[-1])
    play_trials(_clear, _play_own, game, arms, state, rewards, record)
