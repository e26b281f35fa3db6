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
   no one can have passed, as the tournament of `kernels.index` does.

A block may reach beyond the horizon: what lies beyond is just not counted. So a shorter horizon is a prefix.

The number of blocks grows with the changes of leader, roughly with the logarithm of the horizon. Arms whose responses
take more than two values are pulled one by one, which costs little as long as a best arm is not among them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import int64

from bandit_core.jit.decorators import allocating, device_function, inlined, kernel
from bandit_core.kernels.binomial import binomial
from bandit_core.kernels.hypergeometric import hypergeometric, share_of_first
from bandit_core.kernels.index import LAPLACE, clock, narrowest, safe_mean, value, width
from bandit_core.kernels.labels import arrange, arrange_rows, relabel_arms, room_for
from bandit_core.kernels.records import Index, Rewards
from bandit_core.kernels.streams import gamma, next_uniform
from bandit_core.kernels.trial_loop import STOPPED, should_stop, write_checkpoint, write_pulls
from bandit_core.model import Record

MAX_TAPES = 2000  # arms x groups of users: what the tapes may take in memory
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


class Problem(NamedTuple):
    """What a trial is played with, arms by the labels; has what `kernels.index.value` reads of its own `Problem`."""

    rewards: Rewards
    form: Index
    responses: Responses
    groups: Groups
    one_budget: bool
    simple: bool
    kept_share: float  # of the users
    shift: float
    stretch: float


class ArmState(NamedTuple):
    """What every arm has given so far, and its index (arms,)."""

    counts: np.ndarray
    sums: np.ndarray
    spreads: np.ndarray
    pulled: np.ndarray
    means: np.ndarray
    widths: np.ndarray


class Tapes(NamedTuple):
    """Every arm's tape: ``pieces`` (arms, DEEPEST, groups, 4) of ``lengths`` (arms, DEEPEST), the next one last.

    ``depth`` (arms,) counts the pieces; ``part`` (groups, 4) is the piece that is tried; ``kept`` (groups,) says whose
    responses are used, ``noisy`` whether they have Laplace noise.
    """

    pieces: np.ndarray
    lengths: np.ndarray
    depth: np.ndarray
    part: np.ndarray
    kept: np.ndarray
    noisy: bool


class Lead(NamedTuple):
    """Who leads at step ``t``, and by how much."""

    t: int
    arm: int
    level: float  # of the clock
    ahead: float  # its index
    second: float  # index of the runner-up
    widest: float  # largest width of all arms
    forced: bool  # it does not lead, but too little is known of it
    lasting: float  # pulls until some arm may have to be pulled by force


@inlined
def _draw(game: Problem, arm: int, length: float, fresh: np.ndarray, state: np.ndarray, row: int) -> None:
    """Statistics of the next ``length`` responses of an arm whose tape is empty, into ``fresh`` (groups, 4)."""
    groups = game.groups
    shares, noises = groups.shares, groups.noises
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
        if groups.kept[group] and users > 0.0:
            fresh[group, ONES] = binomial(users, game.responses.chances[arm, group], state, row)
            if game.form.release == LAPLACE:
                fresh[group, UP] = noises[group] * gamma(state, row, users)
                fresh[group, DOWN] = noises[group] * gamma(state, row, users)


@device_function
def _split(tapes: Tapes, arm: int, top: int, first: float, state: np.ndarray, row: int) -> None:
    """Move the first ``first`` responses of a piece of tape to ``tapes.part``."""
    whole, part = tapes.pieces[arm, top], tapes.part
    wanted = first
    total = tapes.lengths[arm, top]
    tapes.lengths[arm, top] -= first
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
        if tapes.kept[group] and moved > 0.0:
            ones = hypergeometric(whole[group, ONES], users - whole[group, ONES], moved, state, row)
            if tapes.noisy:
                up = whole[group, UP] * share_of_first(moved, users - moved, state, row)
                down = whole[group, DOWN] * share_of_first(moved, users - moved, state, row)
        part[group, ONES] = ones
        part[group, UP] = up
        part[group, DOWN] = down
        whole[group, ONES] -= ones
        whole[group, UP] -= up
        whole[group, DOWN] -= down


