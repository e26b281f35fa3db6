"""Thompson sampling with beta posteriors, plain and behind randomised response (TS-CF); most draws are never made.

At every step each arm draws theta ~ Beta(1 + ones, 1 + zeros) and the arm with the largest theta is pulled. A response
is one bit, which takes one uniform of the stream's first generator a step; its chance of being 1 is all that a
simulation needs. The rule of `policies.thompson` makes every draw; here the law is the same, and the draws are others.

A draw decides something only if it is the largest, and nearly all of them lie far below the leader's. So a bar is put
below the leader's posterior, and each *settled* arm has a chance c that its draw *may* be on the wrong side of the bar
(below it for the leader, above it for the others), more than that it is. As long as all arms are settled, and none is
on the wrong side, the leader is pulled, whatever the draws are. One uniform tells whether any may be: none may with the
product of the 1 - c. Only of an arm that may is it decided whether it is, and where.

This is exact because the density f of a posterior is log-concave (both parameters a, b are at least 1). Take a bar m
above the mean, and above the mode. There the logarithm of f falls with the slope -rate, so beyond m the density lies
below g(y) = f(m) exp(-rate (y - m)), whose mass is f(m) / rate. If this mass is at most c, one that may be beyond
draws, with probability mass / c, a point y from g / mass, and keeps it with probability f(y) / g(y), 0 outside of
[0, 1]. Points that are kept have the density f beyond the bar, and none is kept with the probability of the other side:
as a draw from f would have it.

A chance stays above the mass for some answers of the kind that brings the posterior closer to the bar (a 1, for a bar
above): it is the mass with that many more. Whatever came in their place, the mass is smaller. With one 1 less, f(m) is
multiplied by (a - 1) / (m (a + b - 1)), which is the mean without that answer over m; with one 0 more by
(1 - m) (a + b) / b, and m is above a / (a + b); both are at most 1, and both answers raise the rate. The bar of the
leader is the same with ones and zeros exchanged.

Arms that are not settled (few pulls, or close to the best) draw as they are defined, and where they are many all arms
do, which vector units make cheap (`normal_blocks`).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from bandit_core.jit.decorators import allocating, device_function, inlined, kernel
from bandit_core.kernels.normal_blocks import Draws, draw_beta, fit, largest_draw, room_for_draws, seed_draws
from bandit_core.kernels.play import Rewards, play_trials, room_for
from bandit_core.kernels.streams import HALF_UNIT, next_uniform
from bandit_core.model import Record

MOST = 0.25  # the largest chance of a settled arm; beyond it a draw is as cheap
MANY = 3  # one unsettled arm of so many: all draw
SPREADS = 3.0  # standard deviations from the leader's mean to the bar
GROWTH = 1.06  # of the leader's pulls until all arms are looked at again
ROUNDING = 1.0 + 1e-9  # logarithms of densities are right to a far smaller part
UNSETTLED = -1.0  # in place of the answers that an arm can still be given


class Problem(NamedTuple):
    """The arms by the labels; their means are the chances of a 1."""

    rewards: Rewards


class ArmState(NamedTuple):
    """What every arm has given so far, and what is known of its draws (arms,)."""

    ones: np.ndarray
    pulled: np.ndarray
    chances: np.ndarray  # that a settled arm may be on the wrong side of the bar; 0 if it is not settled
    spare: np.ndarray  # answers towards the bar that a settled arm can still be given
    beyond: np.ndarray  # where those lie that are on the wrong side of the bar, NaN: they are not
    bar: np.ndarray  # (2,) the bar, 0: there is none; and the chance that no settled arm may be beyond it
    lead: np.ndarray  # (3,) the leader, after how many pulls of it to look at all again, and how many are unsettled
    draws: Draws


@inlined
def _rate(a: float, b: float, bar: float) -> float:
    """How fast the logarithm of the density of Beta(a, b) falls at the bar."""
    return (b - 1.0) / (1.0 - bar) - (a - 1.0) / bar


@device_function
def mass_beyond(a: float, b: float, bar: float) -> float:
    """Mass of the exponential that lies above the density of Beta(a, b) beyond a bar above its mean; else infinite."""
    rate = _rate(a, b, bar)
    if rate <= 0.0 or bar * (a + b) < a:
        return math.inf
    whole = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(whole + (a - 1.0) * math.log(bar) + (b - 1.0) * math.log(1.0 - bar)) / rate


@device_function
def point_beyond(state: np.ndarray, trial: int, a: float, b: float, bar: float, chance: float) -> float:
    """Where Beta(a, b), which may lie above the bar with this chance, does; NaN if it does not."""
    if next_uniform(state, trial, 4) * chance >= mass_beyond(a, b, bar):
        return math.nan
    way = -math.log(next_uniform(state, trial, 4) + HALF_UNIT)
    point = bar + way / _rate(a, b, bar)
    if point >= 1.0:
        return math.nan
    fall = (a - 1.0) * math.log(point / bar) + (b - 1.0) * math.log((1.0 - point) / (1.0 - bar))
    return point if math.log(next_uniform(state, trial, 4) + HALF_UNIT) < fall + way else math.nan


@inlined
def posterior_of(arms: ArmState, arm: int) -> Any:
    """Both parameters of an arm's beta posterior."""
    return 1.0 + arms.ones[arm], 1.0 + arms.pulled[arm] - arms.ones[arm]


