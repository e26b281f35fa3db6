"""Charts in a real browser: a finger scrolls, a saved page needs no network."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from visitor import HANGS, PHONE, PLOTS, Visitor

from bandit_core import Experiment, simulate
from ui import charts, exports

Visits = Callable[..., Visitor]


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


def test_a_swipe_over_a_chart_scrolls_the_page_and_a_button_zooms(visits: Visits) -> None:
    visitor, key = visits("/explore?T=400&n=4", **PHONE), "regret-chart"
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
    # Where a click of the mouse would show the numbers, a tap does.
    visitor.element(key).locator(".hoverlayer text").first.wait_for()
    visitor.element(key).locator("[data-attr=zoom][data-val=in]").tap()
    visitor.tab.wait_for_timeout(300)
    zoomed = ranges(visitor, key)
    assert all(low < high for low, high in zoomed) and zoomed != whole


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
    tab.set_default_timeout(HANGS)
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(file.as_uri())
    tab.locator(".js-plotly-plot .main-svg").first.wait_for()
    drawn = tab.locator(".js-plotly-plot").evaluate("plot => plot.data.map(trace => trace.name ?? '')")
    assert drawn == [trace.name or "" for trace in figure.data]
    assert set(drawn) >= {trace.name or "" for trace in charts.regret_chart(result).data}
    [look] = tab.evaluate(PLOTS)
    assert look["covered"] == look["legend"] == 0 and look["size"] >= 13 and look["labels"] == 2
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.wait_for_timeout(300)
    [look] = tab.evaluate(PLOTS)
    assert look["covered"] == look["legend"] == look["labels"] == 0 and look["size"] >= 13
    tab.locator(".modebar-btn").first.wait_for()
    assert asked == [file.as_uri()] and errors == []
    context.close()
