"""Where the focus goes on a page, key by key."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from visitor import Visitor

Visits = Callable[..., Visitor]
PHONE = "Mozilla/5.0 (Linux; Android 14) Chrome/140.0 Mobile Safari/537.36"
SMALL = "T=400&n=4"
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


@pytest.mark.parametrize(("page", "width"), [("glossary", 1400), ("explore", 1400)])
def test_tab_goes_in_the_order_of_the_screen_and_is_seen(visits: Visits, page: str, width: int) -> None:
    phone = {"user_agent": PHONE} if width < 500 else {}
    visitor = visits(f"/{page}?{SMALL}", width=width, **phone)
    visitor.tab.locator("h1").wait_for()
    visitor.settle()
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
