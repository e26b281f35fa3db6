"""The page Benchmark: every promise has its contest, links carry the controls, pictures show the scores."""

from __future__ import annotations

import numpy as np
import pytest
from screen import address, chart, own, run, visit, words

from bandit_core.studies import benchmark
from bandit_core.studies.benchmark_scores import along, contests, scores

ROWS = benchmark.load()
CONTESTS = {contest.key: contest for contest in contests(ROWS)}


@pytest.mark.parametrize("key", CONTESTS)
def test_the_pictures_and_the_table_show_the_scores(key):
    screen = visit("benchmark", promise=key)
    wanted = scores(ROWS, CONTESTS[key])
    shown = screen.dataframe[0].value
    assert list(shown["Score"]) == pytest.approx(list(wanted["factor"]))
    points = chart(screen, "benchmark-ranking-chart").traces
    assert [point["x"][0] for point in points] == pytest.approx(list(wanted["factor"]))
    assert wanted["title"][0] in words(screen)
    cells = chart(screen, "benchmark-parts-chart").traces[0]
    parts = along(ROWS, CONTESTS[key], "users")
    assert len(cells["y"]) == len(wanted) and len(cells["x"]) == len(parts) == 3


def test_controls_are_carried_in_the_link():
    screen = visit("benchmark")
    own(screen, "selectbox", "benchmark-promise").set_value("central-pure")
    run(screen)
    assert address(screen)["promise"] == "central-pure"
    before = chart(screen, "benchmark-parts-chart").traces[0]["x"]
    own(screen, "button_group", "benchmark-along:users-epsilon-arms-gap").set_value("gap")
    run(screen)
    assert address(screen) == {"promise": "central-pure", "along": "gap"}
    after = chart(screen, "benchmark-parts-chart").traces[0]["x"]
    assert list(after) == ["narrow", "wide"] and list(before) != list(after)


def test_what_a_link_got_wrong_is_told_and_what_has_no_parts_shows_others():
    screen = visit("benchmark", promise="everything", along="colour")
    [told] = screen.warning
    assert "everything" in told.value and "colour" in told.value
    plain = visit("benchmark", promise="none", along="epsilon")  # there are no budgets without privacy
    assert not plain.warning and np.all(np.array(chart(plain, "benchmark-parts-chart").traces[0]["x"]) != "0.1")
