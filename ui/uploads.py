"""What a visitor uploads stays in the session; and what of it cannot be used is said under its control."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bandit_core import Experiment, InputError
from bandit_core.data.columns import ROWS
from bandit_core.data.reading import ROLES, Reading
from bandit_core.experiments.experiment import parse
from bandit_core.policies import registry
from bandit_core.simulation.store import Store, default_store
from bandit_core.spec import own_data
from bandit_core.spec.errors import Issue
from ui import page_lock, words

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile

# ---------------------------------------------------------------------------------------------------------------------
# What a visitor uploads stays in the session: its words, its store in memory, and how it is forgotten.


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


# ---------------------------------------------------------------------------------------------------------------------
# What cannot be used of what a visitor said: a message under its control, in the words of the screen.


_PARTS = {"epsilon": "own budget", "law": "distribution", "dimension": "features", "lines": "policies", "params": ""}
MOST = 5  # messages under one control
_LAST_PART = re.compile(r"(\.?[^.\[\]]+|\[[^\]]*\])$")


def on_screen(issue: Issue, home: str = "", name: str = "") -> Issue:
    """The issue in words of the screen; the path to it begins with that of a control, ``home``, which has a name."""
    found = re.findall(r"\[(\d+)\]|([^.\[\]]+)", issue.path.removeprefix(home))
    parts = [f"entry {int(place) + 1}" if place else _PARTS.get(part, part.replace("_", " ")) for place, part in found]
    titles = {policy: entry.title for policy, entry in registry().items()}
    names = "|".join(sorted(titles, key=len, reverse=True))
    allowed = re.sub(rf"(?<![\w-])({names})(?![\w-])", lambda policy: titles[policy[0]], issue.allowed)
    inside = isinstance(issue.value, dict) or issue.path.endswith("policy")
    message = ", ".join(filter(None, parts)) or name
    return Issue(words.sentence(message), None if inside else issue.value, f"{allowed}.")


class Problems(list[Issue]):
    """The issues of one drawing of the sidebar, and the places below its controls."""

    def __init__(self) -> None:
        super().__init__()
        self._places: dict[str, tuple[str, DeltaGenerator]] = {}

    def under(self, whole: str, part: str, name: str) -> None:
        """Here, below the control called ``name``, stands what is wrong with that part of the experiment."""
        self._places[whole + part] = name, st.container()

    def home(self, issue: Issue) -> str:
        """The path of the control that an issue belongs to; empty where that control is not drawn."""
        path = issue.path
        while path not in self._places and path:
            path = _LAST_PART.sub("", path)
        return path

    def place(self, issue: Issue) -> DeltaGenerator | None:
        """The place below the control that an issue belongs to."""
        home = self.home(issue)
        return self._places[home][1] if home else None

    def tell(self) -> None:
        """Say what is wrong under each control; and on the page, that its picture is the last valid one."""
        by_label: dict[str, list[Issue]] = {}
        for issue in self:
            by_label.setdefault(self.home(issue), []).append(issue)
        elsewhere = by_label.pop("", [])
        for home, issues in by_label.items():
            name, place = self._places[home]
            place.error("\n\n".join(words.issue(on_screen(issue, home, name)) for issue in issues[:MOST]))
        names = dict.fromkeys(f"**{words.plain(self._places[home][0])}**" for home in by_label)
        if names:
            message = f"The last valid answer; see the message under {' and '.join(names)} in the sidebar."
            st.warning(message, icon=":material/history:")
        if elsewhere:
            st.error(f"The last valid answer.\n{words.issues(list(map(on_screen, elsewhere)))}")
        st.html("<style>[data-testid=stMain] [data-testid=stPlotlyChart]{opacity:.4}</style>")
