"""A page's own fields of the address: read with a default, told when they cannot be used, and kept by controls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import streamlit as st

from bandit_core import notation
from ui import state, words


def _told(name: str, allowed: str, default: str) -> None:
    shown = words.plain(state.page_field(name, default)[:40])
    st.warning(
        f"Some of this link could not be used: {words.plain(name)} is {shown}, allowed is {allowed}; "
        f"{words.plain(default)} stands in for it.",
        icon=":material/link_off:",
    )


def number(name: str, default: str, low: float, high: float, whole: bool = False) -> float:
    """A number of the address between ``low`` and ``high``; the default stands in for anything else, and is told."""
    wanted = notation.read_number(state.page_field(name, default))
    if isinstance(wanted, str) or not low <= wanted <= high or (whole and wanted != int(wanted)):
        _told(name, f"a {'whole ' * whole}number from {low:g} to {high:g}", default)
        return float(default)
    return float(wanted)


def choice(name: str, default: str, allowed: Iterable[str]) -> str:
    """One of some words; the default stands in for anything else, and is told."""
    wanted = state.page_field(name, default)
    if wanted not in allowed:
        _told(name, "one of " + ", ".join(allowed), default)
        return default
    return wanted


def keep(name: str, value: float, default: str) -> None:
    """Let the address carry the number of a control."""
    state.keep_page_field(name, notation.write_number(value), default)


def slider(
    label: str,
    name: str,
    grid: Sequence[float],
    default: str,
    key: str,
    help: str,
    write: Callable[[float], str] = lambda value: f"{value:g}",
) -> float:
    """A slider over a grid, which takes the number of the address in where that lies between its ends."""
    whole = all(isinstance(value, int) for value in grid)
    asked = number(name, default, grid[0], grid[-1], whole)
    asked = int(asked) if whole else asked
    chosen: float = st.select_slider(label, sorted({*grid, asked}), asked, key=key, help=help, format_func=write)
    keep(name, chosen, default)
    return chosen


def toggle(label: str, name: str, key: str, help: str) -> bool:
    """A switch that is off where the address does not say 1."""
    chosen: bool = st.toggle(label, choice(name, "0", ("0", "1")) == "1", key=key, help=help)
    state.keep_page_field(name, str(int(chosen)), "0")
    return chosen
