"""A page's own address fields: read with a clear word about what cannot be used, and kept in step with the controls."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import streamlit as st

from bandit_core import notation
from bandit_core.problems import Problem
from ui import state, words


class Fields:
    """The fields of one page, with their defaults as text. What is wrong with them is collected for `tell`."""

    def __init__(self, defaults: Mapping[str, str]) -> None:
        self._defaults = defaults
        self._problems: list[Problem] = []
        self._place = st.container()

    def word(self, name: str, allowed: Collection[str], default: str | None = None) -> str:
        """One of the allowed words."""
        default = self._defaults[name] if default is None else default
        found = state.page_field(name, default)
        if found in allowed:
            return found
        self._problems.append(Problem(name, found, f"allowed: {', '.join(allowed)}"))
        return default

    def number(self, name: str, low: float, high: float, default: float | None = None, whole: bool = False) -> float:
        """A number from ``low`` to ``high``."""
        fallback = float(self._defaults[name]) if default is None else default
        text = state.page_field(name, "")
        if not text:
            return fallback
        wanted = notation.read_number(text)
        if isinstance(wanted, str) or not low <= wanted <= high or (whole and wanted != int(wanted)):
            kind = "a whole number" if whole else "a number"
            self._problems.append(Problem(name, text, f"{kind} from {low:g} to {high:g}"))
            return fallback
        return float(wanted)

    def nearest(self, name: str, grid: Collection[float], default: float | None = None) -> float:
        """The value of a grid that is nearest to the number in the address."""
        asked = self.number(name, min(grid), max(grid), default)
        return min(grid, key=lambda value: abs(value - asked))

    def keep(self, name: str, value: str | float, default: str | float | None = None) -> None:
        """Let the address carry what the control says now (nothing where it is the default)."""
        written = _text(value)
        state.keep_page_field(name, written, self._defaults[name] if default is None else _text(default))

    def refuse(self, name: str, value: str, allowed: str) -> None:
        """Note what is wrong with a field that was read in another way."""
        self._problems.append(Problem(name, value, allowed))

    def tell(self) -> None:
        """Say what could not be used, above the controls."""
        if self._problems:
            self._place.warning(
                f"Some of this link could not be used; defaults stand in for it.\n{words.problems(self._problems)}",
                icon=":material/link_off:",
            )


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else f"{value:g}"
