"""Your numbers: typed or uploaded options, the answer in the visitor's unit, and what never leaves the session."""

import html
import json
import logging
import math
import re
import shlex
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from unittest.mock import Mock

import numpy as np
import pytest
import screen as on
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Toggle

from bandit_core import InputError, cli
from bandit_core.model import PROMISES
from bandit_core.simulation import engine
from bandit_core.simulation.results import Estimate
from bandit_core.simulation.store import Store
from bandit_core.spec.rewards import Bernoulli
from bandit_core.studies import best_method, price
from bandit_core.studies.best_arm import RollOut, RollOutQuestion, roll_outs
from bandit_core.studies.best_method import COMPARED, Question, best_methods, candidates
from bandit_core.studies.business_case import Cost, typed_arms
from bandit_core.studies.goal_search import LOWEST, PER_DOUBLING, Answer, Found
from bandit_core.studies.price import weeks_words
from bandit_core.theory import best_arm
from ui import page_fields, page_lock
from ui.your_numbers import answers, drawing, inputs, planned, question
from ui.your_numbers.inputs import Asked, Setting

QUICK = {"users": "400"}
CSV = b"A,B\n" + b"1,0\n0,0\n1,1\n1,0\n" * 10


pytestmark = pytest.mark.usefixtures("quick_answers_in_the_file")


@pytest.fixture(autouse=True)
def nobody_has_asked_before() -> None:
    """The same question has the same answer in all tests of this file, which is computed once."""


@pytest.fixture(autouse=True)
def log() -> Iterator[list[str]]:
    """What a server would write into its log; no test may leave a warning there."""
    message: list[str] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.threadName != "MainThread":  # that is AppTest's own, which is no server
                message.append(record.getMessage())

    keeper = Keeper(logging.WARNING)
    logging.getLogger().addHandler(keeper)
    yield message
    logging.getLogger().removeHandler(keeper)
    assert not message


def upload(screen: AppTest, data: bytes, key: str = "own-file", agree: bool = True) -> AppTest:
    """Hand over a file, and ``agree`` to what is proposed of its columns."""
    if key == "own-budgets":
        on.unfold(screen, "own-budgets-fold")
    else:
        on.put(screen, next(group for group in screen.button_group if group.label == "Your options"), "upload")
    on.put(screen, screen.file_uploader(key=key), ("secret-name.csv", data, "text/csv"))
    for button in [button for button in screen.button if button.label == "Yes, read it so" and agree]:
        on.press(screen, button)
    return screen


def test_typed_rates_are_answered_in_their_unit_and_kept_in_the_address() -> None:
    screen = on.visit("your-numbers", **QUICK, base="10", lifts="20,-50", unit="clicks")
    assert not screen.subheader and "\n## 1. A planned" in on.words(screen)
    message = on.words(screen)
    assert all(part in message for part in ("** 10%", "** 12%", "** 5%"))
    assert re.search(r"\*\*[\d,.]+ clicks\*\* [a-z]+ 400 ", message)
    assert all(PROMISES[privacy].who in message for privacy in ("local", "central"))
    assert on.address(screen)["lifts"] == "20,-50" and on.address(screen)["unit"] == "clicks"
    names = on.chart(screen, "own-chart").names
    assert [name.partition(":")[0] for name in names[:3]] == [
        "– no privacy", "● trust no one", "■ trust a curator"
    ]  # fmt: skip


def _answered(**address: str) -> tuple[AppTest, answers.Reply]:
    """A page for 10 %, 12 % and 15 %, and the answer that it must show, computed anew."""
    screen = on.visit("your-numbers", **{**QUICK, "eps": "1", **address})
    arms = typed_arms(10, [0.2, 0.5], True, (0, 100))
    question = Question(arms, 400, 1.0)
    asked = Asked(arms, names=("baseline", "option 1", "option 2"), sure="Typed.", unit="%")
    answer = answers.reply(asked, Setting(400, "conversions", 1.0), question, best_methods(question))
    return screen, answer


@pytest.mark.usefixtures("whole_search")
def test_the_verdict_names_the_best_method_and_all_others_are_one_click_away() -> None:
    screen, answer = _answered()
    message = on.words(screen)
    on.unfold(screen, "own-all-methods")
    for row, privacy, cells in zip(answer.rows, COMPARED, _table(screen, "best method"), strict=True):
        assert row.privacy == privacy
        assert f"({answers.words.plain(answer.method(row))})" in message
        assert cells[1:3] == [answer.method(row), answers.amount(*row.lost[:2])]
    [shown] = [table.value for table in screen.main.dataframe if "method" in table.value]
    every = sum(len(candidates(answer.question, privacy)) for privacy in COMPARED)
    whole = [name for name in shown["method"] if ", as at ε" not in name]
    assert len(whole) == every < len(shown) and f"All {every} methods tried" in [each.label for each in screen.expander]
    assert list(shown["method"]) == [each.title for privacy in COMPARED for each in answer.decision.of(privacy)]
    [than_best] = [column for column in shown if "best" in column]
    chosen = shown[shown[than_best] == "chosen"]
    assert list(chosen["method"]) == [answer.decision.of(privacy)[0].title for privacy in COMPARED]
    apart = [not each.chosen and not each.apart for privacy in COMPARED for each in answer.decision.of(privacy)]
    assert [("within" in text) for text in shown[than_best]] == apart and any(apart)
    on.put(screen, screen.text_input(key="own-looks"), "6")
    assert _table(screen, "6 looks: half end within")


