"""Every control changes the experiment it says it changes; what is wrong is told and loses nothing."""

import json
import re
from typing import Any

import numpy as np
import pytest
import screen as on
from streamlit.testing.v1 import AppTest

from bandit_core import Experiment, load_preset, simulate
from bandit_core.experiments import links
from bandit_core.policies import registry
from bandit_core.theory import definitions
from ui import page_fields

TWO = {"arms": "0.9,0.5", "lines": "ucb,heldp-ucb-b(2)", "T": "3000", "n": "5"}
GROUPS = {**TWO, "lines": "ucb,heldp-ucb-b(discrete(0,0.2,1,2))"}


def experiment(screen: AppTest) -> Experiment:
    return screen.session_state["lab"]["experiment"]


def headline(screen: AppTest, start: str) -> str:
    return next(each.label for each in screen.sidebar.expander if each.label.startswith(start))


def test_horizon_trials_and_seed_change_the_experiment_and_its_headline() -> None:
    screen = on.visit(**TWO)
    curve = on.chart(screen).y("– UCB")
    on.change(screen, "text_input", "seed", "9")
    assert not np.array_equal(curve, on.chart(screen).y("– UCB"))
    on.change(screen, "select_slider", "horizon", 1000)
    on.change(screen, "select_slider", "trials", 10)
    assert (experiment(screen).horizon, experiment(screen).trials, experiment(screen).seed) == (1000, 10, 9)
    assert headline(screen, "Size") == "Size · 10 trials, seed 9"
    assert "middle 90% of 10 runs" in on.words(screen)


def test_the_delta_of_visits_is_asked_for_where_people_come_again_and_refused_in_words() -> None:
    def delta(screen: AppTest) -> list[Any]:
        return [each for each in screen.sidebar.select_slider if (each.key or "").startswith("visits_delta")]

    local = {**TWO, "lines": "ucb,heldp-ucb-b(1)"}
    assert not delta(on.visit(**local))
    screen = on.visit(**local, visits="5")
    on.put(screen, delta(screen)[0], 1e-6)
    assert not screen.sidebar.error and f"{definitions.tight_part(1.0, 5, 1e-6):.4g}" in on.words(screen)
    central = on.visit(**{**local, "lines": "ucb,dp-se(1)"}, visits="5")
    on.put(central, delta(central)[0], 1e-6)
    assert registry()["dp-se"].title in central.sidebar.error[0].value.replace("\\", "")


def test_several_mistakes_are_told_at_once() -> None:
    screen = on.visit(arms="0.9,0.5", lines="ucb,heldp-ucb-b(1),heldp-ucb-b(2)", **on.SMALL)
    on.control(screen, "text_area", "arms").set_value("nonsense")
    on.put(screen, on.control(screen, "text_input", "own-2"), "minus one")
    message = [error.value for error in screen.sidebar.error]
    assert len(message) == 2 and "minus one" in message[0] and "Entry 1" in message[1]


@pytest.mark.parametrize(
    ("page", "address", "kind", "field", "wrong", "said"),
    [
        ("explore", TWO, "text_area", "arms", "0.9, beta(4", "never closed"),
        ("explore", TWO, "text_area", "arms", "1.2", "at most 1"),
        ("explore", TWO, "text_input", "own-1", "many", "number above 0"),
        ("explore", TWO, "text_input", "own-1", "-1", "greater than 0"),
        ("explore", {**TWO, "lines": "ucb(alpha=2)"}, "text_input", "alpha-0", "abc", "number"),
        ("threshold", GROUPS, "text_input", "budget-discrete", "discrete(0:2, 1:-1)", "at least 0"),
        ("heavy-tails", {}, "text_input", "v-1", "2", "at most 1"),
        ("contextual", {}, "text_area", "contexts", "single(0, 10)", "at least 1"),
        ("contextual", {}, "text_area", "contexts", "single(2, ten)", "number"),
    ],
)
def test_what_is_wrong_stands_under_its_field_and_nothing_is_lost(
    page: str, address: dict[str, str], kind: str, field: str, wrong: str, said: str
) -> None:
    screen = on.visit(page, **address)
    good, seen = experiment(screen), len(screen.main.get("plotly_chart"))
    control = on.control(screen, kind, field)
    before = control.value
    on.put(screen, control, wrong)
    [message] = [error.value for error in screen.sidebar.error]
    assert said in message and not re.search(r"\w\\?\[\d|params|lines|contexts", message)
    drawn = [(each.type, each.key) for each in screen.sidebar if hasattr(each, "value")]
    assert drawn.index(("error", None)) - drawn.index((kind, on.key(screen, field))) == 1  # directly below
    [line] = [box.value for box in screen.main.warning]
    assert "last valid" in line and len(screen.main.get("plotly_chart")) == seen  # the picture stays
    on.put(screen, screen.toggle(key="change-experiment"), False)  # would close the field
    assert on.control(screen, kind, field).value == wrong and experiment(screen) == good
    on.change(screen, kind, field, before)
    assert not screen.error and not screen.main.warning and experiment(screen) == good


