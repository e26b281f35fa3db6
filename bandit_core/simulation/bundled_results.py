"""Blocks that ship with the project, so that a fresh machine draws at once what pages show without being asked.

A block is found by the code and the arguments of the kernel that made it, whichever libraries compile it here: an edit
of a kernel makes its blocks unfindable, never wrong. Where ``python -m benchmarks.shipped`` has seen that the edited
code gives the same numbers, `VERIFIED` has its keys, with those in the file, which stays as it is.
``python -m benchmarks.first_pictures`` makes the file anew.
"""

import contextlib
import json
import lzma
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bandit_core import paths
from bandit_core.experiments.experiment import Experiment
from bandit_core.jit.version import LIBRARIES
from bandit_core.model import Block
from bandit_core.simulation.packing import pack, small, unpack

FILE = paths.ROOT / "presets" / "first-pictures.sqlite"
VERIFIED = paths.ROOT / "presets" / "verified.json"  # which code gives the numbers that ship


@dataclass(frozen=True)
class Beforehand:
    """The blocks of one file, which is only read. ``made`` says which version of the project made it, under which
    libraries; ``others`` are keys of other code that gives the same numbers, with those of the file.
    """

    path: Path
    made: str
    others: dict[str, str] = field(default_factory=dict)

    def get(self, key: str, experiment: Experiment, number: int) -> Block | None:
        """The trials of a line of an experiment, or as many as there are, by its `PreparedLine.portable_key`; None
        without any.
        """
        query, keys = "SELECT data FROM blocks WHERE key IN (?, ?)", (key, self.others.get(key, key))
        with contextlib.suppress(sqlite3.Error, ValueError, lzma.LZMAError), _opened(self.path) as database:
            row = database.execute(query, keys).fetchone()
            if row is not None:
                arrays = unpack(row[0], lzma.decompress).arrays.items()
                return Block(**{name: array[: experiment.trials] for name, array in arrays})
        return None

    def questions(self) -> dict[str, Experiment]:
        """What each block of the file answers, an experiment of one line with all its trials, by the block's key."""
        with _opened(self.path) as database:
            rows = database.execute("SELECT key, spec FROM blocks").fetchall()
        return {key: Experiment.model_validate_json(spec) for key, spec in rows}


def verified() -> dict[str, Any]:
    """What ``python -m benchmarks.shipped`` has noted: ``policies`` and ``blocks``; {} where it cannot be read."""
    try:
        return dict(json.loads(VERIFIED.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def open_shipped(path: Path = FILE) -> Beforehand | None:
    """The file that ships with the project; None where it is missing or cannot be read."""
    try:
        with _opened(path) as database:
            (made,) = database.execute("SELECT made FROM origin").fetchone()
    except (sqlite3.Error, TypeError):
        return None
    return Beforehand(path, made, verified().get("blocks", {}))


def write(path: Path, blocks: Iterable[tuple[str, Experiment, Block]]) -> None:
    """Write such a file anew, from (portable key, experiment of this line, block with all trials from the first)."""
    path.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE origin (made TEXT NOT NULL)")
        database.execute("CREATE TABLE blocks (key TEXT PRIMARY KEY, spec TEXT, data BLOB) WITHOUT ROWID")
        database.execute("INSERT INTO origin VALUES (?)", (f"version {paths.project_version()} ({LIBRARIES})",))
        database.executemany(
            "INSERT OR IGNORE INTO blocks VALUES (?, ?, ?)",
            sorted((key, json.dumps(asked.spec()), pack(block, small)) for key, asked, block in blocks),
        )


def _opened(path: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True))
