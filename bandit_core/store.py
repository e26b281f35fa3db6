"""Blocks of trials on disk: an embedded SQLite file, bounded in bytes, least recently used first out.

A block is raw NumPy bytes (never pickle) behind a checksum; a damaged one is dropped and computed again. Several
processes may share the file. Where the folder is missing or read-only the same store lives in memory: that costs
time, never a number. ``LAB_CACHE_MB`` bounds it (default 512).
"""

from __future__ import annotations

import io
import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

from bandit_core.kernels.compiled import cache_folder
from bandit_core.policies.base import Block

_SCHEMA = """
CREATE TABLE IF NOT EXISTS blocks (
    key TEXT, first INTEGER, trials INTEGER, data BLOB, checksum INTEGER, bytes INTEGER, used REAL,
    PRIMARY KEY (key, first, trials)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_use ON blocks (used);
"""


def _pack(block: Block) -> bytes:
    out = io.BytesIO()
    for array in (block.regret, block.best_pulls, block.pulls):
        np.lib.format.write_array(out, np.ascontiguousarray(array, np.float64), allow_pickle=False)
    return zlib.compress(out.getvalue(), 1)


def _unpack(data: bytes) -> Block:
    source = io.BytesIO(zlib.decompress(data))
    regret, best_pulls, pulls = (np.lib.format.read_array(source, allow_pickle=False) for _ in range(3))
    return Block(regret, best_pulls, pulls)


class Store:
    """Blocks by key and first trial. Every method is safe from several threads and never raises for disk trouble."""

    def __init__(self, path: Path | None, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self.on_disk = path is not None
        self._connection = self._open(path)

    def _open(self, path: Path | None) -> sqlite3.Connection:
        if path is not None:
            for attempt in range(2):
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    connection = sqlite3.connect(path, timeout=5, check_same_thread=False, isolation_level=None)
                    connection.execute("PRAGMA journal_mode=WAL")
                    connection.execute("PRAGMA synchronous=NORMAL")
                    connection.executescript(_SCHEMA)
                    connection.execute("DELETE FROM blocks WHERE 0")  # proves that the file can be written
                    return connection
                except sqlite3.DatabaseError as error:
                    if attempt == 0 and not isinstance(error, sqlite3.OperationalError):
                        path.unlink(missing_ok=True)  # not a database: start afresh
                        continue
                    break
                except OSError:
                    break
        self.on_disk = False
        connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        connection.executescript(_SCHEMA)
        return connection

    @contextmanager
    def _quietly(self) -> Iterator[sqlite3.Connection]:
        """A lost cache costs time only: locked, full or damaged files are passed over."""
        with self._lock:
            try:
                yield self._connection
            except (sqlite3.Error, OSError):
                return

    def get(self, key: str, trials: int) -> list[tuple[int, Block]]:
        """Disjoint stored blocks of ``key`` that lie inside trials 0 to ``trials - 1``, as (first trial, block)."""
        found: list[tuple[int, Block]] = []
        rows: list[tuple[int, int, bytes, int]] = []
        with self._quietly() as database:
            query = "SELECT first, trials, data, checksum FROM blocks WHERE key = ? ORDER BY first, trials DESC"
            rows = database.execute(query, (key,)).fetchall()
        reached = 0
        for first, count, data, checksum in rows:
            if first < reached or first >= trials:
                continue
            try:
                if zlib.crc32(data) != checksum:
                    raise ValueError("checksum")
                block = _unpack(data)
                if block.trials != count:
                    raise ValueError("shape")
            except (ValueError, zlib.error, EOFError):
                with self._quietly() as database:
                    database.execute("DELETE FROM blocks WHERE key = ? AND first = ?", (key, first))
                continue
            if first + count > trials:  # a longer run was kept: its head is what we want
                block = Block(*(array[: trials - first] for array in (block.regret, block.best_pulls, block.pulls)))
            found.append((first, block))
            reached = first + block.trials
        if found:
            with self._quietly() as database:
                database.execute("UPDATE blocks SET used = ? WHERE key = ?", (time.time(), key))
        return found

    def put(self, key: str, first: int, block: Block) -> None:
        """Keep a block; the least recently used ones go when the store is over its limit."""
        data = _pack(block)
        if len(data) > self.limit_bytes:
            return
        with self._quietly() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                database.execute(
                    "INSERT OR REPLACE INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (key, first, block.trials, data, zlib.crc32(data), len(data), time.time()),
                )
                total = database.execute("SELECT SUM(bytes) FROM blocks").fetchone()[0] or 0
                while total > self.limit_bytes:
                    oldest = database.execute(
                        "SELECT key, first, trials, bytes FROM blocks ORDER BY used LIMIT 1"
                    ).fetchone()
                    database.execute(
                        "DELETE FROM blocks WHERE key = ? AND first = ? AND trials = ?", oldest[:3]
                    )
                    total -= oldest[3]
                database.execute("COMMIT")
            except BaseException:
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise

    def bytes_used(self) -> int:
        """Bytes of all stored blocks."""
        total = 0
        with self._quietly() as database:
            total = database.execute("SELECT SUM(bytes) FROM blocks").fetchone()[0] or 0
        return int(total)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()


@cache
def default_store() -> Store:
    """The process's store, as the environment sets it."""
    try:
        megabytes = float(os.environ.get("LAB_CACHE_MB", "512"))
    except ValueError:
        megabytes = 512.0
    limit = int(max(0.0, megabytes) * 2**20)
    return Store(cache_folder() / "blocks-1.sqlite" if limit else None, limit)
