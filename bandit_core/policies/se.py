"""Elimination: Even-Dar, Mannor, Mansour 2006; Auer, Ortner 2010 (batches).

Plays all arms equally often in growing batches and drops the ones that are clearly worse.

    S = all arms;  L(c) = ln(c |S| b^2 / beta),  beta = 1 / T
    for b = 1, 2, ... while more than one arm is left:
        l = growth^b;  pull each arm of S  l times
        m_a = mean of these rewards
        r = sqrt(L(4) / (2 l))
        drop every arm with  m_a < max m - 2 r
    play the arm that is left

Elimination on randomised bits (`ldp-se`): Even-Dar, Mannor, Mansour 2006, on randomised responses (Gajane, Urvoy,
Kaufmann 2018).

Elimination in growing batches, but every user answers with one coin-flipped bit.

    S = all arms;  L(c) = ln(c |S| b^2 / beta),  beta = 1 / T
    for b = 1, 2, ... while more than one arm is left:
        l = growth^b;  pull each arm of S  l times; each user answers with a bit,
        the randomised response to the reward
        m_a = 1/2 + w (share of ones - 1/2),  w = coth(epsilon / 2)
        r = w sqrt(L(4) / (2 l))
        drop every arm with  m_a < max m - 2 r
    play the arm that is left

Promise: epsilon-local DP for every reward (pure, the same epsilon for all)

The first and the last step of a ladder of trust: `dp-se`, `dist-dp-se`, `dist-rdp-se` and `shuffle-se` are the same
with other things that the server learns of a batch (see `bandit_core.theory.ladder` for radii and proof).

Rewards in [0, 1] that are no bits are rounded to one at random by the same coin.

Deviations from print: there is no one print; radii are those of Hoeffding's inequality with a union over arms and
batches. A batch that the horizon cuts short is played and decides nothing. The policies of the same names that stop by
themselves (`bandit_core.policies.stopping`) eliminate in the epochs of DP-SE, with an end.

Elimination on shuffled bits (`shuffle-se`): Tenenbaum, Kaplan, Mansour, Stemmer 2021; Cheu, Smith, Ullman, Zeber,
Zhilyaev 2019.

Elimination in growing batches, whose answers lose their names in a shuffler: a few coin flips hide all.

    S = all arms;  L(c) = ln(c |S| b^2 / beta),  beta = 1 / T
    for b = 1, 2, ... while more than one arm is left:
        l = growth^b;  pull each arm of S  l times; each user answers with a bit, truthful
        with chance 1 - g, else uniform; the shuffler tells how many are 1;  g = g(l, epsilon, delta)
        m_a = 1/2 + (share of ones - 1/2) / (1 - g)
        r = sqrt(L(4) / (2 l)) / (1 - g)
        drop every arm with  m_a < max m - 2 r
    play the arm that is left

Promise: (epsilon, delta)-shuffle DP: every reward enters one shuffled batch

g falls with the size of the batch; batches too small to hide in fall back to local randomised response, so that no
batch is released with a weaker promise. Mechanism and account: `bandit_core.mechanisms.batch`. Rewards in
[0, 1] that are no bits are rounded to one at random.

Guarantee: (epsilon, delta)-shuffle DP: the count of a batch of known size, if one of its rewards changes. Each reward
is in one batch; batches are chosen from earlier counts, so the promise holds for the whole run. Where rewards are
counted late a batch is that of the first users it meets, exactly as many, and others are not asked meanwhile.
``accounting``: tight, g by an exact account of the counts; paper, by the closed form 64 ln(4/delta)/(epsilon^2 l),
whose proof was not at hand: it is used where the account confirms it.
Deviations from print: the paper was known here by its abstract and by the mechanism it uses; radii are derived here
(`bandit_core.theory.ladder`).

Elimination on secure sums (`dist-dp-se`): Chowdhury, Zhou 2023.

Elimination in growing batches, whose users each add a pinch of noise to a sum that no one can read in parts.

    S = all arms;  L(c) = ln(c |S| b^2 / beta),  beta = 1 / T
    for b = 1, 2, ... while more than one arm is left:
        l = growth^b;  pull each arm of S  l times; each user rounds the reward to g levels at
        random, adds a share of noise, sends it modulo m
        m_a = (sum modulo m, less m where above l g + tau) / (l g),  m = l g + 2 tau + 1
        g = ceil(epsilon sqrt(l)),  tau = ceil(g ln(2 / beta) / epsilon),  noise of all: discrete Laplace(g / epsilon)
        r = sqrt(L(4) / (2 l)) + (sqrt(2 L(2)) + L(2)) / (epsilon l)
        drop every arm with  m_a < max m - 2 r
    play the arm that is left

Promise: epsilon-distributed DP (pure): every reward enters one secure sum

Elimination on secure sums (Rényi) (`dist-rdp-se`): Chowdhury, Zhou 2023; Agarwal, Kairouz, Liu 2021.

Elimination on secure sums with Skellam noise, whose tails are lighter, for a promise that may fail with chance delta.

    S = all arms;  L(c) = ln(c |S| b^2 / beta),  beta = 1 / T
    for b = 1, 2, ... while more than one arm is left:
        l = growth^b;  pull each arm of S  l times; each user rounds the reward to g levels at
        random, adds a share of noise, sends it modulo m
        m_a = (sum modulo m, less m where above l g + tau) / (l g),  m = l g + 2 tau + 1
        g = ceil(s e sqrt(l)),  noise of all: Skellam of variance V = g^2 / e^2,
        tau = ceil(sqrt(2 V x) + x / 3),  x = ln(4 / beta)
        r = sqrt(L(4) / (2 l)) + ((2 + sqrt(2) / s) sqrt(L(2)) + L(2) / s) / (e l)
        drop every arm with  m_a < max m - 2 r
    play the arm that is left

Promise: (epsilon, delta)-distributed DP by Rényi divergences: every reward enters one secure sum

Mechanisms: `bandit_core.mechanisms.batch`; radii: `bandit_core.theory.ladder`.

* `dist-dp-se`: Polya shares, which sum to discrete Laplace noise. Guarantee: epsilon-distributed DP, pure.
* `dist-rdp-se`: Skellam shares. Their Renyi divergence of order a is about a e^2/2. ``accounting``: tight, the rate e
  is the largest that makes the run (epsilon, delta)-private; paper, e = epsilon, and the guarantee shown is the
  (epsilon, delta) that this run really has. Either by Theorem 3.5 of Agarwal, Kairouz and Liu 2021, as published, not
  proved here; the tests find it confirmed wherever they enumerate it. A batch of the first size has most to tell.

Both need that all users of a batch stay until its end and add their shares; neighbours are two batches of the same
users in which one reward differs. Each reward is in one batch. Where rewards are counted late a batch is that of the
first users it meets, exactly as many, and others are not asked meanwhile.
Deviations from print: none known for the radii, which hold as published (proof: `bandit_core.theory.ladder`); beta and
growth are 0.1 and 4 in the authors' experiments. With tau as printed the modulus may spoil each sum with chance up to
beta/2, which does not shrink with the number of sums; the explicit bound counts that.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from bandit_core.kernels import batch_rule as kernels
from bandit_core.model import Bound, Guarantee, Policy, Release, RunSetup
from bandit_core.policies import elimination_by_trust
from bandit_core.policies.local_family import bounded_rewards, local_guarantee, random_bits
from bandit_core.spec import field_types
from bandit_core.spec.field_types import Number
from bandit_core.spec.number_text import number
from bandit_core.theory import classic, finite_time_bounds, ladder, local

Delta = Annotated[
    Annotated[field_types.Small, Field(gt=0, le=0.1)], Field(description="Chance up to which the promise may fail.")
]


class ShuffleParameters(elimination_by_trust.BatchParameters):
    """How many users are noisy."""

    delta: Delta = 1e-6
    accounting: Literal["paper", "tight"] = "tight"
    """tight: as few noisy users as an exact account of the shuffled counts allows. paper: as many as the closed form of
    print asks for."""


def shuffled(setup: RunSetup) -> Guarantee:
    """The promise of every shuffled batch."""
    epsilon, chosen = setup.fixed_epsilon, setup.parameters
    words = f"the shuffled answers of every batch are ({epsilon:g}, {chosen.delta:.2g})-differentially private"
    if chosen.accounting == "paper":
        words += ": noise as published, which our own account confirms"
    return Guarantee("shuffle", words, epsilon, chosen.delta)


def _shuffled_releases(setup: RunSetup) -> list[Release]:
    return [
        Release(
            mechanism="shuffled bits", released="how many bits of an arm's batch are 1", unit="one reward",
            at="once, when the batch is full", budget=setup.fixed_epsilon, delta=setup.parameters.delta,
        )
    ]  # fmt: skip


class RenyiParameters(elimination_by_trust.BatchParameters):
    """How fine rewards are rounded, and what the run promises."""

    delta: Delta = 1e-6
    scale: Annotated[Number, Field(ge=1, le=1000)] = 10.0
    """s: rewards are rounded to ceil(s e sqrt(l)) levels. The authors try 10 and 100."""
    accounting: Literal["paper", "tight"] = "tight"
    """tight: the noise is set so that the run really has the epsilon you chose, at delta. paper: epsilon is the rate of
    its Renyi divergences, and the guarantee shown is what that run really has."""


def _pure(setup: RunSetup) -> Guarantee:
    epsilon = setup.fixed_epsilon
    return Guarantee("distributed", f"the secure sum of every batch is {epsilon:g}-differentially private", epsilon)


def renyi_guarantee(setup: RunSetup) -> Guarantee:
    """What the run really has at its delta."""
    chosen, spent = setup.parameters, ladder.skellam_spent(setup)
    words = f"the secure sum of every batch is ({number(spent)}, {chosen.delta:.2g})-differentially private"
    if spent > setup.fixed_epsilon * (1 + 1e-9):
        words += f": the chosen {setup.fixed_epsilon:g} is the rate of its Renyi divergences"
    words += ", by a bound on Skellam noise as published (Agarwal, Kairouz and Liu 2021), which is not proved here"
    return Guarantee("distributed", words, spent, chosen.delta)


_SUM: dict[str, Any] = {
    "released": "the sum of an arm's batch, rounded to levels, modulo m (in rewards)", "unit": "one reward",
    "at": "once, when the batch is full", "sensitivity": 1.0,
}  # fmt: skip


def _skellam_releases(setup: RunSetup) -> list[Release]:
    spent = {"budget": ladder.skellam_spent(setup), "delta": setup.parameters.delta}
    return [Release(mechanism="skellam", norm="L2", scale=1 / ladder.rate(setup), **spent, **_SUM)]


def _plain_bounds(setup: RunSetup) -> list[Bound]:
    lower = [*finite_time_bounds.lower_bounds(setup), classic.minimax_lower(setup)]
    return [*lower, *ladder.upper(setup, ladder.plain, "none", [])]


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
        privacy="local",
        parameters=elimination_by_trust.BatchParameters,
        bounds=lambda setup: [*local.lower_bounds(setup), *ladder.upper(setup, ladder.local, "local", [])],
        guarantee=local_guarantee,
        releases=random_bits("a bit for the reward"),
        **elimination_by_trust.private(kernels.BITS, ladder.local),
    ),
    Policy(
        name="shuffle-se",
        privacy="shuffle",
        parameters=ShuffleParameters,
        releases=_shuffled_releases,
        **elimination_by_trust.unseen(kernels.BITS, ladder.shuffled, ladder.shuffled_orders, shuffled),
    ),
    Policy(
        name="dist-dp-se",
        privacy="distributed",
        parameters=elimination_by_trust.BatchParameters,
        releases=lambda setup: [
            Release(mechanism="discrete laplace", norm="L1", scale=1 / setup.fixed_epsilon, **_SUM)
        ],
        **elimination_by_trust.unseen(kernels.POLYA, ladder.polya, ladder.polya_orders, _pure),
    ),
    Policy(
        name="dist-rdp-se",
        privacy="distributed",
        parameters=RenyiParameters,
        releases=_skellam_releases,
        **elimination_by_trust.unseen(kernels.SKELLAM, ladder.skellam, ladder.skellam_orders, renyi_guarantee),
    ),
)
