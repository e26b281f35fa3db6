"""The checks of what papers claim: their verdicts on invented curves, and small runs of their own."""

import numpy as np
import pytest

from bandit_core import load_preset
from bandit_core.results import LineResult
from benchmarks import claims_han
from benchmarks import claims_tossou as claims

TIMES = np.array([1, 100, 1000, 10_000, 100_000])
NOISE = np.random.default_rng(0).normal(0, 1, (50, 1))  # the same luck at all times and for every policy


def runs(*means):
    return claims.Runs(TIMES, np.array(means, float) + NOISE)


PANEL = {
    "ucb": runs(0, 10, 20, 30, 40),
    "dp-ucb-int": runs(1, 50, 60, 70, 80),
    "dp-ucb": runs(1, 60, 90, 200, 900),
    "dp-ucb-bound": runs(1, 90, 190, 290, 300),
    "private-ucb": runs(1, 95, 900, 3000, 9000),
}


def verdicts(**changes):
    panel = PANEL | {name.replace("_", "-"): each for name, each in changes.items()}
    return [verdict.held for verdict in claims.judge(panel, start=100, runs=50, two_arms=True)]


def test_every_claim_can_hold_and_the_spread_of_private_ucb_is_part_of_one():
    wide = claims.Runs(TIMES, PANEL["private-ucb"].regret + np.linspace(0, 800, 50)[:, None])
    assert verdicts(private_ucb=wide) == [True] * 5
    assert verdicts() == [True, True, True, False, True]


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (0, {"dp_ucb_int": runs(1, 50, 60, 70, 400)}),
        (1, {"dp_ucb_int": runs(1, 50, 60, 70, 90)}),
        (2, {"dp_ucb": runs(1, 60, 90, 200, 250)}),
        (2, {"dp_ucb": runs(1, 95, 195, 300, 900)}),
        (3, {"dp_ucb_int": claims.Runs(TIMES, PANEL["dp-ucb-int"].regret + np.linspace(0, 700, 50)[:, None])}),
        (4, {"dp_ucb": runs(1, 60, 90, 200, 9500)}),
    ],
)
def test_every_claim_can_fail(number, changes):
    assert verdicts(**changes)[number] is False


def test_a_panel_is_played_with_the_settings_asked_for():
    preset = load_preset("tossou-2a").with_changes(horizon=2000, trials=3)
    experiment = claims.with_settings(preset, "as printed", "as printed")
    assert claims.kept(experiment, "dp-ucb-bound") == "ε = 2"
    assert claims.kept(experiment, "dp-ucb-int").startswith("ε = 2.94, δ = 4.5e-05")
    assert [line.params.get("index") for line in experiment.lines] == [None, None, "as printed", "as printed", None]
    panel, start = claims.play(experiment, more=4)
    assert {name: len(each.final) for name, each in panel.items()} == {
        "ucb": 4, "dp-ucb-int": 4, "dp-ucb": 3, "dp-ucb-bound": 3, "private-ucb": 3,
    }  # fmt: skip
    assert 32 <= start <= 200  # twice the first release, which comes after 2 x 16 pulls
    assert len(claims.judge(panel, start, 3, two_arms=True)) == len(claims.CLAIMS)


def invented(lower, upper):
    """Two lines of eight trials whose final regrets are these."""
    return [
        LineResult(np.arange(8), np.array(each, float)[:, None], *[np.zeros((8, 1))] * 2) for each in (lower, upper)
    ]


EIGHT = np.arange(8.0)


@pytest.mark.parametrize(
    ("lower", "upper", "verdict"),
    [
        (EIGHT, EIGHT + 5 + EIGHT % 2, "held"),
        (EIGHT + 5 + EIGHT % 2, EIGHT, "not held"),
        (EIGHT * [1, 1, 1, 1, 1, 1, 1, 100], EIGHT + 5, "not decided by 8 runs (median agrees)"),
    ],
)
def test_a_comparison_of_han_holds_fails_or_is_not_decided(lower, upper, verdict):
    assert claims_han._verdict(*invented(lower, upper)) == verdict


def test_the_document_on_han_says_what_was_run_and_runs_more_where_it_is_not_decided(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["claims_han", "--horizon", "400", "--trials", "3", "--more", "5"])
    claims_han.main()
    document = capsys.readouterr().out
    assert "Made by `python -m benchmarks.claims_han --horizon 400 --trials 3 --more 5`. T = 400, 3 runs" in document
    rows = [line for line in document.splitlines() if line.startswith("| LDP-") and " below " in line]
    counted = sum(" held |" in row and "not held" not in row for row in rows[:20])
    assert f"**With 3 runs {counted} of 20 comparisons held" in document
    open_ = {tuple(row.split(" | ")[1:3]) for row in rows[:20] if "not decided by 3 runs" in row}
    assert open_  # within 400 users some order cannot be told
    for name, epsilon in open_:
        assert f"### Not decided by 3 runs: {name} at ε = {epsilon} with 5 runs" in document
    assert len(rows) == 20 + 5 * len(open_)
