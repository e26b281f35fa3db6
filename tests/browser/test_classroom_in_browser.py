"""A lecture: the teacher projects, opens a class, three phones guess, and all of them see the same step."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect
from visitor import PHONE, Profiles, Visitor

from ui.learn import toss
from ui.learn.course import STEPS

Visits = Callable[..., Visitor]
NUMBER = [step.name for step in STEPS].index("trust")
STEP, FOLLOWING = STEPS[NUMBER], STEPS[NUMBER + 1]
SHARE = 0.55  # of the height of the window, for the picture


def press(visitor: Visitor, key: str) -> None:
    visitor.tab.locator(f".st-key-{key} button").locator("visible=true").last.click()


def asks(teacher: Visitor) -> None:
    """Wait until the projector asks, and hears keys."""
    expect(teacher.tab.locator(".st-key-project-reveal button").locator("visible=true").last).to_be_visible()
    teacher.tab.wait_for_function("window.labKeys")
    teacher.settle()


def picture_fills_the_window(teacher: Visitor, height: int) -> None:
    plot = teacher.element("project-chart").locator(".js-plotly-plot")
    plot.locator(".main-svg").first.wait_for()
    teacher.settle()
    box = plot.bounding_box()
    assert box and box["height"] >= SHARE * height and box["y"] >= 0 and box["y"] + box["height"] <= height
    assert teacher.main().locator("h1").bounding_box()["y"] >= 0  # type: ignore[index]
    assert teacher.main().evaluate("main => main.scrollHeight") <= height
    assert (
        not teacher.tab.locator(".modebar, [data-testid=stHeader], [data-testid=stTopNavLink]")
        .locator("visible=true")
        .count()
    )


@pytest.mark.parametrize(("width", "height", "dark"), [(1280, 720, False), (1920, 1080, True), (960, 540, False)])
def test_a_projected_lesson_fills_the_window_and_obeys_keys(
    visits: Visits, width: int, height: int, dark: bool
) -> None:
    teacher = visits("/teach", width=width, dark=dark)
    teacher.tab.set_viewport_size({"width": width, "height": height})
    press(teacher, f"open-project-{STEP.name}")
    keys = teacher.tab.keyboard
    asks(teacher)
    teacher.sees(STEP.question.format(at=STEP.slider.words(STEP.slider.start)))
    keys.press("r")
    picture_fills_the_window(teacher, height)
    first = teacher.main().locator("p", has_text="So:").inner_text()
    keys.press("ArrowRight")
    keys.press("ArrowRight")
    expect(teacher.main().locator("p", has_text="So:")).not_to_have_text(first)
    picture_fills_the_window(teacher, height)
    stops = STEP.slider.stops
    assert teacher.address["at"] == f"{stops[stops.index(STEP.slider.start) + 2]:g}"
    keys.press("b")
    expect(teacher.element("project-picture")).to_be_hidden()
    keys.press("b")
    expect(teacher.element("project-picture")).to_be_visible()
    keys.press("PageDown")
    teacher.sees(FOLLOWING.title)
    keys.press("PageUp")
    teacher.sees(STEP.title)
    teacher.settle()
    assert teacher.address.items() >= {"step": str(NUMBER + 1), "controls": "off"}.items()
    press(teacher, "project-close")
    expect(teacher.tab.get_by_test_id("stTopNavLink").first).to_be_visible()


@pytest.mark.parametrize("dark", [False, True])
def test_a_lecture(visits: Visits, dark: bool) -> None:
    teacher = visits("/teach", width=1280, dark=dark)
    teacher.tab.set_viewport_size({"width": 1280, "height": 720})
    press(teacher, f"class-open-{STEP.name}")
    count = teacher.tab.get_by_test_id("stMetricValue")
    expect(count).to_have_text("0")
    teacher.settle()
    code, key = teacher.address["class"], teacher.address["key"]
    assert key not in teacher.main().inner_text()
    phones = [visits(f"/learn?class={code}&controls=off", dark=dark, **PHONE) for _ in range(3)]
    for phone in phones:
        button = phone.tab.locator("main button").nth(1)
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        assert phone.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(count).to_have_text("3")  # no one touched the board
    teacher.tab.reload()
    expect(count).to_have_text("3")
    asks(teacher)
    teacher.tab.keyboard.press("r")
    expect(teacher.element("class-guesses").locator(".main-svg").first).to_be_visible()
    picture_fills_the_window(teacher, 720)
    for phone in phones:  # no one touched them
        expect(phone.tab.locator("main")).to_contain_text(STEP.so)
    elsewhere = visits(f"/teach?class={code}&key={key}&controls=off", width=1280, dark=dark)
    expect(elsewhere.element("class-guesses").locator(".main-svg").first).to_be_visible()
    elsewhere.settle()
    elsewhere.tab.keyboard.press("PageDown")
    teacher.sees(FOLLOWING.title)
    for phone in phones:
        expect(phone.tab.locator("main")).to_contain_text(FOLLOWING.title)
    press(elsewhere, "class-close")
    for phone in phones:
        expect(phone.tab.get_by_role("alert")).to_be_visible()


def test_a_phone_without_scripts_follows_more_slowly(visits: Visits) -> None:
    teacher = visits("/teach", width=1280)
    press(teacher, f"class-open-{STEP.name}")
    asks(teacher)
    phone = visits(f"/learn?class={teacher.address['class']}", new=True, java_script_enabled=False, **PHONE)
    phone.tab.locator("main button").nth(1).click()
    expect(phone.tab.locator("main button").nth(1)).to_have_attribute("aria-pressed", "true")
    teacher.tab.keyboard.press("r")
    expect(phone.tab.locator("main")).to_contain_text(STEP.so)


def test_a_guess_waits_for_the_network(visits: Visits) -> None:
    teacher = visits("/teach", width=1280)
    press(teacher, f"class-open-{STEP.name}")
    asks(teacher)
    phone = visits(f"/learn?class={teacher.address['class']}", new=True, **PHONE)
    phone.context.set_offline(True)
    phone.tab.locator("main button").first.press("Enter")
    expect(phone.tab.locator("main")).to_have_attribute("aria-busy", "true")
    phone.context.set_offline(False)
    expect(phone.tab.locator("main button").first).to_have_attribute("aria-pressed", "true")
    expect(phone.tab.locator("main button").first).to_be_focused()
    expect(teacher.tab.get_by_test_id("stMetricValue")).to_have_text("1")


@pytest.mark.parametrize("coins", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("answer", [0, 1])
def test_two_heads_alone_turn_the_answer_around(profiles: Profiles, coins: tuple[int, int], answer: int) -> None:
    tab = profiles.take({}).tab
    tab.evaluate(f"() => {{ crypto.getRandomValues = bytes => (bytes.set({[254 + coin for coin in coins]}), bytes) }}")
    found = tab.evaluate(f"() => {{ {toss.SCRIPT} return tossCoins({answer}); }}")
    assert found["bit"] == (1 - answer if coins == (1, 1) else answer)
    assert found["message"].count("heads") == sum(coins) and ("yes" if found["bit"] else "no") in found["message"]


def test_a_phone_sends_the_bit_and_not_the_answer(visits: Visits) -> None:
    teacher = visits("/teach", width=1280)
    press(teacher, "class-open-toss")
    asks(teacher)
    phone = visits(f"/learn?class={teacher.address['class']}", **PHONE)
    sent: list[str] = []
    phone.tab.on("request", lambda request: sent.append(request.post_data or ""))
    phone.tab.evaluate("() => { crypto.getRandomValues = bytes => bytes.fill(1) }")  # two heads
    phone.tab.get_by_role("button", name="Yes").click()
    button = phone.tab.get_by_role("button", name="Send")
    expect(button).to_be_focused()
    assert not any("value" in each for each in sent)
    button.click()
    expect(phone.tab.locator("main b", has_text="no")).to_be_visible()
    assert [each for each in sent if "value=0" in each] and not [each for each in sent if "value=1" in each]
    expect(teacher.element("class-share").locator(".main-svg").first).to_be_visible()  # no one touched the board
