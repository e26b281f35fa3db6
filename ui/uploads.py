"""What a visitor uploads stays in the session: its words, its store in memory, and how it is forgotten."""

from __future__ import annotations

import streamlit as st

from bandit_core import InvalidInput
from bandit_core.store import Store
from ui import words

STORE_BYTES = 64 * 2**20
PRIVATE_WORDS = (
    "**Your file stays in this session.** It is read into memory for this browser tab only: never written to disk, a "
    "link, a log or the cache that visitors share, and forgotten when you remove it or close the tab."
)


def refuse(error: InvalidInput) -> None:
    """Why a file cannot be used, problem by problem."""
    st.error(words.problems(error.problems), icon=":material/error:")


def store(slot: str) -> Store:
    """The session's own store in memory, for everything that was uploaded."""
    if slot not in st.session_state:
        st.session_state[slot] = Store(None, STORE_BYTES)
    return st.session_state[slot]


def forget(*slots: str) -> None:
    """The file is gone: so is everything that was computed from it."""
    for slot in slots:
        kept = st.session_state.pop(slot, None)
        if isinstance(kept, Store):
            kept.close()
        elif hasattr(kept, "simulation"):
            kept.simulation.stop()
