"""Heavy-tailed rewards: an index on truncated sums (Robust-UCB, DPRUCB), and the sums of robust elimination's epochs.

Truncated means set to 0, not moved to the bound: a reward x counts as x if |x| <= B and as 0 otherwise.

* by_index looks at every arm whenever the leader may have changed, and costs one reward (and, with privacy, one
  Laplace variable) per pull.
* Elimination needs only the sum of an epoch's truncated rewards (`truncated_sum`). Two-valued distributions: one
  binomial variable. Gaussian distributions whose truncation is out of reach: one normal variable. Pareto distributions:
  `_pareto_sum`, a few microseconds however long the epoch. Other distributions: reward by reward, 10 to 40 ns each.
"""

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, device_function, inlined, kernel
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.play import Rewards, next_window, play_trials, room_for
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import HALF_UNIT, next_uniform, normal_quantile
from bandit_core.mechanisms.binary import tree_noise
from bandit_core.mechanisms.counter import set_bits
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.model import Record
from bandit_core.spec.rewards import GAUSSIAN, PARETO, TWO_POINT

NOISE_TERMS = 40  # noise terms a tree can hold; a horizon of 10^9 needs 31
_REACH = 9.0  # standard deviations beyond which a Gaussian reward never comes (1e-19)
_MANY = 2_000  # Pareto rewards from which their sum is drawn by cells
_FEW = 64  # rewards of one cell that are drawn one by one
_SHARE = 0.125  # share of the rewards left that fall into the next cell


@inlined
def power_of(powers: np.ndarray, exponent: float, count: int) -> float:
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
    shrinks: bool = False
    node_scale: float = 0.0


class Problem(NamedTuple):
    """The arms by the labels, and the rule."""

    rewards: Rewards
    rule: Truncation


class ArmState(NamedTuple):
    """What every arm has given so far, and its index mean + width x clock; (arms,)."""

    held: np.ndarray  # noise terms of its tree (arms, NOISE_TERMS)
    pulled: np.ndarray
    sums: np.ndarray
    means: np.ndarray
    widths: np.ndarray


@inlined
def clock_of(rule: Truncation, log_t: float) -> float:
    """What widths are multiplied by."""
    return rule.bonus * (rule.slope * log_t + rule.offset) ** rule.exponent


@inlined
def _bar(game: Problem, arms: ArmState, arm: int, length: int, clock: float, end_clock: float) -> float:
    """The noisy mean above which no one can pass the leader for ``length`` pulls, however the run goes on."""
    rival = -1e300
    for other in range(arms.means.shape[0]):
        if other != arm:
            rival = max(rival, arms.means[other] + end_clock * arms.widths[other])
    width = clock * power_of(game.rule.powers, game.rule.exponent, arms.pulled[arm] + length)
    return rival - width + 1e-10 * (1.0 + abs(rival) + width)


@inlined
def truncation_bound(rule: Truncation, amount: float, power: float, log_t: float) -> float:
    """B_n, where ``amount`` is level n and ``power`` n^-p."""
    bound = amount * power
    if rule.shrinks:
        bound /= (2.0 * log_t) ** (1.0 - rule.exponent) if log_t > 0.0 else 0.0
    return bound


@inlined
def _run(game: Problem, arms: ArmState, arm: int, t: int, length: int, bar: float, state: np.ndarray, row: int) -> int:
    """Pull an arm from step ``t`` up to ``length`` times while its noisy mean is above the bar; how often it was."""
    rule = game.rule
    table, values, _, _ = game.rewards
    count, total = arms.pulled[arm], arms.sums[arm]
    # No bound within the run is smaller than this one.
    surely_kept = truncation_bound(
        rule, rule.level * (count + 1.0), power_of(rule.powers, rule.exponent, count + 1), math.log(t + length - 1)
    )
    done = 0
    while True:
        count += 1
        reward = draw_reward(table, values, arm, next_uniform(state, row, 0), state, row)
        bound = surely_kept
        if rule.node_scale > 0.0 or abs(reward) > surely_kept:
            log_t = math.log(t + done) if rule.shrinks else 0.0
            bound = truncation_bound(rule, rule.level * count, power_of(rule.powers, rule.exponent, count), log_t)
        if abs(reward) <= bound:
            total += reward
        noisy = total
        if rule.node_scale > 0.0:
            fresh = laplace_noise(next_uniform(state, row, 4), rule.node_scale * bound)
            noisy += tree_noise(arms.held, arm, set_bits(count), fresh)
        done += 1
        if done >= length or not noisy > bar * count:
            break
    arms.pulled[arm] = count
    arms.sums[arm] = total
    arms.means[arm] = noisy / count
    arms.widths[arm] = power_of(rule.powers, rule.exponent, count)
    return done


