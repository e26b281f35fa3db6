"""Index policies of the form mean + width x clock(t): UCB1, HeLDP-UCB-L, HeLDP-UCB-B and their relatives.

Every accepted response brings a value x and a spread v (1 for a plain reward, 1/eps^2 behind Laplace noise,
coth(eps/2)^2 behind randomised response). Arm a keeps N (accepted responses), S = sum x and V = sum v; its index is

    S/N + (sqrt(per_pull N) + sqrt(per_spread V)) / N * sqrt(ln t [+ 3 ln ln t]),

and ties go to the lowest label (see `kernels.play`). Arms with V <= forced ln t are pulled first (Agent 2 of Ren et
al.); a user below ``eps_min`` shares nothing. Two samplers play the same game with the same draws and give the same
arms, bit for bit:

* vectorised: all trials of a block advance together, so that drawing and comparing use the vector units. Best for
  few arms and short horizons; its cost is proportional to the arms.
* tournament: indices are lines in L = sqrt(ln t); a kinetic tournament tree holds their upper envelope, each node
  with the L at which its winner may be overtaken. The leader is pulled without looking at the tree while a
  conservative test (one product a step) shows that no one can have passed it. Best for many arms or long horizons.

`vectorised_wins` is the one place that chooses.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import uint64

from bandit_core.jit.decorators import allocating, device_function, inlined, kernel
from bandit_core.kernels.kl import exploration
from bandit_core.kernels.play import Index, Rewards, Users, draw_labels, next_window, play_trials, room_for, should_stop
from bandit_core.kernels.rewards import draw_reward, sigmoid
from bandit_core.kernels.streams import fill_words, next_uniform, uniform_of
from bandit_core.kernels.users import draw_epsilon, draw_group
from bandit_core.mechanisms.laplace import laplace_noise
from bandit_core.mechanisms.randomised_response import chance_of_one
from bandit_core.model import Record
from bandit_core.spec.budgets import DISCRETE, FIXED

RAW, LAPLACE, BITS = range(3)  # what a response is: the reward, the reward + Laplace noise, one random bit
PLAIN_CLOCK, KL_CLOCK = range(2)  # ln t, ln t + 3 ln ln t
LANES = 64  # most trials that advance together: enough to keep the vector units busy, few enough for the near caches


def vectorised_wins(arms: int, horizon: int) -> bool:
    """Whether `vectorised` is the faster sampler here (measured once, see docs/speed.md).

    The arms decide first: beyond some hundreds `vectorised` loses at every horizon. Then the horizon: the tournament's
    leader changes ever more rarely. Where exactly depends on the policy and its noise (between 10^5 and 10^6); near
    the border the two differ by less than a factor of two.
    """
    return arms <= 400 and horizon <= 250_000


class Problem(NamedTuple):
    """What the samplers are called with, and what follows from it before the first pull."""

    rewards: Rewards
    users: Users
    form: Index
    one_budget: bool
    noise: float  # of the one budget
    group_noises: np.ndarray  # of every group of a discrete distribution: own-budgets takes 95 in place of 149 ms
    shift: float  # of the estimate of an arm's mean: shift + stretch x mean of what was summed
    stretch: float


@inlined
def clock(t: float, code: int) -> float:
    """sqrt(ln t), or sqrt(ln t + 3 max(0, ln ln t))."""
    return math.sqrt(exploration(t) if code == KL_CLOCK else math.log(t))


@inlined
def index_of(mean: float, level: float, width: float) -> float:
    """What the policy maximises, where the clock says ``level``."""
    return mean + level * width


@inlined
def width(index: Index, count: float, spread: float) -> float:
    """What the index adds to the mean of an arm, over the clock."""
    total = 0.0
    if index.per_pull > 0.0:
        total += math.sqrt(index.per_pull * count)
    if index.per_spread > 0.0:
        total += math.sqrt(index.per_spread * spread)
    return total / count


@inlined
def noise_of(release: int, epsilon: float) -> float:
    """How much privacy widens a response: 1, the Laplace scale 1/eps, or coth(eps/2); its spread is the square."""
    if release == LAPLACE:
        return 1.0 / epsilon
    if release == BITS:
        return 1.0 / math.tanh(0.5 * epsilon)
    return 1.0


@inlined
def _user(game: Problem, uniform: float) -> tuple[bool, float]:
    """Whether the user who arrives is kept, and the noise of the response (see `noise_of`)."""
    users = game.users
    if users.kind == DISCRETE:
        group = draw_group(users.table, uniform)
        return users.table[group, 1] >= users.eps_min, game.group_noises[group]
    epsilon = draw_epsilon(users.kind, users.form, users.table, uniform)
    if epsilon < users.eps_min:
        return False, 1.0
    return True, noise_of(game.form.release, epsilon)


@inlined
def value(game: Problem, arm: int, u_reward: float, u_noise: float, noise: float, state: np.ndarray, row: int) -> float:
    """What is added to the arm's sum by the response of a user with this ``noise``.

    A bit counts as +-noise or, if all users have the same, as +-1: then sums are whole numbers, and arms with the same
    record have exactly the same index.
    """
    index, rewards = game.form, game.rewards
    if index.release == BITS:
        unit = 1.0 if game.one_budget else noise
        return unit if u_reward < chance_of_one(rewards.means[arm], 1.0 / noise) else -unit
    reward = draw_reward(rewards.table, rewards.values, arm, u_reward, state, row)
    if index.squash:
        reward = sigmoid(reward)
    if index.release == LAPLACE:
        reward += laplace_noise(u_noise, noise)
    return reward


@allocating
def _game(rewards: Rewards, users: Users, index: Index) -> Problem:
    one_budget = users.kind == FIXED
    noise, group_noises = noise_of(index.release, users.form[0]), np.empty(users.table.shape[0])
    for group in range(users.table.shape[0]):
        group_noises[group] = noise_of(index.release, users.table[group, 1])
    shift, stretch = 0.0, 1.0
    if index.release == BITS:
        shift, stretch = 0.5, 0.5 * noise if one_budget else 0.5
    return Problem(rewards, users, index, one_budget, noise, group_noises, shift, stretch)


class Lanes(NamedTuple):
    """What the arms of every lane have given so far, in cells arm x lanes + lane; ``least`` (lanes,)."""

    stands_for: np.ndarray  # the arm behind each label
    means: np.ndarray
    widths: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    spreads: np.ndarray
    pulled: np.ndarray
    least: np.ndarray  # smallest spread over the arms, for the forced pulls


@allocating
def _lanes(state: np.ndarray, arms: int, one_budget: bool) -> Lanes:
    lanes = state.shape[0]
    order = np.empty(arms, np.int64)
    stands_for = np.empty(arms * lanes, np.uint64)
    for lane in range(lanes):
        draw_labels(state, lane, order)
        for label in range(arms):
            stands_for[label * lanes + lane] = order[label]
    cells = arms * lanes
    counts = np.zeros(cells)
    pulled = counts if one_budget else np.zeros(cells)  # the same thing when nothing is discarded
    means, widths, sums, spreads = np.full(cells, np.inf), np.zeros(cells), np.zeros(cells), np.zeros(cells)
    return Lanes(stands_for, means, widths, counts, sums, spreads, pulled, np.zeros(lanes))


@inlined
def _choose(means: np.ndarray, widths: np.ndarray, level: float, best: np.ndarray, choice: np.ndarray) -> None:
    """The arm with the largest index in every lane; ``means`` and ``widths`` are (arms, lanes)."""
    arms, lanes = means.shape
    quads = arms // 4 * 4
    for lane in range(lanes):
        best[lane] = -np.inf
        choice[lane] = uint64(0)
    for arm in range(0, quads, 4):  # four arms a pass: the running best stays in registers longer
        m0, w0, m1, w1 = means[arm], widths[arm], means[arm + 1], widths[arm + 1]
        m2, w2, m3, w3 = means[arm + 2], widths[arm + 2], means[arm + 3], widths[arm + 3]
        for lane in range(lanes):
            left, left_arm = index_of(m0[lane], level, w0[lane]), uint64(arm)
            other = index_of(m1[lane], level, w1[lane])
            if other > left:
                left, left_arm = other, uint64(arm + 1)
            right, right_arm = index_of(m2[lane], level, w2[lane]), uint64(arm + 2)
            other = index_of(m3[lane], level, w3[lane])
            if other > right:
                right, right_arm = other, uint64(arm + 3)
            if right > left:
                left, left_arm = right, right_arm
            better = left > best[lane]
            best[lane] = left if better else best[lane]
            choice[lane] = left_arm if better else choice[lane]
    for arm in range(quads, arms):
        m0, w0 = means[arm], widths[arm]
        for lane in range(lanes):
            left = index_of(m0[lane], level, w0[lane])
            better = left > best[lane]
            best[lane] = left if better else best[lane]
            choice[lane] = uint64(arm) if better else choice[lane]


@inlined
def _pull(
    game: Problem, lanes: Lanes, cell: int, lane: int, draws: tuple[float, float, float], state: np.ndarray
) -> None:
    """Pull the arm of a cell and keep the response; ``draws`` are the uniforms of reward, noise and user."""
    noise = game.noise
    if not game.one_budget:
        lanes.pulled[cell] += 1.0
        kept, noise = _user(game, draws[2])
        if not kept:
            return
    count = lanes.counts[cell] + 1.0
    total = lanes.sums[cell] + value(game, lanes.stands_for[cell], draws[0], draws[1], noise, state, lane)
    before = lanes.spreads[cell]
    after = before + noise * noise
    lanes.counts[cell] = count
    lanes.sums[cell] = total
    lanes.spreads[cell] = after
    lanes.means[cell] = game.shift + game.stretch * (total / count)
    lanes.widths[cell] = width(game.form, count, after)
    if game.form.forced > 0.0 and before <= lanes.least[lane]:
        smallest = np.inf
        for other in range(lane, lanes.spreads.shape[0], lanes.least.shape[0]):
            smallest = min(smallest, lanes.spreads[other])
        lanes.least[lane] = smallest


@device_function
def _note_lanes(record: Record, place: int, lanes: Lanes, gaps: np.ndarray) -> None:
    """Note regret and best pulls of every lane at a checkpoint."""
    width = lanes.least.shape[0]
    for lane in range(width):
        lost = 0.0
        good = 0.0
        for cell in range(lane, lanes.pulled.shape[0], width):
            gap = gaps[lanes.stands_for[cell]]
            lost += lanes.pulled[cell] * gap
            if gap == 0.0:
                good += lanes.pulled[cell]
        record.regret[lane, place] = lost
        record.best_pulls[lane, place] = good


@kernel
def vectorised(state: np.ndarray, rewards: Rewards, users: Users, index: Index, record: Record) -> None:
    """Play one trial per row of ``state`` (at most a few dozen), filling the record at the checkpoints."""
    arms, lanes = rewards.table.shape[0], state.shape[0]
    words = state[:, :4].T.copy()
    game = _game(rewards, users, index)
    here = _lanes(state, arms, game.one_budget)
    means, widths = here.means.reshape(arms, lanes), here.widths.reshape(arms, lanes)
    best, choice = np.empty(lanes), np.empty(lanes, np.uint64)
    drawn = np.zeros((3, lanes), np.uint64)  # for the reward, the noise and the user
    place = 0
    for t in range(1, record.checkpoints[-1] + 1):
        fill_words(words, drawn[0])
        if index.release == LAPLACE:
            fill_words(words, drawn[1])
        if not game.one_budget:
            fill_words(words, drawn[2])
        _choose(means, widths, clock(t, index.clock), best, choice)
        floor = index.forced * math.log(t)
        for lane in range(uint64(lanes)):
            arm = choice[lane]
            if index.forced > 0.0 and here.least[lane] <= floor:
                arm = uint64(0)
                while here.spreads[arm * uint64(lanes) + lane] > floor:
                    arm += uint64(1)
            u_reward, u_noise = uniform_of(drawn[0, lane]), uniform_of(drawn[1, lane])
            draws = (u_reward, u_noise, uniform_of(drawn[2, lane]))
            _pull(game, here, arm * uint64(lanes) + lane, lane, draws, state)
        if t == record.checkpoints[place]:
            _note_lanes(record, place, here, rewards.gaps)
            if should_stop(record, place, lanes):
                return
            place += 1
    for cell in range(arms * lanes):
        record.pulls[cell % lanes, here.stands_for[cell]] = here.pulled[cell]


class Tree(NamedTuple):
    """A kinetic tournament over ``means`` and ``widths`` (leaves,); the nodes' arrays begin at node 1, the root."""

    means: np.ndarray
    widths: np.ndarray
    winner: np.ndarray
    due: np.ndarray  # level at which a node must be looked at again
    least: np.ndarray  # smallest spread below a node, for the forced pulls
    stack: np.ndarray


