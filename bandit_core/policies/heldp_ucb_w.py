"""HeLDP-UCB-BW: of this project, after Ren, Zhou, Liu, Shroff 2020.

Each user answers with one coin-flipped bit; UCB on means that weigh each answer by its noise, and ignore no one.

    for t = 1, 2, ...:
        pull the arm with the largest  u_a   (infinite while W_a = 0)
        the user answers with epsilon > 0 and a bit x from CTB (randomised response of the reward)
        w = tanh(epsilon / 2)^2;  W_a += w;  s_a += w g(x; epsilon)
        u_a = s_a / W_a + sqrt(2 ln t / W_a)

HeLDP-UCB-LW: of this project, after Ren, Zhou, Liu, Shroff 2020.

Each user adds Laplace noise to the reward; UCB on means that weigh each answer by its noise, and ignore no one.

    for t = 1, 2, ...:
        pull the arm with the largest  u_a   (infinite while W_a = 0)
        the user answers with epsilon > 0 and x from CTL (reward + Laplace(1 / epsilon))
        w = 1 / (1 + 8 / epsilon^2);  W_a += w;  s_a += w x
        u_a = s_a / W_a + sqrt(2 ln t / W_a) + ln t / (sqrt(2) W_a)

g(x; eps) = 1/2 +- coth(eps/2)/2 is unbiased, with variance at most 1/(4 w). A reward has variance at most 1/4 and its
noise 2/eps^2, together 1/(4 w). W_a counts answers in units of a plain reward. Guarantee: each reward is eps_t-locally
private; the weights need the budgets, which are public. With one budget for all, HeLDP-UCB-BW is HeLDP-UCB-B.

Why the index covers. Given the budgets of n users of an arm with mean mu, let D = sum of w (response - mu) and W = sum
of w. Bits: D is a sum of independent terms of range tanh(eps/2), so by Hoeffding P(D >= sqrt(2 W ln t)) <= t^-4, and
the same below. Laplace: with b = 1/eps, w b is at most c = 1/sqrt(32), whatever eps is, and for 0 < l < 1/c

    ln E exp(l D) <= sum of l^2 w^2 / 8 - ln(1 - l^2 w^2 b^2) <= (l^2 / 2) (W / 4) / (1 - c l),

so D is sub-gamma: P(D >= sqrt(2 (W/4) x) + c x) <= e^-x, which is t^-4 at x = 4 ln t. No threshold is needed: the
weights keep the tail of small budgets in bounds.

Why the regret is bounded. Let L be the W above which twice the width is at most the gap. As for UCB1, an arm with
W_a >= L is pulled only where one of two means missed: at most sum of 2 t t^-4 <= pi^2/3 times. Until then it is pulled
at most (L + 1) / E[w] times by Wald's identity, since each pull adds a w <= 1 that does not depend on the past.

With the same bits, no threshold does better: for the users A that one keeps, Jensen's inequality gives
P(A) / E[1/w | A] <= E[w; A] <= E[w]. The left side is 1/V_B of Ren et al., the right one 1/V_w.
"""

import math
import sys
from typing import Any

from bandit_core.kernels import index
from bandit_core.kernels.play import Rule, Stream, User
from bandit_core.model import KernelCall, Policy, RunSetup
from bandit_core.policies import index_family, local_family
from bandit_core.policies.index_family import Numbers, State
from bandit_core.policies.local_family import bounded_rewards, noisy_answers, random_bits
from bandit_core.theory import local

_NO_ONE = sys.float_info.min  # a user with a smaller epsilon answers with nothing but noise


def learn(numbers: Numbers, known: State, arm: int, response: float, user: User, stream: Stream) -> None:
    """Add the response and its weight, unless nothing was sent."""
    release = numbers.form.release
    noise = numbers.noise if math.isnan(user.epsilon) else index.noise_of(release, user.epsilon)
    if math.isnan(response) or math.isinf(noise * noise):
        return
    if release == index.BITS:
        weight, response = 1.0 / (noise * noise), 0.5 + noise * (response - 0.5)
    else:
        weight = 1.0 / (1.0 + 8.0 * noise * noise)
    known.spreads[arm] += weight
    known.sums[arm] += weight * response
    known.means[arm] = known.sums[arm] / known.spreads[arm]


def largest(numbers: Numbers, known: State, arm: int, t: int) -> float:
    """Mean and width: Hoeffding's, and behind Laplace noise its tail."""
    log_t, weight = math.log(t), known.spreads[arm]
    tail = log_t / (math.sqrt(2.0) * weight) if numbers.form.release == index.LAPLACE else 0.0
    return known.means[arm] + math.sqrt(2.0 * log_t / weight) + tail


RULE = Rule(
    "largest_weighted_index", index_family.start, learn=learn, answer=index_family.answer,
    likelihood=index_family.likelihood, index=largest,
)  # fmt: skip


def _prepare(setup: RunSetup, release: int) -> KernelCall:
    if release == index.BITS and setup.epsilon is not None and setup.epsilon.fixed is not None:  # HeLDP-UCB-B
        return index_family.prepare(setup, release=release, per_spread=2.0, eps_min=setup.epsilon.fixed)
    return RULE.call(setup, index_family.numbers(setup, release=release, eps_min=_NO_ONE))


def _policy(release: int, **fields: Any) -> Policy:
    return local_family.policy(
        accepts=bounded_rewards("heldp-ucb-bs"),
        prepare=lambda setup: _prepare(setup, release),
        bounds=lambda setup: [*local.lower_bounds(setup), *local.weighted(setup, release == index.LAPLACE)],
        step_cost=lambda setup: 6.0 + 0.5 * len(setup.arms),
        **fields,
    )


POLICIES = (
    _policy(index.BITS, name="heldp-ucb-bw", releases=random_bits("a bit for the reward")),
    _policy(index.LAPLACE, name="heldp-ucb-lw", releases=noisy_answers("the reward")),
)
