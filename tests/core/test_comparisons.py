"""Could a difference be luck? Paired tests and their correction, against SciPy and against definitions."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from bandit_core import load_preset, simulate
from bandit_core.cli import main
from bandit_core.simulation.comparisons import LEVEL, differences, holm, paired_test
from bandit_core.simulation.results import COMPARISON_COLUMNS, LineResult


def line_of(final, first_trial=0):
    regret = np.column_stack([np.zeros(len(final)), np.array(final, float)])
    return LineResult(np.arange(len(final)) + first_trial, regret, np.zeros_like(regret), np.zeros((len(final), 2)))


def test_the_test_is_scipys_over_the_pairs_that_both_lines_have():
    generator = np.random.default_rng(1)
    one, two = generator.exponential(10, 14), generator.exponential(14, 12)
    pairs, difference, low, high, p_value = paired_test(line_of(one), line_of(two, first_trial=3))
    theirs = ttest_rel(one[3:], two[:11])
    interval = theirs.confidence_interval(0.95)
    assert pairs == 11
    assert difference == pytest.approx(one[3:].mean() - two[:11].mean())
    assert (low, high, p_value) == pytest.approx((interval.low, interval.high, theirs.pvalue))
    back = paired_test(line_of(two, first_trial=3), line_of(one))
    assert back == pytest.approx((pairs, -difference, -high, -low, p_value))
    wide = paired_test(line_of(1e6 * one), line_of(1e6 * two, first_trial=3))
    assert wide == pytest.approx((pairs, 1e6 * difference, 1e6 * low, 1e6 * high, p_value))


def corrected_by_definition(p_values):
    """A test is rejected when Bonferroni rejects each set of tests that it is in (closed testing)."""
    numbers = range(len(p_values))
    sets = [chosen for size in range(1, len(p_values) + 1) for chosen in combinations(numbers, size)]
    worst = [max(len(s) * min(p_values[i] for i in s) for s in sets if number in s) for number in numbers]
    return np.minimum(worst, 1.0)


def test_holms_correction_is_the_closed_test_of_bonferroni():
    generator = np.random.default_rng(2)
    for _ in range(50):
        p_values = (generator.random(5) ** 3).tolist()
        np.testing.assert_allclose(holm(p_values), corrected_by_definition(p_values))
    np.testing.assert_allclose(holm([0.02, math.nan, 0.01]), [0.02, math.nan, 0.02])
    assert holm([]).tolist() == []


def test_equal_lines_are_seldom_called_different_and_few_pairs_never():
    generator = np.random.default_rng(3)
    repeats, wrong = 600, 0
    for _ in range(repeats):
        luck = generator.exponential(5, 12)  # what the lines of a trial have in common
        lines = [line_of(luck + generator.exponential(5, 12)) for _ in range(4)]
        wrong += any(each.clear for each in differences(lines))
    assert wrong / repeats <= LEVEL + 3 * math.sqrt(LEVEL / repeats)
    for pairs in (2, 3, 4, 5):
        [found] = differences([line_of(np.arange(pairs) + 100.0), line_of(1e-3 * np.arange(pairs))])
        assert not found.clear and found.difference > 0


def test_pairs_without_any_spread():
    one = np.arange(8) / 10
    [apart] = differences([line_of(one + 0.3), line_of(one)])
    assert apart.p_value == 2**-7 and apart.clear and math.isnan(apart.low)
    [same] = differences([line_of(one), line_of(one)])
    assert (same.difference, same.p_value) == (0, 1) and not same.clear
    [single] = differences([line_of([1.0]), line_of([2.0])])
    assert math.isnan(single.p_corrected) and not single.clear and single.difference == -1
    assert [(each.first, each.second) for each in differences([line_of(one), None, line_of(one)])] == [(0, 2)]


def test_a_result_tells_clear_differences_and_its_table_is_that_of_the_command(tmp_path):
    experiment = load_preset("trust").with_changes(horizon=500, trials=20)
    frame = simulate(experiment).comparisons
    lines = len(experiment.lines)
    assert tuple(frame.columns) == COMPARISON_COLUMNS
    assert len(frame) == lines * (lines - 1) // 2 and (frame.pairs == 20).all()
    assert (frame.p_corrected >= frame.p_value).all() and (frame.p_corrected <= LEVEL).any()
    out = tmp_path / "compared.parquet"
    assert main(["run", "trust", "--horizon", "500", "--trials", "20", "--compare", "--out", str(out)]) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(out), frame)
