"""Index policies of the form mean + width x clock(t): UCB1, HeLDP-UCB-L, HeLDP-UCB-B and their relatives.

Every accepted response brings a value x and a spread v (1 for a plain reward, 1/eps^2 behind Laplace noise,
coth(eps/2)^2 behind randomised response). Arm a keeps N (accepted responses), S = sum x and V = sum v; its index is

    S/N + (sqrt(per_pull N) + sqrt(per_spread V)) / N * sqrt(ln t [+ 3 ln ln t]),

and ties go to the lowest label (see `kernels.labels`). Arms with V <= forced ln t are pulled first (Agent 2 of Ren et
al.); a user below ``eps_min`` shares nothing. Two samplers play the same game with the same draws and give the same
arms, bit for bit:

* lockstep: all trials of a block advance together, so that drawing and comparing use the vector units. Best for
  few arms and short horizons; its cost is proportional to the arms.
* tournament: indices are lines in L = sqrt(ln t); a kinetic tournament tree holds their upper envelope, each node
  with the L at which its winner may be overtaken. The leader is pulled without looking at the tree while a
  conservative test (one product a step) shows that nobody can have passed it. Best for many arms or long horizons.

`lockstep_wins` is the one place that chooses.
"""

from __future__ import annotations

import math

import numpy as np
from numba import uint64

from bandit_core.jit.decorators import inlined, kernel, piece
from bandit_core.kernels.curves import note
from bandit_core.kernels.labels import arrange, draw_labels, relabel
from bandit_core.kernels.rewards import draw_reward, sigmoid
from bandit_core.kernels.streams import fill_lanes, next_uniform
from bandit_core.kernels.users import draw_epsilon, draw_group, surely_below
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.mechanisms.randomised_response import chance_of_one
from bandit_core.spec.budgets import DISCRETE, FIXED
from bandit_core.spec.rewards import TWO_POINT

RAW, LAPLACE, BITS = range(3)  # what a response is: the reward, the reward + Laplace noise, one random bit
PLAIN_CLOCK, KL_CLOCK = range(2)  # ln t, ln t + 3 ln ln t
LANES = 64  # most trials that advance together: enough to keep the vector units busy, few enough for the near caches


def lockstep_wins(arms: int, horizon: int) -> bool:
    """Whether lockstep is the faster sampler here (measured in benchmarks/bench_samplers.py).

    The arms decide first: beyond some hundreds lockstep loses at every horizon. Then the horizon: the tournament's
    leader changes ever more rarely. Where exactly depends on the policy and its noise (between 10^5 and 10^6); near
    the border the two differ by less than a factor of two.
    """
    return arms <= 400 and horizon <= 250_000


@inlined
def clock(t, code):
    """sqrt(ln t), or sqrt(ln t + 3 max(0, ln ln t))."""
    level = math.log(t)
    if code == KL_CLOCK and level > 1.0:
        level += 3.0 * math.log(level)
    return math.sqrt(level)


@inlined
def _width(count, spread, per_pull, per_spread):
    total = 0.0
    if per_pull > 0.0:
        total += math.sqrt(per_pull * count)
    if per_spread > 0.0:
        total += math.sqrt(per_spread * spread)
    return total / count


@inlined
def _noise_of(release, epsilon):
    """How much privacy widens a response: 1, the Laplace scale 1/eps, or coth(eps/2); its spread is the square."""
    if release == LAPLACE:
        return 1.0 / epsilon
    if release == BITS:
        return 1.0 / math.tanh(0.5 * epsilon)
    return 1.0


@inlined
def _user(code, form, table, group_noises, release, eps_min, hopeless, uniform):
    """Whether the user who arrives is kept, and the noise of the response (see `_noise_of`).

    ``group_noises`` has the noise of every group of a discrete distribution; below ``hopeless`` no user is ever kept.
    """
    if code == DISCRETE:
        group = draw_group(table, uniform)
        return table[group, 1] >= eps_min, group_noises[group]
    if uniform < hopeless:
        return False, 1.0
    epsilon = draw_epsilon(code, form, table, uniform)
    if epsilon < eps_min:
        return False, 1.0
    return True, _noise_of(release, epsilon)


