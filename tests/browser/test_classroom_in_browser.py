"""A class together: the board counts by itself, and shows the guesses of phones beside the answer."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import expect
from visitor import Visitor

from ui.learn.course import STEPS

STEP = "trust"


def press(visitor: Visitor, key: str) -> None:
    visitor.tab.locator(f".st-key-{key} button").locator("visible=true").last.click()


def test_the_board_counts_phones_by_itself(visits: Callable[..., Visitor]) -> None:
    number = [step.name for step in STEPS].index(STEP) + 1
    teacher = visits(f"/learn?step={number}", width=960)
    teacher.tab.set_viewport_size({"width": 960, "height": 540})
    press(teacher, "class-open")
    count = teacher.tab.get_by_test_id("stMetricValue")
    expect(count).to_have_text("0")
    code = teacher.address["class"]
    phones = [visits(f"/learn?class={code}&step={number}", width=390) for _ in range(2)]
    for phone in phones:
        press(phone, f"learn-{STEP}-guess-1")
        expect(phone.tab.get_by_test_id("stAlert")).to_be_visible()
    expect(count).to_have_text("2")  # nobody touched the board
    press(teacher, "class-reveal")
    bars = teacher.element("class-guesses").locator(".js-plotly-plot .main-svg").first
    expect(bars).to_be_visible()
    expect(bars).to_be_in_viewport(ratio=0.9)
    press(phones[0], "class-look")
    expect(phones[0].element("learn-picture").locator(".main-svg").first).to_be_visible()
    press(teacher, "class-close")
    expect(teacher.tab.locator(".st-key-class-open button").locator("visible=true").first).to_be_visible()
