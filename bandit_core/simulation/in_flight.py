"""The trials of a line, shared by all runs of one process that need them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from bandit_core.model import Block
from bandit_core.simulation import scheduler
from bandit_core.simulation.results import LineResult
from bandit_core.simulation.store import Store


class Trials:
    """The trials of one line, filled block by block. Rows are read only when they are done.

    Runs of one process that need the same trials share them (`shared_trials`): fifty visitors with one link keep one
    copy and compute it once. Whoever computes a block reserves its rows, and the others wait for that one block; should
    the one who reserved it be stopped, the next one takes it over.
    """

    def __init__(self, trials: int, times: int, arms: int, error: bool) -> None:
        self._reserved: list[tuple[int, int]] = []
        self._changed = threading.Condition()
        self.done = np.zeros(trials, bool)
        self.bundled_results = ""  # which version of the project made those that came with it
        curves = [np.zeros((trials, times)) for _ in range(3 if error else 2)]
        self.block = Block(curves[0], curves[1], np.zeros((trials, arms)), *curves[2:])

    def fits(self, block: Block) -> bool:
        """Whether a block has the right arrays, with the right number of checkpoints and arms."""
        rows = block.trials
        mine = {name: (rows, *array.shape[1:]) for name, array in self.block.arrays.items()}
        return mine == {name: array.shape for name, array in block.arrays.items()}

    @contextmanager
    def reserve(self, first: int, last: int, stopped: Callable[[], bool]) -> Iterator[bool]:
        """Wait while others compute these rows; whether they are then still to be computed, and by the caller."""
        rows, mine = (first, last), False
        with self._changed:
            while not (mine or stopped() or self.done[first:last].all()):
                mine = all(last <= begin or end <= first for begin, end in self._reserved)
                if mine:
                    self._reserved.append(rows)
                else:
                    self._changed.wait(scheduler.TICK)
        try:
            yield mine
        finally:
            if mine:
                with self._changed:
                    self._reserved.remove(rows)
                    self._changed.notify_all()

    def fill(self, first: int, block: Block) -> None:
        """Take a finished block in; one that is there already has the same numbers."""
        rows, mine = slice(first, first + block.trials), self.block.arrays
        for name, array in block.arrays.items():
            mine[name][rows] = array
        self.done[rows] = True

    def line_result(self, done: np.ndarray) -> LineResult | None:
        """The rows marked in ``done``; no copy once all of them are."""
        trials = np.flatnonzero(done)
        if not len(trials):
            return None
        arrays = {
            name: array.view() if len(trials) == len(done) else array[trials]
            for name, array in self.block.arrays.items()
        }
        for array in arrays.values():
            array.flags.writeable = False  # results are shared between visitors
        return LineResult(trials, **arrays)


_sharing = threading.Lock()


def shared_trials(store: Store, key: str, trials: int, times: int, arms: int, error: bool) -> Trials:
    """The trials of the line with this key, those of another run where one holds them."""
    with _sharing:
        found = store.held.get((key, trials))
        if found is None:
            store.held[key, trials] = found = Trials(trials, times, arms, error)
    return found