def _cost(privacy: str, lost: float, extra: float, error: float) -> Cost:
    both = (Estimate(value, error, value - 2 * error, value + 2 * error) for value in (lost, extra))
    return Cost(COMPARED.index(privacy), privacy, privacy, *both, Estimate(2.0, 0.1), 100)


@pytest.fixture(scope="module")
def answer() -> answers.Reply:
    """Two options and what is known of them."""
    arms = (Bernoulli(mean=0.3), Bernoulli(mean=0.6))
    question = Question(arms, 200, 1.0)
    asked = Asked(arms, names=("old <b>", "new"), sure="Typed.", unit="%")
    decision = best_methods(question, store=Store(None, 2**24))
    return answers.reply(asked, Setting(200, "clicks", 1.0), question, decision)


@settings(max_examples=200)
@given(st.floats(1, 1e6), st.floats(-1e5, 1e5), st.floats(0, 1e5))
def test_nothing_is_said_to_be_indistinct_that_is_not(
    answer: answers.Reply, lost: float, extra: float, error: float
) -> None:
    rows = (_cost("none", lost, math.nan, math.nan), _cost("local", lost + extra, extra, error))
    message = answers.verdict(replace(answer, rows=rows, blind=1e9))
    assert ("whether privacy" in message) == (abs(extra) <= 2 * error)
    assert ("clicks more**" in message) == (extra > 2 * error)
    assert ("clicks less**" in message) == (extra < -2 * error)
    assert "nan" not in message and "inf" not in message


@pytest.mark.parametrize(
    ("lost", "error", "message"),
    [(1000, 1, "no better"), (990, 10, "no better"), (950, 1, "hardly better"), (500, 1, "")],
)
def test_a_method_that_learns_nothing_is_said_to_be_that(
    answer: answers.Reply, lost: float, error: float, message: str
) -> None:
    """The wording is what is tested."""
    rows = (_cost("none", 10, math.nan, math.nan), _cost("central", lost, lost - 10.0, error))
    verdict = answers.verdict(replace(answer, rows=rows, blind=1000.0))
    found = [each for each in ("no better", "hardly better") if f"{each} than choosing at random" in verdict]
    assert found == ([message] if message else [])


SMALLEST = 2.0 ** (LOWEST / PER_DOUBLING)
POINTS = {SMALLEST: Estimate(900.0, 1.0, 898.0, 902.0), 64.0: Estimate(50.0, 1.0, 48.0, 52.0)}


def test_an_answer_that_chance_gives_too_is_no_epsilon(answer: answers.Reply) -> None:
    lost = Estimate(999.0, 2.0, 995.0, 1003.0)
    chance = Found("local", Answer(SMALLEST, None, SMALLEST, POINTS), "TS-CF", lost, 1000.0)
    message = answers.found_words(chance, answer)
    assert "ε =" not in message and "1,000" in message
    real = replace(chance, lost=Estimate(500.0, 2.0, 496.0, 504.0))
    assert f"**{SMALLEST:.3g}**" in answers.found_words(real, answer) and "TS" in answers.found_words(real, answer)
    never = Found("local", Answer(None, 3.0, None, POINTS))
    assert "64" in answers.found_words(never, answer) and "**" not in answers.found_words(never, answer)
    users = replace(real, answer=Answer(1200.0, 1000.0, None, POINTS))
    assert "**1,200 users**" in answers.found_words(users, answer, True)


def test_each_field_refuses_what_it_cannot_use() -> None:
    refused = "goal=all limit=0 base=x users=-5 users=5 users=1e9 as=magic eps=inf eps=50 search=all delta=0 power=0.2"
    for pair in f"{refused} rule=paper week=0 times=1.5 night=-1 zone=much".split():
        name, _, text = pair.partition("=")
        with pytest.raises(InputError, match=name):
            question.FIELDS[name].read(text)
    for row in question.FIELDS.values():
        assert row.read(row.text(row.default)) == row.default
        for end in (row.ends or row.allowed) if row.kind == "number" else ():
            assert row.read(row.text(end)) == row.read(page_fields.shown(end)) == end


def test_a_number_is_read_as_people_type_it_and_asked_where_it_may_be_two() -> None:
    fields = question.FIELDS | {"base": replace(question.FIELDS["base"], label="Baseline rate, %")}
    read = {"base": "3,1 %", "users": "50,000", "week": "40 000", "most": "1.234,5", "delta": "5%", "power": "80"}
    found = {name: fields[name].read(text) for name, text in read.items()}
    assert found == {"base": 3.1, "users": 50_000, "week": 40_000, "most": 1234.5, "delta": 0.05, "power": 0.8}
    assert isinstance(found["users"], int) and fields["looks"].read("5.000") == 5  # 5,000 are too many
    for name, text, allowed in (
        ("users", "50.000", "may be 50 or 50,000; write 50 or 50000"),
        ("sale", "3,125", "may be 3.125 or 3,125; write 3.125 or 3125"),
        ("users", "5", "a whole number from 10 to 100,000,000"),
        ("sale", "40%", "a number from 1e-06 to 1,000,000,000"),
    ):
        with pytest.raises(InputError) as error:
            fields[name].read(text)
        assert str(error.value) == f"{name}: {text!r}: {allowed}"


