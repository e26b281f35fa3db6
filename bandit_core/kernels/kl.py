"""KL index policies: kl-UCB (Garivier and Cappe 2011) and, behind randomised response, kl-UCB-CF (Gajane et al. 2018).

Arm a with N responses of mean m has the index max{q in [low, high]: N d(m, q) <= f(t)}, f(t) = ln t + 3 ln ln t, where
d is the Bernoulli divergence and [low, high] holds the possible means of a response. Ties go to the lowest
label (see `kernels.play`).

Solving for every index at every step costs microseconds. Here an arm is solved only when it may decide:

* An index is a concave function of f while its arm is not pulled, so the tangent at the last solution bounds it from
  above for good. Only arms whose tangent reaches the best solved index are solved again.
* The leader is pulled without solving at all while N d(m, bar) <= f(t), with a bar that no rival can pass in the
  current window of steps: that takes two logarithms.

Both tests keep a margin above rounding, and indices that decide are computed by the same function of (m, N, f) as a
full scan would use: the arms pulled are exactly those of the full scan.

Compiled Bernoulli divergences of central privacy: d_eps and the largest mean that a record does not rule out.

d_eps(x, y) = min over z between x and y of eps |z - x| + d(z, y) (arXiv 2505.05613), where d is the Bernoulli
Kullback-Leibler divergence. For x < y the minimum is at z* = y / (y + (1-y) e^eps) or at x, whichever is larger.
"""

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, device_function, inlined, kernel
from bandit_core.kernels.play import Rewards, next_window, play_trials, room_for
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform
from bandit_core.model import Record

REWARDS, BITS = range(2)  # what a response is: the reward, one random bit
MARGIN = 1e-10  # far above the error of a solved index (about 1e-12), far below what tells arms apart


class Bar(NamedTuple):
    """A mean, with ln(mean) and ln(1 - mean)."""

    mean: float
    log: float
    log_rest: float


class Problem(NamedTuple):
    """The arms by the labels, what a response is, and the range of its mean."""

    rewards: Rewards
    release: int
    low: float
    high: Bar


class ArmState(NamedTuple):
    """What every arm has given so far (arms,), and the tangent base + slope f that bounds its index."""

    pulled: np.ndarray
    sums: np.ndarray
    means: np.ndarray
    base: np.ndarray
    slope: np.ndarray
    reach: np.ndarray  # the bound now
    capped: np.ndarray  # whether the index was last found at ``high``


@inlined
def exploration(t: float) -> float:
    """f(t) = ln t + 3 max(0, ln ln t)."""
    level = math.log(t)
    return level + 3.0 * math.log(level) if level > 1.0 else level


@inlined
def _negative_entropy(mean: float) -> float:
    """m ln m + (1 - m) ln(1 - m)."""
    total = 0.0
    if mean > 0.0:
        total += mean * math.log(mean)
    if mean < 1.0:
        total += (1.0 - mean) * math.log(1.0 - mean)
    return total


@inlined
def bar_at(mean: float) -> Bar:
    """The bar at a mean in (0, 1]."""
    return Bar(mean, math.log(mean), math.log(1.0 - mean))


@inlined
def reaches(mean: float, count: float, level: float, bar: Bar) -> bool:
    """Whether the index is at least the bar; true for a bar up to the mean."""
    if mean >= bar.mean:
        return True
    return count * (_negative_entropy(mean) - mean * bar.log - (1.0 - mean) * bar.log_rest) <= level


