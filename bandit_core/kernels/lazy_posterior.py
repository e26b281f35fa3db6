"""Lazy-DP-TS: Thompson sampling on means that are released lazily; most draws are never made.

After one pull of each arm, the arm with the largest draw from Beta(m n + 1, (1-m) n + 1) is pulled at every step, where
m is the released mean + 3 log2(t) / (epsilon n), clipped to [0, 1], and n = 1, 2, 4, ... the fresh rewards in it.
The rule of `bandit_core.policies.lazy_dp_ts` makes every draw.

Statistics rest between releases, so all that moves is the bonus, with the logarithm of t. What `posterior` says
of a bar below the leader's posterior, and of chances c that a settled arm's draw may be on the wrong side of it, holds
for a whole stretch of steps here if each c is at least the mass that bounds this probability at every step of it.

The posterior of an arm with n rewards is Beta(s, N - s) with N = n + 2, where s grows with t up to n + 1. Call the mass
beyond a bar m, above the mean, M(s) = f(m) / rate. It grows with s wherever m >= s / (N - 1/2): the rate falls, and the
derivative of ln f(m) is ln(m / (1 - m)) - psi(s) + psi(N - s), with ln(x - 1/2) < psi(x) < ln x for x >= 1, so it is
more than ln(m / (1 - m)) - ln(s / (N - s - 1/2)) >= 0; and if this is so for one s it is for all smaller ones. Hence an
arm's mass is largest at the last step of the stretch, and that of the leader, whose bar is below it, at the first: the
same with s and N - s, m and 1 - m exchanged.

While all arms are settled each step has the same chance p that none may be beyond the bar, and the leader is pulled.
How many such steps follow one another is geometric: one uniform tells, and they are played at once. It has no memory,
so a release, or the end of the stretch, makes it be asked anew. What is drawn here has a generator of its own, so that
the sums and their noise do not depend on it.
"""

import math
from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import device_function, inlined
from bandit_core.kernels import lazy_updates, posterior
from bandit_core.kernels.batch_rule import BatchRule
from bandit_core.kernels.lazy_updates import Schedule, nothing, release
from bandit_core.kernels.normal_blocks import seed_draws
from bandit_core.kernels.play import Batches, Stream, piece_of
from bandit_core.kernels.streams import HALF_UNIT, next_uniform

STRETCH = 0.25  # of the users so far, until all arms are looked at again


class State(NamedTuple):
    """What has been released of every arm, and what is known of its draws: ``arms.ones`` out of ``arms.pulled``."""

    members: np.ndarray  # all arms, that of the present batch first
    released: lazy_updates.State
    arms: posterior.ArmState
    when: np.ndarray  # (3,) last step of the stretch, 0: look anew; next step of which draws decide; whether seeded


@inlined
def _believe(rule: Schedule, known: State, now: int) -> None:
    """The posteriors at step ``now``."""
    bonus = 3.0 * math.log2(now) / rule.epsilon
    means, counts, arms = known.released.means, known.released.counts, known.arms
    for arm in range(means.shape[0]):
        arms.ones[arm] = min(1.0, max(0.0, means[arm] + bonus / counts[arm])) * counts[arm]
        arms.pulled[arm] = counts[arm]
        arms.draws.fitted[arm] = 0.0


@device_function
def settle(arms: posterior.ArmState, arm: int) -> None:
    """See whether an arm is settled, by its posterior at the step of the stretch where its mass is largest."""
    a, b = posterior.posterior_of(arms, arm)
    bar = arms.bar[0]
    if arm == arms.lead[0]:
        a, b, bar = b, a, 1.0 - bar
    chance = posterior.mass_beyond(a, b, bar) * posterior.ROUNDING if bar * (a + b - 0.5) >= a else math.inf
    arms.spare[arm] = 0.0 if chance <= posterior.MOST else posterior.UNSETTLED
    arms.chances[arm] = chance if chance <= posterior.MOST else 0.0


