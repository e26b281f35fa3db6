"""AdaP-UCB: Azize, Basu 2022.

UCB in batches that double; each batch is summed once, with noise, and the older ones forgotten.

    pull each arm once;  m_a = reward + Laplace(1 / epsilon),  n_a = 1
    repeat, t being the next pull:
        pull the arm with the largest  m_a + sqrt(alpha ln t / (2 n_a)) + alpha ln t / (epsilon n_a)
        until its pulls have doubled;  n_a = pulls of this episode
        m_a = mean of these pulls + Laplace(1 / (epsilon n_a))

AdaP-KLUCB: Azize, Basu 2022.

As AdaP-UCB, with the sharper margin of kl-UCB.

    pull each arm once;  m_a = reward + Laplace(1 / epsilon),  n_a = 1
    repeat, t being the next pull:
        pull the arm with the largest  q with d([m_a + alpha ln t / (epsilon n_a)], q) <= alpha ln t / n_a
        until its pulls have doubled;  n_a = pulls of this episode
        m_a = mean of these pulls + Laplace(1 / (epsilon n_a))

arXiv 2209.02570. [.] is the nearest number in [0, 1].

Guarantee: epsilon-central DP, pure. Released: one mean at the end of each
episode; every reward is in one of them.
Deviations from print: n is half the arm's pulls there, which is the number of rewards in the mean except after the
first pull (1, not 1/2); the number of rewards is used throughout. The conference text has ln(2t) inside the root.
"""

import math
from functools import partial

from bandit_core.kernels.batch_rule import BatchRule, noise
from bandit_core.kernels.kl import largest_mean
from bandit_core.kernels.play import Stream
from bandit_core.model import KernelCall, RunSetup
from bandit_core.policies import batch_family
from bandit_core.policies.batch_family import Numbers, State, clipped, index_rule
from bandit_core.theory import central


def ucb(numbers: Numbers, mean: float, count: float, level: float) -> float:
    """mean + sqrt(alpha ln t / (2 n)) + alpha ln t / (epsilon n)."""
    alpha = numbers.alpha
    return mean + math.sqrt(alpha * level / (2.0 * count)) + alpha * level / (numbers.epsilon * count)


def klucb(numbers: Numbers, mean: float, count: float, level: float) -> float:
    """The largest q with  d([mean + alpha ln t / (epsilon n)], q) <= alpha ln t / n."""
    alpha = numbers.alpha
    return largest_mean(clipped(mean + alpha * level / (numbers.epsilon * count)), alpha * level / count)


def learn(numbers: Numbers, known: State, arm: int, total: float, count: float, stream: Stream) -> None:
    """Release the sum with Laplace(1 / epsilon) noise, and forget the batches before."""
    known.counts[arm] = count
    known.means[arm] = (total + noise(stream.words, stream.trial, 1.0 / numbers.epsilon)) / count


UCB, KLUCB = index_rule("adap_ucb", ucb, learn), index_rule("adap_klucb", klucb, learn, 1.0)


def _prepare(rule: BatchRule, setup: RunSetup) -> KernelCall:
    return rule.call(setup, Numbers(setup.fixed_epsilon, setup.parameters.alpha, 2.0, 1))


POLICIES = (
    batch_family.central_policy(
        name="adap-ucb",
        parameters=batch_family.ExplorationParameters,
        prepare=partial(_prepare, UCB),
        upper=central.adap_ucb,
    ),
    batch_family.central_policy(
        name="adap-klucb",
        parameters=batch_family.ExplorationParameters,
        prepare=partial(_prepare, KLUCB),
        upper=central.adap_klucb,
        step_cost=batch_family.cost_of_roots(2.0),
        parent="kl-ucb",
    ),
)
