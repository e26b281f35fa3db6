"""Kernels against slow references: the same draws must pull the same arms, in the same order."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import reference
from lateness import Immediate

from bandit_core import Experiment
from bandit_core.kernels import index, kl
from bandit_core.kernels.streams import streams
from bandit_core.model import RunSetup, Signal, Stopped, run_kernel
from bandit_core.policies import index_family, kl_ucb
from bandit_core.spec.feedback import IMMEDIATE

FIXED = {"kind": "fixed", "value": 1.0}
GROUPS = {"kind": "discrete", "values": [0.0, 0.5, 2.0, 8.0], "probs": [0.1, 0.3, 0.4, 0.2]}
BELL = {"kind": "clamped-gaussian", "mean": 1.0, "sd": 1.0, "low": 0.0, "high": 3.0}
SPREAD = {"kind": "lognormal", "median": 1.0, "sigma": 1.0}

ONE = [{"kind": "bernoulli", "mean": 0.6}]
TWO = [{"kind": "bernoulli", "mean": 0.4}, {"kind": "bernoulli", "mean": 0.6}]
TIES = [{"kind": "bernoulli", "mean": 0.5, "count": 5}]
SURE = [{"kind": "bernoulli", "mean": 1.0}, {"kind": "bernoulli", "mean": 0.0}, {"kind": "bernoulli", "mean": 1.0}]
MANY = [{"kind": "bernoulli", "mean": round(0.3 + 0.008 * place, 3)} for place in range(50)]
UNIT = [
    {"kind": "beta", "a": 2.0, "b": 1.0},
    {"kind": "beta", "a": 1.0, "b": 3.0},
    {"kind": "beta", "a": 0.5, "b": 2.5},
    {"kind": "uniform", "low": 0.25, "high": 0.75},
    {"kind": "two-point", "low": 0.125, "high": 0.75, "p_high": 0.4},
    {"kind": "empirical", "values": [0.25, 0.5, 0.875]},
    {"kind": "bernoulli", "mean": 0.5},
]
WIDE = [
    {"kind": "gaussian", "mean": 0.5, "sd": 1.0},
    {"kind": "pareto", "mean": 1.0, "shape": 2.5},
    {"kind": "uniform", "low": -1.0, "high": 2.0},
    {"kind": "beta", "a": 2.0, "b": 3.0},
    {"kind": "two-point", "low": -3.0, "high": 2.0, "p_high": 0.75},
    {"kind": "empirical", "values": [-1.0, 0.5, 4.0]},
]


class Numbered(RunSetup):
    """An instance whose regret tells which arms were pulled: the gaps are unrelated roots, the same for no two arms."""

    @property
    def gaps(self) -> np.ndarray:
        return np.sqrt(2.0 + np.arange(len(self.arms)))


def instance_of(policy: str, arms: list[dict], epsilon: dict | None, horizon: int, **params):
    """(registry entry, numbered instance) of one line."""
    line = {"policy": policy, "params": params} | ({"epsilon": epsilon} if epsilon else {})
    experiment = Experiment.model_validate({"version": 1, "arms": arms, "lines": [line], "horizon": horizon})
    plain = experiment.setups[0]
    return experiment.lines[0].entry, Numbered(plain.arms, plain.epsilon, plain.parameters, horizon)


def compare_with_reference(policy, arms, epsilon, horizon, trials=2, seed=7, feedback=IMMEDIATE, **params) -> None:
    """Every single pull (checkpoints at every step), and long runs between few checkpoints."""
    entry, instance = instance_of(policy, arms, epsilon, horizon, **params)
    instance = replace(instance, feedback=feedback)
    rows = streams(seed, 0, trials)
    every_step = np.arange(1, horizon + 1)
    few = np.unique([1, max(1, horizon // 3), horizon])
    dense = entry.play(instance, rows, every_step, Signal())
    sparse = entry.play(instance, rows, few, Signal())
    for trial in range(trials):
        steps = np.diff(dense.regret[trial], prepend=0.0)
        pulled = np.abs(steps[:, None] - instance.gaps).argmin(axis=1)
        mixed_bits = policy in ("heldp-ucb-b", "heldp-ucb-bs") and instance.epsilon.fixed is None
        near_one = policy == "kl-ucb" and arms is UNIT  # indices closer to 1 than a double can tell
        options = {"played": pulled} if mixed_bits or near_one else {}
        expected = np.array(reference.pulled_arms(policy, instance, rows[trial], **options))
        np.testing.assert_array_equal(pulled, expected)
        counts = np.bincount(expected, minlength=len(instance.arms))
        np.testing.assert_array_equal(dense.pulls[trial], counts)
        np.testing.assert_array_equal(sparse.pulls[trial], counts)
        np.testing.assert_allclose(sparse.regret[trial], np.cumsum(instance.gaps[expected])[few - 1], rtol=1e-12)


INDEX_CASES = [
    ("ucb", ONE, None, 1, {}),
    ("ucb", ONE, None, 50, {}),
    ("ucb", TWO, None, 1, {}),
    ("ucb", TWO, None, 2000, {}),
    ("ucb", TIES, None, 1500, {}),
    ("ucb", SURE, None, 300, {"alpha": 0.5}),
    ("ucb", UNIT, None, 600, {}),
    ("ucb", WIDE, None, 600, {}),
    ("ucb", MANY, None, 30, {}),
    ("ucb", MANY, None, 600, {}),
    ("ucb-cf", ONE, FIXED, 20, {}),
    ("ucb-cf", TWO, FIXED, 1500, {}),
    ("ucb-cf", TIES, {"kind": "fixed", "value": 0.2}, 800, {}),
    ("ucb-cf", UNIT, FIXED, 600, {}),
    ("ucb-cf", MANY, FIXED, 400, {}),
    *[(policy, TWO, FIXED, 1, {}) for policy in ("heldp-ucb-b", "heldp-ucb-bs", "heldp-ucb-l", "heldp-ucb-ls")],
    *[(policy, ONE, GROUPS, 60, {}) for policy in ("heldp-ucb-b", "heldp-ucb-l")],
    *[
        (policy, arms, epsilon, 500, {"eps_min": eps_min})
        for policy in ("heldp-ucb-b", "heldp-ucb-l")
        for arms in (TWO, TIES, UNIT, MANY)
        for epsilon, eps_min in ((FIXED, "auto"), (GROUPS, 0.5), (GROUPS, 2.0), (BELL, 0.75), (SPREAD, 0.5))
    ],
    *[
        (policy, WIDE, epsilon, 400, {"eps_min": eps_min})
        for policy in ("heldp-ucb-bs", "heldp-ucb-ls")
        for epsilon, eps_min in ((FIXED, "auto"), (GROUPS, 0.5), (SPREAD, 0.5))
    ],
]


@pytest.mark.parametrize("vectorised", [True, False], ids=["vectorised", "tournament"])
@pytest.mark.parametrize(("policy", "arms", "epsilon", "horizon", "params"), INDEX_CASES)
def test_index_policies_pull_what_the_reference_pulls(monkeypatch, vectorised, policy, arms, epsilon, horizon, params):
    monkeypatch.setattr(index, "vectorised_wins", lambda arms, horizon: vectorised)
    compare_with_reference(policy, arms, epsilon, horizon, **params)


@pytest.mark.parametrize(
    ("policy", "arms", "epsilon", "horizon"),
    [
        ("kl-ucb", ONE, None, 30),
        ("kl-ucb", TWO, None, 1),
        ("kl-ucb", TWO, None, 800),
        ("kl-ucb", TIES, None, 400),
        ("kl-ucb", SURE, None, 200),
        ("kl-ucb", UNIT, None, 300),
        ("kl-ucb", MANY, None, 120),
        ("kl-ucb-cf", ONE, FIXED, 30),
        ("kl-ucb-cf", TWO, FIXED, 800),
        ("kl-ucb-cf", TWO, {"kind": "fixed", "value": 0.1}, 500),
        ("kl-ucb-cf", TWO, {"kind": "fixed", "value": 8.0}, 500),
        ("kl-ucb-cf", TIES, FIXED, 400),
        ("kl-ucb-cf", SURE, {"kind": "fixed", "value": 2.0}, 300),
        ("kl-ucb-cf", UNIT, FIXED, 300),
        ("kl-ucb-cf", MANY, {"kind": "fixed", "value": 3.0}, 120),
    ],
)
def test_kl_policies_pull_what_the_reference_pulls(policy, arms, epsilon, horizon):
    compare_with_reference(policy, arms, epsilon, horizon)


@pytest.mark.parametrize(
    ("policy", "arms", "epsilon", "horizon"),
    [
        ("thompson", ONE, None, 1),
        ("thompson", TWO, None, 500),
        ("thompson", TIES, None, 200),
        ("thompson", UNIT, None, 200),
        ("thompson", MANY, None, 60),
        ("ts-cf", TWO, FIXED, 500),
        ("ts-cf", UNIT, FIXED, 200),
        ("ts-cf", MANY, FIXED, 60),
    ],
)
def test_posterior_policies_with_every_draw_pull_what_the_reference_pulls(policy, arms, epsilon, horizon):
    """Also of such a run is the law of one with few draws, see test_posterior.py."""
    compare_with_reference(policy, arms, epsilon, horizon, feedback=Immediate())


LARGE = [{"kind": "bernoulli", "mean": round(0.2 + 0.6 * (37 * place % 300) / 300, 4)} for place in range(300)]


@pytest.mark.parametrize(
    ("policy", "arms", "epsilon", "horizon", "params"),
    [
        ("ucb", LARGE, None, 6000, {}),
        ("ucb", TIES, None, 60_000, {}),
        ("ucb", UNIT, None, 30_000, {"alpha": 0.3}),
        ("ucb-cf", LARGE, FIXED, 4000, {}),
        ("heldp-ucb-b", LARGE, GROUPS, 4000, {"eps_min": 0.5}),
        ("heldp-ucb-b", TWO, BELL, 60_000, {"eps_min": 0.75}),
        ("heldp-ucb-b", TIES, FIXED, 60_000, {}),
        ("heldp-ucb-l", LARGE, FIXED, 4000, {}),
        ("heldp-ucb-l", TWO, GROUPS, 60_000, {"eps_min": 2.0}),
        ("heldp-ucb-ls", WIDE, SPREAD, 20_000, {"eps_min": 0.5}),
    ],
)
def test_both_samplers_agree_bit_for_bit(monkeypatch, policy, arms, epsilon, horizon, params):
    entry, instance = instance_of(policy, arms, epsilon, horizon, **params)
    times = np.unique(np.geomspace(1, horizon, 40).round().astype(np.int64))
    blocks = []
    for vectorised in (True, False):
        monkeypatch.setattr(index, "vectorised_wins", lambda arms, horizon, chosen=vectorised: chosen)
        blocks.append(entry.play(instance, streams(3, 0, 5), times, Signal()))
    for name in ("regret", "best_pulls", "pulls"):
        np.testing.assert_array_equal(getattr(blocks[0], name), getattr(blocks[1], name))


@pytest.mark.parametrize(
    "wrong", [{"per_pull": 2.1}, {"per_pull": 2.0, "clock": index.KL_CLOCK}, {"per_pull": 2.0, "forced": 1.0}]
)
def test_a_wrong_index_is_noticed(wrong):
    """The comparison above has teeth: slightly wrong constants pull other arms."""
    _, instance = instance_of("ucb", TWO, None, 2000)
    times = np.array([500, 2000])
    right = run_kernel(index_family.prepare(instance, per_pull=2.0), streams(7, 0, 2), times, Signal())
    other = run_kernel(index_family.prepare(instance, **wrong), streams(7, 0, 2), times, Signal())
    expected = reference.pulled_arms("ucb", instance, streams(7, 0, 1)[0])
    np.testing.assert_array_equal(right.pulls[0], np.bincount(expected, minlength=2))
    assert (other.pulls != right.pulls).any()


def test_the_order_of_the_arms_does_not_decide_where_every_index_is_at_its_end():
    """At a small epsilon the indices of kl-UCB-CF stay at 1 for long; the quantile behind that end breaks the tie."""
    regrets = []
    for means in ([0.9, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.9]):
        arms = [{"kind": "bernoulli", "mean": mean} for mean in means]
        experiment = Experiment.model_validate(
            {"arms": arms, "lines": [{"policy": "kl-ucb-cf", "epsilon": {"kind": "fixed", "value": 0.2}}]}
        )
        block = run_kernel(kl_ucb.prepare(experiment.setups[0]), streams(0, 0, 40), np.array([1000, 5000]), Signal())
        regrets.append(block.regret[:, -1])
    spread = math.hypot(*(values.std(ddof=1) / math.sqrt(len(values)) for values in regrets))
    assert abs(regrets[0].mean() - regrets[1].mean()) < 4 * spread


def full_scan(instance, words, horizon: int) -> list[int]:
    """kl-UCB(-CF) that solves for every arm at every step, with the kernel's own function for one index."""
    stream = reference.Stream(words)
    c = math.tanh(instance.epsilon.value / 2) if instance.epsilon else 1.0
    borders = (0.0, kl.bar_at(1.0))
    ones, counts, pulled = [0.0] * len(instance.arms), [0.0] * len(instance.arms), []
    for t in range(1, horizon + 1):
        arm = t - 1
        if t > len(instance.arms):
            level = reference.f(t)
            arm = reference.first_largest(
                [kl.index(s / n, n, level, *borders) for s, n in zip(ones, counts, strict=True)]
            )
        pulled.append(arm)
        counts[arm] += 1
        ones[arm] += stream.uniform() < 0.5 + c * (instance.means[arm] - 0.5)
    return pulled


