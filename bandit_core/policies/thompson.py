"""Thompson sampling: Thompson 1933; Agrawal, Goyal 2012.

Plays each arm as often as it is believed to be the best one.

    for t = 1, 2, ...:
        draw  theta_a ~ Beta(1 + ones_a, 1 + zeros_a)  for each arm
        pull the arm with the largest  theta_a; its reward r becomes the coin x ~ Bernoulli(r)
        ones_a += x;  zeros_a += 1 - x

A reward in [0, 1] that is not 0 or 1 first becomes a coin toss with that chance (Agrawal and Goyal 2012,
Algorithm 2), so only the means of the arms matter. For Bernoulli arms its regret meets the Lai-Robbins lower bound
(Kaufmann, Korda, Munos 2012).
"""

import math
from typing import NamedTuple

import numpy as np

from bandit_core.kernels import posterior
from bandit_core.kernels.play import Belief, Now, Rule, Stream, User, rewards_of
from bandit_core.kernels.streams import beta
from bandit_core.model import KernelCall, RunSetup
from bandit_core.policies import bernoulli_family
from bandit_core.policies.bernoulli_family import Numbers, mean_behind


class State(NamedTuple):
    """Of every arm (arms,): ones and number of its bits, and the last draw."""

    ones: np.ndarray
    counts: np.ndarray
    thetas: np.ndarray


def start(numbers: Numbers, arms: int) -> State:
    """Nothing."""
    return State(np.zeros(arms), np.zeros(arms), np.zeros(arms))


def choose(numbers: Numbers, known: State, now: Now, stream: Stream) -> int:
    """The arm with the largest draw from its posterior."""
    best, highest = 0, -1.0
    for arm in range(known.thetas.shape[0]):
        ones, zeros = known.ones[arm], known.counts[arm] - known.ones[arm]
        theta = beta(stream.words, stream.trial, 1.0 + ones, 1.0 + zeros)
        known.thetas[arm] = theta
        if theta > highest:
            best, highest = arm, theta
    return best


def learn(numbers: Numbers, known: State, arm: int, response: float, user: User, stream: Stream) -> None:
    """Add the bit."""
    known.ones[arm] += response
    known.counts[arm] += 1.0


def belief(numbers: Numbers, known: State, arm: int, t: int) -> Belief:
    """The mean of the posterior, and the draw."""
    mean = (1.0 + known.ones[arm]) / (2.0 + known.counts[arm])
    return mean_behind(numbers, mean), math.nan, math.nan, mean_behind(numbers, known.thetas[arm])


# The reward's coin x is drawn by `bernoulli_family.bit`: 1 with the chance of the arm's mean.
RULE = Rule(
    "largest_draw", start, choose, learn, belief, decides="draw", answer=bernoulli_family.bit,
    likelihood=bernoulli_family.likelihood,
)  # fmt: skip


def prepare(setup: RunSetup) -> KernelCall:
    """The call of the rule, or of `kernels.posterior`: there draws that decide nothing are left out, so that a trial
    is another one of the same distribution.
    """
    means = bernoulli_family.response_means(setup)

    def fast() -> KernelCall:
        return KernelCall(posterior.thompson, (rewards_of(setup, means),), len(setup.arms))

    return RULE.call(setup, bernoulli_family.numbers(setup), fast, means)


POLICY = bernoulli_family.plain_policy(
    "Kaufmann, Korda and Munos 2012",
    name="thompson",
    rests_on="posterior",
    prepare=prepare,
    step_cost=bernoulli_family.posterior_cost,
)
