"""Blocks of trials on disk: an embedded SQLite file, bounded in bytes, least recently used first out.

A block is raw NumPy bytes (never pickle). Its checksum covers these bytes and where they belong (key, first trial,
number of trials); a damaged or moved block is dropped and computed again. Several processes may share the file, and a
killed one leaves it usable (write-ahead log). Where the folder is missing or read-only the same store lives in memory:
that costs time, never a number. ``LAB_CACHE_MB`` bounds it (default 512).
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
import weakref
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from bandit_core.model import Block
from bandit_core.paths import cache_folder
from bandit_core.simulation.bundled_results import Beforehand
from bandit_core.simulation.costs import SETTINGS, setting
from bandit_core.simulation.packing import pack, unpack
from bandit_core.simulation.trial_locks import Claims
from bandit_core.spec.errors import InputError

T = TypeVar("T")

FORMAT = 4  # part of the file's name: another format never meets this code
WRITER_SECONDS = 3.0  # to wait for another process that is writing
PAGE = 4096  # bytes; SQLite gives what is larger than one of its pages pages of its own
JOURNAL = 2**20  # bytes that the write-ahead log comes down to again, on top of the limit

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED = (
    sqlite3.SQLITE_ERROR,  # among them: tables that are not ours
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_CONSTRAINT,
)

# Bytes and time of last use stand apart from the data: touching or summing them must not read the data.
_SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS blocks (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, first INTEGER NOT NULL, trials INTEGER NOT NULL,
    bytes INTEGER NOT NULL, used REAL NOT NULL, checksum INTEGER NOT NULL, UNIQUE (key, first, trials));
CREATE TABLE IF NOT EXISTS contents (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS by_use ON blocks (used, bytes);
CREATE TRIGGER IF NOT EXISTS removed AFTER DELETE ON blocks BEGIN DELETE FROM contents WHERE id = old.id; END;
COMMIT;
"""


_DELETE = "DELETE FROM blocks WHERE id = ?"  # its contents go by the trigger