@inlined
def _play(game: Problem, arms: ArmState, t: int, until: int, window: int, state: np.ndarray, trial: int) -> int:
    """Play the pulls from ``t`` to ``until``; the next window."""
    while t <= until:
        clock = clock_of(game.rule, math.log(t))
        best = -np.inf
        arm = 0
        for other in range(arms.means.shape[0]):
            index = arms.means[other] + clock * arms.widths[other]
            if index > best:
                best = index
                arm = other
        length = min(window, until - t + 1) if arms.pulled[arm] > 0 else 1
        bar = np.inf
        if length > 1:
            bar = _bar(game, arms, arm, length, clock, clock_of(game.rule, math.log(t + length - 1)))
        done = _run(game, arms, arm, t, length, bar, state, trial)
        t += done
        window = next_window(window, length, done)
    return window


@allocating
def _arms(count: int) -> ArmState:
    each = np.zeros((2, count))
    held, pulled = np.zeros((count, NOISE_TERMS)), np.zeros(count, np.int64)
    return ArmState(held, pulled, each[0], np.full(count, np.inf), each[1])


@kernel
def by_index(state: np.ndarray, rewards: Rewards, truncation: Truncation, record: Record) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints. Ties go to the lowest label."""
    play_trials(_arms, _play, Problem(room_for(rewards), truncation), state, rewards, record)


@inlined
def _unit_moment(order: float, shape: float, ratio: float) -> float:
    """Integral of x^order over the Pareto density of scale 1 from 1 to ``ratio``."""
    if order == shape:
        return shape * math.log(ratio)
    return shape * math.expm1((order - shape) * math.log(ratio)) / (order - shape)


@device_function
def _pareto_sum(scale: float, shape: float, count: int, bound: float, state: np.ndarray, row: int) -> float:
    """Sum of ``count`` Pareto rewards, those above ``bound`` counting 0.

    The positive axis is cut into cells [a, a r), where r is such that an eighth of the rewards above a fall into the
    next cell: the number in a cell is exactly binomial. Within a cell rewards differ by at most 14% for shapes above
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


@device_function
def truncated_sum(
    rewards: Rewards, arm: int, count: int, bound: float, at_once: bool, state: np.ndarray, row: int, signal: np.ndarray
) -> float:
    """Sum of ``count`` rewards of ``arm``, those beyond +-``bound`` counting 0.

    ``at_once`` = False draws every reward by itself: the plain form, for tests. Incomplete if the signal stops it.
    """
    table, values = rewards.table, rewards.values
    code = table[arm, 0]
    if at_once and code == TWO_POINT:
        ones = binomial(float(count), table[arm, 3], state, row)
        total = 0.0
        if abs(table[arm, 1]) <= bound:
            total += table[arm, 1] * (count - ones)
        if abs(table[arm, 2]) <= bound:
            total += table[arm, 2] * ones
        return total
    if at_once and code == GAUSSIAN and abs(table[arm, 1]) + _REACH * table[arm, 2] < bound:
        z = normal_quantile(next_uniform(state, row, 4) + HALF_UNIT)
        return count * table[arm, 1] + math.sqrt(count) * table[arm, 2] * z
    if at_once and code == PARETO and count >= _MANY:
        return _pareto_sum(table[arm, 1], -1.0 / table[arm, 2], count, bound, state, row)
    total = 0.0
    done = 0
    while done < count and signal[0] == 0:
        some = min(count - done, 65_536)
        for _ in range(some):
            reward = draw_reward(table, values, arm, next_uniform(state, row, 0), state, row)
            if abs(reward) <= bound:
                total += reward
        done += some
    return total


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


class Epoch(NamedTuple):
    """D, R (maybe infinite), B, err and how far below the highest mean an arm is dropped."""

    precision: float
    length: float
    bound: float
    error: float
    threshold: float


@device_function
def epoch_numbers(rule: Elimination, tau: int, size: int) -> Epoch:
    """Epoch ``tau`` with ``size`` arms.

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
        length = np.ceil(math.exp(lead + math.log(kappa * logarithm)) + logarithm)  # beyond every whole number
        effective = math.sqrt(length / logarithm) * epsilon
        cut = 14.0 * kappa ** (0.5 * v / order)
    else:
        logarithm = math.log(4.0 * size * tau * tau / beta)
        exponent = order / v
        lead = math.log(u) / v + exponent * math.log(24.0 / precision) - math.log(epsilon)
        length = np.ceil(math.exp(lead + math.log(kappa * logarithm)) + 1.0)
        effective = length * epsilon / logarithm
        cut = 12.0 * kappa ** (v / order)
    bound = (u * effective) ** (1.0 / order)
    error = u ** (1.0 / order) * effective ** (-v / order)
    return Epoch(precision, length, bound, error, cut * error)
