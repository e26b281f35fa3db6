"""Policies for heavy-tailed rewards: an index on truncated sums (Robust-UCB, DPRUCB), and robust elimination by epochs.

Truncated means set to 0, not moved to the bound: a reward x counts as x if |x| <= B and as 0 otherwise.

* by_index looks at every arm whenever the leader may have changed, and costs one reward (and, with privacy, one
  Laplace variable) per pull.
* elimination needs only the sum of an epoch's truncated rewards. Two-valued distributions: one binomial variable.
  Gaussian distributions whose truncation is out of reach: one normal variable. Pareto distributions: `_pareto_sum`, a
  few microseconds however long the epoch. Other distributions: reward by reward, 10 to 40 ns each. Noise on every
  single reward of an epoch (local privacy) is one draw: the sum of R Laplace variables is the difference of two
  gamma(R) variables.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel, piece
from bandit_core.kernels.batches import STOPPED, begin, pull_in_turns, room_for_batches
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.curves import note, note_pulls, passed
from bandit_core.kernels.labels import relabel_arms, room_for
from bandit_core.kernels.records import Batches, Rewards
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import HALF_UNIT, gamma, next_uniform, normal_quantile
from bandit_core.mechanisms.binary import tree_noise
from bandit_core.mechanisms.counter import set_bits
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.spec.rewards import GAUSSIAN, PARETO, TWO_POINT

_COLUMNS = 40  # noise terms a tree can hold; a horizon of 10^9 needs 31
_REACH = 9.0  # standard deviations beyond which a Gaussian reward never comes (1e-19)
_MANY = 2_000  # Pareto rewards from which their sum is drawn by cells
_FEW = 64  # rewards of one cell that are drawn one by one
_SHARE = 0.125  # share of the rewards left that fall into the next cell
(TAU, PRECISION, LENGTH, BOUND, ERROR, THRESHOLD, NOISE, BEFORE, LEFT, FIRST, LAST, COMPLETE) = range(12)
COLUMNS = 12  # of the epoch table, before one flag per arm: whether it is left


@inlined
def _power(powers, exponent, count):
    """count^-exponent, from the table where it reaches."""
    return powers[count] if count < powers.shape[0] else float(count) ** -exponent


class Truncation(NamedTuple):
    """With p = ``exponent`` = v/(1+v), the n-th reward of an arm is truncated at B_n = ``level`` n^(1-p).

    B_n is divided by (2 ln t)^(1-p) if ``shrinks``. The index is S/n + ``bonus`` ((``slope`` ln t + ``offset``) / n)^p,
    where S holds the truncated rewards and, if ``node_scale`` > 0, the noise of a binary tree whose node closed at the
    n-th reward has Laplace(``node_scale`` B_n) noise. ``powers[n]`` is n^-p.
    """

    powers: np.ndarray
    exponent: float
    bonus: float
    slope: float
    offset: float
    level: float
    shrinks: bool
    node_scale: float


@kernel
def by_index(state, rewards, truncation, record):  # noqa: C901, PLR0912, PLR0915 (one step, whose parts go on from the same numbers)
    """Play one trial per row of ``state``, filling the record at the checkpoints. Ties go to the lowest label."""
    powers, exponent, bonus, slope, offset, level, shrinks, node_scale = truncation
    checkpoints = record.checkpoints
    arms = rewards.table.shape[0]
    held = np.empty((arms, _COLUMNS))
    counts = np.empty(arms, np.int64)
    sums = np.empty(arms)
    means = np.empty(arms)
    widths = np.empty(arms)
    order = np.empty(arms, np.int64)
    here = room_for(rewards)
    table, values, _, gaps = here  # once: every use in a loop would count references
    for trial in range(state.shape[0]):
        relabel_arms(state, trial, rewards, order, here)
        held[:] = 0.0
        counts[:] = 0
        sums[:] = 0.0
        means[:] = np.inf
        widths[:] = 0.0
        window = 1
        t = 1
        for checkpoint in range(checkpoints.shape[0]):
            until = checkpoints[checkpoint]
            while t <= until:
                clock = bonus * (slope * math.log(t) + offset) ** exponent
                best = -np.inf
                arm = 0
                for other in range(arms):
                    index = means[other] + clock * widths[other]
                    if index > best:
                        best = index
                        arm = other
                count = counts[arm]
                length = min(window, until - t + 1) if count > 0 else 1
                last = math.log(t + length - 1)
                # Nobody can pass the leader while its mean is above this bar, however the run goes on.
                bar = np.inf
                if length > 1:
                    end_clock = bonus * (slope * last + offset) ** exponent
                    rival = -1e300
                    for other in range(arms):
                        if other != arm:
                            rival = max(rival, means[other] + end_clock * widths[other])
                    width = clock * _power(powers, exponent, count + length)
                    bar = rival - width + 1e-10 * (1.0 + abs(rival) + width)
                # No bound within the run is smaller than this one.
                surely_kept = level * (count + 1.0) * _power(powers, exponent, count + 1)
                if shrinks:
                    surely_kept /= (2.0 * last) ** (1.0 - exponent) if last > 0.0 else 0.0
                total = sums[arm]
                power = 0.0
                done = 0
                while True:
                    count += 1
                    reward = draw_reward(table, values, arm, next_uniform(state, trial, 0), state, trial)
                    bound = surely_kept
                    if node_scale > 0.0 or abs(reward) > surely_kept:
                        power = _power(powers, exponent, count)
                        bound = level * count * power
                        if shrinks:
                            now = math.log(t + done)
                            bound /= (2.0 * now) ** (1.0 - exponent) if now > 0.0 else 0.0
                    if abs(reward) <= bound:
                        total += reward
                    noisy = total
                    if node_scale > 0.0:
                        fresh = laplace_noise(next_uniform(state, trial, 4), node_scale * bound)
                        noisy += tree_noise(held, arm, set_bits(count), fresh)
                    done += 1
                    if done >= length or not noisy > bar * count:
                        break
                t += done
                if done < length:
                    window = done
                elif length == window:
                    window *= 2
                counts[arm] = count
                sums[arm] = total
                means[arm] = noisy / count
                widths[arm] = _power(powers, exponent, count)
            note(counts, gaps, trial, checkpoint, record.regret, record.best_pulls)
            if passed(record, checkpoint, 1):
                return
        note_pulls(record, trial, order, counts)


@inlined
def _unit_moment(order, shape, ratio):
    """Integral of x^order over the Pareto density of scale 1 from 1 to ``ratio``."""
    if order == shape:
        return shape * math.log(ratio)
    return shape * math.expm1((order - shape) * math.log(ratio)) / (order - shape)


@piece
def _pareto_sum(scale, shape, count, bound, state, row):
    """Sum of ``count`` Pareto rewards, those above ``bound`` counting 0.

    The positive axis is cut into cells [a, a r), where r is such that an eighth of the rewards above a fall into the
    next cell: the number in a cell is exactly binomial. Within a cell rewards differ by at most 14 % for shapes above
    1 and are nearly uniform; the sum of 64 of them or more is drawn as a normal variable with the exact mean and
    variance, the only approximation. Fewer are drawn one by one, and so is everything beyond the last cell that holds
    many.
    """
    ratio = (1.0 - _SHARE) ** (-1.0 / shape)
    share = _SHARE
    mean = _unit_moment(1.0, shape, ratio) / share
    spread = math.sqrt(max(0.0, _unit_moment(2.0, shape, ratio) / share - mean * mean))
    total = 0.0
    left = float(count)
    edge = scale
    while left > 0.0 and edge < bound:
        if left <= 8 * _FEW:
            for _ in range(int(left)):
                reward = edge * (1.0 - next_uniform(state, row, 4)) ** (-1.0 / shape)
                if reward <= bound:
                    total += reward
            return total
        if edge * ratio > bound:  # the last cell, cut by the bound
            ratio = bound / edge
            share = -math.expm1(-shape * math.log(ratio))
            mean = _unit_moment(1.0, shape, ratio) / share
            spread = math.sqrt(max(0.0, _unit_moment(2.0, shape, ratio) / share - mean * mean))
            left = binomial(left, share, state, row)
            inside = left
        else:
            inside = binomial(left, share, state, row)
        if inside < _FEW:
            for _ in range(int(inside)):
                total += edge * (1.0 - share * next_uniform(state, row, 4)) ** (-1.0 / shape)
        else:
            z = normal_quantile(next_uniform(state, row, 4) + HALF_UNIT)
            total += edge * (inside * mean + math.sqrt(inside) * spread * z)
        left -= inside
        edge *= ratio
    return total


@piece
def truncated_sum(rewards, arm, count, bound, at_once, state, row, signal):
    """Sum of ``count`` rewards of ``arm``, those beyond +-``bound`` counting 0.

    ``at_once`` = False draws every reward by itself: the plain form, for tests. Incomplete if the signal stops it.
    """
    laws, values = rewards.table, rewards.values
    code = laws[arm, 0]
    if at_once and code == TWO_POINT:
        ones = binomial(float(count), laws[arm, 3], state, row)
        total = 0.0
        if abs(laws[arm, 1]) <= bound:
            total += laws[arm, 1] * (count - ones)
        if abs(laws[arm, 2]) <= bound:
            total += laws[arm, 2] * ones
        return total
    if at_once and code == GAUSSIAN and abs(laws[arm, 1]) + _REACH * laws[arm, 2] < bound:
        z = normal_quantile(next_uniform(state, row, 4) + HALF_UNIT)
        return count * laws[arm, 1] + math.sqrt(count) * laws[arm, 2] * z
    if at_once and code == PARETO and count >= _MANY:
        return _pareto_sum(laws[arm, 1], -1.0 / laws[arm, 2], count, bound, state, row)
    total = 0.0
    done = 0
    while done < count and signal[0] == 0:
        some = min(count - done, 65_536)
        for _ in range(some):
            reward = draw_reward(laws, values, arm, next_uniform(state, row, 0), state, row)
            if abs(reward) <= bound:
                total += reward
        done += some
    return total


@piece
def epoch_numbers(rule, tau, size):
    """D, R, B, err and the threshold of epoch ``tau`` with ``size`` arms (R as a float, maybe infinite).

    Central: L = ln(4 size tau^2 / beta), R = ceil(kappa u^(1/v) (24/D)^((1+v)/v) L/eps + 1), m = R eps / L,
    threshold = 12 kappa^(v/(1+v)) err. Local: L = ln(8 size tau^2 / beta),
    R = ceil(kappa u^(2/v) (28/D)^(2(1+v)/v) L/eps^2 + L), m = sqrt(R/L) eps, threshold = 14 kappa^(v/(2(1+v))) err.
    Both: B = (u m)^(1/(1+v)), err = u^(1/(1+v)) m^(-v/(1+v)), D = shrink^-tau.
    """
    v, u, epsilon, kappa, beta = rule.v, rule.u, rule.inside_epsilon, rule.kappa, rule.beta
    precision = rule.shrink**-tau
    order = 1.0 + v
    if rule.local:
        logarithm = math.log(8.0 * size * tau * tau / beta)
        exponent = 2.0 * order / v
        lead = 2.0 * math.log(u) / v + exponent * math.log(28.0 / precision) - 2.0 * math.log(epsilon)
        length = math.ceil(math.exp(lead + math.log(kappa * logarithm)) + logarithm)
        effective = math.sqrt(length / logarithm) * epsilon
        cut = 14.0 * kappa ** (0.5 * v / order)
    else:
        logarithm = math.log(4.0 * size * tau * tau / beta)
        exponent = order / v
        lead = math.log(u) / v + exponent * math.log(24.0 / precision) - math.log(epsilon)
        length = math.ceil(math.exp(lead + math.log(kappa * logarithm)) + 1.0)
        effective = length * epsilon / logarithm
        cut = 12.0 * kappa ** (v / order)
    bound = (u * effective) ** (1.0 / order)
    error = u ** (1.0 / order) * effective ** (-v / order)
    return precision, length, bound, error, cut * error


class Elimination(NamedTuple):
    """The numbers of `epoch_numbers`; ``epsilon`` is the noise's, ``inside_epsilon`` stands for it in R, B and err."""

    local: bool
    shrink: float
    v: float
    u: float
    epsilon: float
    inside_epsilon: float
    kappa: float
    beta: float


