"""Blocks of trials on a Dask cluster (``LAB_DASK_SCHEDULER``: the address of its scheduler).

The same blocks with the same streams as in threads, hence the same numbers. The cluster's workers need this project in
a version that plays the same: each prepares the line by itself, and only where its kernel, the version of that code and
every number that it is called with are the same as here is its block believed. A policy from a file is sent as the text
of that file, which a worker runs. What a lost worker had is given to another one by Dask. Whatever else goes wrong ends
in `Unreachable`, and the engine computes the rest by itself. Needs the packages of ``requirements-dask.txt``.
"""

import os
import pickle
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bandit_core.model import Block, RunSetup, Signal
from bandit_core.policies import load_policy, registry, source_of
from bandit_core.simulation.prepared import prepared_line

CONNECT_SECONDS = 5.0
RETRY_SECONDS = 60.0  # after a failure the cluster is left in peace for so long
ONCE: dict[str, Any] = {"pure": False, "retries": 2}  # of a block that failed on a worker
TICK = 0.05  # seconds between two looks at what has arrived, whether the run was stopped and the cluster is there

Call = tuple[bytes, str, RunSetup, np.ndarray, np.ndarray]  # identity of what is played, policy, setup, streams, times
Arriving = Generator[tuple[int, Block], None, None]

_failed: dict[str, tuple[float, str]] = {}  # when a cluster failed and what was told, by address


class Unreachable(Exception):
    """The cluster cannot be used (any more); the message says why, for people."""


def scheduler() -> str:
    """The address of the scheduler, or nothing."""
    return os.environ.get("LAB_DASK_SCHEDULER", "").strip()


_one_by_one = threading.Lock()


_folder = cache(tempfile.mkdtemp)  # one for this worker
_loaded: dict[str, str] = {}  # texts of files with policies that this worker has run, by name


def _load(name: str, text: str) -> None:
    """Run a file with policies, unless it is what was run last under this name."""
    if _loaded.get(name) != text:
        path = Path(_folder(prefix="policies-"), name)
        path.write_text(text, encoding="utf-8")
        load_policy(path)
        _loaded[name] = text


def compute(
    identity: bytes, policy: str, source: tuple[str, str] | None, setup: bytes, rows: np.ndarray, times: np.ndarray
) -> Block | None:
    """Compute one block on a worker; nothing where the worker would play something else."""
    with _one_by_one:
        if source is not None:
            _load(*source)
        line = prepared_line(registry()[policy], pickle.loads(setup))  # which may need a class of that file
    return line.play(rows, times, Signal()) if line.identity == identity else None


def blocks(address: str, calls: Sequence[Call], stopped: Callable[[], bool]) -> Arriving:
    """Blocks of the calls as they are finished, in any order, as (number of the call, block).

    After a stop no new block starts; running ones finish, unused.

    Raises
    ------
    Unreachable
        When the cluster cannot be reached, is lost on the way, runs another version, or fails in a block.
    """
    when, why = _failed.get(address, (-RETRY_SECONDS, ""))
    if time.monotonic() - when < RETRY_SECONDS:
        raise Unreachable(why)
    try:
        yield from _arriving(address, calls, stopped)
    except Exception as error:
        why = " ".join((str(error) or type(error).__name__).split())[:200]
        message = f"The Dask cluster at {address} cannot be used ({why}); this machine computes by itself, only slower."
        _failed[address] = (time.monotonic(), message)
        raise Unreachable(message) from None


def _arriving(address: str, calls: Sequence[Call], stopped: Callable[[], bool]) -> Arriving:
    """The same; any exception means that the cluster cannot be used. Leaving it takes back what no worker has begun."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise OSError("the package distributed is not installed here") from None
    with Client(address, timeout=CONNECT_SECONDS, set_as_default=False) as client:
        futures = [
            client.submit(compute, identity, policy, source_of(policy), pickle.dumps(setup), *rest, **ONCE)
            for identity, policy, setup, *rest in calls
        ]
        numbers = {future.key: number for number, future in enumerate(futures)}
        arrived = as_completed(futures, loop=client.loop, with_results=True)
        del futures  # a block goes from the cluster when it is here
        while not stopped() and not arrived.is_empty():
            if arrived.has_ready():
                future, block = next(arrived)
                yield numbers[future.key], _checked(block)
            elif client.status != "running" or not client.ncores():
                raise OSError("its scheduler or its last worker is gone")
            else:
                time.sleep(TICK)


def _checked(block: Any) -> Block:
    if block is None:
        raise OSError("its workers have another version of this project or of its packages")
    if not isinstance(block, Block):
        raise OSError("its scheduler is gone")
    return block


def forget() -> None:
    """Try again what failed before."""
    _failed.clear()
