"""Blocks that ship with the project, so that a fresh machine draws at once what pages show without being asked.

They are found by the code and the arguments of a kernel, whichever libraries compile it here: an edit of a kernel makes
its blocks unfindable, never wrong. ``python -m benchmarks.first_pictures`` makes the file anew.
"""

from __future__ import annotations

import contextlib
import lzma
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bandit_core import places
from bandit_core.jit.version import LIBRARIES
from bandit_core.model import Block
from bandit_core.simulation.packing import pack_small, unpack_small

FILE = places.ROOT / "presets" / "first-pictures.sqlite"


@dataclass(frozen=True)
class Beforehand:
    """The blocks of one file, which is only read. ``made`` says which version of the project made it, under which
    libraries.
    """

    path: Path
    made: str

    def get(self, key: str, trials: int) -> Block | None:
        """The first ``trials`` trials, or as many as there are, by `PreparedLine.portable_key`; None without any."""
        with contextlib.suppress(sqlite3.Error, ValueError, lzma.LZMAError), _opened(self.path) as database:
            found = database.execute("SELECT data FROM blocks WHERE key = ?", (key,)).fetchone()
            if found is not None:
                return Block(**{name: array[:trials] for name, array in unpack_small(found[0]).arrays.items()})
        return None


def open_shipped(path: Path = FILE) -> Beforehand | None:
    """The file that ships with the project; None where it is missing or cannot be read."""
    try:
        with _opened(path) as database:
            (made,) = database.execute("SELECT made FROM origin").fetchone()
    except (sqlite3.Error, TypeError):
        return None
    return Beforehand(path, made)


def write(path: Path, blocks: Iterable[tuple[str, Block]]) -> None:
    """Write such a file anew, from (portable key, block with all trials from the first)."""
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE origin (made TEXT NOT NULL)")
        database.execute("CREATE TABLE blocks (key TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID")
        database.execute("INSERT INTO origin VALUES (?)", (f"version {places.project_version()} ({LIBRARIES})",))
        database.executemany(
            "INSERT OR IGNORE INTO blocks VALUES (?, ?)", sorted((key, pack_small(block)) for key, block in blocks)
        )


def _opened(path: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True))
