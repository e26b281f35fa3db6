"""Results: checkpoints, fits, summaries, the tidy frame; could a difference be luck; prices and shares."""

import json
import math
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from helpers import experiment_of, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import skew, t, ttest_1samp, ttest_rel

from bandit_core import Experiment, load_preset, simulate
from bandit_core.auditing.runs import first_users, messages
from bandit_core.cli import main
from bandit_core.data import lending
from bandit_core.data.observations import Option
from bandit_core.experiments.experiment import View, checkpoints
from bandit_core.simulation import results, sentences
from bandit_core.simulation.store import Store
from bandit_core.spec.budgets import Lognormal
from bandit_core.spec.errors import InputError
from bandit_core.spec.rewards import MAX_OBSERVED, Empirical
from bandit_core.studies.sweep import experiment_of as checked_experiment
from bandit_core.studies.sweep import points, spread_thresholds
from bandit_core.theory import threshold

# ---------------------------------------------------------------------------------------------------------------------
# Results: checkpoints, fits, summaries, the tidy frame; and could a difference be luck?


# ---------------------------------------------------------------------------------------------------------------------
# Checkpoints, the straight-line fit, summaries of trials and the tidy frame.


@settings(max_examples=200)
@given(st.one_of(st.integers(1, 500), st.integers(1, 10**9), st.sampled_from([10**k for k in range(10)])))
def test_checkpoints_are_increasing_and_end_at_the_horizon(horizon):
    times = checkpoints(horizon)
    assert len(times) == min(horizon, 200)
    assert times[0] == 1
    assert times[-1] == horizon
    assert np.all(np.diff(times) >= 1)


def test_checkpoints_are_evenly_spread_in_the_logarithm():
    steps = np.diff(np.log(checkpoints(10**9)[60:]))
    assert steps.max() < 1.2 * steps.min()


def test_linear_fit_finds_a_line_and_agrees_with_numpy():
    x = np.array([1.0, 2.0, 4.0, 9.0])
    assert results.linear_fit(x, 3 * x - 2) == pytest.approx((3, -2, 1))
    y = np.array([1.0, 3.0, 2.0, 8.0])
    slope, intercept, r_squared = results.linear_fit(x, y)
    assert (slope, intercept) == pytest.approx(tuple(np.polyfit(x, y, 1)))
    assert r_squared == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)


@pytest.mark.parametrize("x", [[], [1.0], [2.0, 2.0]])
def test_linear_fit_without_a_line_is_nan(x):
    assert all(math.isnan(number) for number in results.linear_fit(np.array(x), np.ones(len(x))))


def test_linear_fit_through_a_flat_line_has_no_r_squared():
    slope, intercept, r_squared = results.linear_fit(np.array([1.0, 2.0]), np.array([5.0, 5.0]))
    assert (slope, intercept) == pytest.approx((0, 5))
    assert math.isnan(r_squared)


def line_of(regret, trials=None):
    regret = np.array(regret, float)
    trials = np.arange(len(regret)) if trials is None else np.array(trials)
    return results.LineResult(trials, regret, np.zeros_like(regret), np.zeros((len(regret), 2)))


def test_ratio_takes_its_error_over_pairs_of_trials():
    base = line_of([[1.0], [2.0], [3.0]])
    ratio, error = line_of([[2.0], [4.0], [6.0]]).ratio(base)[:2]
    assert ratio == pytest.approx(2)
    assert error == pytest.approx(0, abs=1e-12)  # every pair has the same ratio: no error at all
    ratio, error = line_of([[6.0], [4.0], [2.0]]).ratio(base)[:2]
    assert ratio == pytest.approx(2)
    assert error == pytest.approx(np.std([4, 0, -4], ddof=1) / np.sqrt(3) / 2)


def test_ratio_uses_only_trials_that_both_lines_have():
    ratio, _ = line_of([[8.0], [100.0]], trials=[1, 7]).ratio(line_of([[1.0], [4.0]], trials=[0, 1]))[:2]
    assert ratio == 2
    assert math.isnan(line_of([[1.0]], trials=[3]).ratio(line_of([[1.0]], trials=[4]))[0])
    assert math.isnan(line_of([[1.0]]).ratio(line_of([[0.0]]))[0])


