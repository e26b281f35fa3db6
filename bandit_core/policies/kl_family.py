"""Shared by the policies with a KL index: from an instance to a block of trials."""

from __future__ import annotations

import math

import numpy as np

from bandit_core.kernels import kl
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
    table, values = instance.tables
    release, epsilon = kl.REWARDS, math.inf
    if instance.epsilon is not None:
        assert instance.epsilon.fixed is not None
        release, epsilon = kl.BITS, instance.epsilon.fixed
    # The index of kl-UCB-CF ends at 1, and at a small epsilon every arm stays there for long: ties among arms at that
    # end are broken by the quantile that the end cuts off, not by the order of the arms. Hence no end at all here.
    low, high = 0.0, 1.0
    regret = np.zeros((trials, len(checkpoints)))
    best_pulls = np.zeros_like(regret)
    pulls = np.zeros((trials, arms))
    kl.play(
        streams.copy(), table, values, CTB.mean(instance.means, epsilon), release, low, high, instance.gaps,
        checkpoints, regret, best_pulls, pulls, signal.cells,
    )  # fmt: skip
    if signal.stopped:
        raise Stopped
    return Block(regret, best_pulls, pulls)


def cost(instance: Instance) -> float:
    """Rough time of one pull relative to one of ``ucb``: once all arms are played, a bound for each, and some roots."""
    arms = len(instance.arms)
    return 1.0 + 0.2 * arms * max(0.0, 1 - arms / instance.horizon)
