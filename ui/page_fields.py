"""A page's own fields of the address: read with a default, and told when they cannot be used."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from bandit_core import notation
from ui import state, words


def _told(name: str, allowed: str, default: str) -> None:
    shown = words.plain(state.page_field(name, default))
    st.warning(
        f"Some of this link could not be used: {words.plain(name)} is {shown}, allowed is {allowed}; "
        f"{words.plain(default)} stands in for it.",
        icon=":material/link_off:",
    )


def number(name: str, default: str, low: float, high: float) -> float:
    """A number of the address between ``low`` and ``high``; the default stands in for anything else, and is told."""
    wanted = notation.read_number(state.page_field(name, default))
    if isinstance(wanted, str) or not low <= wanted <= high:
        _told(name, f"a number from {low:g} to {high:g}", default)
        return float(default)
    return float(wanted)


def choice(name: str, default: str, allowed: Iterable[str]) -> str:
    """One of some words; the default stands in for anything else, and is told."""
    wanted = state.page_field(name, default)
    if wanted not in allowed:
        _told(name, "one of " + ", ".join(allowed), default)
        return default
    return wanted
