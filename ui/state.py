"""The one experiment that all pages share, and its way into and out of the address.

Widgets never hold the truth: they are drawn from the *base*, the experiment as it last came from outside (link,
preset, upload, reset), under keys that carry its generation. A new base therefore redraws every widget afresh; a
widget's own edits change only the committed experiment, and the address follows it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from bandit_core import Experiment
from bandit_core.experiments import links
from bandit_core.experiments.presets import load_preset, true_words
from bandit_core.spec.errors import Issue
from ui import menu

# Address fields that are not part of the experiment: controls of single pages, of lessons, and Streamlit's own.
OTHER_FIELDS = frozenset({"controls"}.union(*(page.fields.split() for page in menu.pages()))) | links.STREAMLIT_OWN
_state = st.session_state
SOON = 0.5  # seconds


def experiment() -> Experiment:
    """The committed experiment."""
    return _state["experiment"]


def base() -> Experiment:
    """The experiment as it last came from outside."""
    return _state["base"]


def key(name: str) -> str:
    """A widget key that is fresh whenever the base is."""
    return f"{name}:{_state['generation']}"


def current(name: str, otherwise: Any) -> Any:
    """What a widget says now, also before it is drawn in this run (its section's headline needs it)."""
    return _state.get(key(name), otherwise)


def own_file() -> bool:
    """Whether the experiment comes from a file of this visitor, edits and all."""
    return bool(_state.get("from-own-file"))


def adopt(new: Experiment, issues: list[Issue] | None = None, own_file: bool = False) -> None:
    """Take an experiment from outside: every widget is redrawn from it. Safe in callbacks and before drawing."""
    _state["from-own-file"] = own_file or (new is _state.get("experiment") and _state.get("from-own-file", False))
    _state["generation"] = _state.get("generation", 0) + 1
    _state["base"] = _state["experiment"] = true_words(new)
    _state["problems"] = issues or []
    _state["line-rows"] = list(range(len(new.lines)))
    _state["added-lines"] = {}
    _state["hidden-rows"] = set(new.view.hidden)


def commit(new: Experiment) -> None:
    """Make an edited experiment the current one."""
    if new != _state["experiment"]:
        _state["experiment"] = new
        _state["problems"] = []


def open_preset(name: str) -> None:
    """Callback: start from a preset."""
    adopt(load_preset(name))


def _widgets() -> str:
    """What the sidebar's widgets say, to tell a moved one from the Back button."""
    own = f":{_state.get('generation')}"
    return repr({name: value for name, value in sorted(_state.items(), key=str) if str(name).endswith(own)})


@dataclass
class Sent:
    """What was written into the address: a browser that has not received it yet sends an earlier one."""

    left: list[Any] = field(default_factory=list)
    at: float = 0.0
    drawing: bool = False

    def note(self, replaced: Any) -> None:
        """A new address is about to be sent in place of ``replaced``."""
        self.left = [*self.left, replaced][-50:]
        self.at, self.drawing = time.monotonic(), True

    def drawn(self) -> None:
        """The page of the new address is drawn, or cut short: on a busy server much later than its address was sent."""
        if self.drawing:
            self.at, self.drawing = time.monotonic(), False

    def is_late(self, asked: Any, moved: bool) -> bool:
        """Whether an earlier address was sent by a moved control, and not by the Back button.

        A control that went and came back looks like no move at all; but nobody presses Back that soon after a move.
        """
        return asked in self.left and (moved or time.monotonic() - self.at < SOON)


def read_address(page: str) -> None:
    """Adopt what the address says, if it says something new (a link, an edited address, the Back button)."""
    address = {name: value for name, value in st.query_params.items() if name not in OTHER_FIELDS}
    moved = _state.get("page") != page
    sent = _state.setdefault("sent", Sent())
    another = not moved and address != _state.get("address")
    if another and sent.is_late(address, _widgets() != _state.get("seen-widgets")):
        address = _state["address"]  # a control was moved before our last address had reached the browser
        _state["address-unsent"] = True
    _state["seen-widgets"] = _widgets()
    _state["page"] = page
    if "experiment" not in _state or (address != _state.get("address") and not (moved and not address)):
        adopt(*links.read(address))
    elif moved:  # widgets of the page that was left are gone: redraw them from what they said
        adopt(experiment())
    _state["address"] = address


def write_address() -> None:
    """Let the address follow the committed experiment; only differences from the default are written."""
    _state["seen-widgets"] = _widgets()
    wanted = links.write(experiment())
    if wanted == _state.get("address") and not _state.get("address-unsent"):
        return
    _state["sent"].note(_state.get("address"))
    # Noted before it is sent: sending is a point at which a newer position of a slider may cut this run short.
    _state["address"], _state["address-unsent"] = wanted, True
    own = {name: value for name, value in st.query_params.items() if name in OTHER_FIELDS}
    st.query_params.from_dict({**wanted, **own})
    _state["address-unsent"] = False


def drawn() -> None:
    """The page is drawn, or was cut short by a newer change."""
    for name in ("sent", "home-sent"):
        if name in _state:
            _state[name].drawn()


def issues() -> list[Issue]:
    """What was wrong with the last link."""
    return _state.get("problems", [])


def own_fields() -> dict[str, str]:
    """What the page's own controls have written into the address."""
    return {name: text for name, text in st.query_params.items() if name in OTHER_FIELDS - {"controls"}}


def lesson() -> bool:
    """Whether the link asks for the picture alone, without sidebar and menu."""
    return page_field("controls", "on") == "off"


def page_field(name: str, default: str) -> str:
    """A page's own field of the address."""
    return st.query_params.get(name, default)


def keep_page_field(name: str, value: str, default: str) -> None:
    """Let the address carry a page's own field (absent where it is the default)."""
    if value == page_field(name, default):
        return
    if value == default:
        del st.query_params[name]
    else:
        st.query_params[name] = value