@inlined
def _copy(given: np.ndarray, taken: np.ndarray) -> None:
    """Copy a piece of tape (groups, 4)."""
    for group in range(given.shape[0]):
        for number in range(given.shape[1]):
            taken[group, number] = given[group, number]


@inlined
def _next_piece(game: Problem, tapes: Tapes, arm: int, length: float, state: np.ndarray, row: int) -> float:
    """Take at most ``length`` responses from the front of an arm's tape into ``tapes.part``; how many they are."""
    top = tapes.depth[arm] - 1
    if top < 0:
        _draw(game, arm, length, tapes.part, state, row)
    elif tapes.lengths[arm, top] <= length:
        length = tapes.lengths[arm, top]
        _copy(tapes.pieces[arm, top], tapes.part)
        tapes.depth[arm] = top
    else:
        _split(tapes, arm, top, length, state, row)
    return length


@inlined
def _put_back(tapes: Tapes, arm: int, length: float) -> int:
    """Put the piece that was tried back to the front of the arm's tape; its place."""
    top = tapes.depth[arm]
    _copy(tapes.part, tapes.pieces[arm, top])
    tapes.lengths[arm, top] = length
    tapes.depth[arm] = top + 1
    return top


@inlined
def _lead(game: Problem, arms: ArmState, least: float, t: int) -> Lead:
    """Who is pulled at step ``t``; ``least`` is the smallest spread of all arms."""
    forced = game.form.forced
    level = clock(t, game.form.clock)
    leader = 0
    ahead = -np.inf
    second = -np.inf
    widest = 0.0
    for arm in range(arms.means.shape[0]):
        now = arms.means[arm] + level * arms.widths[arm]
        widest = max(widest, arms.widths[arm])
        if now > ahead:
            second = ahead
            ahead = now
            leader = arm
        elif now > second:
            second = now
    must = False
    lasting = LONGEST
    if forced > 0.0:
        floor = forced * math.log(t)
        must = least <= floor
        if must:
            leader = 0
            while arms.spreads[leader] > floor:
                leader += 1
        lasting = min(lasting, math.floor(math.exp(min(least / forced, 100.0)) * (1.0 - 1e-9)) - t - 1.0)
    return Lead(t, leader, level, ahead, second, widest, must, lasting)


@inlined
def _rival(game: Problem, lead: Lead, length: float) -> float:
    """No other arm's index grows beyond this in the next ``length`` steps."""
    return lead.second + (clock(lead.t + length, game.form.clock) - lead.level) * lead.widest


@inlined
def _narrowest(game: Problem, arms: ArmState, lead: Lead, most: float) -> float:
    """The least width of the leader while its responses grow to ``most``."""
    one_group = game.groups.shares.shape[0] == 1
    return narrowest(game.form, one_group, arms.counts[lead.arm], arms.spreads[lead.arm], most)


@inlined
def _proposed(game: Problem, arms: ArmState, lead: Lead) -> float:
    """How many pulls the leader's lead should last for; 1 where it is not to be pulled many times at once."""
    arm, groups, responses = lead.arm, game.groups, game.responses
    count = arms.counts[arm]
    if lead.forced or not responses.two_valued[arm] or count == 0.0 or lead.ahead == np.inf:
        return 1.0
    centre = arms.sums[arm] / count
    fall = 0.0  # of the sum's deviations, expected per pull in the worst order
    for group in range(groups.shares.shape[0]):
        if groups.kept[group]:
            chance = responses.chances[arm, group]
            each = (1.0 - chance) * max(0.0, centre - responses.lows[arm] * groups.units[group])
            each += chance * max(0.0, centre - responses.highs[arm] * groups.units[group])
            fall += groups.shares[group] * (each + (groups.noises[group] if game.form.release == LAPLACE else 0.0))
    pace = game.stretch * fall / count + game.kept_share * lead.level * arms.widths[arm] * 0.5 / count
    pace += lead.widest / (lead.t * max(lead.level, 0.5))  # twice how fast other indices grow: enough for both clocks
    return min(math.floor(min(CAUTION * (lead.ahead - lead.second) / pace, LONGEST)), lead.lasting)


