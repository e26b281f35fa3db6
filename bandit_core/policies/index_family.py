"""Shared by the policies whose index is mean + width x clock: from an instance to a block of trials."""

from __future__ import annotations

import numpy as np

from bandit_core import arms as laws
from bandit_core.epsilons import Fixed
from bandit_core.kernels import index
from bandit_core.mechanisms.sigmoid import sigmoid
from bandit_core.policies.base import Block, Instance, Signal, Stopped

_NOBODY_HIDES = Fixed(value=1.0)  # stands in where there is no privacy: every response is accepted


def transformed_means(arms: tuple[laws._Law, ...], squash: bool) -> np.ndarray:
    """Mean of what the mechanism is fed with: the reward, or its sigmoid; shape (arms,)."""
    if not squash:
        return np.array([arm.law_mean for arm in arms])
    return np.array([arm.expect(sigmoid) for arm in arms])


def play(
    instance: Instance,
    streams: np.ndarray,
    checkpoints: np.ndarray,
    signal: Signal,
    *,
    release: int = index.RAW,
    squash: bool = False,
    per_pull: float = 0.0,
    per_spread: float = 0.0,
    clock: int = index.PLAIN_CLOCK,
    forced: float = 0.0,
    eps_min: float = 0.0,
) -> Block:
    """Play one trial per stream (see `bandit_core.kernels.index` for the meaning of the numbers).

    Raises
    ------
    Stopped
        When the signal asked for a stop.
    """
    trials, arms = len(streams), len(instance.arms)
    table, values = laws.tables(instance.arms)
    code, form, shares = (instance.epsilon or _NOBODY_HIDES).kernel_form()
    regret = np.zeros((trials, len(checkpoints)))
    best_pulls = np.zeros_like(regret)
    pulls = np.zeros((trials, arms))
    lockstep = index.lockstep_wins(arms, int(checkpoints[-1]))
    sampler = index.lockstep if lockstep else index.tournament
    groups = np.array_split(np.arange(trials), -(-trials // index.LANES) if lockstep else 1)
    squashed_means = transformed_means(instance.arms, squash)
    for group in groups:
        part = slice(group[0], group[-1] + 1)
        sampler(
            streams[part].copy(), table, values, squashed_means, release, squash,
            per_pull, per_spread, clock, forced, code, form, shares, eps_min, instance.gaps, checkpoints,
            regret[part], best_pulls[part], pulls[part], signal.cells,
        )  # fmt: skip
        if signal.stopped:
            raise Stopped
    return Block(regret, best_pulls, pulls)
