"""What every chart keeps to: short legends, letters large enough for the last row, ticks that people read."""

import importlib.util
import itertools
import re
from collections import Counter

import numpy as np
import pytest
from families import one_of_each_family
from screen import legend_entries

from bandit_core import load_preset, simulate
from bandit_core.experiments.catalogue import further
from bandit_core.spec.errors import InputError
from bandit_core.studies.sweep import sweep
from bandit_core.theory.definitions import DEFINITIONS
from ui import budget_panel, charts, diagrams, theme, tradeoff_view


def short(name):
    experiment = load_preset(name)
    return experiment.with_changes(horizon=min(experiment.horizon, 300), trials=2)


@pytest.mark.parametrize("name", one_of_each_family())
def test_no_preset_has_more_than_eight_entries_in_a_legend(name):
    experiment = short(name).with_changes(view={"bounds": True, "shapes": True, "worst_case": True})
    result = simulate(experiment, jobs=1)
    for figure in (charts.regret_chart(result), charts.pulls_chart(result), budget_panel.chart(result, False)):
        named = [trace for trace in figure.data if trace.name and trace.showlegend is not False]
        assert max(Counter(trace.legend for trace in named).values(), default=0) <= charts.MOST
    drawn = charts.regret_chart(result, direct_labels=False)
    hidden = {trace.legendgroup for trace in drawn.data if trace.name and trace.showlegend is False}
    shown = {trace.legendgroup for trace in drawn.data if trace.name and trace.showlegend is not False}
    assert hidden <= shown  # what has no entry of its own is named by that of its group, and hidden by it


@pytest.mark.parametrize("wanted", [[1, 2, 3], [0, 200, 395], [380, 390, 395], [10, 190, 395, 396]])
def test_labels_at_the_ends_neither_overlap_nor_leave_the_top(wanted):
    labels = [["one", "two", "three"]] * (len(wanted) - 1) + [["one"]]
    halves = [(charts.ROW_HEIGHT * len(rows) + charts.APART) / 2 for rows in labels]
    places = charts._apart(wanted, labels, 400)  # private: Plotly does not tell where labels stand
    edges = [(place - half, place + half) for place, half in zip(places, halves, strict=True)]
    assert all(above[0] >= below[1] for below, above in itertools.pairwise(edges))
    assert edges[-1][1] <= 400 and edges[0][0] >= min(0, wanted[0] - halves[0])
    assert charts._apart([0.0, 100.0, 200.0], labels[-3:], 400) == [0.0, 100.0, 200.0]


def test_words_of_a_corridor_keep_off_other_curves() -> None:
    x = np.geomspace(1, 1e5, 50)

    def shift(*heights: float, name: str = "no method can be below") -> float:
        edge = charts.Curve(x, np.full(50, 100.0), name, more={"meta": charts.CORRIDOR})
        others = [charts.Curve(x, np.full(50, height)) for height in heights]
        figure = charts.draw([edge, *others], charts.USERS_LOG, {"type": "log", "range": (0, 4)}, 340, False)
        charts.name_corridor(figure, [edge], False)
        [words] = figure.layout.annotations
        return float(words.yshift)

    assert shift() == -20 and shift(name=charts.ABOVE) == 12
    assert shift(60) == 20  # one of the others is where the words would be
    assert abs(shift(60, 170)) > 20


def test_words_of_a_corridor_cross_no_steep_curve_of_a_narrow_picture() -> None:
    x = np.geomspace(1, 1e6, 200)
    look = {"more": {"meta": charts.CORRIDOR}}
    floor = charts.Curve(x, np.minimum(0.3 * x, 8), "no local method can be below", **look)
    rate = charts.Curve(
        x, np.where(x < 4000, np.nan, 300 * np.log10(x) - 600), "in the long run at least this fast", **look
    )
    played = charts.Curve(x, 4000 * (1 - np.exp(-x / 2000)) + 0.2)
    up = {"type": "log", "range": (-0.7, 4.7)}
    figure = charts.draw([floor, rate, played], charts.USERS_LOG, up, 340, False)
    charts.name_corridor(figure, [floor, rate], False)
    assert len(figure.layout.annotations) == 2
    for each in figure.layout.annotations:
        rows = each.text.split("<br>")
        under = 10 ** np.linspace(6 - 6 * 6.3 * max(map(len, rows)) / 215, 6, 200)  # 6 powers of ten in 215 pixels
        middle = (each.y + 0.7) / 5.4 * 210 + each.yshift
        assert abs(each.yshift) <= 40  # beside its curve
        for trace in figure.data:
            heights = (np.log10(np.interp(under, trace.x, trace.y)) + 0.7) / 5.4 * 210
            assert not (np.abs(heights - middle) < 17 * len(rows) / 2 - 3).any(), (each.text, trace.name)


def test_curves_that_are_one_are_named_once_at_their_end() -> None:
    alike = short("default").with_changes(lines=[{"policy": name} for name in ("ucb", "ucb")])
    labels = charts.regret_chart(simulate(alike, jobs=1)).layout.annotations
    assert [each.text for each in labels] == ["UCB"]


