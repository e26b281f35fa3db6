"""kl-UCB: Garivier, Cappé 2011.

UCB with the exact margin for yes-or-no rewards: no policy can lose less in the long run.

    pull each arm once
    for t = K+1, K+2, ...:
        u_a = largest q in [0, 1] with  N_a d(mean_a, q) <= ln t + 3 ln ln t
        pull the arm with the largest  u_a

See also Cappe, Garivier, Maillard, Munos, Stoltz 2013. d is the Bernoulli divergence; ln ln t counts as 0 while
ln t <= 1. For Bernoulli arms its regret meets the Lai-Robbins lower bound; for other rewards in [0, 1] the same proof
gives an upper bound.
"""

from typing import NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined
from bandit_core.kernels import kl
from bandit_core.kernels.play import UNTRIED, Belief, Now, Rule, Stream, first, rewards_of
from bandit_core.model import KernelCall, RunSetup
from bandit_core.policies import bernoulli_family
from bandit_core.policies.bernoulli_family import Numbers, mean_behind


class State(NamedTuple):
    """Of every arm (arms,): sum, number and mean of its responses; and the arm that was chosen last (1,)."""

    sums: np.ndarray
    counts: np.ndarray
    means: np.ndarray
    lead: np.ndarray


def start(numbers: Numbers, arms: int) -> State:
    """Nothing; every arm must be tried."""
    return State(np.zeros(arms), np.zeros(arms), np.zeros(arms), np.zeros(1, np.int64))


def choose(numbers: Numbers, known: State, now: Now, stream: Stream) -> int:
    """The arm with the largest index. The last one leads, and other indices are computed only where they reach its."""
    level, high, lead = kl.exploration(now.t), kl.bar_at(1.0), known.lead[0]
    own = SMALLEST
    if known.counts[lead] > 0.0:
        own = kl.index(known.means[lead], known.counts[lead], level, 0.0, high)
    bar = kl.bar_at(max(SMALLEST, own - kl.MARGIN))
    best, highest = 0, -np.inf
    for arm in range(known.means.shape[0]):
        mean, count, index = known.means[arm], known.counts[arm], np.inf
        if arm == lead and count > 0.0:
            index = own
        elif count > 0.0:
            if not kl.reaches(mean, count, level, bar):
                continue
            index = kl.index(mean, count, level, 0.0, high)
        if first(index, highest, now, arm, best):
            best, highest = arm, index
            bar = kl.bar_at(min(1.0, max(SMALLEST, max(own, index) - kl.MARGIN)))
    known.lead[0] = best
    return best


@inlined
def _quantile(mean: float, budget: float) -> float:
    return kl.upper_quantile(mean, budget) if mean < 1.0 else 1.0


def belief(numbers: Numbers, known: State, arm: int, t: int) -> Belief:
    """The mean, and the smallest and the largest one that are not ruled out."""
    if known.counts[arm] == 0.0:
        return UNTRIED
    mean, budget = known.means[arm], kl.exploration(t) / known.counts[arm]
    low, high = mean_behind(numbers, 1.0 - _quantile(1.0 - mean, budget)), mean_behind(numbers, _quantile(mean, budget))
    return mean_behind(numbers, mean), low, high, high


SMALLEST = 1e-300  # a mean whose logarithm is finite
RULE = Rule("largest_quantile", start, choose, belief=belief)


def prepare(setup: RunSetup, rule: Rule = RULE) -> KernelCall:
    """The call of a rule with this index.

    That of kl-UCB-CF ends at 1, and at a small epsilon every arm stays there for long: ties among arms at that end are
    broken by the quantile that the end cuts off, not by the order of the arms. Hence there is no end here.
    """
    means, release = bernoulli_family.response_means(setup), kl.REWARDS if setup.epsilon is None else kl.BITS

    def fast() -> KernelCall:
        return KernelCall(kl.by_index, (rewards_of(setup, means), release, 0.0, 1.0), len(setup.arms))

    return rule.call(setup, bernoulli_family.numbers(setup), fast, means)


POLICY = bernoulli_family.plain_policy(
    "Garivier and Cappe 2011",
    name="kl-ucb",
    rests_on="index",
    prepare=prepare,
    step_cost=bernoulli_family.kl_cost,
)
