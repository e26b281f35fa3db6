"""Blocks that ship with the project, so that a fresh machine draws at once what pages show without being asked.

A block is found by the code and the arguments of the kernel that made it, whichever libraries compile it here: an edit
of a kernel makes its blocks unfindable, never wrong. Where ``python -m benchmarks.shipped`` has seen that the edited
code gives the same numbers, `VERIFIED` has its keys, with those in the file, which stays as it is.
``python -m benchmarks.first_pictures`` makes the file anew.

Blocks as bytes: raw numbers (never pickle), compressed; fast for the store, small for what ships.

Curves change little from one checkpoint to the next: differences are packed, of whole numbers as such, of others
between their bits.
"""

import contextlib
import io
import json
import lzma
import sqlite3
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bandit_core import paths
from bandit_core.experiments.experiment import Experiment
from bandit_core.jit.decorators import patiently
from bandit_core.model import Block

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


def _opened(path: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True))


Code = Callable[..., bytes]
_quickly: Code = partial(zlib.compress, level=1)


def pack(block: Block, compress: Code = _quickly) -> bytes:
    """The numbers of a block to the last bit."""
    out = io.BytesIO()
    for array in block.arrays.values():  # always in the same order; the last one may be absent
        numbers = np.ascontiguousarray(array, np.float64)
        with np.errstate(invalid="ignore"):
            integers = numbers.astype(np.int64)
        bits = numbers.view(np.int64)
        exact = bool((integers.astype(np.float64).view(np.int64) == bits).all())
        steps = np.diff(integers if exact else bits, axis=1, prepend=np.int64(0))  # wraps around, and back in `unpack`
        for part in (np.array([exact]), steps):
            np.lib.format.write_array(out, part, allow_pickle=False)
    return compress(out.getbuffer())


def unpack(data: bytes, decompress: Code = zlib.decompress) -> Block:
    """The block of `pack`; a ValueError or an error of the decompressor where it is none."""
    content = decompress(data)
    source, arrays = io.BytesIO(content), []
    while source.tell() < len(content):
        exact, steps = (patiently(partial(_array_at, source, source.tell())) for _ in range(2))
        kept = steps.cumsum(axis=1)
        arrays.append(kept.astype(np.float64) if exact else kept.view(np.float64))
    if len(arrays) not in (3, 4):
        raise ValueError("not the arrays of a block")
    return Block(*arrays)


def _array_at(source: io.BytesIO, place: int) -> np.ndarray:
    source.seek(place)
    array: np.ndarray = np.lib.format.read_array(source, allow_pickle=False)
    return array
