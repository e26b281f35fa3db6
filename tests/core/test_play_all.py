"""The one command that plays all shipped numbers anew: its steps exist, and it stops at the first that fails."""

import importlib.util

import pytest

from bandit_core import paths
from benchmarks import play_all


def test_every_step_is_a_module_and_every_table_a_document():
    assert {step[0] for step in play_all.STEPS.values()} == {
        "bandit_core",
        "benchmarks.best_by_trust",
        "benchmarks.first_pictures",
        "benchmarks.pictures",
        "benchmarks.shipped",
    }
    assert all(importlib.util.find_spec(step[0]) for step in play_all.STEPS.values())
    assert all((paths.ROOT / table).exists() for table in play_all.TABLES.values())
    assert set(play_all.TABLES) <= set(play_all.STEPS)


def test_an_unknown_step_is_refused_by_name(capsys):
    assert play_all.main(["figure"]) == 2
    message = capsys.readouterr().err
    assert "figure" in message
    assert "first-pictures" in message


@pytest.mark.parametrize("failing", ["figures", "scores"])
def test_it_stops_at_the_first_step_that_fails(monkeypatch, failing):
    played = []
    monkeypatch.setattr(play_all, "play", lambda name: played.append(name) or int(name == failing))
    assert play_all.main([]) == 1
    assert played == list(play_all.STEPS)[: list(play_all.STEPS).index(failing) + 1]