def test_bounds_stand_below_the_lines_in_a_legend():
    result = simulate(short("ren-1c"), jobs=1)
    drawn = charts.regret_chart(result, asked=[further(result.experiment, 1)[0].label])
    ranks = {"bound": [], "line": []}
    for trace in drawn.data:
        if trace.name and trace.showlegend is not False:
            is_line = (trace.legendgroup or "").startswith("line") and "markers" in (trace.mode or "")
            ranks["line" if is_line else "bound"].append(trace.legendrank or 1000)
    assert ranks["bound"] and ranks["line"] and max(ranks["line"]) < min(ranks["bound"])


def test_many_lines_share_the_entry_of_their_policy_or_of_their_trust_model():
    line = {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1.0}}
    alone = [{"policy": name} for name in ("ucb", "thompson", "kl-ucb")]
    many = short("default").with_changes(lines=[*alone, *([line] * 7)])
    entries = legend_entries(charts.regret_chart(simulate(many, jobs=1)))
    assert len(entries) <= charts.MOST and any("7" in entry for entry in entries)
    central = [
        {"policy": name, "epsilon": {"kind": "fixed", "value": 1.0}}
        for name in ("dp-se", "adap-ucb", "adap-klucb", "dp-klucb", "dp-imed", "lazy-dp-ts", "dp-ucb", "private-ucb")
    ]
    crowd = short("default").with_changes(lines=[*alone, *central], view={"bounds": False})
    entries = legend_entries(charts.regret_chart(simulate(crowd, jobs=1)))
    assert [entry.split(" ")[0] for entry in entries] == ["–", "■"]


def test_a_sweep_has_a_short_legend():
    many = short("adap-sweep").with_changes(view={"bounds": True, "shapes": True})
    figure = tradeoff_view.chart(sweep(many, (0.2, 1.0)), False)
    assert 2 <= len(legend_entries(figure)) <= charts.MOST


def test_a_legend_inside_a_linear_picture_has_room_above_its_curves():
    result = simulate(short("trust-ladder").with_changes(view={}), jobs=1)
    figure = charts.regret_chart(result)
    names = [trace.name for trace in figure.data if trace.legend == charts.NARROW and trace.showlegend is not False]
    assert len(names) == 5 and sum(name.count("<br>") for name in names) <= 1
    highest = max(line.mean.max() for line in result.lines)
    assert figure.layout.yaxis.range[1] * (1 - 5 * 20 / 300) > 0.98 * highest  # of a phone's 300 pixels


def test_pulls_are_dots_as_a_log_axis_has_no_zero():
    figure = charts.pulls_chart(simulate(short("trust"), jobs=1))
    assert figure.layout.yaxis.type == "log"
    assert {trace.type for trace in figure.data} == {"scatter"} and {trace.mode for trace in figure.data} == {"markers"}
    assert figure.layout.scattermode == "group"  # beside each other, so that equal ones are all seen


@pytest.mark.parametrize("letters", [4, 15, 80])
def test_labels_at_the_ends_of_curves_take_a_fifth_of_the_width_at_most(letters):
    named = short("default").with_changes(lines=[{"policy": "ucb", "label": "m" * letters}])
    figure = charts.regret_chart(simulate(named, jobs=1))
    assert 1 - figure.layout.xaxis.domain[1] <= 0.2
    [label] = figure.layout.annotations
    rows = label.text.split("<br>")
    assert max(map(len, rows)) <= charts.ROW and len(rows) <= 3
    assert label.hovertext == "m" * letters
    assert np.isfinite(label.yshift)


@pytest.mark.parametrize("drawing", ["who", "noises", "promise", "implications"])
def test_drawings_can_be_read_on_a_phone(drawing):
    """They shrink to the 358 pixels that a page of 390 leaves, and their smallest words stay above 12."""
    drawn = {
        "who": [diagrams.who_sees_what(privacy, False) for privacy in theme.TRUST_WORDS],
        "noises": [diagrams.noises(False)],
        "promise": [diagrams.promise(model, False) for model in DEFINITIONS],
        "implications": [diagrams.implications(model, False) for model in DEFINITIONS],
    }[drawing]
    for svg in drawn:
        width = float(re.search(r'<svg[^>]* width="(\d+)"', svg)[1])
        sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)]
        assert len(sizes) >= 5 and min(sizes) * min(1, 358 / width) >= 12


def test_a_notebook_gets_the_chart_of_the_page_with_how_it_was_made(monkeypatch):
    result = simulate(short("default"), jobs=1)
    figure, wanted = result.plot(), charts.regret_chart(result)
    assert (
        figure.layout.meta["seed"] == result.experiment.seed and figure.layout.meta["spec"] == result.metadata["spec"]
    )
    for mine, other in zip(figure.data, wanted.data, strict=False):
        np.testing.assert_array_equal(mine.y, other.y)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError) as message:
        result.plot()
    assert message.value.issues[0].path == "app"
