"""A control never leaves a label, title or note behind: over a preset of each family, through the sidebar itself."""

import json
import re

import pytest
import screen as on
from families import one_of_each_family
from streamlit.testing.v1 import AppTest

from bandit_core import Experiment, load_preset
from bandit_core.experiments import links
from bandit_core.experiments.experiment import Line
from ui import exports

NUMBER = re.compile(r"(?<![\w.\-−])\d+(?:\.\d+)?(?![\w])")


def numbers_in(text: str) -> set[float]:
    return {float(each) for each in NUMBER.findall(text)}


def numbers_of(line: Line) -> set[float]:
    """Every number that a line really has: of its budget, its parameters, and the share of users who answer."""
    found = numbers_in(" ".join(map(str, line.params.values())))
    if line.epsilon is not None:
        values, shares = line.epsilon.atoms
        found |= numbers_in(str(line.epsilon.model_dump(mode="json"))) | set(values.tolist())
        found.add(float(f"{100 * (1 - shares[values == 0].sum()):.3g}"))
    return found


def assert_nothing_is_left_behind(now: Experiment, preset: Experiment) -> None:
    for number, line in enumerate(now.lines):
        label = now.label(number)
        assert numbers_in(label) <= numbers_of(line), label
        if line.epsilon is not None:
            spread = {"discrete": line.epsilon.interval is None, "continuous": line.epsilon.interval is not None}
            assert all(line.epsilon.fixed is None and true for word, true in spread.items() if word in label), label
    if now.plays_as(preset):
        assert (now.title, now.note) == (preset.title, preset.note)
        return
    assert (now.title, now.note) == ("", "")
    spread = (exports.snippet(now), str(now.spec()), str(links.write(now)))
    assert not any(words in text for text in spread for words in (preset.title, preset.note))
    again, problems = links.read(links.write(now))
    assert again == now and not problems


def now(screen: AppTest) -> Experiment:
    assert not screen.sidebar.error, screen.sidebar.error[0].value
    experiment: Experiment = screen.session_state["lab"]["experiment"]
    return experiment


@pytest.fixture
def _nothing_is_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_MAX_STEPS", "1")


@pytest.mark.usefixtures("_nothing_is_simulated")
@pytest.mark.parametrize("name", one_of_each_family())
def test_no_control_leaves_words_behind(name: str) -> None:
    preset = load_preset(name)
    screen = on.visit(preset=name)
    assert now(screen) == preset
    assert_nothing_is_left_behind(now(screen), preset)
    private = [row for row, line in enumerate(preset.lines) if line.epsilon is not None]
    slider = [each for each in screen.sidebar.select_slider if each.key == on.key(screen, "epsilon")]
    if slider and not slider[0].disabled:
        on.change(screen, "select_slider", "epsilon", 0.7)
        changed = now(screen)
        assert any(0.7 in numbers_of(changed.lines[row]) for row in private)
        assert_nothing_is_left_behind(changed, preset)
    for row in {private[0], private[-1]} if private else ():
        on.change(screen, "text_input", f"own-{row}", "200")
        assert now(screen).lines[row].epsilon.fixed == 200
        assert_nothing_is_left_behind(now(screen), preset)
    given = [row for row, line in enumerate(preset.lines) if line.params.get("eps_min", "auto") != "auto"]
    for row in given[:: max(1, len(given) - 1)]:
        on.change(screen, "text_input", f"eps_min-{row}", f"{preset.lines[row].params['eps_min'] / 4:g}")
        assert_nothing_is_left_behind(now(screen), preset)
    on.change(screen, "select_slider", "horizon", 200)
    assert now(screen).horizon == 200
    assert_nothing_is_left_behind(now(screen), preset)


