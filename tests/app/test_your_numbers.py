"""Your numbers: typed or uploaded options, the answer in the visitor's unit, and what never leaves the session."""

from __future__ import annotations

import re

import pytest
import screen as on
from streamlit.testing.v1 import AppTest

from bandit_core import engine
from ui import turns
from ui.your_numbers import asking

QUICK = {"users": "2000"}
CSV = b"A,B\n" + b"1,0\n0,0\n1,1\n1,0\n" * 10


def upload(screen: AppTest, data: bytes, key: str = "own-file") -> AppTest:
    if key == "own-file":
        next(group for group in screen.button_group if group.label == "Your options").set_value("upload")
        on.run(screen)
    screen.file_uploader(key=key).set_value(("secret-name.csv", data, "text/csv"))
    return on.run(screen)


def test_typed_rates_are_answered_in_their_unit_and_kept_in_the_address() -> None:
    screen = on.visit("your-numbers", **QUICK, base="10", lifts="20,-50", unit="clicks")
    told = on.words(screen)
    assert "**baseline** 10 %" in told and "**option 1** 12 %" in told and "**option 2** 5 %" in told
    assert re.search(r"costs \*\*[\d,.]+ ± [\d,.]+ clicks\*\* among 2,000 users", told)
    assert "If nobody is trusted" in told and "If a curator is trusted" in told
    assert on.address(screen)["lifts"] == "20,-50" and on.address(screen)["unit"] == "clicks"
    assert {"– no privacy", "● nobody is trusted", "■ a curator is trusted"} <= set(on.chart(screen, "own-chart").names)


def test_means_that_are_none_are_told_and_nothing_is_drawn() -> None:
    screen = on.visit("your-numbers", **QUICK, base="60", lifts="100")
    assert "option 1" in screen.error[0].value and "between 0 and 100" in screen.error[0].value
    assert not screen.get("plotly_chart")


@pytest.mark.parametrize(("field", "value"), [("base", "x"), ("users", "-5"), ("as", "magic"), ("eps", "inf")])
def test_fields_that_cannot_be_used_are_told_and_defaults_stand_in(field: str, value: str) -> None:
    screen = on.visit("your-numbers", **{**QUICK, field: value})
    assert f"{field}:" in screen.warning[0].value or field in screen.warning[0].value
    assert screen.get("plotly_chart")


def test_an_upload_is_answered_and_stays_out_of_address_and_shared_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on.visit("your-numbers", **QUICK, lifts="33")

    def shared(*_: object) -> None:
        raise AssertionError("the store of all visitors was asked")

    monkeypatch.setattr(engine, "default_store", shared)
    upload(screen, CSV)
    told = on.words(screen)
    assert "**Your file stays in this session.**" in told
    assert "one column per option, 40 rows" in told
    assert "% sure that **A** is the best" in told
    assert screen.get("plotly_chart")
    assert "lifts" not in on.address(screen) and "secret" not in str(on.address(screen))
    assert "No link here" in told
    assert not screen.session_state["own-store"].on_disk


def test_repairs_must_be_accepted() -> None:
    screen = upload(on.visit("your-numbers", **QUICK), b"A,B\n1,0\nx,1\n0,0\n" + b"1,0\n" * 9)
    assert "row 3, column A: 'x' is no number" in screen.warning[0].value.replace("\\", "")
    assert not screen.get("plotly_chart")
    next(box for box in screen.checkbox if "eave these cells out" in box.label).check()
    on.run(screen)
    assert screen.get("plotly_chart")


def limits(screen: AppTest, place: int) -> AppTest:
    """Choose one of the offered limits of a reward."""
    [choice] = [radio for radio in screen.radio if "imits" in radio.label]
    choice.set_value(choice.options[place])
    return on.run(screen)


def unit_of(screen: AppTest) -> str:
    return str(next(box.value for box in screen.selectbox if "unit" in box.label))


def test_amounts_are_rescaled_only_with_consent_and_answered_in_their_unit() -> None:
    screen = upload(on.visit("your-numbers", **QUICK), b"A,B\n" + b"10,0\n20,40\n30,0\n" * 5)
    assert not screen.get("plotly_chart")
    limits(screen, 0)
    assert unit_of(screen) in asking.AMOUNT_UNITS and screen.get("plotly_chart")
    asked = screen.session_state["own-limited"][1]
    assert (asked.low, asked.high, asked.cut) == (0, 40, "")


def test_one_amount_of_a_million_is_cut_when_the_visitor_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = b"A,B\n" + b"30,20\n50,40\n" * 60 + b"1000000,30\n"
    lost = {}
    for place in (0, 1):
        screen = upload(on.visit("your-numbers", **QUICK), rows)
        assert not screen.get("plotly_chart")  # nothing is taken for granted
        limits(screen, place)
        asked = screen.session_state["own-limited"][1]
        lost[place] = asked.scale
        assert bool(asked.cut) == bool(place)
        if place:
            assert "1 of 242" in asked.cut and asked.cut in on.words(screen).replace("\\", "")
            assert asked.observed[0].high == asked.high == 50
            assert asked.observed[0].mean == pytest.approx((60 * 80 + 50) / 121)
            table = next(frame.value for frame in screen.main.dataframe if "cut" in frame.value)
            assert table["cut"].tolist() == ["1 (0.83%)", "0 (0.00%)"]
            monkeypatch.setattr(asking, "write_address", lambda private: None)
            experiment = asking.experiment_of(asked, asking.Setting(2000, "euros", 2.0))
            assert experiment is not None and experiment.note == asked.cut  # the spec tells it, too
    assert lost[0] == 1e6 and lost[1] == 50


