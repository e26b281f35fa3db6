"""Index policies whose sums come from a counter: Private-UCB, DP-UCB-BOUND and DP-UCB.

Every arm has its own counter (binary or hybrid mechanism), whose release is the arm's sum plus noise. The index is

    (S + noise) / n + sqrt(2 ln t / n) [or without] + f(n) (slope ln t + offset) / n,

with f(n) = 1, ln n + 1, or log2 n' + 1, where n' = n - 2^floor(log2 n); at powers of two f is always 1. Ties go to the
lowest label, and arms never pulled come first.

A step takes one uniform for the reward from the first generator of the stream, as `ucb` does, so that lines with and
without privacy meet the same rewards; the noise comes from the second one, one Laplace variable for each insertion.

* own_counters: a counter grows with the pulls of its arm. The leader is pulled without comparing while a conservative
  test shows that nobody can have passed it.
* common_counters: every counter grows at every step, with a zero for the arms that are not pulled (DP-UCB). All noises
  change at every step, so a step costs as many Laplace variables as there are arms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel
from bandit_core.kernels.curves import note, note_pulls, passed
from bandit_core.kernels.labels import relabel_arms, room_for
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms.binary import tree_noise
from bandit_core.mechanisms.counter import set_bits
from bandit_core.mechanisms.hybrid import hybrid_noise
from bandit_core.mechanisms.laplace import laplace_noise

FLAT, LOG_PULLS, LOG_SINCE = range(3)  # f(n): 1, ln n + 1, log2 n' + 1
_COLUMNS = 40  # noise terms a counter can hold; a horizon of 10^9 needs 31
_KNOWN = 65_536  # times whose logarithms are tabled


@inlined
def _factor(shape, count, since):
    """f(n) with n' = ``since``; 1 at powers of two, where only the logarithmic mechanism speaks."""
    if shape == FLAT or since == 0:
        return 1.0
    return (math.log(count) if shape == LOG_PULLS else math.log2(since)) + 1.0


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


