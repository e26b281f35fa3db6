"""Blocks as bytes: raw NumPy arrays (never pickle), compressed."""

from __future__ import annotations

import io
import zlib
from functools import partial

import numpy as np

from bandit_core.jit.syntax import patiently
from bandit_core.model import Block


def pack(block: Block, level: int = 1) -> bytes:
    """The raw numbers of a block, compressed."""
    out = io.BytesIO()
    for array in block.arrays.values():  # always in the same order; the last one may be absent
        np.lib.format.write_array(out, np.ascontiguousarray(array, np.float64), allow_pickle=False)
    return zlib.compress(out.getbuffer(), level)


def unpack(data: bytes) -> Block:
    """The block of `pack`; a ValueError or zlib.error where it is none."""
    content = zlib.decompress(data)
    source = io.BytesIO(content)
    arrays = []
    while source.tell() < len(content):
        arrays.append(patiently(partial(_array_at, source, source.tell())))
    if len(arrays) not in (3, 4):
        raise ValueError("not the arrays of a block")
    return Block(*arrays)


def _array_at(source: io.BytesIO, place: int) -> np.ndarray:
    source.seek(place)
    found: np.ndarray = np.lib.format.read_array(source, allow_pickle=False)
    return found
