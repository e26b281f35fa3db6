"""What the start page says when someone asked for an address that is no page: the server sends them there."""

from __future__ import annotations

from difflib import get_close_matches

import streamlit as st

from ui import first_paint, menu, page_links, words


def message() -> None:
    """Say so, where an unknown address led here, and offer the pages whose names are nearest."""
    asked = st.query_params.get(first_paint.UNKNOWN)
    if not asked:
        return
    addresses = {page.address: page for page in menu.pages()}
    titles = {page.title.lower(): page for page in menu.pages()}
    found = get_close_matches(asked.lower(), [*addresses, *titles], n=3, cutoff=0.4)
    near = dict.fromkeys((addresses | titles)[name] for name in found)
    shown = words.plain(asked[: first_paint.MAX_LETTERS])
    st.warning(f"There is no page “{shown}”. This is the start.", icon=":material/link_off:")
    for page in near:
        st.page_link(page_links.to(page.name), label=f"Did you mean {page.title}?")