@inlined
def _drop(game: Problem, part: np.ndarray, arm: int, centre: float) -> float:
    """The most that the responses of a piece, in the worst order, take from a sum of deviations from ``centre``."""
    groups, low, high = game.groups, game.responses.lows[arm], game.responses.highs[arm]
    lost = 0.0
    for group in range(part.shape[0]):
        if groups.kept[group]:
            ones = part[group, ONES]
            lost += (part[group, USERS] - ones) * max(0.0, centre - low * groups.units[group])
            lost += ones * max(0.0, centre - high * groups.units[group]) + part[group, DOWN]
    return lost


@inlined
def _stays_ahead(game: Problem, arms: ArmState, part: np.ndarray, lead: Lead, length: float) -> bool:
    """Whether the leader surely leads all through the piece of ``length`` responses, in whatever order they come."""
    count = arms.counts[lead.arm]
    centre = arms.sums[lead.arm] / count
    joined = 0.0
    for group in range(part.shape[0]):
        if game.groups.kept[group]:
            joined += part[group, USERS]
    lowest = game.shift + game.stretch * (centre - _drop(game, part, lead.arm, centre) / count)
    worst = lowest + lead.level * _narrowest(game, arms, lead, count + joined)
    return worst - _rival(game, lead, length) > 1e-10 * (1.0 + abs(worst))  # also where no one is the rival


@inlined
def _take(game: Problem, arms: ArmState, part: np.ndarray, arm: int) -> None:
    """Take the responses of a piece into what the arm has given."""
    groups, low, high = game.groups, game.responses.lows[arm], game.responses.highs[arm]
    for group in range(part.shape[0]):
        if groups.kept[group]:
            users, ones = part[group, USERS], part[group, ONES]
            gained = ones * high + (users - ones) * low
            arms.counts[arm] += users
            arms.sums[arm] += gained * groups.units[group] + part[group, UP] - part[group, DOWN]
            arms.spreads[arm] += users * groups.noises[group] * groups.noises[group]


