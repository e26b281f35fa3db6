"""The Heavy tails page: controls and address, truncation, which constants run, epochs, theory."""

import re
from urllib.parse import parse_qs

import numpy as np
import pytest
import screen as on
from streamlit.testing.v1 import AppTest

from bandit_core import load_preset
from ui import charts, words
from ui.heavy_tails import view

TINY = {"users": "10000"}


def change(screen: AppTest, kind: str, name: str, value: object) -> AppTest:
    """Move a control of the page that changes the experiment."""
    return on.put(screen, on.setting(screen, kind, name), value)


def now(screen: AppTest) -> view.Setting:
    return view.of(screen.session_state["lab"]["experiment"])


def test_a_link_in_the_former_fields_opens_its_experiment_and_is_not_rewritten() -> None:
    fields = {**TINY, "v": "0.5", "trust": "local", "law": "student", "budget": "0.5", "instance": "S3"}
    screen = on.visit("heavy-tails", **fields)
    assert not screen.warning and not screen.error
    assert now(screen) == view.Setting("S3", "student", 0.5, "local", False)
    experiment = screen.session_state["lab"]["experiment"]
    assert (experiment.horizon, view.epsilon_of(experiment)) == (10_000, 0.5)
    assert on.address(screen) == fields
    on.put(screen, on.unfold(screen, "heavy-cut-off").select_slider(key="heavy-n"), 100)
    assert on.address(screen) == {**fields, "rewards": "100"}


def test_the_controls_of_the_page_change_the_experiment_and_the_address_follows() -> None:
    screen = on.unfold(on.visit("heavy-tails", **TINY), "heavy-controls")
    for name, value in (("instance", "S3"), ("distribution", "student"), ("trust", "local"), ("v", 0.7)):
        change(screen, "select_slider" if name == "v" else "selectbox", f"heavy-{name}", value)
        assert getattr(now(screen), name) == value
    change(screen, "toggle", "heavy-printed", True)
    assert now(screen) == view.Setting("S3", "student", 0.7, "local", True)
    again = on.visit("heavy-tails", **on.address(screen))
    assert again.session_state["lab"]["experiment"] == screen.session_state["lab"]["experiment"]
    again, screen = (on.unfold(each, "heavy-cut-off") for each in (again, screen))
    assert on.chart(again, "tail").traces == on.chart(screen, "tail").traces


def test_the_sidebar_edits_what_the_page_shows() -> None:
    screen = on.visit("heavy-tails", **TINY, rewards="100")
    before = on.chart(screen, "errors").y("privacy noise")
    on.put(screen, on.setting(screen, "select_slider", "lab-epsilon"), 0.5)
    np.testing.assert_allclose(on.chart(screen, "errors").y("privacy noise") / before > 1, True)
    on.change(screen, "select_slider", "horizon", 20_000)
    assert on.numbers_in(on.chart(screen, "heavy-regret").traces[0]["x"])[-1] == 20_000


def test_a_number_between_the_stops_is_taken_as_it_is() -> None:
    screen = on.visit("heavy-tails", **TINY, v="0.55", rewards="1234")
    assert on.setting(screen, "select_slider", "heavy-v").value == 0.55
    assert "After 1,234 rewards" in on.words(screen)
    assert on.address(screen) == {**TINY, "v": "0.55", "rewards": "1234"}


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("v", "1.5", "from 0\\.2 to 1"),
        ("law", "cauchy", "pareto, student"),
        ("printed", "maybe", "0, 1"),
    ],
)
def test_what_an_address_asks_in_vain_is_told(field: str, value: str, message: str) -> None:
    screen = on.visit("heavy-tails", **{**TINY, field: value})
    [warning] = screen.warning
    assert words.plain(field) in warning.value and words.plain(value) in warning.value and message in warning.value
    assert on.chart(screen, "heavy-regret").traces


def test_b_grows_and_less_is_thrown_away() -> None:
    levels, lost = [], []
    for rewards in ("100", "10000"):
        screen = on.visit("heavy-tails", **TINY, rewards=rewards)
        chart = on.chart(screen, "tail")
        beyond = next(trace for trace in chart.traces if trace["name"] == "counted as 0")
        levels.append(on.numbers_in(beyond["x"]).min())
        lost.append(on.numbers_in(beyond["y"]).max())
    assert levels[1] / levels[0] == pytest.approx(100 ** (1 / 1.9), rel=1e-6)  # B grows like n^(1/(1+v))
    assert lost[1] < lost[0] / 10
    errors = on.chart(screen, "errors")
    assert errors.names == ["truncation (bias)", "privacy noise", "chance (sampling)"]
    for name in errors.names:
        assert np.all(np.diff(errors.y(name)[10:]) < 0)


def test_it_says_which_constants_run_and_what_that_costs() -> None:
    screen = on.unfold(on.visit("heavy-tails", **TINY), "heavy-controls", "explanation")
    message = on.words(screen)
    assert "reduced constants" in message and "DPRSE κ = 0.0029" in message
    assert "privacy guarantee" in message and "the proof" in message
    change(screen, "toggle", "heavy-printed", True)
    assert now(screen).printed
    assert "constants of the theory" in on.words(screen) and "reduced constants" not in on.words(screen)
    screen = on.unfold(on.visit("heavy-tails", **TINY, trust="local", budget="5"), "explanation")
    assert "At ε = 5 no theorem covers LDPRSE" in on.words(screen)