def test_arms_edited_as_a_table() -> None:
    screen = on.visit(**TWO)
    on.put(screen, screen.toggle(key="arms-as-table"), True)
    screen.session_state[on.key(screen, "arms-editor")] = {
        "edited_rows": {0: {"numbers": "0.7"}},
        "added_rows": [{"law": "beta", "numbers": "1,3", "count": 2}],
        "deleted_rows": [1],
    }
    on.run(screen)
    assert [arm.expected for arm in experiment(screen).single_arms] == [0.7, 0.25, 0.25]
    on.put(screen, screen.toggle(key="arms-as-table"), False)
    assert on.control(screen, "text_area", "arms").value == "0.7, beta(1,3) x2"


def test_a_preset_fills_every_control() -> None:
    screen = on.visit(T="300", n="3", seed="5", x="linear", y="log", bounds="0", hide="1", lines="kl-ucb,ucb")
    on.press(screen, next(button for button in screen.sidebar.button if button.label == "Examples"))
    on.press(screen, screen.button(key="example-two-treatments"))
    preset = load_preset("two-treatments")
    assert experiment(screen) == preset
    assert on.control(screen, "select_slider", "horizon").value == preset.horizon
    assert on.control(screen, "select_slider", "trials").value == preset.trials
    assert on.control(screen, "text_input", "seed").value == str(preset.seed)
    assert on.control(screen, "toggle", "bounds").value is preset.view.bounds
    assert on.setting(screen, "button_group", "axes").value == preset.view.x == preset.view.y
    assert [on.control(screen, "text_input", f"label-{row}").value for row in range(len(preset.lines))] == [
        line.label or "" for line in preset.lines
    ]
    assert on.address(screen) == {"preset": "two-treatments"}


def test_reset_returns_to_the_opening_picture() -> None:
    screen = on.visit(**TWO)
    on.press(screen, next(button for button in screen.sidebar.button if button.label == "Reset"))
    assert experiment(screen) == load_preset("trust")
    assert on.address(screen) == {"preset": "trust"}


def test_the_view_changes_the_drawing_and_the_address_but_no_number() -> None:
    screen = on.visit(**TWO)
    curve = on.chart(screen).y("– UCB")
    on.put(screen, on.setting(screen, "button_group", "axes"), "log")
    on.change(screen, "toggle", "bounds", False)
    on.change(screen, "toggle", "runs", True)
    chart = on.chart(screen)
    assert (chart.layout["xaxis"]["type"], chart.layout["yaxis"]["type"]) == ("log", "log")
    assert chart.names == ["– UCB", "● HeLDP-UCB-B"]
    assert sum(trace["line"]["width"] == 0.7 for trace in chart.traces) == 2 * 5
    assert np.array_equal(chart.y("– UCB")[-20:], curve[-20:])
    view = links.read(on.address(screen))[0].view
    assert (view.x, view.y, view.bounds, view.runs) == ("log", "log", False, True)
    on.change(screen, "selectbox", "quantity", "regret-per-user")
    assert on.address(screen)["show"] == "regret-per-user"
    assert on.chart(screen).y("– UCB")[-1] == pytest.approx(curve[-1] / 3000, rel=1e-5)


