"""The one experiment that all pages share, and its way into and out of the address.

Widgets never hold the truth: they are drawn from the *base*, the experiment as it last came from outside (link,
preset, upload, reset), under keys that carry its generation. A new base therefore redraws every widget afresh; a
widget's own edits change only the committed experiment, and the address follows it.

A page may be about another kind of experiment than the visitor's own (see ui/page_requirements.py). It then shows an
example of that kind in the same sidebar, and the visitor's own is kept meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import streamlit as st

from bandit_core import Experiment
from bandit_core.experiments import links
from bandit_core.experiments.presets import load_preset, true_words
from bandit_core.spec.contexts import Table
from bandit_core.spec.errors import MAX_TOLD, Issue, did_you_mean, path_of
from ui import menu, stylesheet

# Address fields that say how a page is shown.
PASSED_OVER = frozenset({stylesheet.UNKNOWN}) | links.DISPLAY
MAX_EXAMPLE_ADDRESSES = 200
Read = Callable[[dict[str, str]], tuple[Experiment, list[Issue]]]
SETTLE_SECONDS = 0.5  # seconds


class _Page(threading.local):
    """The page that this thread draws, if it does: what is remembered of its visitor."""

    memory: dict[str, Any] | None = None


_page = _Page()


def memory() -> dict[str, Any]:
    """What the lab remembers of this visitor, under one key: Streamlit goes through all keys for each field of text."""
    remembered: dict[str, Any] = st.session_state.setdefault("lab", {}) if _page.memory is None else _page.memory
    return remembered


@contextmanager
def drawing() -> Iterator[None]:
    """While a page is drawn, or until it is cut short by a newer change, `memory` is not looked for again and again."""
    _page.memory = memory()
    try:
        yield
        if memory().get("address-unsent"):  # a late one was passed over, and nothing has written an address since
            _send(memory()["address"])
    finally:
        if "sent" in memory():
            memory()["sent"].drawn()
            memory()["seen-widgets"] = _widgets()  # also those that this run was the first to draw: no one moved them
        _page.memory = None


def is_chosen() -> bool:
    """Whether the visitor has chosen or changed an experiment; before, there is nothing that is their own."""
    opened = {"default", *(page.opens for page in menu.pages() if page.opens)}
    return all(own_experiment() != load_preset(name) for name in opened)


def experiment() -> Experiment:
    """The committed experiment."""
    return memory()["experiment"]


def base() -> Experiment:
    """The experiment as it last came from outside."""
    return memory()["base"]


def key(name: str) -> str:
    """A widget key that is fresh whenever the base is."""
    return f"{name}:{memory()['generation']}"


def current(name: str, otherwise: Any) -> Any:
    """What a widget says now, also before it is drawn in this run (its section's headline needs it)."""
    return st.session_state.get(key(name), otherwise)


def own_data() -> bool:
    """Whether the experiment comes from a file of this visitor, edits and all, or holds a data set."""
    contexts = experiment().contexts
    from_file = bool(memory().get("from-own-file")) and not example_of()
    return from_file or (contexts is not None and isinstance(contexts.law, Table))


def adopt(new: Experiment, issues: list[Issue] | None = None) -> None:
    """Put ``new`` in the place of what is shown: every widget is redrawn. Safe in callbacks and before drawing."""
    memory()["generation"] = memory().get("generation", 0) + 1
    memory()["base"] = memory()["experiment"] = true_words(new)
    memory()["problems"] = issues or []
    memory()["line-rows"] = list(range(len(new.lines)))
    memory()["added-lines"], memory()["drawn-rows"] = {}, set()
    memory()["hidden-rows"] = set(new.view.hidden)
    memory().pop("refused", None)


def open_own(new: Experiment, issues: list[Issue] | None = None, own_file: bool = False) -> None:
    """Take an experiment from outside (link, preset, upload): it is the visitor's own from now on."""
    memory()["from-own-file"] = own_file
    memory()["example-of"] = ""
    memory()["unasked"] = False
    adopt(new, issues)


def example_of() -> str:
    """The kind of which an example is shown in place of the visitor's own experiment; empty where that is shown."""
    return memory().get("example-of", "")


def own_experiment() -> Experiment:
    """The visitor's own experiment, shown or not."""
    return memory()["kept"] if example_of() else experiment()


def show(kind: str, lacks: Callable[[Experiment], str], example: Callable[[], Experiment]) -> None:
    """Show the visitor's own experiment where it ``lacks`` nothing, else an example of the ``kind``, as last left."""
    before, own = example_of(), own_experiment()
    if before:
        memory()["examples"][before] = experiment()
    if before == kind:
        return
    if not lacks(own):
        memory()["example-of"] = ""
        if before:
            adopt(own)
        return
    memory()["kept"], memory()["example-of"] = own, kind
    adopt(memory().setdefault("examples", {}).get(kind) or example(), issues())


def keep_example() -> None:
    """Callback: from now on the example that is shown is the visitor's own experiment."""
    memory()["examples"].pop(example_of(), None)
    memory()["example-of"], memory()["from-own-file"] = "", False


def finish(issues: list[Issue]) -> None:
    """Note what in the sidebar cannot be read."""
    memory()["unfinished"] = bool(issues)


def unfinished() -> bool:
    """Whether the sidebar holds something that cannot be read, which a new base would drop."""
    return bool(memory().get("unfinished"))


def commit(new: Experiment) -> None:
    """Make an edited experiment the current one."""
    if new != memory()["experiment"]:
        memory()["experiment"] = new
        memory().pop("refused", None)


def open_preset(name: str) -> None:
    """Callback: start from a preset."""
    open_own(load_preset(name))


def own_key(name: str) -> str:
    """The key of a widget that a page's own field of the address is drawn from; fresh after the Back button."""
    memory().setdefault("own-names", {})[name] = None
    return f"{name}:turn {turn()}" if turn() else name


def turn() -> int:
    """How often the Back button, or another address of the same page, has changed what its own controls say."""
    found: int = memory().get("own-turn", 0)
    return found


def kept_key(name: str) -> str:
    """The key of such a widget that stays, and looks at the `turn` by itself."""
    memory().setdefault("kept-names", {})[name] = None
    return name


def _widgets() -> dict[str, str]:
    """What the widgets of the address say, by their keys, to tell a moved one from the Back button."""
    shared = f":{memory().get('generation')}"
    names = {own_key(name) for name in tuple(memory().get("own-names", ()))} | {*memory().get("kept-names", ())}
    said = {str(name): value for name, value in st.session_state.to_dict().items()}
    return {name: repr(value) for name, value in said.items() if name.endswith(shared) or name in names}


def _is_moved() -> bool:
    """Whether a widget says something else than before. One that a browser has not drawn yet is not moved."""
    before = memory().get("seen-widgets", {})
    return any(before.get(name, now) != now for name, now in _widgets().items())


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

        A control that went and came back looks like no move at all; but no one presses Back that soon after a move.
        """
        return asked in self.left and (moved or time.monotonic() - self.at < SETTLE_SECONDS)


def _asked() -> dict[str, str]:
    """What the address says now, without what is no one's here."""
    return {name: value for name, value in st.query_params.items() if name not in PASSED_OVER}


def read_address(page: menu.Page, translate: Read, example: str = "default") -> None:
    """Adopt what the address says, if it says something new (a link, an edited address, the Back button).

    ``translate`` reads the fields that the page wrote once, where the address has any. The ``example`` is the preset
    whose budget an address moves that says nothing else.
    """
    asked, before = _asked(), memory().get("address", {})
    moved = memory().get("page") != page.address
    sent = memory().setdefault("sent", Sent())
    if not moved and asked != before and sent.is_late(asked, _is_moved()):
        asked = before  # a control was moved before our last address had reached the browser
        memory()["address-unsent"] = True
    memory()["seen-widgets"] = _widgets()
    memory()["page"] = page.address
    own, old = page.fields.split(), page.old_fields.split()
    names = {*links.KEYS, *old} - {*own}
    shared, shared_before = ({name: value for name, value in each.items() if name in names} for each in (asked, before))
    former = {name: value for name, value in shared.items() if name in old}
    if former.keys() <= {"eps"}:
        former = {}
    opened = "experiment" not in memory() or (shared != shared_before and not (moved and not shared))
    if opened:
        if page.opens and not shared:
            open_own(load_preset(page.opens))
        else:
            opening = {"preset": page.opens or example} if shared.keys() == {"eps"} else {}
            _open_address(former or opening | shared, translate if former else links.read)
            memory()["unasked"] = not shared
        memory()["arrived"] = experiment() if former else None
    elif moved and page.opens and memory()["unasked"] and own_experiment() == load_preset("default"):
        open_own(load_preset(page.opens))
    elif moved:  # widgets of the page that was left are gone: redraw them from what they said
        adopt(experiment())
    if asked != before:
        fields = [*own, *(links.KEYS if page.sidebar else ())]
        allowed, unknown = f"allowed: {', '.join(fields) or 'none'}", asked.keys() - {*fields, *old, *links.KEYS}
        near = fields if len(unknown) <= MAX_TOLD else ()  # to compare thousands would keep other visitors waiting
        refused = {name: f"no field of this page; {did_you_mean(name, near) or allowed}" for name in unknown}
        if former:
            known = set(links.KEYS) - former.keys()
            refused |= dict.fromkeys(asked.keys() & known, f"not used beside {', '.join(former)}")
        found = [Issue(path_of((name,)), text, refused[name]) for name, text in asked.items() if name in refused]
        memory()["problems"] = issues() + found
    memory()["address"] = asked
    said, said_before = ({name: each[name] for name in own if name in each} for each in (asked, before))
    if moved or said != said_before:
        memory()["refused-fields"] = {}
        memory()["own-turn"] = memory().get("own-turn", 0) + (not moved)
        if moved and page.remembers and not said:
            _send({**asked, **page_values()})
        else:
            memory().setdefault("page-values", {})[page.address] = said


def _open_address(address: dict[str, str], read: Read) -> None:
    """Open what an address says, as the example that it was when the address was written here."""
    said = frozenset(address.items())
    kind = memory().setdefault("example-addresses", {}).get(said)
    if kind is None:
        open_own(*_opened(said, read))
    else:
        memory()["kept"], memory()["example-of"] = own_experiment(), kind
        adopt(*_opened(said, read))


@lru_cache(maxsize=64)  # a class opens one link
def _opened(address: frozenset[tuple[str, str]], read: Read) -> tuple[Experiment, list[Issue]]:
    return read(dict(address))


def write_address(page: menu.Page) -> None:
    """Let the address follow the committed experiment; only differences from the default are written."""
    memory()["seen-widgets"] = _widgets()
    wanted = links.write(experiment())
    if memory()["unasked"] and wanted == {"preset": "default"}:
        wanted = {}
    if example_of():
        written = memory()["example-addresses"]
        written[frozenset(wanted.items())] = example_of()
        for oldest in list(written)[:-MAX_EXAMPLE_ADDRESSES]:
            del written[oldest]
    now: dict[str, str] = memory()["address"]
    own = {name: value for name, value in now.items() if name in page.fields.split()}
    as_it_came = experiment() is memory().get("arrived")  # in fields of former times
    _send(now if as_it_came else {**wanted, **own})


def _send(wanted: dict[str, str]) -> None:
    """Put an address in the place of the present one, where it is another."""
    now: dict[str, str] = memory()["address"]
    if wanted == now and not memory().get("address-unsent"):
        return
    memory()["sent"].note(now)
    # Noted before it is sent: sending is a point at which a newer position of a slider may cut this run short.
    memory()["address"], memory()["address-unsent"] = wanted, True
    passed = {name: value for name, value in st.query_params.items() if name in PASSED_OVER - {stylesheet.UNKNOWN}}
    st.query_params.from_dict({**wanted, **passed})
    memory()["address-unsent"] = False


def issues() -> list[Issue]:
    """What was wrong with the last link."""
    return memory().get("problems", [])


def own_fields(page: menu.Page) -> dict[str, str]:
    """What the page's own controls have written into the address."""
    return {name: text for name, text in memory()["address"].items() if name in page.fields.split()}


def lesson() -> bool:
    """Whether the link asks for the picture alone, without sidebar and menu."""
    return st.query_params.get("controls") == "off"


def reveal() -> str:
    """What the link says of the picture of private lines: on, or off until a button is pressed."""
    return st.query_params.get("reveal", "on")


def open_folds() -> set[str]:
    """The folds of this page that stand open, until another page is drawn."""
    if memory().get("open-folds", ("",))[0] != memory()["page"]:
        memory()["open-folds"] = memory()["page"], set()
    found: set[str] = memory()["open-folds"][1]
    return found


def page_values() -> dict[str, str]:
    """What the page's own fields say: what the address carries of them, or may not carry."""
    values: dict[str, str] = memory().setdefault("page-values", {}).setdefault(memory()["page"], {})
    return values


def refused_fields() -> dict[str, Issue]:
    """What was wrong with own fields of the page, until they are set."""
    refused: dict[str, Issue] = memory().setdefault("refused-fields", {})
    return refused


def page_field(name: str, default: str) -> str:
    """A page's own field of the address."""
    return page_values().get(name, default)


def keep_page_field(name: str, value: str, default: str) -> None:
    """Let the address carry a page's own field (absent where it is the default)."""
    keep_page_fields({name: None if value == default else value})


def keep_page_fields(wanted: dict[str, str | None]) -> None:
    """Let the address carry some of a page's own fields; what is None goes. A page that remembers sends them itself."""
    values = page_values()
    for name, value in wanted.items():
        values.pop(name, None)
        if value is not None:
            values[name] = value
            refused_fields().pop(name, None)
    if not menu.at(memory()["page"]).remembers:
        send_page_fields(values)


def send_page_fields(values: dict[str, str]) -> None:
    """Let the address carry these of the page's own fields, and no others."""
    own = menu.at(memory()["page"]).fields.split()
    wanted = {name: value for name, value in memory()["address"].items() if name not in own} | values
    if wanted != memory()["address"]:
        memory()["seen-widgets"] = _widgets()
        _send(wanted)