def test_a_stray_2_among_0_and_1_does_not_double_the_range_in_silence() -> None:
    screen = upload(on.visit("your-numbers", **QUICK), b"A,B\n" + b"1,0\n0,0\n1,1\n" * 100 + b"2,0\n")
    assert not screen.get("plotly_chart")
    limits(screen, 1)
    asked = screen.session_state["own-limited"][1]
    assert (asked.low, asked.high) == (0, 1) and asked.cut
    assert unit_of(screen) in asking.RATE_UNITS


def test_limits_of_ones_own_and_limits_that_are_none() -> None:
    screen = limits(upload(on.visit("your-numbers", **QUICK), b"A,B\n" + b"10,0\n20,40\n30,0\n" * 5), -1)
    assert not screen.get("plotly_chart")  # both ends are still to be said
    for label, value in (("Smallest", 0.0), ("Largest", 25.0)):
        next(box for box in screen.number_input if box.label == label).set_value(value)
    on.run(screen)
    asked = screen.session_state["own-limited"][1]
    assert asked.means.tolist() == pytest.approx([55 / 3, 25 / 3]) and screen.get("plotly_chart")
    next(box for box in screen.number_input if box.label == "Largest").set_value(-1.0)
    on.run(screen)
    assert "limits" in screen.error[0].value and not screen.get("plotly_chart")


def test_units_follow_the_kind_of_reward() -> None:
    assert unit_of(on.visit("your-numbers", **QUICK)) in asking.RATE_UNITS
    assert unit_of(on.visit("your-numbers", **QUICK, **{"as": "amount"})) in asking.AMOUNT_UNITS
    assert unit_of(on.visit("your-numbers", **QUICK, unit="euros")) in asking.RATE_UNITS
    assert unit_of(on.visit("your-numbers", **QUICK, unit="leads", **{"as": "amount"})) == "leads"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "the file is empty"),
        (b"A\n1\n", "A is the only option"),
        (b"PK\x03\x04", "workbook"),
        (b"<script>,B\nx,y\n", "no option has a number"),
    ],
)
def test_a_file_that_is_no_use_is_told(data: bytes, told: str) -> None:
    screen = upload(on.visit("your-numbers", **QUICK), data)
    assert told in on.words(screen)
    assert not screen.get("plotly_chart")


def test_removing_the_file_forgets_it() -> None:
    screen = upload(on.visit("your-numbers", **QUICK), CSV)
    store = screen.session_state["own-store"]
    assert store.bytes_used() > 0
    screen.file_uploader(key="own-file").set_value(None)
    on.run(screen)
    assert "own-store" not in screen.session_state and "own-file-read" not in screen.session_state
    assert store.bytes_used() == 0 and store.limit_bytes == 0


def test_users_own_budgets_replace_the_slider() -> None:
    screen = upload(on.visit("your-numbers", **QUICK), b"epsilon\n0.5\n1\n2\n4\n", "own-budgets")
    assert "4 users' own budgets" in on.words(screen)
    assert "your users' own ε" in on.words(screen)
    assert "lifts" not in on.address(screen)


def test_the_smallest_budget_is_searched_side_by_side() -> None:
    screen = on.visit("your-numbers", **QUICK, limit="3")
    screen.toggle(key="own-search").set_value(True)
    on.run(screen)
    told = on.words(screen)
    assert "nobody is trusted: " in told and "a curator is trusted: " in told
    assert on.chart(screen, "searched").traces


@pytest.mark.parametrize(("reader", "key"), [("read_observations", "own-file"), ("read_budgets", "own-budgets")])
def test_a_file_is_read_once_and_outside_of_the_pages_turn(
    reader: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, turn_taken = getattr(asking, reader), []

    def look(data: bytes) -> object:
        turn_taken.append(turns._turn.locked())
        return read(data)

    monkeypatch.setattr(asking, reader, look)
    screen = upload(on.visit("your-numbers", **QUICK), b"epsilon\n1\n2\n" if key == "own-budgets" else CSV, key)
    on.run(screen)
    assert turn_taken == [False]  # so another visitor's page can be drawn meanwhile
    screen.file_uploader(key=key).set_value(("wrong.csv", b"\0", "text/csv"))
    on.run(on.run(screen))
    assert turn_taken == [False, False]  # what cannot be read is not tried again at every click


def test_a_name_from_the_file_is_shown_as_text() -> None:
    screen = upload(on.visit("your-numbers", **QUICK), b"<b>x</b>,**B**\n" + b"1,0\n0,0\n1,1\n" * 20)
    markup = [element.value for element in screen.main.markdown if element.allow_html]
    assert not any("<b>x</b>" in text for text in markup)
    assert "\\*\\*B\\*\\*" in on.words(screen) or "**B**" not in on.words(screen)


def test_the_summary_is_one_page_that_holds_the_answer_and_no_markup_of_the_visitor() -> None:
    from ui.your_numbers import summary

    assert summary._plain_html("**5** \\<b\\> & more") == "<b>5</b> &lt;b&gt; &amp; more"
