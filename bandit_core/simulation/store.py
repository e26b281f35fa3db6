"""Blocks of trials: files, bounded in bytes; and who of this process computes what is missing."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import tempfile
import threading
import weakref
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bandit_core.model import Block
from bandit_core.paths import cache_folder
from bandit_core.simulation import scheduler
from bandit_core.simulation.bundled_results import Beforehand, pack, unpack
from bandit_core.simulation.costs import SETTINGS, setting
from bandit_core.simulation.results import LineResult
from bandit_core.simulation.trial_locks import Claims
from bandit_core.spec.errors import InputError

# ---------------------------------------------------------------------------------------------------------------------
# Blocks of trials: a file each, bounded in bytes, those used last are kept.
#
# A file holds raw numbers (never pickle) with a checksum and is found by its name: key, first trial, number of trials.
# It is written beside and renamed, so no one reads half a block, whoever is killed; a damaged one is missing, and
# computed again. Several processes may share the folder. Where it cannot be written, the same store lives in memory:
# that costs time, never a number. ``LAB_CACHE_MB`` bounds it (default 512).


FORMAT = 5  # part of the folder's name: another format never meets this code
PAGE = 4096  # bytes; a file takes whole pages of the disk
SLACK = 1 / 16  # of the limit, that a process writes before it looks again what others have written


def _room(size: int) -> int:
    return -(-size // PAGE) * PAGE


class _Memory(OrderedDict[str, bytes]):
    """Packed blocks by name; the ones used longest ago come first."""

    def names(self, key: str) -> list[str]:
        return [name for name in list(self) if name.startswith(key)]

    def read(self, name: str) -> bytes:
        self.move_to_end(name)
        return self[name]

    write, remove = OrderedDict.__setitem__, OrderedDict.__delitem__

    def oldest(self) -> list[tuple[str, int]]:
        return [(name, len(data)) for name, data in self.items()]


class _Folder:
    """The same as files, in folders named after the first letters of their keys."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()  # may files be made here?
        self._path = path

    def _at(self, name: str) -> Path:
        return self._path / name[:2] / name

    def names(self, key: str) -> list[str]:
        folder = self._path / key[:2]
        return [name for name in os.listdir(folder) if name.startswith(key)] if folder.is_dir() else []

    def read(self, name: str) -> bytes:
        data = self._at(name).read_bytes()
        with contextlib.suppress(OSError):
            os.utime(self._at(name))
        return data

    def write(self, name: str, data: bytes) -> None:
        beside = self._at(f"{name}.{os.getpid()}.new")  # one thread writes at a time
        beside.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_bytes(data)
            beside.replace(self._at(name))
        except OSError:
            beside.unlink(missing_ok=True)
            raise

    def remove(self, name: str) -> None:
        self._at(name).unlink(missing_ok=True)

    def oldest(self) -> list[tuple[str, int]]:
        files = []
        for file in self._path.glob("??/*"):
            with contextlib.suppress(FileNotFoundError):  # another process has removed it
                about = file.stat()
                files.append((about.st_mtime, file.name, about.st_size))
        return [(name, size) for _, name, size in sorted(files)]


