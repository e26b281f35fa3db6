"""The Contextual page, and the other pages where users have features."""

import numpy as np
import pytest
import screen as on
from streamlit.testing.v1 import AppTest

from bandit_core.data import lending
from bandit_core.experiments.presets import load_preset
from bandit_core.model import PROMISES
from bandit_core.policies import registry
from bandit_core.simulation import engine
from ui import page_lock

TINY = {"upto": "1000", "d": "2", "K": "3"}
SHARED = {"contexts": "single(2, 3)", "lines": "linucb,ldp-ols(1),ldp-sgd(1)", **on.SMALL}


def test_plain_arms_get_an_example_that_the_page_and_the_sidebar_change() -> None:
    screen = on.visit("contextual", **TINY, eps="4", beta="1")
    experiment = screen.session_state["lab"]["experiment"]
    assert (experiment.contexts.dimension, experiment.contexts.arms, experiment.contexts.law.beta) == (2, 3, 1)
    assert experiment.lines[1].epsilon.fixed == 4 and experiment.horizon == 1000
    on.unfold(screen, "contextual-regimes")
    assert not [name for name in on.chart(screen, "regimes").names if "order-only" in name]
    on.put(screen, screen.toggle(key="contextual-orders"), True)
    assert "ln T" in " ".join(on.chart(screen, "regimes").names)
    on.put(screen, on.setting(screen, "select_slider", "contextual-beta"), 0.4)
    assert "margin(0.4)" in on.address(screen)["contexts"]
    assert "T^0.3" in " ".join(on.chart(screen, "regimes").names)
    on.put(screen, on.setting(screen, "select_slider", "contextual-arms"), 5)
    assert on.control(screen, "text_area", "contexts").value == "single(2, 5, margin(0.4))"
    on.put(screen, on.setting(screen, "select_slider", "lab-epsilon"), 1.0)
    assert {line.epsilon.fixed for line in screen.session_state["lab"]["experiment"].lines[1:]} == {1}


def test_a_field_that_cannot_be_read_is_told() -> None:
    screen = on.visit("contextual", **{**TINY, "beta": "7"})
    assert "beta" in screen.warning[0].value and "from 0 to 1" in screen.warning[0].value
    assert on.setting(screen, "select_slider", "contextual-beta").value == 0.5


def test_a_fold_whose_methods_have_not_been_run_says_so_in_place_of_bare_axes() -> None:
    screen = on.visit("contextual", **SHARED | {"lines": "linucb,ldp-linucb(1)"})
    on.unfold(screen, "contextual-share", "contextual-regimes")
    assert "Nothing to draw: no method" in on.words(screen) and on.chart(screen, "share").names
    with pytest.raises(KeyError):
        on.chart(screen, "regimes")


def test_plain_arms_are_kept_beside_the_example() -> None:
    screen = on.visit("contextual", **on.SMALL)
    assert (
        screen.session_state["lab"]["example-of"] == "features" and screen.session_state["lab"]["kept"].horizon == 400
    )
    on.go(screen, "explore")
    assert screen.session_state["lab"]["experiment"].horizon == 400 and on.address(screen) == on.SMALL


def test_the_shared_experiment_is_drawn() -> None:
    screen = on.visit("contextual", **SHARED)
    assert not screen.warning and not screen.error
    on.unfold(screen, "contextual-share")
    error, share = on.chart(screen, "error"), on.chart(screen, "share")
    assert {"– LinUCB", "● LDP-OLS", "● LDP-SGD"} <= set(error.names)
    assert error.y("– LinUCB")[-1] < 0.2 < error.y("● LDP-OLS")[-1]  # theta has length 1
    assert np.all((share.y("● LDP-SGD") >= 0) & (share.y("● LDP-SGD") <= 1))
    assert share.y("– LinUCB")[-1] > 0.8


def test_shapes_are_order_only_and_move_with_the_multiplier() -> None:
    screen = on.visit("contextual", **SHARED, C="0.001", orders="1")
    chart = on.chart(screen, "regimes")
    shapes = [trace for trace in chart.traces if trace["line"].get("dash") == "longdash"]
    assert len(shapes) >= 2 and all("order-only, C = 0.001" in trace["name"] for trace in shapes)
    before = chart.y(shapes[0]["name"])
    on.put(screen, screen.text_input(key="contextual-C"), "0.002")
    assert on.address(screen)["C"] == "0.002"
    after = on.chart(screen, "regimes").y(shapes[0]["name"].replace("0.001", "0.002"))
    np.testing.assert_allclose(after[-1], 2 * before[-1], rtol=1e-5)


