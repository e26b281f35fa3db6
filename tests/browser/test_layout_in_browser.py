"""What stands still while a page arrives, and where the focus goes on it, key by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from visitor import Visitor

from ui import menu

Visits = Callable[..., Visitor]
PHONE = "Mozilla/5.0 (Linux; Android 14) Chrome/140.0 Mobile Safari/537.36"
MOST_SHIFT = 0.1  # more is felt as a jump: https://web.dev/articles/cls
# Of what has the focus: its words, whether it is seen, and whether a ring or another mark says so. Arrow keys scroll
# the page itself, and cells of a table are drawn by the table with rings of its own.
FOCUSED = """() => {
  const on = document.activeElement, box = on.getBoundingClientRect();
  const marked = node => node && (getComputedStyle(node).outlineStyle !== 'none'
    || getComputedStyle(node).boxShadow !== 'none' || node.matches('input, textarea'));
  return {
    body: on === document.body,
    own: on.dataset.testid === 'stMain' || !!on.closest('[data-testid=stDataFrame]'),
    name: on.ariaLabel || on.innerText?.slice(0, 40) || on.id,
    part: on.closest('[data-testid=stSidebar]') ? 'sidebar' : on.closest('.st-key-menu, .st-key-pages') ? 'menu'
      : on.closest('[data-testid=stMain]') ? 'page' : 'frame',
    top: box.top + (document.querySelector('[data-testid=stMain]')?.scrollTop ?? 0),
    seen: box.width > 0 && box.height > 0 && box.right > 0 && box.left < innerWidth
      && getComputedStyle(on).visibility === 'visible',
    marked: [on, on.parentElement, on.firstElementChild, on.closest('[data-testid=stSliderThumb]')].some(marked),
  } }"""


def walked(visitor: Visitor) -> list[dict[str, Any]]:
    """Where the focus stands after each press of Tab, until it leaves the page or begins anew."""
    places: list[dict[str, Any]] = []
    for _ in range(150):
        visitor.tab.keyboard.press("Tab")
        place = visitor.tab.evaluate(FOCUSED)
        if place["body"] or place["name"] in [first["name"] for first in places[:1]]:
            break
        if not place["own"]:
            places.append(place)
    return places


@pytest.mark.parametrize("page", [page.address for page in menu.pages()])
def test_nothing_jumps_while_a_page_arrives_and_tab_goes_in_its_order(visits: Visits, page: str) -> None:
    for width, who in ((1400, {}), (390, {"user_agent": PHONE, "has_touch": True, "is_mobile": True})):
        for again in (True, True, False):  # the first may compile, and a machine that pauses moves things
            visitor = visits(f"/{page}", width=width, new=width < 1000, **who)  # cached pages build up in another order
            found = visitor.shifts()
            if not again or sum(each["value"] for each in found) < MOST_SHIFT:
                break
        assert sum(each["value"] for each in found) < MOST_SHIFT, (width, found)
        places = walked(visitor)
        assert [place for place in places if not (place["seen"] and place["marked"])] == []
        assert len({(place["name"], place["top"]) for place in places}) > max(5, len(places) / 2)  # no trap
        parts = list(dict.fromkeys(place["part"] for place in places if place["part"] != "frame"))
        with_sidebar = bool(menu.at(page).sidebar) and width > 767  # folded, it is passed over
        assert parts == ["sidebar"] * with_sidebar + ["menu", "page"]
