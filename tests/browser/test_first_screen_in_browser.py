"""What a visitor sees first: the whole picture without scrolling, and few words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from visitor import PHONE, Visitor

from bandit_core.studies import best_by_trust
from ui import theme

Visits = Callable[..., Visitor]
# Words of the page itself: on the screen, and all of them. A word has a letter; numbers at axes are none.
WORDS = r"""() => {
  const main = document.querySelector('[data-testid=stMain]'), counted = {screen: 0, page: 0};
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement, box = parent.getBoundingClientRect();
    if (!box.width || !box.height || parent.closest('[data-testid=stIconMaterial], style, [hidden]')) continue;
    if (getComputedStyle(parent).visibility !== 'visible') continue;
    const words = walker.currentNode.textContent.split(/\s+/).filter(word => /\p{L}/u.test(word)).length;
    counted.page += words;
    if (box.top < innerHeight && box.bottom > 0) counted.screen += words;
  }
  return counted; }"""


def bottom(visitor: Visitor, found: str) -> float:
    """Where the lowest of what a selector finds ends, in pixels below the top of the window."""
    return visitor.main().locator(found).last.evaluate("node => node.getBoundingClientRect().bottom")


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (390, 844)])
def test_start_shows_slider_picture_and_verdict_without_scrolling(visits: Visits, width: int, height: int) -> None:
    visitor = visits("/", **(PHONE if width < 400 else {}))
    visitor.tab.set_viewport_size({"width": width, "height": height})
    visitor.main().locator(".js-plotly-plot .main-svg").first.wait_for()
    visitor.settle()
    title, slider = bottom(visitor, "h1"), bottom(visitor, "[data-testid=stSlider]")
    picture, verdict = bottom(visitor, ".js-plotly-plot"), bottom(visitor, "p:has-text('At ε = 1')")
    assert 0 < title < slider < picture < verdict <= height
    words = visitor.tab.evaluate(WORDS)
    assert words["screen"] <= 90 and words["page"] <= 300, words


@pytest.mark.parametrize(("page", "most"), [("explore", 150)])
def test_the_first_screen_of_a_page_has_few_words(visits: Visits, page: str, most: int) -> None:
    visitor = visits(f"/{page}", width=1400)
    visitor.main().locator(".js-plotly-plot").first.wait_for()
    visitor.settle()
    words = visitor.tab.evaluate(WORDS)
    assert words["screen"] <= most and words["page"] <= 600, words


def test_a_level_of_trust_has_one_colour_on_both_pages_and_its_curves_do_not_cross(visits: Visits) -> None:
    colours = []
    for path in ("/", "/explore"):
        visitor = visits(path)
        plot = visitor.main().locator(".js-plotly-plot").first
        plot.locator(".main-svg").first.wait_for()
        visitor.settle()
        colours.append(plot.evaluate("plot => plot.data.filter(t => t.line?.width === 2.5).map(t => t.line.color)"))
    free, curator, nobody = (curve[-40:] for curve in visitor.chart().values())
    assert (free <= curator).all() and (curator <= nobody).all()
    assert colours[0] == colours[1] == [theme.TRUST_COLOURS[level] for level in best_by_trust.LEVELS]
