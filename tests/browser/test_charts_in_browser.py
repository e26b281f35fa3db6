"""Charts in a real browser: a finger scrolls, a saved page needs no network."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import expect
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


# Height at which the curve of each method ends: as it is seen, and where it will rest.
ENDS = r"""() => [...document.querySelectorAll('.st-key-regret-chart .trace')]
  .filter(each => each.querySelector('.point'))
  .map(each => each.querySelector('.js-line'))
  .map(path => [getComputedStyle(path).d, path.getAttribute('d')].map(d => +d.match(/(-?[\d.]+)["')]*$/)[1]))"""
MOVING = """() => document.getAnimations()
  .filter(each => !(each instanceof CSSTransition) && each.effect.target?.matches('.st-key-regret-chart path'))
  .map(each => each.currentTime)"""


def test_curves_glide_to_their_new_places_after_the_slider_rests(visits: Visits) -> None:
    visitor = visits("/explore?preset=with-bounds&T=1e4&n=4")
    visitor.chart()
    visitor.settle()
    before = visitor.tab.evaluate(ENDS)
    hand = visitor.context.new_cdp_session(visitor.tab)
    hand.send("Animation.enable")
    hand.send("Animation.setPlaybackRate", {"playbackRate": 0.02})
    slider = visitor.main().get_by_role("slider", name="Privacy budget")
    slider.press("Home")
    visitor.tab.wait_for_function(f"() => ({MOVING})().some(time => time > 100)")
    between = visitor.tab.evaluate(ENDS)
    hand.send("Animation.setPlaybackRate", {"playbackRate": 1})
    visitor.tab.wait_for_function(f"() => ({MOVING})().length === 0")
    after = visitor.tab.evaluate(ENDS)
    assert all(abs(seen - rests) < 0.1 for seen, rests in [*before, *after])
    low, high = sorted([before[0][0], after[0][0]])
    assert low + 1 < between[0][0] < high - 1 and abs(between[0][1] - after[0][1]) < 0.1
    visitor.tab.emulate_media(reduced_motion="reduce")
    slider.press("End")
    visitor.tab.wait_for_function(f"before => ({ENDS})()[0]?.[1] !== before", arg=after[0][1])
    assert visitor.tab.evaluate(MOVING) == []


def test_a_click_on_a_curve_or_its_name_moves_the_bounds_to_it(visits: Visits) -> None:
    visitor = visits("/explore?preset=with-bounds&T=1e4&n=4")
    visitor.chart()
    box, words = visitor.element("focus").get_by_role("combobox"), visitor.main()
    expect(box).to_have_value("Bounds of HeLDP-UCB-B")
    visitor.element("regret-chart").locator(".annotation").get_by_text("UCB", exact=True).click()
    expect(box).to_have_value("Bounds of UCB")
    expect(words).to_contain_text("UCB has lost")
    assert visitor.address["focus"] == "1"
    visitor.tab.wait_for_function(f"() => ({MOVING})().length === 0")
    x, y = visitor.tab.evaluate("""() => {
        const chart = document.querySelector('.st-key-regret-chart'), area = chart.querySelector('.nsewdrag');
        const curve = [...chart.querySelectorAll('.trace')].filter(each => each.querySelector('.point'))[1];
        const path = curve.querySelector('.js-line'), end = path.getPointAtLength(path.getTotalLength() * .97);
        const {left, top} = area.getBoundingClientRect();
        return [left + end.x, top + end.y - 2]; }""")
    visitor.tab.mouse.click(x, y)
    expect(box).to_have_value("Bounds of HeLDP-UCB-B")
    expect(words).to_contain_text("HeLDP-UCB-B has lost")


def test_arms_are_bars_that_hand_and_keys_move(visits: Visits) -> None:
    visitor = visits("/explore?arms=0.9,0.5x3&T=400&n=4")
    before, text = visitor.chart(), visitor.tab.get_by_role("textbox", name="Arms")
    bar = visitor.tab.get_by_role("slider", name="Mean of arm 2, for 3 equal arms")
    expect(bar).to_have_attribute("aria-valuetext", "0.50")
    bar.press("PageUp")
    expect(text).to_have_value("0.9, 0.6 x3")
    box = bar.locator("span").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"]
    visitor.tab.mouse.move(x, y + 0.4 * box["height"])
    visitor.tab.mouse.down()
    visitor.tab.mouse.move(x, y + 0.75 * box["height"], steps=3)
    expect(bar).to_have_attribute("aria-valuetext", "0.25")
    assert text.input_value() == "0.9, 0.6 x3"  # the server hears where it rests
    visitor.tab.mouse.up()
    expect(text).to_have_value("0.9, 0.25 x3")
    visitor.settle()
    assert visitor.address["arms"] == "0.9,0.25x3" and visitor.chart().keys() == before.keys()
    text.fill("0.9, 0.8, 0.7")
    text.press("Control+Enter")
    expect(visitor.tab.get_by_role("slider", name="Mean of arm")).to_have_count(3)
    text.fill("0.031, 0.035")
    text.press("Control+Enter")
    expect(visitor.tab.get_by_role("slider", name="Mean of arm 1")).to_have_attribute("aria-valuetext", "0.031")
    text.fill("gaussian(0.5, 1), 0.7")
    text.press("Control+Enter")
    expect(visitor.tab.get_by_role("slider", name="Mean of arm")).to_have_count(0)


WHERE = """plot => {  // on the screen: the point of V_B that is nearest to a threshold of 1.5
  const curve = plot.data.findIndex(each => (each.name || '').startsWith('V_B')), layout = plot._fullLayout;
  const distance = point => Math.abs(point.x - 1.5);
  const point = plot.calcdata[curve].reduce((one, other) => (distance(other) < distance(one) ? other : one));
  const box = plot.getBoundingClientRect();
  return [box.x + layout.xaxis._offset + layout.xaxis.c2p(point.x),
    box.y + layout.yaxis2._offset + layout.yaxis2.c2p(point.y), point.x];
}"""


def test_a_click_on_a_curve_moves_the_threshold_and_keys_move_it_on(visits: Visits) -> None:
    visitor = visits("/threshold")
    plot = visitor.element("cost").locator(".js-plotly-plot")
    plot.locator(".main-svg").first.wait_for()
    x, y, threshold = plot.evaluate(WHERE)
    visitor.tab.mouse.move(x, y)
    plot.locator(".hoverlayer .hovertext").first.wait_for()
    visitor.tab.mouse.click(x, y)
    visitor.sees(f"ε_min = {threshold:.3g} keeps")
    visitor.settle()
    assert float(visitor.address["min"]) == float(f"{threshold:.3g}")
    visitor.press_on_slider("Threshold", "ArrowRight")
    expect(visitor.main()).not_to_contain_text(f"ε_min = {threshold:.3g} keeps")
    assert float(visitor.address["min"]) > threshold


def test_a_box_shows_the_new_names_of_what_it_offers(visits: Visits) -> None:
    visitor = visits('/explore?lines=ucb,heldp-ucb-b(1,label="local {epsilon}")&T=400&n=4&bounds=1')
    box = visitor.element("focus").get_by_role("combobox")
    expect(box).to_have_value("Bounds of local ε = 1")
    visitor.main().get_by_role("slider", name="Privacy budget").press("ArrowRight")
    expect(box).not_to_have_value("Bounds of local ε = 1")
    assert (box.input_value() or "").startswith("Bounds of local ε = 1.")


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
