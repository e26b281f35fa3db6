"""A class together: the store keeps guesses for an hour and no more, and the pages of teacher and phones agree."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest
import screen as on

from bandit_core import simulate
from ui.learn import classroom, together
from ui.learn.classroom import LIFETIME, MOST_A_SECOND, MOST_CLASSES, MOST_GUESSES, UNUSED, Classroom, Refused
from ui.learn.course import STEPS
from ui.learn.step import Scale

SCALE = next(place for place, step in enumerate(STEPS, 1) if isinstance(step.guess, Scale))
CHOICE = SCALE - 1  # its next step asks for a number


class Clock:
    """Seconds that pass when a test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Classroom:
    return Classroom(clock)


@pytest.fixture(autouse=True)
def classes(monkeypatch: pytest.MonkeyPatch, store: Classroom) -> Classroom:
    """What the pages of this test share."""
    monkeypatch.setattr(together, "CLASSES", store)
    return store


# ---------------------------------------------------------------------------------------------------------------
# The store


def test_a_class_is_gone_after_an_hour(store: Classroom, clock: Clock) -> None:
    code = store.open("t")
    store.guess(code, "a", 1, 2.0)
    clock.now += LIFETIME - 0.01
    assert store.is_open(code) and store.guesses(code, 1) == (2.0,)
    clock.now += 0.01
    store.forget()
    assert len(store) == 0  # not merely hidden
    assert not store.is_open(code) and store.guesses(code, 1) == () and store.guess_of(code, "a", 1) is None
    with pytest.raises(Refused):
        store.guess(code, "a", 1, 2.0)
    assert store.open("t") != code


def test_a_later_guess_replaces_the_earlier_one_of_the_same_phone_and_step(store: Classroom) -> None:
    code = store.open("t")
    for phone, step, value in (("a", 1, 0.0), ("b", 1, 0.0), ("a", 2, 1.0), ("a", 1, 2.0)):
        store.guess(code, phone, step, value)
    assert store.guesses(code, 1) == (0.0, 2.0) and store.guesses(code, 2) == (1.0,)
    assert store.guess_of(code, "a", 1) == 2.0 and store.guess_of(code, "c", 1) is None


def test_the_answer_of_a_step_closes_it_until_it_is_asked_again(store: Classroom) -> None:
    code = store.open("t")
    store.guess(code, "a", 1, 0.0)
    store.reveal(code, "t", 1)
    assert store.is_revealed(code, 1) and not store.is_revealed(code, 2)
    with pytest.raises(Refused):
        store.guess(code, "a", 1, 1.0)
    store.guess(code, "a", 2, 1.0)
    assert store.guesses(code, 1) == (0.0,)
    store.again(code, "t", 1)
    assert not store.is_revealed(code, 1) and store.guesses(code, 1) == () and store.guesses(code, 2) == (1.0,)


def test_only_the_teacher_reveals_asks_again_and_closes(store: Classroom) -> None:
    code = store.open("t")
    store.guess(code, "a", 1, 0.0)
    for act in (lambda: store.reveal(code, "a", 1), lambda: store.again(code, "a", 1), lambda: store.close(code, "a")):
        act()
    assert store.is_open(code) and store.guesses(code, 1) == (0.0,) and not store.is_revealed(code, 1)
    store.close(code, "t")
    assert not store.is_open(code) and len(store) == 0


def test_a_server_and_a_teacher_have_so_many_classes(store: Classroom, clock: Clock) -> None:
    codes = {store.open(f"t{number}") for number in range(MOST_CLASSES - 1)}
    with pytest.raises(Refused, match="Close it first"):
        store.open("t0")
    codes.add(store.open("last"))
    with pytest.raises(Refused, match="as many classes"):
        store.open("one more")
    assert len(codes) == MOST_CLASSES
    clock.now += LIFETIME
    store.open("one more")


def test_a_full_server_closes_classes_that_nobody_uses(store: Classroom, clock: Clock) -> None:
    codes = [store.open(f"t{number}") for number in range(MOST_CLASSES)]
    store.guess(codes[0], "phone", 1, 0.0)
    clock.now += UNUSED - 1
    with pytest.raises(Refused, match="as many classes"):
        store.open("a teacher")
    clock.now += 1
    assert store.is_open(store.open("a teacher"))
    assert store.is_open(codes[0])  # oldest, and in use
    assert len(store) == MOST_CLASSES and sum(map(store.is_open, codes)) == MOST_CLASSES - 1


