"""What a kernel is called with, as plain bytes: how a lesson hands a `KernelCall` to a browser.

Python prepares every call; whoever plays it elsewhere only copies these bytes to where the kernel reads them.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from bandit_core.model import KernelCall


class Leaf(NamedTuple):
    """A number or an array of a call.

    ``kind`` is NumPy's code of its type, ``f8``, ``i8`` or ``b1``; ``shape`` is None for a number; ``content`` are its
    bytes, little-endian, row by row.
    """

    kind: str
    shape: tuple[int, ...] | None
    content: bytes

    @property
    def type(self) -> str:
        """Its type, with the number of dimensions of an array: ``f8``, ``f8[2]``."""
        return self.kind if self.shape is None else f"{self.kind}[{len(self.shape)}]"

    @property
    def written(self) -> tuple[str, tuple[int, ...] | None, str]:
        """The same as JSON has it, its bytes in base 64."""
        return self.kind, self.shape, b64encode(self.content).decode()


def leaf(value: Any) -> Leaf:
    """A number or an array as a `Leaf`."""
    array = np.asarray(value)
    kind = array.dtype.str[1:]
    content = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    return Leaf(kind, array.shape if isinstance(value, np.ndarray) else None, content)


def leaves(value: Any) -> Iterator[Leaf]:
    """The numbers and arrays of nested tuples, in order."""
    if isinstance(value, tuple):
        for each in value:
            yield from leaves(each)
    else:
        yield leaf(value)


def types(call: KernelCall) -> list[str]:
    """The types of all that the kernel is called with, see `Leaf.type`: its machine code is for one such list."""
    return [each.type for each in leaves(call.arguments)]
