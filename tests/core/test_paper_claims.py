"""Verdicts on statements of papers: each kind can hold, fail and stay undecided; the data say nothing impossible."""

from __future__ import annotations

import numpy as np
import pytest

from bandit_core import Experiment, claims, papers, reproductions
from bandit_core.papers import Figure
from bandit_core.presets import load_preset
from bandit_core.problems import InvalidInput, validated

TIMES = [1, 10, 100, 1000, 5000, 10_000]
ARMS = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5}]
LUCK = np.linspace(-2, 2, 25)


def line(mean, wide=1.0, price=None, luck=LUCK):
    """A line whose mean at each of ``TIMES`` is given; runs differ by ``wide`` times some luck."""
    mean = np.array(mean, float)
    spread = wide * luck
    error = spread.std(ddof=1) / np.sqrt(len(spread))
    numbers = {
        "mean": mean.tolist(),
        "stderr": [error] * len(mean),
        "q05": mean.tolist(),
        "q95": mean.tolist(),
        "early": (mean[3] + spread).tolist(),
        "final": (mean[-1] + spread).tolist(),
    }
    if price is not None:
        numbers |= {"price": list(price), "price_stderr": [0.01] * len(mean)}
    return {"trials": len(luck), **numbers}


@pytest.fixture
def judge(tmp_path):
    """Write a file with these lines and judge one statement about it."""

    def run(claim, *lines, spec=None, name="figure"):
        spec = spec or [
            {"policy": "ucb"},
            {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1.0}},
            {"policy": "heldp-ucb-l", "epsilon": {"kind": "fixed", "value": 1.0}},
        ]
        experiment = Experiment.model_validate(
            {"arms": ARMS, "lines": spec[: len(lines)], "horizon": TIMES[-1], "trials": len(LUCK)}
        )
        made = {"seconds": 1, "processor_seconds": 1}
        content = {"format": 1, "name": name, "made": made, "seed": 0, "spec": experiment.spec(), "t": TIMES}
        reproductions.write({**content, "lines": list(lines)}, tmp_path)
        statement = {"says": "something.", **claim}
        figure = validated(
            Figure, {"name": name, "title": "t", "shows": "s", "presets": ["figure"], "claims": [statement]}
        )
        [verdict] = claims.verdicts(figure, tmp_path)
        return verdict

    return run


def rising(end):
    return np.array([0.01, 0.1, 0.3, 0.6, 0.9, 1.0]) * end


RATIO = {"kind": "ratio", "line": "heldp-ucb-b", "reported": 2.0, "half": 0.05}


@pytest.mark.parametrize(
    ("price", "held"),
    [
        ([1, 1, 1, 1, 2.2, 2.4], "not held"),  # met only before half of the horizon
        ([1, 1, 1, 1, 1.8, 2.2], "held"),
        ([1, 1, 1, 1, 2.07, 2.07], "held"),  # within the error and the rounding
        ([1, 1, 1, 1, 2.09, 2.09], "not held"),
    ],
)
def test_a_reported_ratio(judge, price, held):
    verdict = judge(RATIO, line(rising(100)), line(rising(200), price=price))
    assert verdict.held == held
    assert verdict.reported == "2" and verdict.measured == f"{price[-1]:.3f} ± 0.010"


def test_less_is_taken_run_by_run_within_a_file(judge):
    pair = {"kind": "less", "pairs": [["ucb", "heldp-ucb-b"]]}
    # Runs spread over 400, but every run of the second line loses 3 or 4 more than the same run of the first.
    close = LUCK + 0.005 * (np.arange(25) % 2)
    assert judge(pair, line(rising(1000), 100), line(rising(1003), 100, luck=close)).held == "held"
    assert judge(pair, line(rising(1003), 100), line(rising(1000), 100, luck=close)).held == "not held"
    assert judge(pair, line(rising(1000), 100), line(rising(1003), 100, luck=LUCK[::-1])).held == "not decided"


def test_several_pairs_hold_only_together(judge):
    chain = {"kind": "less", "rising": ["ucb", "heldp-ucb-b", "heldp-ucb-l"]}
    lines = [line(rising(end), luck=np.roll(LUCK, place)) for place, end in enumerate((100, 200, 300))]
    assert judge(chain, *lines).measured == "2 of 2 comparisons clearly so"
    assert judge(chain, *lines).held == "held"
    equal = line(rising(200), luck=np.roll(LUCK, 7))
    assert judge(chain, lines[0], lines[1], equal).held == "not decided"
    verdict = judge(chain, lines[0], lines[2], lines[1])
    assert verdict.held == "not held" and "1 clearly the other way round" in verdict.measured


