"""What Streamlit's browser side does not do by itself: draw the page again when a visitor switches between light and
dark, scroll when a finger swipes over a chart, print a page whose charts are wider than paper, and forget the
room that was kept for a sidebar."""

from __future__ import annotations

import streamlit as st

from ui import charts, theme

# Charts keep the width that they have on the screen, so the page is printed smaller (see `stylesheet`). A sheet of A4
# with narrow margins is 700 pixels wide.
_PAPER = """
addEventListener("beforeprint", () => {
  const widths = [...document.querySelectorAll("[data-testid=stMain] [data-testid=stVerticalBlock]")]
    .map(each => each.clientWidth);
  const charts = document.querySelector("[data-testid=stMain] .js-plotly-plot");
  document.documentElement.style.setProperty("--paper", charts ? Math.min(1, 700 / Math.max(...widths)) : 1);
});
"""

# Asked once for a ground: should the server not believe it, the page is not drawn for ever.
_watch = st.components.v2.component(
    "theme_watch",
    js=charts.SWIPE
    + _PAPER
    + """
let asked = null, timer = null;

export default function ({ parentElement, data, setTriggerValue }) {
  document.getElementById("room")?.remove();
  const look = () => {
    const style = getComputedStyle(parentElement.host ?? parentElement);
    const ground = style.getPropertyValue("--st-background-color").trim();
    if (!/^#[0-9a-f]{6}$/i.test(ground)) return;
    const [red, green, blue] = [1, 3, 5].map(place => parseInt(ground.slice(place, place + 2), 16));
    const dark = 0.299 * red + 0.587 * green + 0.114 * blue < 128;
    if (dark === data.dark) asked = null;
    else if (asked !== ground) setTriggerValue("switched", (asked = ground));
  };
  clearInterval(timer);  // of the run before, which knows the ground of then
  timer = setInterval(look, 300);
  look();
  return () => clearInterval(timer);
}
""",
)


def watch() -> None:
    """Compare what the page was drawn for with what is on the screen; takes no room and no key stops at it."""
    _watch(key="theme-watch", data={"dark": theme.is_dark()}, on_switched_change=lambda: None)
