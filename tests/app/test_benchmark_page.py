"""The page Benchmark: every promise has its contest, links carry the controls, pictures show the scores."""

import pytest
from screen import address, chart, own, put, visit, words

from bandit_core.studies import benchmark
from bandit_core.studies.benchmark import along, contests, scores

ROWS = benchmark.load()


def test_the_pictures_and_the_table_show_the_scores():
    for contest in contests(ROWS):
        screen = visit("benchmark", promise=contest.key)
        wanted = scores(ROWS, contest)
        assert wanted["title"][0] in words(screen), contest
        table = visit("benchmark", promise=contest.key, along="table").dataframe[0].value
        assert list(table["Policy"]) == list(wanted["title"]), contest
        if len(wanted) == 1:  # no one to compare with
            assert "has no score" in words(screen) and not charts_of(screen), contest
            continue
        assert list(table["Score"]) == pytest.approx(list(wanted["factor"])), contest
        assert not screen.dataframe, contest  # one thing at a time
        points = chart(screen, "benchmark-ranking-chart").traces
        assert [point["x"][0] for point in points] == pytest.approx(list(wanted["factor"])), contest
        clear = f"clearly the best in {wanted['clear_in'][0]} of the {wanted['learned_cells'][0]} cases"
        assert clear in words(screen), contest
        assert ("No policy is clearly first" in words(screen)) == bool(wanted["alike"][1:].any()), contest


def charts_of(screen) -> list:
    return [each for each in screen.get("plotly_chart")]


def test_one_thing_is_shown_at_a_time_and_controls_are_carried_in_the_link():
    screen = visit("benchmark")
    put(screen, own(screen, "selectbox", "benchmark-promise"), "central-pure")
    assert address(screen)["promise"] == "central-pure"
    put(screen, own(screen, "button_group", "benchmark-along:all-table-users-epsilon-task"), "task")
    assert address(screen) == {"promise": "central-pure", "along": "task"} and not screen.dataframe
    cells = chart(screen, "benchmark-parts-chart").traces[0]
    [contest] = [each for each in contests(ROWS) if each.key == "central-pure"]
    parts = along(ROWS, contest, "task")
    assert list(cells["x"]) == list(parts) and len(cells["y"]) == len(next(iter(parts.values())))


def test_what_a_link_got_wrong_is_told_and_what_has_no_parts_shows_the_scores():
    screen = visit("benchmark", promise="everything", along="colour")
    [message] = screen.warning
    assert "everything" in message.value and "colour" in message.value
    plain = visit("benchmark", promise="none", along="epsilon")  # there are no budgets without privacy
    assert not plain.warning and len(charts_of(plain)) == 1 and not plain.dataframe
