"""A lesson (controls=off) on Explore and Home: one slider, a frame that stays, no bounds, a guess first, a code."""

import re

import numpy as np
import pytest
import screen as on
import segno

from bandit_core.experiments import links
from bandit_core.studies.tradeoff import blind_regret
from ui import gallery, lesson, menu

FIELDS = {"arms": "0.9,0.5", "lines": "ucb,heldp-ucb-b(1),ucb-cf(1)", "T": "400", "n": "6", "x": "log", "y": "log"}


def teach(page: str = "explore", **address: str):  # type: ignore[no-untyped-def]
    return on.visit(page, controls="off", **address)


def frame(chart: on.Chart) -> tuple[object, object]:
    return tuple(chart.layout[axis]["range"] for axis in ("xaxis", "yaxis"))  # type: ignore[return-value]


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_lesson_has_the_budget_s_slider_a_frame_that_stays_and_a_ghost(scale: str) -> None:
    screen = teach(**FIELDS | {"y": scale})
    [slider] = screen.select_slider
    first = on.chart(screen)
    frames = {str(frame(first))}
    for epsilon in (4.0, 8.0, 2.0):
        before = on.chart(screen)
        on.put(screen, on.control(screen, "select_slider", "lesson-epsilon"), epsilon)
        chart = on.chart(screen)
        frames.add(str(frame(chart)))
        shown = screen.session_state["lab"]["experiment"]
        assert [line.epsilon.fixed for line in shown.lines if line.epsilon] == [epsilon] * 2
        read, issues = links.read({name: text for name, text in on.address(screen).items() if name != "controls"})
        assert not issues and read.lines == shown.lines and on.address(screen)["controls"] == "off"
        ghosts = [trace for trace in chart.traces if trace.get("legendgroup") == "before"]
        for ghost, name in zip(ghosts, ("● HeLDP-UCB-B", "● UCB-CF"), strict=True):
            np.testing.assert_array_equal(on.numbers_in(ghost["y"]), before.y(name))
    assert slider.key.startswith("lesson-epsilon") and len(frames) == 1
    if scale == "log":
        assert 10 ** first.layout["yaxis"]["range"][1] == pytest.approx(1.25 * blind_regret(shown), rel=1e-6)


def test_a_plain_axis_grows_for_good_where_a_curve_would_leave_it() -> None:
    screen = teach(arms="0.9,0.5", lines="ucb,heldp-ucb-b(8)", T="2000", n="6")
    tops = []
    for epsilon in (0.1, 8.0):
        on.put(screen, on.control(screen, "select_slider", "lesson-epsilon"), epsilon)
        chart = on.chart(screen)
        tops.append(chart.layout["yaxis"]["range"][1])
        assert np.nanmax(chart.y("● HeLDP-UCB-B")) < tops[-1]
    assert tops[0] == tops[1]


def test_a_lesson_draws_no_bounds_large_letters_and_nothing_below() -> None:
    screen, plain = teach(**FIELDS), on.visit("explore", **FIELDS)
    names = [{trace.get("legendgroup") for trace in on.chart(each).traces} for each in (screen, plain)]
    bounds = [sum("meta" in trace for trace in on.chart(each).traces) for each in (screen, plain)]
    assert bounds[0] == 0 < bounds[1] and "line-0" in names[0]
    sizes = [on.chart(each).layout["font"]["size"] for each in (screen, plain)]
    assert sizes[0] == lesson.SIZE > sizes[1]
    views = [{group.key for group in each.button_group} for each in (screen, plain)]
    assert not views[0] and "views" in views[1] and not screen.sidebar.selectbox
    assert on.chart(screen).layout["height"] < 400


def test_users_with_budgets_of_their_own_have_no_slider_in_a_lesson() -> None:
    assert not teach(arms="0.9,0.5", lines="ucb,heldp-ucb-b(uniform(1,2))", **on.SMALL).select_slider
    silent = teach(arms="0.9,0.5", lines="ucb,heldp-ucb-b(discrete(0,2))", **on.SMALL)
    on.run(silent)
    assert on.chart(silent).names


@pytest.mark.parametrize("controls", ["on", "off"])
def test_private_lines_are_hidden_until_the_button_is_pressed(controls: str) -> None:
    screen = on.visit("explore", **FIELDS, controls=controls, reveal="off")
    assert [name for name in on.chart(screen).names if name[0] in "–●■"] == ["– UCB"]
    message = screen.get_by_key("regret-chart").proto.alt + on.words(screen)
    whole = on.visit("explore", **FIELDS, controls=controls)
    numbers = re.findall(r"ends at ([\d.,]+ ± [\d.,]+)", whole.get_by_key("regret-chart").proto.alt)
    assert len(numbers) == 3 and numbers[0] in message and not [each for each in numbers[1:] if each in message]
    assert "price" not in message and "times the regret" not in message
    on.press(screen, screen.button(key="reveal-explore"))
    assert set(on.chart(screen).names) >= {"– UCB", "● HeLDP-UCB-B", "● UCB-CF"}
    assert on.address(screen)["reveal"] == "off"


def test_on_home_private_lines_are_hidden_too_and_the_lesson_is_the_picture_alone() -> None:
    screen = teach("home", reveal="off")
    covered = on.players(screen)[0]
    assert {curve["label"] for each in covered["positions"] for curve in each["curves"]} == {"– no privacy"}
    assert "times" not in str(covered) and "trust" not in str(covered)
    on.press(screen, screen.button(key="reveal-home"))
    shown = on.players(screen)[0]
    assert {len(each["curves"]) for each in shown["positions"]} == {3} and shown["size"] == lesson.SIZE
    assert "#### I teach" not in on.words(screen) and "#### I teach" in on.words(on.visit("home"))
    on.slide(screen, "home-epsilon", gallery.EPSILONS.index(4.0))
    assert on.address(screen) == {"eps": "4", "controls": "off", "reveal": "off"}


def test_what_reveal_cannot_be_is_told() -> None:
    message = on.visit("explore", **FIELDS, reveal="perhaps").main.warning[0].value
    assert "reveal" in message and "perhaps" in message


def test_the_code_for_phones_holds_the_address_of_the_lesson() -> None:
    screen = teach(**FIELDS)
    [shown] = [code.value for code in screen.main.code]
    assert shown.endswith("controls=off") and "lines=1-2,ucb-cf(1)&eps=1" in shown
    assert [image.alt for element in screen.get("image") for image in element.proto.imgs] == [
        f"QR code of the address {shown}"
    ]
    assert lesson.code(shown) == segno.make(shown, error="m", micro=False).svg_inline(
        scale=6, border=3, dark="#000", light="#fff"
    )
    assert lesson.code(shown) != lesson.code(shown + "x")
    assert lesson.code("x" * 4000) is None


def test_ghosts_stand_only_behind_curves_of_the_same_picture() -> None:
    screen = teach(**FIELDS)
    screen.query_params["lines"] = "ucb,heldp-ucb-l(1),ucb-cf(1)"
    on.run(screen)
    assert not [trace for trace in on.chart(screen).traces if trace.get("legendgroup") == "before"]


def test_home_leads_to_the_course_and_to_its_teacher() -> None:
    links_there = [link.proto.page for link in on.visit("home").get("page_link")]
    assert links_there.count("learn") == links_there.count("teach") == 1
    assert [page.name for page in menu.pages()[1:3]] == ["learn", "teach"]
