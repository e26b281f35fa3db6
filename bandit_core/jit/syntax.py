"""Reading Python's syntax in several threads."""

import contextlib
from collections.abc import Callable
from typing import TypeVar

Read = TypeVar("Read")
_TRIES = 20


def patiently(read: Callable[[], Read]) -> Read:
    """What ``read`` returns. Python 3.11 counts the depth of syntax trees for all threads together, and may call two
    that are made at once a SystemError; NumPy makes one for the header of every array that it reads.
    """
    for _ in range(_TRIES - 1):
        with contextlib.suppress(SystemError):
            return read()
    return read()
