"""Blocks as bytes: raw numbers (never pickle), compressed; fast for the store, small for what ships.

Curves change little from one checkpoint to the next: differences are packed, of whole numbers as such, of others
between their bits.
"""

import io
import lzma
import zlib
from collections.abc import Callable
from functools import partial

import numpy as np

from bandit_core.jit.syntax import patiently
from bandit_core.model import Block

Code = Callable[..., bytes]
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9}]
quickly: Code = partial(zlib.compress, level=1)
small: Code = partial(lzma.compress, format=lzma.FORMAT_XZ, filters=_FILTERS)  # about a third of it; takes longer


def pack(block: Block, compress: Code = quickly) -> bytes:
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
