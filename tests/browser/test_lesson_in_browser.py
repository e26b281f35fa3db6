"""A lesson opens from a disk, without a network, and shows at every position what the engine computes there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from visitor import HANGS

from bandit_core import Experiment, simulate
from bandit_core.experiments import links
from bandit_core.export.page import EPSILONS, MAX_BYTES, Positions, as_html, marked_up, page
from bandit_core.simulation.results import split, summaries, with_companions
from bandit_core.simulation.sentences import verdict
from bandit_core.spec.number_text import with_error
from bandit_core.studies.sweep import at_budget

EXPERIMENT = Experiment.model_validate(
    {
        "arms": [{"kind": "bernoulli", "mean": mean} for mean in (0.9, 0.6)],
        "lines": [
            {"policy": "ucb"},
            {"policy": "heldp-ucb-b", "epsilon": {"kind": "fixed", "value": 1}, "label": 'half <b> & "whole"'},
            {"policy": "adap-ucb", "epsilon": {"kind": "fixed", "value": 1}},
        ],
        "horizon": 500,
        "trials": 5,
    }
)


class Opened:
    """A lesson in a browser that has no network; what it asked for is noted."""

    def __init__(self, chromium: Any, path: Path, width: int, dark: bool, **options: Any) -> None:
        scheme = "dark" if dark else "light"
        self.context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        self.context.set_offline(True)
        self.asked: list[str] = []
        self.troubles: list[str] = []
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.tab: Page = self.context.new_page()
        self.tab.set_default_timeout(HANGS)
        self.tab.on("console", lambda message: self.troubles.append(message.text))
        self.tab.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.address = path.as_uri()
        self.tab.goto(self.address)
        self.slider = self.tab.get_by_role("slider")

    def move_to(self, place: int) -> None:
        """Drag the slider by the mouse to that place."""
        box, last = self.slider.bounding_box(), int(self.slider.get_attribute("max") or 0)
        assert box
        thumb = 16  # its middle stays half of it inside the ends
        mouse, middle = self.tab.mouse, box["y"] + box["height"] / 2
        now = int(self.slider.input_value())
        at = [box["x"] + thumb / 2 + (box["width"] - thumb) * each / last for each in (now, place)]
        mouse.move(at[0], middle)
        mouse.down()
        mouse.move(at[1], middle, steps=3)
        mouse.up()

    @property
    def rows(self) -> list[list[str]]:
        """The numbers of the table, as shown."""
        return [
            [text.strip() for text in row.locator("th, td").all_inner_texts()]
            for row in self.tab.locator("tbody tr").all()
        ]


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory, kernels_compiled: None) -> Path:
    path = tmp_path_factory.mktemp("lesson") / "lesson.html"
    positions = Positions(EXPERIMENT)
    path.write_text(page(positions, positions.run(1), base="https://lab.example.org"), encoding="utf-8")
    return path


@pytest.fixture
def opened(chromium: Any) -> Iterator[Any]:
    found: list[Opened] = []

    def open_it(path: Path, width: int = 1400, dark: bool = False, **options: Any) -> Opened:
        found.append(Opened(chromium, path, width, dark, **options))
        return found[-1]

    yield open_it
    for each in found:
        each.context.close()
        assert each.asked == [each.address] and each.troubles == []


def expected(epsilon: float) -> tuple[list[list[str]], str]:
    """Rows and sentence of one position, from a simulation of its own."""
    here = at_budget(EXPERIMENT, epsilon)
    result = split(simulate(with_companions(here), jobs=1), here)
    rows = []
    for row in summaries(result):
        price = with_error(row.price, row.price_stderr) + f" × {row.against.label}" if row.against else "–"
        rows.append([row.label, with_error(row.regret, row.stderr), price])
    return rows, marked_up(verdict(result, as_html))


def same(shown: list[list[str]], rows: list[list[str]]) -> bool:
    """Whether the table shows these rows, each behind the sign of its trust model."""
    return [[label.lstrip("●■–").strip(), *numbers] for label, *numbers in shown] == rows


@pytest.mark.parametrize(("width", "dark"), [(1400, False), (390, True)])
def test_a_dragged_slider_shows_the_engines_numbers(opened, lesson, width, dark):
    seen = opened(lesson, width, dark)
    for place in (0, len(EPSILONS) - 1, 3):
        seen.move_to(place)
        assert seen.slider.input_value() == str(place)
        rows, sentence = expected(EPSILONS[place])
        assert same(seen.rows, rows)
        assert seen.tab.locator("#sentence").inner_html() == seen.tab.evaluate(
            "text => { const made = document.createElement('p'); made.innerHTML = text; return made.innerHTML }",
            sentence,
        )
        assert seen.tab.locator("#value").inner_text() == f"ε = {EPSILONS[place]:g}"
    assert seen.tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    ground = seen.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(17, 22, 28)" if dark else "rgb(255, 255, 255)")


def test_it_is_used_by_keyboard_and_told_to_screen_readers(opened, lesson):
    seen = opened(lesson)
    seen.tab.keyboard.press("Tab")
    assert seen.tab.evaluate("document.activeElement.id") == "slider"
    first = seen.tab.get_by_role("img").first.get_attribute("aria-label")
    seen.tab.keyboard.press("Home")
    seen.tab.keyboard.press("ArrowRight")
    rows, _ = expected(EPSILONS[1])
    text = seen.slider.get_attribute("aria-valuetext") or ""
    assert text == f"ε = {EPSILONS[1]:g}. {seen.tab.locator('#sentence').inner_text()}"
    picture = seen.tab.get_by_role("img").first.get_attribute("aria-label") or ""
    assert picture != first and all(label in picture and regret in picture for label, regret, _ in rows)
    back = seen.tab.locator("#back").get_attribute("href") or ""
    assert back.startswith("https://lab.example.org/explore?") and "(0.1" in back


def test_a_swipe_over_the_picture_moves_the_slider(opened, lesson):
    seen = opened(lesson, 390, has_touch=True)
    start = int(seen.slider.input_value())
    box = seen.tab.locator("#users svg").bounding_box()
    session = seen.context.new_cdp_session(seen.tab)
    top = box["y"] + box["height"] / 2

    def touch(kind: str, left: float | None) -> None:
        points = [] if left is None else [{"x": left, "y": top}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 150)
    for left in range(155, 260, 5):
        touch("touchMove", left)
    touch("touchEnd", None)
    assert int(seen.slider.input_value()) > start


def test_the_scale_is_the_same_everywhere_until_it_is_let_free(opened, lesson):
    seen = opened(lesson)

    def ticks() -> list[str]:
        return seen.tab.locator("#users svg text[text-anchor=end]").all_text_contents()

    seen.move_to(0)
    strict = ticks()
    seen.move_to(len(EPSILONS) - 1)
    assert ticks() == strict
    seen.tab.get_by_role("checkbox").uncheck()
    assert ticks() != strict


def test_the_page_makes_the_file_behind_its_button(visits, opened, tmp_path):
    unnamed = [{"policy": line.policy, "epsilon": line.epsilon} for line in EXPERIMENT.lines]
    visitor = visits(links.address(EXPERIMENT.with_changes(lines=unnamed), base=""))
    visitor.tab.get_by_role("radio", name="Download").click()
    visitor.settle()  # a button that is drawn anew between press and release hears neither
    visitor.tab.get_by_role("button", name="Download as an offline lesson (HTML)").click()
    save = visitor.tab.get_by_role("button", name="Save the lesson (HTML)")
    expect(save).to_be_visible()
    with visitor.tab.expect_download() as waiting:
        save.click()
    path = tmp_path / "lesson.html"
    waiting.value.save_as(path)
    assert path.stat().st_size < MAX_BYTES
    seen = opened(path)
    seen.move_to(2)
    rows, _ = expected(EPSILONS[2])
    assert [row[1] for row in seen.rows] == [row[1] for row in rows]
