"""The check of the contest: what it counts, and a small part of it."""

import math
from dataclasses import replace

import pytest

from bandit_core.simulation.store import Store
from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies.best_method import COMPARED, Method, Question
from benchmarks import contest_check
from benchmarks.contest_check import STEP, USERS, Cell, cells, inversions, settings, table

ARMS = (Bernoulli(mean=0.05), Bernoulli(mean=0.08))


def test_there_are_84_settings_and_every_epsilon_is_met() -> None:
    tables = list(settings())
    asked = {each for questions in tables for each in questions}
    assert len(asked) == 84 and {each.epsilon for each in asked} == {0.5, 1.0, 2.0, 4.0}
    assert {each.horizon for each in asked} == {10_000, 40_000, 160_000}
    assert all(math.gcd(STEP, sum(each[0].horizon <= most for each in tables)) == 1 for most in USERS)


def test_a_cell_is_right_where_method_and_loss_are() -> None:
    good = Cell(Question(ARMS, 100, 1.0), "local", Method("ts-cf"), 0.0, 0.0, 100.0, 2.0, 101.0, 1.0)
    worse = replace(good, behind=0.05, said=110.0)
    assert good.covered and not worse.covered and not replace(good, said=120.0, said_error=9.0, found=90.0).covered
    assert table([good, worse]).splitlines()[-3:] == [
        "| local | 2 | 1 | 2 | 1 | 2 |", "| central | 0 | 0 | 0 | 0 | 0 |", "| all | 2 | 1 | 2 | 1 | 2 |"
    ]  # fmt: skip
    assert inversions([good, replace(worse, privacy="central")]) == 1
    assert inversions([worse, replace(good, question=Question(ARMS, 100, 2.0))]) == 0
    assert replace(worse, error=0.011).open and not replace(worse, error=0.009).open and not good.open
    assert "TS-CF 110.0 ± 2.0, fresh 101.0 ± 1.0, 5.0 ± 0.0% behind" in str(worse)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_a_contest_names_a_method_within_6_percent_of_the_best(epsilon: float, monkeypatch) -> None:
    """A small part of the command; within its own error, and with fewer runs."""
    for name in ("TRIALS", "MOST"):
        monkeypatch.setattr(contest_check, name, 800)
    found = list(cells([Question(ARMS, 1000, epsilon)], Store(None, 2**28)))
    assert [each.privacy for each in found] == list(COMPARED)
    assert all(each.behind <= 0.06 + 2 * each.error for each in found)
    assert all(each.found - found[0].found >= -3 * math.hypot(each.found_error, found[0].found_error) for each in found)
    assert all(abs(each.said - each.found) <= 4 * (each.said_error + each.found_error) for each in found)