@pytest.mark.usefixtures("_nothing_is_simulated")
@pytest.mark.parametrize("name", ["default", "first-look", "trust", "two-treatments", "shy-users", "ren-1a"])
def test_title_and_note_come_back_with_the_numbers_they_speak_of(name: str) -> None:
    preset = load_preset(name)
    screen = on.visit(preset=name)
    arms = on.control(screen, "text_area", "arms").value
    on.change(screen, "text_area", "arms", "0.7, 0.3")
    assert screen.title[0].value not in (preset.title, load_preset("default").title)  # the page's own, whatever it is
    assert_nothing_is_left_behind(now(screen), preset)
    on.change(screen, "text_area", "arms", arms)
    assert now(screen) == preset


@pytest.mark.usefixtures("_nothing_is_simulated")
def test_the_slider_moves_all_lines_or_says_which() -> None:
    screen = on.visit(preset="trust")
    on.change(screen, "select_slider", "epsilon", 0.3)
    assert [line.epsilon.fixed for line in now(screen).lines[1:]] == [0.3, 0.3]
    screen = on.visit(preset="trust-ladder", **on.SMALL)
    on.change(screen, "select_slider", "epsilon", 0.3)
    assert all("ε = 0.3" in now(screen).label(row) for row in range(1, 5))

    screen = on.visit(preset="shy-users")  # the slider is the budget of those who answer
    on.change(screen, "select_slider", "epsilon", 0.5)
    atoms = [line.epsilon.atoms for line in now(screen).lines]
    assert [values.tolist() for values, _ in atoms] == [[0.5], [0.0, 0.5], [0.0, 0.5]]
    assert [shares[-1] for _, shares in atoms] == [1.0, 0.5, 0.1]

    screen = on.visit(preset="first-look")  # every line has its own, so nothing is moved
    assert on.control(screen, "select_slider", "epsilon").disabled
    on.change(screen, "text_input", "own-2", "")  # now one follows
    assert not on.control(screen, "select_slider", "epsilon").disabled
    on.change(screen, "select_slider", "epsilon", 0.1)
    assert [line.epsilon.fixed for line in now(screen).lines[1:]] == [4.0, 0.1, 0.5]
    assert [now(screen).label(row) for row in (1, 2, 3)] == ["ε = 4", "ε = 0.1", "ε = 0.5"]


@pytest.mark.usefixtures("_nothing_is_simulated")
def test_a_label_that_names_a_number_by_hand_is_not_used_once_its_line_has_changed() -> None:
    screen = on.visit(arms="0.9,0.5", lines='ucb,heldp-ucb-b(2,label="at 2"),heldp-ucb-l(2,label="mine")')
    on.change(screen, "select_slider", "epsilon", 1.0)
    assert [line.label for line in now(screen).lines] == [None, None, "mine"]
    assert on.control(screen, "text_input", "label-1").value == "at 2"
    assert any("not used" in each.value for each in screen.sidebar.caption)
    on.change(screen, "text_input", "label-1", "at {epsilon:value}")
    assert now(screen).label(1) == "at 1"
    on.change(screen, "select_slider", "epsilon", 0.5)
    assert now(screen).label(1) == "at 0.5"


def test_a_label_that_names_a_parameter_by_hand_goes_when_the_parameter_changes_alone() -> None:
    lines = [
        {"policy": "heldp-ucb-b", "epsilon": 2, "params": {"eps_min": 0.5}, "label": "from 0.5 on"},
        {"policy": "ucb"},
    ]
    own = load_preset("default").with_changes(lines=lines)
    assert own.with_changes(horizon=1000).lines[0].label == "from 0.5 on"
    assert own.with_changes(lines=[{**lines[0], "params": {"eps_min": 0.25}}, lines[1]]).lines[0].label is None


@pytest.mark.usefixtures("_nothing_is_simulated")
def test_an_edited_preset_that_was_saved_loses_its_words_when_it_is_opened() -> None:
    stale = {**load_preset("ren-1c").spec(), "horizon": 1000}
    assert stale["title"]
    screen = on.visit(**on.SMALL)
    on.control(screen, "file_uploader", "upload").upload("old.json", json.dumps(stale).encode())
    on.run(screen)
    assert now(screen).horizon == 1000 and (now(screen).title, now(screen).note) == ("", "")
