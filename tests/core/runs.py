"""Experiments of one line, also with rewards that are counted late, and the arms that their runs pull."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

from bandit_core import Experiment
from bandit_core.kernels.batch_rule import BatchRule
from bandit_core.kernels.streams import streams
from bandit_core.model import RunSetup, Signal, run_kernel
from bandit_core.policies import registry
from bandit_core.spec.feedback import Feedback


def coins(*means: float) -> list[dict]:
    """An arm that pays 0 or 1 for each of the means."""
    return [{"kind": "bernoulli", "mean": mean} for mean in means]


COINS, FIVE = coins(0.9, 0.4, 0.6), coins(0.625, 0.75, 0.5, 0.375, 0.25)
LADDER = ("se", "dp-se", "dist-dp-se", "dist-rdp-se", "shuffle-se", "ldp-se")
GROUPS = {"kind": "discrete", "values": [0.0, 0.5, 2.0, 8.0], "probs": [0.1, 0.3, 0.4, 0.2]}
SPREAD = {"kind": "lognormal", "median": 1.0, "sigma": 1.0}
UNIT = [
    {"kind": "beta", "a": 2.0, "b": 1.0},
    {"kind": "two-point", "low": 0.125, "high": 0.75, "p_high": 0.4},
    {"kind": "empirical", "values": [0.25, 0.5, 0.875]},
]
ONE = [{"kind": "bernoulli", "mean": 0.6}]
TWO = [{"kind": "bernoulli", "mean": 0.4}, {"kind": "bernoulli", "mean": 0.6}]
TIES = [{"kind": "bernoulli", "mean": 0.5, "count": 5}]
SURE = [{"kind": "bernoulli", "mean": 1.0}, {"kind": "bernoulli", "mean": 0.0}, {"kind": "bernoulli", "mean": 1.0}]
MANY = [{"kind": "bernoulli", "mean": round(0.3 + 0.008 * place, 3)} for place in range(50)]
LAWS = [
    {"kind": "beta", "a": 2.0, "b": 1.0},
    {"kind": "beta", "a": 1.0, "b": 3.0},
    {"kind": "beta", "a": 0.5, "b": 2.5},
    {"kind": "uniform", "low": 0.25, "high": 0.75},
    {"kind": "two-point", "low": 0.125, "high": 0.75, "p_high": 0.4},
    {"kind": "empirical", "values": [0.25, 0.5, 0.875]},
    {"kind": "bernoulli", "mean": 0.5},
]
LATENESS = [(1, 0), (1, 7), (10, 0), (10, 3), (25, 60), (1000, 1000)]


def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw every reward by itself, also where one draw for a batch would do."""
    call = BatchRule.call
    monkeypatch.setattr(BatchRule, "call", lambda rule, setup, numbers, at_once=True: call(rule, setup, numbers, False))


def experiment_of(*given, arms=COINS, horizon=400, batch=1, delay=0, **fields) -> Experiment:
    late = {"feedback": {"batch": batch, "delay": delay}}
    return Experiment.model_validate(
        {"arms": arms, "lines": list(given), "horizon": horizon, "trials": 3, **late, **fields}
    )


def one_line(policy, arms=COINS, epsilon=1.0, horizon=400, batch=1, delay=0, trials=1, seed=0, **params) -> Experiment:
    """An experiment of one line; ``epsilon`` is a number or a distribution, left out where there is none."""
    line = {"policy": policy, "params": params}
    if registry()[policy].epsilon != "none":
        line["epsilon"] = epsilon if isinstance(epsilon, dict) else {"kind": "fixed", "value": epsilon}
    return experiment_of(line, arms=arms, horizon=horizon, batch=batch, delay=delay, trials=trials, seed=seed)


class Numbered(RunSetup):
    """An instance whose regret tells which arms were pulled: the gaps are unrelated roots, the same for no two arms."""

    @property
    def gaps(self) -> np.ndarray:
        return np.sqrt(2.0 + np.arange(len(self.arms)))


def instance_of(*given, **params):
    """(registry entry, numbered instance) of one line, as `one_line` takes it."""
    experiment = one_line(*given, **params)
    plain = experiment.setups[0]
    numbered = Numbered(plain.arms, plain.epsilon, plain.parameters, plain.horizon, feedback=plain.feedback)
    return experiment.lines[0].entry, numbered


def assert_pulls(play: Callable, instance: Numbered, rows, expected_of: Callable) -> None:
    """Every pull (checkpoints at every step), and a run between few checkpoints, are those of ``expected_of``.

    It is given the words of a trial and the arms pulled, which only a reference that cannot know all decisions takes.
    """
    every, few = np.arange(1, instance.horizon + 1), np.unique([1, max(1, instance.horizon // 3), instance.horizon])
    dense, sparse = (play(instance, rows, times, Signal()) for times in (every, few))
    for trial, words in enumerate(rows):
        pulled = np.abs(np.diff(dense.regret[trial], prepend=0.0)[:, None] - instance.gaps).argmin(axis=1)
        expected = np.array(expected_of(words, pulled))
        np.testing.assert_array_equal(pulled, expected)
        for block in (dense, sparse):
            np.testing.assert_array_equal(block.pulls[trial], np.bincount(expected, minlength=len(instance.arms)))
        np.testing.assert_allclose(sparse.regret[trial], np.cumsum(instance.gaps[expected])[few - 1], rtol=1e-12)


def arms_pulled(call, rows, horizon) -> np.ndarray:
    """The arm of every user, shape (trials, users): regret that adds up the numbers of the arms tells it."""
    rewards, *rest = call.arguments
    message = replace(call, arguments=(rewards._replace(gaps=np.arange(call.arms, dtype=float)), *rest))
    block = run_kernel(message, rows, np.arange(1, horizon + 1), Signal())
    return np.diff(block.regret, axis=1, prepend=0.0).astype(int)


class Immediate(Feedback):
    """Batch 1 and delay 0, sent through the loop for late feedback nevertheless."""

    immediate: ClassVar[bool] = False


def looped(instance: RunSetup) -> RunSetup:
    """The same through the loop for late feedback, also where nothing is late."""
    return replace(instance, feedback=Immediate()) if instance.feedback.immediate else instance


def final_pulls(policy, arms, epsilon, horizon, trials, seed=0, **params) -> np.ndarray:
    entry, instance = instance_of(policy, arms, epsilon, horizon, **params)
    return entry.play(instance, streams(seed, 0, trials), np.array([horizon]), Signal()).pulls


def same_law(one: np.ndarray, other: np.ndarray) -> float:
    """Smallest p-value over the arms of a Kolmogorov-Smirnov test on their pulls."""
    return min(stats.ks_2samp(mine, theirs, method="asymp").pvalue for mine, theirs in zip(one.T, other.T, strict=True))
