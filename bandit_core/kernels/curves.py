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


@inlined
def passed(record, place, trials):
    """Count the steps of ``trials`` trials that have come to the checkpoint at ``place``; whether to give up now."""
    before = record.checkpoints[place - 1] if place > 0 else 0
    record.signal[1] += trials * (record.checkpoints[place] - before)
    return record.signal[0] != 0


@inlined
def note_pulls(record, trial, order, pulled):
    """Note the pulls of a whole trial under the arms that labels stand for."""
    for label in range(order.shape[0]):
        record.pulls[trial, order[label]] = pulled[label]
