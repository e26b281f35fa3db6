"""Coroutines in tests that are no coroutines."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Found = TypeVar("Found")


def awaited(coroutine: Coroutine[Any, Any, Found]) -> Found:
    """What it returns. In a thread of its own: a process that has driven a browser has a loop running in its first."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
