"""Papers: figures from shipped files beside their statements, and an address for every view."""

import re
from pathlib import Path

import numpy as np
import pytest
import screen as on
import streamlit as st

from bandit_core.literature import claims, papers, reproductions
from ui import words
from ui.papers import view


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of results of this test's own, empty."""
    st.cache_data.clear()
    monkeypatch.setattr(reproductions, "FOLDER", tmp_path)
    return tmp_path


def statements(screen: on.AppTest) -> list[str]:
    """The verdicts on the page, by the words of their badges."""
    return re.findall(r"-badge\[:material/\w+: ([a-z ]+)\]", on.words(screen))


def chosen(screen: on.AppTest) -> str:
    """The figure that is shown, and its verdicts, as the box says."""
    [box] = [each for each in screen.main.selectbox if each.label == "Figure"]
    return next(shown for shown in box.options if box.format_func(box.value) == shown)


def test_the_first_view_is_a_figure_with_reported_numbers_beside_ours() -> None:
    screen = on.visit("papers")
    message = on.words(screen)
    assert "Figure 1c" in chosen(screen)
    found = claims.verdicts(papers.figures()["ren-1c"])
    ours = words.plain(found[0].measured)
    assert "**1\\.6**" in message and f"**{ours}**" in message and f"{words.number(6e6)} " in message
    assert statements(screen) == [verdict.held for verdict in found]
    chart, shipped = on.chart(screen, "paper-figure"), reproductions.load("ren-1c")
    for number, name in enumerate(("– UCB, no privacy", "● HeLDP-UCB-B", "● HeLDP-UCB-L")):
        drawn = chart.y(name)
        np.testing.assert_allclose(drawn[-1], shipped.lines[number].mean[-1], rtol=1e-5)
        assert len(drawn) == len(shipped.times)
        low, high = chart.band(name)
        np.testing.assert_allclose([low[-1], high[-1]], [shipped.lines[number].q05[-1], shipped.lines[number].q95[-1]])
    assert [button.label.split("(")[1] for button in screen.get("download_button")] == ["CSV)", "JSON)"]
    assert on.address(screen) == {}


def test_the_tally_counts_every_statement() -> None:
    every = [verdict for figure in papers.figures().values() for verdict in claims.verdicts(figure)]
    screen = on.visit("papers")
    message = "\n".join(each.proto.help for each in screen.main.markdown)
    assert f"{message.partition('. ')[2].partition('.')[0]}." in on.words(screen)
    numbers = [verdict.held for verdict in every if verdict.about_a_number]
    orders = [verdict.held for verdict in every if not verdict.about_a_number and verdict.held != "not checked"]
    assert "compatible" not in orders and len(numbers) >= 8
    assert f"{len(orders)} statements on orders and shapes: {orders.count('confirmed')} confirmed" in message
    assert f"{len(numbers)} printed numbers and extremes: {numbers.count('confirmed')} confirmed" in message


@pytest.mark.parametrize("figure", [paper.figures[-1].name for paper in papers.papers()])
def test_every_figure_opens_by_its_address(figure: str) -> None:
    screen = on.visit("papers", figure=figure)
    assert not screen.warning and not screen.error and not screen.info
    asked = papers.figures()[figure]
    assert asked.title in chosen(screen)
    assert len(screen.get("plotly_chart")) == (1 if asked.presets else 0)
    assert len(statements(screen)) == len(asked.claims)


def test_every_test_and_every_reading_is_told() -> None:
    message = on.words(on.unfold(on.visit("papers", figure="tossou-2b"), "papers-tests")).replace("\\", "")
    for verdict in claims.verdicts(papers.figures()["tossou-2b"]):
        assert verdict.test is not None and verdict.test.words in message and verdict.explained in message
        for name, other in verdict.readings:
            assert f"reading: {claims.reading_words(name, other)}" in message


def test_a_reading_is_drawn_in_place_of_the_figure() -> None:
    screen = on.visit("papers", figure="tossou-2a")
    assert view.AS_STATED not in on.words(screen)
    on.put(screen, screen.get_by_key("papers-reading-tossou-2a"), "tossou-2a--no-root")
    assert view.AS_STATED in on.words(screen)  # the statements beside it are those of the figure as stated
    shipped = reproductions.load("tossou-2a--no-root")
    [label] = [name for name in on.chart(screen, "paper-figure").names if name.endswith(" DP-UCB")]
    np.testing.assert_allclose(on.chart(screen, "paper-figure").y(label)[-1], shipped.lines[2].mean[-1], rtol=1e-5)


def test_a_panel_has_an_address_of_its_own() -> None:
    screen = on.visit("papers", figure="tao-s1-v09-e10")
    assert "Figure 1" in chosen(screen) and on.address(screen)["paper"] == "tao-2022"
    [panel] = [group for group in screen.get("button_group") if group.label == "Panel"]
    assert panel.value == "tao-s1-v09-e10"
    on.put(screen, panel, "tao-s1-v05-e05")
    assert on.address(screen)["figure"] == "tao-s1-v05-e05"
    assert on.chart(screen, "paper-figure").y("■ DPRSE")[-1] == pytest.approx(
        reproductions.load("tao-s1-v05-e05").lines[2].mean[-1], rel=1e-5
    )