@pytest.mark.parametrize(("fields", "learns"), [({"v": "0.3"}, False), ({"users": "1e9"}, True)])
def test_it_says_where_reduced_constants_do_not_help(fields: dict[str, str], learns: bool) -> None:
    screen = on.visit("heavy-tails", trust="local", **fields)
    assert ("drops no arm" in on.words(screen)) != learns
    regret = on.chart(screen, "heavy-regret")
    measured = regret.y(next(name for name in regret.names if "LDPRSE" in name))[-1]
    means = np.array(view.MEANS["S1"])
    in_turn = float(fields.get("users", "1e5")) * float(np.mean(means.max() - means))
    assert (measured < 0.3 * in_turn) == learns
    assert learns or abs(measured / in_turn - 1) < 0.01


def test_the_link_on_wild_rewards_in_the_readme_shows_a_learner_that_learns() -> None:
    readme = (on.ROOT / "README.md").read_text()
    [query] = re.findall(r"\(http://localhost:8501/heavy-tails\?([^)]*)\)", readme)
    fields = {name: values[0] for name, values in parse_qs(query).items()}
    screen = on.visit("heavy-tails", **fields)
    assert not screen.main.warning and "drops no arm" not in on.words(screen)


def test_own_arms_are_written_in_the_sidebar() -> None:
    screen = on.change(on.visit("heavy-tails", **TINY, v="0.5"), "text_area", "arms", "pareto(2,1.8),pareto(1,1.8)")
    assert not screen.error and now(screen).instance == now(screen).distribution == "own"
    change(screen, "select_slider", "heavy-v", 0.9)
    [message] = [error.value for error in screen.main.error]
    assert "1\\.9" in message and "params" not in message and not screen.warning  # no link was wrong
    assert now(screen).v == 0.5  # refused, and nothing is lost


def test_an_experiment_of_another_kind_is_kept_beside_the_example() -> None:
    screen = on.visit("heavy-tails", contexts="single(2,3)", lines="linucb", **on.SMALL)
    own = screen.session_state["lab"]["kept"]
    assert own.contexts is not None and screen.session_state["lab"]["example-of"] == "robust"
    change(screen, "select_slider", "heavy-v", 0.5)
    edited = screen.session_state["lab"]["experiment"]
    on.go(screen, "contextual")
    assert screen.session_state["lab"]["experiment"] == own and not screen.session_state["lab"]["example-of"]
    on.go(screen, "heavy-tails")
    assert screen.session_state["lab"]["experiment"] == edited and screen.session_state["lab"]["kept"] == own
    on.press(screen, on.control(screen, "button", "keep-example"))
    on.go(screen, "explore")
    assert screen.session_state["lab"]["experiment"] == edited


def test_bounds_are_those_of_the_method_in_focus_and_the_table_draws_more() -> None:
    screen = on.visit("heavy-tails", **TINY, trust="local", focus="3", v="0.9")
    found = [edge for edge in on.chart(screen, "heavy-regret").traces if edge.get("meta") == charts.CORRIDOR]
    assert {edge["legendgroup"] for edge in found} == {"line-2"}
    on.unfold(screen, "heavy-theory")
    [rows] = [table.value for table in screen.main.dataframe if "bound" in table.value]
    assert any("Theorem 7" in name for name in rows["bound"]) and not any("Theorem 4" in name for name in rows["bound"])


def test_trusting_no_one_has_users_enough_to_learn() -> None:
    screen = change(on.visit("heavy-tails", T="100000", n="2"), "selectbox", "heavy-trust", "local")
    assert screen.session_state["lab"]["experiment"].horizon == view.ENOUGH_USERS["local"]
    assert "drops no arm" not in on.words(screen) and not screen.error
    regret = on.chart(screen, "heavy-regret")
    assert set(regret.names) == {"■ DPRSE", "● LDPRSE"}
    back = change(screen, "selectbox", "heavy-trust", "central")
    assert back.session_state["lab"]["experiment"].horizon == view.ENOUGH_USERS["central"]


def test_table_1_has_every_upper_and_lower_bound_once() -> None:
    screen = on.visit("heavy-tails", **TINY)
    on.unfold(screen, "heavy-theory", "heavy-table-1")
    tables = [element.value for element in screen.markdown if element.value.startswith("| ")]
    assert len(tables) == 2
    upper, lower = tables
    assert upper.count(":gray[heavy-tailed") == 4 and ":gray" not in lower
    assert upper.count("\n") - 1 == 12 and lower.count("\n") - 1 == 9
    assert lower.count("derived") == 2


def test_regret_against_v_can_be_stopped() -> None:
    """Its bar is where a newer change ends it; exponents that were not begun are not computed."""
    experiment = load_preset("wild-rewards").with_changes(horizon=300)
    shares: list[float] = []

    def message(share: float) -> None:
        shares.append(share)
        if share > 0.3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        # private: this is what is tested
        view._points(experiment, message)
    assert shares == sorted(shares) and shares[-1] < 0.5
    assert set(view._points(experiment, lambda _: None)["v"]) == set(view.EXPONENTS)


def test_regret_against_v_comes_first_with_a_dot_at_the_chosen_exponent() -> None:
    screen = on.visit("heavy-tails", **TINY, v="0.7")
    chart = on.chart(screen, "against-v")
    assert [len(chart.y(name)) for name in chart.names] == [9, 9, 9]
    for trace in chart.traces:
        sizes = on.numbers_in(trace["marker"]["size"])
        assert view.EXPONENTS[int(np.argmax(sizes))] == 0.7 and (sizes == sizes.max()).sum() == 1
    own = on.change(screen, "text_area", "arms", "pareto(2,1.95),pareto(1,1.95)")  # no tails to vary
    assert "against-v" not in [chart.key for chart in own.get("plotly_chart")]
