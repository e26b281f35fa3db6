"""Lazy-DP-TS: Hu, Hegde 2022.

Thompson sampling whose beliefs change only when a batch is full, and then with noise.

    pull each arm once;  m_a = reward + Laplace(1 / epsilon),  n_a = 1
    for t = K+1, K+2, ...:
        b_a = m_a + 3 log2(t) / (epsilon n_a),  clipped to [0, 1]
        pull the arm with the largest draw from  Beta(b_a n_a + 1, (1 - b_a) n_a + 1)
        once it has 2 n_a fresh rewards:  n_a = 2 n_a;  m_a = mean of them + Laplace(1 / (epsilon n_a))

Guarantee: epsilon-central DP, pure. Released: one sum per batch; every reward is in one of them. Posterior draws are
post-processing. Where rewards are counted at once, draws that decide nothing are not made (`kernels.lazy_posterior`).
Deviations from print: none known; the logarithm of the bonus is to base 2, as in the paper.
"""

import math

import numpy as np

from bandit_core.kernels import lazy_posterior, lazy_updates
from bandit_core.kernels.play import Belief, Now, Rule, Stream
from bandit_core.kernels.streams import beta
from bandit_core.model import KernelCall, RunSetup
from bandit_core.policies import batch_family, bernoulli_family, lazy_family
from bandit_core.policies.lazy_family import State
from bandit_core.theory import central

SMALLEST = 1e-9  # gap that is told from none
NEEDED = 24.0  # pulls of an arm, times its gap over the bonus log2(T) / epsilon, until its draws are rarely needed


def choose(numbers: lazy_updates.Schedule, known: State, now: Now, stream: Stream) -> int:
    """In turns at first; then the arm with the largest draw from its posterior, of the mean with its bonus."""
    arms = known.fresh.shape[0]
    best, highest = (now.t - 1) % arms, -1.0
    if now.counted < arms * numbers.first:
        return best
    bonus = 3.0 * math.log2(now.t) / numbers.epsilon
    for arm in range(arms):
        n = known.released.counts[arm]
        mean = min(1.0, max(0.0, known.released.means[arm] + bonus / n))
        known.thetas[arm] = beta(stream.words, stream.trial, mean * n + 1.0, (1.0 - mean) * n + 1.0)
        if known.thetas[arm] > highest:
            best, highest = arm, known.thetas[arm]
    return best


def belief(numbers: lazy_updates.Schedule, known: State, arm: int, t: int) -> Belief:
    """The released mean, and the draw."""
    mean = known.released.means[arm] if known.released.counts[arm] > 0.0 else math.nan
    return mean, math.nan, math.nan, known.thetas[arm]


RULE = Rule("lazy_draws", lazy_family.start, choose, lazy_family.learn, belief, decides="draw")


def _prepare(setup: RunSetup) -> KernelCall:
    schedule = lazy_updates.Schedule(lazy_updates.DOUBLING, 1, setup.fixed_epsilon, 0.0, 0.0, 0.0)
    return RULE.call(setup, schedule, lambda: lazy_posterior.THOMPSON.call(setup, schedule))


def _cost(setup: RunSetup) -> float:
    arms = len(setup.arms)
    drawing = max(0.0, 1 - arms / setup.horizon)  # each arm is played once before any of them draws
    if not setup.feedback.immediate:
        return 1.0 + 1.6 * arms * drawing
    gaps = np.maximum(setup.means.max() - setup.means, SMALLEST)
    bonus = NEEDED * math.log2(setup.horizon) / setup.fixed_epsilon
    close = np.minimum(1.0, arms * (bernoulli_family.EARLY / gaps + bonus) / gaps / setup.horizon)
    return 1.0 + 0.8 * float(close.sum() - 1.0) * drawing


POLICY = batch_family.central_policy(
    name="lazy-dp-ts",
    prepare=_prepare,
    upper=central.lazy,
    parent="thompson",
    step_cost=_cost,
)