@device_function
def upper_quantile(mean: float, budget: float) -> float:
    """The q >= mean with d(mean, q) = budget > 0, for a mean below 1, within about 1e-12.

    Newton's method in x = logit(q): there d(mean, q) = ln(1 + e^x) - mean x + const is convex, with slope q - mean.
    """
    if mean <= 0.0:
        return -math.expm1(-budget)
    rest = 1.0 - mean
    variance = mean * rest
    constant = _negative_entropy(mean) - budget
    s = math.sqrt(2.0 * budget / variance)
    if s < 1.5:  # the inverse power series of d around the mean
        x = math.log(mean / rest) + s * (1.0 + s * (-(1.0 - 2.0 * mean) / 6.0 + s * (1.0 - variance) / 36.0))
    else:  # two upper bounds: d >= the tangent at infinity, and Pinsker's inequality
        x = -constant / rest
        pinsker = mean + math.sqrt(0.5 * budget)
        if pinsker < 1.0:
            x = min(x, math.log(pinsker / (1.0 - pinsker)))
    for _ in range(60):
        power = math.exp(-abs(x))
        q = 1.0 / (1.0 + power) if x > 0.0 else power / (1.0 + power)
        step = (max(x, 0.0) + math.log1p(power) - mean * x + constant) / (q - mean)
        x -= step
        shift = step * q * (1.0 - q)
        if shift * shift <= 1e-13 * (q - mean):  # twice the error that is left, by quadratic convergence
            break
    return 1.0 / (1.0 + math.exp(-x))


@device_function
def index(mean: float, count: float, level: float, low: float, high: Bar) -> float:
    """max{q in [low, high]: count d(mean, q) <= level}; low or high where nothing, or everything, satisfies that."""
    if reaches(mean, count, level, high):
        return high.mean
    return min(high.mean, max(low, upper_quantile(mean, level / count)))


@inlined
def _solve(game: Problem, arms: ArmState, arm: int, level: float) -> float:
    """Index of one arm now; keeps the tangent that bounds it later."""
    high = game.high.mean
    if arms.capped[arm]:
        return high
    mean, count = arms.means[arm], arms.pulled[arm]
    value = index(mean, count, level, game.low, game.high)
    if value >= high:
        arms.capped[arm] = True
        arms.base[arm] = high
        arms.slope[arm] = 0.0
        return high
    # An index that waits at ``low`` grows only when its quantile, whose tangent this is, passes low.
    quantile = value if value > game.low else upper_quantile(mean, level / count)
    arms.slope[arm] = quantile * (1.0 - quantile) / ((quantile - mean) * count)
    arms.base[arm] = quantile - arms.slope[arm] * level + MARGIN
    return value


@inlined
def _leader(game: Problem, arms: ArmState, level: float) -> int:
    """The arm with the largest index: the one with the largest bound, and those whose bound reaches its index."""
    first = 0
    peak = -np.inf
    for other in range(arms.pulled.shape[0]):
        bound = min(game.high.mean, max(game.low, arms.base[other] + arms.slope[other] * level))
        arms.reach[other] = bound
        if bound > peak:
            peak = bound
            first = other
    arm = first
    value = _solve(game, arms, arm, level)
    for other in range(arms.pulled.shape[0]):
        if other == first or arms.reach[other] < value or (arms.reach[other] == value and other > arm):
            continue
        rival = _solve(game, arms, other, level)
        if rival > value or (rival == value and other < arm):
            value = rival
            arm = other
    return arm


@inlined
def _highest_bound(arms: ArmState, first: int, last: int, level: float) -> float:
    """The largest possible index of the arms from ``first`` to ``last - 1``."""
    highest = -np.inf
    for arm in range(first, last):
        highest = max(highest, arms.base[arm] + arms.slope[arm] * level)
    return highest


@inlined
def _run(
    game: Problem, arms: ArmState, arm: int, length: int, level: float, bar: Bar, state: np.ndarray, row: int
) -> int:
    """Pull an arm up to ``length`` times while its index reaches the bar; how often it was pulled."""
    rewards = game.rewards
    count, total = arms.pulled[arm], arms.sums[arm]
    done = 0
    while True:
        uniform = next_uniform(state, row, 0)
        if game.release == BITS:
            if uniform < rewards.means[arm]:
                total += 1.0
        else:
            total += draw_reward(rewards.table, rewards.values, arm, uniform, state, row)
        count += 1.0
        done += 1
        if done >= length or not reaches(total / count, count, level, bar):
            break
    arms.pulled[arm] = count
    arms.sums[arm] = total
    arms.means[arm] = total / count
    arms.base[arm] = game.high.mean  # unknown until solved
    arms.slope[arm] = 0.0
    arms.capped[arm] = False
    return done


