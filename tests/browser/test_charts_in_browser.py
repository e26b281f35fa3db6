"""Charts in a real browser: a finger scrolls, buttons cover nothing, words are large, a saved page needs no network."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from visitor import SECONDS, Visitor

from bandit_core import Experiment, simulate
from ui import charts, exports

Visits = Callable[..., Visitor]
SMALL = "T=400&n=4"
# Of every chart that is seen: what its buttons cover, its smallest letters, and how wide labels at curve ends are.
LOOK = """() => [...document.querySelectorAll('.js-plotly-plot')].filter(plot => plot.clientWidth > 0).map(plot => {
  const seen = node => { const box = node.getBoundingClientRect(); return box.width * box.height > 0 };
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const boxes = name => [...plot.querySelectorAll(name)].filter(seen).map(node => node.getBoundingClientRect());
  const words = [...plot.querySelectorAll('.main-svg text')].filter(seen);
  const under = [...boxes('.main-svg text'), ...boxes('.legend'), ...boxes('.nsewdrag')];
  return {
    height: plot.clientHeight,
    bars: boxes('.modebar').length,
    covered: boxes('.modebar-group').flatMap(bar => under.filter(box => meet(bar, box))).length,
    size: Math.min(...words.map(word => parseFloat(getComputedStyle(word).fontSize))),
    legend: boxes('.legend').flatMap(one => [...boxes('.xtitle'), ...boxes('.nsewdrag')].filter(
      box => meet(one, box))).length,
    ends: Math.max(0, ...boxes('.annotation:has([style*="pointer-events: all"])').map(
      box => (box.right - plot.querySelector('.nsewdrag').getBoundingClientRect().right) / plot.clientWidth)),
    labels: boxes('.annotation:has([style*="pointer-events: all"])').length,
    outside: under.filter(box => box.right > plot.getBoundingClientRect().right + 1).length,
  };
})"""


def swipe_up(visitor: Visitor, x: float, y: float, way: float = 200) -> None:
    """A finger that moves up by ``way`` pixels, as the operating system tells the browser."""
    hand = visitor.context.new_cdp_session(visitor.tab)

    def touch(kind: str, *points: dict[str, float]) -> None:
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": list(points)})

    touch("touchStart", {"x": x, "y": y})
    for step in range(1, 11):
        touch("touchMove", {"x": x, "y": y - way * step / 10})
        visitor.tab.wait_for_timeout(16)
    touch("touchEnd")
    visitor.tab.wait_for_timeout(400)


def ranges(visitor: Visitor, key: str) -> list[Any]:
    """What both axes of a chart show."""
    found = visitor.element(key).locator(".js-plotly-plot").evaluate(
        "plot => JSON.stringify([plot._fullLayout.xaxis.range, plot._fullLayout.yaxis.range])"
    )  # fmt: skip
    return list(json.loads(found))


@pytest.mark.parametrize(("page", "key"), [("explore", "regret-chart"), ("tradeoff", "tradeoff-chart")])
def test_a_swipe_over_a_chart_scrolls_the_page_and_a_button_zooms(visits: Visits, page: str, key: str) -> None:
    visitor = visits(f"/{page}?{SMALL}", width=390, has_touch=True, is_mobile=True)
    plot = visitor.element(key).locator(".nsewdrag").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box is not None
    whole = ranges(visitor, key)
    swipe_up(visitor, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    moved = plot.bounding_box()
    assert moved is not None
    assert box["y"] - moved["y"] > 100
    assert ranges(visitor, key) == whole
    visitor.tab.touchscreen.tap(moved["x"] + moved["width"] * 0.9, moved["y"] + moved["height"] / 2)
    if page == "explore":  # where a click of the mouse would show the numbers, a tap does
        visitor.element(key).locator(".hoverlayer text").first.wait_for()
    visitor.element(key).locator("[data-attr=zoom][data-val=in]").tap()
    visitor.tab.wait_for_timeout(300)
    zoomed = ranges(visitor, key)
    assert all(low < high for low, high in zoomed) and zoomed != whole


@pytest.mark.parametrize("page", ["explore", "tradeoff", "contextual", "mechanisms"])
def test_buttons_cover_nothing_and_words_are_large(visits: Visits, page: str) -> None:
    visitor = visits(f"/{page}?{SMALL}", width=1280)
    labels = {}
    for width in (1280, 1024, 390):
        visitor.tab.set_viewport_size({"width": width, "height": 900})
        visitor.main().locator(".js-plotly-plot .main-svg").first.wait_for()
        visitor.tab.wait_for_timeout(SECONDS)  # Streamlit draws anew a moment after the window has changed
        seen = visitor.tab.evaluate(LOOK)
        assert any(chart["bars"] for chart in seen)
        for chart in seen:
            assert chart["covered"] == chart["legend"] == chart["outside"] == 0, (width, chart)
            assert chart["size"] >= 13 and chart["ends"] <= 0.2, (width, chart)
        labels[width] = sum(chart["labels"] for chart in seen)
    assert labels[390] == 0
    assert labels[1280] > 0 or page in ("tradeoff", "mechanisms")


def test_the_downloaded_page_works_without_any_network(chromium: Any, tmp_path: Path) -> None:
    arms = [{"kind": "bernoulli", "mean": 0.9}, {"kind": "bernoulli", "mean": 0.5}]
    lines = [{"policy": "ucb"}, {"policy": "dp-se", "epsilon": {"kind": "fixed", "value": 1.0}}]
    experiment = Experiment.model_validate({"arms": arms, "lines": lines, "horizon": 300, "trials": 3})
    result = simulate(experiment, jobs=1)
    file = tmp_path / "picture.html"
    figure = exports.for_file(result, 640, True)()
    file.write_text(exports.page_of(result, figure), encoding="utf-8")
    context = chromium.new_context(offline=True, viewport={"width": 1000, "height": 800})
    asked: list[str] = []
    errors: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    tab = context.new_page()
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(file.as_uri())
    tab.locator(".js-plotly-plot .main-svg").first.wait_for()
    drawn = tab.locator(".js-plotly-plot").evaluate("plot => plot.data.map(trace => trace.name ?? '')")
    assert drawn == [trace.name or "" for trace in figure.data]
    assert set(drawn) >= {trace.name or "" for trace in charts.regret_chart(result).data}
    [look] = tab.evaluate(LOOK)
    assert look["covered"] == look["legend"] == 0 and look["size"] >= 13 and look["labels"] == 2
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.wait_for_timeout(300)
    [look] = tab.evaluate(LOOK)
    assert look["covered"] == look["legend"] == look["labels"] == 0 and look["size"] >= 13
    tab.locator(".modebar-btn").first.wait_for()
    assert asked == [file.as_uri()] and errors == []
    context.close()
