"""The player in the app: one slider and its picture, drawn in the browser; the server hears where the slider rests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import streamlit as st

from bandit_core.spec.errors import InputError, Issue
from ui import page_fields, page_lock, state, templates, theme, words
from ui.page_fields import Field

SMALL = templates.ASSETS / "lessons"  # by benchmarks/pictures.py; those of Start's cards, too
_player = templates.component("player", Path(__file__).parent, "player")


def value(field: Field) -> Any:
    """The stop that the address asks for; another value is told, and the default stands."""
    now = page_fields.value(field)
    if now in field.allowed:
        return now
    allowed = f"one of {', '.join(map(field.text, field.allowed))}"
    page_fields.refuse(Issue(field.name, field.text(now), allowed))
    return field.default


def small(name: str, alt: str) -> None:
    """The small picture of a lesson where its slider begins, or of a preset."""
    drawn = SMALL / f"{name}-{'dark' if theme.is_dark() else 'light'}.svg"
    st.image(drawn.read_text("utf-8"), width="stretch", alt=alt)


@contextmanager
def or_small(lesson: str) -> Iterator[None]:
    """What is drawn inside; where the file of its positions is damaged, what is wrong, and the small picture."""
    try:
        yield
    except InputError as error:
        st.error(words.issues(error.issues))
        if (SMALL / f"{lesson}-light.svg").exists():
            small(lesson, "The picture at the first position of its slider, without numbers.")


def still(key: str, document: str) -> None:
    """The one picture of a document, which has no slider."""
    with st.container(key=f"player-{key}"):
        _player(key=key, data={"text": document, "at": 0, "turn": 0})


def ask(field: Field, document: str, now: Any, guess: Mapping[str, Any] | None = None) -> Any:
    """The slider of a field, which opens at ``now``, with its picture; where it rests. The address carries it.

    With a ``guess`` the curves run through it at first; it stands at the ``place`` of the slider, at ``x`` of the
    picture, from ``low`` to ``high`` (None: as far as the picture goes). Without these no guess is drawn.
    """
    stops, key, turn = list(field.allowed), state.kept_key(field.key or field.name), state.turn()
    begin = st.session_state.setdefault(f"{key} begins {turn}", stops.index(now))
    with st.container(key=f"player-{key}"):
        data = {"text": document, "at": begin, "turn": turn, "guess": guess}
        found = _player(key=key, data=data, on_at_change=lambda: None)
    moved = found.at is not None and found.at[0] == turn  # else it is where it was before the Back button
    said = stops[found.at[1] if moved else begin]
    page_fields.keep(field, said)
    page_lock.shown()
    return said