def test_the_band_is_what_its_words_say() -> None:
    screen = on.visit(**TWO)
    low, high = on.chart(screen).band("– UCB")
    assert "Shaded: middle 90% of 5 runs" in on.words(screen)
    on.change(screen, "selectbox", "band", "quarter-sd")
    assert on.address(screen)["band"] == "quarter-sd"
    assert "Shaded: mean ± a quarter of a standard deviation over 5 runs" in on.words(screen)
    chart = on.chart(screen)
    narrow, wide = chart.band("– UCB")
    line = simulate(experiment(screen)).lines[0]
    np.testing.assert_allclose(wide, line.mean + line.std / 4, rtol=1e-6)
    np.testing.assert_allclose(narrow, line.mean - line.std / 4, rtol=1e-6, atol=1e-6)
    assert np.all((high - low)[-20:] > (wide - narrow)[-20:])


def visible(screen: AppTest) -> object:
    return next(each for each in screen.sidebar.multiselect if each.label == "Visible curves")


def test_hidden_lines_stay_hidden_while_others_come_and_go() -> None:
    screen = on.visit(arms="0.9,0.5", lines="ucb,heldp-ucb-b(2),heldp-ucb-l(2)", **on.SMALL)
    on.put(screen, visible(screen), [0, 2])
    assert on.address(screen)["hide"] == "1"
    assert "● HeLDP-UCB-B" not in on.chart(screen).names
    on.change(screen, "selectbox", "add", "kl-ucb")
    assert experiment(screen).view.hidden == (1,)
    on.change(screen, "text_input", "label-2", "renamed")
    assert experiment(screen).view.hidden == (1,)
    on.press(screen, on.control(screen, "button", "remove-0"))
    assert [line.policy for line in experiment(screen).lines] == ["heldp-ucb-b", "heldp-ucb-l", "kl-ucb"]
    assert experiment(screen).view.hidden == (0,)
    assert set(on.chart(screen).names) >= {"● renamed", "– kl-UCB"}


def test_lines_are_added_edited_and_removed() -> None:
    screen = on.visit(**TWO)
    on.change(screen, "selectbox", "add", "heldp-ucb-l")
    assert on.control(screen, "selectbox", "add").value is None
    assert experiment(screen).lines[2].epsilon.fixed == 2.0  # the shared budget
    assert f"eps_min-2:{screen.session_state['lab']['generation']}" not in [each.key for each in screen.text_input]
    on.change(screen, "text_input", "own-2", "uniform(0.5,2)")
    on.change(screen, "text_input", "eps_min-2", "0.6")
    on.change(screen, "text_input", "label-2", "strict")
    line = experiment(screen).lines[2]
    assert (line.epsilon.kind, line.params, line.label) == ("uniform", {"eps_min": 0.6}, "strict")
    assert "● strict" in on.chart(screen).names
    on.change(screen, "text_input", "eps_min-2", "auto")
    assert experiment(screen).lines[2].params == {}
    for row in (0, 1):
        on.press(screen, on.control(screen, "button", f"remove-{row}"))
    assert [line.label for line in experiment(screen).lines] == ["strict"]
    assert on.control(screen, "button", "remove-2").disabled


def test_a_parameter_is_shown_beside_what_it_belongs_to_only() -> None:
    """A delta needs a counter that has one, and is forgotten with it; its promise and its bounds follow."""
    screen = on.visit(arms="0.9,0.5", lines="ucb,dp-ucb-bound(1)", **on.SMALL)

    def shown(name: str) -> bool:
        return on.key(screen, name) in [each.key for each in (*screen.sidebar.text_input, *screen.sidebar.selectbox)]

    assert shown("version-1") and not shown("delta-1")
    on.change(screen, "selectbox", "counter-1", "square-root")
    assert shown("delta-1") and not shown("version-1")
    on.change(screen, "text_input", "delta-1", "0.001")
    assert experiment(screen).lines[1].params == {"counter": "square-root", "delta": 0.001}
    assert "δ = 0\\.001" in on.words(screen) and not screen.error
    on.change(screen, "selectbox", "counter-1", "k-ary")
    assert experiment(screen).lines[1].params == {"counter": "k-ary"} and not screen.error
    assert "δ = 0\\.001" not in on.words(screen) and not shown("delta-1")