@inlined
def _value(release, simple, squash, laws, values, bit_means, arm, u_reward, u_noise, noise, unit, state, row):
    """What is added to the arm's sum. ``simple``: every arm pays one of two amounts, as it is.

    A bit counts as +-unit, where unit is the noise of this user or, if all users have the same, 1: then sums are
    whole numbers, and arms with the same record have exactly the same index.
    """
    if release == BITS:
        return unit if u_reward < chance_of_one(bit_means[arm], 1.0 / noise) else -unit
    if simple:
        reward = laws[arm, 2] if u_reward < laws[arm, 3] else laws[arm, 1]
    else:
        reward = draw_reward(laws, values, arm, u_reward, state, row)
        if squash:
            reward = sigmoid(reward)
    if release == LAPLACE:
        reward += laplace_noise(u_noise, noise)
    return reward


@inlined
def _affine(release, one_budget, noise):
    """(shift, stretch) from the mean of what was summed to the estimate of the arm's mean."""
    if release == BITS:
        return 0.5, 0.5 * noise if one_budget else 0.5
    return 0.0, 1.0


@inlined
def _all_simple(laws, squash):
    simple = not squash
    for arm in range(laws.shape[0]):
        simple &= laws[arm, 0] == TWO_POINT
    return simple


@kernel
def lockstep(
    state, laws, values, bit_means, release, squash, per_pull, per_spread, clock_code, forced,
    user_code, user_form, user_table, eps_min, gaps, record,
):  # fmt: skip
    """Play one trial per row of ``state`` (at most a few dozen), filling the outputs at the checkpoints."""
    checkpoints, regret, best_pulls, pulls, _, signal = record
    arms = laws.shape[0]
    lanes = state.shape[0]
    words = np.empty((4, lanes), np.uint64)
    for lane in range(lanes):
        for word in range(4):
            words[word, lane] = state[lane, word]
    order = np.empty(arms, np.int64)
    stands_for = np.empty(arms * lanes, np.uint64)  # the arm behind each label, in every lane
    for lane in range(lanes):
        draw_labels(state, lane, order)
        for label in range(arms):
            stands_for[label * lanes + lane] = order[label]
    means = np.full((arms, lanes), np.inf)
    widths = np.zeros((arms, lanes))
    flat_means = means.reshape(arms * lanes)
    flat_widths = widths.reshape(arms * lanes)
    counts = np.zeros(arms * lanes)
    sums = np.zeros(arms * lanes)
    spreads = np.zeros(arms * lanes)
    one_budget = user_code == FIXED
    pulled = counts if one_budget else np.zeros(arms * lanes)  # the same thing when nothing is discarded
    best = np.empty(lanes)
    choice = np.empty(lanes, np.uint64)
    reward_bits = np.empty(lanes, np.uint64)
    noise_bits = np.full(lanes, uint64(0x3FF0000000000000))
    user_bits = np.full(lanes, uint64(0x3FF0000000000000))
    reward_draws = reward_bits.view(np.float64)
    noise_draws = noise_bits.view(np.float64)
    user_draws = user_bits.view(np.float64)
    least = np.zeros(lanes)  # smallest spread over the arms, for the forced pulls
    simple = _all_simple(laws, squash)
    fixed_noise = _noise_of(release, user_form[0])
    hopeless = surely_below(user_code, user_form, user_table, eps_min)
    group_noises = np.empty(user_table.shape[0])
    for group in range(user_table.shape[0]):
        group_noises[group] = _noise_of(release, user_table[group, 1])
    shift, stretch = _affine(release, user_code == FIXED, fixed_noise)
    quads = arms // 4 * 4
    next_checkpoint = 0
    for t in range(1, checkpoints[-1] + 1):
        fill_lanes(words, reward_bits, lanes)
        if release == LAPLACE:
            fill_lanes(words, noise_bits, lanes)
        if not one_budget:
            fill_lanes(words, user_bits, lanes)
        level = clock(t, clock_code)
        for lane in range(lanes):
            best[lane] = -np.inf
            choice[lane] = uint64(0)
        for arm in range(0, quads, 4):  # four arms a pass: the running best stays in registers longer
            m0, w0, m1, w1 = means[arm], widths[arm], means[arm + 1], widths[arm + 1]
            m2, w2, m3, w3 = means[arm + 2], widths[arm + 2], means[arm + 3], widths[arm + 3]
            first = uint64(arm)
            for lane in range(lanes):
                left = m0[lane] + level * w0[lane]
                left_other = m1[lane] + level * w1[lane]
                right = m2[lane] + level * w2[lane]
                right_other = m3[lane] + level * w3[lane]
                left_arm = first
                right_arm = first + uint64(2)
                if left_other > left:
                    left = left_other
                    left_arm = first + uint64(1)
                if right_other > right:
                    right = right_other
                    right_arm = first + uint64(3)
                if right > left:
                    left = right
                    left_arm = right_arm
                better = left > best[lane]
                best[lane] = left if better else best[lane]
                choice[lane] = left_arm if better else choice[lane]
        for arm in range(quads, arms):
            m0, w0 = means[arm], widths[arm]
            for lane in range(lanes):
                left = m0[lane] + level * w0[lane]
                better = left > best[lane]
                best[lane] = left if better else best[lane]
                choice[lane] = uint64(arm) if better else choice[lane]
        floor = forced * math.log(t)
        for lane in range(uint64(lanes)):
            arm = choice[lane]
            if forced > 0.0 and least[lane] <= floor:
                arm = uint64(0)
                while spreads[arm * uint64(lanes) + lane] > floor:
                    arm += uint64(1)
            cell = arm * uint64(lanes) + lane
            noise = fixed_noise
            unit = 1.0
            if not one_budget:
                pulled[cell] += 1.0
                kept, noise = _user(
                    user_code, user_form, user_table, group_noises, release, eps_min, hopeless, user_draws[lane] - 1.0
                )
                if not kept:
                    continue
                unit = noise
            count = counts[cell] + 1.0
            total = sums[cell] + _value(
                release, simple, squash, laws, values, bit_means, stands_for[cell],
                reward_draws[lane] - 1.0, noise_draws[lane] - 1.0, noise, unit, state, lane,
            )  # fmt: skip
            before = spreads[cell]
            after = before + noise * noise
            counts[cell] = count
            sums[cell] = total
            spreads[cell] = after
            flat_means[cell] = shift + stretch * (total / count)
            flat_widths[cell] = _width(count, after, per_pull, per_spread)
            if forced > 0.0 and before <= least[lane]:
                smallest = np.inf
                for other in range(arms):
                    smallest = min(smallest, spreads[other * lanes + lane])
                least[lane] = smallest
        if t == checkpoints[next_checkpoint]:
            for lane in range(lanes):
                lost = 0.0
                good = 0.0
                for arm in range(arms):
                    gap = gaps[stands_for[arm * lanes + lane]]
                    lost += pulled[arm * lanes + lane] * gap
                    if gap == 0.0:
                        good += pulled[arm * lanes + lane]
                regret[lane, next_checkpoint] = lost
                best_pulls[lane, next_checkpoint] = good
            signal[1] += lanes * (t - (checkpoints[next_checkpoint - 1] if next_checkpoint > 0 else 0))
            next_checkpoint += 1
            if signal[0] != 0:
                return
    for lane in range(lanes):
        for arm in range(arms):
            pulls[lane, stands_for[arm * lanes + lane]] = pulled[arm * lanes + lane]