class ArmState(NamedTuple):
    """What every arm has given so far (arms,), and the tree over them."""

    counts: np.ndarray
    sums: np.ndarray
    spreads: np.ndarray
    pulled: np.ndarray
    tree: Tree


@inlined
def _settle(tree: Tree, node: int, level: float) -> None:
    """Recompute one node from its children at the current level: its winner, and when it must be looked at again."""
    means, widths, due = tree.means, tree.widths, tree.due
    left = tree.winner[2 * node]
    right = tree.winner[2 * node + 1]
    left_index = index_of(means[left], level, widths[left])
    right_index = index_of(means[right], level, widths[right])
    ahead = right if right_index > left_index else left
    behind = left if right_index > left_index else right
    tree.winner[node] = ahead
    faster = widths[behind] - widths[ahead]
    # A little early is safe (the node is just compared again), late is not; never earlier than the next step.
    crossing = (means[ahead] - means[behind]) / faster * (1.0 - 1e-7) if faster > 0.0 else np.inf
    same_line = means[left] == means[right] and faster == 0.0
    if not same_line and abs(left_index - right_index) <= 1e-11 * (1.0 + abs(left_index)):
        crossing = 0.0  # so close that rounding decides: compare again at every step, as `vectorised` does
    own_due = max(crossing, level * (1.0 + 1e-15) + 1e-300)
    due[node] = min(own_due, due[2 * node], due[2 * node + 1])


