"""What a visitor sees first: the whole picture without scrolling, and few words."""

from __future__ import annotations

from collections.abc import Callable

from visitor import PHONE, Visitor

from bandit_core.studies import best_by_trust
from ui import theme

Visits = Callable[..., Visitor]


def bottom(visitor: Visitor, found: str) -> float:
    """Where the lowest of what a selector finds ends, in pixels below the top of the window."""
    return visitor.main().locator(found).last.evaluate("node => node.getBoundingClientRect().bottom")


def start_fits(visitor: Visitor, height: int) -> None:
    """Slider, picture and verdict are seen without scrolling, among few words."""
    visitor.main().locator(".js-plotly-plot .main-svg").first.wait_for()
    visitor.settle()
    title, slider = bottom(visitor, "h1"), bottom(visitor, "[data-testid=stSlider]")
    picture, verdict = bottom(visitor, ".js-plotly-plot"), bottom(visitor, "p:has-text('At ε = 1')")
    assert 0 < title < slider < picture < verdict <= height
    first, all_of_it = visitor.words(numbers=False)
    assert 20 < first <= 90 and all_of_it <= 300, (first, all_of_it)


def test_start_shows_slider_picture_and_verdict_on_a_phone(visits: Visits) -> None:
    phone = visits("/", height=844, **PHONE)
    start_fits(phone, 844)


def test_start_shows_all_without_scrolling_and_explore_its_colours_and_curves_that_do_not_cross(visits: Visits) -> None:
    visitor = visits("/", width=1280, height=720)
    start_fits(visitor, 720)
    level = "plot => plot.data.filter(trace => trace.line?.width === 2.5).map(trace => trace.line.color)"
    plot = visitor.main().locator(".js-plotly-plot").first
    colours = plot.evaluate(level)
    visitor.open_page("Explore")
    visitor.element("regret-chart").locator(".main-svg").first.wait_for()
    visitor.settle()
    free, curator, nobody = (curve[-40:] for curve in visitor.chart().values())
    assert (free <= curator).all() and (curator <= nobody).all()
    assert colours == plot.evaluate(level) == [theme.TRUST_COLOURS[level] for level in best_by_trust.LEVELS]
