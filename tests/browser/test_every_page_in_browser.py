"""Every page as it arrives, wide and on a phone: nothing jumps, keys reach all, light and dark can be read, all fits.

One visit with a wide window and one with a phone answer all of this: opening a page is what a browser test costs.
"""

from collections.abc import Callable
from typing import Any

import doors
import pytest
import ways
from playwright.sync_api import expect
from visitor import PHONE, PLOTS, Visitor

from ui import menu

Visits = Callable[..., Visitor]
MAX_SHIFT = 0.1  # more is felt as a jump: https://web.dev/articles/cls
AS_NEW = (
    "",
    "explore",
    "contextual",
)  # on a phone by a browser that has seen nothing: it builds a page in another order
NO_LABELS = ("tradeoff", "mechanisms")  # at the ends of the curves
WITH_CHARTS = ("explore", "tradeoff", "contextual", "mechanisms")
IN_ALL_WAYS = ("explore", "learn", "your-numbers", "theory", "tradeoff")  # together they have every kind of control
MAX_FIRST, MAX_IN_ALL = 110, 600  # words on a first screen, and of a page of Lab and Reference with its folds closed
DARK_GROUND = "rgb(17, 22, 28)"
# Of what has the focus: its words, whether it is seen, and whether a ring or another mark says so. Arrow keys scroll
# the page itself, and cells of a table are drawn by the table with rings of its own.
FOCUSED = """() => {
  const host = document.activeElement, on = host.shadowRoot?.activeElement ?? host, box = on.getBoundingClientRect();
  const marked = node => node && (getComputedStyle(node).outlineStyle !== 'none'
    || getComputedStyle(node).boxShadow !== 'none' || node.matches('input, textarea'));
  return {
    body: on === document.body,
    own: on.dataset.testid === 'stMain' || !!on.closest('[data-testid=stDataFrame]'),
    name: on.ariaLabel || on.labels?.[0]?.innerText || on.innerText?.slice(0, 40) || on.id,
    part: host.closest('[data-testid=stSidebar]') ? 'sidebar' : host.closest('[data-testid=stHeader]') ? 'menu'
      : host.closest('[data-testid=stMain]') ? 'page' : 'frame',
    top: box.top + (document.querySelector('[data-testid=stMain]')?.scrollTop ?? 0),
    seen: box.width > 0 && box.height > 0 && box.right > 0 && box.left < innerWidth
      && getComputedStyle(on).visibility === 'visible',
    marked: [on, on.parentElement, on.firstElementChild, on.closest('[data-testid=stSliderThumb]')].some(marked),
  } }"""


DRAWN = """() => [...document.querySelectorAll('.js-plotly-plot')].filter(plot => plot.clientWidth > 0).every(
    plot => Math.abs(plot._fullLayout.width - plot.clientWidth) < 1)"""

# Scripts that were asked for only once the page had turned to the server, so that their elements wait for them.
LATE_SCRIPTS = """() => {
    const files = performance.getEntriesByType('resource');
    const turned = files.find(file => file.name.endsWith('/host-config')).startTime;
    return files.filter(file => file.name.endsWith('.js') && file.startTime > turned).map(file => file.name) }"""

SMALL_PRINT = """() => {  // words of less than 12 pixels; exponents of formulas are no words
    const walker = document.createTreeWalker(document.querySelector('[data-testid=stApp]'), NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
        const parent = walker.currentNode.parentElement, box = parent.getBoundingClientRect();
        if (walker.currentNode.textContent.trim() && box.width && box.height && !parent.closest('.katex')
            && parseFloat(getComputedStyle(parent).fontSize) < 12) found.push(walker.currentNode.textContent.trim());
    }
    return found; }"""

# Every visible text whose contrast with what lies behind it is below 4.5 (3 where it is large), as "ratio: text".
# Left out: values on a slider's thumb and numbers on markers (drawn on a ground that no style tells), icons, and
# what is switched off.
FAINT = """() => {
  const SKIPPED = "script,style,noscript,[disabled],[aria-disabled=true],[data-testid=stSlider],.scatterlayer," +
    "[data-testid=stIconMaterial],[data-testid=stStatusWidget]";
  const parse = text => { const m = text.match(/rgba?\\(([^)]+)\\)/); if (!m) return null;
    const [r, g, b, a] = m[1].split(/[ ,\\/]+/).map(Number); return [r, g, b, a === undefined ? 1 : a]; };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat([1]);
  const ground = element => { const layers = [];
    for (let e = element; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
      if (c && c[3] > 0) { layers.push(c); if (c[3] === 1) break; } }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]); };
  const light = c => { const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92
    : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const found = []; let seen = 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement, words = walker.currentNode.textContent.trim();
    if (!words || e.closest(SKIPPED) || (e.closest(".annotation") && /^\\d$/.test(words))) continue;
    if (!e.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const box = e.getBoundingClientRect(); if (box.width < 2 || box.height < 2) continue;
    const style = getComputedStyle(e), svg = e instanceof SVGElement, colour = parse(svg ? style.fill : style.color);
    if (!colour) continue;
    let opacity = svg ? +style.fillOpacity : 1;
    for (let p = e; p; p = p.parentElement) opacity *= +getComputedStyle(p).opacity;
    const behind = ground(e), shown = over([...colour.slice(0, 3), colour[3] * opacity], behind);
    const [a, b] = [light(shown), light(behind)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
    seen += 1;
    if (ratio < (large ? 3 : 4.5)) found.push(ratio.toFixed(2) + ": " + words.slice(0, 40));
  }
  return [seen, found];
}"""


