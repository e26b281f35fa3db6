"""A lecture told in every form: projected, with a class on phones, on paper and offline. All of them say the same."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from playwright.sync_api import Locator, expect
from projected import asks, picture_fills_the_window
from visitor import PHONE, Visitor

from bandit_core.experiments import trust_table
from bandit_core.paths import ROOT
from bandit_core.spec import number_text
from ui import theme, words
from ui.learn.course import LESSONS, STEPS, Choice

Visits = Callable[..., Visitor]
PRICE, TRUST = STEPS[4], STEPS[5]
START = PRICE.slider.start
NEXT = PRICE.slider.stops[PRICE.slider.stops.index(START) + 1]
SIZES = (960, 540), (1920, 1080), (1280, 720)
MEETING = """boxes => boxes.some((a, i) => boxes.slice(i + 1).some(b =>
    a.left < b.right && b.left < a.right && a.top < b.bottom - 1 && b.top < a.bottom - 1))"""


@cache
def found(at: float) -> Any:
    return PRICE.content(at)


def large() -> str:
    return f"{number_text.number(PRICE.measured(found(START), START).value, 2)} times"


def said(at: float) -> str:
    return PRICE.says(found(at), at).replace("**", "")


def sentence(visitor: Visitor) -> Locator:
    return visitor.main().locator("p", has_text="So:").first


def question_and_answer_stand(teacher: Visitor, step: Any) -> None:
    """What the class was asked, its choices, and the measured number in large digits."""
    assert isinstance(step.guess, Choice)
    for text in (step.asks(), *(label for label, _, _ in step.guess.options)):
        expect(teacher.main().get_by_text(text).first).to_be_visible()
    value = teacher.tab.get_by_test_id("stMetricValue")
    expect(value).to_be_visible()
    size, usual = (
        float(each.evaluate("node => parseFloat(getComputedStyle(node).fontSize)"))
        for each in (value, teacher.main().get_by_text(step.asks()).first)
    )
    assert size >= 1.8 * usual


def test_teach_names_every_button_and_the_first_arrow_moves_thumb_picture_and_words(visits: Visits) -> None:
    teacher = visits("/teach", width=1280, height=720)
    expect(teacher.tab.get_by_role("button", name="File lesson", exact=False)).to_have_count(len(LESSONS))
    seen = teacher.main().aria_snapshot()
    names = re.findall(r"- '?button \"((?:Project|Guess|Sheet|File) [^\"]*)\"", seen)
    expected = [f"{label} {step.title}" for step in LESSONS for label in ("Project", "Guess", "Sheet", "File")]
    each = [name for name in names if name not in ("Project lesson 1", "Project these three")]
    assert [re.sub(r" lesson( \d+:)?", "", name) for name in each] == expected
    headings = re.findall(r"- heading \"([^\"]*)\"", seen)
    assert len(set(names)) == len(names) and len(headings) >= 6
    assert not [name for name in headings if " icon" in name]
    teacher.tab.get_by_role("button", name=f"Project lesson 5: {PRICE.title}", exact=True).click()
    asks(teacher)
    teacher.tab.keyboard.press("r")
    expect(sentence(teacher)).to_have_text(said(START))
    question_and_answer_stand(teacher, PRICE)
    expect(teacher.tab.get_by_test_id("stMetricValue")).to_have_text(large())
    handle = teacher.tab.locator(".player .handle")
    before = float(handle.get_attribute("cx") or 0)
    teacher.tab.keyboard.press("ArrowRight")
    assert teacher.tab.locator(".player output").inner_text() == PRICE.slider.words(NEXT)  # at once, in the browser
    assert sentence(teacher).inner_text() == words.unbroken(said(NEXT))
    assert float(handle.get_attribute("cx") or 0) > before + 50
    teacher.tab.wait_for_url(re.compile(rf"[?&]at={NEXT:g}(&|$)"))
    question_and_answer_stand(teacher, PRICE)
    expect(teacher.tab.get_by_test_id("stMetricValue")).to_have_text(large())  # what was asked does not move


def test_a_class_sees_wide_bars_goes_on_after_a_reload_and_is_not_ended_by_a_slip(visits: Visits) -> None:
    """No one touches a phone to see what the board shows, or the board to see how many have guessed."""
    teacher = visits("/teach", width=1280, height=720, dark=True)
    teacher.tab.get_by_role("button", name=f"Guess lesson 5: {PRICE.title}", exact=True).click()
    asks(teacher)
    code, key = teacher.address["class"], teacher.address["key"]
    assert key not in teacher.main().inner_text()
    phones = [visits(f"/learn?class={code}&controls=off", dark=dark, **PHONE) for dark in (False, True)]
    for step in (PRICE, TRUST):
        for place, phone in enumerate(phones):
            expect(phone.tab.locator("main")).to_contain_text(step.asks())
            button = phone.tab.locator("main button").nth(place)
            button.click()
            expect(button).to_have_attribute("aria-pressed", "true")
            assert phone.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        expect(teacher.tab.get_by_test_id("stMetricValue")).to_have_text("2")
        code_shown = teacher.main().get_by_role("img", name="QR code").bounding_box()
        assert code_shown and code_shown["height"] >= 0.5 * 720
        if step is PRICE:
            teacher.tab.reload()
            expect(teacher.tab.get_by_test_id("stMetricValue")).to_have_text("2")
        asks(teacher)
        teacher.tab.keyboard.press("r")
        bars = teacher.tab.locator(".guesses li")
        expect(bars).to_have_count(3)
        expect(bars.filter(has_text="✓")).to_have_count(1)
        question_and_answer_stand(teacher, step)
        for width, height in SIZES:
            teacher.tab.set_viewport_size({"width": width, "height": height})
            teacher.settle()
            boxes = (
                teacher.main().locator(".guesses i, h1, button, [data-testid=stMetricValue]").locator("visible=true")
            )
            boxes = boxes.evaluate_all("all => all.map(node => node.getBoundingClientRect().toJSON())")
            assert len(boxes) >= 8 and not teacher.tab.evaluate(MEETING, boxes), (step.name, width)
            assert max(box["width"] for box in boxes) >= 0.8 * width
            assert teacher.main().evaluate("main => main.scrollHeight") <= height, (step.name, width)
        value = str(step.measured(step.content(step.slider.start), step.slider.start))
        for phone in phones:
            expect(phone.tab.locator("main")).to_contain_text(f"Measured: {value}")
            expect(phone.tab.locator("main")).to_contain_text(step.so)
        if step is PRICE:
            teacher.tab.keyboard.press("r")
            for width, height in SIZES:
                teacher.tab.set_viewport_size({"width": width, "height": height})
                picture_fills_the_window(teacher, height)
            question_and_answer_stand(teacher, step)
            elsewhere = visits(f"/teach?class={code}&key={key}&controls=off", width=1280)
            expect(elsewhere.tab.locator(".guesses li")).to_have_count(3)
            elsewhere.settle()
            elsewhere.tab.keyboard.press("PageDown")
            teacher.sees(TRUST.title)
    teacher.tab.get_by_role("button", name="End the class").click()
    expect(teacher.tab.get_by_text("The code stops working")).to_be_visible()
    for phone in phones:
        expect(phone.tab.get_by_role("alert")).to_have_count(0)
    teacher.tab.get_by_role("button", name="End it for everyone").click()
    for phone in phones:
        expect(phone.tab.get_by_role("alert")).to_be_visible()


def test_start_explore_learn_and_readme_say_the_same_of_whom_one_trusts(visits: Visits) -> None:
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    prices = re.search(r"by about ([\d.]+) where a curator is trusted and by about ([\d.]+) where no one is", readme)
    losses = re.search(r"with a trusted curator about (\d+), where no one is trusted about (\d+)\.", readme)
    assert prices and losses
    visitor = visits("/")
    for page in ("/", "/explore?preset=trust"):
        visitor.open(page)
        verdict = visitor.main().locator("p", has_text="At ε = 1").first
        expect(verdict).to_contain_text(re.compile(f"about {prices[1]} times.*about {prices[2]} times"))
        lines = visitor.main().locator(".player path[stroke-width='2.5'], .js-plotly-plot .lines path.js-line")
        lines.first.wait_for()
        colours = lines.evaluate_all("lines => lines.map(line => getComputedStyle(line).stroke).filter(Boolean)")
        wanted = [theme.TRUST_COLOURS[level] for level in trust_table.LEVELS]
        shown = [
            f"#{int(r):02x}{int(g):02x}{int(b):02x}" for r, g, b in (re.findall(r"\d+", each)[:3] for each in colours)
        ]
        assert [colour for colour in shown if colour in wanted] == wanted
    visitor.settle()
    free, curator, nobody = (curve[-40:] for curve in visitor.chart().values())
    assert (free <= curator).all() and (curator <= nobody).all()
    visitor.open("/learn?step=6")
    visitor.tab.locator("[class*='st-key-learn-trust-guess-'] button").locator("visible=true").nth(1).click()
    numbers = re.findall(r"lost ([\d.]+) ±", sentence(visitor).inner_text())
    assert [f"{float(each):.0f}" for each in reversed(numbers)] == list(losses.groups())
    price_words = words.unbroken("ε = 1 hiding costs {} times")
    for number, name, said_of in ((4, "learner", "which is {} times"), (5, "price", price_words)):
        visitor.open(f"/learn?step={number}&at=1")
        visitor.tab.locator(f"[class*='st-key-learn-{name}-guess-'] button").locator("visible=true").nth(1).click()
        before, after = said_of.split("{}")
        price = re.search(f"{before}([\\d.]+) ±.*?{after}", sentence(visitor).inner_text())
        assert price and f"{float(price[1]):.1f}" == prices[2]
