"""Controls of a single page whose values live in the address; what an address asks for in vain is told."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import streamlit as st

from bandit_core import notation
from ui import state, words


def _tell(name: str, allowed: str) -> None:
    st.warning(
        f"Some of this link could not be used: {words.plain(name)} must be {words.plain(allowed)}.",
        icon=":material/link_off:",
    )


def number(name: str, default: float, low: float, high: float, whole: bool = False) -> float:
    """A number of the address from ``low`` to ``high``."""
    text = state.page_field(name, notation.write_number(default))
    asked = notation.read_number(text)
    if isinstance(asked, str) or not low <= asked <= high or (whole and asked != int(asked)):
        kind = "a whole number" if whole else "a number"
        _tell(name, f"{kind} from {low:g} to {high:g}, and not {text[:40]}")
        return default
    return int(asked) if whole else float(asked)


def choice(name: str, default: str, allowed: Collection[str]) -> str:
    """One of a few words of the address."""
    asked = state.page_field(name, default)
    if asked not in allowed:
        _tell(name, f"one of {', '.join(allowed)}, and not {asked[:40]}")
        return default
    return asked


def keep(name: str, value: str | float, default: str | float) -> None:
    """Let the address say what the control says."""
    write = [text if isinstance(text, str) else notation.write_number(text) for text in (value, default)]
    state.keep_page_field(name, *write)


def slider(
    label: str,
    name: str,
    grid: Sequence[float],
    default: float,
    key: str,
    help: str,
    write: Callable[[float], str] = lambda value: f"{value:g}",
) -> float:
    """A slider over a grid, which takes the number of the address in where that lies between its ends."""
    whole = all(isinstance(value, int) for value in grid)
    asked = number(name, default, grid[0], grid[-1], whole)
    chosen: float = st.select_slider(label, sorted({*grid, asked}), asked, key=key, help=help, format_func=write)
    keep(name, chosen, default)
    return chosen


def toggle(label: str, name: str, key: str, help: str) -> bool:
    """A switch that is off where the address does not say 1."""
    chosen: bool = st.toggle(label, choice(name, "0", ("0", "1")) == "1", key=key, help=help)
    keep(name, str(int(chosen)), "0")
    return chosen
