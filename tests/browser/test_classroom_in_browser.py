"""A lecture: the teacher projects, opens a class, three phones guess, and all of them see the same step."""

import re
from collections.abc import Callable
from itertools import product

from playwright.sync_api import expect
from projected import asks, picture_fills_the_window
from visitor import PHONE, Profiles, Visitor

from ui.learn import classroom
from ui.learn.course import STEPS

Visits = Callable[..., Visitor]
NUMBER = [step.name for step in STEPS].index("trust")
STEP, FOLLOWING = STEPS[NUMBER], STEPS[NUMBER + 1]


def press(visitor: Visitor, key: str) -> None:
    visitor.tab.locator(f".st-key-{key} button").locator("visible=true").last.click()


def test_a_projected_lesson_fills_the_window_and_obeys_keys(visits: Visits) -> None:
    teacher = visits("/teach", width=1280, height=720)
    press(teacher, f"open-project-{STEP.name}")
    keys = teacher.tab.keyboard
    asks(teacher)
    teacher.sees(STEP.question.format(at=STEP.slider.words(STEP.slider.start)))
    keys.press("r")
    picture_fills_the_window(teacher, 720)
    first = teacher.main().locator("p", has_text="So:").inner_text()
    for width, height in ((1920, 1080), (960, 540)):
        teacher.tab.set_viewport_size({"width": width, "height": height})
        picture_fills_the_window(teacher, height)
    keys.press("ArrowRight")
    keys.press("ArrowRight")
    expect(teacher.main().locator("p", has_text="So:")).not_to_have_text(first)
    for width, height in ((960, 540), (1920, 1080), (1280, 720)):
        teacher.tab.set_viewport_size({"width": width, "height": height})
        picture_fills_the_window(teacher, height)
    stops = STEP.slider.stops
    expect(teacher.tab).to_have_url(re.compile(rf"[?&]at={stops[stops.index(STEP.slider.start) + 2]:g}(&|$)"))
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


def test_a_phone_without_scripts_follows_more_slowly_and_a_guess_waits_for_the_network(visits: Visits) -> None:
    teacher = visits("/teach", width=1280)
    press(teacher, f"class-open-{STEP.name}")
    asks(teacher)
    away = visits(f"/learn?class={teacher.address['class']}", new=True, **PHONE)
    away.context.set_offline(True)
    away.tab.locator("main button").first.press("Enter")
    expect(away.tab.locator("main")).to_have_attribute("aria-busy", "true")
    away.context.set_offline(False)
    expect(away.tab.locator("main button").first).to_have_attribute("aria-pressed", "true")
    expect(away.tab.locator("main button").first).to_be_focused()
    expect(teacher.tab.get_by_test_id("stMetricValue")).to_have_text("1")
    phone = visits(f"/learn?class={teacher.address['class']}", new=True, java_script_enabled=False, **PHONE)
    phone.tab.locator("main button").nth(1).click()
    expect(phone.tab.locator("main button").nth(1)).to_have_attribute("aria-pressed", "true")
    teacher.tab.keyboard.press("r")
    expect(phone.tab.locator("main")).to_contain_text(STEP.so)


def test_two_heads_alone_turn_the_answer_around(profiles: Profiles) -> None:
    profile = profiles.take({})
    for answer, *coins in product((0, 1), repeat=3):
        found = profile.tab.evaluate(f"""() => {{
            crypto.getRandomValues = bytes => (bytes.set({[254 + coin for coin in coins]}), bytes);
            {classroom.SCRIPT}
            return tossCoins({answer}); }}""")
        assert found["bit"] == (1 - answer if coins == [1, 1] else answer), (coins, answer)
        assert found["message"].count("heads") == sum(coins), (coins, answer)
        assert ("yes" if found["bit"] else "no") in found["message"], (coins, answer)
    profiles.give_back(profile)


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