@device_function
def _repair(tree: Tree, level: float) -> None:
    """Bring every node that is due at this level up to date, children first."""
    leaves, due, stack = tree.means.shape[0], tree.due, tree.stack
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
            _settle(tree, node, level)
            top -= 1


@inlined
def _first_below(tree: Tree, floor: float) -> int:
    """Lowest arm whose spread is at most ``floor``; the root says that there is one."""
    leaves = tree.means.shape[0]
    node = 1
    while node < leaves:
        node = 2 * node if tree.least[2 * node] <= floor else 2 * node + 1
    return node - leaves


@inlined
def _bar(game: Problem, arms: ArmState, arm: int, length: int, level: float, end_level: float) -> float:
    """The mean of what was summed above which the leader surely stays ahead for ``length`` pulls."""
    tree = arms.tree
    rival = -np.inf
    node = tree.means.shape[0] + arm
    while node > 1:
        other = tree.winner[node ^ 1]
        rival = max(rival, index_of(tree.means[other], end_level, tree.widths[other]))
        node >>= 1
    count, spread = arms.counts[arm], arms.spreads[arm]
    most = count + length
    if game.one_budget:
        narrowest = width(game.form, most, spread / count * most)
    else:  # whatever spreads are to come
        narrowest = width(game.form, count, spread) * (count / most)
    bar = rival - level * narrowest
    return (bar + 1e-10 * (1.0 + abs(bar)) - game.shift) / game.stretch


