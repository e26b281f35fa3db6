"""Every page runs, prints what only it prints, and draws what the experiment says."""

import html
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import screen as on
from streamlit.testing.v1 import AppTest

from bandit_core import Experiment
from bandit_core.spec import notation
from bandit_core.spec.budgets import Discrete
from bandit_core.studies import sweep
from ui import charts, gallery, menu, state

# The course asks for a guess first; Theory has drawings, and charts in a fold; coin is of docs/extending.md.
OWN_TITLES = ("home", "learn", "explore")  # of what they show
WITHOUT_A_PICTURE = ("glossary", "learn", "teach", "theory", "errata", "coin")


def letters_are_large_ticks_plain_and_buttons_have_room(chart: on.Chart) -> None:
    layout = chart.layout
    assert layout["font"]["size"] >= 13 and layout["legend"]["font"]["size"] >= 13
    assert layout["height"] < 200 or layout["margin"]["t"] >= charts.MODE_BAR
    for name, axis in layout.items():
        if name.startswith(("xaxis", "yaxis")):
            assert axis["tickfont"]["size"] >= 13
            assert axis.get("exponentformat", "none") in ("none", "B")
            assert "s" not in axis.get("tickformat", "") or "users" in axis["title"]["text"]  # never 100µ
            # of log axes with names at 2 and 5, Plotly writes small digits unless it is told a format
            assert axis.get("dtick") not in ("D1", "D2") or axis.get("tickformat")
    types = [layout[name].get("type", "linear") for name in ("xaxis", "yaxis")]
    assert types != ["log", "linear"] or "regret" not in layout["yaxis"].get("title", {}).get("text", "")
    names = [trace for trace in chart.traces if trace.get("name") and trace.get("showlegend") is not False]
    assert len(names) <= charts.MOST
    assert not any(trace["type"] == "bar" for trace in chart.traces if layout["yaxis"].get("type") == "log")


def test_titles_icons_and_places_of_the_pages_are_all_different() -> None:
    pages = menu.pages()
    for name in ("title", "icon", "place", "address"):
        assert len({getattr(page, name) for page in pages}) == len(pages) >= 12, name
    assert {page.name for page in pages} == {path.stem for path in menu.FOLDER.glob("*.py")}
    assert [page.name for page in pages if not page.address] == ["home"]


def test_reading_the_pages_imports_none_of_what_they_import(project: Path) -> None:
    code = "import sys; from ui import menu; menu.pages(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "ui" in loaded and not loaded & {"streamlit", "bandit_core", "numpy", "pandas", "plotly", "pages"}


