"""Blocks as bytes: raw NumPy arrays (never pickle), compressed; fast for the store, small for what ships."""

from __future__ import annotations

import io
import lzma
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


_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9}]


def pack_small(block: Block) -> bytes:
    """The numbers of a block to the last bit, about a third of the size of `pack`; takes longer.

    Curves change little from one checkpoint to the next: differences are kept, of whole numbers as such, of others
    between their bits.
    """
    out = io.BytesIO()
    for array in block.arrays.values():
        numbers = np.ascontiguousarray(array, np.float64)
        with np.errstate(invalid="ignore"):
            whole = numbers.astype(np.int64)
        bits = numbers.view(np.int64)
        exact = bool((whole.astype(np.float64).view(np.int64) == bits).all())
        kept = whole if exact else bits
        steps = np.diff(kept, axis=1, prepend=np.int64(0))  # wraps around, and back in `unpack_small`
        np.lib.format.write_array(out, np.array([exact]), allow_pickle=False)
        np.lib.format.write_array(out, steps, allow_pickle=False)
    return lzma.compress(out.getbuffer(), lzma.FORMAT_XZ, filters=_FILTERS)


def unpack_small(data: bytes) -> Block:
    """The block of `pack_small`; a ValueError or lzma.LZMAError where it is none."""
    content = lzma.decompress(data, lzma.FORMAT_XZ)
    source = io.BytesIO(content)
    arrays = []
    while source.tell() < len(content):
        (exact,) = patiently(partial(_array_at, source, source.tell()))
        kept = patiently(partial(_array_at, source, source.tell())).cumsum(axis=1)
        arrays.append(kept.astype(np.float64) if exact else kept.view(np.float64))
    if len(arrays) not in (3, 4):
        raise ValueError("not the arrays of a block")
    return Block(*arrays)
