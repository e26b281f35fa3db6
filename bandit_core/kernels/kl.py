"""KL index policies: kl-UCB (Garivier and Cappe 2011) and, behind randomised response, kl-UCB-CF (Gajane et al. 2018).

Arm a with N responses of mean m has the index max{q in [low, high]: N d(m, q) <= f(t)}, f(t) = ln t + 3 ln ln t, where
d is the Bernoulli divergence and [low, high] holds the possible means of a response. Ties go to the lowest
label (see `kernels.labels`).

Solving for every index at every step costs microseconds. Here an arm is solved only when it may decide:

* An index is a concave function of f while its arm is not pulled, so the tangent at the last solution bounds it from
  above for good. Only arms whose tangent reaches the best solved index are solved again.
* The leader is pulled without solving at all while N d(m, bar) <= f(t), with a bar that no rival can pass in the
  current window of steps: that takes two logarithms.

Both tests keep a margin above rounding, and indices that decide are computed by the same function of (m, N, f) as a
full scan would use: the arms pulled are exactly those of the full scan.
"""

from __future__ import annotations

import math

import numpy as np

from bandit_core.jit.decorators import inlined, kernel, piece
from bandit_core.kernels.curves import note, note_pulls, passed
from bandit_core.kernels.labels import relabel_arms, room_for
from bandit_core.kernels.rewards import draw_reward
from bandit_core.kernels.streams import next_uniform

REWARDS, BITS = range(2)  # what a response is: the reward, one random bit
MARGIN = 1e-10  # far above the error of a solved index (about 1e-12), far below what tells arms apart


@inlined
def exploration(t):
    """f(t) = ln t + 3 max(0, ln ln t)."""
    level = math.log(t)
    return level + 3.0 * math.log(level) if level > 1.0 else level


@inlined
def _negative_entropy(mean):
    """m ln m + (1 - m) ln(1 - m)."""
    total = 0.0
    if mean > 0.0:
        total += mean * math.log(mean)
    if mean < 1.0:
        total += (1.0 - mean) * math.log(1.0 - mean)
    return total


@inlined
def _reaches(mean, count, level, bar, log_bar, log_rest):
    """Whether the index is at least ``bar``, given ln(bar) and ln(1 - bar); true for bar <= mean."""
    if mean >= bar:
        return True
    return count * (_negative_entropy(mean) - mean * log_bar - (1.0 - mean) * log_rest) <= level


@piece
def upper_quantile(mean, budget):
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


@piece
def index(mean, count, level, low, high, log_high, log_rest):
    """max{q in [low, high]: count d(mean, q) <= level}; low or high where nothing, or everything, satisfies that."""
    if _reaches(mean, count, level, high, log_high, log_rest):
        return high
    return min(high, max(low, upper_quantile(mean, level / count)))


@inlined
def _solve(arm, means, counts, level, low, high, log_high, log_rest, base, slope, capped):  # noqa: PLR0913 (one step, whose parts go on from the same numbers)
    """Index of one arm now; keeps the tangent base + slope f that bounds it later."""
    value = index(means[arm], counts[arm], level, low, high, log_high, log_rest)
    if value >= high:
        capped[arm] = True
        base[arm] = high
        slope[arm] = 0.0
        return high
    # An index that waits at ``low`` grows only when its quantile, whose tangent this is, passes low.
    quantile = value if value > low else upper_quantile(means[arm], level / counts[arm])
    slope[arm] = quantile * (1.0 - quantile) / ((quantile - means[arm]) * counts[arm])
    base[arm] = quantile - slope[arm] * level + MARGIN
    return value


@kernel
def by_index(state, rewards, release, low, high, record):  # noqa: C901, PLR0912, PLR0915 (one step, whose parts go on from the same numbers)
    """Play one trial per row of ``state``, filling the record at the checkpoints.

    ``rewards.means`` are the probabilities that a response is 1 (for bits); [low, high] the range of its mean.
    """
    checkpoints = record.checkpoints
    arms = rewards.table.shape[0]
    horizon = checkpoints[-1]
    known = min(horizon, 65536)
    levels = np.zeros(known + 1)
    for t in range(1, known + 1):
        levels[t] = exploration(t)
    log_high = math.log(high)
    log_rest = math.log(1.0 - high)
    means = np.empty(arms)
    counts = np.empty(arms)
    sums = np.empty(arms)
    base = np.empty(arms)
    slope = np.empty(arms)
    reach = np.empty(arms)
    capped = np.empty(arms, np.bool_)
    order = np.empty(arms, np.int64)
    here = room_for(rewards)
    table, values, chances, gaps = here  # once: every use in a loop would count references
    for trial in range(state.shape[0]):
        relabel_arms(state, trial, rewards, order, here)
        counts[:] = 0.0
        sums[:] = 0.0
        means[:] = 0.0
        window = 1
        t = 1
        for checkpoint in range(checkpoints.shape[0]):
            until = checkpoints[checkpoint]
            while t <= until:
                length = 1
                bar = high
                log_bar = log_high
                log_over = log_rest
                level = 0.0
                if t <= arms:
                    arm = t - 1
                else:
                    level = levels[t] if t <= known else exploration(t)
                    arm = 0
                    peak = -np.inf
                    for other in range(arms):
                        bound = min(high, max(low, base[other] + slope[other] * level))
                        reach[other] = bound
                        if bound > peak:
                            peak = bound
                            arm = other
                    first = arm
                    value = high
                    if not capped[arm]:
                        value = _solve(
                            arm, means, counts, level, low, high, log_high, log_rest, base, slope, capped
                        )  # fmt: skip
                    for other in range(arms):
                        if other == first or reach[other] < value or (reach[other] == value and other > arm):
                            continue
                        rival = high
                        if not capped[other]:
                            rival = _solve(
                                other, means, counts, level, low, high, log_high, log_rest, base, slope, capped
                            )  # fmt: skip
                        if rival > value or (rival == value and other < arm):
                            value = rival
                            arm = other
                    length = min(window, until - t + 1)
                if length > 1:
                    last = t + length - 1
                    end_level = levels[last] if last <= known else exploration(last)
                    below = -np.inf  # best possible index in this window of the arms before the leader
                    above = -np.inf  # and after it, where a tie does not hurt
                    for other in range(arm):
                        below = max(below, base[other] + slope[other] * end_level)
                    for other in range(arm + 1, arms):
                        above = max(above, base[other] + slope[other] * end_level)
                    if below >= high:
                        length = 1
                        window = max(1, window // 2)
                    else:
                        bar = max(low, below, above) + MARGIN
                        if bar < high:
                            log_bar = math.log(bar)
                            log_over = math.log(1.0 - bar)
                        else:
                            bar = high
                count = counts[arm]
                total = sums[arm]
                done = 0
                while True:
                    uniform = next_uniform(state, trial, 0)
                    if release == BITS:
                        if uniform < chances[arm]:
                            total += 1.0
                    else:
                        total += draw_reward(table, values, arm, uniform, state, trial)
                    count += 1.0
                    done += 1
                    if done >= length or not _reaches(total / count, count, level, bar, log_bar, log_over):
                        break
                counts[arm] = count
                sums[arm] = total
                means[arm] = total / count
                base[arm] = high  # unknown until solved
                slope[arm] = 0.0
                capped[arm] = False
                t += done
                window = window * 2 if done == window else max(1, done)
            note(counts, gaps, trial, checkpoint, record.regret, record.best_pulls)
            if passed(record, checkpoint, 1):
                return
        note_pulls(record, trial, order, counts)