def test_less_at_a_time_of_its_own(judge):
    pair = {"kind": "less", "pairs": [["ucb", "heldp-ucb-b"]], "at": 55}
    early, late = [1, 2, 30, 40, 50, 60], [1, 9, 60, 70, 80, 90]
    verdict = judge(pair, line(early), line(late))
    assert verdict.held == "held" and "UCB 16.00 ± " in verdict.detail  # half way from 2 to 30


def test_less_across_files_takes_their_errors_as_independent(judge):
    judge({"kind": "unchecked", "why": "only to write the file"}, line(rising(900)), name="other")
    pair = {"kind": "less", "pairs": [["other/ucb", "figure/ucb"]]}
    verdict = judge(pair, line(rising(1000)))
    assert verdict.held == "held" and "other: UCB" in verdict.detail
    assert judge(pair, line(rising(900.3))).held == "not decided"


def test_the_straight_line_and_the_best_threshold(judge):
    values, chosen = (0.2, 1.0, 2.0, 100.0), {"kind": "discrete", "values": [0.0, 0.2, 1.0, 2.0, 100.0]}
    spec = [
        {"policy": "heldp-ucb-b", "epsilon": chosen, "params": {"eps_min": value}, "label": f"{value:g}"}
        for value in values
    ]
    base = Experiment.model_validate({"arms": ARMS, "lines": spec, "horizon": 10, "trials": 2})
    v = [claims.MECHANISMS["heldp-ucb-b"][1](one.epsilon, one.parameters.eps_min) for one in base.instances]
    straight = {"kind": "straight", "reported": 0.9977, "at_least": 0.99}
    exact = [line(rising(50 + 100 * value), luck=np.roll(LUCK, place)) for place, value in enumerate(v)]
    verdict = judge(straight, *exact, spec=spec)
    assert (verdict.held, verdict.measured) == ("held", "R² = 1.0000")
    assert judge(straight, *exact[::-1], spec=spec).held == "not held"
    assert judge({"kind": "threshold"}, *exact, spec=spec).held == "held"
    assert judge({"kind": "threshold"}, *exact[::-1], spec=spec).held == "not held"
    level = [line(rising(500), luck=np.roll(LUCK, place)) for place in range(4)]
    assert judge({"kind": "threshold"}, *level, spec=spec).held == "not decided"


def test_ahead_early_and_behind_later(judge):
    crossing = {"kind": "crossing", "line": "ucb", "other": "heldp-ucb-b", "after": 10, "before": 1000}
    one, other = line([0, 1, 10, 100, 500, 900]), line([0, 5, 50, 200, 300, 400], luck=np.roll(LUCK, 5))
    assert judge(crossing, one, other).held == "held"
    assert judge(crossing, other, one).held == "not held"
    assert judge(crossing, line([0, 1, 10, 100, 200, 300]), other).held == "not held"
    assert judge(crossing, line([0, 1, 10, 100, 300, 400.2]), other).held == "not decided"


@pytest.mark.parametrize(
    ("ends", "wide", "held"),
    [
        ([0, 5, 50, 60, 70, 80], 1, "held"),
        ([0, 5, 50, 60, 70, 120], 1, "not held"),
        ([0, 5, 50, 60, 70, 90], 100, "not decided"),  # one lost run can hide anything
    ],
)
def test_a_gap_that_stays(judge, ends, wide, held):
    base = line([0, 1, 10, 20, 30, 40])
    gap = {"kind": "gap", "line": "dp-ucb-int", "other": "ucb"}
    spec = [{"policy": "ucb"}, {"policy": "dp-ucb-int", "epsilon": {"kind": "fixed", "value": 1.0}}]
    assert judge(gap, base, line(ends, wide, luck=np.roll(LUCK, 9)), spec=spec).held == held


def test_a_gap_of_which_too_little_is_seen(judge):
    spec = [{"policy": "ucb"}, {"policy": "dp-ucb-int", "epsilon": {"kind": "fixed", "value": 0.02}}]
    gap = {"kind": "gap", "line": "dp-ucb-int", "other": "ucb"}
    verdict = judge(gap, line(rising(50)), line(rising(500)), spec=spec)
    assert verdict.held == "not decided" and "too late" in verdict.detail


