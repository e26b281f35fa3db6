"""Shared by kl-UCB and Thompson sampling, plain and behind randomised response: a response is Bernoulli, or like it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bandit_core.kernels import feedback, kl, posterior
from bandit_core.kernels.records import Rewards, rewards_of
from bandit_core.mechanisms import CTB
from bandit_core.model import Guarantee, KernelCall, Parameters, Policy, RunSetup
from bandit_core.model.bound import Bound
from bandit_core.policies.index_family import held_late, late
from bandit_core.policies.local_family import bounded_rewards
from bandit_core.theory import classic, floors

EARLY = 10.0  # pulls of an arm, times the square of its gap, until its draws are rarely needed


def _responses(setup: RunSetup) -> Rewards:
    """The arms, and the mean of their responses: randomised ones if the line has an epsilon."""
    return rewards_of(setup, CTB.mean(setup.means, math.inf if setup.epsilon is None else setup.fixed_epsilon))


def prepare_kl(setup: RunSetup) -> KernelCall:
    """The kernel with a KL index."""
    # The index of kl-UCB-CF ends at 1, and at a small epsilon every arm stays there for long: ties among arms at that
    # end are broken by the quantile that the end cuts off, not by the order of the arms. Hence no end at all here.
    release, low, high = kl.REWARDS if setup.epsilon is None else kl.BITS, 0.0, 1.0
    if not setup.feedback.immediate:
        answers = (_responses(setup), release == kl.BITS, low, high, late(setup))
        return KernelCall(feedback.by_divergence, answers, len(setup.arms))
    return KernelCall(kl.by_index, (_responses(setup), release, low, high), len(setup.arms))


def kl_cost(setup: RunSetup) -> float:
    """Rough time of one pull relative to one of ``ucb``: once all arms are played, a bound for each, and some roots."""
    arms = len(setup.arms)
    if not setup.feedback.immediate:
        return 8.0 + 0.8 * arms
    return 1.0 + 0.2 * arms * max(0.0, 1 - arms / setup.horizon)


def prepare_posterior(setup: RunSetup) -> KernelCall:
    """The kernel that draws from posteriors."""
    if not setup.feedback.immediate:
        return KernelCall(feedback.by_posterior, (_responses(setup), late(setup)), len(setup.arms))
    return KernelCall(posterior.thompson, (_responses(setup),), len(setup.arms))


def posterior_sampler(setup: RunSetup) -> str:
    """``few-draws``, see `kernels.posterior`; with late feedback ``step``: every draw is made."""
    return "few-draws" if setup.feedback.immediate else "step"


def posterior_cost(setup: RunSetup) -> float:
    """Rough time of one pull relative to one of ``ucb``: a draw for every arm, as long as it is close to the best."""
    arms = len(setup.arms)
    if posterior_sampler(setup) == "step":
        return 1.0 + 1.6 * arms
    means = _responses(setup).means
    gaps = means.max() - means
    close = np.minimum(1.0, EARLY * arms / np.maximum(gaps**2 * setup.horizon, EARLY))
    return 1.0 + 0.5 * float(close.sum() - 1.0)


def plain_policy(source: str, **fields: Any) -> Policy:
    """An entry for a policy without privacy whose regret meets the Lai-Robbins lower bound, as ``source`` proves."""

    def bounds(setup: RunSetup) -> list[Bound]:
        best = classic.asymptotically_optimal(setup, source)
        return [*floors.without_privacy(setup), *classic.lower_bounds(setup), best, *classic.orders(setup)]

    return Policy(
        privacy="none",
        guarantee_words="none: the learner sees every reward",
        epsilon="none",
        anytime=True,
        parameters=Parameters,
        accepts=bounded_rewards("ucb", whose="its " + fields.pop("rests_on")),
        bounds=bounds,
        guarantee=lambda setup: Guarantee("none", "no privacy: the learner sees every reward"),
        held=held_late,
        late=True,
        **fields,
    )