class Store:
    """Blocks by key and first trial.

    Every method is safe from several threads, and none raises for trouble with the disk: a lost cache costs time only.

    Parameters
    ----------
    path
        The folder; None keeps everything in memory.
    limit_bytes
        What all blocks together may take, in whole pages; 0 keeps nothing. Each further process that writes to the same
        folder may pass it by a sixteenth.
    """

    def __init__(self, path: Path | None, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.bundled_results: Beforehand | None = None  # blocks that ship with the project, where its owner wants them
        self.held: weakref.WeakValueDictionary[tuple[str, int], Any] = weakref.WeakValueDictionary()  # by running runs
        self._lock = threading.Lock()
        self._written = math.inf  # bytes since the limit was looked after
        self._blocks: _Memory | _Folder = _Memory()
        with contextlib.suppress(OSError):
            self._blocks = _Folder(path) if path is not None else self._blocks
        self.claims = Claims(path if self.on_disk else None)

    @property
    def on_disk(self) -> bool:
        """Whether blocks outlive this process."""
        return isinstance(self._blocks, _Folder)

    def get(self, key: str, trials: int, since: int = 0) -> list[tuple[int, Block]]:
        """Disjoint stored blocks of ``key`` with trials from ``since`` to ``trials - 1``, as (first trial, block).

        A block that reaches beyond the last is cut. Takes the memory of the blocks it returns, plus one.
        """
        blocks: list[tuple[int, Block]] = []
        with contextlib.suppress(OSError):
            places = [re.fullmatch(r".*\.(\d+)\.(\d+)", name) for name in self._blocks.names(f"{key}.")]
            for first, minus in sorted((int(place[1]), -int(place[2])) for place in places if place):
                reached = blocks[-1][0] + blocks[-1][1].trials if blocks else 0
                if reached <= first < trials and first - minus > since:
                    block = self._read(f"{key}.{first}.{-minus}", -minus)
                    if block is not None:
                        kept = {name: array[: trials - first] for name, array in block.arrays.items()}
                        blocks.append((first, Block(**kept)))
        return blocks

    def _read(self, name: str, trials: int) -> Block | None:
        """The block of that name; None where it is damaged, or another process has just removed it."""
        with contextlib.suppress(OSError, ValueError, EOFError, zlib.error, KeyError):
            data = self._blocks.read(name)
            if zlib.crc32(data[4:], zlib.crc32(name.encode())) == int.from_bytes(data[:4], "big"):
                block = unpack(data[4:])
                return block if all(len(array) == trials for array in block.arrays.values()) else None
        return None

    def put(self, key: str, first: int, block: Block) -> bool:
        """Keep a block, and tell whether it was kept; the least recently used ones go when the store is too large."""
        if not self.limit_bytes:
            return False
        name, data = f"{key}.{first}.{block.trials}", pack(block)
        data = zlib.crc32(data, zlib.crc32(name.encode())).to_bytes(4, "big") + data
        with self._lock:
            if _room(len(data)) > self.limit_bytes:
                return False
            try:
                self._make_room(_room(len(data)))
                self._blocks.write(name, data)
            except OSError:
                return False
        return True

    def _make_room(self, size: int) -> None:
        """Remove the blocks used longest ago, where more was written since the last time than may be without a look."""
        slack = max(size, int(self.limit_bytes * SLACK))
        self._written += size
        if self._written > slack:
            blocks = self._blocks.oldest()
            excess = sum(_room(size) for _, size in blocks) + slack - self.limit_bytes
            for name, size_of_it in blocks:
                if excess > 0:
                    self._blocks.remove(name)
                    excess -= _room(size_of_it)
            self._written = size

    def bytes_used(self) -> int:
        """Room that all stored blocks take, in bytes."""
        return sum(_room(size) for _, size in self._blocks.oldest())

    def close(self) -> None:
        """Forget what is in memory. The store keeps nothing and finds nothing afterwards."""
        with self._lock:
            self._blocks, self.limit_bytes = _Memory(), 0


@cache
def default_store() -> Store:
    """The process's store, as ``LAB_CACHE_DIR`` and ``LAB_CACHE_MB`` set it."""
    try:
        limit = setting("LAB_CACHE_MB") * 2**20
    except InputError:  # each run is refused with these words, see `costs.refuse`
        limit = SETTINGS["LAB_CACHE_MB"][1] * 2**20
    folder = cache_folder()
    for old in folder.glob("blocks-*"):  # what no version will ever read again
        version = re.match(r"blocks-(\d+)\b", old.name)
        if version and int(version[1]) < FORMAT:
            shutil.rmtree(old, ignore_errors=True)
            with contextlib.suppress(OSError):
                old.unlink()
    return Store(folder / f"blocks-{FORMAT}" if limit else None, limit)


# ---------------------------------------------------------------------------------------------------------------------
# Are these trials there, or does somebody compute them? One answer for all runs of a process, and for all processes.
#
# Runs of one process that need the same trials share them (`shared_trials`): fifty visitors with one link keep one copy
# and compute it once. Processes share the store and its locks (`trial_locks`).


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
