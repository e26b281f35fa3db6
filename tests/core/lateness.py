"""Experiments whose rewards are counted late, and which arms a run of them shows."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from bandit_core import Experiment
from bandit_core.model import Signal, run_kernel
from bandit_core.spec.feedback import Feedback

COINS = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.4, 0.6)]
UNIT = [
    {"kind": "beta", "a": 2.0, "b": 1.0},
    {"kind": "two-point", "low": 0.125, "high": 0.75, "p_high": 0.4},
    {"kind": "empirical", "values": [0.25, 0.5, 0.875]},
]
LATENESS = [(1, 0), (1, 7), (10, 0), (10, 3), (25, 60), (1000, 1000)]


def experiment_of(*given, arms=COINS, horizon=400, batch=1, delay=0, **fields) -> Experiment:
    late = {"feedback": {"batch": batch, "delay": delay}}
    return Experiment.model_validate(
        {"arms": arms, "lines": list(given), "horizon": horizon, "trials": 3, **late, **fields}
    )


def arms_pulled(call, rows, horizon) -> np.ndarray:
    """The arm of every user, shape (trials, users): regret that adds up the numbers of the arms tells it."""
    rewards, *rest = call.arguments
    message = replace(call, arguments=(rewards._replace(gaps=np.arange(call.arms, dtype=float)), *rest))
    block = run_kernel(message, rows, np.arange(1, horizon + 1), Signal())
    return np.diff(block.regret, axis=1, prepend=0.0).astype(int)


class Immediate(Feedback):
    """Batch 1 and delay 0, sent through the loop for late feedback nevertheless."""

    immediate: ClassVar[bool] = False
