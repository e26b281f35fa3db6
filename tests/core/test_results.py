"""Checkpoints, the straight-line fit, summaries of trials and the tidy frame."""

import json
import math
import re

import numpy as np
import pytest
from helpers import experiment_of
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from bandit_core import Experiment, simulate
from bandit_core.experiments.experiment import View, checkpoints
from bandit_core.simulation import sentences
from bandit_core.simulation.results import CURVE_COLUMNS, FINAL_COLUMNS, LineResult, Result, band, interval, linear_fit


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
    assert linear_fit(x, 3 * x - 2) == pytest.approx((3, -2, 1))
    y = np.array([1.0, 3.0, 2.0, 8.0])
    slope, intercept, r_squared = linear_fit(x, y)
    assert (slope, intercept) == pytest.approx(tuple(np.polyfit(x, y, 1)))
    assert r_squared == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)


@pytest.mark.parametrize("x", [[], [1.0], [2.0, 2.0]])
def test_linear_fit_without_a_line_is_nan(x):
    assert all(math.isnan(number) for number in linear_fit(np.array(x), np.ones(len(x))))


def test_linear_fit_through_a_flat_line_has_no_r_squared():
    slope, intercept, r_squared = linear_fit(np.array([1.0, 2.0]), np.array([5.0, 5.0]))
    assert (slope, intercept) == pytest.approx((0, 5))
    assert math.isnan(r_squared)


def line_of(regret, trials=None):
    regret = np.array(regret, float)
    trials = np.arange(len(regret)) if trials is None else np.array(trials)
    return LineResult(trials, regret, np.zeros_like(regret), np.zeros((len(regret), 2)))


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
    curves = Result(EXPERIMENT, checkpoints(3), (None, line_of(regret))).curves
    assert tuple(curves.columns) == CURVE_COLUMNS
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
    empty = Result(EXPERIMENT, checkpoints(3), (None, None))
    assert tuple(empty.curves.columns) == CURVE_COLUMNS
    assert empty.curves.empty
    assert not empty.complete


def test_one_trial_has_no_error():
    line = line_of([[1.0, 2.0]])
    assert np.isnan(line.std).all()
    assert np.isnan(line.stderr).all()
    assert list(line.quantile(0.95)) == [1, 2]


def test_metadata_is_enough_to_get_the_numbers_again():
    data = Result(EXPERIMENT, checkpoints(3), (None, None)).metadata
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
    assert tuple(final.columns) == FINAL_COLUMNS
    ends = result.curves.groupby("line").tail(1)
    np.testing.assert_array_equal(final[["regret", "stderr"]], ends[["mean", "stderr"]])
    for row, line in zip(final.itertuples(), result.lines, strict=True):
        assert (row.low, row.high) == tuple(interval(line.regret[:, -1]))
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
    result = Result(EXPERIMENT.with_changes(lines=lines, trials=12), np.array([3]), tuple(runs))
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
    low, high = band(line, "middle-90")
    np.testing.assert_allclose((low, high), np.quantile(line.regret, [0.05, 0.95], axis=0))
    np.testing.assert_array_equal(band(line, "range"), [[0, 1], [2, 8]])
    theirs = ttest_1samp(line.regret[:, 0], 0).confidence_interval(0.95)  # no skewness: Student's
    skewed = interval(line.regret[:, 1])
    expected = ((theirs.low, skewed.low), (theirs.high, skewed.high))
    np.testing.assert_allclose(band(line, "interval-95"), expected)
    for kind, share in (("half-sd", 0.5), ("quarter-sd", 0.25)):
        width = share * math.sqrt((9 + 1 + 16) / 2)  # around the mean 4, two degrees of freedom
        np.testing.assert_allclose(band(line, kind), [[1 - share, 4 - width], [1 + share, 4 + width]])


def test_an_experiment_and_its_result_are_short_in_a_notebook():
    result = simulate(small := Experiment.model_validate(SHORT))
    assert len(repr(small)) < 120 and "ucb" in repr(small) and "2 of 2 trials" in repr(result)
    shown = result._repr_html_()  # private: what a notebook asks for
    assert f"<td>{result.final['regret'][0]:.4g}</td>" in shown
    assert "<li>UCB</li>" in small._repr_html_()  # private, too


SHORT = {"arms": [{"kind": "bernoulli", "mean": m} for m in (0.9, 0.1)], "lines": [{"policy": "ucb"}], "trials": 2}