def test_a_number_that_cannot_be_read_stays_in_its_box_and_the_page_says_what_it_uses() -> None:
    screen = on.visit("your-numbers", **QUICK)
    on.put(screen, screen.text_input(key="own-base"), "3,125")
    said = screen.error[0].value.replace("\\", "")
    assert "Baseline rate, %: '3,125': may be 3.125" in said and "Until then this page uses 10." in said
    assert screen.text_input(key="own-base").value == "3,125" and "base" not in on.address(screen)
    assert screen.get("plotly_chart")
    on.put(screen, screen.text_input(key="own-base"), "3,1")
    assert not screen.error and on.address(screen)["base"] == "3.1" and "**baseline** 3.1%" in on.words(screen)
    on.put(screen, screen.text_input(key="own-new-lifts"), "much")
    assert "Until then this page uses 20, 50." in screen.error[0].value and "**option 1** 3.72%" in on.words(screen)
    on.put(screen, screen.text_input(key="own-new-lifts"), "9900%")  # a mean of 310%
    on.put(screen, screen.text_input(key="own-users"), "few")
    lifts, users = [box.value.replace("\\", "") for box in screen.error]
    assert "lifts[0]" in lifts and "310" in lifts and "Users: 'few'" in users


@pytest.mark.parametrize("said", ["goal=all", "users=1e9", "search=users", "list=0.5, x"])
def test_fields_that_cannot_be_used_are_told_and_defaults_stand_in(said: str) -> None:
    field, _, value = said.partition("=")
    screen = on.visit("your-numbers", **{**QUICK, field: value})
    assert field in screen.warning[0].value and screen.get("plotly_chart")
    assert field in on.run(screen).warning[0].value  # a page that waits for its numbers is drawn again and again
    if field == "users":
        next(box for box in screen.text_input if box.label == "Users").set_value("500")
        assert not on.run(on.run(screen)).warning


def test_an_upload_is_answered_and_stays_out_of_address_and_shared_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = on.visit("your-numbers", **QUICK, lifts="33")

    def shared(*_: object) -> None:
        raise AssertionError("the store of all visitors was asked")

    monkeypatch.setattr(engine, "default_store", shared)
    upload(screen, CSV)
    message = on.words(screen).replace("\\", "")
    assert "session" in message and "80 people, a column for each option (A, B)" in message
    assert "% sure that **A** " in message
    assert screen.get("plotly_chart")
    assert "lifts" not in on.address(screen) and "secret" not in str(on.address(screen)) and "No link" in message
    assert not screen.session_state["own-store"].on_disk


def test_what_is_in_doubt_is_asked_and_nothing_is_computed_before() -> None:
    screen = upload(on.visit("your-numbers", **QUICK), b"A,B\nx,1\n" + b"1,0\n0,0\n" * 50, agree=False)
    assert not screen.get("plotly_chart") and not screen.error
    [agree] = [button for button in screen.button if button.label == "Yes, read it so"]
    on.press(screen, agree)
    [question] = [radio for radio in screen.radio if "row 2, column A: 'x' " in radio.label.replace("\\", "")]
    assert question.value is None and not screen.get("plotly_chart")
    on.put(screen, question, "leave out")
    assert screen.get("plotly_chart") and screen.session_state["own-limited"][1].observed[0].count == 100


def test_totals_are_read_at_once() -> None:
    rows = b"variant,visitors,conversions\ncontrol,10470,843\nnew,10502,912\nGrand Total,20972,1755\n"
    screen = upload(on.visit("your-numbers", **QUICK), rows, agree=False)
    asked = screen.session_state["own-limited"][1]
    assert [(each.name, each.count) for each in asked.observed] == [("control", 10470), ("new", 10502)]
    assert screen.get("plotly_chart") and "843 of 10,470" in on.words(screen) and "adds up others" in on.words(screen)


def search(screen: AppTest, axis: str) -> Toggle:
    """The switch of one of the searches."""
    [found] = [toggle for toggle in screen.toggle if f"search-{axis}" in toggle.key]
    return found


def limits(screen: AppTest, place: int) -> AppTest:
    """Choose one of the offered limits of a reward."""
    [choice] = [radio for radio in screen.radio if "imits" in radio.label]
    return on.put(screen, choice, choice.options[place])


def unit_of(screen: AppTest) -> str:
    return str(next(box.value for box in screen.selectbox if "unit" in box.label))


def test_amounts_are_rescaled_only_with_consent_and_answered_in_their_unit() -> None:
    screen = upload(on.visit("your-numbers", **QUICK), b"A,B\n" + b"10,0\n20,40\n30,0\n" * 5)
    assert not screen.get("plotly_chart")
    limits(screen, 0)
    assert unit_of(screen) in inputs.AMOUNT_UNITS and screen.get("plotly_chart")
    asked = screen.session_state["own-limited"][1]
    assert (asked.low, asked.high, asked.cut, asked.clip) == (0, 40, "", None)


TRUE_MEANS = [(60 * 80 + 1e6) / 121, (60 * 60 + 30) / 121]