def test_the_sidebar_edits_contexts_and_tells_what_is_wrong() -> None:
    screen = on.change(on.visit("contextual", **SHARED), "text_area", "contexts", "single(3, 4, margin(1))")
    assert on.address(screen)["contexts"] == "single(3,4,margin(1))"
    offered = on.control(screen, "selectbox", "add").options
    assert len(offered) == sum(policy.setting == "contexts" for policy in registry().values())
    assert not any("UCB-B" in name for name in offered)
    screen = on.change(screen, "text_area", "contexts", "single(3")
    assert screen.error and on.address(screen)["contexts"] == "single(3,4,margin(1))"


@pytest.mark.parametrize(
    "fields",
    [
        {"contexts": "multi(2, 2, gaussian(1), noise=0.05)"},
        {"contexts": "single(1, 2, discrete(5, 0.2))"},
        {"contexts": "single(2, 2, link=logistic)", "lines": "ldp-sgd(1),ldp-gloc(1)"},
        {"lines": "linucb"},
        {"T": "1", "n": "1"},
    ],
    ids=lambda fields: " ".join(fields.values()),
)
@pytest.mark.parametrize("page", ["contextual", "explore", "threshold"])
def test_unusual_users_are_drawn_everywhere(fields: dict[str, str], page: str) -> None:
    screen = on.visit(page, **{**SHARED, **fields})
    assert not screen.warning and not screen.error
    assert screen.get("plotly_chart")


def test_explore_draws_pulls_of_every_arm() -> None:
    pulls = on.chart(on.look(on.visit("explore", **SHARED), "Pulls per arm"), "pulls")
    assert len(pulls.traces) == 3
    for trace in pulls.traces:
        assert pulls.y(trace["name"]).sum() == pytest.approx(400)


# --- Data of one's own ----------------------------------------------------------------------------------------------


def source(screen: AppTest, name: str) -> AppTest:
    """Choose where the users come from."""
    return on.put(screen, next(group for group in screen.button_group if group.label == "Data"), name)


def upload(screen: AppTest, kind: str, data: bytes) -> AppTest:
    """Give the page a file."""
    if not any(each.key == f"data-{kind}" for each in screen.file_uploader):
        source(screen, kind)
    return on.put(screen, screen.file_uploader(key=f"data-{kind}"), ("secret-name.csv", data, "text/csv"))


def few_users(screen: AppTest) -> AppTest:
    """A horizon that costs little."""
    return on.put(screen, screen.select_slider(key="data-horizon"), 1000)


def test_invented_loans_are_called_so() -> None:
    screen = few_users(source(on.visit("contextual", **TINY), "invented"))
    assert "Auto lending\\: synthetic stand\\-in, not real lending data" in [
        each.value for each in screen.main.subheader
    ]
    assert "**This is a synthetic stand-in, not real lending data.**" in screen.main.success[0].value
    assert "25 options" in screen.main.success[0].value
    ladder = load_preset("trust-with-features")
    assert all(line.label in " ".join(on.chart(screen).names) for line in ladder.lines)
    assert PROMISES["distributed"].who in on.words(screen)  # the sentence on what trust saves
    next(group for group in screen.button_group if group.label == "Compare").set_value("paper")
    names = on.chart(on.run(screen)).names
    assert len(names) == 4 and any("LDP-GLOC, epsilon 0.5" in name for name in names)
    assert not screen.error and not screen.warning