def walked(visitor: Visitor, most: int) -> list[dict[str, Any]]:
    """Where the focus stands after each press of Tab, until it leaves the page, begins anew, or after the last."""
    places: list[dict[str, Any]] = []
    for _ in range(most):
        visitor.tab.keyboard.press("Tab")
        place = visitor.tab.evaluate(FOCUSED)
        if place["body"] or place["name"] in [first["name"] for first in places[:1]]:
            break
        if not place["own"]:
            places.append(place)
    return places


def arrived(visits: Visits, page: str, **options: Any) -> Visitor:
    """A visitor for whom nothing moved while the page was built."""
    for again in (True, False):  # the first may compile, and a machine that pauses moves things
        visitor = visits(f"/{page}", **options)
        found = visitor.shifts()
        if sum(each["value"] for each in found) < MAX_SHIFT or not again:
            break
    assert sum(each["value"] for each in found) < MAX_SHIFT, found
    return visitor


def keys_go_in_order(visitor: Visitor, with_sidebar: bool, most: int = 150) -> None:
    """Tab reaches sidebar, menu and page, in this order; all that has the focus is seen and marked."""
    places = walked(visitor, most)
    assert [place for place in places if not (place["seen"] and place["marked"])] == []
    assert len({(place["name"], place["top"]) for place in places}) > max(5, len(places) / 2)  # no trap
    parts = list(dict.fromkeys(place["part"] for place in places if place["part"] != "frame"))
    assert parts == ["sidebar"] * with_sidebar + ["menu", "page"]


def contrast_suffices(visitor: Visitor, dark: bool) -> None:
    """No text is too faint, once the colours of a new ground have arrived one after the other."""
    visitor.tab.emulate_media(color_scheme="dark" if dark else "light")
    for _ in range(40):
        ground = visitor.tab.get_by_test_id("stApp").evaluate("app => getComputedStyle(app).backgroundColor")
        seen, faint = visitor.tab.evaluate(FAINT)
        if not faint and (ground == DARK_GROUND) == dark:
            break
        visitor.tab.wait_for_timeout(250)
    assert (ground == DARK_GROUND) == dark
    assert seen > 10 and faint == []


def all_fits(visitor: Visitor, width: int) -> None:
    """Nothing is wider than the window, or smaller than one can read."""
    visitor.settle()
    wide, room = visitor.main().evaluate("main => [main.scrollWidth, main.clientWidth]")
    assert wide <= room, width
    assert visitor.tab.evaluate("document.documentElement.scrollWidth") <= width
    assert visitor.tab.evaluate(SMALL_PRINT) == [], width


def charts_are_clear(visitor: Visitor, width: int) -> int:
    """Buttons and legends of charts cover nothing, letters are large; returns the number of labels at curves' ends."""
    visitor.tab.wait_for_function(DRAWN)  # Streamlit draws anew a moment after the window has changed
    seen = visitor.tab.evaluate(PLOTS)
    assert any(chart["bars"] for chart in seen)
    for chart in seen:
        assert chart["covered"] == chart["legend"] == chart["outside"] == 0, (width, chart)
        assert chart["size"] >= 13 and chart["ends"] <= 0.2, (width, chart)
    return sum(chart["labels"] for chart in seen)


def few_words_before_somebody_asks(visitor: Visitor, stated: menu.Page, width: int, height: int) -> None:
    """On the first screen of a page, and on the whole one of Lab and Reference with its folds closed."""
    if stated.name == "glossary":
        return
    visitor.tab.set_viewport_size({"width": width, "height": height})
    visitor.settle()
    first, all_of_it = visitor.words(numbers=False)
    assert 20 < first <= MAX_FIRST, first
    assert not stated.section or all_of_it <= MAX_IN_ALL, all_of_it


def bottom(visitor: Visitor, found: str) -> float:
    """Where the lowest of what a selector finds ends, in pixels below the top of the window."""
    return visitor.main().locator(found).last.evaluate("node => node.getBoundingClientRect().bottom")