@inlined
def _draw(arms: ArmState, arm: int) -> float:
    a, b = posterior_of(arms, arm)
    fit(arms.draws, arm, a, b)
    return draw_beta(arms.draws, arm)


@inlined
def _settle(arms: ArmState, arm: int) -> None:
    """See whether an arm is settled, for about half a standard deviation's more answers towards the bar."""
    a, b = posterior_of(arms, arm)
    bar = arms.bar[0]
    if arm == arms.lead[0]:
        a, b, bar = b, a, 1.0 - bar
    spare = 1.0 + math.floor(0.5 * math.sqrt(a))
    chance = mass_beyond(a + spare, b, bar) * ROUNDING
    arms.spare[arm] = spare if chance <= MOST else UNSETTLED
    arms.chances[arm] = chance if chance <= MOST else 0.0


@device_function
def take_stock(arms: ArmState) -> None:
    """Count who is unsettled, and find the chance that no settled arm may be beyond the bar."""
    arms.bar[1] = 1.0
    arms.lead[2] = 0
    for arm in range(arms.ones.shape[0]):
        arms.bar[1] *= 1.0 - arms.chances[arm]
        arms.lead[2] += arms.spare[arm] < 0.0


@inlined
def _in_turn(place: int, leader: int) -> int:
    """The arm at a place, where the leader comes first."""
    return leader if place == 0 else place - 1 if place <= leader else place


@device_function
def look_at_all(arms: ArmState) -> None:
    """Choose the bar anew, and see who is settled."""
    leader = arms.lead[0]
    a, b = posterior_of(arms, leader)
    mean = a / (a + b)
    arms.bar[0] = mean - SPREADS * math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))
    arms.lead[1] = int(GROWTH * arms.pulled[leader]) + 8
    known = arms.bar[0] > 0.0
    for place in range(arms.ones.shape[0]):
        if known:
            arm = _in_turn(place, leader)
            _settle(arms, arm)
            known = arm != leader or arms.spare[arm] >= 0.0
    if known:
        take_stock(arms)
    else:
        unsettle(arms)


@inlined
def unsettle(arms: ArmState) -> None:
    """Without a bar, all arms draw."""
    arms.bar[0] = 0.0
    arms.bar[1] = 1.0
    arms.chances[:] = 0.0
    arms.spare[:] = UNSETTLED
    arms.lead[1] = int(GROWTH * arms.pulled[arms.lead[0]]) + 8
    arms.lead[2] = arms.ones.shape[0]


@inlined
def learn(arms: ArmState, arm: int, answer: float) -> None:
    """Count an answer, and see whom it unsettles."""
    arms.ones[arm] += answer
    arms.pulled[arm] += 1.0
    arms.draws.fitted[arm] = 0.0
    leader, look = arms.lead[0], False
    if arm == leader:
        arms.spare[arm] -= arms.chances[arm] > 0.0 and answer == 0.0
        look = arms.pulled[arm] >= arms.lead[1]
    else:
        a, b = posterior_of(arms, arm)
        c, d = posterior_of(arms, leader)
        if a * (c + d) > c * (a + b):
            arms.lead[0] = arm
            unsettle(arms)
        arms.spare[arm] -= arms.chances[arm] > 0.0 and answer == 1.0
    if not look and arms.chances[arm] > 0.0 and arms.spare[arm] < 0.0:
        _settle(arms, arm)
        look = arm == leader and arms.spare[arm] < 0.0
        if not look:
            take_stock(arms)
    if look:
        look_at_all(arms)


