"""DP-UCB-INT: Tossou, Dimitrakakis 2016, Algorithm 3.

UCB on means that are published only now and then, with noise that fades instead of depending on epsilon.

    tight:     smallest f with  min over a > 1 of  a S/2 + ln(1 - 1/a) - ln(a delta) / (a - 1) <= epsilon
               S = f^-v zeta(v), the sum of all squared budgets
    advanced:  f = ceil(epsilon'^(-2/v));   paper:  f = ceil(1 / epsilon')
               epsilon' = sqrt((ln(1/delta) + 4 epsilon) / (8 zeta(v))) - sqrt(ln(1/delta) / (8 zeta(v)))
    pull each arm f times
    for t = K f + 1, K f + 2, ...:
        for every arm whose pulls N_a have just become a multiple of f:
            n_a = N_a;  m_a = mean of all its rewards + Laplace(n_a^(v/2 - 1))
        pull the arm with the largest  m_a + sqrt(2 ln t / n_a)

Promise: (epsilon, delta)-central DP; as printed more than epsilon

A release with Laplace(n^(v/2 - 1)) noise is n^(-v/2)-private. The noise does not depend on epsilon: privacy comes from
releasing seldom.

Guarantee: (epsilon, delta)-central DP over the releases that an arm's first reward is in, for a run of any length.
The interval f follows from ``accounting``, with epsilon' from Corollary 3.2:

* tight: the smallest f whose releases have Renyi divergences that keep the target, by their bound a f^-v zeta(v) / 2
  (f = 93 at epsilon 1, 4,142 at epsilon 0.1; delta = e^-10, v = 1.1),
* advanced: f = ceil(epsilon'^(-2/v)), what Theorem 3.4 needs: advanced composition (153 and 8,715),
* paper: f = ceil(1/epsilon') (16 and 147), which spends more than epsilon.

The guarantee shown is always what the run really keeps by the Renyi account: more than the target as printed, less by
advanced composition. Older specs say "calibrated" for advanced and "as printed" for paper.
Deviations from print: the noise is drawn once per release (literally, an arm that rests at a multiple of f gets a new
noise at every step, and each of them is a release); sums are kept in the initial phase, too; the root follows t at
every step, which is post-processing. The interval series of the technical report's Lemma B.1 was not found.
"""

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from bandit_core.kernels import lazy_updates
from bandit_core.model import Guarantee, KernelCall, Parameters, Release, RunSetup
from bandit_core.policies import batch_family, lazy_family
from bandit_core.policies.central_family import also, approximate, central_release
from bandit_core.spec.field_types import Number, Small
from bandit_core.theory import central, definitions


class IntervalParameters(Parameters):
    """What the releases may cost."""

    accounting: Annotated[
        Literal["paper", "advanced", "tight"], also({"as printed": "paper", "calibrated": "advanced"})
    ] = "tight"
    """How the interval between releases follows from epsilon. tight: as short as the Renyi account allows. advanced: by
    advanced composition, longer than needed. paper: as printed, which spends more than epsilon. The guarantee shown is
    what the run really has."""
    delta: Annotated[Small, Field(gt=0, lt=1)] = math.exp(-10)
    """Probability with which the bound epsilon on the privacy loss may fail."""
    v: Annotated[Number, Field(gt=1, le=1.5)] = 1.1
    """How fast the budget of a release falls with its pulls n: n^(-v/2)."""


def interval(setup: RunSetup) -> int:
    """Pulls of an arm between two releases (f)."""
    parameters = setup.parameters
    return definitions.release_interval(setup.fixed_epsilon, parameters.delta, parameters.v, parameters.accounting)


def _guarantee(setup: RunSetup) -> Guarantee:
    delta, v = setup.parameters.delta, setup.parameters.v
    return approximate(setup, float(definitions.interval_epsilon(interval(setup), v, delta)), delta)


def _spending(setup: RunSetup, times: np.ndarray) -> np.ndarray:
    """The most that a reward's user can have spent: one arm gets every pull after the initial phase."""
    start = interval(setup) * len(setup.arms)
    pulls = np.where(np.asarray(times) < start, 0.0, np.asarray(times, float) - start + interval(setup))
    return definitions.interval_epsilon(interval(setup), setup.parameters.v, setup.parameters.delta, pulls)


def _releases(setup: RunSetup) -> list[Release]:
    """The releases that an arm's first reward is in, if one arm gets every pull after the initial phase.

    One row each; of the many late ones, which hardly differ, a row stands for up to one in a thousand, with the numbers
    of the first, which says most.
    """
    every, releases, at = interval(setup), [], 1
    count = (setup.horizon - (len(setup.arms) - 1) * every) // every
    while at <= count:
        times = min(1 + at // 1000, count + 1 - at)
        first, last = at * every, (at + times - 1) * every
        when = f"{first} pulls of the arm" + (f" to {last}, every {every}" if times > 1 else "")
        scale = first ** (setup.parameters.v / 2 - 1)
        releases.append(central_release("the mean of an arm's rewards", 1 / first, scale, when, times))
        at += times
    return releases


def _prepare(setup: RunSetup) -> KernelCall:
    every = min(interval(setup), setup.horizon)
    schedule = lazy_updates.Schedule(lazy_updates.EVERY, every, setup.fixed_epsilon, setup.parameters.v, 2.0, 0.0)
    return lazy_family.RULE.call(setup, schedule, lambda: lazy_updates.BY_INDEX.call(setup, schedule))


def _cost(setup: RunSetup) -> float:
    every, arms, horizon = interval(setup), len(setup.arms), setup.horizon
    first = min(float(arms), horizon / every)  # releases in turns, without a look at the other arms
    return batch_family.cost(setup, max(0.0, horizon / every - arms)) + 5 * first / horizon


POLICY = batch_family.central_policy(
    name="dp-ucb-int",
    parameters=IntervalParameters,
    prepare=_prepare,
    upper=central.dp_ucb_int,
    guarantee=_guarantee,
    spending=_spending,
    releases=_releases,
    step_cost=_cost,
)
