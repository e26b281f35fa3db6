"""The player in the app: one slider and its picture, drawn in the browser; the server hears where the slider rests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from bandit_core.spec.errors import Issue
from ui import page_fields, page_lock, state, templates
from ui.page_fields import Field

_player = templates.component("player", Path(__file__).parent, "player")


def value(field: Field) -> Any:
    """The stop that the address asks for; another value is told, and the default stands."""
    now = page_fields.value(field)
    if now in field.allowed:
        return now
    allowed = f"one of {', '.join(map(field.text, field.allowed))}"
    page_fields.refuse(Issue(field.name, field.text(now), allowed))
    return field.default


def ask(field: Field, document: str, now: Any) -> Any:
    """The slider of a field, which opens at ``now``, with its picture; where it rests. The address carries it."""
    stops, key, turn = list(field.allowed), state.kept_key(field.key or field.name), state.turn()
    begin = st.session_state.setdefault(f"{key} begins {turn}", stops.index(now))
    with st.container(key=f"player-{key}"):
        found = _player(key=key, data={"text": document, "at": begin, "turn": turn}, on_at_change=lambda: None)
    moved = found.at is not None and found.at[0] == turn  # else it is where it was before the Back button
    said = stops[found.at[1] if moved else begin]
    page_fields.keep(field, said)
    page_lock.shown()
    return said