@pytest.mark.parametrize("epsilon", [None, 0.1, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("arms", [TIES, MANY[::5]], ids=["ties", "ten"])
def test_lazy_kl_indices_decide_as_a_full_scan(arms, epsilon):
    policy = "kl-ucb" if epsilon is None else "kl-ucb-cf"
    horizon = 8000
    entry, instance = instance_of(policy, arms, epsilon and {"kind": "fixed", "value": epsilon}, horizon)
    rows = streams(11, 0, 1)
    block = entry.play(instance, rows, np.array([1000, horizon]), Signal())
    expected = reference.by_labels(instance, rows[0], lambda here, words: full_scan(here, words, horizon))
    np.testing.assert_array_equal(block.pulls[0], np.bincount(expected, minlength=len(instance.arms)))
    np.testing.assert_allclose(block.regret[0, 0], instance.gaps[expected[:1000]].sum(), rtol=1e-12)


def test_kl_quantiles_solve_their_equation():
    grid = itertools.product(
        [0.0, 1e-6, 0.01, 0.3, 0.5, 0.9, 0.999, 1 - 1e-7], [1e-8, 1e-5, 1e-3, 0.05, 0.5, 3.0, 20.0]
    )
    for mean, budget in grid:
        q = kl.upper_quantile(mean, budget)
        assert mean < q <= 1
        assert q == pytest.approx(reference.largest_q(mean, 1, budget, 0.0, 1.0), abs=2e-10 if budget < 1e-7 else 1e-11)


def test_a_kl_index_where_nothing_is_possible():
    low, high = 0.4, 0.6
    borders = (low, kl.bar_at(high))
    assert kl.index(0.9, 1000.0, 5.0, *borders) == high  # far above what any mean explains
    assert kl.index(0.1, 1000.0, 5.0, *borders) == low  # far below
    assert low < kl.index(0.45, 100.0, 1.0, *borders) < high
    assert kl.index(0.45, 1.0, 5.0, *borders) == high  # everything is still possible


@pytest.mark.parametrize("policy", ["ucb", "kl-ucb", "thompson"])
@pytest.mark.parametrize("vectorised", [True, False])
def test_a_signal_counts_steps_and_stops(monkeypatch, policy, vectorised):
    monkeypatch.setattr(index, "vectorised_wins", lambda arms, horizon: vectorised)
    entry, instance = instance_of(policy, TWO, None, 300)
    signal, rows, times = Signal(), streams(0, 0, 40), np.array([1, 10, 300])
    before = rows.copy()
    entry.play(instance, rows, times, signal)
    assert signal.steps == 40 * 300
    np.testing.assert_array_equal(rows, before)  # streams are not used up: playing again gives the same trials
    stopped = Signal()
    stopped.stop()
    with pytest.raises(Stopped):
        entry.play(instance, rows, times, stopped)
    assert 0 < stopped.steps < 40 * 300
