"""The one experiment that all pages share, and its way into and out of the address.

Widgets never hold the truth: they are drawn from the *base*, the experiment as it last came from outside (link,
preset, upload, reset), under keys that carry its generation. A new base therefore redraws every widget afresh; a
widget's own edits change only the committed experiment, and the address follows it.

A page may be about another kind of experiment than the visitor's own (see ui/kinds.py). It then shows an example of
that kind in the same sidebar, and the visitor's own is kept meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from bandit_core import Experiment
from bandit_core.experiments import links
from bandit_core.experiments.presets import load_preset, true_words
from bandit_core.spec.errors import Issue
from ui import menu

# Address fields that are no part of the experiment: controls of single pages; and those of lessons and Streamlit.
FIELDS = frozenset().union(*(f"{page.fields} {page.old_fields}".split() for page in menu.pages()))
PASSED_OVER = frozenset({"controls", "reveal"}) | links.STREAMLIT_OWN
MOST_EXAMPLE_ADDRESSES = 200
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
    return bool(_state.get("from-own-file")) and not example_of()


def adopt(new: Experiment, issues: list[Issue] | None = None) -> None:
    """Put ``new`` in the place of what is shown: every widget is redrawn. Safe in callbacks and before drawing."""
    _state["generation"] = _state.get("generation", 0) + 1
    _state["base"] = _state["experiment"] = true_words(new)
    _state["problems"] = issues or []
    _state["line-rows"] = list(range(len(new.lines)))
    _state["added-lines"] = {}
    _state["hidden-rows"] = set(new.view.hidden)


def open_own(new: Experiment, issues: list[Issue] | None = None, own_file: bool = False) -> None:
    """Take an experiment from outside (link, preset, upload): it is the visitor's own from now on."""
    _state["from-own-file"] = own_file
    _state["example-of"] = ""
    adopt(new, issues)


def example_of() -> str:
    """The kind of which an example is shown in place of the visitor's own experiment; empty where that is shown."""
    return _state.get("example-of", "")


def kept() -> Experiment:
    """The visitor's own experiment, shown or not."""
    return _state["kept"] if example_of() else experiment()


def show(kind: str, lacks: Callable[[Experiment], str], example: Callable[[], Experiment]) -> None:
    """Show the visitor's own experiment where it ``lacks`` nothing, else an example of the ``kind``, as last left."""
    before, own = example_of(), kept()
    if before:
        _state["examples"][before] = experiment()
    if before == kind:
        return
    if not lacks(own):
        _state["example-of"] = ""
        if before:
            adopt(own)
        return
    _state["kept"], _state["example-of"] = own, kind
    adopt(_state.setdefault("examples", {}).get(kind) or example(), issues())


def keep_example() -> None:
    """Callback: from now on the example that is shown is the visitor's own experiment."""
    _state["examples"].pop(example_of(), None)
    _state["example-of"], _state["from-own-file"] = "", False


def finish(issues: list[Issue]) -> None:
    """Note what in the sidebar cannot be read."""
    _state["unfinished"] = bool(issues)


def unfinished() -> bool:
    """Whether the sidebar holds something that cannot be read, which a new base would drop."""
    return bool(_state.get("unfinished"))


def commit(new: Experiment) -> None:
    """Make an edited experiment the current one."""
    if new != _state["experiment"]:
        _state["experiment"] = new
        _state["problems"] = []


def open_preset(name: str) -> None:
    """Callback: start from a preset."""
    open_own(load_preset(name))


def own_key(name: str) -> str:
    """The key of a widget that a page's own field of the address is drawn from; fresh after the Back button."""
    _state.setdefault("own-names", {})[name] = None
    turn = _state.get("own-turn", 0)
    return f"{name}:turn {turn}" if turn else name


def _widgets() -> str:
    """What the widgets of the address say, to tell a moved one from the Back button."""
    shared = f":{_state.get('generation')}"
    names = {own_key(name) for name in tuple(_state.get("own-names", ()))}
    found = {name: value for name, value in _state.items() if str(name).endswith(shared) or name in names}
    return repr(sorted(found.items(), key=str))


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


def _asked() -> dict[str, str]:
    """What the address says now, without what is nobody's here."""
    return {name: value for name, value in st.query_params.items() if name not in PASSED_OVER}


