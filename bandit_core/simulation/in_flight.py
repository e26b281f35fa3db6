"""Are these trials there, or does somebody compute them? One answer for all runs of a process, and for all processes.

Runs of one process that need the same trials share them (`shared_trials`): fifty visitors with one link keep one copy
and compute it once. Processes share the store and its locks (`trial_locks`).
"""

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

    Whoever computes a block reserves its rows, and the others wait for that one block; should the one who reserved it
    be stopped, the next one takes it over.
    """

    def __init__(self, store: Store, key: str, trials: int, times: int, arms: int, error: bool) -> None:
        self._store, self._key = store, key
        self._reserved: list[tuple[int, int]] = []
        self._changed = threading.Condition()
        self.done = np.zeros(trials, bool)
        self.bundled_results = ""  # which version of the project made those that came with it
        curves = [np.zeros((trials, times)) for _ in range(3 if error else 2)]
        self.block = Block(curves[0], curves[1], np.zeros((trials, arms)), *curves[2:])

    def look(self, first: int, last: int) -> bool:
        """Take in what the store has of these rows; whether all of them are there."""
        if not self.done[first:last].all():
            for begin, block in self._store.get(self._key, last, first):
                self.fill(begin, block)
        return bool(self.done[first:last].all())

    @contextmanager
    def missing(self, first: int, last: int, stopped: Callable[[], bool]) -> Iterator[bool]:
        """Wait while others compute these rows; whether they are then still to be computed, and by the caller."""
        rows, is_free = (first, last), False
        with self._changed:
            while not (is_free or stopped() or self.done[first:last].all()):
                is_free = all(last <= begin or end <= first for begin, end in self._reserved)
                if is_free:
                    self._reserved.append(rows)
                else:
                    self._changed.wait(scheduler.TICK)
        if not is_free:
            yield False
            return
        try:
            with self._store.claims.trials(self._key, first, last, stopped):
                yield not self.look(first, last)  # another process may have computed them meanwhile
        finally:
            with self._changed:
                self._reserved.remove(rows)
                self._changed.notify_all()

    def keep(self, first: int, last: int, block: Block) -> bool:
        """Put the block of these rows into the store, and tell whether it took it.

        Raises
        ------
        RuntimeError
            Where the block has another shape.
        """
        if not self._fits(block) or block.trials != last - first:
            raise RuntimeError("a kernel returned a block of the wrong shape")
        return self._store.put(self._key, first, block)

    def _fits(self, block: Block) -> bool:
        shapes = {name: (block.trials, *array.shape[1:]) for name, array in self.block.arrays.items()}
        return shapes == {name: array.shape for name, array in block.arrays.items()}

    def fill(self, first: int, block: Block) -> bool:
        """Take a finished block in, and tell whether it has the right arrays."""
        rows, arrays = slice(first, first + block.trials), self.block.arrays
        if not self._fits(block):
            return False
        for name, array in block.arrays.items():
            arrays[name][rows] = array
        self.done[rows] = True
        return True

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
        shared = store.held.get((key, trials))
        if shared is None:
            store.held[key, trials] = shared = Trials(store, key, trials, times, arms, error)
    shared.look(0, trials)
    return shared
