"""What is told of finished results: prices, shares, what single users send, V against regret; and rare refusals."""

import math

import numpy as np
import pytest
from helpers import refused

from bandit_core import Experiment, simulate
from bandit_core.auditing.runs import first_users, messages
from bandit_core.data import lending
from bandit_core.data.observations import Option
from bandit_core.simulation.results import Result, baseline, best_share_at_end, scale, summaries
from bandit_core.simulation.store import Store
from bandit_core.spec.budgets import Lognormal
from bandit_core.spec.rewards import MAX_OBSERVED, Empirical
from bandit_core.studies.sweep import experiment_of, points, spread_thresholds
from bandit_core.theory import threshold

LINES = [
    {"policy": "ucb"},
    {"policy": "kl-ucb"},
    {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1.0}},
    {"policy": "kl-ucb-cf", "epsilon": {"kind": "fixed", "value": 1.0}},
]
ARMS = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)]


@pytest.fixture(scope="module")
def result() -> Result:
    experiment = Experiment.model_validate({"arms": ARMS, "lines": LINES, "horizon": 2000, "trials": 8})
    return simulate(experiment, store=Store(None, 2**24))


def test_a_price_is_a_ratio_to_the_best_line_without_privacy(result):
    rows = summaries(result)
    assert [baseline(result.experiment, line) for line in range(4)] == [None, None, 0, 1]
    assert math.isnan(rows[0].price) and math.isnan(rows[0].price_stderr)
    free = min(result.lines[number].regret[:, -1].mean() for number in (0, 1))
    for line in (2, 3):
        ends = (result.lines[line].regret[:, -1].mean(), free)
        assert rows[line].price == pytest.approx(ends[0] / ends[1])
        assert rows[line].regret == pytest.approx(ends[0]) and rows[line].price_stderr > 0
    proved = [row for row in rows if not math.isnan(row.bound)]
    assert proved and all(0 < row.regret_over_bound < 1 for row in proved)


def test_the_last_half_counts_best_pulls_after_the_middle(result):
    for line in result.lines:
        middle = int(np.searchsorted(result.times, 1000))
        won = (line.best_pulls[:, -1] - line.best_pulls[:, middle]).mean()
        assert best_share_at_end(line, result.times) == pytest.approx(won / (2000 - result.times[middle]))
    one = simulate(result.experiment.with_changes(horizon=1), store=Store(None, 2**20))
    assert 0 <= best_share_at_end(one.lines[0], one.times) <= 1


def test_quantities_are_regret_over_their_scale(result):
    times = result.times.astype(float)
    assert (scale(result, 0, "regret") == 1).all()
    np.testing.assert_array_equal(scale(result, 0, "regret-per-user"), times)
    np.testing.assert_allclose(scale(result, 0, "regret-per-log")[times > 1], np.log(times[times > 1]))
    best = min(result.lines[:2], key=lambda line: line.mean[-1])
    for line in range(4):
        np.testing.assert_array_equal(np.nan_to_num(scale(result, line, "price")), np.nan_to_num(best.mean))
    only = Result(result.experiment, result.times, (None, None, *result.lines[2:]))
    assert scale(only, 2, "price") is None
    assert [row.line for row in summaries(only)] == [2, 3] and math.isnan(summaries(only)[0].price)
    alone = simulate(result.experiment.with_changes(lines=LINES[2:3]), store=Store(None, 2**22))
    assert scale(alone, 0, "price") is None and baseline(alone.experiment, 0) is None


def test_v_and_regret_stand_beside_each_other():
    law = Lognormal(median=1, sigma=1)
    thresholds = spread_thresholds(law, 3)
    assert len(thresholds) == 3 and (np.diff(thresholds) > 0).all()
    base = Experiment.model_validate({"arms": ARMS, "lines": LINES, "horizon": 300, "trials": 2})
    checked = experiment_of(base, law, thresholds)
    table = points(simulate(checked, store=Store(None, 2**22)))
    assert list(table.policy) == ["heldp-ucb-l"] * 3 + ["heldp-ucb-b"] * 3 + ["heldp-ucb-bw"]
    np.testing.assert_allclose(table.eps_min, [*thresholds, *thresholds, 0.0])
    assert (table.v > 0).all() and (table.regret >= 0).all()
    assert dict(zip(table.eps_min[3:6], table.v[3:6], strict=True)) == {x: threshold.v_b(law, x) for x in thresholds}
    assert table.v[6] == threshold.v_w(law) < table.v[3:6].min()
    discrete = Experiment.model_validate(
        {"arms": ARMS, "lines": [{"policy": "heldp-ucb-b", "epsilon": {"kind": "discrete", "values": [0, 0.5, 2, 8]}}]}
    )
    np.testing.assert_array_equal(spread_thresholds(discrete.lines[0].epsilon), [0.5, 2, 8])
    np.testing.assert_array_equal(spread_thresholds(discrete.lines[0].epsilon, 2), [0.5, 8])
    assert points(simulate(base, store=Store(None, 2**22))).policy.tolist() == ["heldp-ucb-b"]


@pytest.mark.parametrize("law", [{"kind": "sphere"}, {"kind": "discrete", "points": 5, "gap": 0.1}])
@pytest.mark.parametrize("structure", ["single", "multi"])
def test_messages_scatter_around_the_truth(law, structure):
    lines = [
        {"policy": name, "epsilon": {"kind": "fixed", "value": 4.0}, "params": params}
        for name, params in (("ldp-ols", {}), ("ldp-sgd", {"gradient_bound": 1.0}))
    ]
    if structure == "multi" and law["kind"] == "discrete":
        law = {"kind": "cube", "half_width": 0.5}
    document = {"dimension": 2, "arms": 3, "law": law, "structure": structure}
    experiment = Experiment.model_validate({"contexts": document, "lines": lines, "horizon": 10, "trials": 1})
    users = first_users(experiment.contexts, 0, 4000)
    assert users.arms[:4].tolist() == [0, 1, 2, 0]
    for line in range(2):
        sent = messages(experiment, line, users)
        off = (sent.sent - sent.truth).mean(axis=0)
        assert (np.abs(off) < 5 * sent.spread / math.sqrt(4000)).all()
        assert (sent.matrices is not None) == (sent.policy == "ldp-ols")
    assert 0.5 < sent.side < 1


def test_more_observations_than_a_law_holds_keep_their_frequencies():
    counts = np.array([3 * MAX_OBSERVED + 1, 2 * MAX_OBSERVED, 1])
    law = Option("a", np.array([0.0, 0.5, 1.0]), counts).arm()
    assert isinstance(law, Empirical) and sum(law.counts) == MAX_OBSERVED
    assert law.expected == pytest.approx(float(np.array([0.0, 0.5, 1.0]) @ counts / counts.sum()), abs=2e-6)


def test_a_table_with_too_little_to_fit_is_refused():
    table = lending.Table(("x", "one"), np.ones((3, 2)), np.array([0.0, 0, 1]), np.array([0.0, 1, 0]), ("a", "b"))
    with refused("action b", value=1):
        lending.contexts_of(table)
    numbers = lending.Table(("x", "one"), np.ones((3, 2)), np.array([0.0, 1, 2]), np.array([0.0, 1, 0]))
    for prices, path, value in (([1.0], "prices", [1.0]), ([1.0, 2.0], "rows", 3)):
        with refused(path, value=value):
            lending.contexts_of(numbers, prices)
    with refused("features"):
        lending.read_table("x.csv", [], "a", "r")