EXPERIMENT = Experiment.model_validate(
    {
        "arms": [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.1}],
        "lines": [{"policy": "ucb"}, {"policy": "ucb", "params": {"alpha": 0.5}, "label": "bold"}],
        "horizon": 3,
        "trials": 4,
    }
)


def test_curves_hold_one_row_per_line_and_checkpoint():
    regret = np.arange(12.0).reshape(4, 3)
    curves = results.Result(EXPERIMENT, checkpoints(3), (None, line_of(regret))).curves
    assert tuple(curves.columns) == results.CURVE_COLUMNS
    assert list(curves["t"]) == [1, 2, 3]
    assert set(curves["label"]) == {"bold"}
    assert set(curves["line"]) == {1}
    assert list(curves["mean"]) == list(regret.mean(axis=0))
    assert curves["stderr"].to_numpy() == pytest.approx(regret.std(axis=0, ddof=1) / 2)
    assert list(curves["q05"]) == list(np.quantile(regret, 0.05, axis=0))
    assert set(curves["trials"]) == {4}


def test_single_runs_are_one_long_table():
    result = simulate(experiment_of())
    table = result.trials_frame
    line, times = result.lines[1], result.times
    assert len(table) == sum(each.regret.size for each in result.lines)
    mine = table[(table["line"] == 1) & (table["trial"] == line.trials[2])]
    assert mine["t"].tolist() == times.tolist() and mine["regret"].tolist() == line.regret[2].tolist()
    assert mine["best_share"].tolist() == (line.best_pulls[2] / times).tolist()
    means = table[table["t"] == times[-1]].groupby("line")["regret"].mean()
    np.testing.assert_allclose(means, result.final["regret"])
    assert "trials, regret" in repr(line) and len(repr(line)) < 80


def test_a_result_without_trials_is_an_empty_frame_with_its_columns():
    empty = results.Result(EXPERIMENT, checkpoints(3), (None, None))
    assert tuple(empty.curves.columns) == results.CURVE_COLUMNS
    assert empty.curves.empty
    assert not empty.complete


def test_metadata_is_enough_to_get_the_numbers_again():
    data = results.Result(EXPERIMENT, checkpoints(3), (None, None)).metadata
    again = json.loads(json.dumps(data))
    assert Experiment.model_validate(again["spec"]) == EXPERIMENT
    assert again["seed"] == 0
    assert [guarantee["model"] for guarantee in again["guarantees"]] == ["none", "none"]


def test_the_final_table_says_the_same_in_every_form_and_carries_how_it_was_made():
    """Whatever a label holds: rows and columns stay, the comment ends at its end, and its spec gives the same again."""
    label = "50% $x_1$ & {a|b} \\ # ~^ --> end"
    lines = [{"policy": "ucb", "label": label}, {"policy": "dp-ucb", "epsilon": {"kind": "fixed", "value": 1.0}}]
    result = simulate(EXPERIMENT.with_changes(lines=lines, horizon=50))
    final, spec = result.final, result.experiment
    assert tuple(final.columns) == results.FINAL_COLUMNS
    ends = result.curves.groupby("line").tail(1)
    np.testing.assert_array_equal(final[["regret", "stderr"]], ends[["mean", "stderr"]])
    for row, line in zip(final.itertuples(), result.lines, strict=True):
        assert (row.low, row.high) == tuple(results.interval(line.regret[:, -1]))
    comment, begin, *rows = result.to_latex().splitlines()
    assert Experiment.model_validate(json.loads(comment.removeprefix("% "))["spec"]) == spec
    assert begin == r"\begin{tabular}{lp{4cm}lp{4cm}lp{4cm}}" and rows[-1] == r"\end{tabular}" and len(rows) == 4 + 3
    assert r"50\% \$x\_1\$ \& \{a|b\} \textbackslash{} \# \textasciitilde{}\textasciicircum{}" in rows[3]
    assert r"\~\^ --> end (UCB)".replace(r"\~\^", r"\textasciitilde{}\textasciicircum{}") in rows[3]
    assert [len(re.findall(r"(?<!\\)&", row)) for row in rows if "&" in row] == [5, 5, 5]
    assert result.to_latex(comment=False).splitlines() == [begin, *rows]
    assert result.to_markdown().startswith(result.to_markdown(comment=False) + "\n<!-- ")
    table, comment = result.to_markdown().split("\n\n")
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()] == [7] * 4
    assert comment.count("--") == 2 and comment.endswith(" -->\n")
    made = json.loads(comment.removeprefix("<!-- ").removesuffix(" -->\n"))
    assert Experiment.model_validate(made["spec"]) == spec and made["versions"]["private-bandit-lab"]


