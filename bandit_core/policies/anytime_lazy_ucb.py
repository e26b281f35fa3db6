"""Anytime-Lazy-UCB (reconstructed): Hu, Huang, Mehta 2021.

UCB on the last full batch of each arm, batches doubling; index constants reconstructed, not quoted.

    pull each arm once;  m_a = reward + Laplace(1 / epsilon),  n_a = 1
    for t = K+1, K+2, ...:
        pull the arm with the largest  m_a + sqrt(3 ln t / n_a) + 3 ln t / (epsilon n_a)
        once it has 2 n_a fresh rewards:  n_a = 2 n_a;  m_a = mean of them + Laplace(1 / (epsilon n_a))

arXiv 2102.07929.

A batch may be left and taken up again. Guarantee: epsilon-central DP, pure. Released: one sum per batch;
every reward is in one of them, and t is no secret.
Deviations from print: the constants of the index are RECONSTRUCTED (we know the structure and the order of the
regret from the abstracts, not the printed index); read its curve as that of the idea, not of the paper's experiment.
"""

from bandit_core.kernels import lazy_updates
from bandit_core.model import KernelCall, RunSetup
from bandit_core.policies import batch_family, lazy_family
from bandit_core.theory import central


def _prepare(setup: RunSetup) -> KernelCall:
    schedule = lazy_updates.Schedule(lazy_updates.DOUBLING, 1, setup.fixed_epsilon, 0.0, 3.0, 3.0)
    return lazy_family.RULE.call(setup, schedule, lambda: lazy_updates.BY_INDEX.call(setup, schedule))


POLICY = batch_family.central_policy(
    name="anytime-lazy-ucb",
    prepare=_prepare,
    upper=central.lazy,
)