def test_a_lending_file_is_simulated_and_stays_in_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def shared(*_: object) -> None:
        raise AssertionError("the store of all visitors was asked")

    opened = source(on.visit("contextual", **TINY), "lending")
    monkeypatch.setattr(engine, "default_store", shared)
    data = lending.synthetic_csv(rows=60, seed=4).encode()
    screen = few_users(upload(opened, "lending", data))
    assert "60 rows" in screen.main.success[0].value and "from your file" in screen.main.success[0].value
    store = screen.session_state["data-store"]
    assert store.bytes_used() > 0 and not store.on_disk
    monkeypatch.undo()
    assert on.address(screen) == TINY
    assert screen.session_state["lab"]["experiment"].contexts.arms == 3  # the shared experiment does not know
    assert not screen.sidebar.select_slider
    assert "secret-name" not in on.words(screen)
    assert len(on.chart(screen).names) == 4
    source(screen, "none")
    assert "data-store" not in screen.session_state and "data-read" not in screen.session_state
    assert screen.sidebar.select_slider


def test_a_wrong_lending_file_is_refused_with_row_and_column() -> None:
    rows = lending.synthetic_csv(rows=40).splitlines()
    rows[3] = "12," + rows[3].split(",", 1)[1]
    screen = upload(on.visit("contextual", **TINY), "lending", "\n".join(rows).encode())
    [error] = [each.value for each in screen.error]
    assert "row 4, column primary\\_fico" in error and "300 to 850" in error
    assert on.chart(screen).names  # the example stands in
    screen = upload(on.visit("contextual", **TINY), "lending", b"\xff\xfe\x00rubbish")
    assert "no row below" in screen.error[0].value


@pytest.mark.parametrize(("kind", "readers"), [("lending", ["read_lending"]), ("any", ["columns_of", "read_table"])])
def test_a_table_is_read_once_and_outside_of_the_pages_turn(
    kind: str, readers: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, bool]] = []

    def watched(name: str) -> None:
        read = getattr(lending, name)

        def look(*given: object) -> object:
            seen.append((name, page_lock.drawing_lock.locked()))
            return read(*given)

        monkeypatch.setattr(lending, name, look)

    for name in readers:
        watched(name)
    rows = "a,b,c\n" + "\n".join(f"{n % 7},{n % 2},{n % 3}" for n in range(30))
    data = lending.synthetic_csv(rows=60, seed=4) if kind == "lending" else rows
    few_users(upload(on.visit("contextual", **TINY), kind, data.encode()))
    assert seen == [(name, False) for name in readers]


@pytest.mark.parametrize("amounts", [False, True])
def test_any_table_with_columns_of_choice(amounts: bool) -> None:
    rng = np.random.default_rng(0)
    rows = ["age,income,price,bought"]
    for _ in range(80):
        age, income, price = rng.uniform(20, 60), rng.uniform(1, 3), rng.choice([5, 7.5, 10])
        rows.append(f"{age:.0f},{income:.2f},{price},{int(rng.random() < 0.1 * price - 0.2 * income + 0.2)}")
    screen = upload(on.visit("contextual", **TINY), "any", "\n".join(rows).encode())
    assert screen.selectbox(key="data-reward").value == "bought"
    assert screen.selectbox(key="data-action").value == "price"
    assert screen.multiselect(key="data-features").value == ["age", "income"]
    screen.toggle(key="data-amounts").set_value(amounts)
    few_users(on.run(screen))
    message = screen.main.success[0].value
    assert "80 rows, 3 features (with a constant)" in message
    assert (
        "10 options" if amounts else "3 options"
    ) in message  # amounts: candidates between 5 and 10; names: 5, 7.5, 10
    assert not screen.error and on.chart(screen).names
    on.put(screen, screen.multiselect(key="data-features"), [])
    assert "at least one column" in screen.error[0].value


def test_marks_that_can_be_read_in_two_ways_are_asked_of_a_table() -> None:
    rows = "".join(f"{20 + n};{n % 7 + 1}.{200 + n};{'ab'[n % 2]};{n % 3 % 2}\n" for n in range(60))
    screen = upload(on.visit("contextual", **TINY), "any", ("age;income;offer;bought\n" + rows).encode())
    [asked] = [each for each in screen.radio if "income" in each.label]
    assert asked.value is None and not screen.error and not screen.main.success
    asked.set_value(".")
    few_users(on.run(screen))
    assert "60 rows, 3 features" in screen.main.success[0].value and not screen.error


def test_a_preview_with_warm_up_says_so() -> None:
    screen = on.visit("contextual", preset="han-multi-quick")
    assert "first 10,000 of 100,000 users, 3 of 10 trials" in on.words(screen)
    assert "the first 3,000 users are the warm-up" in on.words(screen)