def test_the_best_of_a_guarantee_is_bold_with_what_a_test_does_not_tell_from_it():
    budget = {"epsilon": {"kind": "fixed", "value": 1.0}}
    names = ("ucb", "dp-ucb", "dp-se", "adap-ucb", "heldp-ucb-b")
    lines = [{"policy": name, **({} if name == "ucb" else budget), "label": name} for name in names]
    low, even, high = ([[20.0 + 10 * (trial % 2) + more] for trial in range(12)] for more in (0, 0, 40))
    even[0][0] += 3  # above the first by luck only
    runs = [line_of(each) for each in (low, high, even, low, low)]
    result = results.Result(EXPERIMENT.with_changes(lines=lines, trials=12), np.array([3]), tuple(runs))
    assert result.best == {2, 3}  # alone with their guarantee are the first and the last
    table = result.to_markdown(comment=False).splitlines()
    assert [row.count("**") for row in table] == [0, 0, 0, 0, 2, 2, 0]
    prices = [row.split(" | ")[-1] for row in table[2:]]
    assert prices[0].startswith("–") and prices[3].startswith("1 ") and "UCB" not in prices[3]
    assert r"\textbf{" in result.to_latex()


def test_the_words_of_a_band_part_thousands():
    view = View(band="middle-90")
    assert sentences.band(1100, view) == "shaded: middle 90% of 1,100 runs"
    assert sentences.band(12000, view, least=1100) == "shaded: middle 90% of 1,100 to 12,000 runs"


def test_bands_are_quantiles_intervals_or_shares_of_a_standard_deviation():
    line = line_of(np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 8.0]]))
    low, high = results.band(line, "middle-90")
    np.testing.assert_allclose((low, high), np.quantile(line.regret, [0.05, 0.95], axis=0))
    np.testing.assert_array_equal(results.band(line, "range"), [[0, 1], [2, 8]])
    theirs = ttest_1samp(line.regret[:, 0], 0).confidence_interval(0.95)  # no skewness: Student's
    skewed = results.interval(line.regret[:, 1])
    expected = ((theirs.low, skewed.low), (theirs.high, skewed.high))
    np.testing.assert_allclose(results.band(line, "interval-95"), expected)
    for kind, share in (("half-sd", 0.5), ("quarter-sd", 0.25)):
        width = share * math.sqrt((9 + 1 + 16) / 2)  # around the mean 4, two degrees of freedom
        np.testing.assert_allclose(results.band(line, kind), [[1 - share, 4 - width], [1 + share, 4 + width]])


def test_an_experiment_and_its_result_are_short_in_a_notebook():
    result = simulate(small := Experiment.model_validate(SHORT))
    assert len(repr(small)) < 120 and "ucb" in repr(small) and "2 of 2 trials" in repr(result)
    shown = result._repr_html_()  # private: what a notebook asks for
    assert f"<td>{result.final['regret'][0]:.4g}</td>" in shown
    assert "<li>UCB</li>" in small._repr_html_()  # private, too


SHORT = {"arms": [{"kind": "bernoulli", "mean": m} for m in (0.9, 0.1)], "lines": [{"policy": "ucb"}], "trials": 2}


# ---------------------------------------------------------------------------------------------------------------------
# Could a difference be luck? Paired tests and their correction, against SciPy and against definitions.


def ending_at(final, first_trial=0):
    regret = np.column_stack([np.zeros(len(final)), np.array(final, float)])
    return results.LineResult(
        np.arange(len(final)) + first_trial, regret, np.zeros_like(regret), np.zeros((len(final), 2))
    )


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
            found = results.interval(values, level)
            assert (found.low, found.high) == pytest.approx((min(low, student.low), max(high, student.high)))
            assert results.p_value(values, found.low) == pytest.approx(1 - level)
            assert results.p_value(values, found.high) == pytest.approx(1 - level)
    columns = generator.exponential(size=(30, 3)) ** 2
    each = [results.interval(column) for column in columns.T]
    np.testing.assert_allclose(np.array(results.interval(columns)).T, each)


