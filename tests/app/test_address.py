"""An address is an experiment, on every page and both ways."""

from typing import Any

import pytest
import screen as on
import streamlit as st

from bandit_core import Experiment, Simulation, load_preset
from bandit_core.experiments import links
from bandit_core.experiments.presets import shared_budget
from ui import gallery, menu, page_requirements, state

CASES = {
    "arms": {"arms": "0.9,beta(4,1)x5", "T": "500", "n": "3"},
    "mixed": {"lines": "ucb,heldp-ucb-b(discrete(0:0.5,2:0.5),eps_min=1,label=half)", "T": "500", "n": "3"},
    "preset": {"preset": "shy-users", "T": "500", "n": "3", "seed": "4"},
    "view": {
        "x": "log",  # as some links of former times
        "y": "linear",
        "show": "price",
        "band": "quarter-sd",
        "bounds": "0",
        "worst": "1",
        "runs": "1",
        "hide": "1",
    },
}


@pytest.fixture(autouse=True)
def _nobody_is_faster_than_a_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test presses Back at once after a move, which the app would take for a late address."""
    monkeypatch.setattr(state, "SETTLE_SECONDS", 0.0)


@pytest.mark.parametrize("page", ["explore", "theory"])
@pytest.mark.parametrize("name", CASES)
def test_a_link_opens_its_experiment_and_is_not_rewritten(name: str, page: str) -> None:
    fields = CASES[name]
    screen = on.visit(page, **fields)
    wanted, problems = links.read(fields)
    assert not problems and not screen.warning
    assert screen.session_state["lab"]["experiment"] == wanted
    assert on.address(screen) == fields


def test_the_link_is_that_of_the_new_picture_while_its_numbers_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's last part comes when the numbers are there; until then, whoever presses Copy link must get theirs."""
    screen, said = on.visit(**CASES["arms"]), []
    run, code = Simulation.run, st.code

    def note(address: str, **options: Any) -> Any:
        said.append(address)
        return code(address, **options)

    def compute(simulation: Simulation, **options: Any) -> Any:
        said.append("computing")
        return run(simulation, **options)

    monkeypatch.setattr(st, "code", note)
    monkeypatch.setattr(Simulation, "run", compute)
    on.change(screen, "select_slider", "horizon", 2000)
    assert "computing" in said
    *_, link, embedded = said[: said.index("computing")]
    assert "T=2000" in link and "T=2000" in embedded
    assert [code.value for code in screen.sidebar.code] == [link, embedded]


def test_a_picture_that_no_link_can_hold_offers_none(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on.visit(**on.SMALL, arms="0.9,0.8,0.7,0.6")
    shown = [code.value for code in screen.code if "/explore?" in code.value]
    assert len(shown) == 2 and not screen.warning  # to copy and to embed
    monkeypatch.setattr(links, "MAX_TEXT", 10)
    on.run(screen)
    assert not [code.value for code in screen.code if "/explore?" in code.value]
    assert "arms" in screen.warning[0].value and "15 characters" in screen.warning[0].value


def test_the_experiment_survives_a_change_of_pages() -> None:
    screen = on.visit(**CASES["mixed"])
    on.change(screen, "text_input", "seed", "3")
    wanted = screen.session_state["lab"]["experiment"]
    for page in ("threshold", "home", "explore"):
        on.go(screen, page)
        assert screen.session_state["lab"]["experiment"] == wanted
        if page != "home":
            assert on.address(screen) == {**CASES["mixed"], "seed": "3"}
        if page == "explore":
            assert on.control(screen, "text_input", "seed").value == "3"


def test_a_broken_link_lists_each_problem_and_opens_the_rest() -> None:
    screen = on.visit(
        arms="0.9,oops", lines="ucb,nobody(1),kl-ucb-cf(uniform(0,1))", T="many", n="3", colour="red", esp="1"
    )
    message = screen.main.warning[0].value
    for part in ("arms\\[1\\]", "lines\\[1\\]", "lines\\[2\\]", "'many'", "did you mean eps?"):
        assert part in message, part
    kept: Experiment = screen.session_state["lab"]["experiment"]
    assert kept.trials == 3
    assert kept.horizon == load_preset("default").horizon
    assert [line.policy for line in kept.lines] == ["ucb"]
    assert kept.arms == load_preset("default").arms
    on.change(screen, "select_slider", "horizon", 1000)
    assert screen.main.warning[0].value == message  # nothing moves under the hand
    on.press(screen, next(button for button in screen.sidebar.button if button.label == "Examples"))
    on.press(screen, screen.button(key="example-two-treatments"))
    assert not screen.warning  # told until another picture is opened


@pytest.mark.parametrize("value", ["nan", "[x](http://x)", "0.01", "0.35"])
def test_a_broken_budget_on_home_is_told(value: str) -> None:
    screen = on.visit("home", eps=value)
    assert "eps" in screen.main.warning[0].value
    assert "](" not in screen.main.warning[0].value
    assert on.players(screen)[0]["at"] == gallery.EPSILONS.index(1.0)


def test_a_slider_moved_before_the_new_address_arrived_is_not_moved_back() -> None:
    screen = on.visit(T="1000", n="4")
    before = on.address(screen)
    on.change(screen, "select_slider", "horizon", 2000)
    assert on.address(screen)["T"] == "2000"
    for horizon in (500, 200, 500):
        screen.query_params["T"] = "1000"  # what the browser still had
        assert on.address(screen) == before
        on.change(screen, "select_slider", "horizon", horizon)
        assert screen.session_state["lab"]["experiment"].horizon == horizon
        assert on.address(screen)["T"] == str(horizon)
    screen.query_params["T"] = "2000"  # and this is the Back button: no control was moved
    on.run(screen)
    assert screen.session_state["lab"]["experiment"].horizon == 2000


def test_a_slider_that_went_and_came_back_at_once_is_not_moved_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "SETTLE_SECONDS", 60.0)  # this machine may be slow
    screen = on.visit(T="1000", n="4")
    on.change(screen, "select_slider", "horizon", 500)
    screen.query_params["T"] = "1000"  # the positions in between were skipped, and the browser knows no new address yet
    on.run(screen)
    assert screen.session_state["lab"]["experiment"].horizon == 500
    assert on.address(screen)["T"] == "500"