@inlined
def _play(game: Problem, arms: ArmState, t: int, until: int, window: int, state: np.ndarray, trial: int) -> int:
    """Play the pulls from ``t`` to ``until``; the next window."""
    count = arms.pulled.shape[0]
    while t <= until:
        arm, length, level, bar = t - 1, 1, 0.0, game.high
        if t > count:
            level = exploration(t)
            arm = _leader(game, arms, level)
            length = min(window, until - t + 1)
        if length > 1:
            end_level = exploration(t + length - 1)
            before = _highest_bound(arms, 0, arm, end_level)
            after = _highest_bound(arms, arm + 1, count, end_level)  # where a tie does not hurt
            if before >= game.high.mean:
                length = 1
                window = max(1, window // 2)
            else:
                safe = max(game.low, before, after) + MARGIN
                if safe < game.high.mean:
                    bar = bar_at(safe)
        done = _run(game, arms, arm, length, level, bar, state, trial)
        t += done
        window = next_window(window, length, done)
    return window


@allocating
def _arms(count: int) -> ArmState:
    each = np.zeros((6, count))
    return ArmState(each[0], each[1], each[2], each[3], each[4], each[5], np.zeros(count, np.bool_))


@kernel
def by_index(state: np.ndarray, rewards: Rewards, release: int, low: float, high: float, record: Record) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints.

    ``rewards.means`` are the probabilities that a response is 1 (for bits); [low, high] the range of its mean.
    """
    game = Problem(room_for(rewards), release, low, bar_at(high))
    play_trials(_arms, _play, game, state, rewards, record)


TOP = 1.0 - 1e-9  # an index above this counts as 1: nearer to 1, rounding would decide who is ahead


@device_function
def _rising(x: float, y: float, epsilon: float) -> float:
    """d_eps for 0 <= x < y <= 1."""
    rest = 1.0 - y
    shrunk = y * math.exp(-epsilon)
    if y >= 1.0:
        return epsilon * (1.0 - x)
    if x * (shrunk + rest) < shrunk:
        left = shrunk + rest  # 1 - y (1 - e^-eps), which may be near 1 or near 0
        return (-math.log(left) if left < 0.5 else -math.log1p(y * math.expm1(-epsilon))) - epsilon * x
    total = -(1.0 - x) * math.log1p(-(y - x) / (1.0 - x))
    return total - x * math.log1p((y - x) / x) if x > 0.0 else total


@device_function
def d_eps(x: float, y: float, epsilon: float) -> float:
    """d_eps(x, y) for means x, y in [0, 1] and epsilon > 0, in nats."""
    if x == y:
        return 0.0
    return max(0.0, _rising(x, y, epsilon) if x < y else _rising(1.0 - x, 1.0 - y, epsilon))


@device_function
def largest_mean(mean: float, budget: float) -> float:
    """max{q in [0, 1]: d(mean, q) <= budget} for a mean in [0, 1] and a budget > 0."""
    if mean >= 1.0:
        return 1.0
    q = upper_quantile(mean, budget)
    return q if q <= TOP else 1.0


@device_function
def largest_private_mean(mean: float, budget: float, epsilon: float) -> float:
    """max{q in [0, 1]: d_eps(mean, q) <= budget} for a mean in [0, 1] and a budget > 0.

    Up to the q at which z* passes the mean, d_eps is d; beyond, it has an inverse in closed form.
    """
    if mean >= 1.0 or budget <= epsilon * (1.0 - mean) + math.log(mean + (1.0 - mean) * math.exp(-epsilon)):
        return largest_mean(mean, budget)
    q = math.expm1(-(budget + epsilon * mean)) / math.expm1(-epsilon)
    return q if q <= TOP else 1.0
