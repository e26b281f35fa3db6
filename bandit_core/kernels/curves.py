"""What a kernel notes at a checkpoint."""

from __future__ import annotations

from bandit_core.jit.decorators import inlined


@inlined
def note(pulled, gaps, trial, checkpoint, regret, best_pulls):
    """Note what so many pulls of each arm have lost, and how many of them were of best arms."""
    lost = 0.0
    good = 0.0
    for arm in range(gaps.shape[0]):
        lost += pulled[arm] * gaps[arm]
        if gaps[arm] == 0.0:
            good += pulled[arm]
    regret[trial, checkpoint] = lost
    best_pulls[trial, checkpoint] = good
