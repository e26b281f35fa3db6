"""Controls of a page as rows of a table: each `Field` is drawn, read from the address, checked and kept by `ask`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal, TypeVar

import streamlit as st

from bandit_core import Experiment
from bandit_core.spec import number_text, own_data
from bandit_core.spec.errors import InputError, Issue, refuse_if
from ui import state, uploads, words

Word = TypeVar("Word", bound=str)
MOST_NAMED = 20  # words that a message lists; of more, the nearest three


@dataclass(frozen=True)
class Field:
    """A control, and what it may say.

    ``name`` is the field of the address that holds its value, ``default`` the value where the address says nothing.
    ``allowed`` are the two ends of a number, the stops of a slider, what a box or buttons offer (names, or their words
    by name), or a function that raises `InputError` for a text. Numbers are whole where all that is allowed is.
    ``ends`` are those of the numbers that a link may have, where they are not the first and last stop. ``write`` shows
    a stop, or a name without words; ``key`` is the widget's, by itself the name; ``place`` is where the value goes, in
    a table of fields that says so.
    """

    name: str
    label: str
    default: Any
    help: str
    kind: Literal["number", "stops", "box", "buttons", "switch", "text"] = "stops"
    allowed: Any = ()
    write: Callable[[Any], str] | None = None
    key: str = ""
    place: str = ""
    ends: tuple[float, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether its numbers are whole."""
        return all(isinstance(each, int) for each in self.allowed)

    def read(self, text: str) -> Any:
        """The value that a text of the address says.

        Raises
        ------
        InputError
            Where it cannot be used.
        """
        if self.kind == "text":
            if self.allowed:
                self.allowed(text)
            return text
        if self.kind in ("stops", "number"):
            ends = self.ends or self.allowed
            low, high = min(ends), max(ends)
            found, percent = number_text.typed_numbers(text, self.is_whole)
            if high <= 1 and self.kind == "number" and not self.is_whole:  # a chance: 5% and 5 are 0.05
                found = [each.scaleb(-2) if percent or each > 1 else each for each in found]
            elif percent and "%" not in self.label:
                found = []
            found = [each for each in found if low <= float(each) <= high]
            allowed = f"a {'whole ' * self.is_whole}number from {_plainly(low)} to {_plainly(high)}"
            refuse_if(not found, self.name, text, allowed)
            refuse_if(len(found) > 1, self.name, text, number_text.either(found))
            return int(found[0]) if self.is_whole else float(found[0])
        values = (
            {"0": False, "1": True} if self.kind == "switch" else dict(zip(self.allowed, self.allowed, strict=True))
        )
        if text not in values:
            named = values if len(values) <= MOST_NAMED else [*get_close_matches(text, values, cutoff=0), "…"]
            raise InputError([Issue(self.name, text, f"one of {', '.join(named)}")])
        return values[text]

    def text(self, value: Any) -> str:
        """The value as the address says it."""
        if isinstance(value, float):
            return number_text.write_number(value)
        return str(int(value) if self.kind == "switch" else value)


def value(field: Field) -> Any:
    """What the address says of a field; else the default. What cannot be used is told."""
    text = state.page_values().get(field.name)
    if text is None:
        return field.default
    try:
        return field.read(text)
    except InputError as error:
        refuse(replace(error.issues[0], path=field.name))
        return field.default


def keep(field: Field, said: Any) -> None:
    """Let the address carry what a control says (nothing where that is the default)."""
    before = len(state.refused_fields())
    state.keep_page_fields({field.name: None if said == field.default else field.text(said)})
    if len(state.refused_fields()) != before:
        tell()


def ask(field: Field, place: Any = None, **more: Any) -> Any:
    """A control whose value the address carries; ``more`` goes to the widget. A box whose names change is a new one."""
    if field.kind == "box":
        names = field.allowed.values() if isinstance(field.allowed, Mapping) else field.allowed
        field = about(field, tuple(names), keep=True)
    said = draw(field, value(field), state.own_key(field.key or field.name), place, **more)
    keep(field, said)
    return said


def typed(field: Field, text: str, now: Any, place: Any = None) -> Any:
    """What the box of a text or a number says; ``now`` where that cannot be used, and why is told."""
    try:
        return now if text.strip() == shown(now) else field.read(text)
    except InputError as error:
        until = "" if now is None else f"\n\nUntil then this page uses {words.plain(shown(now))}."
        (place or st).error(words.issues([replace(issue, path=field.label) for issue in error.issues]) + until)
        return now


def _plainly(number: float) -> str:
    """A number with separators, however large, such as 100,000,000."""
    return f"{number:,.15g}"


def shown(now: Any) -> str:
    """What stands in the box of a text or a number."""
    return f"{now:.15g}" if isinstance(now, float) else "" if now is None else str(now)


def about(field: Field, what: Hashable, keep: bool = False) -> Field:
    """The field with a new control whenever it is about something else: a browser would go on to show the words and
    stops that the old one had. What the old one said goes, too, unless the new one is to ``keep`` what it can say.
    """
    remembered = _controls()
    before, number, turn = remembered.get(field.name, (what, 0, state.turn()))
    if before != what:
        number += 1
        if turn == state.turn() and not (keep and state.page_field(field.name, "") in field.allowed):
            state.keep_page_fields({field.name: None})
    remembered[field.name] = what, number, state.turn()
    return replace(field, key=f"{field.key or field.name}-{number}" if number else field.key)