@inlined
def _run(game: Problem, arms: ArmState, arm: int, length: int, bar: float, state: np.ndarray, trial: int) -> int:
    """Pull an arm up to ``length`` times while its mean is above the bar; how often it was pulled."""
    count, total, spread = arms.counts[arm], arms.sums[arm], arms.spreads[arm]
    done = 0
    while True:
        u_reward = next_uniform(state, trial, 0)
        u_noise = next_uniform(state, trial, 0) if game.form.release == LAPLACE else 0.0
        noise = game.noise
        kept = True
        if not game.one_budget:
            kept, noise = _user(game, next_uniform(state, trial, 0))
        if kept:
            count += 1.0
            total += value(game, arm, u_reward, u_noise, noise, state, trial)
            spread += noise * noise
        done += 1
        if done >= length or not total > bar * count:
            break
    arms.counts[arm] = count
    arms.sums[arm] = total
    arms.spreads[arm] = spread
    arms.pulled[arm] += done
    return done


@inlined
def _update(game: Problem, arms: ArmState, arm: int, level: float) -> None:
    """Take what an arm has given into the tree."""
    tree, count, spread = arms.tree, arms.counts[arm], arms.spreads[arm]
    tree.means[arm] = game.shift + game.stretch * (arms.sums[arm] / count)
    tree.widths[arm] = width(game.form, count, spread)
    leaf = tree.means.shape[0] + arm
    tree.least[leaf] = spread
    node = leaf >> 1
    while node >= 1:
        _settle(tree, node, level)
        node >>= 1
    if game.form.forced > 0.0:
        node = leaf >> 1
        while node >= 1:
            tree.least[node] = min(tree.least[2 * node], tree.least[2 * node + 1])
            node >>= 1