def the_menu_marks_the_page(visitor: Visitor, stated: menu.Page) -> None:
    """The entry in its drop-down is said and shown to be the page that is open."""
    visitor.tab.get_by_test_id("stHeader").get_by_role("button", name=stated.section).click()
    entry = visitor.tab.locator("[role=menu] a[aria-current=page]")
    expect(entry).to_contain_text(stated.title)
    expect(entry.locator("p")).to_have_css("text-decoration-line", "underline")
    visitor.tab.keyboard.press("Escape")
    expect(entry).to_have_count(0)


def start_fits(visitor: Visitor, width: int, height: int) -> None:
    """Slider, picture and verdict are seen without scrolling, among few words."""
    visitor.tab.set_viewport_size({"width": width, "height": height})
    visitor.tab.wait_for_function(DRAWN)
    visitor.settle()
    visitor.main().evaluate("main => main.scrollTo(0, 0)")  # keys have been down the page
    title, slider = bottom(visitor, "h1"), bottom(visitor, ".player input")
    picture, verdict = bottom(visitor, ".player svg"), bottom(visitor, "p:has-text('At ε = 1')")
    assert 0 < title < slider < picture < verdict <= height
    first, all_of_it = visitor.words(numbers=False)
    assert 20 < first <= 90 and all_of_it <= 300, (first, all_of_it)


def five_columns_with_their_costs_are_one_screen(visitor: Visitor) -> None:
    """Whom to trust has slider, verdict and who sees what on the first screen, with a bar of its cost under each."""
    visitor.tab.set_viewport_size({"width": 1280, "height": 720})
    visitor.main().evaluate("main => main.scrollTo(0, 0)")
    columns = visitor.main().locator("img[alt*='loses']")
    expect(columns).to_have_count(5)
    assert 0 < bottom(visitor, "[data-testid=stSlider]") < bottom(visitor, "img[alt*='loses']") <= 720


def a_screen_reader_is_told(visitor: Visitor) -> None:
    """Every chart and picture says what it is; the language and our own icon are stated."""
    assert visitor.tab.get_by_test_id("stException").count() == 0
    for chart in visitor.main().get_by_test_id("stPlotlyChart").all():
        assert chart.get_attribute("role") == "figure" and len(chart.get_attribute("aria-label") or "") > 30
    assert visitor.main().locator("img:not([alt]), img[alt='']").count() == 0
    assert visitor.tab.locator("html").get_attribute("lang") == "en"
    icon = visitor.tab.locator("link[rel~=icon]").first
    assert icon.evaluate("e => new URL(e.href).origin") == visitor.server.url
    assert "/media/" in icon.get_attribute("href")  # ours, not the one that Streamlit brings along


@pytest.mark.parametrize("page", [page.address for page in menu.pages()])
def test_a_page_arrives_still_and_is_reached_read_and_seen_by_everybody(visits: Visits, page: str) -> None:
    visitor = arrived(visits, page, width=1400)
    seen = doors.look(visitor, f"/{page}")
    assert seen.troubles + seen.page["warnings"] == []
    expect(visitor.tab).to_have_title(f"{menu.at(page).title} · Private Bandit Lab")
    few_words_before_somebody_asks(visitor, menu.at(page), 1280, 720)
    if page == "explore":
        assert visitor.tab.evaluate(LATE_SCRIPTS) == []
    if page == "trust":
        five_columns_with_their_costs_are_one_screen(visitor)
    keys_go_in_order(visitor, bool(menu.at(page).sidebar), 150 if page in IN_ALL_WAYS else 50)
    if menu.at(page).section:
        the_menu_marks_the_page(visitor, menu.at(page))
    a_screen_reader_is_told(visitor)
    for width, dark in ((1400, False), (1024, True)):
        visitor.tab.set_viewport_size({"width": width, "height": 900})
        contrast_suffices(visitor, dark)
        all_fits(visitor, width)
        if page in WITH_CHARTS:
            labels = charts_are_clear(visitor, width)
            assert labels > 0 or width < 1400 or page in NO_LABELS
    if not page:
        start_fits(visitor, 1280, 720)
    if page in IN_ALL_WAYS:
        visitor.tab.set_viewport_size({"width": 1400, "height": 900})
        ways.every_control_is_seen(visitor, menu.at(page))


@pytest.mark.parametrize("page", [page.address for page in menu.pages()])
def test_a_page_arrives_still_on_a_phone_and_fits_and_is_reached_by_keys(visits: Visits, page: str) -> None:
    phone = arrived(visits, page, new=page in AS_NEW, **PHONE)
    few_words_before_somebody_asks(phone, menu.at(page), 390, 844)
    if page in IN_ALL_WAYS:
        keys_go_in_order(phone, with_sidebar=False)  # folded, it is passed over
    all_fits(phone, 390)
    if page in WITH_CHARTS:
        assert charts_are_clear(phone, 390) == 0
    if not page:
        start_fits(phone, 390, 844)
    if page in IN_ALL_WAYS:
        ways.a_finger_meets_every_control(phone)