def put(name: str, text: str) -> None:
    """Callback: what a control that is `about` something says from now on, by what else was pressed."""
    what, number, turn = _controls()[name]
    _controls()[name] = what, number + 1, turn
    state.keep_page_fields({name: text})


def _controls() -> dict[str, tuple[Hashable, int, int]]:
    """What each control of this page is about, how many it has had, and the turn of that time."""
    found: dict[str, tuple[Hashable, int, int]]
    found = state.memory().setdefault("controls", {}).setdefault(state.memory()["page"], {})
    return found


def draw(field: Field, now: Any, key: str, place: Any = None, **more: Any) -> Any:
    """The widget of a field, which opens at ``now``; what it says."""
    where, common = place or st, {"key": key, "help": field.help, **more}
    if field.kind == "switch":
        return where.toggle(field.label, now, **common)
    if field.kind in ("text", "number"):  # a browser's own field for numbers drops a comma before the app sees it
        return typed(field, where.text_input(field.label, shown(now), **common), now, where)
    options = list(field.allowed)
    spoken = field.allowed.__getitem__ if isinstance(field.allowed, Mapping) else field.write or str
    if field.kind == "stops":
        return where.select_slider(
            field.label, sorted({*options, now}), now, format_func=field.write or "{:g}".format, **common
        )
    if field.kind == "box":
        return where.selectbox(field.label, options, options.index(now), format_func=spoken, **common)
    return where.segmented_control(field.label, options, default=now, required=True, format_func=spoken, **common)


def change(field: Field, now: Any, changed: Callable[..., Experiment], place: Any = None, **more: Any) -> None:
    """A control of the experiment that is shown: it opens at ``now``, and what it says changes the experiment.

    ``changed`` gets what it says, as the argument that the ``place`` of the field names where it names one.
    A changed experiment draws the sidebar anew, without what cannot be read there. What ``changed`` refuses changes
    nothing, and a message below says why.
    """
    named = f"{field.name} {now!r}"  # a new control wherever the value came from elsewhere
    key = state.key(named)

    def moved() -> None:
        # A busy browser still sends controls that the page has left, and Streamlit takes them for moved.
        if key != state.key(named) or (said := st.session_state[key]) in (now, shown(now)):
            return
        try:
            said = field.read(said) if field.kind == "number" else said
            state.adopt(changed(**{field.place: said}) if field.place else changed(said), state.issues())
        except InputError as error:
            state.adopt(state.experiment(), state.issues())
            state.memory()["refused"] = field.name, error.issues

    draw(field, now, key, place, on_change=own_data.bound(moved), **more)
    refused, issues = state.memory().get("refused", ("", []))
    if refused == field.name:
        message = words.issues(list(map(uploads.on_screen, issues)))
        st.error(f"This cannot be used; the control is back at its last valid value.\n{message}")


class Fields(dict[str, Field]):
    """The fields of one page by their names, the keys of whose widgets begin with the name of the page."""

    def __init__(self, page: str, *rows: Field) -> None:
        super().__init__({row.name: replace(row, key=f"{page}-{row.key or row.name}") for row in rows})

    def ask(self, name: str, place: Any = None, **changes: Any) -> Any:
        """The control of that name, with some ``changes`` of its row; what it says."""
        return ask(replace(self[name], **changes), place)

    def said(self, name: str) -> Any:
        """What the address says, whether the control is drawn or not."""
        return value(self[name])

    def read(self, texts: Mapping[str, str]) -> tuple[dict[str, Any], list[Issue]]:
        """What some texts say, by the place of each field, and what of them cannot be used."""
        values: dict[str, Any] = {}
        issues: list[Issue] = []
        for name, text in texts.items():
            try:
                values[self[name].place] = self[name].read(text)
            except InputError as error:
                issues += error.issues
        return values, issues


def choice(name: str, default: Word, allowed: Collection[Word]) -> Word:
    """One of some words in the address, of which there is no control; else the default."""
    chosen: Word = value(Field(name, "", default, "", "box", allowed))
    return chosen


# ---------------------------------------------------------------------------------------------------------------
# What of an address cannot be used


def refuse(issue: Issue) -> None:
    """Say that a field of the address cannot be used, until its control says something else.

    A page that waits for its numbers draws itself many times, and the address loses the field in the first one.
    """
    if state.refused_fields().get(issue.path) != issue:
        state.refused_fields()[issue.path] = issue
        tell()


def open_place() -> None:
    """Here, above the page, stands what of the address cannot be used."""
    state.memory()["refused-place"] = st.empty()
    if state.issues() or state.refused_fields():
        tell()


def tell(more: Collection[Issue] = ()) -> None:
    """Say what of a link could not be used, and ``more`` of the same kind; nothing where there is nothing."""
    issues = [*state.issues(), *state.refused_fields().values(), *more]
    place = state.memory()["refused-place"]
    if not issues:
        place.empty()
        return
    place.warning(
        f"Part of this link could not be used. The page uses defaults instead.\n{words.issues(issues)}",
        icon=":material/link_off:",
    )
