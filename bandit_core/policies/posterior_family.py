"""Shared by the policies that sample from beta posteriors: from an instance to its kernel's numbers."""

from __future__ import annotations

import math

from bandit_core.kernels import posterior
from bandit_core.mechanisms import CTB
from bandit_core.model import KernelCall, RunSetup


def prepare(setup: RunSetup) -> KernelCall:
    """The kernel; behind randomised response if the instance has an epsilon."""
    epsilon = math.inf
    if setup.epsilon is not None:
        assert setup.epsilon.fixed is not None
        epsilon = setup.epsilon.fixed
    return KernelCall(posterior.thompson, (CTB.mean(setup.means, epsilon), setup.gaps), len(setup.arms))


def cost(setup: RunSetup) -> float:
    """Rough time of one pull relative to one of ``ucb``: a draw for every arm."""
    return 1.0 + 1.6 * len(setup.arms)