@inlined
def _play(game: Problem, arms: ArmState, t: int, until: int, window: int, state: np.ndarray, trial: int) -> int:
    """Play the pulls from ``t`` to ``until``; the next window."""
    tree, forced, code = arms.tree, game.form.forced, game.form.clock
    while t <= until:
        level = clock(t, code)
        if tree.due[1] <= level:
            _repair(tree, level)
        arm = tree.winner[1]
        length = min(window, until - t + 1)
        is_forced = forced > 0.0 and tree.least[1] <= forced * math.log(t)
        if is_forced:
            arm = _first_below(tree, forced * math.log(t))
            length = 1
        bar = np.inf
        if length > 1:
            last = t + length - 1
            end_level = clock(last, code)
            if end_level >= tree.due[1] or (forced > 0.0 and tree.least[1] <= forced * math.log(last)):
                length = 1
                window = max(1, window // 2)
            elif arms.counts[arm] > 0.0:
                bar = _bar(game, arms, arm, length, level, end_level)
            else:
                length = 1
        count = arms.counts[arm]
        done = _run(game, arms, arm, length, bar, state, trial)
        t += done
        if not is_forced:
            window = next_window(window, length, done)
        if arms.counts[arm] > count:
            _update(game, arms, arm, clock(t, code))
    return window


@allocating
def _arms(count: int) -> ArmState:
    """So many arms of which nothing is known, and the tree over them."""
    leaves = 2
    while leaves < count:
        leaves *= 2
    winner, due, least = np.zeros(2 * leaves, np.int64), np.full(2 * leaves, np.inf), np.zeros(2 * leaves)
    tree = Tree(np.full(leaves, np.inf), np.zeros(leaves), winner, due, least, np.empty(4 * leaves, np.int64))
    for arm in range(leaves):
        winner[leaves + arm] = arm
        if arm >= count:
            tree.means[arm], least[leaves + arm] = -np.inf, np.inf
    for node in range(leaves - 1, 0, -1):
        _settle(tree, node, 0.0)
        least[node] = min(least[2 * node], least[2 * node + 1])
    each = np.zeros((4, count))
    return ArmState(each[0], each[1], each[2], each[3], tree)


@kernel
def tournament(state: np.ndarray, rewards: Rewards, users: Users, index: Index, record: Record) -> None:
    """The same game as `vectorised`, one trial after the other, with the same arguments and the same result."""
    game = _game(room_for(rewards), users, index)
    play_trials(_arms, _play, game, state, rewards, record)