@kernel
def own_counters(state, rewards, counters, margins, record):  # noqa: C901, PLR0912, PLR0915 (one step, whose parts go on from the same numbers)
    """Play one trial per row of ``state``, filling the record at the checkpoints."""
    hybrid, block_scale, level_scale = counters
    per_pull, shape, slope, offset = margins
    checkpoints = record.checkpoints
    arms = rewards.table.shape[0]
    known = min(checkpoints[-1], _KNOWN)
    logs = np.zeros(known + 1)
    for t in range(1, known + 1):
        logs[t] = math.log(t)
    held = np.empty((arms, _COLUMNS))
    counts = np.empty(arms, np.int64)
    depths = np.empty(arms, np.int64)  # bits of the count
    sums = np.empty(arms)
    means = np.empty(arms)
    widths = np.empty(arms)
    margin_of = np.empty(arms)
    order = np.empty(arms, np.int64)
    here = room_for(rewards)
    table, values, _, gaps = here  # once: every use in a loop would count references
    for trial in range(state.shape[0]):
        relabel_arms(state, trial, rewards, order, here)
        held[:] = 0.0
        counts[:] = 0
        depths[:] = 0
        sums[:] = 0.0
        means[:] = np.inf
        widths[:] = 0.0
        margin_of[:] = 0.0
        window = 1
        t = 1
        for checkpoint in range(checkpoints.shape[0]):
            until = checkpoints[checkpoint]
            while t <= until:
                log_t = logs[t] if t <= known else math.log(t)
                level = math.sqrt(log_t)
                clock = slope * log_t + offset
                best = -np.inf
                arm = 0
                for other in range(arms):
                    index = means[other] + level * widths[other] + clock * margin_of[other]
                    if index > best:
                        best = index
                        arm = other
                count = counts[arm]
                depth = depths[arm]
                # A run ends before the count reaches a power of two, where f(n) and the noise change their form.
                room = (1 << depth) - 1 - count
                length = max(1, min(window, until - t + 1, room))
                bar = np.inf
                if length > 1:
                    last = t + length - 1
                    log_last = logs[last] if last <= known else math.log(last)
                    end_level = math.sqrt(log_last)
                    end_clock = slope * log_last + offset
                    rival = -1e300
                    for other in range(arms):
                        if other != arm:
                            index = means[other] + end_level * widths[other] + end_clock * margin_of[other]
                            rival = max(rival, index)
                    most = count + length
                    width = level * math.sqrt(per_pull * most) / most
                    # f grows with n between powers of two, so its first value bounds it from below.
                    margin = clock * _factor(shape, count + 1, count + 1 - (1 << (depth - 1))) / most
                    bar = rival - width - margin + 1e-10 * (1.0 + abs(rival) + width + margin)
                total = sums[arm]
                done = 0
                while True:
                    count += 1
                    total += draw_reward(table, values, arm, next_uniform(state, trial, 0), state, trial)
                    bits = set_bits(count)
                    u_noise = next_uniform(state, trial, 4)
                    if hybrid:
                        if bits == 1:
                            depth += 1
                            fresh = laplace_noise(u_noise, block_scale)
                        else:
                            fresh = laplace_noise(u_noise, depth * level_scale)
                        noise = hybrid_noise(held, arm, bits, fresh)
                    else:
                        if bits == 1:
                            depth += 1
                        noise = tree_noise(held, arm, bits, laplace_noise(u_noise, level_scale))
                    noisy = total + noise
                    done += 1
                    if done >= length or not noisy > bar * count:
                        break
                t += done
                if done < length:
                    window = done
                elif length == window:
                    window *= 2
                counts[arm] = count
                depths[arm] = depth
                sums[arm] = total
                means[arm] = noisy / count
                widths[arm] = math.sqrt(per_pull * count) / count
                margin_of[arm] = _factor(shape, count, count - (1 << (depth - 1))) / count
            note(counts, gaps, trial, checkpoint, record.regret, record.best_pulls)
            if passed(record, checkpoint, 1):
                return
        note_pulls(record, trial, order, counts)


@kernel
def common_counters(state, rewards, counters, per_pull, record):
    """The same with hybrid counters that all grow at every step, and no margin for noise in the index."""
    _, block_scale, level_scale = counters
    checkpoints = record.checkpoints
    arms = rewards.table.shape[0]
    held = np.empty((arms, _COLUMNS))
    counts = np.empty(arms)
    sums = np.empty(arms)
    widths = np.empty(arms)
    order = np.empty(arms, np.int64)
    here = room_for(rewards)
    table, values, _, gaps = here  # once: every use in a loop would count references
    for trial in range(state.shape[0]):
        relabel_arms(state, trial, rewards, order, here)
        held[:] = 0.0
        counts[:] = 0.0
        sums[:] = 0.0
        widths[:] = 0.0
        choice = 0
        depth = 0
        t = 1
        for checkpoint in range(checkpoints.shape[0]):
            while t <= checkpoints[checkpoint]:
                sums[choice] += draw_reward(table, values, choice, next_uniform(state, trial, 0), state, trial)
                counts[choice] += 1.0
                widths[choice] = math.sqrt(per_pull * counts[choice]) / counts[choice]
                bits = set_bits(t)
                if bits == 1:
                    depth += 1
                scale = block_scale if bits == 1 else depth * level_scale
                t += 1
                level = math.sqrt(math.log(t))
                best = -np.inf
                for arm in range(arms):
                    noise = hybrid_noise(held, arm, bits, laplace_noise(next_uniform(state, trial, 4), scale))
                    index = (sums[arm] + noise) / counts[arm] + level * widths[arm] if counts[arm] > 0.0 else np.inf
                    if index > best:
                        best = index
                        choice = arm
            note(counts, gaps, trial, checkpoint, record.regret, record.best_pulls)
            if passed(record, checkpoint, 1):
                return
        note_pulls(record, trial, order, counts)
