"""Around every page: address in, sidebar, page, address out."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import streamlit as st

from ui import sidebar, state, words

_APP = Path(__file__).resolve().parent.parent / "app.py"

OWN_CONTROLS = ("", "your-numbers", "papers")  # pages that ask their own question instead of the sidebar's
_STYLE = "<style>[data-testid=stMainBlockContainer]{padding-top:4.2rem;padding-bottom:2rem}</style>"


def enter() -> None:
    """First line of every page file: makes sure that the page is run by app.py.

    Streamlit runs a file of ``pages/`` by itself when the very first visitor of a server process opens its address,
    because it learns of ``st.navigation`` only when app.py has run once.
    """
    if not st.session_state.pop("inside", False):
        runpy.run_path(str(_APP), run_name="__main__")
        st.stop()


def open_page(page: Any) -> None:
    """Run ``page`` with the shared experiment in place."""
    st.html(_STYLE)
    state.read_address(page.url_path)
    if page.url_path not in OWN_CONTROLS:
        sidebar.draw(page.url_path)
        state.write_address()
    if state.problems():
        st.warning(
            f"Some of this link could not be used; defaults stand in for it.\n{words.problems(state.problems())}",
            icon=":material/link_off:",
        )
    st.session_state["inside"] = True
    page.run()
    st.caption(
        "Private Bandit Lab simulates private learning. It is not a privacy product and protects nobody's data.",
        text_alignment="center",
    )
