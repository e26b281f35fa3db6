"""What Streamlit's browser side does not do by itself: draw the page again when a visitor switches between light and
dark, mark the part of the menu that holds the page, let curves glide and a click choose one, leave the focus with a
control that is drawn anew, scroll when a finger swipes over a chart, print a page whose charts are wider than paper,
and forget the room that was kept for a sidebar."""

from __future__ import annotations

import streamlit as st

from ui import charts, page_fields, stylesheet, theme

_SCRIPTS = charts.SWIPE + stylesheet.asset("curves.js") + stylesheet.asset("theme_watch.js")
_watch = st.components.v2.component("theme_watch", js=_SCRIPTS)
KEY = "theme-watch"


def _choose() -> None:
    """Callback: the box that says whose bounds are drawn says the method whose curve was pressed."""
    number = str(st.session_state[KEY].curve).removeprefix("line-")
    if number.isdecimal():
        page_fields.put("focus", str(int(number) + 1))


def watch(section: str) -> None:
    """Compare what the page was drawn for with what is on the screen; takes no room and no key stops at it.

    ``section`` is the part of the menu that holds the page.
    """
    _watch(
        key=KEY, data={"dark": theme.is_dark(), "section": section}, on_switched_change=lambda: None,
        on_curve_change=_choose,
    )  # fmt: skip
