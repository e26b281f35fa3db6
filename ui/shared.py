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
from typing import TYPE_CHECKING, Any, TypeVar

import plotly.graph_objects as go
import pyarrow as pa

from bandit_core import Experiment
from bandit_core.simulation.results import Result
from bandit_core.spec import own_data

if TYPE_CHECKING:
    import pandas as pd

LIMIT_BYTES = 32 * 2**20
FIGURE_BYTES = 42_000  # of a figure without anything in it
SMALL_BYTES = 16_384  # of a few words and the experiment under which they are kept
Made = TypeVar("Made")


class Memory:
    """Things by their content, the ones used last, at most ``limit`` bytes in all; safe for many threads.

    It takes nothing while someone's own data are looked at.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.bytes = limit, 0
        self._made: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._made)

    def get_or_make(self, key: Hashable, make: Callable[[], Made], size: Callable[[Made], int]) -> Made:
        """What ``make`` returned the first time. Who asks while it is made waits; should that fail, makes it himself.

        ``make`` must not give the drawing lock away (see ui/page_lock.py). What alone is above the limit is not kept.
        """
        if own_data.store() is not None:
            return make()
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with making:
            made = self.get(key)
            if made is None:
                try:
                    made = make()
                    self._keep(key, made, size(made))
                finally:
                    with self._lock:
                        self._making.pop(key, None)
        return made

    def get(self, key: Hashable) -> Any:
        """What is kept under ``key``; None where nothing is, or not yet."""
        with self._lock:
            if key in self._made:
                self._made.move_to_end(key)
            return self._made.get(key, (None, 0))[0]

    def _keep(self, key: Hashable, made: Any, size: int) -> None:
        """Add what was made; drop what was used longest ago until all of it fits."""
        with self._lock:
            if size <= self.limit and key not in self._made:
                self._made[key] = made, size
                self.bytes += size
                while self.bytes > self.limit:
                    self.bytes -= self._made.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Forget everything that is finished."""
        with self._lock:
            self._made.clear()
            self.bytes = 0


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


def once(what: str, of: Result | Experiment | Hashable, how: Hashable, make: Callable[[], Made]) -> Made:
    """``make()``, made once for all visitors who look at the same in the same way.

    The same are equal results or experiments, and everything else that is equal: studies, controls, shipped files.
    ``how`` tells its pictures and words apart.
    """
    return memory.get_or_make((what, of.content if isinstance(of, Result) else of, how), make, _size)


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
