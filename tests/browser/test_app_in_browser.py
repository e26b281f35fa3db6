"""What only a browser can show: addresses, keys, live controls, layout, and two visitors at once."""

import re
from collections.abc import Callable

import numpy as np
from playwright.sync_api import expect
from visitor import PHONE, Visitor

Visits = Callable[..., Visitor]
EPSILON = "Privacy budget ε: ← more private · less regret →"
SMALL = "/explore?arms=0.9,0.5&lines=ucb,heldp-ucb-b(2)&T=3000&n=8"
ENDLESS = "/explore?arms=beta(4,1),beta(1.5,1)&lines=ucb,heldp-ucb-l(1)&T=1e7&n=400"
PERCENT = re.compile(r"[1-9]\d?\s?%")


def button(visitor: Visitor, name: str):  # type: ignore[no-untyped-def]
    return visitor.tab.get_by_role("button", name=name, exact=True)


def test_keys_move_the_slider_its_link_shows_the_same_on_a_phone_and_back_returns(visits: Visits) -> None:
    visitor = visits(SMALL)
    before, words = visitor.chart(), visitor.verdict
    visitor.press_on_slider(EPSILON, "ArrowLeft")
    visitor.sees("At ε = 1.5")
    visitor.settle()
    after = visitor.chart()
    assert not np.array_equal(before["● HeLDP-UCB-B"], after["● HeLDP-UCB-B"])
    assert np.array_equal(before["– UCB"], after["– UCB"])
    assert visitor.address["lines"] == "ucb,heldp-ucb-b(1.5)"
    button(visitor, "Copy link").click()
    link = visitor.tab.get_by_test_id("stPopoverBody").locator("code").inner_text()
    assert link.startswith(visitor.server.url + "/explore?")
    phone = visits(link, **PHONE)
    assert phone.verdict == visitor.verdict
    assert phone.address == visitor.address
    theirs = phone.chart()
    assert after.keys() <= theirs.keys()  # there the legend names the edges of the corridor, too
    assert all(np.array_equal(after[name], theirs[name], equal_nan=True) for name in after)
    written = "plot => (plot.layout.annotations ?? []).filter(each => each.text.includes('UCB')).length"
    for each, labels in ((phone, 0), (visitor, 2)):  # on a phone the legend names the curves
        assert each.element("regret-chart").locator(".js-plotly-plot").evaluate(written) == labels
    visitor.tab.keyboard.press("Escape")
    visitor.go_back()
    visitor.sees("At ε = 2")
    visitor.settle()
    assert visitor.address["lines"] == "ucb,heldp-ucb-b(2)"
    assert visitor.verdict == words
    assert np.array_equal(before["● HeLDP-UCB-B"], visitor.chart()["● HeLDP-UCB-B"])


FAR_AWAY = """const Near = window.WebSocket; window.WebSocket = class extends Near {  // a server at a distance
    addEventListener(kind, heard, ...more) {
        super.addEventListener(kind, kind === 'message' ? e => setTimeout(() => heard(e), 700) : heard, ...more) }
    set onmessage(heard) { super.onmessage = e => setTimeout(() => heard(e), 700) } }"""


def test_quick_moves_end_where_the_slider_stands(visits: Visits) -> None:
    """Answers take 0.7 s to the browser, which asks meanwhile with an address of before: that must not move it back."""
    visitor = visits(SMALL, new=True, script=FAR_AWAY)
    knob = visitor.tab.get_by_role("slider", name=EPSILON).first
    for place in range(10):
        knob.press("ArrowRight" if place % 5 == 4 else "ArrowLeft")
        visitor.tab.wait_for_timeout(350)  # a slider waits for a pause before it tells the server
    visitor.settle()
    visitor.tab.wait_for_timeout(1500)  # nothing comes back afterwards
    visitor.settle()
    shown = knob.get_attribute("aria-valuetext")
    assert shown in ("0.1", "0.2", "0.3")
    assert visitor.address["lines"] == f"ucb,heldp-ucb-b({shown})"
    visitor.sees(f"At ε = {shown},")


