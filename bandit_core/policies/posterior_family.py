"""Shared by the policies that sample from beta posteriors: from an instance to a block of trials."""

from __future__ import annotations

import math

import numpy as np

from bandit_core.kernels import posterior
from bandit_core.mechanisms import CTB
from bandit_core.model import Block, Instance, Signal, Stopped


def play(instance: Instance, streams: np.ndarray, checkpoints: np.ndarray, signal: Signal) -> Block:
    """Play one trial per stream; behind randomised response if the instance has an epsilon.

    Raises
    ------
    Stopped
        When the signal asked for a stop.
    """
    trials, arms = len(streams), len(instance.arms)
    epsilon = math.inf
    if instance.epsilon is not None:
        assert instance.epsilon.fixed is not None
        epsilon = instance.epsilon.fixed
    regret = np.zeros((trials, len(checkpoints)))
    best_pulls = np.zeros_like(regret)
    pulls = np.zeros((trials, arms))
    posterior.play(
        streams.copy(), CTB.mean(instance.means, epsilon), instance.gaps, checkpoints,
        regret, best_pulls, pulls, signal.cells,
    )  # fmt: skip
    if signal.stopped:
        raise Stopped
    return Block(regret, best_pulls, pulls)


def cost(instance: Instance) -> float:
    """Rough time of one pull relative to one of ``ucb``: a draw for every arm."""
    return 1.0 + 1.6 * len(instance.arms)
