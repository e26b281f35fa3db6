"""When searches end, on Explore."""

import pytest
import screen as on

from bandit_core import Experiment
from bandit_core.studies.best_arm import searches_of, stopping
from ui import decision_times


def _tables(screen: on.AppTest) -> list:
    return [each.value for each in screen.dataframe if "wrong (95% limits)" in each.value.columns]


def test_explore_tells_when_each_search_ends_and_nothing_where_none_does() -> None:
    assert not _tables(on.visit("explore", lines="ucb,dp-se(1)", **on.SMALL))
    screen = on.visit("explore", arms="0.9,0.2", lines="ucb,top-two,adap-tt(2,delta=0.1)", T="2000", n="20")
    (shown,) = _tables(screen)
    assert len(shown) == 2
    first, second = shown.to_dict("records")
    assert (first["allowed, δ"], second["allowed, δ"]) == ("5 %", "10 %")
    assert first["at least, on average"] != "–"


def test_a_table_that_would_take_long_is_left_to_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision_times, "_MOST_SECONDS", 0.0)
    screen = on.visit("explore", arms="0.9,0.2", lines="top-two", T="2000", n="20")
    assert not _tables(screen) and "bandit_core decide" in on.words(screen)


def test_a_row_tells_who_did_not_stop_and_where_nothing_is_proved() -> None:
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.5, 0.5)]
    line = {"policy": "top-two", "params": {"rule": "heuristic"}}
    experiment = Experiment.model_validate({"arms": arms, "lines": [line], "horizon": 100, "trials": 3})
    (found,) = searches_of(experiment)
    row = decision_times.row_of(found, stopping([found.spec], jobs=1)[0])
    assert row["not over after 100"] == "100%" and row["at least, on average"] == "–"
    assert row["middle 90 %"] == row["users until it ends, median"] and "proved" in row["allowed, δ"]
