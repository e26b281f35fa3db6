"""Trade-off reads the table of a study: along each axis, with what else varies held still; anything else is refused."""

import numpy as np
import pytest
import screen as on

from bandit_core import InputError
from bandit_core.data.spreadsheets import to_csv
from bandit_core.spec.errors import validated
from bandit_core.studies.study import StudyFile, StudyRun, read_study_table
from ui import printing, study_view

SPEC = {
    "arms": [{"kind": "bernoulli", "mean": 0.8}, {"kind": "bernoulli", "mean": 0.5}],
    "lines": [{"policy": "ucb"}, {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1.0}}],
    "horizon": 100,
    "trials": 3,
}


@pytest.fixture(scope="module")
def table():
    from bandit_core import Experiment

    study = validated(StudyFile, {"spec": SPEC, "axes": {"epsilon": [0.5, 2], "arms": [2, 3]}, "record": "curves"})
    return StudyRun(study, Experiment.model_validate(SPEC)).run(1).rows


def test_a_table_that_was_written_is_read_again(table):
    read = read_study_table(to_csv(table).encode())
    assert read.axes == {"arms": [2, 3], "epsilon": [0.5, 2.0]}
    ends = table[table["t"] == 100]
    np.testing.assert_allclose(np.sort(read.rows["mean"]), np.sort(ends["mean"]))
    lines = read.along("epsilon", {"arms": 3})
    assert [len(rows) for rows in lines.values()] == [1, 2]  # without privacy there is no budget
    wanted = ends[(ends["arms"] == 3) & (ends["policy"] == "heldp-ucb-b")].sort_values("epsilon")["mean"]
    np.testing.assert_allclose(list(lines.values())[1]["mean"], wanted)


def test_every_point_has_a_tick_and_every_line_a_sign_of_its_own(table, tmp_path):
    read = read_study_table(to_csv(table).encode())
    figure = study_view.chart(read.along("arms", {"epsilon": 2.0}), "arms", False)
    assert list(figure.layout.xaxis.tickvals) == [2, 3]
    assert len({trace.marker.symbol for trace in figure.data}) == len(figure.data) == 2
    printing.save(figure, tmp_path / "study.svg")
    printed = (tmp_path / "study.svg").read_text(encoding="utf-8")
    ticks = printed[printed.index('id="matplotlib.axis_1"') : printed.index('id="matplotlib.axis_2"')]
    assert ticks.count('id="xtick_') == 2


def test_curves_and_level_lines_are_drawn(table):
    read = read_study_table(to_csv(table).encode())
    level, curve = study_view.chart(read.along("epsilon", {"arms": 2}), "epsilon", False).data
    assert level.line.dash == "dash" and level.y[0] == level.y[1]
    assert list(curve.x) == [0.5, 2.0]
    along_arms = study_view.chart(read.along("arms", {"epsilon": 2.0}), "arms", True).data
    assert [list(each.x) for each in along_arms] == [[2, 3], [2, 3]]


@pytest.mark.parametrize(
    ("content", "path"),
    [(b"", "file"), (b"\xff\xfe\x00", "file"), (b"a,b\n1,2\n", "columns"), (b"x" * (21 * 2**20), "file")],
    ids=["empty", "no text", "another table", "too large"],
)
def test_anything_else_is_refused(content, path):
    with pytest.raises(InputError) as message:
        read_study_table(content)
    assert message.value.issues[0].path == path


def test_a_table_with_words_for_numbers_is_refused(table):
    bad = to_csv(table.assign(mean="much")).encode()
    with pytest.raises(InputError) as message:
        read_study_table(bad)
    assert message.value.issues[0].path == "columns.mean"


def test_the_page_draws_it_and_forgets_it(table):
    screen = on.visit("tradeoff", **on.SMALL)
    on.unfold(screen, "tradeoff-more", "study")
    [uploader] = [each for each in screen.main.file_uploader if each.key == "study-file"]
    on.put(screen, uploader, ("table.csv", to_csv(table).encode(), "text/csv"))
    names = on.chart(screen, "study-chart").names
    assert len(names) == 2
    before = on.chart(screen, "study-chart").traces
    screen.select_slider(key="study-at-epsilon").set_value(2.0)
    after = on.chart(on.run(screen), "study-chart").traces
    assert before[0]["y"] == after[0]["y"] and before[1]["y"] != after[1]["y"]  # no budget without privacy
    screen.selectbox(key="study-axis").set_value("epsilon")
    assert on.chart(on.run(screen), "study-chart").layout["xaxis"]["title"]["text"] == "epsilon"
