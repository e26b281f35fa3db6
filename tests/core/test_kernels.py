"""Kernels against slow references: the same draws must pull the same arms, in the same order."""

import itertools

import numpy as np
import pytest
import reference
from runs import GROUPS, LAWS, MANY, ONE, SPREAD, SURE, TIES, TWO, assert_pulls, instance_of, looped

from bandit_core.kernels import index, kl
from bandit_core.kernels.streams import streams
from bandit_core.model import Signal

FIXED = {"kind": "fixed", "value": 1.0}
BELL = {"kind": "clamped-gaussian", "mean": 1.0, "sd": 1.0, "low": 0.0, "high": 3.0}

WIDE = [
    {"kind": "gaussian", "mean": 0.5, "sd": 1.0},
    {"kind": "pareto", "mean": 1.0, "shape": 2.5},
    {"kind": "uniform", "low": -1.0, "high": 2.0},
    {"kind": "beta", "a": 2.0, "b": 3.0},
    {"kind": "two-point", "low": -3.0, "high": 2.0, "p_high": 0.75},
    {"kind": "empirical", "values": [-1.0, 0.5, 4.0]},
]


def compare_with_reference(policy, arms, epsilon, horizon, late=False, **params) -> None:
    """Every single pull (checkpoints at every step), and long runs between few checkpoints."""
    entry, instance = instance_of(policy, arms, epsilon, horizon, **params)
    mixed_bits = policy in ("heldp-ucb-b", "heldp-ucb-bs", "heldp-ucb-bw") and instance.epsilon.fixed is None
    near_one = policy == "kl-ucb" and arms is LAWS  # indices closer to 1 than a double can tell

    def expected(words, pulled):
        options = {"played": pulled} if mixed_bits or near_one else {}
        return reference.pulled_arms(policy, instance, words, **options)

    assert_pulls(entry.play, looped(instance) if late else instance, streams(7, 0, 2), expected)


INDEX_CASES = [
    ("ucb", ONE, None, 1, {}),
    ("ucb", ONE, None, 50, {}),
    ("ucb", TWO, None, 1, {}),
    ("ucb", TWO, None, 2000, {}),
    ("ucb", TIES, None, 1500, {}),
    ("ucb", SURE, None, 300, {"alpha": 0.5}),
    ("ucb", LAWS, None, 600, {}),
    ("ucb", WIDE, None, 600, {}),
    ("ucb", MANY, None, 30, {}),
    ("ucb", MANY, None, 600, {}),
    ("ucb-cf", ONE, FIXED, 20, {}),
    ("ucb-cf", TWO, FIXED, 1500, {}),
    ("ucb-cf", TIES, {"kind": "fixed", "value": 0.2}, 800, {}),
    ("ucb-cf", LAWS, FIXED, 600, {}),
    ("ucb-cf", MANY, FIXED, 400, {}),
    *[(policy, TWO, FIXED, 1, {}) for policy in ("heldp-ucb-b", "heldp-ucb-bs", "heldp-ucb-l", "heldp-ucb-ls")],
    *[(policy, ONE, GROUPS, 60, {}) for policy in ("heldp-ucb-b", "heldp-ucb-l")],
    *[
        (policy, arms, epsilon, 500, {"eps_min": eps_min})
        for policy in ("heldp-ucb-b", "heldp-ucb-l")
        for arms in (TWO, TIES, LAWS, MANY)
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
        ("kl-ucb", TIES, None, 2000),
        ("kl-ucb", SURE, None, 200),
        ("kl-ucb", LAWS, None, 300),
        ("kl-ucb", MANY, None, 120),
        ("kl-ucb-cf", ONE, 1.0, 30),
        ("kl-ucb-cf", TWO, 1.0, 800),
        ("kl-ucb-cf", TWO, 0.1, 500),
        ("kl-ucb-cf", TWO, 8.0, 500),
        ("kl-ucb-cf", TIES, 0.5, 2000),
        ("kl-ucb-cf", SURE, 2.0, 300),
        ("kl-ucb-cf", LAWS, 1.0, 300),
        ("kl-ucb-cf", MANY, 3.0, 120),
        ("thompson", ONE, None, 1),
        ("thompson", TWO, None, 500),
        ("thompson", TIES, None, 200),
        ("thompson", LAWS, None, 200),
        ("thompson", MANY, None, 60),
        *[
            (policy, arms, epsilon, 200)
            for policy in ("heldp-ucb-bw", "heldp-ucb-lw")
            for arms, epsilon in ((TWO, GROUPS), (TIES, SPREAD), (LAWS, BELL), (LAWS, FIXED), (MANY, GROUPS))
        ],
        ("ts-cf", TWO, 1.0, 500),
        ("ts-cf", LAWS, 1.0, 200),
        ("ts-cf", MANY, 1.0, 60),
    ],
)
def test_other_policies_pull_what_the_reference_pulls(policy, arms, epsilon, horizon):
    """Thompson sampling with every draw: of such a run is the law of one with few draws, see test_posterior.py."""
    compare_with_reference(policy, arms, epsilon, horizon, late=policy in ("thompson", "ts-cf"))


LARGE = [{"kind": "bernoulli", "mean": round(0.2 + 0.6 * (37 * place % 300) / 300, 4)} for place in range(300)]


@pytest.mark.parametrize(
    ("policy", "arms", "epsilon", "horizon", "params"),
    [
        ("ucb", LARGE, None, 6000, {}),
        ("ucb", TIES, None, 60_000, {}),
        ("ucb", LAWS, None, 30_000, {"alpha": 0.3}),
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
