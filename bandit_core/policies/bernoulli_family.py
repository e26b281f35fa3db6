"""Shared by kl-UCB and Thompson sampling, plain and behind randomised response: a response is Bernoulli, or like it."""

import math
from typing import Any, NamedTuple

import numpy as np

from bandit_core.jit.decorators import inlined
from bandit_core.kernels.play import Rewards, Stream
from bandit_core.kernels.streams import next_uniform
from bandit_core.mechanisms import CTB
from bandit_core.model import Bound, Policy, RunSetup
from bandit_core.policies.local_family import bounded_rewards
from bandit_core.theory import classic, finite_time_bounds

EARLY = 10.0  # pulls of an arm, times the square of its gap, until its draws are rarely needed


class Numbers(NamedTuple):
    """How much a response tells of the reward: tanh(epsilon / 2) of randomised response, 1 of the reward itself."""

    contrast: float


def numbers(setup: RunSetup) -> Numbers:
    """The numbers of a line."""
    return Numbers(1.0 if setup.epsilon is None else math.tanh(setup.fixed_epsilon / 2))


def response_means(setup: RunSetup) -> np.ndarray:
    """The mean of the responses of every arm, (arms,): randomised ones if the line has an epsilon."""
    return np.asarray(CTB.mean(setup.means, math.inf if setup.epsilon is None else setup.fixed_epsilon))


def bit(numbers: Numbers, rewards: Rewards, arm: int, t: int, stream: Stream) -> tuple[float, float, float]:
    """The `answer` of users who send one bit, which is drawn without the reward."""
    return math.nan, 1.0 if next_uniform(stream.words, stream.trial, 0) < rewards.means[arm] else 0.0, math.nan


def likelihood(numbers: Numbers, reward: float, response: float, epsilon: float) -> float:
    """The chance of a bit."""
    one = 0.5 + numbers.contrast * (reward - 0.5)
    return one if response == 1.0 else 1.0 - one


@inlined
def mean_behind(numbers: Any, response: float) -> float:
    """The mean reward behind the mean of the responses."""
    return 0.5 + (response - 0.5) / numbers.contrast


def kl_cost(setup: RunSetup) -> float:
    """Rough time of one pull relative to one of ``ucb``: once all arms are played, a bound for each, and some roots."""
    arms = len(setup.arms)
    if not setup.feedback.immediate:
        return 8.0 + 0.8 * arms
    return 1.0 + 0.2 * arms * max(0.0, 1 - arms / setup.horizon)


def posterior_cost(setup: RunSetup) -> float:
    """Rough time of one pull relative to one of ``ucb``: a draw for every arm, as long as it is close to the best."""
    arms = len(setup.arms)
    if not setup.feedback.immediate:
        return 1.0 + 1.6 * arms
    means = response_means(setup)
    gaps = means.max() - means
    close = np.minimum(1.0, EARLY * arms / np.maximum(gaps**2 * setup.horizon, EARLY))
    return 1.0 + 0.5 * float(close.sum() - 1.0)


def plain_policy(source: str, **fields: Any) -> Policy:
    """An entry for a policy without privacy whose regret meets the Lai-Robbins lower bound, as ``source`` proves."""

    def bounds(setup: RunSetup) -> list[Bound]:
        best = classic.asymptotically_optimal(setup, source)
        return [*finite_time_bounds.lower_bounds(setup), best, *classic.orders(setup)]

    return Policy(
        accepts=bounded_rewards("ucb", whose="its " + fields.pop("rests_on")),
        bounds=bounds,
        late=True,
        **fields,
    )