@kernel
def elimination(state, rewards, at_once, rule, table, record):  # noqa: C901, PLR0915 (one step, whose parts go on from the same numbers)
    """Play one trial per row of ``state``: in epochs, every arm that is left R times in turns, each R times afresh.

    The mean of the epoch's truncated rewards has the noise of privacy: Laplace(2 B / (R eps)) on the mean, or, if
    ``local``, Laplace(2 B / eps) on every reward. Arms further below the highest mean than the threshold are dropped.
    An epoch that the horizon cuts short releases nothing. ``table`` (rows, COLUMNS + arms) keeps the epochs of the last
    trial.
    """
    local, epsilon = rule.local, rule.epsilon
    arms = rewards.table.shape[0]
    horizon = record.checkpoints[-1]
    # Stand for two-valued distributions: pulls are counted here, rewards drawn afterwards.
    order, batches = room_for_batches(rewards, True, record)
    counted = Batches(
        Rewards(np.zeros_like(rewards.table), rewards.values, rewards.means, batches.rewards.gaps),
        True, batches.fresh, batches.pulled, record,
    )  # fmt: skip
    members = np.empty(arms, np.int64)
    means = np.empty(arms)
    for trial in range(state.shape[0]):
        begin(batches, rewards, order, state, trial)
        for arm in range(arms):
            members[arm] = arm
        size = arms
        tau = 0
        t = 0
        place = 0
        while t < horizon:
            tau += 1
            steps = horizon - t
            precision, length, bound, error, threshold = 0.0, float(steps), np.inf, 0.0, 0.0
            complete = False
            if size > 1:
                precision, length, bound, error, threshold = epoch_numbers(rule, tau, size)
                complete = length * size <= steps
                if complete:
                    steps = int(length) * size
            noise = 2.0 * bound / epsilon if local else 2.0 * bound / (length * epsilon)
            row = tau - 1
            if row < table.shape[0]:
                table[row, TAU] = tau
                table[row, PRECISION] = precision
                table[row, LENGTH] = length
                table[row, BOUND] = bound
                table[row, ERROR] = error
                table[row, THRESHOLD] = threshold
                table[row, NOISE] = noise
                table[row, BEFORE] = size
                table[row, FIRST] = t + 1
                table[row, LAST] = t + steps
                table[row, COMPLETE] = complete
            place = pull_in_turns(counted, members, size, t, steps, place, state, trial)
            if place == STOPPED:
                return
            t += steps
            if complete:
                count = int(length)
                highest = -np.inf
                for turn in range(size):
                    arm = members[turn]
                    total = truncated_sum(batches.rewards, arm, count, bound, at_once, state, trial, record.signal)
                    if local:
                        total += noise * (gamma(state, trial, length) - gamma(state, trial, length))
                        means[arm] = total / length
                    else:
                        means[arm] = total / length + laplace_noise(next_uniform(state, trial, 4), noise)
                    highest = max(highest, means[arm])
                left = 0
                for turn in range(size):
                    if highest - means[members[turn]] <= threshold:
                        members[left] = members[turn]
                        left += 1
                size = left
            if row < table.shape[0]:
                table[row, LEFT] = size
                for turn in range(size):
                    table[row, COLUMNS + order[members[turn]]] = 1.0
        note_pulls(record, trial, order, batches.pulled)


@kernel
def fill_sums(rewards, arm, count, bound, at_once, state, signal, out):
    """Fill ``out`` with independent truncated sums from the first of the streams (for tests and measurements)."""
    for place in range(out.shape[0]):
        out[place] = truncated_sum(rewards, arm, count, bound, at_once, state, 0, signal)