def test_where_an_earlier_address_is_passed_over_the_present_one_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "SETTLE_SECONDS", 60.0)
    screen = on.visit("home", eps="0.3")
    on.slide(screen, "home-epsilon", gallery.EPSILONS.index(2.0))
    screen.query_params["eps"] = "0.3"
    on.run(screen)
    assert "At ε = 2," in on.words(screen)
    assert on.address(screen) == {"eps": "2"}


def test_the_back_button_works_while_a_browser_still_lacks_a_control(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "SETTLE_SECONDS", 0.0)
    screen = on.visit(T="1000", n="4")
    on.change(screen, "select_slider", "horizon", 2000)
    seen = screen.session_state["lab"]["seen-widgets"]
    seen["drawn by the server alone:1"] = "1"
    seen.pop(next(name for name in seen if name.startswith("horizon")))
    screen.query_params["T"] = "1000"
    on.run(screen)
    assert screen.session_state["lab"]["experiment"].horizon == 1000


def test_nor_on_a_server_that_draws_for_many_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "SETTLE_SECONDS", 0.5)
    now = [100.0]
    monkeypatch.setattr(state.time, "monotonic", lambda: now[0])
    sent = state.Sent()
    sent.note("before")
    for seconds, late in ((0.1, True), (7.0, False)):  # since the address was sent
        now[0] = 100.0 + seconds
        assert sent.is_late("before", moved=False) is late
    sent.drawn()  # after seven seconds, perhaps because the slider went and came back
    now[0] += 0.1
    assert sent.is_late("before", moved=False)
    sent.drawn()  # another look at the same address changes nothing
    now[0] += 0.5
    assert not sent.is_late("before", moved=False)  # the Back button
    assert not sent.is_late("never sent", moved=True)


def test_no_page_takes_a_field_of_the_experiment_for_its_own():
    fields = {(field, page.sidebar) for page in menu.pages() for field in page.fields.split()}
    assert not {field for field, sidebar in fields if sidebar} & {*links.KEYS}
    assert not {field for field, _ in fields} & (state.PASSED_OVER | {*links.KEYS} - {"eps"})


BUDGETS = [page.name for page in menu.pages() if "budget" in page.controls(lambda _: False)]


@pytest.mark.parametrize("page", BUDGETS)
def test_epsilon_of_a_link_moves_the_budget_on_every_page_that_has_one(page: str) -> None:
    small = {"preset": page_requirements.KINDS[menu.named(page).shows].example, **on.SMALL}
    wrong, moved = (on.visit(page, **small, eps=said) for said in ("abc", "0.3"))
    before, after = (screen.session_state["lab"]["experiment"] for screen in (wrong, moved))
    if page == "threshold":  # about budgets that differ
        assert after == before and "share no single ε" in moved.main.warning[0].value
        return
    assert shared_budget(after).fixed == 0.3 != shared_budget(before).fixed
    assert not moved.main.warning and on.address(moved)["eps"] == "0.3" and "lines" not in on.address(moved)
    assert "eps\\: 'abc'\\: " in wrong.main.warning[0].value
