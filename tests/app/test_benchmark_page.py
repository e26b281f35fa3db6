"""The page Benchmark: every promise has its contest, links carry the controls, pictures show the scores."""

from __future__ import annotations

import pytest
from screen import address, chart, own, run, visit, words

from bandit_core.studies import benchmark
from bandit_core.studies.benchmark import along, contests, scores

ROWS = benchmark.load()
CONTESTS = {contest.key: contest for contest in contests(ROWS)}


@pytest.mark.parametrize("key", CONTESTS)
def test_the_pictures_and_the_table_show_the_scores(key):
    screen = visit("benchmark", promise=key)
    wanted = scores(ROWS, CONTESTS[key])
    assert wanted["title"][0] in words(screen)
    table = visit("benchmark", promise=key, along="table").dataframe[0].value
    assert list(table["Policy"]) == list(wanted["title"])
    if len(wanted) == 1:  # no one to compare with
        assert "has no score" in words(screen) and not charts_of(screen)
        return
    assert list(table["Score"]) == pytest.approx(list(wanted["factor"]))
    assert not screen.dataframe  # one thing at a time
    points = chart(screen, "benchmark-ranking-chart").traces
    assert [point["x"][0] for point in points] == pytest.approx(list(wanted["factor"]))
    clear = f"clearly the best in {wanted['clear_in'][0]} of the {wanted['learned_cells'][0]} cases"
    assert clear in words(screen)
    assert ("No policy is clearly first" in words(screen)) == bool(wanted["alike"][1:].any())


def charts_of(screen) -> list:
    return [each for each in screen.get("plotly_chart")]


def test_one_thing_is_shown_at_a_time_and_controls_are_carried_in_the_link():
    screen = visit("benchmark")
    own(screen, "selectbox", "benchmark-promise").set_value("central-pure")
    run(screen)
    assert address(screen)["promise"] == "central-pure"
    own(screen, "button_group", "benchmark-along:all-table-users-epsilon-task").set_value("task")
    run(screen)
    assert address(screen) == {"promise": "central-pure", "along": "task"} and not screen.dataframe
    cells = chart(screen, "benchmark-parts-chart").traces[0]
    parts = along(ROWS, CONTESTS["central-pure"], "task")
    assert list(cells["x"]) == list(parts) and len(cells["y"]) == len(next(iter(parts.values())))


def test_what_a_link_got_wrong_is_told_and_what_has_no_parts_shows_the_scores():
    screen = visit("benchmark", promise="everything", along="colour")
    [message] = screen.warning
    assert "everything" in message.value and "colour" in message.value
    plain = visit("benchmark", promise="none", along="epsilon")  # there are no budgets without privacy
    assert not plain.warning and len(charts_of(plain)) == 1 and not plain.dataframe
