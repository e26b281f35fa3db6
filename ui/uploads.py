"""What a visitor uploads stays in the session: its words, its store in memory, and how it is forgotten."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

import streamlit as st

from bandit_core import Experiment, InputError
from bandit_core.data.columns import ROWS
from bandit_core.data.reading import ROLES, Reading
from bandit_core.experiments.experiment import parse
from bandit_core.simulation.store import Store, default_store
from bandit_core.spec import own_data
from bandit_core.spec.errors import Issue
from ui import page_lock, words

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

Read = TypeVar("Read")
Given = ParamSpec("Given")

STORE_BYTES = 64 * 2**20
SPEC_MEGABYTES = 1
ANSWERS = "upload-answers"  # of the session: what the visitor said of each file
_FIRST = {*ROLES, "columns", "sheet", "heading"}  # questions from which others follow
_reading = threading.Lock()  # one file of one visitor at a time: a large one takes about a hundred megabytes meanwhile
PRIVATE_WORDS = (
    "**Your file stays in this session.** It is read into memory for this browser tab only. It is never written to "
    "disk, to a link, a log or the cache that visitors share. It is forgotten when you remove it, and within half a "
    "minute after you close the tab. One tab holds 40 MB of files; reload the page for new room."
)


def refuse(error: InputError) -> None:
    """Why a file cannot be used, problem by problem."""
    st.error(words.issues(error.issues), icon=":material/error:")


def refused(draw: Callable[Given, Read]) -> Callable[Given, Read | None]:
    """Draws what ``draw`` does; where an input cannot be used, says why in its place and gives None."""

    @wraps(draw)
    def drawn(*given: Given.args, **named: Given.kwargs) -> Read | None:
        try:
            return draw(*given, **named)
        except InputError as error:
            refuse(error)
            return None

    return drawn


def kept(slot: str, key: Hashable, read: Callable[[], Read]) -> Read:
    """What ``read`` makes of a file, kept in the session while ``key`` stays the same.

    Reading gives the drawing lock away: other visitors' pages are drawn meanwhile.

    Raises
    ------
    InputError
        When ``read`` does, and without reading again as long as the key is the same.
    """
    if st.session_state.get(slot, (None,))[0] != key:
        found: Read | InputError
        try:
            with page_lock.computing(), _reading:
                found = read()
        except InputError as error:
            found = InputError(error.issues)  # the error itself holds on to all that was read, by its traceback
        st.session_state[slot] = (key, found)
    found = st.session_state[slot][1]
    if isinstance(found, InputError):
        raise InputError(found.issues)
    return found


def read_spec(upload: UploadedFile) -> Experiment:
    """The experiment of a settings file.

    Raises
    ------
    InputError
        Where it is too large, or has no valid settings.
    """
    if upload.size > SPEC_MEGABYTES * 2**20:  # the widget's own limit holds in the browser only
        message = f"at most {SPEC_MEGABYTES} MB; this page is not for data"
        raise InputError([Issue("spec", f"{upload.size / 2**20:.1f} MB", message)])
    form: Literal["json", "toml"] = "toml" if upload.name.lower().endswith(".toml") else "json"
    with own_data.held(default_store()):
        return parse(upload.getvalue().decode("utf-8", "replace"), form, upload.name)


def store(slot: str) -> Store:
    """The session's own store in memory, for everything that was uploaded."""
    if slot not in st.session_state:
        st.session_state[slot] = Store(None, STORE_BYTES)
    return st.session_state[slot]


def forget(*slots: str) -> None:
    """The file is gone: so is everything that was computed from it."""
    for slot in slots:
        removed = st.session_state.pop(slot, None)
        if isinstance(removed, Store):
            removed.close()
        elif hasattr(removed, "simulation"):
            removed.simulation.stop()


def said(slot: str) -> dict[str, Any]:
    """What the visitor answered about a file: by the name of a role, or the key of a doubt."""
    return dict(st.session_state.get(ANSWERS, {}).get(slot, {}))


def say(slot: str, answers: dict[str, Any]) -> None:
    """Remember answers about a file; other questions may follow from what its columns are, so they are asked again."""
    before = {key: each for key, each in said(slot).items() if key in _FIRST or not _FIRST & answers.keys()}
    every = {key: each for key, each in (before | answers).items() if each is not None}
    st.session_state[ANSWERS] = {**st.session_state.get(ANSWERS, {}), slot: every}


def doubts_answered(reading: Reading[Any], slot: str) -> bool:
    """Whether no doubt is left; the questions, with those that are answered."""
    for doubt in reading.asked:
        if doubt.key in ROLES and doubt.choices:
            continue
        if not doubt.choices:
            st.error(words.plain(doubt.question), icon=":material/error:")
            continue
        key, options = f"{slot}-{doubt.key}", list(doubt.choices)
        known = said(slot).get(doubt.key)

        def answer(key: str = key, name: str = doubt.key) -> None:
            say(slot, {name: st.session_state[key]})

        st.radio(
            words.plain(doubt.question), options, options.index(known) if known in options else None, key=key,
            format_func=lambda each, doubt=doubt: words.plain(doubt.choices[each] or each), on_change=answer,
        )  # fmt: skip
    proposed = {
        doubt.key: next(iter(doubt.choices)) for doubt in reading.doubts if doubt.key in ROLES and doubt.choices
    }
    if proposed:
        for doubt in reading.doubts:
            if name := proposed.get(doubt.key):
                st.markdown(f"**{words.plain(doubt.question)}** {words.plain(ROWS.get(name, name))}?")
        st.button("Yes, read it so", key=f"{slot}-so", type="primary", on_click=say, args=(slot, proposed))
    return not reading.doubts