@inlined
def _pull_many(game: Problem, arms: ArmState, tapes: Tapes, lead: Lead, state: np.ndarray, row: int) -> float:
    """Pull the leader many times at once, where that is sure to change no leader; how often it was pulled."""
    length = _proposed(game, arms, lead)
    if not (length >= SHORT and tapes.depth[lead.arm] <= DEEPEST // 2):
        return 0.0
    length = _next_piece(game, tapes, lead.arm, length, state, row)
    while not _stays_ahead(game, arms, tapes.part, lead, length):
        top = _put_back(tapes, lead.arm, length)
        if length < 2.0 * SHORT:
            return 0.0
        length = math.floor(0.5 * length)
        _split(tapes, lead.arm, top, length, state, row)
    _take(game, arms, tapes.part, lead.arm)
    return length


@inlined
def _group_of(amounts: np.ndarray, below: float) -> int:
    """The group in which the running sum of ``amounts`` (groups,) passes ``below``."""
    group = 0
    total = amounts[0]
    while below >= total and group < amounts.shape[0] - 1:
        group += 1
        total += amounts[group]
    return group


@inlined
def _fresh_response(game: Problem, arm: int, state: np.ndarray, row: int) -> tuple[int, float]:
    """Group and response of the next user of an arm whose tape is empty; 0 where it is not kept."""
    groups = game.groups
    group = _group_of(groups.shares, next_uniform(state, row, 4)) if groups.shares.shape[0] > 1 else 0
    if not groups.kept[group]:
        return group, 0.0
    u_reward = next_uniform(state, row, 4)
    u_noise = next_uniform(state, row, 4) if game.form.release == LAPLACE else 0.0
    return group, value(game, arm, u_reward, u_noise, groups.noises[group], state, row)


@inlined
def _taped_response(game: Problem, tapes: Tapes, arm: int, top: int, state: np.ndarray, row: int) -> tuple[int, float]:
    """Group and response of a user taken out of a piece of tape; 0 where it is not kept."""
    held, groups = tapes.pieces[arm, top], game.groups
    group = 0
    if held.shape[0] > 1:
        group = _group_of(held[:, USERS], next_uniform(state, row, 4) * tapes.lengths[arm, top])
    gained = 0.0
    if groups.kept[group]:
        users = held[group, USERS]
        gained = game.responses.lows[arm] * groups.units[group]
        if next_uniform(state, row, 4) * users < held[group, ONES]:
            held[group, ONES] -= 1.0
            gained = game.responses.highs[arm] * groups.units[group]
        if game.form.release == LAPLACE:
            up = held[group, UP] * share_of_first(1.0, users - 1.0, state, row)
            down = held[group, DOWN] * share_of_first(1.0, users - 1.0, state, row)
            held[group, UP] -= up
            held[group, DOWN] -= down
            gained += up - down
    held[group, USERS] -= 1.0
    tapes.lengths[arm, top] -= 1.0
    return group, gained


@inlined
def _pull_singly(
    game: Problem, arms: ArmState, tapes: Tapes, lead: Lead, window: float, state: np.ndarray, row: int
) -> float:
    """Pull the leader, at most ``window`` times while one product a pull shows it ahead; how often it was pulled."""
    arm, kept, noises = lead.arm, game.groups.kept, game.groups.noises
    count, total, spread = arms.counts[arm], arms.sums[arm], arms.spreads[arm]
    longest = 1.0 if lead.forced or count == 0.0 or lead.ahead == np.inf else window
    if game.form.forced > 0.0 and longest > 1.0:
        longest = min(longest, max(1.0, lead.lasting))
    bar = np.inf
    if longest > 1.0:
        width = _narrowest(game, arms, lead, count + longest)
        bar = safe_mean(game, _rival(game, lead, longest) - lead.level * width)
    top = tapes.depth[arm] - 1
    done = 0.0
    while True:
        if top < 0:
            group, gained = _fresh_response(game, arm, state, row)
        else:
            group, gained = _taped_response(game, tapes, arm, top, state, row)
            if tapes.lengths[arm, top] < 0.5:
                top -= 1
        if kept[group]:
            count += 1.0
            total += gained
            spread += noises[group] * noises[group]
        done += 1.0
        if done >= longest or not total > bar * count:
            break
    tapes.depth[arm] = top + 1
    arms.counts[arm], arms.sums[arm], arms.spreads[arm] = count, total, spread
    return done


@inlined
def _update(game: Problem, arms: ArmState, arm: int) -> None:
    """The index of an arm from what it has given."""
    count = arms.counts[arm]
    arms.means[arm] = game.shift + game.stretch * (arms.sums[arm] / count)
    arms.widths[arm] = width(game.form, count, arms.spreads[arm])


@inlined
def _note_passed(record: Record, trial: int, place: int, game: Problem, pulled: np.ndarray, arm: int, t: float) -> int:
    """Fill the checkpoints before step ``t``, up to which ``arm`` was pulled; place of the next one, or STOPPED."""
    gap = game.rewards.gaps[arm]
    while place < record.checkpoints.shape[0] and record.checkpoints[place] < t:
        beyond = t - 1.0 - record.checkpoints[place]
        write_checkpoint(record, trial, place, pulled, game.rewards.gaps, -beyond * gap, -beyond if gap == 0.0 else 0.0)
        if should_stop(record, place, 1):
            return STOPPED
        place += 1
    return place


@device_function
def _play(game: Problem, arms: ArmState, tapes: Tapes, state: np.ndarray, trial: int, record: Record) -> bool:
    """Play one trial; whether it came to its end."""
    horizon = record.checkpoints[-1]
    least = 0.0
    window = 1.0
    until_look = BETWEEN_LOOKS
    place = int64(0)
    t = int64(1)  # a literal would compile all pieces twice
    while t <= horizon:
        until_look -= 1
        if until_look <= 0:
            until_look = BETWEEN_LOOKS
            if record.signal[0] != 0:
                return False
        lead = _lead(game, arms, least, t)
        arm = lead.arm
        count, spread = arms.counts[arm], arms.spreads[arm]
        done = _pull_many(game, arms, tapes, lead, state, trial)
        if done == 0.0:
            done = _pull_singly(game, arms, tapes, lead, window, state, trial)
            if not lead.forced:
                window = min(2.0 * window, BETWEEN_LOOKS) if done == window else max(1.0, done)
            until_look -= int(done)
        arms.pulled[arm] += done
        if arms.counts[arm] > count:
            _update(game, arms, arm)
            if game.form.forced > 0.0 and spread <= least:
                least = np.inf
                for other in range(arms.spreads.shape[0]):
                    least = min(least, arms.spreads[other])
        t += int(done)
        place = _note_passed(record, trial, place, game, arms.pulled, arm, t)
        if place == STOPPED:
            return False
    arms.pulled[arm] -= t - 1.0 - horizon
    return True


@allocating
def _room(
    rewards: Rewards, index: Index, given: Responses, groups: Groups, affine: tuple[float, float]
) -> tuple[Problem, ArmState, Tapes]:
    """A game to be filled by the labels, arms, and tapes."""
    arms, size = rewards.table.shape[0], groups.shares.shape[0]
    kept_share = 0.0
    for group in range(size):
        if groups.kept[group]:
            kept_share += groups.shares[group]
    responses = Responses(
        np.empty_like(given.two_valued), np.empty_like(given.lows), np.empty_like(given.highs),
        np.empty_like(given.chances),
    )  # fmt: skip
    simple = not index.squash and bool(np.all(given.two_valued))
    game = Problem(room_for(rewards), index, responses, groups, groups.one_budget, simple, kept_share, *affine)
    tapes = Tapes(
        np.empty((arms, DEEPEST, size, 4)), np.empty((arms, DEEPEST)), np.empty(arms, np.int64), np.empty((size, 4)),
        groups.kept, index.release == LAPLACE,
    )  # fmt: skip
    known = ArmState(np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms), np.empty(arms))
    return game, known, tapes


