"""Elimination: Even-Dar, Mannor, Mansour 2006; Auer, Ortner 2010 (batches).

Plays all arms equally often in growing batches and drops the ones that are clearly worse.

    S = all arms;  L(c) = ln(c |S| b^2 / beta),  beta = 1 / T
    for b = 1, 2, ... while more than one arm is left:
        l = growth^b;  pull each arm of S  l times
        m_a = mean of these rewards
        r = sqrt(L(4) / (2 l))
        drop every arm with  m_a < max m - 2 r
    play the arm that is left

Elimination on randomised bits: Even-Dar, Mannor, Mansour 2006, on randomised responses (Gajane, Urvoy, Kaufmann 2018).

Elimination in growing batches, but every user answers with one coin-flipped bit.

    S = all arms;  L(c) = ln(c |S| b^2 / beta),  beta = 1 / T
    for b = 1, 2, ... while more than one arm is left:
        l = growth^b;  pull each arm of S  l times; each user answers with a bit,
        the randomised response to the reward
        m_a = 1/2 + w (share of ones - 1/2),  w = coth(epsilon / 2)
        r = w sqrt(L(4) / (2 l))
        drop every arm with  m_a < max m - 2 r
    play the arm that is left

The first and the last step of a ladder of trust: `dp-se`, `dist-dp-se`, `dist-rdp-se` and `shuffle-se` are the same
with other things that the server learns of a batch (see `bandit_core.theory.ladder` for radii and proof).

Rewards in [0, 1] that are no bits are rounded to one at random by the same coin.

Deviations from print: there is no one print; radii are those of Hoeffding's inequality with a union over arms and
batches. A batch that the horizon cuts short is played and decides nothing. The policies of the same names that stop by
themselves (`bandit_core.policies.stopping`) eliminate in the epochs of DP-SE, with an end.
"""

from bandit_core.kernels import ladder as kernels
from bandit_core.model import Bound, Policy, RunSetup
from bandit_core.policies import elimination_by_trust
from bandit_core.policies.local_family import bounded_rewards, local_guarantee, random_bits
from bandit_core.theory import classic, finite_time_bounds, ladder, local


def _plain_bounds(setup: RunSetup) -> list[Bound]:
    lower = [*finite_time_bounds.lower_bounds(setup), classic.minimax_lower(setup)]
    return [*lower, *ladder.upper(setup, ladder.plain, "none", [])]


def _local_bounds(setup: RunSetup) -> list[Bound]:
    return [*local.lower_bounds(setup), *ladder.upper(setup, ladder.local, "local", [])]


POLICIES = (
    Policy(
        name="se",
        parameters=elimination_by_trust.BatchParameters,
        accepts=bounded_rewards("ucb", whose="its radius"),
        bounds=_plain_bounds,
        **elimination_by_trust.common(kernels.SUMS, ladder.plain),
    ),
    Policy(
        name="ldp-se",
        title="Elimination on randomised bits",
        privacy="local",
        guarantee_words="epsilon-local DP for every reward (pure, the same epsilon for all)",
        parameters=elimination_by_trust.BatchParameters,
        bounds=_local_bounds,
        guarantee=local_guarantee,
        releases=random_bits("a bit for the reward"),
        **elimination_by_trust.private(kernels.BITS, ladder.local),
    ),
)
