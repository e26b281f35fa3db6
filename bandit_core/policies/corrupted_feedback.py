"""UCB-CF: Gajane, Urvoy, Kaufmann 2018.

Each user answers with one coin-flipped bit; UCB with a margin tuned to the known corruption.

    pull each arm once; the user answers with a bit from CTB (randomised response)
    for t = K+1, K+2, ...:
        pull the arm with the largest  lambda^-1( mean bit_a + sqrt( (ln t + 3 ln ln t) / (2 N_a) ) )

kl-UCB-CF: Gajane, Urvoy, Kaufmann 2018.

Each user answers with one coin-flipped bit; for yes-or-no rewards no private policy loses less.

    pull each arm once; the user answers with a bit from CTB (randomised response)
    for t = K+1, K+2, ...:
        u_a = largest q in [0, 1] with  N_a d(mean bit_a, lambda(q)) <= ln t + 3 ln ln t
        pull the arm with the largest  u_a

TS-CF: Gajane, Urvoy, Kaufmann 2018.

Each user answers with one coin-flipped bit; Thompson sampling on the bits.

    for t = 1, 2, ...:
        draw  theta_a ~ Beta(1 + ones_a, 1 + zeros_a)  for each arm
        pull the arm with the largest  theta_a; the user answers with a bit from CTB (randomised response)
        ones_a += bit;  zeros_a += 1 - bit

All users have the same epsilon. A bit of an arm with
mean mu is Bernoulli(lambda(mu)), lambda(mu) = 1/2 + tanh(epsilon/2) (mu - 1/2). The learner knows lambda, reasons
about the lambda of each arm as its non-private parent would, and maps back. Each reward is epsilon-locally private.

The index of kl-UCB-CF is 1 or 0 where the mean bit lies so far above lambda(1) or below lambda(0) that there is no q.
For TS-CF the map back is increasing, so the largest draw decides.

f(t) = ln t + 3 ln ln t, where ln ln t counts as 0 while ln t <= 1. Deviation from print: the paper has binary rewards;
a reward in [0, 1] first becomes a coin toss with that chance, which leaves the distribution of the bit as it is.

Ties, which the paper leaves open: at a small epsilon the index of kl-UCB-CF stays at 1 for about
f(t) / (2 tanh(epsilon/2)^2 (1 - mean)^2) pulls of every arm. Among such arms the larger quantile of the mean bit, which
that end cuts off, decides (then the lowest arm); the order of the arms would make the regret a matter of luck.
"""

from dataclasses import replace
from typing import Any, Literal

from bandit_core.kernels import index
from bandit_core.model import Bound, KernelCall, Policy, RunSetup
from bandit_core.policies import bernoulli_family, index_family, kl_ucb, local_family, thompson
from bandit_core.policies.local_family import bounded_rewards, random_bits
from bandit_core.theory import local

_KL_ON_BITS = replace(
    kl_ucb.RULE, name="largest_quantile_of_bits", answer=bernoulli_family.bit, likelihood=bernoulli_family.likelihood
)


def _prepare_ucb(setup: RunSetup) -> KernelCall:
    # lambda^-1(mean bit + sqrt(f/2N)) = mean of g + sqrt(f V / 2)/N with V = N coth(epsilon/2)^2.
    return index_family.prepare(setup, release=index.BITS, per_spread=0.5, clock=index.KL_CLOCK)


def _policy(name: Literal["kl-ucb-cf", "ts-cf", "ucb-cf"], **fields: Any) -> Policy:
    def bounds(setup: RunSetup) -> list[Bound]:
        return [*local.lower_bounds(setup), *local.corrupted_feedback(setup, name)]

    said = {"accepts": bounded_rewards("heldp-ucb-bs"), "releases": random_bits("a bit for the reward")}
    return local_family.policy("one", name=name, bounds=bounds, **said, **fields)


POLICIES = (
    _policy("ucb-cf", prepare=_prepare_ucb, step_cost=index_family.cost()),
    _policy(
        "kl-ucb-cf",
        prepare=lambda setup: kl_ucb.prepare(setup, _KL_ON_BITS),
        parent="kl-ucb",
        step_cost=bernoulli_family.kl_cost,
    ),
    _policy("ts-cf", prepare=thompson.prepare, parent="thompson", step_cost=bernoulli_family.posterior_cost),
)