@inlined
def _settle(node, level, means, widths, winner, due):
    """Recompute one node from its children at the current level: its winner, and when it must be looked at again."""
    left = winner[2 * node]
    right = winner[2 * node + 1]
    left_index = means[left] + level * widths[left]
    right_index = means[right] + level * widths[right]
    ahead = right if right_index > left_index else left
    behind = left if right_index > left_index else right
    winner[node] = ahead
    faster = widths[behind] - widths[ahead]
    # A little early is safe (the node is just compared again), late is not; never earlier than the next step.
    crossing = (means[ahead] - means[behind]) / faster * (1.0 - 1e-7) if faster > 0.0 else np.inf
    same_line = means[left] == means[right] and faster == 0.0
    if not same_line and abs(left_index - right_index) <= 1e-11 * (1.0 + abs(left_index)):
        crossing = 0.0  # so close that rounding decides: compare again at every step, as lockstep does
    own_due = max(crossing, level * (1.0 + 1e-15) + 1e-300)
    due[node] = min(own_due, due[2 * node], due[2 * node + 1])


@piece
def _repair(leaves, level, means, widths, winner, due, stack):
    """Bring every node that is due at this level up to date, children first."""
    top = 0
    stack[0] = 1
    while top >= 0:
        node = stack[top]
        left = 2 * node
        deeper = 0
        if left < leaves:
            if due[left] <= level:
                top += 1
                stack[top] = left
                deeper = 1
            if due[left + 1] <= level:
                top += 1
                stack[top] = left + 1
                deeper = 1
        if deeper == 0:
            _settle(node, level, means, widths, winner, due)
            top -= 1


