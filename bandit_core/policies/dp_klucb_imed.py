"""DP-KLUCB: arXiv 2505.05613.

kl-UCB with the divergence that central privacy leaves, in growing batches: nearly the least regret.

    pull each arm first_batch times;  S_a = sum + Laplace(1 / epsilon),  n_a = first_batch
    repeat, t being the next pull:
        m_a = S_a / n_a
        pull the arm with the largest q with  d_eps([m_a], q) <= ln t / n_a
        until its pulls are rho n_a;  S_a += sum of these pulls + Laplace(1 / epsilon)

DP-IMED: arXiv 2505.05613.

Plays the arm with the smallest index (evidence against it plus ln n), in growing batches; the index ignores time.

    pull each arm first_batch times;  S_a = sum + Laplace(1 / epsilon),  n_a = first_batch
    repeat, t being the next pull:
        m_a = S_a / n_a
        pull the arm with the smallest  n_a d_eps([m_a], [max m]) + ln n_a   (first term 0 for the highest m)
        until its pulls are rho n_a;  S_a += sum of these pulls + Laplace(1 / epsilon)

Nothing is forgotten, so m batches carry m noises. [.] is the nearest number in [0, 1], and
d_eps(x, y) = min over z between them of eps |z - x| + d(z, y).

Guarantee: epsilon-central DP, pure. Released: one sum per batch; every reward
is in one of them. Both attain the d_eps lower bound up to the factor rho.
Deviations from print: the sizes of the first batches are not known to us. Each arm starts with ``first_batch`` pulls
(default ceil(5/epsilon)), in turns. With single pulls at the start DP-IMED is fragile: a first release whose noise
buries the best arm may never be corrected, and these rare runs of linear regret then dominate the mean.
"""

import math
from functools import partial

import numpy as np

from bandit_core.jit.decorators import inlined
from bandit_core.kernels.batch_rule import BatchRule, noise
from bandit_core.kernels.kl import d_eps, largest_private_mean
from bandit_core.kernels.play import NOTHING, Belief, Stream
from bandit_core.model import KernelCall, RunSetup
from bandit_core.policies import batch_family
from bandit_core.policies.batch_family import Numbers, State, clipped, grown, index_rule, start
from bandit_core.theory import central


def index(numbers: Numbers, mean: float, count: float, level: float) -> float:
    """The largest q with  d_eps([mean], q) <= ln t / n."""
    return largest_private_mean(clipped(mean), level / count, numbers.epsilon)


@inlined
def _highest(known: State) -> float:
    highest = -np.inf
    for arm in range(known.means.shape[0]):
        highest = max(highest, known.means[arm])
    return highest


@inlined
def _against(numbers: Numbers, known: State, arm: int, highest: float) -> float:
    """The evidence against an arm:  n d_eps([m], [m*]) + ln n."""
    mean, count = known.means[arm], known.counts[arm]
    value = math.log(count)
    if mean < highest:
        value += count * d_eps(clipped(mean), clipped(highest), numbers.epsilon)
    return value


def choose_imed(numbers: Numbers, known: State, pulled: np.ndarray, t: int, stream: Stream) -> tuple[int, int]:
    """Every arm at first; then the arm with the least evidence against it, until its pulls have grown."""
    if t == 0:
        return known.members.shape[0], numbers.first
    best, least, highest = 0, np.inf, _highest(known)
    for arm in range(known.means.shape[0]):
        value = _against(numbers, known, arm, highest)
        if value < least:
            best, least = arm, value
    return grown(known, best, numbers.growth, pulled)


def learn(numbers: Numbers, known: State, arm: int, total: float, count: float, stream: Stream) -> None:
    """Add the sum with Laplace(1 / epsilon) noise."""
    known.sums[arm] += total + noise(stream.words, stream.trial, 1.0 / numbers.epsilon)
    known.counts[arm] += count
    known.means[arm] = known.sums[arm] / known.counts[arm]


def believe_imed(numbers: Numbers, known: State, arm: int, t: int) -> Belief:
    """The released mean, and the evidence."""
    if known.counts[arm] == 0.0:
        return NOTHING
    return known.means[arm], math.nan, math.nan, _against(numbers, known, arm, _highest(known))


KLUCB = index_rule("dp_klucb", index, learn, 1.0)
IMED = BatchRule("dp_imed", start, choose_imed, learn, believe_imed, "smallest", prompt=True)


def _prepare(rule: BatchRule, setup: RunSetup) -> KernelCall:
    parameters = setup.parameters
    first = min(parameters.first_batch, setup.horizon)
    return rule.call(setup, Numbers(setup.fixed_epsilon, 0.0, parameters.growth, first))


POLICIES = tuple(
    batch_family.central_policy(
        name=name,
        parameters=batch_family.BatchParameters,
        prepare=partial(_prepare, rule),
        upper=partial(central.leading_term, policy=name.upper()),
        step_cost=batch_family.cost_of_roots(0.25),
        resolve=batch_family.resolve_first_batch,
        parent="kl-ucb",
    )
    for name, rule in (("dp-klucb", KLUCB), ("dp-imed", IMED))
)
