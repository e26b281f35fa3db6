"""Shared by the policies that sample from beta posteriors: from an instance to a block of trials."""

from __future__ import annotations

import math

import numpy as np

from bandit_core.kernels import posterior
from bandit_core.mechanisms import CTB
from bandit_core.model import Block, RunSetup, Signal, Stopped


def play(setup: RunSetup, streams: np.ndarray, checkpoints: np.ndarray, signal: Signal) -> Block:
    """Play one trial per stream; behind randomised response if the instance has an epsilon.

    Raises
    ------
    Stopped
        When the signal asked for a stop.
    """
    trials, arms = len(streams), len(setup.arms)
    epsilon = math.inf
    if setup.epsilon is not None:
        assert setup.epsilon.fixed is not None
        epsilon = setup.epsilon.fixed
    regret = np.zeros((trials, len(checkpoints)))
    best_pulls = np.zeros_like(regret)
    pulls = np.zeros((trials, arms))
    posterior.play(
        streams.copy(), CTB.mean(setup.means, epsilon), setup.gaps, checkpoints,
        regret, best_pulls, pulls, signal.cells,
    )  # fmt: skip
    if signal.stopped:
        raise Stopped
    return Block(regret, best_pulls, pulls)


def cost(setup: RunSetup) -> float:
    """Rough time of one pull relative to one of ``ucb``: a draw for every arm."""
    return 1.0 + 1.6 * len(setup.arms)
