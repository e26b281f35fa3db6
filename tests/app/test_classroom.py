"""A class together: the store keeps guesses for four hours and no more, and teacher and phones see the same step."""

import asyncio
import math
import re
import sqlite3
import threading
from base64 import b64encode
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import screen as on
from awaiting import awaited
from phone import Phone, asked, nothing

from ui import serving
from ui.learn import classroom
from ui.learn.classroom import LIFETIME, MAX_A_SECOND, MAX_CLASSES, MAX_GUESSES, UNUSED, Classroom, Refused
from ui.learn.course import LESSONS, STEPS, Scale
from ui.serving import Phones
from ui.teach import board

SCALE = next(step for step in STEPS if isinstance(step.guess, Scale))
CHOICE = STEPS[STEPS.index(SCALE) - 1]
STEP = CHOICE.name
TOSS = next(step for step in LESSONS if step.coins)


class Clock:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Classroom:
    """What the pages of this test share."""
    made = Classroom(lambda: tmp_path, clock)
    monkeypatch.setattr(classroom, "CLASSES", made)
    return made


# ---------------------------------------------------------------------------------------------------------------
# The store


def test_a_class_is_gone_four_hours_after_its_last_action(store: Classroom, clock: Clock, tmp_path: Path) -> None:
    code, key = store.open(STEP)
    clock.now += LIFETIME - 1
    store.guess(code, "phone-of-somebody", STEP, 2.0)
    clock.now += LIFETIME - 1
    store.reveal(code, key, STEP)
    clock.now += LIFETIME - 0.01
    assert store.now(code) is not None and store.guesses(code, STEP) == (2.0,)
    clock.now += 0.01
    assert store.now(code) is None
    store.forget()
    assert len(store) == 0 and store.guesses(code, STEP) == ()
    assert store.guess_of(code, "phone-of-somebody", STEP) is None
    assert b"phone-of-somebody" not in (tmp_path / "classes.sqlite").read_bytes()  # not merely hidden
    with pytest.raises(Refused):
        store.guess(code, "a", STEP, 2.0)


def test_a_later_guess_replaces_the_earlier_one_of_the_same_phone_and_step(store: Classroom) -> None:
    code, key = store.open(STEP)
    for phone, value in (("a", 0.0), ("b", 0.0), ("a", 2.0)):
        store.guess(code, phone, STEP, value)
    store.go(code, key, "other")
    store.guess(code, "a", "other", 1.0)
    assert store.guesses(code, STEP) == (0.0, 2.0) and store.guesses(code, "other") == (1.0,)
    assert store.guess_of(code, "a", STEP) == 2.0 and store.guess_of(code, "c", STEP) is None


def test_the_answer_of_a_step_closes_it_until_it_is_asked_again(store: Classroom) -> None:
    code, key = store.open(STEP)
    store.guess(code, "a", STEP, 0.0)
    store.reveal(code, key, STEP)
    assert store.now(code) == classroom.Moment(STEP, True, 1)
    with pytest.raises(Refused, match="out before"):
        store.guess(code, "a", STEP, 1.0)
    store.go(code, key, "other")
    assert store.now(code) == classroom.Moment("other", False, 0)
    with pytest.raises(Refused, match="moved on"):
        store.guess(code, "a", STEP, 1.0)
    store.go(code, key, STEP)
    store.again(code, key, STEP)
    assert store.now(code) == classroom.Moment(STEP, False, 0)


def test_only_the_teacher_goes_on_reveals_asks_again_and_closes(store: Classroom) -> None:
    code, key = store.open(STEP)
    store.guess(code, "a", STEP, 0.0)
    for act in (store.go, store.reveal, store.again, store.close):
        other = () if act == store.close else ("other" if act == store.go else STEP,)
        for wrong in ("", "a", code):
            act(code, wrong, *other)
    assert store.now(code) == classroom.Moment(STEP, False, 1)
    store.close(code, key)
    assert store.now(code) is None and len(store) == 0 and store.guesses(code, STEP) == ()


def test_two_processes_share_a_class_and_a_lost_or_damaged_file_ends_it(
    store: Classroom, clock: Clock, tmp_path: Path
) -> None:
    other = Classroom(lambda: tmp_path, clock)
    code, key = store.open(STEP)
    other.guess(code, "a", STEP, 1.0)
    assert store.now(code) == classroom.Moment(STEP, False, 1)
    other.reveal(code, key, STEP)
    assert store.now(code) == classroom.Moment(STEP, True, 1)
    (tmp_path / "classes.sqlite").unlink()
    assert store.now(code) is None and other.now(code) is None
    again, _ = store.open(STEP)
    assert other.now(again) == classroom.Moment(STEP, False, 0)
    (tmp_path / "classes.sqlite").write_bytes(b"no database" * 1000)
    assert Classroom(lambda: tmp_path, clock).now(again) is None
    Classroom(lambda: tmp_path, clock).open(STEP)


