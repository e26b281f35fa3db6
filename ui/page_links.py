"""The pages as Streamlit knows them, for its menu and for links: made once, as it looks for the file of each."""

from __future__ import annotations

from functools import cache

import streamlit as st

from ui import menu


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