def test_one_amount_of_a_million_is_cut_when_the_visitor_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = b"A,B\n" + b"30,20\n50,40\n" * 60 + b"1000000,30\n"
    for place in (0, 1):
        screen = upload(on.visit("your-numbers", **QUICK), rows)
        assert not screen.get("plotly_chart")  # nothing is taken for granted
        limits(screen, place)
        asked = screen.session_state["own-limited"][1]
        assert (asked.low, asked.high) == (0, 1e6) and asked.means.tolist() == pytest.approx(TRUE_MEANS)
        assert bool(asked.cut) == bool(place)
        if place:
            assert "1 of 242" in asked.cut and asked.cut in on.words(screen).replace("\\", "")
            assert asked.limits == (0, 50) and asked.clip == (0, 50 / 1e6)
            assert asked.observed[0].high == 1e6 and asked.observed[0].mean == pytest.approx(TRUE_MEANS[0])
            table = next(frame.value for frame in screen.main.dataframe if "cut" in frame.value)
            assert table["cut"].tolist() == ["1 (0.826%)", "0 (0%)"]
            after = [float(text.replace(",", "")) for text in table["mean after the cut"]]
            assert after == pytest.approx([(60 * 80 + 50) / 121, TRUE_MEANS[1]], rel=1e-3)
            monkeypatch.setattr(inputs, "write_address", lambda: None)
            question = inputs.contest_of(asked, inputs.Setting(2000, "euros", 2.0))
            found = candidates(question, "local")
            assert {(each.note, each.clip) for each in found} == {(asked.cut, asked.clip)}  # the spec tells it, too


def test_columns_can_be_chosen() -> None:
    rows = b"".join(b"%c,%d,%d\n" % (b"AB"[row % 3 == 0], row % 2, row % 5 == 0) for row in range(60))
    screen = upload(on.visit("your-numbers", **QUICK), b"arm,reward,second\n" + rows)
    assert set(screen.session_state["own-limited"][1].names) == {"A", "B"}
    on.put(screen, next(box for box in screen.selectbox if box.label == "A row is"), "wide")
    picked = next(box for box in screen.multiselect if box.label == "Options")
    on.put(screen, picked, ["reward", "second"])
    asked = screen.session_state["own-limited"][1]
    assert asked.names == ("reward", "second") and [option.mean for option in asked.observed] == [0.5, 0.2]


def test_limits_of_ones_own_and_limits_that_are_none() -> None:
    screen = limits(upload(on.visit("your-numbers", **QUICK), b"A,B\n" + b"10,0\n20,40\n30,0\n" * 5), -1)
    assert not screen.get("plotly_chart")  # both ends are still to be said
    for label, value in (("Smallest", "0"), ("Largest", "25,0")):
        next(box for box in screen.text_input if box.label == label).set_value(value)
    on.run(screen)
    asked = screen.session_state["own-limited"][1]
    assert asked.means.tolist() == pytest.approx([20, 40 / 3]) and screen.get("plotly_chart")
    assert (asked.limits, asked.low, asked.high) == ((0, 25), 0, 40)
    on.put(screen, next(box for box in screen.text_input if box.label == "Largest"), "−1")
    assert "limits" in screen.error[0].value and not screen.get("plotly_chart")


SHOP = b"often,dear\n" + b"1,0\n2,0\n0,0\n2,0\n" * 24 + b"1,400\n2,600\n2,0\n0,0\n"  # 1.25 against 10


def test_limits_that_change_the_best_option_are_an_error_with_a_way_out() -> None:
    """Limits of 0 to 3: the learner sees the wrong page ahead, and what that loses is counted whole."""
    screen = limits(upload(on.visit("your-numbers", users="3000", eps="10"), SHOP), -1)
    for label, value in (("Smallest", "0"), ("Largest", "3")):
        next(box for box in screen.text_input if box.label == label).set_value(value)
    on.run(screen)
    [message] = [box.value for box in screen.error if "which option is best" in box.value]
    assert "**dear**, with 10 per user" in message and "**often** looks best, with 1.25 against 0.06" in message
    assert "lose up to 8.75 per user" in message
    asked, memory = screen.session_state["own-limited"][1], on.words(screen)
    assert (asked.low, asked.high, asked.limits) == (0, 600, (0, 3))
    assert asked.means.tolist() == pytest.approx([1.25, 10])
    assert "**The limits of a reward change which option is best**" in memory
    assert any("**Choose wider limits**" in box.value for box in screen.success)
    best = _table(on.unfold(screen, "own-all-methods", "own-until-fold"), "best method")
    assert any("So with privacy no test finds the best one" in box.value for box in screen.info)
    lost = [float(cells[2].partition(" ")[0].replace(",", "")) for cells in best]
    blind = 3000 * 8.75 / 2
    assert len(lost) == 3 and lost[0] < 0.75 * blind and min(lost[1:]) > 0.9 * blind  # in euros of the file
    [button] = [button for button in screen.button if button.key.endswith("-harmless")]
    high = float(button.label.rpartition(" to ")[2])  # two euros in a hundred must bring more than 125
    assert 62.5 < high < 67 and f"Limits of 0 to {high:g} do not" in message
    on.press(screen, button)
    asked = screen.session_state["own-limited"][1]
    assert asked.limits == (0, high) and not asked.misled and not screen.error and screen.get("plotly_chart")


def test_limits_without_what_lies_far_off_say_at_once_that_they_change_the_best_option() -> None:
    rows = b"often,dear\n" + b"1,0\n2,0\n0,0\n2,0\n" * 60 + b"2,9000\n"
    screen = upload(on.visit("your-numbers", **QUICK), rows)
    assert "9000" in on.words(screen) and not screen.get("plotly_chart")
    [choice] = [radio for radio in screen.radio if "imits" in radio.label]
    [near] = [place for place, name in enumerate(choice.options) if name.endswith(inputs.NEAR)]
    assert "another option looks best then" in choice.captions[near]
    limits(screen, near)
    assert screen.session_state["own-limited"][1].misled
    [message] = [box.value for box in screen.error if "which option is best" in box.value]
    assert "**dear**" in message and "**often** looks best" in message
    on.press(screen, next(button for button in screen.button if button.key.endswith("-harmless")))
    assert not screen.session_state["own-limited"][1].misled