@pytest.mark.parametrize("kind", ["discrete", "clamped-gaussian", "uniform", "lognormal", "empirical", "fixed"])
def test_every_kind_of_budget(kind: str) -> None:
    screen = on.visit(**TWO)
    on.change(screen, "selectbox", "budget-kind", kind)
    assert not screen.error
    assert experiment(screen).lines[1].epsilon.kind == kind
    if kind != "fixed":
        picture = on.chart(screen, on.key(screen, "budget-picture"))
        assert picture.traces and picture.layout["xaxis"]["type"] in ("category", "linear")
        assert "ε_min = " in "".join(each.value for each in screen.sidebar.caption)


def test_a_policy_that_needs_one_budget_refuses_a_distribution_by_name() -> None:
    alone = on.visit(arms="0.9,0.5", lines="ucb,kl-ucb-cf(1)", **on.SMALL)  # no line here takes a distribution
    assert not [each for each in alone.sidebar.selectbox if (each.key or "").startswith("budget-kind")]
    screen = on.visit(arms="0.9,0.5", lines="ucb,kl-ucb-cf(1),heldp-ucb-b(1)", **on.SMALL)
    on.change(screen, "selectbox", "budget-kind", "lognormal")
    assert "kl\\-UCB\\-CF" in screen.sidebar.error[0].value and "kl\\-ucb\\-cf" not in screen.sidebar.error[0].value
    on.press(screen, on.control(screen, "button", "mend-1"))
    assert not screen.error
    assert experiment(screen).lines[1].epsilon.fixed == 1 and on.control(screen, "selectbox", "budget-kind").value == (
        "lognormal"
    )


def test_unbounded_rewards_are_refused_with_the_policy_that_takes_them() -> None:
    screen = on.visit(arms="0.9,0.5", lines="ucb,heldp-ucb-l(1)", **on.SMALL)
    on.change(screen, "text_area", "arms", "gaussian(0,1), gaussian(1,1)")
    assert "HeLDP\\-UCB\\-LS" in screen.sidebar.error[0].value and "HeLDP\\-UCB\\-L" in screen.main.warning[0].value


def test_equal_labels_do_not_confuse_the_list_of_lines() -> None:
    screen = on.visit(arms="0.9,0.5", lines='ucb(label="x"),heldp-ucb-b(1,label="x")', **on.SMALL)
    on.put(screen, visible(screen), [1])
    assert experiment(screen).view.hidden == (0,)


def test_the_line_whose_bounds_are_drawn_is_chosen_and_may_go() -> None:
    screen = on.visit(arms="0.9,0.5", lines="ucb,heldp-ucb-b(1),heldp-ucb-l(1)", x="log", y="log", **on.SMALL)
    chosen = screen.selectbox(key="focus")
    assert chosen.value == "2" and "After 400 users **HeLDP" in screen.main.markdown[0].value
    on.put(screen, chosen, "1")
    edges = [note["text"].replace("<br>", " ") for note in on.chart(screen).layout["annotations"]]
    assert "no method can be below" in edges and "no local method can be below" not in edges
    assert screen.query_params["focus"] in ("1", ["1"])
    on.put(screen, screen.selectbox(key="focus"), "3")
    on.press(screen, on.control(screen, "button", "remove-2"))
    [again] = [box for box in screen.selectbox if box.label == "Bounds of"]
    assert again.value == "2" and not screen.main.warning
    assert again.key != "focus"  # the browser would go on to show the name of the method that went


def test_the_table_of_bounds_needs_no_switch() -> None:
    screen = on.look(on.visit(**TWO, bounds="0"), "Bounds")
    assert len(screen.main.dataframe[0].value) > 1
    assert "switch on *Bounds*" in " ".join(each.value for each in screen.main.caption)


def test_a_method_that_is_there_twice_is_called_so_below_its_box() -> None:
    screen = on.visit(**TWO)
    on.change(screen, "selectbox", "add", "heldp-ucb-b")

    def told() -> list[str]:
        return [each.value for each in screen.sidebar.caption if "both curves are one" in each.value]

    assert len(told()) == 1
    on.change(screen, "text_input", "own-2", "1")
    assert not told()


