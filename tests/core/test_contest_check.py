"""The check of the contest: what it counts, and a small part of it."""

from dataclasses import replace

import pytest

from bandit_core.simulation.store import Store
from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies.best_method import COMPARED, Method, Question
from benchmarks import contest_check
from benchmarks.contest_check import Cell, cells, settings, summary

ARMS = (Bernoulli(mean=0.05), Bernoulli(mean=0.08))


def test_there_are_72_settings_and_every_epsilon_is_met() -> None:
    asked = list(settings())
    assert len(set(asked)) == 72 and {each.epsilon for each in asked} == {0.5, 1.0, 2.0, 4.0}
    assert {each.horizon for each in asked} == {10_000, 40_000, 160_000}


def test_a_cell_is_right_where_method_and_loss_are() -> None:
    good = Cell(Question(ARMS, 100, 1.0), "local", Method("ts-cf"), 0.0, 0.0, 100.0, 2.0, 101.0, 1.0)
    worse = replace(good, behind=0.05, said=110.0)
    assert good.covered and not worse.covered and not replace(good, said=120.0, said_error=9.0, found=90.0).covered
    assert summary([good, worse]) == (
        "2 cells: 1 name a method within 3% of the best, 2 within 6%; the printed loss is within two errors in 1; its "
        "error is at most 3% in 2."
    )
    assert "TS-CF 110.0 ± 2.0, fresh 101.0 ± 1.0, 5.0 ± 0.0% behind" in str(worse)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_a_contest_names_a_method_within_6_percent_of_the_best(epsilon: float, monkeypatch) -> None:
    """A small part of the command; within its own error, and with fewer runs."""
    monkeypatch.setattr(contest_check, "TRIALS", 800)
    found = list(cells(Question(ARMS, 1000, epsilon), Store(None, 2**28)))
    assert [each.privacy for each in found] == list(COMPARED)
    assert all(each.behind <= 0.06 + 2 * each.error for each in found)
    assert all(abs(each.said - each.found) <= 4 * (each.said_error + each.found_error) for each in found)
