"""A person in several tests: what each may spend, against composition by hand."""

import itertools
import math

import pytest
from helpers import refused

from bandit_core import cli
from bandit_core.studies.production import parts


def delta_by_hand(epsilon, part, times):
    """Hockey-stick divergence of so many randomised responses, over all strings of them."""
    truth, total = math.exp(part) / (1 + math.exp(part)), 0.0
    for bits in itertools.product((0, 1), repeat=times):
        ones = sum(bits)
        mine = truth**ones * (1 - truth) ** (times - ones)
        other = truth ** (times - ones) * (1 - truth) ** ones
        total += max(0.0, mine - math.exp(epsilon) * other)
    return total


def test_without_delta_the_budget_is_divided():
    local, central = parts(0.5, 4, 5)
    assert (local.test, local.answer) == pytest.approx((0.125, 0.025)) == (central.test, central.answer)


@pytest.mark.parametrize(("tests", "visits"), [(10, 1), (5, 2), (2, 3)])
def test_with_delta_all_answers_together_keep_it_and_no_more_would(tests, visits):
    local, central = parts(1.0, tests, visits, 1e-3)
    for part, times in ((local.answer, tests * visits), (central.test, tests)):
        assert part >= 1.0 / times
        assert delta_by_hand(1.0, part, times) <= 1e-3 * (1 + 1e-9) < delta_by_hand(1.0, 1.001 * part, times)
    assert local.test == pytest.approx(visits * local.answer) and central.answer == pytest.approx(central.test / visits)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", 0), ("epsilon", "x"), ("epsilon", math.nan), ("tests", 0), ("tests", 1.5), ("visits", 0),
        ("visits", 10**4), ("delta", 0.1), ("delta", -1),
    ],
)  # fmt: skip
def test_what_cannot_be_proved_or_read_is_refused(field, value, capsys):
    with refused(field) as issues:
        parts(**{"epsilon": 2.0, "tests": 100, "visits": 2, "delta": 0.0, field: value})
    assert issues[0].allowed
    assert cli.main(["budget", "--tests", "100", f"--{field}={value}"]) == cli.BAD_INPUT
    assert field in capsys.readouterr().err


def test_too_many_answers_of_one_person_are_refused():
    with refused("visits"):
        parts(2.0, 1000, 1000, 1e-6)


def test_the_command_prints_the_parts(capsys):
    assert cli.main(["budget", "--epsilon", "2", "--tests", "4", "--visits", "5"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "trust,test_epsilon,answer_epsilon", "local,0.5,0.1", "central,0.5,0.1",
    ]  # fmt: skip
