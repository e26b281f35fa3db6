"""The straight loops that benchmarks compare kernels with: every policy has one, and it plays the same game."""

import numpy as np
import pytest

from bandit_core.kernels.labels import labels
from bandit_core.kernels.streams import streams
from bandit_core.policies import registry
from benchmarks import straight
from benchmarks.bench_registry import apart, prepared, same_pulls, ways
from benchmarks.native import plan_of
from benchmarks.one_by_one import straight_call

HORIZON = 1000
IN_CPP = {
    "index_family": {"ucb", "ucb-cf", "heldp-ucb-b", "heldp-ucb-bs"},
    "divergence_index": {"kl-ucb", "kl-ucb-cf"},
    "beta_posteriors": {"thompson", "ts-cf"},
    "normal_posteriors": {"gaussian-ts"},
}


def both(name, other, trials):
    """Runs of ours and of another way to play the same; in C++ only where there is a compiler."""
    _, line = prepared(registry()[name], HORIZON)
    found = ways(line, HORIZON)
    played = [found.ours, getattr(found, other)]
    if None in played:
        pytest.skip("no compiler for C++")
    return [way(streams(1, 0, trials)) for way in played]


def test_every_policy_has_a_straight_loop():
    functions = {}
    for policy in registry().values():
        _, line = prepared(policy, HORIZON)
        call = straight_call(line)
        assert (call.kernel is not line.call.kernel, call.arms) == (True, line.call.arms), policy.name
        if (plan := plan_of(line.call)) is not None:
            functions.setdefault(plan[0], set()).add(policy.name)
    assert functions == IN_CPP


@pytest.mark.parametrize(
    ("name", "other"), [("ucb", "plain"), ("ucb", "native"), ("heldp-ucb-b", "native"), ("kl-ucb", "native")]
)
def test_straight_loops_pull_the_same_arms(name, other):
    assert same_pulls(*both(name, other, 20)) == 20


@pytest.mark.parametrize(
    ("name", "other"), [("ctb-tt", "plain"), ("adap-tt", "plain"), ("thompson", "native"), ("gaussian-ts", "native")]
)
def test_straight_loops_lose_as_much(name, other):
    mine, others = both(name, other, 3000)
    assert np.all(others[0].sum(axis=1) == HORIZON)
    assert abs(apart(others, mine)) < 4


def test_straight_indices_pull_the_same_arms():
    _, line = prepared(registry()["ucb"], HORIZON)
    rows = streams(1, 0, 20)
    order = labels(rows, line.call.arms)
    pulls = straight.ucb(rows.copy(), line.setup.means[order], HORIZON)
    np.testing.assert_array_equal(pulls, np.take_along_axis(ways(line, HORIZON).ours(rows)[0], order, axis=1))