def test_a_class_takes_so_many_guesses_and_so_many_a_second(store: Classroom, clock: Clock) -> None:
    code, other = store.open("t"), store.open("u")
    for number in range(MOST_A_SECOND):
        store.guess(code, f"a{number}", 1, 0.0)
    with pytest.raises(Refused, match="at once"):
        store.guess(code, "late", 1, 0.0)
    store.guess(other, "late", 1, 0.0)  # another class is not slowed down
    for number in range(MOST_A_SECOND, MOST_GUESSES):
        clock.now += 1
        store.guess(code, f"a{number}", 1, 0.0)
    with pytest.raises(Refused, match="full"):
        store.guess(code, "too many", 1, 0.0)
    store.guess(code, "a0", 1, 1.0)  # who is in may guess again
    assert len(store.guesses(code, 1)) == MOST_GUESSES and store.guesses(code, 1)[-1] == 1.0


def test_a_hundred_phones_at_once_are_a_hundred_guesses(store: Classroom) -> None:
    code, start = store.open("t"), threading.Barrier(100)

    def phone(number: int) -> None:
        start.wait()
        store.guess(code, f"a{number}", 1, float(number % 3))

    threads = [threading.Thread(target=phone, args=(number,)) for number in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(store.guesses(code, 1)) == {0.0: 34, 1.0: 33, 2.0: 33}


def test_codes_are_drawn_from_signs_that_do_not_look_alike(store: Classroom) -> None:
    codes = [store.open(f"t{number}") for number in range(50)]
    assert len(set(codes)) == 50
    assert all(len(code) == classroom.LENGTH and set(code) <= set(classroom.LETTERS) for code in codes)
    assert not set(classroom.LETTERS) & set("01OIL") and len(classroom.LETTERS) ** classroom.LENGTH > 5e8


def test_nothing_but_number_and_random_token_is_kept(store: Classroom) -> None:
    teacher, code = opened(CHOICE)
    phone = tap(join(code, CHOICE), CHOICE, 1)
    [kept] = store._classes.values()  # private: all that there is, not what is told of it
    assert kept.guesses == {CHOICE: {phone.session_state["class-token"]: 1.0}}
    assert int(phone.session_state["class-token"], 16) != int(teacher.session_state["class-token"], 16)


# ---------------------------------------------------------------------------------------------------------------
# The pages


def press(screen: Any, key: str) -> Any:
    screen.button(key=key).click()
    return on.run(screen)


def opened(number: int) -> tuple[Any, str]:
    """A teacher's screen at a step, and the code of the class."""
    screen = press(on.visit("learn", step=str(number)), "class-open")
    return screen, on.address(screen)["class"]


def join(code: str, number: int) -> Any:
    return on.visit("learn", **{"class": code, "step": str(number)})


def tap(screen: Any, number: int, place: int) -> Any:
    return press(screen, f"learn-{STEPS[number - 1].name}-guess-{place}")


def has(screen: Any, key: str) -> bool:
    return any(each.key == key for each in screen.button)


def charts(screen: Any) -> int:
    return len(screen.get("plotly_chart"))


def test_a_teacher_and_two_phones_see_the_same_step(store: Classroom) -> None:
    step = STEPS[CHOICE - 1]
    teacher, code = opened(CHOICE)
    address = next(each.value for each in teacher.code if "class=" in each.value)
    assert f"class={code}" in address and f"step={CHOICE}" in address
    assert not has(teacher, "class-open") and not has(teacher, f"learn-{step.name}-guess-0")
    assert teacher.metric[0].value == "0"
    one, two = join(code, CHOICE), join(code.lower(), CHOICE)
    one, two = tap(tap(one, CHOICE, 0), CHOICE, 2), tap(two, CHOICE, 2)
    for phone in (one, two):
        assert step.guess.told(2) in phone.success[0].value
        assert not charts(phone)  # the answer is not out
        assert not has(phone, "class-reveal") and not has(phone, "class-close")
    on.run(teacher)
    assert teacher.metric[0].value == "2" and not charts(teacher)

    teacher = press(teacher, "class-reveal")
    assert charts(teacher) == 2 and not teacher.metric
    bars = on.chart(teacher, "class-guesses").traces[0]
    assert list(on.numbers_in(bars["y"])) == [0, 0, 2]
    answer = step.measured(simulate(step.experiment(step.slider.start)), step.slider.start)
    ticks = [name.startswith("✓") for name in bars["x"]]
    assert ticks == [step.guess.fits(place, answer) for place in range(3)]
    assert f"**{2 * ticks[2]} of 2**" in on.words(teacher) and str(answer) in on.words(teacher)

    one = press(one, "class-look")
    assert charts(one) == 1 and not has(one, "class-look")
    late = tap(join(code, CHOICE), CHOICE, 1)
    assert late.warning and charts(late) == 1  # sees the answer, and is told that the guess does not count
    assert store.guesses(code, CHOICE) == (2.0, 2.0)

    teacher = press(teacher, "class-again")
    assert teacher.metric[0].value == "0" and not charts(teacher)
    assert not charts(on.run(one)) and not one.success  # asked once more


def test_a_number_is_guessed_and_stands_beside_the_answer(store: Classroom) -> None:
    step = STEPS[SCALE - 1]
    teacher, code = opened(SCALE)
    for value in (60, 73, 73):
        phone = join(code, SCALE)
        phone.slider(key=f"learn-{step.name}-guess").set_value(value)
        phone = press(on.run(phone), f"learn-{step.name}-guess-show")
        assert not charts(phone)
    teacher = press(teacher, "class-reveal")
    chart = on.chart(teacher, "class-guesses")
    counted = dict(zip(on.numbers_in(chart.traces[0]["x"]), on.numbers_in(chart.traces[0]["y"]), strict=True))
    assert {value: n for value, n in counted.items() if n} == {60: 1, 73: 2}
    answer = step.measured(step.found(step.slider.start, 0, simulate), step.slider.start)
    assert chart.layout["shapes"][0]["x0"] == pytest.approx(answer.value)
    last = step.slider.stops[-1]
    on.own(teacher, "select_slider", f"learn-{step.name}").set_value(last)
    on.run(teacher)  # the guesses were about the start: the answer beside them stays
    assert on.chart(teacher, "class-guesses").layout["shapes"][0]["x0"] == pytest.approx(answer.value)


def test_the_class_goes_on_to_the_next_step_and_ends(store: Classroom) -> None:
    teacher, code = opened(CHOICE)
    phone = tap(join(code, CHOICE), CHOICE, 1)
    for screen in (teacher, phone):
        press(screen, "learn-next-above")
        assert on.address(screen) == {"class": code, "step": str(CHOICE + 1)}
    assert teacher.metric[0].value == "0" and not phone.success
    teacher = press(teacher, "class-close")
    assert "class" not in on.address(teacher) and has(teacher, "class-open") and len(store) == 0
    assert code in on.run(phone).warning[0].value
    assert STEPS[CHOICE].title in phone.title[0].value  # and goes on alone
    assert charts(press(phone, f"learn-{STEPS[CHOICE].name}-guess-show")) == 1


def test_who_leaves_the_class_goes_on_alone(store: Classroom) -> None:
    _, code = opened(CHOICE)
    phone = press(tap(join(code, CHOICE), CHOICE, 1), "class-leave")
    assert charts(phone) == 1 and on.address(phone) == {"step": str(CHOICE)}


@pytest.mark.parametrize("code", ["ABC234", "<b>x</b>", "x" * 500])
def test_a_code_of_no_class_is_told(code: str) -> None:
    screen = join(code, CHOICE)
    assert len(screen.warning) == 1 and "class" in screen.warning[0].value and "<b>" not in screen.warning[0].value
    assert charts(tap(screen, CHOICE, 0)) == 1


def test_a_class_whose_hour_is_over_is_told_to_both(clock: Clock, store: Classroom) -> None:
    teacher, code = opened(CHOICE)
    phone = join(code, CHOICE)
    clock.now += LIFETIME
    for screen in (teacher, phone):
        assert code in on.run(screen).warning[0].value
        assert has(screen, "class-open")
    assert len(store) == 0


def test_a_full_server_and_a_full_class_are_told(store: Classroom, monkeypatch: pytest.MonkeyPatch) -> None:
    _, code = opened(CHOICE)
    monkeypatch.setattr(classroom, "MOST_CLASSES", 1)
    assert press(on.visit("learn"), "class-open").warning
    monkeypatch.setattr(classroom, "MOST_GUESSES", 1)
    tap(join(code, CHOICE), CHOICE, 0)
    refused = tap(join(code, CHOICE), CHOICE, 0)
    assert refused.warning and not refused.success and len(store.guesses(code, CHOICE)) == 1


@pytest.mark.parametrize("setting", ["0", "no"])
def test_a_host_may_switch_classes_off(setting: str, store: Classroom, monkeypatch: pytest.MonkeyPatch) -> None:
    code = store.open("t")
    monkeypatch.setenv("LAB_CLASSROOM", setting)
    assert not has(on.visit("learn"), "class-open")
    screen = join(code, CHOICE)
    assert len(screen.warning) == 1
    assert charts(tap(screen, CHOICE, 0)) == 1 and store.guesses(code, CHOICE) == ()


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_every_possible_guess_has_its_bar(step: Any) -> None:
    values = tuple(map(float, step.guess.values()))
    assert together.counts(step.guess, values) == [1] * len(values)
    figure = together.histogram(step.guess, values, None, dark=False)
    assert np.sum(figure.data[0].y) == len(values)
    assert all(step.guess.told(value) in together.read_aloud(step.guess, values) for value in values)


def test_a_guess_that_nobody_is_offered_is_not_taken(store: Classroom) -> None:
    code = store.open("t")
    together.send(together.Room(code, False), STEPS[CHOICE - 1], CHOICE, 7.0)
    together.send(together.Room(code, False), STEPS[CHOICE - 1], CHOICE, float("nan"))
    assert store.guesses(code, CHOICE) == ()
