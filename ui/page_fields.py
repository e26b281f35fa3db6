"""A page's own fields of the address: read with a default, reported when they cannot be used, kept by controls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core import Experiment
from bandit_core.experiments.shared_budget import shared_budget
from bandit_core.spec import notation, number_text
from bandit_core.spec.errors import InputError, Issue
from bandit_core.studies import best_by_trust
from bandit_core.studies.sweep import budgets
from ui import problems, state, words

Word = TypeVar("Word", bound=str)


def _told(name: str, allowed: str, default: str) -> None:
    shown = words.plain(state.page_field(name, default)[:40])
    st.warning(
        f"Part of this link could not be used: {words.plain(name)} is {shown}. Allowed: {allowed}. "
        + f"The page uses {words.plain(default)}." * bool(default),
        icon=":material/link_off:",
    )


def tell(issues: Sequence[Issue], place: DeltaGenerator | None = None) -> None:
    """Say which fields of a link could not be used, in ``place`` or here; nothing where there are none."""
    if issues:
        (place or st).warning(
            f"Part of this link could not be used. The page uses defaults instead.\n{words.issues(list(issues))}",
            icon=":material/link_off:",
        )


def move_budget() -> None:
    """Move the budget that the private lines share to the ``eps`` of a link, which then stands in their own field."""
    text = state.mine().pop("asked-epsilon", None)
    if text is None:
        return
    shown, found = state.experiment(), []
    budget = shared_budget(shown)
    try:
        if budget is None or budget.fixed is None:
            raise InputError([Issue("eps", text, "no field of this picture: its policies share no single ε")])
        shown = best_by_trust.moved(shown, *budgets([text]))
    except InputError as error:
        found = [replace(issue, path="eps") for issue in error.issues]
    state.adopt(shown, [*state.issues(), *found])


def _number(text: str, low: float, high: float, whole: bool) -> float | None:
    """The number that a text says, where it is an allowed one."""
    wanted = notation.read_number(text)
    if isinstance(wanted, str) or not low <= wanted <= high or (whole and wanted != int(wanted)):
        return None
    return float(wanted)


def _allowed(low: float, high: float, whole: bool) -> str:
    return f"a {'whole ' * whole}number from {low:g} to {high:g}"


def number(name: str, default: str, low: float, high: float, whole: bool = False) -> float:
    """A number of the address between ``low`` and ``high``; else the default, with a message."""
    wanted = _number(state.page_field(name, default), low, high, whole)
    if wanted is None:
        _told(name, _allowed(low, high, whole), default)
        return float(default)
    return wanted


def choice(name: str, default: Word, allowed: Collection[Word]) -> Word:
    """One of some words; else the default, with a message."""
    wanted = state.page_field(name, default)
    for word in allowed:
        if word == wanted:
            return word
    _told(name, "one of " + ", ".join(allowed), default)
    return default


def keep(name: str, value: float, default: str) -> None:
    """Let the address carry the number of a control."""
    state.keep_page_field(name, number_text.write_number(value), default)


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
    chosen: float = st.select_slider(
        label, sorted({*grid, asked}), asked, key=state.own_key(key), help=help, format_func=write
    )
    keep(name, chosen, default)
    return chosen


def toggle(label: str, name: str, key: str, help: str, on_change: Callable[[], None] | None = None) -> bool:
    """A switch that is off where the address does not say 1."""
    chosen: bool = st.toggle(
        label, choice(name, "0", ("0", "1")) == "1", key=state.own_key(key), help=help, on_change=on_change
    )
    state.keep_page_field(name, str(int(chosen)), "0")
    return chosen


def changes(name: str, value: object, draw: Callable[..., Any], change: Callable[[Any], Experiment]) -> None:
    """A control of the experiment that is shown: it opens at ``value``, and what it says changes the experiment.

    ``draw`` gets ``key`` and ``on_change``. A changed experiment draws the sidebar anew, without what cannot be read
    there. What ``change`` refuses changes nothing, and a message below says why.
    """
    named = f"{name} {value!r}"  # a new control wherever the value came from elsewhere
    key = state.key(named)

    def moved() -> None:
        # A busy browser still sends controls that the page has left, and Streamlit takes them for moved.
        if st.session_state[key] == value or key != state.key(named):
            return
        try:
            state.adopt(change(st.session_state[key]), state.issues())
        except InputError as error:
            state.adopt(state.experiment(), state.issues())
            state.mine()["refused"] = name, error.issues

    draw(key=key, on_change=moved)
    refused, issues = state.mine().get("refused", ("", []))
    if refused == name:
        message = words.issues(list(map(problems.on_screen, issues)))
        st.error(f"This cannot be used; the control is back at its last valid value.\n{message}")


class Fields:
    """The fields of one page, with their defaults as text. What is wrong with them is collected for `tell`."""

    def __init__(self, defaults: Mapping[str, str]) -> None:
        self._defaults = defaults
        self._problems: list[Issue] = []
        self._place = st.container()

    def word(self, name: str, allowed: Collection[str], default: str | None = None) -> str:
        """One of the allowed words."""
        default = self._defaults[name] if default is None else default
        found = state.page_field(name, default)
        if found in allowed:
            return found
        self._problems.append(Issue(name, found, f"allowed: {', '.join(allowed)}"))
        return default

    def number(self, name: str, low: float, high: float, default: float | None = None, whole: bool = False) -> float:
        """A number from ``low`` to ``high``."""
        fallback = float(self._defaults[name]) if default is None else default
        text = state.page_field(name, "")
        if not text:
            return fallback
        wanted = _number(text, low, high, whole)
        if wanted is None:
            self._problems.append(Issue(name, text, _allowed(low, high, whole)))
            return fallback
        return wanted

    def stops(self, name: str, grid: Sequence[Any], default: float | None = None) -> tuple[tuple[Any, ...], Any]:
        """The stops of a slider, with the number of the address among them; and that number."""
        whole = all(isinstance(value, int) for value in grid)
        asked = self.number(name, min(grid), max(grid), default, whole)
        value = int(asked) if whole else asked
        return tuple(sorted({*grid, value})), value

    def keep(self, name: str, value: str | float, default: str | float | None = None) -> None:
        """Let the address carry what the control says now (nothing where it is the default)."""
        written = _text(value)
        state.keep_page_field(name, written, self._defaults[name] if default is None else _text(default))

    def refuse(self, name: str, value: str, allowed: str) -> None:
        """Note what is wrong with a field that was read in another way."""
        self._problems.append(Issue(name, value, allowed))

    def tell(self) -> None:
        """Say what could not be used, above the controls."""
        tell(self._problems, self._place)


def _text(value: str | float) -> str:
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else f"{value:g}"
