"""Links of the picture on the screen: to copy, and to embed in slides or a course page."""

from __future__ import annotations

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core.experiments import links
from ui import menu, state, templates, words

LESSON = {"embed": "true", "controls": "off"}

# Runs when a popover opens. Where a page comes by plain http from another host, only the old way of copying works.
_copy = st.components.v2.component(
    "copy",
    html='<p role="status"></p>',
    css="p{margin:0;font:.875rem var(--st-font);color:var(--st-text-color)}",
    js=templates.text("copy.js"),
)


def base(page: str) -> str:
    """The address of the app, seen from the page with that address."""
    return (st.context.url or "").split("?")[0].rstrip("/").removesuffix(f"/{page}" if page else "").rstrip("/")


def places() -> list[DeltaGenerator]:
    """Copy link and Embed link, side by side, and in each the place for what `panel` writes.

    They stay while the page is drawn: who presses one too early sees the new link come, and has it.
    """
    names = {"Copy link": "The address of this picture.", "Embed link": "The same picture without sidebar and menu."}
    return [
        column.popover(name, width="stretch", help=help).empty()
        for column, (name, help) in zip(st.columns(2), names.items(), strict=True)
    ]


def panel(page: str, to: list[DeltaGenerator], drawn: list[Any]) -> None:
    """The links in their `places`: before the page waits for numbers, and at its end.

    ``drawn`` is what this run of the page has drawn before: the same is not drawn again.
    """
    now, own = state.experiment(), state.own_fields(menu.at(page))
    if drawn[-1:] == [(now, own)]:
        return
    drawn.append((now, own))
    here, key = base(page), len(drawn)
    unread, (left, right) = links.unread(now), (place.container() for place in to)
    if unread:
        for place in (left, right):
            place.warning(
                "**No link opens this picture.** Download the settings file instead.\n" + words.issues(unread)
            )
        return
    with left:
        _copied(links.address(now, here, page, own), f"copy-link-{key}")
        if links.too_long(now):
            st.warning("This link is too long for some programs. Download the settings file instead.")
    with right:
        st.caption("For slides or a course page.")
        _copied(links.address(now, here, page, {**own, **LESSON}), f"copy-embed-{key}")


def _copied(address: str, key: str) -> None:
    """The address, which goes into the clipboard when the popover around it opens."""
    _copy(key=key, data=address)
    st.code(address, language=None, wrap_lines=True)
