"""Shared by the policies with a KL index: from an instance to its kernel's numbers."""

from __future__ import annotations

import math

from bandit_core.kernels import kl
from bandit_core.kernels.records import rewards_of
from bandit_core.mechanisms import CTB
from bandit_core.model import KernelCall, RunSetup


def prepare(setup: RunSetup) -> KernelCall:
    """The kernel; behind randomised response if the instance has an epsilon."""
    release, epsilon = kl.REWARDS, math.inf
    if setup.epsilon is not None:
        assert setup.epsilon.fixed is not None
        release, epsilon = kl.BITS, setup.epsilon.fixed
    # The index of kl-UCB-CF ends at 1, and at a small epsilon every arm stays there for long: ties among arms at that
    # end are broken by the quantile that the end cuts off, not by the order of the arms. Hence no end at all here.
    low, high = 0.0, 1.0
    rewards = rewards_of(setup, CTB.mean(setup.means, epsilon))
    return KernelCall(kl.by_index, (rewards, release, low, high), len(setup.arms))


def cost(setup: RunSetup) -> float:
    """Rough time of one pull relative to one of ``ucb``: once all arms are played, a bound for each, and some roots."""
    arms = len(setup.arms)
    return 1.0 + 0.2 * arms * max(0.0, 1 - arms / setup.horizon)
