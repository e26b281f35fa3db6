"""Private-UCB: Mishra, Thakurta 2015.

UCB on sums from a noisy tree for each arm, with a margin wide enough for the whole horizon.

    epsilon' = epsilon (modern) or epsilon / K (2015)
    one counter for each arm: a binary tree of depth L = floor(log2 T) + 1 with node noise Laplace(L / epsilon'), a
    k-ary tree, or a square root
    pull each arm once
    for t = K+1, ..., T:
        S_a = noisy sum of arm a from its tree
        Gamma = ln(T)^2 ln(K T ln(T) / gamma) / epsilon'        gamma = t^-4
            k-ary: b (2 sqrt(m l) + l),  l = ln(2 K T / gamma),  m nodes of Laplace(b) in S_a
            square root: sd of the noise in S_a times sqrt(2 ln(K T / gamma))
        pull the arm with the largest  S_a / N_a + sqrt(2 ln t / N_a) + Gamma / N_a
        insert its reward into its tree

Promise: epsilon-central DP (pure); the variant of 2015 keeps epsilon / K; (epsilon, delta) with counter square-root

Tossou and Dimitrakakis (2016) run it with gamma = t^-4. In 2015 the
budget was split evenly over the K trees and Gamma_t had a factor K; a reward enters one tree only, so each tree may
have all of epsilon: variant "modern". The parameter ``margin`` multiplies Gamma_t; at less than 1 no bound on regret is
proved. Guarantee: epsilon-central DP; the variant of 2015 really keeps epsilon / K.
The split over tree levels takes logarithms to base 2, as it must (see `bandit_core.mechanisms.binary`).

Gamma_t covers the noise of every node of all trees at once, but for a chance of gamma. Parameter ``counter`` offers two
counters with less noise in long runs, and a margin that covers every sum of all arms with the same chance (proof:
`tree_family.prepare_covered`, for K T sums): the k-ary tree with signed digits, b (2 sqrt(m l) + l) with
l = ln(2 K T / gamma) for m nodes of Laplace(b); and the square root of the counting matrix, s sqrt(2 ln(K T / gamma))
for normal noise of standard deviation s, which keeps (epsilon, delta) only. No bound on regret is proved for them here.
"""

import math
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from bandit_core.mechanisms import Binary, SignedDigits, SquareRoot
from bandit_core.model import Bound, Guarantee, KernelCall, Parameters, Release, RunSetup
from bandit_core.policies import tree_family
from bandit_core.policies.tree_family import Gamma
from bandit_core.spec.field_types import Number
from bandit_core.theory import central


class PrivateUCBParameters(Parameters):
    """Split of the budget and failure probability."""

    variant: Literal["modern", "2015"] = "modern"
    """modern: every tree has the whole epsilon, as a reward enters one tree only. 2015: epsilon / K for each of the K
    trees, and a margin K times as wide."""
    gamma: Gamma = "t^-4"
    margin: Annotated[Number, Field(ge=0, le=1)] = 1.0
    """Part of the margin for noise that the index has; 1 as printed."""
    counter: Annotated[
        Literal["binary", "k-ary", "square-root"],
        Field(description=f"binary: as in the paper. {tree_family.COUNTERS} The margin follows from the counter."),
    ] = "binary"
    delta: tree_family.Delta = "auto"


def _split(setup: RunSetup) -> int:
    """How many trees the budget is split over."""
    return len(setup.arms) if setup.parameters.variant == "2015" else 1


def _counter(setup: RunSetup) -> Binary | SignedDigits | SquareRoot:
    if tree_family.in_place_of_printed(setup):
        return tree_family.other_counter(setup, _split(setup))
    return Binary(setup.fixed_epsilon / _split(setup), setup.horizon)


def _prepare(setup: RunSetup) -> KernelCall:
    counter, gamma = _counter(setup), setup.parameters.gamma
    slope, power = (4.0, 0.0) if gamma == "t^-4" else (0.0, -math.log(gamma))
    if not isinstance(counter, Binary):
        sums = math.log(len(setup.arms) * setup.horizon)  # of all arms and counts, one after the other
        return tree_family.prepare_covered(
            setup, counter, per_pull=2.0, slope=slope, offset=sums + power, part=setup.parameters.margin
        )
    log_horizon = math.log(max(2, setup.horizon))  # one user sees no index, whatever ln 1 makes of it
    scale = setup.parameters.margin * _split(setup) * log_horizon**2 / setup.fixed_epsilon
    base = math.log(len(setup.arms) * setup.horizon * log_horizon)
    return tree_family.prepare(setup, counter=counter, slope=scale * slope, offset=scale * (base + power))


def _guarantee(setup: RunSetup) -> Guarantee:
    split = _split(setup)
    kept = tree_family.guarantee_of(setup, _counter(setup))
    if split == 1:
        return kept
    why = f": the chosen epsilon {setup.fixed_epsilon:g} is split over {split} counters, and a reward enters only one"
    return replace(kept, words=kept.words + why)


def _releases(setup: RunSetup) -> list[Release]:
    counter = _counter(setup)
    return tree_family.binary_releases(counter) if isinstance(counter, Binary) else tree_family.other_releases(counter)


def _upper(setup: RunSetup) -> list[Bound]:
    upper = tree_family.without_proof(setup, central.private_ucb(setup), "binary")
    why = "it is proved for the whole margin, not for a part of it"
    return [bound.only_if(setup.parameters.margin == 1, why) for bound in upper]


POLICY = tree_family.policy(
    name="private-ucb",
    anytime=False,
    parameters=PrivateUCBParameters,
    prepare=_prepare,
    upper=_upper,
    guarantee=_guarantee,
    spending=lambda setup, times: _counter(setup).spent(times),
    releases=_releases,
)
