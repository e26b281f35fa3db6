"""The menu at the top of every page: all pages by what people come for, none hidden; on a phone behind one button.

The browser gets one of the two.
"""

from __future__ import annotations

from difflib import get_close_matches
from urllib.parse import unquote, urlsplit

import streamlit as st

from ui import menu, page_links, theme, words


def _room(title: str) -> int:
    """Pixels that are kept for a link until its words are drawn, so that its neighbours stand still."""
    return max(54, 18 + 7 * len(title))


def _room_of_name(name: str) -> int:
    """The same for the name of a group."""
    return 4 + 7 * len(name)


def draw() -> None:
    """The links as a bar; on a phone a button that opens them."""
    groups = [(group, [page for page in menu.pages() if page.group == group]) for group in menu.GROUPS]
    if theme.is_phone():
        with st.container(key="pages"), st.popover("Pages", icon=":material/menu:"):
            for group, pages in groups:
                st.caption(menu.GROUPS[group])
                for page in pages:
                    st.page_link(page_links.to(page.name))
        return
    with st.container(key="menu", horizontal=True):  # gaps by its own words: a style sheet comes later
        for group, pages in groups:
            name = menu.GROUPS[group]
            room = _room_of_name(name) + sum(_room(page.title) for page in pages)
            row = st.container(key=f"menu-{group}", horizontal=True, width=room, vertical_alignment="center", gap=None)
            with row:
                st.caption(name, width=_room_of_name(name))
                for page in pages:
                    st.page_link(page_links.to(page.name), icon="", width=_room(page.title))


def unknown_address() -> None:
    """Say so where there is no page of that address, which opens Home, and offer the nearest ones."""
    asked = unquote(urlsplit(st.context.url or "").path).rstrip("/").rpartition("/")[2]
    addresses = {page.address: page for page in menu.pages()}
    if asked in addresses:
        return
    titles = {page.title.lower(): page for page in menu.pages()}
    found = get_close_matches(asked.lower(), [*addresses, *titles], n=3, cutoff=0.4)
    near = dict.fromkeys((addresses | titles)[name] for name in found)
    st.warning(f"There is no page “{words.plain(asked[:60])}” here; this is Home.", icon=":material/link_off:")
    for page in near:
        st.page_link(page_links.to(page.name), label=f"Did you mean {page.title}?")
