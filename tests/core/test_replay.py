"""Logs with propensities: what everyone would have brought with one option, against the truth and by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from helpers import refused

from bandit_core import cli, read_observations
from bandit_core.data.replay import replayed
from bandit_core.studies.price import price_question

TRUTH = (0.3, 0.4)  # of options a and b, over young and old users together


def logged(rows: int, seed: int) -> pd.DataFrame:
    """Old users like everything more, and are mostly shown a: what was observed of a is too good."""
    draw = np.random.default_rng(seed)
    old = draw.random(rows) < 0.5
    chance_of_a = np.where(old, 0.9, 0.2)
    shows_a = draw.random(rows) < chance_of_a
    mean = np.where(shows_a, 0.3, 0.4) + np.where(old, 0.2, -0.2)
    frame = pd.DataFrame({"arm": np.where(shows_a, "a", "b"), "reward": (draw.random(rows) < mean).astype(int)})
    frame["propensity"] = np.where(shows_a, chance_of_a, 1 - chance_of_a)
    return frame


def test_both_estimates_are_right_and_so_are_their_errors():
    """What was observed is far off; over 300 logs the estimates are centred and as spread as they say."""
    found = []
    for seed in range(300):
        log = logged(500, seed)
        chosen = (log["arm"] == "b").to_numpy().astype(int)
        found.append(replayed("ab", chosen, log["reward"].to_numpy(float), log["propensity"].to_numpy()))
    for place, truth in enumerate(TRUTH):
        mine = [each[place] for each in found]
        assert abs(np.mean([each.observed for each in mine]) - truth) > 0.08
        for name in ("inverse", "normalised"):
            values = np.array([getattr(each, name) for each in mine])
            errors = np.array([getattr(each, f"{name}_stderr") for each in mine])
            assert abs(values.mean() - truth) < 4 * values.std() / math.sqrt(300)
            assert values.std() == pytest.approx(errors.mean(), rel=0.15)


def test_three_rows_by_hand():
    a, b = replayed("ab", np.array([0, 0, 1]), np.array([1.0, 0.0, 2.0]), np.array([0.5, 0.25, 0.5]))
    assert (a.inverse, a.normalised, a.observed) == pytest.approx((2 / 3, 2 / 6, 0.5))
    assert a.inverse_stderr == pytest.approx(math.sqrt(4 / 3) / math.sqrt(3))
    assert a.normalised_stderr == pytest.approx(math.sqrt((2 * 2 / 3) ** 2 + (4 / 3) ** 2) / 6)
    assert a.effective == pytest.approx(36 / 20) and (b.inverse, b.normalised) == pytest.approx((4 / 3, 2))
    assert math.isnan(b.normalised_stderr)


def test_a_log_is_read_and_answered_with_the_replayed_means(tmp_path, capsys):
    path = tmp_path / "log.csv"
    logged(4000, 1).to_csv(path, index=False)
    seen = read_observations(path.read_bytes())
    assert [each.option for each in seen.replay] == [option.name for option in seen.options]
    question = price_question(path, weekly=100, weeks=3, epsilon=[2])
    means = np.array([[arm.expected for arm in arms] for arms in question.draws])
    for place, each in enumerate(seen.replay):
        assert question.arms[place].expected == pytest.approx(each.normalised)
        assert means[:, place].std() == pytest.approx(each.normalised_stderr, rel=0.1)
        assert abs(each.normalised - TRUTH["ab".index(each.option)]) < 4 * each.normalised_stderr
    assert cli.main(["replay", str(path)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].startswith("option,rows,observed,inverse,") and len(shown) == 3


@pytest.mark.parametrize("bad", ["0", "1.5", "-0.1", "", "x"])
def test_what_is_no_chance_is_refused_with_its_row(bad):
    data = f"arm,reward,propensity\na,1,0.5\nb,0,0.5\na,0,{bad}\nb,1,0.5\n".encode()
    with refused("column propensity") as issues:
        read_observations(data)
    assert "row 4" in issues[0].allowed


def test_a_log_without_propensities_is_refused_in_words(tmp_path, capsys):
    path = tmp_path / "log.csv"
    logged(50, 0).drop(columns="propensity").to_csv(path, index=False)
    assert read_observations(path.read_bytes()).replay == ()
    assert cli.main(["replay", str(path)]) == cli.BAD_INPUT and "propensity" in capsys.readouterr().err
    assert cli.main(["replay", str(tmp_path / "none.csv")]) == cli.BAD_INPUT and "file" in capsys.readouterr().err
