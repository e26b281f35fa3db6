"""Jump simulation: many pulls of the leader at once, for index policies at long horizons.

The same game as in `kernels.index`, drawn in another order. Think of every arm as owning a tape of its future
responses. The policy reads tapes from the front; what it does is a function of what it has read. A run is therefore
not changed in distribution when a tape is revealed in pieces, as long as each piece is drawn from its distribution
given everything revealed before, and it does not matter what made us ask for that piece.

A piece of a tape is kept as (length, sufficient statistics): how many users of each budget, how many of their
responses were the larger one of two values, and, behind Laplace noise, the sums of its positive and negative parts
(a Laplace variable is the difference of two exponential ones, so these are gamma variables). Then

1. The leader is proposed for m pulls; m is what its lead over the runner-up should last for.
2. A piece of m pulls is taken from its tape (drawn, if the tape is empty). Order within a piece is uniform given its
   statistics, so nothing is known about it; in the worst order everything that lowers the mean comes first.
3. If even then the leader stays ahead of what any other index can grow to in the meantime, no leader could have
   changed: the whole piece is played at once, and regret inside it is linear.
4. If not, the piece is halved (hypergeometric counts, beta shares of the gamma sums), the second half goes back to the
   front of the tape, and the first half is tried.
5. Short stretches are played pull by pull, from the tape as far as it is known, with one product a pull to see that
   nobody can have passed, as the tournament of `kernels.index` does.

A block may reach beyond the horizon: what lies beyond is just not counted. So a shorter horizon is a prefix.

The number of blocks grows with the changes of leader, roughly with the logarithm of the horizon. Arms whose responses
take more than two values are pulled one by one, which costs little as long as a best arm is not among them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined, kernel, piece
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.curves import note_pulls
from bandit_core.kernels.hypergeometric import hypergeometric, share_of_first
from bandit_core.kernels.index import LAPLACE, clock, value, width
from bandit_core.kernels.labels import arrange, arrange_rows, relabel_arms, room_for
from bandit_core.kernels.records import Index, Rewards
from bandit_core.kernels.streams import gamma, next_uniform

MOST_TAPES = 2000  # arms x groups of users: what the tapes may take in memory
SHORT = 24.0  # shorter pieces cost more than single pulls
CAUTION = 0.8  # share of the lead that a proposed piece is expected to use up
DEEPEST = 128  # pieces on one tape; halving the longest takes forty
LONGEST = 2.0**40  # pulls in one piece: counts stay exact
BETWEEN_LOOKS = 65_536  # pulls one by one, or pieces, between two looks at the signal
USERS, ONES, UP, DOWN = range(4)  # statistics of one group of users in a piece


class Responses(NamedTuple):
    """Responses that may be drawn many at once: ``lows`` or ``highs`` (arms,) times the unit of the user's group.

    ``two_valued`` (arms,) says which arms have such responses, ``chances`` (arms, groups) how probable the larger is.
    """

    two_valued: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    chances: np.ndarray


class Groups(NamedTuple):
    """Groups of users (groups,): their shares, noises as in `kernels.index`, units, and whose responses are used."""

    one_budget: bool  # all users are one group, whose bits count as +-1
    shares: np.ndarray
    noises: np.ndarray
    units: np.ndarray
    kept: np.ndarray


class Sums(NamedTuple):
    """What is summed: as in `kernels.index.Game`, as far as `kernels.index.value` reads it."""

    rewards: Rewards
    form: Index
    one_budget: bool
    simple: bool


@piece
def _draw(fresh, length, shares, chances, noises, kept, release, state, row):  # noqa: PLR0913 (one step, whose parts go on from the same numbers)
    """Statistics of the next ``length`` responses of an arm whose tape is empty, into ``fresh`` (groups, 4)."""
    left = length
    rest = 1.0
    for group in range(shares.shape[0]):
        users = left
        if rest - shares[group] > 1e-15 and group < shares.shape[0] - 1:
            users = binomial(left, min(1.0, shares[group] / rest), state, row)
        left -= users
        rest -= shares[group]
        fresh[group, USERS] = users
        fresh[group, ONES] = 0.0
        fresh[group, UP] = 0.0
        fresh[group, DOWN] = 0.0
        if kept[group] and users > 0.0:
            fresh[group, ONES] = binomial(users, chances[group], state, row)
            if release == LAPLACE:
                fresh[group, UP] = noises[group] * gamma(state, row, users)
                fresh[group, DOWN] = noises[group] * gamma(state, row, users)


@piece
def _split(whole, length, first, part, kept, release, state, row):
    """Move the first ``first`` of the ``length`` responses of ``whole`` to ``part``."""
    wanted = first
    total = length
    for group in range(whole.shape[0]):
        users = whole[group, USERS]
        moved = hypergeometric(users, total - users, wanted, state, row)
        total -= users
        wanted -= moved
        part[group, USERS] = moved
        whole[group, USERS] = users - moved
        ones = 0.0
        up = 0.0
        down = 0.0
        if kept[group] and moved > 0.0:
            ones = hypergeometric(whole[group, ONES], users - whole[group, ONES], moved, state, row)
            if release == LAPLACE:
                up = whole[group, UP] * share_of_first(moved, users - moved, state, row)
                down = whole[group, DOWN] * share_of_first(moved, users - moved, state, row)
        part[group, ONES] = ones
        part[group, UP] = up
        part[group, DOWN] = down
        whole[group, ONES] -= ones
        whole[group, UP] -= up
        whole[group, DOWN] -= down


@inlined
def _drop(part, kept, low, high, units, centre):
    """The most that the responses of a piece, in the worst order, take from a sum of deviations from ``centre``."""
    lost = 0.0
    for group in range(part.shape[0]):
        if kept[group]:
            ones = part[group, ONES]
            lost += (part[group, USERS] - ones) * max(0.0, centre - low * units[group])
            lost += ones * max(0.0, centre - high * units[group]) + part[group, DOWN]
    return lost


@inlined
def _take_one(piece_of, group, low, high, unit, release, state, row):
    """Take one response of a user of ``group`` out of a piece of tape; the caller counts the user."""
    users = piece_of[group, USERS]
    value = low * unit
    if next_uniform(state, row, 4) * users < piece_of[group, ONES]:
        piece_of[group, ONES] -= 1.0
        value = high * unit
    if release == LAPLACE:
        up = piece_of[group, UP] * share_of_first(1.0, users - 1.0, state, row)
        down = piece_of[group, DOWN] * share_of_first(1.0, users - 1.0, state, row)
        piece_of[group, UP] -= up
        piece_of[group, DOWN] -= down
        value += up - down
    return value


@kernel
def jump(state, rewards, index, responses, users, affine, record):  # noqa: C901, PLR0912, PLR0915 (one step, whose parts go on from the same numbers)
    """Play one trial per row of ``state``, filling the record at the checkpoints.

    ``responses`` and ``users`` are `Responses` and `Groups`; ``affine`` is the shift and stretch of
    `kernels.index.Game`. Long, because a step goes on from some fifteen numbers that all parts of it change.
    """
    checkpoints, regret, best_pulls, _, _, signal = record
    release, clock_code, forced = index.release, index.clock, index.forced
    shares, noises, units, kept = users.shares, users.noises, users.units, users.kept
    shift, stretch = affine
    arms = rewards.table.shape[0]
    groups = shares.shape[0]
    horizon = checkpoints[-1]
    tapes = np.empty((arms, DEEPEST, groups, 4))
    lengths = np.empty((arms, DEEPEST))
    depth = np.empty(arms, np.int64)
    part = np.empty((groups, 4))
    means = np.empty(arms)
    widths = np.empty(arms)
    counts = np.empty(arms)
    sums = np.empty(arms)
    spreads = np.empty(arms)
    pulled = np.empty(arms)
    kept_share = 0.0
    for group in range(groups):
        if kept[group]:
            kept_share += shares[group]
    simple = not index.squash
    for arm in range(arms):
        simple &= responses.two_valued[arm]
    order = np.empty(arms, np.int64)
    here = room_for(rewards)
    sums_of = Sums(here, index, users.one_budget, simple)
    two_valued_here = np.empty_like(responses.two_valued)
    lows_here = np.empty_like(responses.lows)
    highs_here = np.empty_like(responses.highs)
    chances_here = np.empty_like(responses.chances)
    for trial in range(state.shape[0]):
        relabel_arms(state, trial, rewards, order, here)
        arrange(order, responses.two_valued, two_valued_here)
        arrange(order, responses.lows, lows_here)
        arrange(order, responses.highs, highs_here)
        arrange_rows(order, responses.chances, chances_here)
        means[:] = np.inf
        widths[:] = 0.0
        counts[:] = 0.0
        sums[:] = 0.0
        spreads[:] = 0.0
        pulled[:] = 0.0
        depth[:] = 0
        least = 0.0
        t = 1
        next_checkpoint = 0
        window = 1.0
        until_look = BETWEEN_LOOKS
        while t <= horizon:
            until_look -= 1
            if until_look <= 0:
                until_look = BETWEEN_LOOKS
                if signal[0] != 0:
                    return
            log_t = math.log(t)
            level = clock(t, clock_code)
            leader = 0
            ahead = -np.inf
            second = -np.inf
            widest = 0.0
            for arm in range(arms):
                now = means[arm] + level * widths[arm]
                widest = max(widest, widths[arm])
                if now > ahead:
                    second = ahead
                    ahead = now
                    leader = arm
                elif now > second:
                    second = now
            must = forced > 0.0 and least <= forced * log_t
            if must:
                leader = 0
                while spreads[leader] > forced * log_t:
                    leader += 1
            lasting = LONGEST  # pulls until some arm may have to be pulled by force
            if forced > 0.0:
                lasting = min(lasting, math.floor(math.exp(min(least / forced, 100.0)) * (1.0 - 1e-9)) - t - 1.0)
            count = counts[leader]
            length = 1.0
            if not must and two_valued_here[leader] and count > 0.0 and ahead < np.inf:
                centre = sums[leader] / count
                fall = 0.0  # of the sum's deviations, expected per pull in the worst order
                for group in range(groups):
                    if kept[group]:
                        chance = chances_here[leader, group]
                        each = (1.0 - chance) * max(0.0, centre - lows_here[leader] * units[group])
                        each += chance * max(0.0, centre - highs_here[leader] * units[group])
                        fall += shares[group] * (each + (noises[group] if release == LAPLACE else 0.0))
                pace = stretch * fall / count + kept_share * level * widths[leader] * 0.5 / count
                pace += widest / (t * max(level, 0.5))  # twice how fast other indices grow: enough for both clocks
                length = math.floor(min(CAUTION * (ahead - second) / pace, LONGEST))
                length = min(length, lasting)
            done = 0.0
            spread = spreads[leader]
            if length >= SHORT and depth[leader] <= DEEPEST // 2:
                if depth[leader] == 0:
                    _draw(part, length, shares, chances_here[leader], noises, kept, release, state, trial)
                else:
                    top = depth[leader] - 1
                    if lengths[leader, top] <= length:
                        length = lengths[leader, top]
                        part[:] = tapes[leader, top]
                        depth[leader] = top
                    else:
                        _split(tapes[leader, top], lengths[leader, top], length, part, kept, release, state, trial)
                        lengths[leader, top] -= length
                centre = sums[leader] / count
                while True:
                    end_level = clock(t + length, clock_code)
                    rival = second + (end_level - level) * widest
                    joined = 0.0
                    for group in range(groups):
                        if kept[group]:
                            joined += part[group, USERS]
                    most = count + joined
                    if groups == 1:
                        narrowest = width(index, most, spread / count * most)
                    else:
                        narrowest = width(index, count, spread) * (count / most)
                    lost = _drop(part, kept, lows_here[leader], highs_here[leader], units, centre)
                    worst = shift + stretch * (centre - lost / count) + level * narrowest
                    if worst - rival > 1e-10 * (1.0 + abs(worst)):  # also where nobody is the rival
                        done = length
                        break
                    top = depth[leader]
                    tapes[leader, top] = part
                    lengths[leader, top] = length
                    depth[leader] = top + 1
                    if length < 2.0 * SHORT:
                        break
                    length = math.floor(0.5 * length)
                    _split(tapes[leader, top], lengths[leader, top], length, part, kept, release, state, trial)
                    lengths[leader, top] -= length
                if done > 0.0:
                    for group in range(groups):
                        if kept[group]:
                            users = part[group, USERS]
                            ones = part[group, ONES]
                            gained = ones * highs_here[leader] + (users - ones) * lows_here[leader]
                            count += users
                            sums[leader] += gained * units[group] + part[group, UP] - part[group, DOWN]
                            spreads[leader] += users * noises[group] * noises[group]
                    pulled[leader] += done
            if done == 0.0:  # one by one, with one product a pull to see that the leader is still ahead
                longest = 1.0 if must or count == 0.0 or ahead == np.inf else window
                if forced > 0.0 and longest > 1.0:
                    longest = min(longest, max(1.0, lasting))
                bar = np.inf
                if longest > 1.0:
                    end_level = clock(t + longest, clock_code)
                    rival = second + (end_level - level) * widest
                    most = count + longest
                    if groups == 1:
                        narrowest = width(index, most, spreads[leader] / count * most)
                    else:
                        narrowest = width(index, count, spreads[leader]) * (count / most)
                    bar = rival - level * narrowest
                    bar = (bar + 1e-10 * (1.0 + abs(bar)) - shift) / stretch
                total = sums[leader]
                spread_sum = spread
                top = depth[leader] - 1
                while True:
                    group = 0
                    gained = 0.0
                    if top < 0:
                        if groups > 1:
                            u = next_uniform(state, trial, 4)
                            below = shares[0]
                            while u >= below and group < groups - 1:
                                group += 1
                                below += shares[group]
                        if kept[group]:
                            u_reward = next_uniform(state, trial, 4)
                            u_noise = next_uniform(state, trial, 4) if release == LAPLACE else 0.0
                            gained = value(sums_of, leader, u_reward, u_noise, noises[group], state, trial)
                    else:
                        piece_of = tapes[leader, top]
                        if groups > 1:
                            u = next_uniform(state, trial, 4) * lengths[leader, top]
                            below = piece_of[0, USERS]
                            while u >= below and group < groups - 1:
                                group += 1
                                below += piece_of[group, USERS]
                        if kept[group]:
                            gained = _take_one(
                                piece_of, group, lows_here[leader], highs_here[leader], units[group], release,
                                state, trial,
                            )  # fmt: skip
                        piece_of[group, USERS] -= 1.0
                        lengths[leader, top] -= 1.0
                        if lengths[leader, top] < 0.5:
                            top -= 1
                    if kept[group]:
                        count += 1.0
                        total += gained
                        spread_sum += noises[group] * noises[group]
                    done += 1.0
                    if done >= longest or not total > bar * count:
                        break
                depth[leader] = top + 1
                sums[leader] = total
                spreads[leader] = spread_sum
                pulled[leader] += done
                if not must:
                    window = min(2.0 * window, BETWEEN_LOOKS) if done == window else max(1.0, done)
                until_look -= int(done)
            if count > counts[leader]:
                counts[leader] = count
                means[leader] = shift + stretch * (sums[leader] / count)
                widths[leader] = width(index, count, spreads[leader])
                if forced > 0.0 and spread <= least:
                    least = np.inf
                    for arm in range(arms):
                        least = min(least, spreads[arm])
            t += int(done)
            while next_checkpoint < checkpoints.shape[0] and checkpoints[next_checkpoint] < t:
                beyond = t - 1.0 - checkpoints[next_checkpoint]
                lost = -beyond * here.gaps[leader]
                good = -beyond if here.gaps[leader] == 0.0 else 0.0
                for arm in range(arms):
                    lost += pulled[arm] * here.gaps[arm]
                    if here.gaps[arm] == 0.0:
                        good += pulled[arm]
                regret[trial, next_checkpoint] = lost
                best_pulls[trial, next_checkpoint] = good
                signal[1] += checkpoints[next_checkpoint] - (checkpoints[next_checkpoint - 1] if next_checkpoint else 0)
                next_checkpoint += 1
                if signal[0] != 0:
                    return
        note_pulls(record, trial, order, pulled)
        record.pulls[trial, order[leader]] -= t - 1.0 - horizon