def test_few_and_equal_runs():
    assert all(math.isnan(end) for end in results.interval(np.array([5.0]))) and math.isnan(
        results.p_value(np.array([5.0]))
    )
    two, student = results.interval(np.array([1.0, 4.0])), results.half_width(2) * 1.5
    assert (two.low, two.high) == pytest.approx((2.5 - student, 2.5 + student))
    equal = np.full(7, 0.1)
    assert tuple(results.interval(equal)) == pytest.approx((0.1, 0.1)) and (
        results.p_value(equal, 0.1),
        results.p_value(equal),
    ) == (1, 0)
    with pytest.raises(InputError, match=r"values: .*at least one run"):
        results.interval(np.array([]))
    for level in (0.0, 1.0, -1, math.nan):
        with pytest.raises(InputError, match=r"level: .*strictly between 0 and 1"):
            results.interval(equal, level)


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
    low, high = results.interval(samples)
    student = results.half_width(trials) * samples.std(axis=0, ddof=1) / math.sqrt(trials)
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
        low, high = results.interval_of_difference(one, two)
        covered.append(low <= 10 - math.exp(0.5) <= high)
    assert np.mean(covered) >= 0.94 - 3 * math.sqrt(0.94 * 0.06 / 2_000)
    assert results.interval_of_difference(two, one) == pytest.approx((-high, -low))
    assert np.isnan(results.interval_of_difference(one, two[:1])).all()


def test_the_paired_test_is_about_the_pairs_that_both_lines_have():
    generator = np.random.default_rng(1)
    one, two = generator.exponential(10, 14), generator.exponential(14, 12)
    pairs, difference, low, high, found = ending_at(one).paired_test(ending_at(two, first_trial=3))
    apart = one[3:] - two[:11]
    theirs = ttest_rel(one[3:], two[:11])
    assert pairs == 11 and difference == pytest.approx(apart.mean())
    assert (low, high) == pytest.approx(tuple(results.interval(apart)))
    assert found == pytest.approx(results.p_value(apart)) and found >= theirs.pvalue
    assert ending_at(one).difference(ending_at(two, first_trial=3))[2:] == pytest.approx((low, high))
    back = ending_at(two, first_trial=3).paired_test(ending_at(one))
    assert back == pytest.approx((pairs, -difference, -high, -low, found))
    wide = ending_at(1e6 * one).paired_test(ending_at(1e6 * two, first_trial=3))
    assert wide == pytest.approx((pairs, 1e6 * difference, 1e6 * low, 1e6 * high, found))


def test_the_interval_of_a_ratio_is_that_of_what_is_left_of_the_pairs():
    generator = np.random.default_rng(4)
    base = generator.exponential(10, 60)
    ours = 1.5 * base + generator.lognormal(size=60)
    low, high = ending_at(ours).ratio(ending_at(base))[2:]
    ratio = ours.mean() / base.mean()
    rest = results.interval(ours - ratio * base)
    assert (low, high) == pytest.approx((ratio + rest.low / base.mean(), ratio + rest.high / base.mean()))
    assert low < ratio < high
    assert np.isnan(ending_at([1.0]).ratio(ending_at([2.0]))[2:]).all()
    assert np.isnan(ending_at([1.0, 2.0]).ratio(ending_at([0.0, 0.0]))[2:]).all()


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
        np.testing.assert_allclose(results.holm(p_values), corrected_by_definition(p_values))
    np.testing.assert_allclose(results.holm([0.02, math.nan, 0.01]), [0.02, math.nan, 0.02])
    assert results.holm([]).tolist() == []


def test_equal_lines_are_seldom_called_different_and_few_pairs_never():
    generator = np.random.default_rng(3)
    repeats, wrong = 600, 0
    for _ in range(repeats):
        luck = generator.exponential(5, 12)  # what the lines of a trial have in common
        lines = [ending_at(luck + generator.exponential(5, 12)) for _ in range(4)]
        wrong += any(each.clear for each in results.differences(lines))
    assert wrong / repeats <= results.LEVEL + 3 * math.sqrt(results.LEVEL / repeats)
    for pairs in (2, 3, 4, 5):
        [found] = results.differences([ending_at(np.arange(pairs) + 100.0), ending_at(1e-3 * np.arange(pairs))])
        assert not found.clear and found.difference > 0


