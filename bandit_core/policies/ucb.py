"""UCB1 (Auer, Cesa-Bianchi and Fischer 2002): optimism in the face of uncertainty, without privacy.

Pull each arm once, then the arm with the largest mean + sqrt(alpha ln t / N), for user t. The paper has t - 1 there,
the number of earlier plays; the regret bound holds for both. Rewards in [0, 1] for the guarantee; sub-Gaussian rewards
of scale at most 1/2 have the same one. Ties go to the lowest label, and labels are random (`kernels.labels`).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field

from bandit_core.kernels import index
from bandit_core.kernels.play import UNTRIED, Belief, Now, Rule, Stream, User, around, first
from bandit_core.model import Guarantee, KernelCall, Parameters, Policy, RunSetup, any_rewards
from bandit_core.model.bound import Bound
from bandit_core.policies import index_family
from bandit_core.spec.field_types import Number
from bandit_core.theory import classic, finite_time_bounds


class UCBParameters(Parameters):
    """Exploration."""

    alpha: Annotated[
        Number, Field(gt=0, le=100, description="Exploration: the index adds sqrt(alpha ln t / N). UCB1 has 2.")
    ] = 2.0


class Numbers(NamedTuple):
    """Exploration."""

    alpha: float


class State(NamedTuple):
    """Of every arm (arms,): sum, number and mean of its rewards, and sqrt(alpha / N)."""

    sums: np.ndarray
    counts: np.ndarray
    means: np.ndarray
    widths: np.ndarray


def start(numbers: Numbers, arms: int) -> State:
    """Nothing; every arm must be tried."""
    return State(np.zeros(arms), np.zeros(arms), np.full(arms, np.inf), np.zeros(arms))


def choose(numbers: Numbers, known: State, now: Now, stream: Stream) -> int:
    """The arm with the largest  mean + sqrt(alpha ln t / N)."""
    level, best, highest = math.sqrt(math.log(now.t)), 0, -np.inf
    for arm in range(known.means.shape[0]):
        index = known.means[arm] + level * known.widths[arm]
        if first(index, highest, now, arm, best):
            best, highest = arm, index
    return best


def learn(numbers: Numbers, known: State, arm: int, response: float, user: User, stream: Stream) -> None:
    """Add the reward."""
    known.sums[arm] += response
    known.counts[arm] += 1.0
    known.means[arm] = known.sums[arm] / known.counts[arm]
    known.widths[arm] = math.sqrt(numbers.alpha * known.counts[arm]) / known.counts[arm]


def belief(numbers: Numbers, known: State, arm: int, t: int) -> Belief:
    """The mean, give or take the root."""
    if known.counts[arm] == 0.0:
        return UNTRIED
    margin = math.sqrt(math.log(t)) * known.widths[arm]
    return around(known.means[arm], margin, known.means[arm] + margin)


RULE = Rule("largest_index", start, choose, learn, belief)


def _prepare(setup: RunSetup) -> KernelCall:
    alpha = setup.parameters.alpha
    return index_family.call(RULE, setup, Numbers(alpha), index_family.numbers(setup, per_pull=alpha))


def _bounds(setup: RunSetup) -> list[Bound]:
    return [
        *finite_time_bounds.without_privacy(setup),
        *classic.lower_bounds(setup),
        classic.ucb1(setup),
        *classic.orders(setup),
    ]


POLICY = Policy(
    name="ucb",
    title="UCB",
    paper="Auer, Cesa-Bianchi, Fischer 2002 (UCB1)",
    summary="Plays the arm whose mean could still be the best: estimate plus a margin that shrinks with every pull.",
    privacy="none",
    guarantee_words="none: the learner sees every reward",
    epsilon="none",
    anytime=True,
    parameters=UCBParameters,
    accepts=any_rewards,
    prepare=_prepare,
    bounds=_bounds,
    sampler=lambda setup: index_family.sampler(setup, index.RAW),
    step_cost=index_family.cost(index.RAW),
    held=index_family.held(index.RAW),
    late=True,
    guarantee=lambda setup: Guarantee("none", "no privacy: the learner sees every reward"),
    pseudo_code="""pull each arm once
for t = K+1, K+2, ...:
    pull the arm with the largest  mean_a + sqrt(alpha ln t / N_a)""",
)