def test_a_chosen_figure_opens_and_the_address_follows() -> None:
    screen = on.visit("papers", paper="all", held="confirmed")
    [box] = [each for each in screen.main.selectbox if each.label == "Figure"]
    first = box.value
    on.put(screen, box, "tossou-2b")
    assert on.address(screen) == {"paper": "all", "held": "confirmed", "figure": "tossou-2b"}
    assert "Figure 2b" in chosen(screen) and on.chart(screen, "paper-figure").names
    next(each for each in screen.main.selectbox if each.label == "Figure").set_value(first)
    assert on.address(on.run(screen)) == {"paper": "all", "held": "confirmed"}


def test_another_paper_leaves_the_figure_behind() -> None:
    screen = on.visit("papers", figure="tossou-2b")
    assert on.address(screen) == {"paper": "tossou-2016", "figure": "tossou-2b"}
    on.put(screen, screen.get_by_key("papers-paper"), "han-2021")
    assert on.address(screen) == {"paper": "han-2021"}
    assert "one parameter" in chosen(screen)
    screen.query_params.clear()  # Back to the beginning
    on.run(screen)
    assert "Figure 1c" in chosen(screen)


@pytest.mark.parametrize("held", ["confirmed", "not checked"])
def test_figures_are_filtered_by_their_verdicts(held: str) -> None:
    screen = on.visit("papers", paper="all", held=held)
    wanted = [
        figure for figure in papers.figures().values() if held in [verdict.held for verdict in claims.verdicts(figure)]
    ]
    assert held in statements(screen)
    [box] = [each for each in screen.main.selectbox if each.label == "Figure"]
    assert len(box.options) == len(wanted)
    assert all(any(figure.title in option for option in box.options) for figure in wanted)


def test_a_filter_that_leaves_nothing_says_so() -> None:
    screen = on.visit("papers", paper="basu-2019", held="confirmed")
    assert len(screen.info) == 1 and "confirmed" in screen.info[0].value
    assert not statements(screen) and not screen.get("plotly_chart")


def test_a_broken_link_is_told_and_opens_the_first_figure() -> None:
    screen = on.visit("papers", paper="nobody", figure="9z", held="maybe")
    message = "\n".join(each.value for each in screen.warning)
    assert all(words in message for words in ("nobody", "'9z'", "maybe", "ren\\-2020", "inconclusive"))
    assert "Figure 1c" in chosen(screen)


def test_what_has_not_been_computed_is_told(folder: Path) -> None:
    screen = on.visit("papers", figure="ren-1d")
    assert "bandit_core reproduce ren-1d" in on.words(screen)
    assert set(statements(screen)) == {"not checked"}
    assert not screen.get("plotly_chart")


def test_a_damaged_file_is_told(folder: Path) -> None:
    (folder / "tao-s3-local-v09.json").write_text("{", encoding="utf-8")
    screen = on.visit("papers", figure="tao-s3-local-v09")
    assert "tao\\-s3\\-local\\-v09\\.json" in "\n".join(each.value for each in (*screen.error, *screen.warning))


def test_part_of_the_trials_is_labelled(folder: Path) -> None:
    from bandit_core import cli

    assert cli.main(["reproduce", "tao-2", "--trials", "9", "--out", str(folder)]) == 0
    assert " 9 of 90 " in on.words(on.visit("papers", figure="tao-2"))


def test_a_figure_is_computed_again_with_another_seed() -> None:
    screen = on.visit("papers", figure="tao-s3-local-v09")
    assert not screen.get("code")
    on.unfold(screen, "papers-again")
    assert screen.get("code")[0].value.endswith(" reproduce tao-s3-local-v09")
    on.put(screen, screen.toggle(key="again-tao-s3-local-v09"), True)
    [table] = on.tables(screen)
    assert [line.split()[-1] for line in table["policy"]] == ["5", "10", "20"]
    assert all(table["this run"] != table["shipped"])
    assert all(float(value) < 5 for value in table["standard errors apart"])
    on.put(screen, screen.text_input(key="again-seed-tao-s3-local-v09"), "0")  # the shipped file's own
    assert "**0.0**" in on.words(screen)


def test_explore_draws_a_paper_s_figure_at_once() -> None:
    screen = on.visit(preset="ren-1a")
    shipped = reproductions.load("ren-1a")
    ends = [on.numbers_in(trace["y"])[-1] for trace in on.chart(screen).traces if trace.get("mode") == "lines+markers"]
    assert np.allclose(ends, [line.mean[-1] for line in shipped.lines])
    assert "ships with the lab" in on.words(screen) and "preview" not in on.words(screen)
    assert reproductions.of_experiment(shipped.experiment.with_changes(seed=1)) is None