@inlined
def _lead(arms: posterior.ArmState) -> None:
    """Choose the leader, the arm with the largest mean, and the bar below it."""
    best = -1.0
    for arm in range(arms.ones.shape[0]):
        a, b = posterior.posterior_of(arms, arm)
        mean = a / (a + b)
        if mean > best:
            best = mean
            arms.lead[0] = arm
            arms.bar[0] = mean - posterior.SPREADS * math.sqrt(mean * (1.0 - mean) / (a + b + 1.0))


@device_function
def look(rule: Schedule, known: State, now: int) -> None:
    """Choose leader and bar for a stretch of steps from ``now`` on, and see who is settled in all of it."""
    arms = known.arms
    known.when[0] = now + int(STRETCH * now)
    _believe(rule, known, now)
    _lead(arms)
    leader = arms.lead[0]
    if arms.bar[0] > 0.0:
        settle(arms, leader)
    if arms.bar[0] <= 0.0 or arms.spare[leader] < 0.0:
        posterior.unsettle(arms)
        return
    _believe(rule, known, known.when[0])
    for arm in range(arms.ones.shape[0]):
        if arm != leader:
            settle(arms, arm)
    posterior.take_stock(arms)


@inlined
def _wait(known: State, now: int) -> None:
    """Draw the next step, from ``now`` on, of which draws decide; none in this stretch: the one after it."""
    arms, when = known.arms, known.when
    when[1] = now
    if arms.lead[2] == 0:
        steps = when[0] + 1 - now
        surprise = -math.log(next_uniform(arms.draws.seeds, 0, 4) + HALF_UNIT)
        each = -math.log(arms.bar[1])
        when[1] += steps if surprise >= each * steps else int(surprise / each)


@device_function
def decide(rule: Schedule, known: State, now: int) -> int:
    """The arm with the largest draw, where some may be beyond the bar, or are not settled."""
    arms = known.arms
    _believe(rule, known, now)
    if posterior.many_unsettled(arms):
        return posterior.draw_all(arms)
    arms.beyond[:] = math.nan
    uniform = next_uniform(arms.draws.seeds, 0, 4)
    anybody = arms.lead[2] > 0
    if not anybody:  # it is known that some may
        uniform = max(arms.bar[1], arms.bar[1] + (1.0 - arms.bar[1]) * uniform)
    if uniform >= arms.bar[1]:
        anybody = posterior.find_those_beyond(arms, arms.draws.seeds, 0, uniform) or anybody
    return posterior.compare(arms) if anybody else arms.lead[0]


def choose(rule: Schedule, known: State, pulled: np.ndarray, t: int, stream: Stream) -> tuple[int, int]:
    """Every arm at first; then the one with the largest draw, until draws decide again, or it is released."""
    when, now = known.when, t + 1
    if t == 0:
        return known.members.shape[0], rule.first
    if when[2] == 0:
        when[2] = 1
        seed_draws(known.arms.draws, stream.words, stream.trial)
    if now > when[0]:
        look(rule, known, now)
        _wait(known, now)
    if now < when[1]:
        leader = known.arms.lead[0]
        known.members[0] = leader
        return 1, min(when[1] - now, known.released.waiting[leader])
    known.members[0] = decide(rule, known, now)
    _wait(known, now + 1)
    return 1, 1


_fresh_total = piece_of(lazy_updates.fresh_total)


def fresh_total(rule: Schedule, known: State, batches: Batches, arm: int, count: int, stream: Stream) -> float:
    """See `lazy_updates.fresh_total`."""
    return float(_fresh_total(rule, known.released, batches, arm, count, stream))


def learn(rule: Schedule, known: State, arm: int, total: float, count: float, stream: Stream) -> None:
    """Release the statistic of an arm if it is due; then all is looked at anew."""
    if known.released.waiting[arm] == 0:
        release(rule, known.released, arm, total, stream)
        known.when[0] = 0


def start(rule: Schedule, arms: int) -> State:
    """Nothing."""
    return State(np.arange(arms), nothing(rule, arms), posterior.room(arms), np.zeros(3, np.int64))


THOMPSON = BatchRule("thompson", start, choose, learn, total=fresh_total)
