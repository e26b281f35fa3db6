"""Elimination on shuffled bits: Tenenbaum, Kaplan, Mansour, Stemmer 2021; Cheu, Smith, Ullman, Zeber, Zhilyaev 2019.

Elimination in growing batches, whose answers lose their names in a shuffler: a few coin flips hide all.

    S = all arms;  L(c) = ln(c |S| b^2 / beta),  beta = 1 / T
    for b = 1, 2, ... while more than one arm is left:
        l = growth^b;  pull each arm of S  l times; each user answers with a bit, truthful
        with chance 1 - g, else uniform; the shuffler tells how many are 1;  g = g(l, epsilon, delta)
        m_a = 1/2 + (share of ones - 1/2) / (1 - g)
        r = sqrt(L(4) / (2 l)) / (1 - g)
        drop every arm with  m_a < max m - 2 r
    play the arm that is left

g falls with the size of the batch; batches too small to hide in fall back to local randomised response, so that no
batch is released with a weaker promise. Mechanism and account: `bandit_core.mechanisms.shuffled_bits`. Rewards in
[0, 1] that are no bits are rounded to one at random.

Guarantee: (epsilon, delta)-shuffle DP: the count of a batch of known size, if one of its rewards changes. Each reward
is in one batch; batches are chosen from earlier counts, so the promise holds for the whole run. Where rewards are
counted late a batch is that of the first users it meets, exactly as many, and others are not asked meanwhile.
``accounting``: tight, g by an exact account of the counts; paper, by the closed form 64 ln(4/delta)/(epsilon^2 l),
whose proof was not at hand: it is used where the account confirms it.
Deviations from print: the paper was known here by its abstract and by the mechanism it uses; radii are derived here
(`bandit_core.theory.ladder`).
"""

from typing import Annotated, Literal

from pydantic import Field

from bandit_core.kernels import ladder as kernels
from bandit_core.model import Guarantee, Policy, Release, RunSetup
from bandit_core.policies import elimination_by_trust
from bandit_core.spec import field_types
from bandit_core.theory import ladder

Delta = Annotated[
    Annotated[field_types.Small, Field(gt=0, le=0.1)], Field(description="Chance up to which the promise may fail.")
]


class ShuffleParameters(elimination_by_trust.BatchParameters):
    """How many users are noisy."""

    delta: Delta = 1e-6
    accounting: Literal["paper", "tight"] = "tight"
    """tight: as few noisy users as an exact account of the shuffled counts allows. paper: as many as the closed form of
    print asks for."""


def guarantee(setup: RunSetup) -> Guarantee:
    """The promise of every batch."""
    epsilon, chosen = setup.fixed_epsilon, setup.parameters
    words = f"the shuffled answers of every batch are ({epsilon:g}, {chosen.delta:.2g})-differentially private"
    if chosen.accounting == "paper":
        words += ": noise as published, which our own account confirms"
    return Guarantee("shuffle", words, epsilon, chosen.delta)


def _releases(setup: RunSetup) -> list[Release]:
    return [
        Release(
            mechanism="shuffled bits", released="how many bits of an arm's batch are 1", unit="one reward",
            at="once, when the batch is full", budget=setup.fixed_epsilon, delta=setup.parameters.delta,
        )
    ]  # fmt: skip


POLICY = Policy(
    name="shuffle-se",
    privacy="shuffle",
    guarantee_words="(epsilon, delta)-shuffle DP: every reward enters one shuffled batch",
    parameters=ShuffleParameters,
    releases=_releases,
    **elimination_by_trust.unseen(kernels.BITS, ladder.shuffled, ladder.shuffled_orders, guarantee),
)
