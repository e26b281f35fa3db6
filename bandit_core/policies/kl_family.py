"""Shared by the policies with a KL index: from an instance to a block of trials."""

from __future__ import annotations

import math

import numpy as np

from bandit_core.kernels import kl
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
    table, values = setup.tables
    release, epsilon = kl.REWARDS, math.inf
    if setup.epsilon is not None:
        assert setup.epsilon.fixed is not None
        release, epsilon = kl.BITS, setup.epsilon.fixed
    # The index of kl-UCB-CF ends at 1, and at a small epsilon every arm stays there for long: ties among arms at that
    # end are broken by the quantile that the end cuts off, not by the order of the arms. Hence no end at all here.
    low, high = 0.0, 1.0
    regret = np.zeros((trials, len(checkpoints)))
    best_pulls = np.zeros_like(regret)
    pulls = np.zeros((trials, arms))
    kl.play(
        streams.copy(), table, values, CTB.mean(setup.means, epsilon), release, low, high, setup.gaps,
        checkpoints, regret, best_pulls, pulls, signal.cells,
    )  # fmt: skip
    if signal.stopped:
        raise Stopped
    return Block(regret, best_pulls, pulls)


def cost(setup: RunSetup) -> float:
    """Rough time of one pull relative to one of ``ucb``: once all arms are played, a bound for each, and some roots."""
    arms = len(setup.arms)
    return 1.0 + 0.2 * arms * max(0.0, 1 - arms / setup.horizon)