def read_address(page: menu.Page, translate: Callable[[dict[str, str]], tuple[Experiment, list[Issue]]]) -> None:
    """Adopt what the address says, if it says something new (a link, an edited address, the Back button).

    ``translate`` reads the fields that the page wrote once, where the address has any.
    """
    asked, before = _asked(), _state.get("address", {})
    moved = _state.get("page") != page.address
    sent = _state.setdefault("sent", Sent())
    if not moved and asked != before and sent.is_late(asked, _widgets() != _state.get("seen-widgets")):
        asked = before  # a control was moved before our last address had reached the browser
        _state["address-unsent"] = True
    _state["seen-widgets"] = _widgets()
    _state["page"] = page.address
    own, old = page.fields.split(), page.old_fields.split()
    shared, shared_before = (
        {name: value for name, value in each.items() if name in old or name not in FIELDS} for each in (asked, before)
    )
    if "experiment" not in _state or (shared != shared_before and not (moved and not shared)):
        former = {name: value for name, value in shared.items() if name in old}
        _open_address(former or shared, translate if former else links.read)
        _state["arrived"] = experiment() if former else None
    elif moved:  # widgets of the page that was left are gone: redraw them from what they said
        adopt(experiment())
    if not moved and [asked.get(name) for name in own] != [before.get(name) for name in own]:
        _state["own-turn"] = _state.get("own-turn", 0) + 1
    _state["address"] = asked


def _open_address(address: dict[str, str], read: Callable[[dict[str, str]], tuple[Experiment, list[Issue]]]) -> None:
    """Open what an address says, as the example that it was when the address was written here."""
    kind = _state.setdefault("example-addresses", {}).get(frozenset(address.items()))
    if kind is None:
        open_own(*read(address))
    else:
        _state["kept"], _state["example-of"] = kept(), kind
        adopt(*read(address))


def write_address(page: menu.Page) -> None:
    """Let the address follow the committed experiment; only differences from the default are written."""
    _state["seen-widgets"] = _widgets()
    wanted = links.write(experiment())
    if example_of():
        written = _state["example-addresses"]
        written[frozenset(wanted.items())] = example_of()
        for oldest in list(written)[:-MOST_EXAMPLE_ADDRESSES]:
            del written[oldest]
    now: dict[str, str] = _state["address"]
    own = {name: value for name, value in now.items() if name in page.fields.split()}
    as_it_came = experiment() is _state.get("arrived")  # in fields of former times
    _send(now if as_it_came else {**wanted, **own})


def _send(wanted: dict[str, str]) -> None:
    """Put an address in the place of the present one, where it is another."""
    now: dict[str, str] = _state["address"]
    if wanted == now and not _state.get("address-unsent"):
        return
    _state["sent"].note(now)
    # Noted before it is sent: sending is a point at which a newer position of a slider may cut this run short.
    _state["address"], _state["address-unsent"] = wanted, True
    passed = {name: value for name, value in st.query_params.items() if name in PASSED_OVER}
    st.query_params.from_dict({**wanted, **passed})
    _state["address-unsent"] = False


def drawn() -> None:
    """The page is drawn, or was cut short by a newer change."""
    if "sent" in _state:
        _state["sent"].drawn()
        _state["seen-widgets"] = _widgets()  # also those that this run was the first to draw: nobody has moved them


def issues() -> list[Issue]:
    """What was wrong with the last link."""
    return _state.get("problems", [])


def own_fields(page: menu.Page) -> dict[str, str]:
    """What the page's own controls have written into the address."""
    return {name: text for name, text in _state["address"].items() if name in page.fields.split()}


def lesson() -> bool:
    """Whether the link asks for the picture alone, without sidebar and menu."""
    return controls() == "off"


def controls() -> str:
    """What the link says of sidebar and menu: on or off."""
    return st.query_params.get("controls", "on")


def reveal() -> str:
    """What the link says of the picture of private lines: on, or off until a button is pressed."""
    return st.query_params.get("reveal", "on")


def page_field(name: str, default: str) -> str:
    """A page's own field of the address."""
    return _state["address"].get(name, default)


def keep_page_field(name: str, value: str, default: str) -> None:
    """Let the address carry a page's own field (absent where it is the default)."""
    keep_page_fields({name: None if value == default else value})


def keep_page_fields(wanted: dict[str, str | None]) -> None:
    """Let the address carry some of a page's own fields; what is None goes."""
    now: dict[str, str] = _state["address"]
    if all(now.get(name) == value for name, value in wanted.items()):
        return
    _state["seen-widgets"] = _widgets()
    rest = {name: value for name, value in now.items() if name not in wanted}
    _send(rest | {name: value for name, value in wanted.items() if value is not None})