def test_a_run_leaves_all_alive_and_who_cancels_or_goes_leaves_the_turn_and_what_is_done(visits: Visits) -> None:
    """How much slower changes are during a run is measured in benchmarks/load.py."""
    first = visits(ENDLESS + "&seed=1")
    first.sees("picked the best option")
    assert len(first.chart()) >= 2
    first.sees("8 billion pulls")
    first.sees("A preview")
    second, other = visits(ENDLESS + "&seed=2"), visits(SMALL)
    button(first, "Run").click()
    expect(button(first, "Cancel")).to_be_visible()
    for key, epsilon in (("ArrowLeft", "1.5"), ("ArrowLeft", "1"), ("ArrowRight", "1.5")):
        other.press_on_slider(EPSILON, key)
        other.sees(f"At ε = {epsilon},")
    first.open_controls()
    first.tab.get_by_text("View", exact=True).click()
    # By key: a click may fall beside what moves while the section unfolds.
    first.tab.get_by_role("switch", name="20 sample runs").press("Space")
    first.tab.wait_for_url(re.compile("runs=1"))
    expect(first.main().get_by_test_id("stProgress")).to_contain_text(PERCENT)
    button(second, "Run").click()
    second.sees("waiting for its turn")
    first.leave()
    # Its turn comes only when the server has seen that no one waits for the first run any more.
    expect(second.main().get_by_test_id("stProgress")).to_contain_text(PERCENT)
    button(second, "Cancel").click()
    expect(button(second, "Run")).to_be_visible()
    second.sees("of 400 trials")
    second.settle()
    assert len(second.chart()["– UCB"]) > 100
    other.open(ENDLESS + "&seed=1")
    other.sees("of 400 trials")  # what the first run had finished was kept
    assert len(other.chart()["– UCB"]) > 100
    second.open("/explore?arms=0.9,0.5&lines=ucb&T=1000&n=4")  # controls are alive and the next picture is live
    second.sees("in 1,000 users")


def test_a_page_can_be_embedded(visits: Visits) -> None:
    visitor = visits(SMALL + "&embed=true")
    visitor.sees("picked the best option")
    expect(visitor.tab.get_by_test_id("stMainMenuButton")).to_have_count(0)
    visitor.press_on_slider(EPSILON, "ArrowLeft")
    visitor.sees("At ε = 1.5")
    visitor.settle()
    assert visitor.address["embed"] == "true" and visitor.address["T"] == "3000"
    assert not visitor.main().get_by_test_id("stAlert").count()


def test_everything_is_reached_by_keyboard(visits: Visits) -> None:
    visitor = visits(SMALL)
    visitor.open_controls()
    wanted = ["Add a method", "Arms", "Size", "Copy link", "Reset", "Lab", EPSILON, "Pulls per arm"]
    for _ in range(3):  # while the page is still being built, focus may jump: then from the start again
        visitor.chart()
        visitor.settle()
        visitor.tab.get_by_role("link", name="Skip to main content").focus()
        reached = []
        for _ in range(90):
            visitor.tab.keyboard.press("Tab")
            name = "(e => e.ariaLabel || e.innerText.slice(0, 60))(document.activeElement)"
            reached.append(visitor.tab.evaluate(name))
        places = [next((place for place, name in enumerate(reached) if words in name), None) for words in wanted]
        if None not in places:
            break
        visitor.tab.reload()
    assert None not in places, dict(zip(wanted, places, strict=True))
    assert places == sorted(places)  # in the order in which they stand on the page
    visitor.tab.get_by_role("button", name="Embed link").press("Enter")
    popover = visitor.tab.get_by_test_id("stPopoverBody")
    assert popover.locator("code").inner_text().endswith("&embed=true&controls=off")
    visitor.tab.keyboard.press("Escape")
    expect(popover).to_have_count(0)


def test_a_click_on_a_point_of_the_trade_off_opens_its_curve(visits: Visits) -> None:
    visitor = visits("/tradeoff?arms=0.9,0.5&lines=ucb,heldp-ucb-b(1)&T=2000&n=8")
    points = visitor.tab.locator(".js-plotly-plot .scatterlayer .trace .point")
    box = points.nth(4).bounding_box()
    opacity = points.first.evaluate("point => getComputedStyle(point).opacity")
    assert box is not None
    visitor.tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visitor.sees("Open the curves at ε = 1 in Explore")
    expect(points.first).to_have_css("opacity", opacity)  # what was not clicked does not fade
