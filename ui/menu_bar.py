"""The menu at the top of every page: all pages by what people come for, none hidden; on a phone behind one button.

The browser gets one of the two: what a style sheet hides stands there until the style sheet has come, and everything
below moves then.
"""

from __future__ import annotations

from difflib import get_close_matches
from urllib.parse import unquote, urlsplit

import streamlit as st

from ui import menu, theme, words

STYLE = """<style>
[data-testid=stHeader]{background:none}
[data-testid=stHeader],[data-testid=stHeader] *{pointer-events:none!important}
[data-testid=stHeader] :is(button,a,button *,a *){pointer-events:auto!important}
.st-key-menu{row-gap:0!important;padding-right:2.5rem}
[class*=st-key-menu-] [data-testid=stCaptionContainer]{margin:0 .2rem 0 0;font-size:.8rem}
[class*=st-key-menu-] [data-testid=stCaptionContainer] p{margin:0}
.st-key-pages{padding-left:2.2rem}
@media (max-width:767px){.st-key-menu{padding-left:2.2rem}}
[class*=st-key-menu-] [data-testid=stPageLink-NavLink]{padding:.1rem .4rem;min-height:1.75rem}
@media print{.st-key-menu,.st-key-pages{display:none!important}}
</style>"""


def _room(title: str) -> int:
    """Pixels that are kept for a link until its words are drawn, so that its neighbours stand still."""
    return max(54, 18 + 7 * len(title))


def draw() -> None:
    """The links as a bar; on a phone a button that opens them."""
    st.html(STYLE)
    groups = [(group, [page for page in menu.pages() if page.group == group]) for group in menu.GROUPS]
    if theme.is_phone():
        with st.container(key="pages"), st.popover("Pages", icon=":material/menu:"):
            for group, pages in groups:
                st.caption(menu.GROUPS[group])
                for page in pages:
                    st.page_link(page.file, label=page.title, icon=page.symbol)
        return
    with st.container(key="menu", horizontal=True):  # gaps by its own words: a style sheet comes later
        for group, pages in groups:
            row = st.container(
                key=f"menu-{group}", horizontal=True, width="content", vertical_alignment="center", gap=None
            )
            with row:
                st.caption(menu.GROUPS[group], width="content")
                for page in pages:
                    st.page_link(page.file, label=page.title, width=_room(page.title))


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
        st.page_link(page.file, label=f"Did you mean {page.title}?", icon=page.symbol)