@pytest.mark.parametrize("page", menu.pages(), ids=lambda page: page.name)
def test_a_page_opens_with_its_title_and_tells_its_controls_and_pictures(
    page: menu.Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: set[str] = set()
    for name in ("page_field", "keep_page_field"):
        real = getattr(state, name)
        monkeypatch.setattr(state, name, lambda field, *more, real=real: asked.add(field) or real(field, *more))
    fields = {"arms": "0.5,0.9", "lines": "ucb,heldp-ucb-b(discrete(0,1,2)),kl-ucb-cf(1)", **on.SMALL}
    screen = on.visit(page.name, **fields)
    assert screen.session_state["lab"]["page"] == page.address
    assert not screen.warning and not screen.error
    assert len(screen.title) == 1
    assert screen.title[0].value.startswith(page.title) or page.name in OWN_TITLES
    # Else a link to the page would be told as broken, and its fields be dropped when the experiment changes.
    assert asked - {"controls"} <= set(page.fields.split())
    every_control_says_what_it_is_for(screen, page)
    every_picture_is_told_in_words_and_never_moves_by_itself(screen, page)
    assert all(each["size"] >= 13 for each in on.players(screen))
    for element in screen.get("plotly_chart"):
        letters_are_large_ticks_plain_and_buttons_have_room(on.Chart(element.proto.spec))
    printed = [on.words(screen), *(element.proto.spec for element in screen.get("plotly_chart"))]
    printed += [element.value for element in (*screen.sidebar.markdown, *screen.sidebar.caption)]
    assert not re.findall(r".{0,30}\d\*{0,2} %(?![{]).{0,9}", "\n".join(printed))


def every_control_says_what_it_is_for(screen: AppTest, page: menu.Page) -> None:
    kinds = (
        "button text_input text_area selectbox multiselect select_slider slider toggle checkbox "
        "button_group file_uploader download_button"
    )
    controls = [element for kind in kinds.split() for element in getattr(screen, kind)]
    players = on.players(screen)
    silent = [element.label for element in controls if not element.help.strip()]
    sliders = [each for each in players if len(each["positions"]) > 1]
    silent += [each["label"] for each in sliders if not each["help"].strip() or not each["label"].strip()]
    assert len(controls) + len(players) > (10 if page.sidebar == "all" else 0)
    assert silent == []


def every_picture_is_told_in_words_and_never_moves_by_itself(screen: AppTest, page: menu.Page) -> None:
    figures, positions = screen.get("plotly_chart"), [at for each in on.players(screen) for at in each["positions"]]
    assert figures or positions or page.name in WITHOUT_A_PICTURE
    for position in positions:
        for said in (position["alt"], position["aloud"]):
            assert "<" not in said and "**" not in said
            assert bool(re.search(r"\d", said)) is bool(position["curves"]), said  # axes alone tell nothing
    for figure in figures:
        assert len(figure.proto.alt) > 30 and re.search(r"\d", figure.proto.alt), figure.proto.alt
        assert "<" not in figure.proto.alt and html.unescape(figure.proto.alt) == figure.proto.alt
        assert "transition" not in on.Chart(figure.proto.spec).layout
        assert '"frames"' not in figure.proto.spec
    pictures = [image for element in screen.get("image") for image in element.proto.imgs]
    assert all(image.alt for image in pictures)


def test_on_home_the_curve_moves_and_not_the_frame() -> None:
    shown = on.players(on.visit("home", eps="1"))[0]
    assert [each["name"] for each in shown["positions"]] == [f"ε = {epsilon:g}" for epsilon in gallery.EPSILONS]
    assert len({str((each["x"], each["y"])) for each in shown["positions"]}) == 1
    low, high = shown["positions"][0]["y"]["ends"]
    ends = []
    for each in shown["positions"]:
        rows = [shown["series"][curve["y"]] for curve in each["curves"]]
        assert all(low < row[-1] < high and len(row) <= 60 for row in rows)
        ends.append([row[-1] for row in rows])
    (free, *_), curator, no_one = np.transpose(ends)
    assert np.all(curator <= no_one) and np.all(free <= curator)
    assert np.all(np.diff(no_one) < 0)


@pytest.mark.parametrize("low", [-6.3, -1.0, 0.0, 0.12, 3.95])
@pytest.mark.parametrize("width", [0.01, 0.1, 0.3, 0.6, 0.74, 0.76, 1.0, 2.4, 2.6, 7.0])
def test_a_log_axis_has_several_ticks(low: float, width: float) -> None:
    step, high = charts.log_step(low, low + width), low + width
    if str(step).startswith("L"):
        unit = float(str(step)[1:])
        found = np.floor(10**high / unit) - np.ceil(10**low / unit) + 1
    else:
        bases = {1: (1,), "D2": (1, 2, 5)}[step]
        places = np.log10([base * 10.0**power for power in range(-9, 14) for base in bases])
        found = np.count_nonzero((places >= low) & (places <= high))
    assert 2 <= found <= 10


def test_ticks_are_written_as_people_write_them() -> None:
    for fields in ({"y": "log"}, {"show": "regret-per-user"}, {"show": "price"}):
        chart = on.chart(on.visit(arms="0.9,0.5", lines="ucb,heldp-ucb-b(1)", **fields, **on.SMALL))
        assert chart.layout["yaxis"]["tickformat"] == ",~r" and "exponentformat" not in chart.layout["yaxis"]


@pytest.mark.parametrize(
    ("law", "zero"),
    [("discrete(0,0.2,1,2,100)", True), ("discrete(0,2)", True), ("clamped-gaussian(1,1,0,100)", True),
     ("discrete(0.2,1)", False), ("uniform(0.1,3)", False), ("lognormal(1,1)", False)],
)  # fmt: skip
def test_users_who_share_nothing_stand_at_0(law: str, zero: bool) -> None:
    drawn = Experiment.model_validate(
        {"arms": [{"kind": "bernoulli", "mean": 0.5}], "lines": notation.read_lines(f"heldp-ucb-b({law})")}
    ).lines[0]
    figure = charts.density_chart(drawn.epsilon, None)
    message = {str(text): float(place) for trace in figure.data if trace.text is not None
            for text, place in reversed(list(zip(trace.text, trace.x, strict=True)))}  # fmt: skip
    assert [place for text, place in message.items() if "shares nothing" in text] == [0.0] * zero
    assert figure.layout.xaxis.type == ("category" if law.startswith("discrete") else "linear")


def test_a_threshold_stands_between_the_groups_that_it_separates() -> None:
    figure = charts.density_chart(Discrete(values=(0.0, 0.2, 1.0)), 0.2)
    assert figure.layout.shapes[0].x0 == 0.5 and list(figure.data[0].x) == ["0", "0.2", "1"]


def test_on_a_log_axis_nothing_is_zero() -> None:
    chart = on.chart(on.visit(arms="0.9,0.5", lines="ucb,heldp-ucb-b(1)", y="log", **on.SMALL))
    assert chart.layout["yaxis"]["type"] == "log"
    assert np.nanmin(chart.y("– UCB")) > 0


UNUSUAL = [
    {"arms": "0.5", "lines": "ucb"},
    {"arms": "0.5 x3", "lines": "ucb,heldp-ucb-b(1)"},
    {"T": "1", "n": "1"},
    {"T": "2", "n": "2"},
    {"arms": "gaussian(0,1),gaussian(1,1)", "lines": "ucb,heldp-ucb-bs(1),heldp-ucb-ls(1)"},
    {"lines": "heldp-ucb-l(1)", "show": "price"},
    {"lines": "ucb,heldp-ucb-l(1)", "hide": "0,1"},
    {"lines": "heldp-ucb-l(1,eps_min=0.5),heldp-ucb-b(lognormal(1,1)),heldp-ucb-b(discrete(0,1))"},
    {"lines": ",".join(["ucb"] * 8 + ["heldp-ucb-b(0.5)"] * 8), "show": "regret-per-user", "runs": "1"},
]


@pytest.mark.parametrize(
    ("page", "fields"),
    [*(("explore", fields) for fields in UNUSUAL), *(("threshold", fields) for fields in UNUSUAL[2::5])],
    ids=lambda given: given if isinstance(given, str) else " ".join(f"{name}={given[name]}" for name in given)[:60],
)
def test_unusual_experiments_are_drawn(page: str, fields: dict[str, str]) -> None:
    screen = on.visit(page, **{**on.SMALL, **fields})
    assert not screen.warning and not screen.error
    hidden = any("all are hidden" in each.value for each in screen.caption)
    assert hidden if "hide" in fields and page == "explore" else screen.get("plotly_chart")


def test_too_expensive_for_this_server_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for page, limit in (("explore", "1e5"), ("explore", "100"), ("heavy-tails", "100"), ("contextual", "1e5"),
                        ("your-numbers", "1e5")):  # fmt: skip
        monkeypatch.setenv("LAB_MAX_STEPS", limit)
        screen = on.visit(page, arms="0.9,0.5", lines="ucb", T="1e7", n="50")
        assert "steps" in on.words(screen)
        assert "Run" not in [button.label for button in screen.main.button]
    monkeypatch.setenv("LAB_MAX_STEPS", "plenty")
    assert "whole number" in on.words(on.visit())


def test_threshold_follows_the_users_of_the_sidebar() -> None:
    screen = on.visit("threshold", lines="ucb,heldp-ucb-b(discrete(0,0.2,1,2,100))", **on.SMALL)
    assert not screen.info
    assert "**ε = 2**" in on.words(screen)  # 1.36 / 0.4 < 2.47 / 0.6 < 1 / 0.2
    assert "predicted cost 2.8, against 3.4 at the best threshold" in on.words(screen)  # 5 / (0.01 + 0.21 + 0.58 + 1)
    cost = on.chart(screen, "cost")
    assert len(cost.y("V_B (Bernoulli)")) == len(cost.y("V_w (Bernoulli, weighed)")) == 4
    [bars] = [trace for trace in cost.traces if trace["type"] == "bar"]
    assert len(set(bars["marker"]["color"][:3])) == len(set(bars["marker"]["color"][3:])) == 1  # ignored, and kept
    assert bars["marker"]["color"][2] != bars["marker"]["color"][3]
    assert on.chart(screen, "threshold-regret").names == ["● best threshold 2", "● weighed"]
    for text in ("lognormal(1, 1)", "lognormal(3, 0.5)"):  # the slider's range moves under a chosen value
        kind = text.partition("(")[0]
        screen = on.change(screen, "selectbox", "budget-kind", kind)
        screen = on.change(screen, "text_input", f"budget-{kind}", text)
        [control] = screen.main.select_slider
        assert f"{control.value:.3g}" in control.options
        assert f"**ε = {control.value:.3g}**" in on.words(screen)  # it opens at the recommendation
        on.put(screen, control, float(control.options[3]))
        assert f"ε_min = {control.options[3]}" in on.words(screen)
        there = on.visit("threshold", **on.address(screen))
        assert f"ε_min = {control.options[3]}" in on.words(there)  # its link opens it
        assert len(on.chart(screen, "threshold-regret").names) == 3  # chosen, best, weighed
        assert len(on.chart(screen, "cost").y("V_B (Bernoulli)")) > 20


def test_threshold_offers_an_example_where_everybody_has_one_budget() -> None:
    screen = on.unfold(on.visit("threshold", **on.SMALL), "threshold-others")
    own = screen.session_state["lab"]["kept"]
    assert on.chart(screen, "cost").traces and screen.session_state["lab"]["example-of"] == "spread"
    on.press(screen, screen.button(key="threshold-use"))
    assert not screen.session_state["lab"]["example-of"]
    assert screen.session_state["lab"]["experiment"].arms == own.arms
    assert "uniform(0,2)" in str(on.address(screen))


def test_the_heuristic_is_checked_by_simulation() -> None:
    screen = on.visit("threshold", lines="ucb,heldp-ucb-b(discrete(0,0.2,1,2,100))", **on.SMALL)
    on.put(screen, on.unfold(screen, "threshold-check").toggle(key="check"), True)
    users = on.setting(screen, "select_slider", "check-users")
    assert users.value == sweep.ENOUGH_USERS
    on.put(screen, users, 10_000)  # fewer, which need no Run
    fit = on.chart(screen, "fit")
    assert "linear fit" in fit.names
    assert [len(fit.y(name)) for name in fit.names if "±" in name] == [4, 4, 1]
    assert "R² =" in on.words(screen)


def test_where_the_check_is_impossible_it_says_why() -> None:
    screen = on.visit("threshold", arms="gaussian(1,1),gaussian(0,1)", lines="heldp-ucb-ls(uniform(1,2))", **on.SMALL)
    assert on.words(screen).count("The simulation cannot run with these arms") == 1
    assert "heldp\\-ucb\\-ls" in on.words(on.unfold(screen, "threshold-check"))
    assert not [toggle for toggle in screen.toggle if toggle.key == "check"]