@device_function
def find_those_beyond(arms: ArmState, state: np.ndarray, trial: int, uniform: float) -> bool:
    """Note who is on the wrong side of the bar; the uniform tells the first who may be."""
    anybody = False
    nobody = 1.0  # the chance that none may among those since the last who may
    for arm in range(arms.ones.shape[0]):
        nobody *= 1.0 - arms.chances[arm]
        if uniform >= nobody:
            a, b = posterior_of(arms, arm)
            chance = arms.chances[arm]
            if arm == arms.lead[0]:
                arms.beyond[arm] = 1.0 - point_beyond(state, trial, b, a, 1.0 - arms.bar[0], chance)
            else:
                arms.beyond[arm] = point_beyond(state, trial, a, b, arms.bar[0], chance)
            anybody = anybody or not math.isnan(arms.beyond[arm])
            uniform = next_uniform(state, trial, 4)
            nobody = 1.0
    return anybody


@device_function
def compare(arms: ArmState) -> int:
    """The arm with the largest draw, where it is known who is beyond the bar: others repeat draws that are."""
    choice = leader = arms.lead[0]
    best = -1.0
    for place in range(arms.ones.shape[0]):
        arm = _in_turn(place, leader)
        theta = arms.beyond[arm]
        if math.isnan(theta):
            if arm != leader and arms.spare[arm] >= 0.0 and best >= arms.bar[0]:
                continue
            while True:
                theta = _draw(arms, arm)
                beyond = theta < arms.bar[0] if arm == leader else theta > arms.bar[0]
                if arms.spare[arm] < 0.0 or not beyond:
                    break
        if theta > best:
            best, choice = theta, arm
    return choice


@inlined
def draw_all(arms: ArmState) -> int:
    """The arm with the largest draw, all of them made."""
    for arm in range(arms.ones.shape[0]):
        a, b = posterior_of(arms, arm)
        fit(arms.draws, arm, a, b)
    return largest_draw(arms.draws, arms.ones.shape[0])


@inlined
def many_unsettled(arms: ArmState) -> bool:
    """Whether it costs less to draw for all arms."""
    return arms.lead[2] * MANY >= arms.ones.shape[0]


@inlined
def choose(arms: ArmState, state: np.ndarray, trial: int) -> int:
    """The arm with the largest draw from the posteriors."""
    if many_unsettled(arms):
        return draw_all(arms)
    anybody = arms.lead[2] > 0
    uniform = next_uniform(state, trial, 4)
    if anybody or uniform >= arms.bar[1]:
        arms.beyond[:] = math.nan
        if uniform >= arms.bar[1]:
            anybody = find_those_beyond(arms, state, trial, uniform) or anybody
    return compare(arms) if anybody else arms.lead[0]


@allocating
def room(number: int) -> ArmState:
    """So many arms of which nothing is known."""
    each = np.zeros((5, number))
    arms = ArmState(
        each[0], each[1], each[2], each[3], each[4], np.zeros(2), np.zeros(3, np.int64), room_for_draws(number)
    )
    unsettle(arms)
    return arms


@inlined
def _play(game: Problem, arms: ArmState, first: int, last: int, window: int, state: np.ndarray, trial: int) -> int:
    """Play the pulls from ``first`` to ``last``."""
    if first == 1:
        seed_draws(arms.draws, state, trial)
    for _ in range(first, last + 1):
        arm = choose(arms, state, trial)
        learn(arms, arm, 1.0 if next_uniform(state, trial, 0) < game.rewards.means[arm] else 0.0)
    return window


@kernel
def thompson(state: np.ndarray, rewards: Rewards, record: Record) -> None:
    """Play one trial per row of ``state``, filling the outputs at the checkpoints."""
    play_trials(room, _play, Problem(room_for(rewards)), state, rewards, record)
