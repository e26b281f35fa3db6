"""Could a difference be luck? Paired tests and their correction, against SciPy and against definitions."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import skew, t, ttest_1samp, ttest_rel

from bandit_core import load_preset, simulate
from bandit_core.cli import main
from bandit_core.simulation.results import (
    COMPARISON_COLUMNS,
    LEVEL,
    LineResult,
    differences,
    half_width,
    holm,
    interval,
    interval_of_difference,
    p_value,
)
from bandit_core.spec.errors import InputError


def line_of(final, first_trial=0):
    regret = np.column_stack([np.zeros(len(final)), np.array(final, float)])
    return LineResult(np.arange(len(final)) + first_trial, regret, np.zeros_like(regret), np.zeros((len(final), 2)))


def halls_interval(values, level=0.95):
    """Hall's interval by solving his cubic for its ends, each by bisection."""
    trials, mean, sd = len(values), values.mean(), values.std(ddof=1)
    g = skew(values)
    ends = []
    for z in (t.ppf((1 + level) / 2, trials - 1), t.ppf((1 - level) / 2, trials - 1)):
        reach = z / math.sqrt(trials)
        found = brentq(lambda w: w + g * w**2 / 3 + g**2 * w**3 / 27 + g / (6 * trials) - reach, -99, 99)  # noqa: B023
        ends.append(mean - sd * found)
    return ends


def test_the_interval_is_the_union_of_students_and_halls():
    generator = np.random.default_rng(1)
    for values in (generator.lognormal(size=40), -generator.exponential(1e5, 12), generator.normal(3, 1, 25)):
        for level in (0.8, 0.95, 0.9973):
            low, high = halls_interval(values, level)
            student = ttest_1samp(values, 0).confidence_interval(level)
            found = interval(values, level)
            assert (found.low, found.high) == pytest.approx((min(low, student.low), max(high, student.high)))
            assert p_value(values, found.low) == pytest.approx(1 - level)
            assert p_value(values, found.high) == pytest.approx(1 - level)
    columns = generator.exponential(size=(30, 3)) ** 2
    each = [interval(column) for column in columns.T]
    np.testing.assert_allclose(np.array(interval(columns)).T, each)


def test_an_unskewed_sample_has_students_interval():
    values = np.array([-3.0, -1.0, -0.5, 0.5, 1.0, 3.0])
    student = ttest_1samp(values, 1.0)
    ends = student.confidence_interval(0.95)
    assert tuple(interval(values)) == pytest.approx((ends.low, ends.high))
    assert p_value(values, 1.0) == pytest.approx(student.pvalue)


def test_few_and_equal_runs():
    assert all(math.isnan(end) for end in interval(np.array([5.0]))) and math.isnan(p_value(np.array([5.0])))
    two, student = interval(np.array([1.0, 4.0])), half_width(2) * 1.5
    assert (two.low, two.high) == pytest.approx((2.5 - student, 2.5 + student))
    equal = np.full(7, 0.1)
    assert tuple(interval(equal)) == pytest.approx((0.1, 0.1)) and (p_value(equal, 0.1), p_value(equal)) == (1, 0)
    with pytest.raises(InputError, match=r"values: .*at least one run"):
        interval(np.array([]))
    for level in (0.0, 1.0, -1, math.nan):
        with pytest.raises(InputError, match=r"level: .*strictly between 0 and 1"):
            interval(equal, level)


@pytest.mark.parametrize(
    ("draw", "mean", "trials", "least"),
    [
        (lambda generator, shape: generator.lognormal(size=shape), math.exp(0.5), 50, 0.93),
        (lambda generator, shape: generator.lognormal(size=shape), math.exp(0.5), 200, 0.94),
        (lambda generator, shape: generator.pareto(2.5, shape), 1 / 1.5, 50, 0.90),
        (lambda generator, shape: generator.pareto(2.5, shape), 1 / 1.5, 200, 0.92),
        (lambda generator, shape: generator.normal(size=shape), 0.0, 50, 0.95),
    ],
)
def test_the_interval_covers_the_mean_of_skewed_distributions(draw, mean, trials, least):
    """In at least this share of samples, and more often than Student's; Pareto 2.5 has no third moment."""
    samples = draw(np.random.default_rng(5), (trials, 4000))
    low, high = interval(samples)
    student = half_width(trials) * samples.std(axis=0, ddof=1) / math.sqrt(trials)
    covers = np.mean((low <= mean) & (mean <= high))
    plain = np.mean(np.abs(samples.mean(axis=0) - mean) <= student)
    assert covers >= least - 3 * math.sqrt(least * (1 - least) / 4000)
    assert covers <= 0.97 and covers >= plain


def test_the_interval_of_a_difference_of_independent_groups_covers_it():
    """In at least 94 % of samples of skewed runs of two sizes; turned round it is its own negative."""
    generator = np.random.default_rng(8)
    covered = []
    for _ in range(2_000):
        one, two = generator.exponential(10, 60), generator.lognormal(size=100)
        low, high = interval_of_difference(one, two)
        covered.append(low <= 10 - math.exp(0.5) <= high)
    assert np.mean(covered) >= 0.94 - 3 * math.sqrt(0.94 * 0.06 / 2_000)
    assert interval_of_difference(two, one) == pytest.approx((-high, -low))
    assert np.isnan(interval_of_difference(one, two[:1])).all()


def test_the_paired_test_is_about_the_pairs_that_both_lines_have():
    generator = np.random.default_rng(1)
    one, two = generator.exponential(10, 14), generator.exponential(14, 12)
    pairs, difference, low, high, found = line_of(one).paired_test(line_of(two, first_trial=3))
    apart = one[3:] - two[:11]
    theirs = ttest_rel(one[3:], two[:11])
    assert pairs == 11 and difference == pytest.approx(apart.mean())
    assert (low, high) == pytest.approx(tuple(interval(apart)))
    assert found == pytest.approx(p_value(apart)) and found >= theirs.pvalue
    assert line_of(one).difference(line_of(two, first_trial=3))[2:] == pytest.approx((low, high))
    back = line_of(two, first_trial=3).paired_test(line_of(one))
    assert back == pytest.approx((pairs, -difference, -high, -low, found))
    wide = line_of(1e6 * one).paired_test(line_of(1e6 * two, first_trial=3))
    assert wide == pytest.approx((pairs, 1e6 * difference, 1e6 * low, 1e6 * high, found))


def test_the_interval_of_a_ratio_is_that_of_what_is_left_of_the_pairs():
    generator = np.random.default_rng(4)
    base = generator.exponential(10, 60)
    ours = 1.5 * base + generator.lognormal(size=60)
    low, high = line_of(ours).ratio(line_of(base))[2:]
    ratio = ours.mean() / base.mean()
    rest = interval(ours - ratio * base)
    assert (low, high) == pytest.approx((ratio + rest.low / base.mean(), ratio + rest.high / base.mean()))
    assert low < ratio < high
    assert np.isnan(line_of([1.0]).ratio(line_of([2.0]))[2:]).all()
    assert np.isnan(line_of([1.0, 2.0]).ratio(line_of([0.0, 0.0]))[2:]).all()


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
    assert (frame.p_value >= frame.p_floor).all() and (frame.p_floor == 2.0 ** (1 - frame.pairs)).all()
    out = tmp_path / "compared.parquet"
    assert main(["run", "trust", "--horizon", "500", "--trials", "20", "--compare", "--out", str(out)]) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(out), frame)