def test_where_nothing_can_be_written_classes_live_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = Classroom(lambda: tmp_path / "file" / "below")
    code, _ = store.open(STEP)
    store.guess(code, "a", STEP, 1.0)
    assert store.guesses(code, STEP) == (1.0,)


def test_a_locked_file_is_told_and_not_a_traceback(store: Classroom, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(classroom, "WRITER_SECONDS", 0.01)
    code, key = store.open(STEP)
    holder = sqlite3.connect(tmp_path / "classes.sqlite", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(Refused, match="busy"):
        store.guess(code, "a", STEP, 1.0)
    store.reveal(code, key, STEP)
    holder.execute("ROLLBACK")
    holder.close()
    assert store.now(code) == classroom.Moment(STEP, False, 0)


def test_a_full_server_closes_classes_that_nobody_uses(store: Classroom, clock: Clock) -> None:
    codes = [store.open(STEP)[0] for _ in range(MAX_CLASSES)]
    store.guess(codes[0], "phone", STEP, 0.0)
    clock.now += UNUSED - 1
    with pytest.raises(Refused, match="as many classes"):
        store.open(STEP)
    clock.now += 1
    assert store.now(store.open(STEP)[0])
    assert store.now(codes[0])  # oldest, and in use
    assert len(store) == MAX_CLASSES and sum(store.now(code) is not None for code in codes) == MAX_CLASSES - 1


def test_a_class_takes_so_many_guesses_and_so_many_a_second(
    store: Classroom, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(classroom, "MAX_A_SECOND", 150)
    (code, _), (other, _) = store.open(STEP), store.open(STEP)
    for number in range(150):
        store.guess(code, f"a{number}", STEP, 0.0)
    with pytest.raises(Refused, match="at once"):
        store.guess(code, "late", STEP, 0.0)
    store.guess(other, "late", STEP, 0.0)  # another class is not slowed down
    for number in range(150, MAX_GUESSES):
        clock.now += 1
        store.guess(code, f"a{number}", STEP, 0.0)
    with pytest.raises(Refused, match="full"):
        store.guess(code, "too many", STEP, 0.0)
    store.guess(code, "a0", STEP, 1.0)  # who is in may guess again
    assert len(store.guesses(code, STEP)) == MAX_GUESSES < MAX_A_SECOND and store.guesses(code, STEP)[-1] == 1.0


def test_three_hundred_phones_at_once_are_three_hundred_guesses(store: Classroom) -> None:
    (code, _), start = store.open(STEP), threading.Barrier(30)

    def phones(number: int) -> None:
        start.wait()
        for each in range(10 * number, 10 * number + 10):
            store.guess(code, f"a{each}", STEP, float(each % 3))

    threads = [threading.Thread(target=phones, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(store.guesses(code, STEP)) == {0.0: 100, 1.0: 100, 2.0: 100}


def test_codes_are_drawn_from_signs_that_do_not_look_alike(store: Classroom) -> None:
    codes = [store.open(STEP)[0] for _ in range(50)]
    assert len(set(codes)) == 50
    assert all(len(code) == classroom.LENGTH and set(code) <= set(classroom.LETTERS) for code in codes)
    assert not set(classroom.LETTERS) & set("01OIL") and len(classroom.LETTERS) ** classroom.LENGTH > 5e8


def test_nothing_but_number_and_random_token_is_kept(store: Classroom, tmp_path: Path) -> None:
    _, code, key = opened(CHOICE)
    phone = Phone(code).send(1)
    token = phone.cookie.removeprefix("lab_class=")
    assert len(token) == 16 and int(token, 16) >= 0
    with sqlite3.connect(tmp_path / "classes.sqlite") as database:
        assert database.execute("SELECT * FROM guesses").fetchall() == [(code, STEP, token, 1.0)]
        columns = [name for (name,) in database.execute("SELECT name FROM pragma_table_info('classes')")]
        assert set(columns) == {"code", "teacher", "step", "changed", "second", "in_second"}
    database.close()
    assert key.encode() not in (tmp_path / "classes.sqlite").read_bytes()


# ---------------------------------------------------------------------------------------------------------------
# The pages


def press(screen: Any, key: str) -> Any:
    return on.press(screen, screen.button(key=key))


def opened(step: Any) -> tuple[Any, str, str]:
    """A teacher's screen at a step, the code of the class, and the teacher's key."""
    screen = press(on.visit("teach"), f"class-open-{step.name}")
    address = on.address(screen)
    assert address["controls"] == "off"
    return screen, address["class"], address["key"]


def has(screen: Any, key: str) -> bool:
    return any(each.key == key for each in screen.button)


def charts(screen: Any) -> int:
    return len(screen.get("plotly_chart"))


def bars(screen: Any) -> list[tuple[bool, str, int]]:
    """The bars of a class: ticked or not, in words, and how many guesses."""
    pages = [each.proto.body for each in screen.get("html") if "guesses" in each.proto.body]
    found = [row for page in pages for row in re.findall(r"<li[^>]*>(✓ )?(.*?) <b>(\d+)</b>", page)]
    return [(bool(tick), name, int(count)) for tick, name, count in found]


def measured(step: Any) -> Any:
    return step.measured(step.content(step.slider.start), step.slider.start)


def test_a_phone_that_is_late_is_told_that_its_guess_does_not_count(store: Classroom) -> None:
    _, code, key = opened(CHOICE)
    phone = Phone(code)
    store.reveal(code, key, STEP)
    phone.send(1)
    assert phone.alerts and CHOICE.so in phone.words and store.guesses(code, STEP) == ()
    store.go(code, key, "other")
    phone.load().send(1, step=STEP)
    assert phone.alerts and len(phone.values) == 3


def test_a_number_is_guessed_and_stands_beside_the_answer(store: Classroom) -> None:
    teacher, code, _ = opened(SCALE)
    for value in (60, 73, 73):
        assert SCALE.guess.message(value) in Phone(code).send(value).words
    teacher = press(teacher, "project-reveal")
    low, fit, high = bars(teacher)
    assert [each[0] for each in (low, fit, high)] == [False, True, False]
    assert (low[2], fit[2], high[2]) == (1, 2, 0)
    least, most = map(int, re.findall(r"\d+", fit[1]))
    assert [SCALE.guess.fits(value, measured(SCALE)) for value in (least - 1, least, most, most + 1)] == [0, 1, 1, 0]


def test_phones_follow_the_teacher_who_may_come_back_from_anywhere(store: Classroom) -> None:
    teacher, code, key = opened(CHOICE)
    phone = Phone(code).send(1)
    teacher = press(teacher, "project-next")
    assert SCALE.title in teacher.title[0].value and teacher.metric[0].value == "0"
    assert phone.load().title == SCALE.title
    elsewhere = on.visit("teach", **{"class": code, "key": key, "controls": "off"})
    assert SCALE.title in elsewhere.title[0].value
    elsewhere = press(elsewhere, "project-reveal")
    assert len(bars(elsewhere)) == len(bars(on.run(teacher))) == 3
    teacher = press(teacher, "class-close")
    assert "class" not in on.address(teacher) and len(store) == 0
    assert SCALE.title in teacher.title[0].value
    assert code in phone.load().alerts[0]


@pytest.mark.parametrize("key", ["", "wrong", "x" * 300])
def test_without_the_key_nobody_leads(store: Classroom, key: str) -> None:
    _, code, _ = opened(CHOICE)
    screen = on.visit("teach", **{"class": code, "key": key, "controls": "off"})
    assert screen.warning and not has(screen, "class-close") and not screen.metric
    screen = press(screen, "project-reveal")  # of this screen alone
    assert on.players(screen) and store.now(code) == classroom.Moment(STEP, False, 0)


def test_a_class_that_is_open_goes_on(store: Classroom) -> None:
    teacher, code, _ = opened(CHOICE)
    back = on.go(teacher, "teach")
    back = press(back, f"class-open-{SCALE.name}")
    assert on.address(back)["class"] == code and len(store) == 1
    assert store.now(code) == classroom.Moment(SCALE.name, False, 0)


@pytest.mark.parametrize("code", ["ABC234", "<b>x</b>", "x" * 500])
def test_a_code_of_no_class_is_told(code: str, store: Classroom) -> None:
    screen = on.visit("teach", **{"class": code})
    assert len(screen.warning) == 1 and "class" in screen.warning[0].value and "<b>" not in screen.warning[0].value
    phone = Phone(code)
    assert "class" in phone.alerts[0] and "<b>" not in phone.main.lower() and len(phone.main) < 700
    assert 'href="learn"' in phone.main  # on alone
    assert Phone(code).send(1).alerts and len(store) == 0


def test_a_full_server_and_a_full_class_are_told(store: Classroom, monkeypatch: pytest.MonkeyPatch) -> None:
    _, code, _ = opened(CHOICE)
    monkeypatch.setattr(classroom, "MAX_CLASSES", 1)
    assert press(on.visit("teach"), "class-open").warning
    monkeypatch.setattr(classroom, "MAX_GUESSES", 1)
    Phone(code).send(0)
    refused = Phone(code).send(0)
    assert refused.alerts and not refused.pressed and len(store.guesses(code, STEP)) == 1


@pytest.mark.parametrize("setting", ["0", "no"])
def test_a_host_may_switch_classes_off(setting: str, store: Classroom, monkeypatch: pytest.MonkeyPatch) -> None:
    _, code, _ = opened(CHOICE)
    phone = Phone(code)
    monkeypatch.setenv("LAB_CLASSROOM", setting)
    assert not has(on.visit("teach"), "class-open")
    assert phone.send(0).alerts and not phone.values and store.guesses(code, STEP) == ()


@pytest.mark.parametrize(
    ("seen", "own", "address", "expected"),
    [
        ("https://lab.example.org", "10.0.0.7", "", ("https://lab.example.org/learn?class=X&controls=off", False)),
        ("http://localhost:8501", "10.0.0.7", "", ("http://10.0.0.7:8501/learn?class=X&controls=off", False)),
        ("http://localhost:8501", "10.0.0.7", "localhost", ("http://localhost:8501/learn?class=X&controls=off", True)),
        ("http://localhost:8501", "", "", ("http://localhost:8501/learn?class=X&controls=off", True)),
    ],
)
def test_phones_get_an_address_that_they_reach_or_the_teacher_a_command(
    seen: str, own: str, address: str, expected: tuple[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board.export_panel, "base_address", lambda page: seen)
    monkeypatch.setattr(board, "own_address", lambda: own)
    monkeypatch.setattr(board.st, "get_option", lambda name: address or None)
    where, command = board.for_phones("X")
    assert (where, bool(command)) == expected
    assert not command or ("0.0.0.0" in command and "8501" in command)


@pytest.mark.parametrize("step", LESSONS, ids=lambda step: step.name)
def test_every_possible_guess_is_in_one_of_three_bars(step: Any) -> None:
    values = tuple(map(float, step.guess.values()))
    html = board.bars(step.guess, values, measured(step), dark=False)
    counted = [int(each) for each in re.findall(r"<b>(\d+)</b>", html)]
    assert len(counted) == 3 and sum(counted) == len(values)
    fits = sum(step.guess.fits(value, measured(step)) for value in values)
    assert sum(count for count, row in zip(counted, html.split("<li")[1:], strict=True) if "✓" in row) == fits


def test_a_toss_takes_one_bit_of_a_phone_and_shows_the_share(store: Classroom) -> None:
    teacher, code, _ = opened(TOSS)
    assert not charts(teacher) and TOSS.coins in teacher.subheader[0].value
    for bit in (1, 1, 1, 0):
        phone = Phone(code)
        assert sorted(phone.values) == ["0", "1"] and TOSS.coins in phone.words
        assert phone.send(2).alerts
        phone.send(bit)
        assert not phone.values and ("yes" if bit else "no") in re.findall("<b>(.*?)</b>", phone.main)
        awaited(asked(phone.query, f"phone={phone.cookie[-16:]}&step=toss&value={1 - bit}".encode()))
    assert sorted(store.bits(code, "toss")) == [0, 1, 1, 1]  # the first ones
    on.run(teacher)
    assert teacher.metric[0].value == "4"
    assert on.chart(teacher, "class-share").y(classroom.ESTIMATE)[-1] == pytest.approx(100)  # 1/2 + 2 (3/4 - 1/2)
    teacher = press(teacher, "project-reveal")
    assert "truth" not in on.chart(teacher, "class-share").names
    on.put(teacher, next(box for box in teacher.text_input if box.label.startswith("Hands")), "3")
    assert set(on.chart(teacher, "class-share").y("truth")) == {75}
    assert TOSS.so in on.words(teacher) and TOSS.so in phone.load().words and "100" in phone.words
    teacher = press(teacher, "class-again")
    assert store.bits(code, "toss") == () and len(phone.load().values) == 2


# ---------------------------------------------------------------------------------------------------------------
# What phones and the server say to each other


@pytest.mark.parametrize("value", ["", "3", "-1", "0.5", "nan", "inf", "1e999", "<b>", "٣", "x" * 300])
def test_what_is_no_guess_is_refused_in_words(value: str, store: Classroom) -> None:
    _, code, _ = opened(CHOICE)
    phone = Phone(code).send(value)
    assert phone.alerts and "<b>" not in phone.main and store.guesses(code, STEP) == ()


def test_a_phone_without_a_cookie_is_the_one_that_its_form_says(store: Classroom) -> None:
    _, code, _ = opened(CHOICE)
    phone = Phone(code)
    for value in (0, 2):
        phone.cookie = ""
        body = f"phone={'a' * 16}&step={STEP}&value={value}".encode()
        status, headers, part = awaited(asked(phone.query, body))
        assert status == 200 and "set-cookie" not in headers and not part.startswith("<!doctype")
        assert f'value="{value}" aria-pressed' in part
    assert store.guesses(code, STEP) == (2.0,)
    for other in ("", "a", "A" * 16, "<b>"):
        awaited(asked(phone.query, f"phone={other}&step={STEP}&value=1".encode()))
    assert store.guesses(code, STEP) == (2.0,)


def test_a_request_waits_until_the_class_moves_on(store: Classroom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "LOOK", 0.01)
    monkeypatch.setattr(serving, "HOLD", math.inf)
    _, code, key = opened(CHOICE)
    query = f"class={code}&since={STEP}-0"

    async def follow() -> list[str]:
        around = Phones(nothing)
        waiting = [asyncio.create_task(asked(query, around=around)) for _ in range(20)]
        await asyncio.sleep(0.1)
        assert not any(each.done() for each in waiting)
        store.reveal(code, key, STEP)
        return [part for _, _, part in await asyncio.gather(*waiting)]

    parts = awaited(follow())
    assert len(parts) == 20 and all(f'data-version="{STEP}-1"' in part and CHOICE.so in part for part in parts)


def test_a_request_waits_for_so_long_and_only_so_many_do(store: Classroom, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "LOOK", 0.01)
    monkeypatch.setattr(serving, "HOLD", 0.05)
    _, code, _ = opened(CHOICE)
    query = f"class={code}&since={STEP}-0"
    status, headers, part = awaited(asked(query))
    assert (status, part) == (204, "") and "retry-after" not in headers
    monkeypatch.setattr(serving, "HOLD", math.inf)
    monkeypatch.setattr(serving, "MAX_WAITING", 0)
    status, headers, part = awaited(asked(query))
    assert (status, part) == (204, "") and int(headers["retry-after"]) == serving.RETRY


def test_all_phones_of_a_class_share_a_look_at_it(store: Classroom, monkeypatch: pytest.MonkeyPatch) -> None:
    _, code, _ = opened(CHOICE)
    looks, now = [], store.now
    monkeypatch.setattr(store, "now", lambda code: looks.append(code) or now(code))

    async def many() -> None:
        around = Phones(nothing)
        await asyncio.gather(*(asked(f"class={code}&since=other", around=around) for _ in range(50)))

    monkeypatch.setattr(serving, "LOOK", 1000.0)
    awaited(many())
    assert looks == [code]


def test_only_phones_are_answered_and_only_small_forms_are_read(store: Classroom) -> None:
    _, code, _ = opened(CHOICE)
    for query, path in (("", "/learn"), ("step=2", "/learn"), (f"class={code}", "/teach"), (f"class={code}", "/")):
        assert awaited(asked(query, path=path))[0] == 299
    assert awaited(asked(f"class={code}", b"x" * 10_000))[0] == 413
    assert awaited(asked(f"class={code}", b"\xff&&=;phone"))[0] == 200


def test_the_page_of_a_phone_allows_its_own_script_and_asks_nobody(store: Classroom) -> None:
    _, code, _ = opened(CHOICE)
    page = Phone(code).page
    policy = re.findall('http-equiv="Content-Security-Policy" content="([^"]*)"', page)[0]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    for tag, name in (("style", "style-src"), ("script", "script-src")):
        [text] = re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert f"{name} 'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy
    assert not re.search(r"(src|href)=\"(?!learn)", page) and len(page.encode()) < 16_000
