"""Explore puts links and settings files beside its picture: what differs, all curves, and paired tests."""

from __future__ import annotations

import json
from typing import Any

import pytest
import screen as on

from bandit_core import Experiment, address

LINES = {"arms": "0.9,0.5", "lines": "ucb,dp-se(1)"}


def experiment(**fields: Any) -> Experiment:
    arms = [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.5)]
    lines = [{"policy": "ucb"}, {"policy": "thompson"}]
    return Experiment(**{"arms": arms, "lines": lines, "horizon": 400, "trials": 4, **fields})


def opened(*links: str, files: tuple[Experiment, ...] = ()) -> on.AppTest:
    screen = on.unfold(on.visit("explore", **LINES, **on.SMALL), "compare")
    screen.text_area(key="compare-links").set_value("\n".join(links))
    if files:
        [uploader] = [each for each in screen.main.file_uploader if each.key == "compare-files"]
        uploader.set_value([(f"run{n}.json", json.dumps(each.spec()).encode(), "") for n, each in enumerate(files)])
    return on.run(screen)


def tables(screen: on.AppTest) -> list[Any]:
    """The tables below the picture of the comparison."""
    return [each.value for each in screen.main.dataframe if {"setting", "verdict"} & set(each.value.columns)]


def test_a_link_and_a_file_stand_beside_the_picture() -> None:
    screen = opened(address(experiment()), files=(experiment(horizon=300),))
    differing, tests = tables(screen)
    assert list(differing.columns) == ["setting", "this picture", "A", "run0"]
    assert set(differing["setting"]) == {"lines", "horizon"}
    names = on.chart(screen, "compare-chart").names
    assert sum("A: " in name for name in names) == sum("run0: " in name for name in names) == 2
    fewer = opened(address(experiment(trials=3)))
    assert any("3 to 4 runs" in name for name in on.chart(fewer, "compare-chart").names)
    assert len(tests) == 3 and not any("run0" in cell for cell in [*tests["lost more"], *tests["than"]])
    assert set(tests["verdict"]) <= {"clear", "could be luck"}


def test_where_users_differ_nothing_is_paired_and_equal_runs_say_so() -> None:
    screen = opened(address(experiment(seed=5)))
    assert len(tables(screen)) == 1 and "No paired tests" in on.words(screen)
    budget = {"kind": "fixed", "value": 1.0}
    again = opened(address(experiment(lines=[{"policy": "ucb"}, {"policy": "dp-se", "epsilon": budget}])))
    assert "same settings" in on.words(again) and len(tables(again)) == 1


@pytest.mark.parametrize(
    ("links", "named"),
    [
        (["/etc/passwd"], "A"),
        (["trust.toml"], "A"),
        (["?lines=nobody"], "A"),
        (["?preset=trust", "?T=none"], "B"),
        (["?preset=trust"] * 6, "experiments"),
    ],
)
def test_what_is_no_link_is_told_with_its_place(links: list[str], named: str) -> None:
    screen = opened(*links)
    [error] = [each.value for each in screen.main.error]
    assert error.startswith(f"- {named}") and not tables(screen)