def test_units_follow_the_kind_of_reward() -> None:
    assert unit_of(on.visit("your-numbers", **QUICK)) in inputs.RATE_UNITS
    assert unit_of(on.visit("your-numbers", **QUICK, **{"as": "amount"})) in inputs.AMOUNT_UNITS
    assert unit_of(on.visit("your-numbers", **QUICK, unit="euros")) in inputs.RATE_UNITS
    assert unit_of(on.visit("your-numbers", **QUICK, unit="leads", **{"as": "amount"})) == "leads"


USELESS = {
    b"": "the file is empty",
    b"A\n1\n": "two columns",
    b"PK\x03\x04": "broken archive",
    b"<script>,B\nx,z\n": "Which column says which option",
}


@pytest.mark.parametrize(("data", "message"), USELESS.items())
def test_a_file_that_is_no_use_is_told(data: bytes, message: str) -> None:
    screen = upload(on.visit("your-numbers", **QUICK), data, agree=False)
    assert message in on.words(screen) and not screen.get("plotly_chart")


def test_what_a_careful_reader_would_see_goes_into_the_page_to_take_away() -> None:
    rows = b"".join(b"u%d,%c,%d\n" % (row % 40, b"AB"[row % 2], row % 3 == 0) for row in range(80))
    screen = upload(on.visit("your-numbers", **QUICK), b"user,group,clicked\n" + rows)
    question_now = inputs.question_of(screen.session_state["own-limited"][1], Setting(400, "clicks", 2.0))
    assert "are in several rows" in drawing.one_page(price.Price(question_now, price.rows_of(question_now)))


def test_removing_the_file_forgets_it() -> None:
    screen = upload(on.visit("your-numbers", **QUICK), CSV)
    store = screen.session_state["own-store"]
    assert store.bytes_used() > 0
    on.put(screen, screen.file_uploader(key="own-file"), None)
    assert "own-store" not in screen.session_state and "own-file-read" not in screen.session_state
    assert store.bytes_used() == 0 and store.limit_bytes == 0


def test_users_own_budgets_replace_the_slider() -> None:
    screen = upload(on.visit("your-numbers", **QUICK), b"epsilon\n0.5\n1\n2\n4\n", "own-budgets")
    assert re.search(r"\b4 users", on.words(screen)) and "users' own ε" in on.words(screen)
    assert "lifts" not in on.address(screen)


@pytest.mark.parametrize("goal", ["price", "percent"])
def test_a_limit_is_searched_and_its_link_opens_it_again(goal: str) -> None:
    limit = {"price": "1.5", "percent": "15"}[goal]
    screen = on.unfold(on.visit("your-numbers", **QUICK, lifts="100", limit=limit, goal=goal), "own-search")
    assert not screen.warning
    assert on.address(screen).get("goal", "price") == goal and on.address(screen)["limit"] == limit
    on.put(screen, search(screen, "epsilon"), True)
    message = on.words(screen)
    assert all(f"{PROMISES[privacy].who}: " in message for privacy in ("local", "central"))
    chart = on.chart(screen, "searched-ε")
    assert len(chart.traces) >= 2
    if goal == "percent":
        on.put(screen, search(screen, "users"), True)
        assert on.chart(screen, "searched-users").traces and "no privacy: " in on.words(screen)
    else:
        assert not [toggle for toggle in screen.toggle if "search-users" in toggle.key]
    assert on.address(screen)["search"] == ("both" if goal == "percent" else "epsilon")
    again = on.visit("your-numbers", **on.address(screen))
    assert not again.warning and search(again, "epsilon").value
    assert on.chart(again, "searched-ε").traces == chart.traces


def test_a_limit_that_asks_for_no_learning_and_one_that_nobody_reaches() -> None:
    screen = on.unfold(on.visit("your-numbers", **QUICK, limit="100000", goal="regret"), "own-search")
    on.put(screen, search(screen, "epsilon"), True)
    assert on.words(screen).count("no learning") == 2 and "ε = **" not in on.words(screen)
    on.put(screen, next(box for box in screen.text_input if box.label == "I accept at most"), "0,001")
    assert on.words(screen).count("not reached") == 2