class Store:
    """Blocks by key and first trial.

    Every method is safe from several threads, and none raises for trouble with the disk: a lost cache costs time only.

    Parameters
    ----------
    path
        The file; None keeps everything in memory.
    limit_bytes
        What all blocks together may take on disk, in whole pages (a journal of a MiB or so comes on top); 0 keeps
        nothing.
    """

    def __init__(self, path: Path | None, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._path = path
        self._file = 0  # which file is open
        self.renewed = 0  # how often it was removed by someone and made again
        self.bundled_results: Beforehand | None = None  # blocks that ship with the project, where its owner wants them
        self.held: weakref.WeakValueDictionary[tuple[str, int], Any] = weakref.WeakValueDictionary()  # by running runs
        self._use(self._open())
        self.claims = Claims(self._path.parent if self._path is not None else None)

    @property
    def on_disk(self) -> bool:
        """Whether blocks outlive this process."""
        return self._path is not None

    def _open(self) -> sqlite3.Connection:
        """Open the file, or a new one if it is damaged; else (or without a path) keep blocks in memory."""
        deadline = time.monotonic() + WRITER_SECONDS
        renewed = False
        while self._path is not None:
            try:
                connection = self._connect(self._path)
                self._file = _identity(self._path)
                return connection
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if _code(error) in _BUSY and time.monotonic() < deadline:
                    time.sleep(0.05)  # two that create the file at once see it locked in spite of the time-out
                elif _is_damage(error) and not renewed and self._remove():
                    renewed = True
                else:
                    self._path = None
            except OSError:
                self._path = None
        return _prepared(sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None))

    def _use(self, connection: sqlite3.Connection) -> None:
        """Work with this connection from now on, and close it with the store: from Python 3.13 on, one that is left to
        the garbage collector is a warning.
        """
        self._connection = connection
        self._closing = weakref.finalize(self, connection.close)

    @staticmethod
    def _connect(path: Path) -> sqlite3.Connection:
        path.parent.mkdir(parents=True, exist_ok=True)
        return _prepared(
            sqlite3.connect(path, timeout=WRITER_SECONDS, check_same_thread=False, isolation_level=None),
            f"PRAGMA page_size={PAGE}; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
            f"PRAGMA wal_autocheckpoint={JOURNAL // PAGE}; PRAGMA journal_size_limit={JOURNAL};",
        )

    def _remove(self) -> bool:
        """Remove a damaged file; whether that was possible."""
        assert self._path is not None
        try:
            for ending in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + ending).unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _read(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """``work(connection)``; a locked or full disk is passed over, a damaged file is replaced by a new one."""
        with self._lock:
            self._come_back()
            try:
                return work(self._connection)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                if _is_damage(error):
                    self._closing()
                    if self._path is not None and not self._remove():
                        self._path = None
                    self._use(self._open())
                return otherwise

    def _come_back(self) -> None:
        """Make the file again where someone has removed it: SQLite would go on writing into what no one can find."""
        if self._path is None or _identity(self._path) == self._file:
            return
        message = "%s was removed: finished blocks go into a new one, and what is missing is computed again"
        logging.getLogger(__name__).warning(message, self._path)
        self.renewed += 1
        self._closing()
        self._use(self._open())

    def _write(self, work: Callable[[sqlite3.Connection], None]) -> bool:
        """The same, all or nothing; whether it was all."""

        def whole(database: sqlite3.Connection) -> bool:
            with database:  # commits, or rolls back
                database.execute("BEGIN IMMEDIATE")
                work(database)
            return True

        return self._read(whole, False)

    def get(self, key: str, trials: int, since: int = 0) -> list[tuple[int, Block]]:
        """Disjoint stored blocks of ``key`` with trials from ``since`` to ``trials - 1``, as (first trial, block).

        A block that reaches beyond the last is cut. Takes the memory of the blocks it returns, plus one.
        """
        query = (
            "SELECT id, first, trials, checksum FROM blocks WHERE key = ? AND first < ? AND first + trials > ? "
            "ORDER BY first, trials DESC"
        )
        rows: list[tuple[int, int, int, int]] = self._read(
            lambda database: database.execute(query, (key, trials, since)).fetchall(), []
        )
        found: list[tuple[int, Block]] = []
        used, damaged = [], []
        reached = 0
        for number, first, count, checksum in rows:
            if not (isinstance(first, int) and isinstance(count, int)):  # a damaged row may hold anything
                damaged.append(number)
                continue
            if first < reached:
                continue
            block = self._checked(self._data(number), checksum, (key, first, count))
            if block is None:
                damaged.append(number)
                continue
            if first + count > trials:  # a longer run was kept: its head is what we want
                block = Block(**{name: array[: trials - first].copy() for name, array in block.arrays.items()})
            found.append((first, block))
            used.append(number)
            reached = first + block.trials
        if used or damaged:

            def note(database: sqlite3.Connection) -> None:
                now = time.time()
                database.executemany("UPDATE blocks SET used = ? WHERE id = ?", [(now, number) for number in used])
                database.executemany(_DELETE, [(number,) for number in damaged])

            self._write(note)
        return found

    def _data(self, number: int) -> bytes:
        """The bytes of one block (none where another process has just removed it)."""
        query = "SELECT data FROM contents WHERE id = ?"
        found = self._read(lambda database: database.execute(query, (number,)).fetchone(), None)
        return found[0] if found else b""

    @staticmethod
    def _checked(data: bytes, checksum: int, place: tuple[str, int, int]) -> Block | None:
        """The block of this key, first trial and number of trials; None where it is damaged or belongs elsewhere."""
        if not isinstance(data, bytes) or _checksum(data, place) != checksum:
            return None
        try:
            block = unpack(data)
        except (ValueError, zlib.error, EOFError):
            return None
        return block if all(len(array) == place[2] for array in block.arrays.values()) else None

    def put(self, key: str, first: int, block: Block) -> bool:
        """Keep a block, and tell whether it was kept; the least recently used ones go when the store is too large."""
        if self.limit_bytes <= 0:
            return False
        data = pack(block)
        room = len(data) if len(data) <= PAGE // 2 else -(-len(data) // PAGE) * PAGE
        if room > self.limit_bytes:
            return False
        place = (key, first, block.trials)

        def insert(database: sqlite3.Connection) -> None:
            database.execute("DELETE FROM blocks WHERE key = ? AND first = ? AND trials = ?", place)
            number = database.execute(
                "INSERT INTO blocks (key, first, trials, bytes, used, checksum) VALUES (?, ?, ?, ?, ?, ?)",
                (*place, room, time.time(), _checksum(data, place)),
            ).lastrowid
            database.execute("INSERT OR REPLACE INTO contents VALUES (?, ?)", (number, data))
            excess, oldest = _total(database) - self.limit_bytes, []
            for old, size in database.execute("SELECT id, bytes FROM blocks ORDER BY used, id") if excess > 0 else ():
                oldest.append((old,))
                excess -= size
                if excess <= 0:
                    break
            database.executemany(_DELETE, oldest)

        return self._write(insert)

    def bytes_used(self) -> int:
        """Room that all stored blocks take, in bytes."""
        return self._read(_total, 0)

    def close(self) -> None:
        """Close the file. The store keeps nothing and finds nothing afterwards."""
        with self._lock:
            self._closing()
            self._path, self.limit_bytes = None, 0
            self._use(self._open())


def _prepared(connection: sqlite3.Connection, settings: str = "") -> sqlite3.Connection:
    """The connection with our tables, proven to be readable and (by BEGIN IMMEDIATE) writable; else closed."""
    try:
        connection.executescript(settings + _SCHEMA)
        if _tables(connection) != _our_tables():
            raise sqlite3.OperationalError("the tables are not ours, or their definitions are damaged")
        _total(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _tables(database: sqlite3.Connection) -> list[tuple[str | None]]:
    return database.execute("SELECT sql FROM sqlite_master ORDER BY name").fetchall()


@cache
def _our_tables() -> list[tuple[str | None]]:
    """The definitions that SQLite keeps of our tables, index and trigger."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.executescript(_SCHEMA)
        return _tables(database)


def _identity(path: Path) -> int:
    """The number of the file at this path; 0 where there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _checksum(data: bytes, place: tuple[str, int, int]) -> int:
    """CRC-32 of the bytes of a block and of where they belong: key, first trial, number of trials."""
    return zlib.crc32(data, zlib.crc32(repr(place).encode()))


def _code(error: Exception) -> int:
    """SQLite's primary result code (0 where the error is not SQLite's own)."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _is_damage(error: Exception) -> bool:
    """Whether the file is damaged. Damaged names and texts end as errors of Python's own, without a code of SQLite."""
    undecodable = isinstance(error, UnicodeDecodeError | sqlite3.OperationalError) and not _code(error)
    return undecodable or _code(error) in _DAMAGED


def _total(database: sqlite3.Connection) -> int:
    return int(database.execute("SELECT COALESCE(SUM(bytes), 0) FROM blocks").fetchone()[0])


@cache
def default_store() -> Store:
    """The process's store, as ``LAB_CACHE_DIR`` and ``LAB_CACHE_MB`` set it."""
    try:
        limit = setting("LAB_CACHE_MB") * 2**20
    except InputError:  # each run is refused with these words, see `costs.refuse`
        limit = SETTINGS["LAB_CACHE_MB"][1] * 2**20
    folder = cache_folder()
    for old in folder.glob("blocks-*.sqlite*"):  # what no version will ever read again
        version = old.name.removeprefix("blocks-").partition(".")[0]
        if version.isdigit() and int(version) < FORMAT:
            with contextlib.suppress(OSError):
                old.unlink()
    return Store(folder / f"blocks-{FORMAT}.sqlite" if limit else None, limit)