def test_a_changed_picture_says_what_it_was_and_keeps_the_axes_of_start() -> None:
    screen = on.visit(preset="trust", **on.SMALL)
    before = on.chart(screen).layout
    on.change(screen, "selectbox", "add", "heldp-ucb-b")
    after = on.chart(screen).layout
    assert screen.title[0].value == "Whom do you trust? \\(changed\\)"
    assert [after[axis]["range"] for axis in ("xaxis", "yaxis")] == [
        before[axis]["range"] for axis in ("xaxis", "yaxis")
    ]
    on.change(screen, "text_area", "arms", "0.9,0.5")
    assert on.chart(screen).layout["xaxis"]["range"] == before["xaxis"]["range"]
    assert screen.title[0].value == "What does privacy cost here?"


def test_a_chosen_row_of_the_bounds_is_drawn() -> None:
    screen = on.visit(arms="0.9,0.5", lines="heldp-ucb-b(1)", x="log", y="log", shapes="1", **on.SMALL)
    names = [trace.get("name", "") for trace in on.chart(screen).traces]
    assert any(name.startswith("slope: Ren Theorem 4") for name in names)


@pytest.mark.parametrize("form", ["json", "toml"])
def test_a_spec_is_uploaded(form: str) -> None:
    wanted = load_preset("two-treatments").with_changes(seed=77)
    if form == "json":
        content = json.dumps(wanted.spec())
    else:
        content = (on.ROOT / "presets" / "two-treatments.toml").read_text().replace("seed = 0", "seed = 77")
    screen = on.visit(**on.SMALL)
    on.control(screen, "file_uploader", "upload").upload(f"mine.{form}", content.encode())
    on.run(screen)
    assert experiment(screen) == wanted
    assert on.control(screen, "text_input", "seed").value == "77"
    assert on.address(screen) == {"preset": "two-treatments", "seed": "77"}


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00rubbish", b"[]", b'{"arms": 3, "surprise": 1}', b'{"arms": NaN}', b"[" * 5000]
)
@pytest.mark.parametrize("form", ["json", "toml"])
def test_rubbish_is_refused_in_words(content: bytes, form: str) -> None:
    screen = on.visit(**on.SMALL)
    before = experiment(screen)
    on.control(screen, "file_uploader", "upload").upload(f"bad.{form}", content)
    on.run(screen)
    assert "no valid settings" in screen.sidebar.error[0].value
    assert experiment(screen) == before


def test_a_control_that_the_page_has_left_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    generation, message, adopted, drawn = [1], {}, [], {}
    monkeypatch.setattr(page_fields.state, "key", lambda name: f"{name}:{generation[0]}")
    monkeypatch.setattr(page_fields.state, "adopt", lambda new, issues: adopted.append(new))
    monkeypatch.setattr(page_fields.state, "issues", list)
    monkeypatch.setattr(page_fields.st, "session_state", message)
    monkeypatch.setattr(page_fields, "draw", lambda field, now, key, place, **given: drawn.update(given, key=key))
    page_fields.change(page_fields.Field("budget", "", 1.0, ""), 1.0, lambda chosen: chosen)
    message[drawn["key"]] = 1.0  # where it opened: sent once more by a browser that has not drawn its successor
    drawn["on_change"]()
    assert adopted == []
    message[drawn["key"]] = 2.0
    drawn["on_change"]()
    assert adopted == [2.0]
    generation[0] = 2  # it has done its work, and another stands in its place
    drawn["on_change"]()
    assert adopted == [2.0]


def test_wrong_arms_are_named_and_nothing_is_lost() -> None:
    screen = on.visit(**TWO)
    on.change(screen, "select_slider", "epsilon", 0.5)
    good = experiment(screen)
    on.change(screen, "text_area", "arms", "0.9, 1.5, potato(3)")
    message = screen.sidebar.error[0].value
    assert "Entry 2" in message and "Entry 3" in message and "potato" in message
    assert experiment(screen) == good
    assert on.control(screen, "text_area", "arms").value == "0.9, 1.5, potato(3)"
    assert on.control(screen, "select_slider", "epsilon").value == 0.5
    assert on.chart(screen).names  # the last valid picture is still there
    on.change(screen, "select_slider", "epsilon", 4.0)  # edits made meanwhile count once the arms are mended
    on.change(screen, "text_area", "arms", "0.9, 0.4")
    assert not screen.error
    assert experiment(screen).lines[1].epsilon.fixed == 4.0
    assert list(experiment(screen).means) == [0.9, 0.4]