@pytest.mark.parametrize(("reader", "key"), [("read_sheet", "own-file"), ("read_budgets", "own-budgets")])
def test_a_file_is_read_once_and_outside_of_the_pages_turn(
    reader: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = inputs if hasattr(inputs, reader) else inputs.observations
    read, turn_taken = getattr(place, reader), []

    def look(data: bytes, *how: object, **more: object) -> object:
        turn_taken.append(page_lock.drawing_lock.locked())
        return read(data, *how, **more)

    monkeypatch.setattr(place, reader, look)
    screen = upload(on.visit("your-numbers", **QUICK), b"epsilon\n1\n2\n" if key == "own-budgets" else CSV, key)
    on.run(screen)
    assert turn_taken == [False]  # so another visitor's page can be drawn meanwhile
    screen.file_uploader(key=key).set_value(("wrong.csv", b"A\nx\n", "text/csv"))
    on.run(on.run(screen))
    assert turn_taken == [False, False]  # what cannot be read is not tried again at every click


def test_a_name_from_the_file_is_shown_as_text() -> None:
    screen = upload(on.visit("your-numbers", **QUICK), b"<b>x</b>,**B**\n" + b"1,0\n0,0\n1,1\n" * 20)
    markup = [element.value for element in screen.main.markdown if element.allow_html]
    assert not any("<b>x</b>" in text for text in markup)
    assert "\\*\\*B\\*\\*" in on.words(screen) or "**B**" not in on.words(screen)


def test_the_summary_is_one_page_that_holds_the_answer_and_no_markup_of_the_visitor(answer: answers.Reply) -> None:
    assert drawing.plain_html("**5** \\<b\\> & more") == "<b>5</b> &lt;b&gt; &amp; more"
    found = {"ε": [Found("local", Answer(0.5, 0.3, 0.7, POINTS), "TS-CF", Estimate(5.0, 1.0, 3.0, 7.0), 30.0)]}
    made = datetime(2031, 5, 6, 7, 8, tzinfo=UTC)
    page = drawing.summary_page(answer, answers.verdict(answer), found, "at most 2 <i>", "http://x.org/?a=1&b=2", made)
    assert "old &lt;b&gt;" in page and "<i>" not in page
    assert re.findall(r' src="(.{20})', page) == ["data:image/svg+xml;b"]  # the picture, and nothing of another host
    assert 'href="http://x.org/?a=1&amp;b=2"' in page and "2031-05-06" in page
    here = drawing.summary_page(answer, "", {}, "", "http://localhost:8501/?a=1", made)
    spec = html.unescape(re.search(r"<pre[^>]*>(.*?)</pre>", here, re.DOTALL)[1])  # type: ignore[index]
    assert json.loads(spec) == answer.experiment.spec() and "localhost" not in here
    meta = answer.result.metadata
    for row, guarantee in zip(answer.rows, meta["guarantees"], strict=True):
        assert answer.experiment.lines[row.line].entry.title in page and guarantee["words"] in page
        assert answers.amount(*row.lost[:2]) in page
    for number in (
        answer.experiment.trials,
        answer.decision.screened,
        answer.question.screening_seed,
        *meta["kernels"].values(),
        *meta["versions"].values(),
    ):
        assert str(number) in page
    drawn = drawing.printing.image(answers.chart(answer, False), drawing.SIZE, answers.describe(answer))
    assert drawn in page and "trust no one" in drawn and "Choosing at random" in drawn


def test_the_sheet_names_the_lifts_of_the_options_and_no_numbers_that_a_test_was_not_asked_for(answer) -> None:
    page = drawing.summary_page(answer, "", {}, "", None)
    assert "<th>lift" in page and "<td>100%" in page  # 0.3 and 0.6
    assert "baseline = " not in page and "effect = " not in page


def test_a_loss_that_is_not_known_well_is_said_to_be_that(answer: answers.Reply, monkeypatch) -> None:
    monkeypatch.setattr(best_method, "PRECISE", 0.03)
    rows = (_cost("none", 10, math.nan, math.nan), _cost("local", 378.0, 300.0, 40.0))
    said = answers.verdict(replace(answer, rows=(rows[0], replace(rows[1], lost=Estimate(378.0, 30.0, 310.0, 440.0)))))
    assert said.count("Its loss is known to 8% only.") == 1


def test_the_summary_is_made_without_a_session(monkeypatch: pytest.MonkeyPatch, log: list[str]) -> None:
    """A file is made when it is fetched, by a thread that has none: asking there logs a warning, and gets nothing."""
    offered = {}

    def button(self: DeltaGenerator, label: str, data: object, **_: object) -> None:
        offered[label] = data

    monkeypatch.setattr(DeltaGenerator, "download_button", button)
    screen = on.visit("your-numbers", **QUICK, unit="clicks", base="20")
    made: list[str] = []
    thread = threading.Thread(target=lambda: made.extend(data() for data in offered.values()))
    thread.start()
    thread.join()
    assert log == [] and len(made) == 2
    for page in made:
        assert page.startswith("<!doctype html>") and "clicks" in page
    settings_file = html.unescape(made[1])  # this address opens nowhere else
    assert '"horizon": 400' in settings_file and '"mean": 0.2' in settings_file
    assert on.address(screen)["base"] == "20"


# --- tests -----------------------------------------------------------------------------------------------------------


def _table(screen: AppTest, column: str) -> list[list[str]]:
    """Cells of the table with that column."""
    tables = [table.value for table in screen.main.dataframe] + on.tables(screen)
    [cells] = [table.to_numpy().tolist() for table in tables if column in table]
    return cells


def _times(screen: AppTest) -> tuple[list[list[str]], list[list[str]]]:
    """Cells of the table of times, and what the pictures show."""
    on.unfold(screen, "own-until-fold")
    shown = [[str(trace["x"]), str(trace["y"])] for trace in on.chart(screen, "planned-chart").traces]
    return _table(screen, "users, median"), shown


def _rows(arms: tuple[Bernoulli, ...]) -> tuple[RollOut, ...]:
    return roll_outs(RollOutQuestion(arms, 400, (("local", 1.0), ("central", 1.0)), trials=60))


def test_users_until_a_decision_are_those_of_the_study_in_the_visitors_unit() -> None:
    screen, _ = _answered(lifts="-50,100", week="80", **{"as": "amount", "most": "20", "unit": "euros"})
    rows = _rows(typed_arms(10, [-0.5, 1.0], True, (0, 20)))
    times, _ = _times(screen)
    message = on.words(screen)
    for row, cells in zip(rows, times, strict=True):
        assert cells[0] == planned.who(row)
        middle = row.times.quantile(0.5)
        assert cells[1] == weeks_words(middle / 80) and cells[2] == planned.users_words(middle)
        assert f"**{weeks_words(middle / 80)}**" in message and f"**{weeks_words(row.test_users / 80)}**" in message
        assert cells[3] == planned.users_words(row.times.mean_users)
        decided = np.mean(row.times.stopped & (row.times.users <= 400))
        assert cells[6] == f"{100 * decided:.3g}%" and cells[8] == row.times.spec.entry.title
        assert row.bound is not None and cells[5].startswith(answers.words.number(row.bound.users))


@pytest.mark.parametrize(
    ("name", "kind", "value", "said"),
    [
        ("week", "text_input", "77", "77"),
        ("rule", "button_group", "heuristic", "heuristic"),
        ("sides", "toggle", True, "1"),
        ("list", "text_input", "1, 3", "1, 3"),
    ],
)
def test_a_control_of_the_tests_changes_the_answer_and_stands_in_the_link(
    name: str, kind: str, value: object, said: str
) -> None:
    screen = on.unfold(on.visit("your-numbers", **QUICK, lifts="100"), "own-details", "own-until-fold")
    before = (*_times(screen), _table(screen, "planned test"))
    control = next(each for each in getattr(screen, kind) if (each.key or "").partition(":")[0] == f"own-{name}")
    on.put(screen, control, value)
    after = (*_times(screen), _table(screen, "planned test"))
    assert after != before
    assert on.address(screen)[name] == said
    again = on.visit("your-numbers", **on.address(screen))
    assert not again.warning and (*_times(again), _table(again, "planned test")) == after


def test_privacy_is_blamed_only_for_what_the_same_method_without_noise_does_not_take() -> None:
    screen, _ = _answered(lifts="-50,100")
    rows = _rows(typed_arms(10, [-0.5, 1.0], True, (0, 100)))  # percent
    said = on.words(on.unfold(screen, "own-until-fold"))
    for row in rows[1:]:
        method = float(np.quantile(row.noiseless, 0.5, method="inverted_cdf"))
        ratio = answers.words.number(row.times.quantile(0.5) / method, 2)
        assert f"the same method at ε = ∞ needs {planned.users_words(method)} users" in said
        assert f"privacy itself multiplies the users by about {ratio}." in said or row.times.quantile(0.5) <= method
    assert rows[2].times.spec.policy == "dp-tt"


def test_options_that_are_equally_good_have_no_time_to_decide() -> None:
    screen = on.visit("your-numbers", **QUICK, lifts="0")
    on.unfold(screen, "own-until-fold")
    assert question.text("nothing to find") in [box.value for box in screen.info]
    assert not [table for table in screen.main.dataframe if "users, median" in table.value]
    assert all(cells[3] == "not in practice" for cells in _table(screen, "planned test"))


def test_users_until_a_decision_are_searched_once_for_all_visitors(monkeypatch: pytest.MonkeyPatch) -> None:
    first = _times(on.visit("your-numbers", **QUICK))
    monkeypatch.setattr(planned, "RollOutStudy", None)  # no one needs to build one
    assert _times(on.arrive("your-numbers", **QUICK)) == first


def test_times_of_an_upload_are_remembered_by_the_session_alone() -> None:
    before = best_arm._time.cache_info()  # private: what a process remembers
    screen = upload(on.visit("your-numbers", **QUICK, lifts="0"), CSV)
    assert _times(screen)[0] and best_arm._time.cache_info() == before
    assert "own-until-found" in screen.session_state
    on.put(screen, screen.file_uploader(key="own-file"), None)
    assert "own-until-found" not in screen.session_state


def test_the_sheet_has_the_rows_of_the_tests(answer: answers.Reply) -> None:
    question = inputs.question_of(answer.asked, answer.chosen)
    found = price.Price(question, price.rows_of(question))
    page = drawing.summary_page(answer, answers.verdict(answer), {}, "", None, price=found)
    for row in planned.table(question, found.rows).to_dict("records"):
        assert all(drawing.escape(cell) in page for cell in row.values())
    assert drawing.escape(planned.looks_words(question)) in page


# --- the whole question ----------------------------------------------------------------------------------------------

CLINIC = {"base": "50", "lifts": "40", "users": "400", "week": "40", "list": "1, 2", "eps": "2"}


def _clinic() -> price.Price:
    found = price.price_question(baseline=0.5, lifts=[40], weekly=40, weeks=10, epsilon=[1, 2])
    answer = price.PriceStudy(replace(found, trials=60), Store(None, 2**26)).run()
    assert answer is not None
    return answer


def test_the_page_and_the_library_say_the_same_of_the_same_question() -> None:
    screen = on.visit("your-numbers", **CLINIC)
    expected = _clinic()
    first = _table(screen, "planned test")
    whole = planned.table(expected.question, expected.rows).to_numpy().tolist()
    assert [cells[:4] for cells in first] == [cells[:4] for cells in whole]
    assert [cells for cells in first if cells[1] != "1"] == [cells for cells in whole if cells[1] != "1"]
    assert all(cells[6] == "–" for cells in first if cells[1] == "1")
    on.put(screen, screen.toggle(key="own-every"), True)
    assert _table(screen, "planned test") == whole
    [advice] = [box.value for box in screen.success]
    at_two = [row for row in expected.rows if row.epsilon in (None, 2.0)]
    assert advice == price.advise(replace(expected.question, epsilons=(2.0,)), at_two).words


def test_while_learners_are_tried_the_advice_says_what_is_known_of_the_tests() -> None:
    question = price.price_question(baseline=0.1, lifts=[1], weekly=40, weeks=10, epsilon=[1])
    place = Mock()
    drawing.show_advice(place, price.Price(question, price.rows_of(question)), None)
    [said] = place.info.call_args.args
    assert said.startswith("**Too few people come") and said.endswith("section 3.") and not place.success.called


def test_a_range_is_answered_on_average_and_as_by_the_library() -> None:
    screen = on.visit("your-numbers", **{**CLINIC, "lifts": "20-60"})
    question = price.price_question(baseline=0.5, lifts=[(20, 60)], weekly=40, weeks=10, epsilon=[1, 2])
    whole = planned.table(question, price.rows_of(question)).to_numpy().tolist()
    assert [cells[:4] for cells in _table(screen, "planned test")] == [cells[:4] for cells in whole]
    assert "60% to 80%" in on.words(screen) and f"losses over {len(question.draws)}." in on.words(screen)
    assert on.address(screen)["lifts"] == "20-60"
    assert "60% to 80%" in drawing.one_page(price.Price(question, price.rows_of(question)))


def test_several_tests_share_the_budget_of_a_person() -> None:
    screen = on.visit("your-numbers", **CLINIC, times="2", tests="5")
    cells = _table(screen, "ε of one test")
    assert [row[1:3] for row in cells] == [["0.4", "0.2"]] * 2
    rows = price.rows_of(price.price_question(baseline=0.5, lifts=[40], weekly=40, weeks=10, epsilon=[0.4]))
    assert [row[3] for row in cells] == [weeks_words(row.test_users / 40) for row in rows[1:]]


def test_the_baseline_of_an_upload_can_be_chosen() -> None:
    screen = upload(on.visit("your-numbers", **QUICK), CSV)
    before = screen.session_state["own-limited"][1]
    on.put(screen, next(box for box in screen.selectbox if box.label == "Baseline"), "B")
    after = screen.session_state["own-limited"][1]
    assert (before.names, after.names) == (("A", "B"), ("B", "A"))
    assert after.means.tolist() == before.means.tolist()[::-1]
    assert _table(screen, "planned test")


def test_sales_are_typed_and_their_limit_is_drawn() -> None:
    screen = on.visit("your-numbers", **QUICK, **{"as": "sales", "base": "20", "sale": "30", "sd": "20", "most": "60"})
    asked = price.price_question(baseline=0.2, lifts=[20, 50], purchase=(30, 20), limits=(0, 60), weekly=5000)
    rows = price.rows_of(replace(asked, users=400))
    whole = [weeks_words(row.test_users / 5000) for row in rows]
    shown, sooner = [row[3] for row in _table(screen, "planned test")], " (quicker: amounts are cut)"
    assert [each.removesuffix(sooner) for each in shown] == whole and "**baseline** 6," in on.words(screen)
    assert [each.endswith(sooner) for each in shown] == [row.test_users < rows[0].test_users for row in rows]
    assert any(each.endswith(sooner) for each in shown)
    assert {shape["x0"] for shape in on.chart(screen, "amounts-chart").layout["shapes"]} == {0, 60}


def test_the_page_for_a_meeting_holds_question_advice_picture_and_table() -> None:
    found = _clinic()
    page = drawing.one_page(found, "Signup <b>", "http://localhost:8501/your-numbers?base=50")
    assert "<h1>Signup &lt;b&gt;</h1>" in page and "localhost" not in page and "bandit-lab price" in page
    drawn = planned.picture(found.question, found.question.epsilons, False)
    assert drawing.printing.image(drawn, drawing.SIZE, "").partition(' alt="')[0] in page
    assert drawing.plain_html(found.advice.words) in page
    for row in planned.table(found.question, found.rows).to_numpy().tolist():
        assert all(f"<td>{drawing.escape(cell)}" in page for cell in row)
    shared = drawing.one_page(found, "", "https://lab.example.org/your-numbers?base=50")
    assert 'href="https://lab.example.org/your-numbers?base=50"' in shared


def test_a_link_that_opens_here_only_is_not_forwarded() -> None:
    here = "localhost:8501/x", "127.0.0.1/x", "10.0.0.3/", "[::1]/", "box.local/", "box/"
    assert drawing.shareable("https://lab.org/x")
    assert not any(map(drawing.shareable, (None, *map("http://{}".format, here))))


def test_the_command_on_the_page_makes_the_same_question_again(capsys: pytest.CaptureFixture[str]) -> None:
    found = _clinic()
    page = drawing.one_page(found)
    command = html.unescape(re.search(r"<code>bandit-lab (.*?)</code>", page)[1])  # type: ignore[index]
    assert cli.main(shlex.split(command)) == 0
    assert capsys.readouterr().out.count("\n") == 1 + len(found.rows)


@pytest.mark.parametrize("epsilon", [0.7, 9.0])
def test_the_chosen_budget_is_in_every_picture_of_the_planned_test(epsilon: float) -> None:
    asked = Asked((Bernoulli(mean=0.1), Bernoulli(mean=0.12)), names=("now", "new"), sure="Typed.", unit="%")
    question = price.price_question(baseline=0.1, lifts=[20], epsilon=[epsilon])
    for budgets in ((0.5, 1.0, 2.0, 4.0), (1.0,), (0.5, 4.0)):
        drawn = planned.lift_picture(asked, question, budgets, False)
        names = " ".join(str(trace.name) for trace in drawn.data)
        assert names.count(f"ε = {epsilon:g}") == 2 and len(drawn.data) <= 7
        weeks = [trace for trace in planned.picture(question, budgets, False).data if trace.marker.size is not None]
        assert all(dict(zip(trace.x, trace.marker.size, strict=True))[epsilon] == 10 for trace in weeks) and weeks
