"""What every visitor with the same picture would make again: made once, kept as it goes out, and bounded in bytes.

A finished `Picture` is a Plotly figure that has been turned into its document already, arrays as text: for the next
visitor nothing is drawn, validated or copied. What is kept is found by its whole content (the experiment, the trials
that are done, and how it is drawn), never by a visitor; what comes from a visitor's own file is made for that visitor
and kept nowhere.
"""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import plotly.graph_objects as go
import pyarrow as pa

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from bandit_core.spec.contexts import Table
from ui import state

if TYPE_CHECKING:
    import pandas as pd

LIMIT_BYTES = 32 * 2**20
FIGURE_BYTES = 42_000  # of a figure without anything in it
SMALL_BYTES = 16_384  # of a few words and the experiment under which they are kept
Made = TypeVar("Made")


@dataclass
class _Slot:
    """One thing, or the place for it while someone makes it."""

    making: threading.Lock = field(default_factory=threading.Lock)
    made: Any = None
    done: bool = False
    size: int = 0


class Memory:
    """Things by their content, the ones used last, at most ``limit`` bytes in all; safe for many threads."""

    def __init__(self, limit: int) -> None:
        self.limit, self.bytes = limit, 0
        self._slots: OrderedDict[Hashable, _Slot] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._slots)

    def kept(self, key: Hashable, make: Callable[[], Made], size: Callable[[Any], int]) -> Made:
        """What ``make`` returned the first time. Who asks while it is made waits; should that fail, makes it himself.

        ``make`` must not give the drawing lock away (see ui/page_lock.py). What alone is above the limit is not kept.
        """
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
            self._slots.move_to_end(key)
        with slot.making:
            if not slot.done:
                try:
                    slot.made = make()
                    slot.size, slot.done = size(slot.made), True
                finally:
                    self._count(key, slot)
        return slot.made

    def found(self, key: Hashable) -> Any:
        """What is kept under ``key``; None where nothing is, or not yet."""
        with self._lock:
            slot = self._slots.get(key)
            if slot is None or not slot.done:
                return None
            self._slots.move_to_end(key)
            return slot.made

    def _count(self, key: Hashable, slot: _Slot) -> None:
        """Add what was made, or forget it; drop what was used longest ago until all of it fits."""
        with self._lock:
            if self._slots.get(key) is not slot:
                return
            if not slot.done or slot.size > self.limit:
                del self._slots[key]
                return
            self.bytes += slot.size
            for oldest in [name for name, other in self._slots.items() if other.done]:
                if self.bytes <= self.limit:
                    break
                self.bytes -= self._slots.pop(oldest).size

    def clear(self) -> None:
        """Forget everything that is finished."""
        with self._lock:
            for key in [key for key, slot in self._slots.items() if slot.done]:
                self.bytes -= self._slots.pop(key).size


memory = Memory(LIMIT_BYTES)  # of this server process


class Picture(go.Figure):
    """A finished figure: only its document, which is shared and never changed, and the words for who cannot see it."""

    def __init__(self, figure: go.Figure, alt: str) -> None:
        super().__init__()
        object.__setattr__(self, "alt", alt)
        document = figure.to_dict()
        object.__setattr__(self, "_document", document)
        object.__setattr__(self, "size", FIGURE_BYTES + _held(document) + len(alt))

    def to_dict(self) -> dict[str, Any]:
        """The document of the figure, ready to be written as JSON."""
        return self._document


def _held(document: Any) -> int:
    """Bytes of memory that a document takes, which is 1.7 to 5 times its JSON."""
    inner = [*document, *document.values()] if isinstance(document, dict) else document
    nested = sum(map(_held, inner)) if isinstance(document, (dict, list, tuple)) else 0
    return sys.getsizeof(document) + nested


def is_own(experiment: Experiment) -> bool:
    """Whether the experiment holds what this visitor brought in a file."""
    return state.own_file() or (experiment.contexts is not None and isinstance(experiment.contexts.law, Table))


def once(
    what: str, of: Result | Experiment | Hashable, how: Hashable, make: Callable[[], Made], own: bool = False
) -> Made:
    """``make()``, made once for all visitors who look at the same in the same way.

    The same are equal results or experiments, and everything else that is equal: studies, controls, shipped files.
    ``how`` tells its pictures and words apart. ``own``: it holds what this visitor brought in a file.
    """
    experiment = of.experiment if isinstance(of, Result) else of
    if own or (isinstance(experiment, Experiment) and is_own(experiment)):
        return make()
    return memory.kept((what, of.content if isinstance(of, Result) else of, how), make, _size)


def _size(made: Any) -> int:
    if isinstance(made, Picture):
        return made.size
    return made.nbytes if isinstance(made, pa.Table) else SMALL_BYTES


def table(what: str, of: Result | Experiment | Hashable, how: Hashable, make: Callable[[], pd.DataFrame]) -> pa.Table:
    """The rows of ``make`` as they go out, made once for all visitors who see the same."""
    return once(what, of, how, lambda: as_sent(make()))


def as_sent(rows: pd.DataFrame) -> pa.Table:
    """A table as it goes out."""
    return pa.Table.from_pandas(rows, preserve_index=False)
