"""What a visitor uploads stays in the session: its words, its store in memory, and how it is forgotten."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Literal, TypeVar

import streamlit as st

from bandit_core import Experiment, InputError
from bandit_core.experiments.experiment import parse
from bandit_core.simulation.store import Store, default_store
from bandit_core.spec import own_data
from bandit_core.spec.errors import Issue
from ui import page_lock, words

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

Read = TypeVar("Read")

STORE_BYTES = 64 * 2**20
SPEC_MEGABYTES = 1
_reading = threading.Lock()  # one file of one visitor at a time: a large one takes hundreds of megabytes meanwhile
PRIVATE_WORDS = (
    "**Your file stays in this session.** It is read into memory for this browser tab only. It is never written to "
    "disk, to a link, a log or the cache that visitors share. It is forgotten when you remove it, and within half a "
    "minute after you close the tab. One tab holds 40 MB of files; reload the page for new room."
)


def refuse(error: InputError) -> None:
    """Why a file cannot be used, problem by problem."""
    st.error(words.issues(error.issues), icon=":material/error:")


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
