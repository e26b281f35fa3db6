"""The course walked through as people do: by mouse and by keyboard, wide, on a projector and on a phone."""

import re
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import doors
import pytest
from playwright.sync_api import expect
from visitor import Profiles, Visitor

from ui.learn.course import EXTRAS, STEPS
from ui.teach import view

Visits = Callable[..., Visitor]
TOP_AND_BOTTOM = "plot => { const box = plot.getBoundingClientRect(); return [box.top, box.bottom] }"


def guess_button(visitor: Visitor, name: str):  # type: ignore[no-untyped-def]
    """One that sends a guess: not the help of the slider above it, which is a button too and there before it."""
    return visitor.tab.locator(f"[class*='st-key-learn-{name}-guess-'] button").locator("visible=true").last


def picture_and_sentence(visitor: Visitor) -> None:
    expect(visitor.tab.locator(".player svg text").first).to_be_visible()
    expect(visitor.tab.locator(".player .words b").first).to_be_visible()
    expect(visitor.main().get_by_text(re.compile("^(Right!|Not quite.)$"))).to_be_visible()


def fits(visitor: Visitor, name: str) -> None:
    wide, room = visitor.main().evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert wide <= room, (name, visitor.tab.viewport_size)


def stands(visitor: Visitor, number: int) -> None:
    """A step of the course as one comes to it: nothing on it is wrong."""
    step = STEPS[number - 1]
    expect(visitor.main().locator("h1")).to_contain_text(f"{number}. {step.title}")
    seen = doors.look(visitor)
    assert seen.troubles == seen.page["warnings"] == []


@pytest.mark.parametrize("last", [pytest.param(3, id="some steps"), pytest.param(len(STEPS), id="to the end")])
def test_the_course_is_walked_through_by_keyboard_wide_on_a_projector_and_as_narrow_as_a_phone(
    visits: Visits, last: int
) -> None:
    """The window changes its size at every step."""
    sizes = cycle([{"width": 960, "height": 540}, {"width": 390, "height": 844}, {"width": 1400, "height": 900}])
    visitor = visits("/learn")
    for number, step in enumerate(STEPS[:last], 1):
        stands(visitor, number)
        expect(visitor.tab.locator(".player svg .grid").first).to_be_attached()
        expect(visitor.tab.locator(".player [clip-path] path")).to_have_count(int(step.tips))  # else the axes alone
        guess_button(visitor, step.name).press("Enter")
        picture_and_sentence(visitor)
        expect(visitor.tab.locator(".player rect.guess")).to_have_count(int(step.base is not None))
        expect(visitor.tab.locator(".player [clip-path] path").first).to_be_attached()
        visitor.settle()
        words = visitor.tab.locator(".player .words").first
        before = words.inner_text()
        slider = visitor.tab.get_by_role("slider", name=step.slider.label).first
        slider.press("ArrowLeft")
        expect(words).not_to_have_text(before)
        expect(visitor.tab.locator(".player rect.guess")).to_have_count(0)  # it was a guess for another position
        expect(visitor.tab).to_have_url(re.compile(r"[?&]at="))
        visitor.settle()
        fits(visitor, step.name)
        visitor.tab.set_viewport_size(next(sizes))
        visitor.settle()
        fits(visitor, step.name)
        if number < last:
            visitor.tab.locator("[class*=st-key-learn-next] button").locator("visible=true").first.press("Enter")


@pytest.mark.parametrize("path", ["/?", "/explore?preset=two-treatments&"])
def test_the_picture_of_a_lesson_stands_above_the_fold(visits: Visits, path: str) -> None:
    visitor = visits(f"{path}controls=off", width=960)
    plot = visitor.main().locator(".js-plotly-plot, .player svg")
    for width, height in ((960, 540), (1280, 720)):
        visitor.tab.set_viewport_size({"width": width, "height": height})
        visitor.main().locator(".js-plotly-plot .main-svg, .player svg text").first.wait_for()
        visitor.settle()
        top, bottom = plot.evaluate(TOP_AND_BOTTOM)
        assert top > 0 and bottom <= height, width
        title = visitor.main().locator("h1").bounding_box()
        assert title and title["y"] >= 0, width
        covering = visitor.tab.evaluate("([x, y]) => document.elementFromPoint(x, y).closest('h1') !== null",
                                        [title["x"] + 20, title["y"] + title["height"] / 2])  # fmt: skip
        assert covering, width  # nothing lies over the title
        assert visitor.tab.evaluate("getComputedStyle(document.documentElement).fontSize") == "18px", width


def test_lessons_open_from_a_disk_without_a_network(profiles: Profiles, tmp_path: Path) -> None:
    lessons = (STEPS[1], STEPS[5], EXTRAS[0])
    file = tmp_path / "lessons.html"
    file.write_text(view.page(lessons))
    tab = profiles.new({"offline": True}).tab
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    for width, dark in ((390, False), (1280, True)):
        tab.emulate_media(color_scheme="dark" if dark else "light")
        tab.set_viewport_size({"width": width, "height": 844})
        tab.goto(file.as_uri())
        for step in lessons:
            tab.get_by_role("link", name=step.title).click()
            answer = tab.locator(f"h2#{step.name} ~ details:has(.player)").first
            answer.locator("summary").first.click()
            slider, words = answer.get_by_role("slider", name=step.slider.label), answer.locator(".words")
            assert slider.get_attribute("max") == str(len(step.slider.stops) - 1)
            for key, at in (("End", step.slider.stops[-1]), ("Home", step.slider.stops[0])):
                slider.press(key)
                expect(answer.locator("output")).to_have_text(step.slider.words(at))
                expect(words).to_have_text(step.says(step.content(at), at).replace("**", ""))
            box = answer.locator("svg").bounding_box()
            assert box and box["width"] > 0.6 * min(width, 900) and answer.locator("svg .name, svg text").count() > 8
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
    assert {address.partition(":")[0] for address in asked} <= {"file", "data"}
    tab.context.close()