def test_best_and_worst_run(judge):
    narrow = {"kind": "spread", "lines": ["ucb"], "below": 10}
    wide = {"kind": "spread", "lines": ["ucb"], "reaches": 100}
    assert judge(narrow, line(rising(500), 1)).held == "held"
    assert judge(narrow, line(rising(500), 50)).held == "not held"
    assert judge(wide, line(rising(500), 50)).held == "held"
    assert judge(wide, line(rising(500), 1)).held == "not held"
    assert judge(wide, line(rising(500), 50)).measured == "200 (25 runs)"


def test_a_limit_is_supported_or_left_open_but_never_refuted(judge):
    growth = {"kind": "growth", "line": "ucb", "at_most": 0.75}
    assert judge(growth, line([1, 10, 90, 100, 200, 300], 0.1)).held == "held"  # 10 times the users, 3 times the regret
    verdict = judge(growth, line([1, 10, 90, 100, 700, 1000], 0.1))
    assert verdict.held == "not decided" and verdict.measured.startswith("exponent 1.0")


def test_what_is_missing_or_unchecked_says_so(judge):
    verdict = judge({"kind": "less", "pairs": [["ucb", "nobody/ucb"]]}, line(rising(1)))
    assert verdict.held == "not checked" and "nobody has not been computed" in verdict.measured
    verdict = judge({"kind": "unchecked", "why": "no time."}, line(rising(1)))
    assert (verdict.held, verdict.measured) == ("not checked", "no time.")


def test_a_statement_about_no_line_is_a_mistake_of_ours(judge):
    with pytest.raises(LookupError, match="means 0 lines"):
        judge({"kind": "less", "pairs": [["ucb", "kl-ucb"]]}, line(rising(1)))


def test_a_shipped_ratio_agrees_with_one_computed_from_its_runs():
    file = reproductions.load("ren-1c")
    base, bits = file.lines[0].final, file.lines[1].final
    [verdict] = [each for each in claims.verdicts(papers.figures()["ren-1c"]) if each.reported == "1.6"]
    ratio = bits.mean() / base.mean()
    error = (bits - ratio * base).std(ddof=1) / np.sqrt(len(base)) / base.mean()
    assert verdict.measured == claims.with_error(ratio, error)


# ---------------------------------------------------------------------------------------------------------------
# The data


@pytest.mark.parametrize("figure", papers.figures().values(), ids=lambda figure: figure.name)
def test_every_statement_can_be_judged_and_speaks_plainly(figure):
    assert figure.claims and (figure.presets or figure.page)
    assert all(load_preset(name) for name in figure.presets)
    for claim, verdict in zip(figure.claims, claims.verdicts(figure), strict=True):
        assert verdict.says.endswith(".") and verdict.measured
        assert (verdict.held == "not checked") == (claim.kind == "unchecked")
        assert verdict.detail or claim.kind == "unchecked"


def test_papers_stand_in_order_and_figures_are_told_apart():
    places = [paper.place for paper in papers.papers()]
    assert places == sorted(set(places)) and len(papers.papers()) == 11
    names = [figure.name for paper in papers.papers() for figure in paper.figures]
    assert len(names) == len(set(names)) and papers.paper_of("tossou-2b").year == 2016


def test_a_mistake_in_the_data_is_told_with_its_place(tmp_path, monkeypatch):
    (tmp_path / "odd.toml").write_text('place = "first"\nshort = "Odd"\n', encoding="utf-8")
    monkeypatch.setattr(papers, "FOLDER", tmp_path)
    with pytest.raises(InvalidInput) as refusal:
        papers.papers.__wrapped__()
    assert {"place", "figures"} <= {problem.path.rpartition(".")[2] for problem in refusal.value.problems}


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (72.57, 0.52, "72.6 ± 0.5"),
        (1.7213, 0.0123, "1.721 ± 0.012"),
        (-135_634, 176_096, "-140,000 ± 180,000"),
        (185_625_568, 1_590_110, "(185.6 ± 1.6) million"),
        (3.5, 0.0, "3.5"),
        (1234.5, float("nan"), "1,234"),
    ],
)
def test_numbers_have_the_digits_that_their_error_allows(value, error, text):
    assert claims.with_error(value, error) == text