def test_pairs_without_any_spread():
    one = np.arange(8) / 10
    [apart] = results.differences([ending_at(one + 0.3), ending_at(one)])
    assert apart.p_value == 2**-7 and apart.clear and math.isnan(apart.low)
    [same] = results.differences([ending_at(one), ending_at(one)])
    assert (same.difference, same.p_value) == (0, 1) and not same.clear
    [single] = results.differences([ending_at([1.0]), ending_at([2.0])])
    assert math.isnan(single.p_corrected) and not single.clear and single.difference == -1
    assert [(each.first, each.second) for each in results.differences([ending_at(one), None, ending_at(one)])] == [
        (0, 2)
    ]


def test_a_result_tells_clear_differences_and_its_table_is_that_of_the_command(tmp_path):
    experiment = load_preset("trust").with_changes(horizon=500, trials=20)
    frame = simulate(experiment).comparisons
    lines = len(experiment.lines)
    assert tuple(frame.columns) == results.COMPARISON_COLUMNS
    assert len(frame) == lines * (lines - 1) // 2 and (frame.pairs == 20).all()
    assert (frame.p_corrected >= frame.p_value).all() and (frame.p_corrected <= results.LEVEL).any()
    assert (frame.p_value >= frame.p_floor).all() and (frame.p_floor == 2.0 ** (1 - frame.pairs)).all()
    out = tmp_path / "compared.parquet"
    assert main(["run", "trust", "--horizon", "500", "--trials", "20", "--compare", "--out", str(out)]) == 0
    pd.testing.assert_frame_equal(pd.read_parquet(out), frame)


# ---------------------------------------------------------------------------------------------------------------------
# What is told of finished results: prices, shares, what single users send, V against regret; and rare refusals.


LINES = [
    {"policy": "ucb"},
    {"policy": "kl-ucb"},
    {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1.0}},
    {"policy": "kl-ucb-cf", "epsilon": {"kind": "fixed", "value": 1.0}},
]
ARMS = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)]


@pytest.fixture(scope="module")
def result() -> results.Result:
    experiment = Experiment.model_validate({"arms": ARMS, "lines": LINES, "horizon": 2000, "trials": 8})
    return simulate(experiment, store=Store(None, 2**24))


def test_regret_is_a_share_of_its_proved_bound(result):
    proved = [row for row in results.summaries(result) if not math.isnan(row.bound)]
    assert proved and all(0 < row.regret_over_bound < 1 for row in proved)


def test_the_last_half_counts_best_pulls_after_the_middle(result):
    for line in result.lines:
        middle = int(np.searchsorted(result.times, 1000))
        won = (line.best_pulls[:, -1] - line.best_pulls[:, middle]).mean()
        assert results.best_share_at_end(line, result.times) == pytest.approx(won / (2000 - result.times[middle]))
    one = simulate(result.experiment.with_changes(horizon=1), store=Store(None, 2**20))
    assert 0 <= results.best_share_at_end(one.lines[0], one.times) <= 1


def test_quantities_are_regret_over_their_scale(result):
    times = result.times.astype(float)
    assert (results.scale(result, 0, "regret") == 1).all()
    np.testing.assert_array_equal(results.scale(result, 0, "regret-per-user"), times)
    np.testing.assert_allclose(results.scale(result, 0, "regret-per-log")[times > 1], np.log(times[times > 1]))
    best = min(result.lines[:2], key=lambda line: line.mean[-1])
    for line in range(4):
        np.testing.assert_array_equal(np.nan_to_num(results.scale(result, line, "price")), np.nan_to_num(best.mean))


def test_v_and_regret_stand_beside_each_other():
    law = Lognormal(median=1, sigma=1)
    thresholds = spread_thresholds(law, 3)
    assert len(thresholds) == 3 and (np.diff(thresholds) > 0).all()
    base = Experiment.model_validate({"arms": ARMS, "lines": LINES, "horizon": 300, "trials": 2})
    checked = checked_experiment(base, law, thresholds)
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