@inlined
def _first_below(least, leaves, floor):
    """Lowest arm whose spread is at most ``floor``; the root says that there is one."""
    node = 1
    while node < leaves:
        node = 2 * node if least[2 * node] <= floor else 2 * node + 1
    return node - leaves


@kernel
def tournament(
    state, laws, values, bit_means, release, squash, per_pull, per_spread, clock_code, forced,
    user_code, user_form, user_table, eps_min, gaps, record,
):  # fmt: skip
    """The same game as `lockstep`, one trial after the other, with the same arguments and the same result."""
    checkpoints, regret, best_pulls, pulls, _, signal = record
    arms = laws.shape[0]
    leaves = 2
    while leaves < arms:
        leaves *= 2
    one_budget = user_code == FIXED
    simple = _all_simple(laws, squash)
    fixed_noise = _noise_of(release, user_form[0])
    hopeless = surely_below(user_code, user_form, user_table, eps_min)
    group_noises = np.empty(user_table.shape[0])
    for group in range(user_table.shape[0]):
        group_noises[group] = _noise_of(release, user_table[group, 1])
    shift, stretch = _affine(release, user_code == FIXED, fixed_noise)
    horizon = checkpoints[-1]
    known = min(horizon, 65536)
    levels = np.zeros(known + 1)
    for t in range(1, known + 1):
        levels[t] = clock(t, clock_code)
    means = np.empty(leaves)
    widths = np.empty(leaves)
    counts = np.empty(arms)
    sums = np.empty(arms)
    spreads = np.empty(arms)
    pulled = np.empty(arms)
    winner = np.empty(2 * leaves, np.int64)
    due = np.empty(2 * leaves)
    least = np.empty(2 * leaves)
    stack = np.empty(4 * leaves, np.int64)
    order = np.empty(arms, np.int64)
    laws_here = np.empty_like(laws)
    gaps_here = np.empty_like(gaps)
    bit_means_here = np.empty_like(bit_means)
    for trial in range(state.shape[0]):
        relabel(state, trial, laws, gaps, order, laws_here, gaps_here)
        arrange(order, bit_means, bit_means_here)
        for arm in range(leaves):
            means[arm] = np.inf if arm < arms else -np.inf
            widths[arm] = 0.0
            winner[leaves + arm] = arm
            due[leaves + arm] = np.inf
            least[leaves + arm] = 0.0 if arm < arms else np.inf
        counts[:] = 0.0
        sums[:] = 0.0
        spreads[:] = 0.0
        pulled[:] = 0.0
        for node in range(leaves - 1, 0, -1):
            _settle(node, 0.0, means, widths, winner, due)
            least[node] = min(least[2 * node], least[2 * node + 1])
        window = 1
        t = 1
        for checkpoint in range(checkpoints.shape[0]):
            until = checkpoints[checkpoint]
            started = t
            while t <= until:
                level = levels[t] if t <= known else clock(t, clock_code)
                if due[1] <= level:
                    _repair(leaves, level, means, widths, winner, due, stack)
                arm = winner[1]
                length = min(window, until - t + 1)
                is_forced = False
                if forced > 0.0:
                    floor = forced * math.log(t)
                    if least[1] <= floor:
                        arm = _first_below(least, leaves, floor)
                        is_forced = True
                        length = 1
                if length > 1:
                    last = t + length - 1
                    end_level = levels[last] if last <= known else clock(last, clock_code)
                    if end_level >= due[1] or (forced > 0.0 and least[1] <= forced * math.log(last)):
                        length = 1
                        window = max(1, window // 2)
                bar = np.inf
                if length > 1:
                    rival = -np.inf
                    node = leaves + arm
                    while node > 1:
                        other = winner[node ^ 1]
                        rival = max(rival, means[other] + end_level * widths[other])
                        node >>= 1
                    count = counts[arm]
                    if count > 0.0:
                        most = count + length
                        if one_budget:
                            growth = spreads[arm] / count * most
                            narrowest = _width(most, growth, per_pull, per_spread)
                        else:
                            narrowest = _width(count, spreads[arm], per_pull, per_spread) * (count / most)
                        bar = rival - level * narrowest
                        bar = (bar + 1e-10 * (1.0 + abs(bar)) - shift) / stretch
                    else:
                        length = 1
                count = counts[arm]
                total = sums[arm]
                spread_sum = spreads[arm]
                done = 0
                while True:
                    u_reward = next_uniform(state, trial, 0)
                    u_noise = next_uniform(state, trial, 0) if release == LAPLACE else 0.0
                    noise = fixed_noise
                    unit = 1.0
                    kept = True
                    if not one_budget:
                        u_user = next_uniform(state, trial, 0)
                        kept, noise = _user(
                            user_code, user_form, user_table, group_noises, release, eps_min, hopeless, u_user
                        )
                        unit = noise
                    if kept:
                        count += 1.0
                        total += _value(
                            release, simple, squash, laws_here, values, bit_means_here, arm,
                            u_reward, u_noise, noise, unit, state, trial,
                        )  # fmt: skip
                        spread_sum += noise * noise
                    done += 1
                    if done >= length or not total > bar * count:
                        break
                pulled[arm] += done
                t += done
                if not is_forced:
                    window = window * 2 if done == window else max(1, done)
                if count > counts[arm]:
                    counts[arm] = count
                    sums[arm] = total
                    spreads[arm] = spread_sum
                    means[arm] = shift + stretch * (total / count)
                    widths[arm] = _width(count, spread_sum, per_pull, per_spread)
                    level = levels[t] if t <= known else clock(t, clock_code)
                    node = (leaves + arm) >> 1
                    least[leaves + arm] = spread_sum
                    while node >= 1:
                        _settle(node, level, means, widths, winner, due)
                        node >>= 1
                    if forced > 0.0:
                        node = (leaves + arm) >> 1
                        while node >= 1:
                            least[node] = min(least[2 * node], least[2 * node + 1])
                            node >>= 1
            note(pulled, gaps_here, trial, checkpoint, regret, best_pulls)
            signal[1] += t - started
            if signal[0] != 0:
                return
        for arm in range(arms):
            pulls[trial, order[arm]] = pulled[arm]