@device_function
def _begin(game: Problem, given: Responses, order: np.ndarray, arms: ArmState, tapes: Tapes) -> None:
    """Take the responses in the order of the labels; nothing is known of any arm."""
    here = game.responses
    arrange(order, given.two_valued, here.two_valued)
    arrange(order, given.lows, here.lows)
    arrange(order, given.highs, here.highs)
    arrange_rows(order, given.chances, here.chances)
    for arm in range(order.shape[0]):
        arms.counts[arm] = 0.0
        arms.sums[arm] = 0.0
        arms.spreads[arm] = 0.0
        arms.pulled[arm] = 0.0
        arms.means[arm] = np.inf
        arms.widths[arm] = 0.0
        tapes.depth[arm] = 0


@kernel
def jump(
    state: np.ndarray,
    rewards: Rewards,
    index: Index,
    responses: Responses,
    groups: Groups,
    affine: tuple[float, float],
    record: Record,
) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints.

    ``affine`` is the shift and stretch of `kernels.index.Problem`.
    """
    game, arms, tapes = _room(rewards, index, responses, groups, affine)
    order = np.empty(rewards.table.shape[0], np.int64)
    for trial in range(state.shape[0]):
        relabel_arms(state, trial, rewards, order, game.rewards)
        _begin(game, responses, order, arms, tapes)
        if not _play(game, arms, tapes, state, trial, record):
            return
        write_pulls(record, trial, order, arms.pulled)
