"""The loop over trials and checkpoints, and what a kernel notes at them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from bandit_core.jit.decorators import inline_loop, inlined
from bandit_core.kernels.labels import relabel_arms
from bandit_core.kernels.records import Rewards
from bandit_core.model import Record

STOPPED = -1  # in place of the next checkpoint


@inlined
def write_checkpoint(record: Record, trial: int, place: int, pulled: np.ndarray, gaps: np.ndarray) -> None:
    """Note what so many pulls of each arm have lost, and how many were of best arms."""
    lost, good = 0.0, 0.0
    for arm in range(gaps.shape[0]):
        lost += pulled[arm] * gaps[arm]
        if gaps[arm] == 0.0:
            good += pulled[arm]
    record.regret[trial, place] = lost
    record.best_pulls[trial, place] = good


@inlined
def allows(record: Record, trial: int, arm: int) -> bool:
    """Whether an arm is one. What is none, or stands for a mistake, is noted for `run_kernel`, and no run goes on."""
    if 0 <= arm < record.pulls.shape[1]:
        return True
    record.pulls[trial, 0], record.regret[trial, 0] = np.nan, arm
    return False


@inlined
def should_stop(record: Record, place: int, trials: int) -> bool:
    """Count the steps of ``trials`` trials that have come to the checkpoint at ``place``; whether to give up now."""
    before = record.checkpoints[place - 1] if place > 0 else 0
    record.signal[1] += trials * (record.checkpoints[place] - before)
    return record.signal[0] != 0


@inlined
def write_pulls(record: Record, trial: int, order: np.ndarray, pulled: np.ndarray) -> None:
    """Note the pulls of a whole trial under the arms that labels stand for."""
    for label in range(order.shape[0]):
        record.pulls[trial, order[label]] = pulled[label]


@inlined
def next_window(window: int, length: int, done: int) -> int:
    """Pulls until the next look at other arms: twice as many after a whole window, as few as a run that broke off."""
    if done < length:
        return done
    return 2 * window if length == window else window


@inline_loop
def play_trials(
    start: Callable[..., Any],
    play: Callable[..., int],
    game: Any,
    state: np.ndarray,
    rewards: Rewards,
    record: Record,
) -> None:
    """Play one trial per row of ``state``, filling the record at the checkpoints.

    ``game.rewards`` receives the ``rewards`` in the order of the trial's labels. ``start(number)`` gives so many arms
    of which nothing is known; their ``pulled`` has the pulls so far. ``play(game, arms, first, last, window, state,
    trial)`` plays pulls ``first`` to ``last`` and gives back its next ``window``, which is 1 at first.
    """
    order = np.empty(rewards.table.shape[0], np.int64)
    for trial in range(state.shape[0]):
        relabel_arms(state, trial, rewards, order, game.rewards)
        arms = start(rewards.table.shape[0])
        window = 1
        done = 0
        for place in range(record.checkpoints.shape[0]):
            until = record.checkpoints[place]
            window = play(game, arms, done + 1, until, window, state, trial)
            done = until
            write_checkpoint(record, trial, place, arms.pulled, game.rewards.gaps)
            if should_stop(record, place, 1):
                return
        write_pulls(record, trial, order, arms.pulled)
