"""The pages as Streamlit knows them, for its menu and for links, and what an unknown address shows."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache

import streamlit as st

from ui import menu, stylesheet, words

# ---------------------------------------------------------------------------------------------------------------------
# The pages as Streamlit knows them, for its menu and for links: made once, as it looks for the file of each.


@cache
def to(name: str) -> st.Page:
    """What `st.page_link` takes to lead to the page whose file has that name. Only while a page is drawn."""
    page = menu.named(name)
    return st.Page(
        f"pages/{name}.py",
        title=page.title,
        icon=page.symbol if page.section else None,
        url_path=page.address,
        default=not page.address,
    )


# ---------------------------------------------------------------------------------------------------------------------
# What the start page says when someone asked for an address that is no page: the server sends them there.


def message() -> None:
    """Say so, where an unknown address led here, and offer the pages whose names are nearest."""
    asked = st.query_params.get(stylesheet.UNKNOWN)
    if not asked:
        return
    addresses = {page.address: page for page in menu.pages()}
    titles = {page.title.lower(): page for page in menu.pages()}
    found = get_close_matches(asked.lower(), [*addresses, *titles], n=3, cutoff=0.4)
    near = dict.fromkeys((addresses | titles)[name] for name in found)
    shown = words.plain(asked[: stylesheet.MAX_LETTERS])
    st.warning(f"There is no page “{shown}”. This is the start.", icon=":material/link_off:")
    for page in near:
        st.page_link(to(page.name), label=f"Did you mean {page.title}?")
