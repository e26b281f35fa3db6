"""What moves on a page while it comes, and where the focus goes from there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from visitor import Visitor

from ui import menu

Visits = Callable[..., Visitor]
PHONE = "Mozilla/5.0 (Linux; Android 14) Chrome/140.0 Mobile Safari/537.36"
SMALL = "T=400&n=4"
MOST_SHIFT = 0.1  # cumulative layout shift, as the web's guidelines call it good
# A wide sidebar that opens moves an empty page: Streamlit knows of it only when the server has answered.
SHIFTS = """window.shifts = 0;
new PerformanceObserver(list => { for (const entry of list.getEntries()) {
  const words = entry.sources.some(source => source.node?.textContent?.trim());
  if (words && !entry.hadRecentInput && document.querySelector('h1')) window.shifts += entry.value } }
).observe({ type: 'layout-shift', buffered: true });"""
# Of what has the focus: its words, whether it is seen, and whether a ring or another mark says so.
FOCUSED = """() => {
  const on = document.activeElement, box = on.getBoundingClientRect();
  const marked = node => node && (getComputedStyle(node).outlineStyle !== 'none'
    || getComputedStyle(node).boxShadow !== 'none' || node.matches('input, textarea'));
  return {
    body: on === document.body,
    scroller: on.dataset.testid === 'stMain',
    name: on.ariaLabel || on.innerText?.slice(0, 40) || on.id,
    part: on.closest('[data-testid=stSidebar]') ? 'sidebar' : on.closest('.st-key-menu, .st-key-pages') ? 'menu'
      : on.closest('[data-testid=stMain]') ? 'page' : 'frame',
    top: box.top + (document.querySelector('[data-testid=stMain]')?.scrollTop ?? 0),
    seen: box.width > 0 && box.height > 0 && box.right > 0 && box.left < innerWidth
      && getComputedStyle(on).visibility === 'visible',
    marked: [on, on.parentElement, on.firstElementChild, on.closest('[data-testid=stSliderThumb]')].some(marked),
  } }"""


def opened(visits: Visits, page: menu.Page, width: int) -> Visitor:
    """A visitor of a small experiment there."""
    phone = {"user_agent": PHONE} if width < 500 else {}
    visitor = visits("/glossary", width=width, **phone)
    visitor.tab.add_init_script(SHIFTS)
    visitor.open(f"/{page.address}?{SMALL if page.sidebar else ''}")
    visitor.tab.locator("h1").wait_for()
    visitor.settle()
    return visitor


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("page", menu.pages(), ids=lambda page: page.name)
def test_a_page_stands_still_and_is_walked_through_by_tab(visits: Visits, page: menu.Page, width: int) -> None:
    visitor = opened(visits, page, width)
    assert visitor.tab.evaluate("window.shifts") < MOST_SHIFT
    places = []
    for _ in range(80):
        visitor.tab.keyboard.press("Tab")
        place = visitor.tab.evaluate(FOCUSED)
        if place["body"]:
            break
        if not place["scroller"]:  # arrow keys scroll there
            places.append(place)
    assert len(places) > 5 and [place for place in places if not (place["seen"] and place["marked"])] == []
    assert len({(place["name"], place["top"]) for place in places}) > len(places) / 2  # no trap
    parts = list(dict.fromkeys(place["part"] for place in places if place["part"] != "frame"))
    assert parts == [part for part in ("sidebar", "menu", "page") if part in parts]
