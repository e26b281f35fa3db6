"""Blocks of trials on a Dask cluster, through joblib's dask backend (``LAB_DASK_SCHEDULER``: its scheduler's address).

The same blocks with the same streams as in threads, hence the same numbers. The cluster's workers need this project in
a version that plays the same: each prepares the line by itself, and only where its kernel, the version of that code and
every number that it is called with are the same as here is its block believed. Whatever goes wrong there ends in
`Unreachable`, and the engine computes the rest by itself. Needs the packages of ``requirements-dask.txt``.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bandit_core.model import Block, RunSetup, Signal
from bandit_core.policies import registry
from bandit_core.simulation.prepared import prepared_line

CONNECT_SECONDS = 5.0
RETRY_SECONDS = 60.0  # after a failure the cluster is left in peace for so long
TICK = 0.2

# Number of the task, identity of what is to be played, policy, setup, streams, checkpoints.
Call = tuple[int, bytes, str, RunSetup, np.ndarray, np.ndarray]
OTHER_VERSION = "another version"

_lock = threading.Lock()
_clients: dict[str, Any] = {}
_failed: dict[str, tuple[float, str]] = {}


class Unreachable(Exception):
    """The cluster cannot be used (any more); the message says why, for people."""


def scheduler() -> str:
    """The address of the scheduler, or nothing."""
    return os.environ.get("LAB_DASK_SCHEDULER", "").strip()


def compute(call: Call) -> Any:
    """Compute one block on a worker: its number and the block, or `OTHER_VERSION` where it would play something else.

    The call is one tuple: joblib would send larger arguments ahead, to be lost with the worker that holds them.
    """
    number, identity, policy, setup, rows, times = call
    line = prepared_line(registry()[policy], setup)
    return (number, line.play(rows, times, Signal())) if line.identity == identity else OTHER_VERSION


def _client(address: str) -> Any:
    """The connection to the cluster, one per process."""
    with _lock:
        client = _clients.get(address)
        if client is not None and client.status == "running":
            return client
        when, why = _failed.get(address, (-RETRY_SECONDS, ""))
        if time.monotonic() - when < RETRY_SECONDS:
            raise Unreachable(why)
        try:
            from dask.distributed import Client

            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
            if not client.ncores():
                client.close()
                raise OSError("it has no workers")
        except ImportError:
            raise _failure(address, "the package distributed is not installed here") from None
        except (OSError, ValueError, TimeoutError) as error:
            raise _failure(address, str(error) or "no answer") from None
        _clients[address] = client
        return client


def _failure(address: str, why: str) -> Unreachable:
    reason = " ".join(why.split())[:200]
    told = f"The Dask cluster at {address} cannot be used ({reason}); this machine computes by itself, only slower."
    _failed[address] = (time.monotonic(), told)
    return Unreachable(told)


def blocks(address: str, calls: Sequence[Call], stopped: Callable[[], bool]) -> Iterator[tuple[int, Block]]:
    """Blocks of the calls as they are finished, in any order, as (number of the task, block).

    After a stop no further block is given; what workers have in hand runs to its end there, unused.

    Raises
    ------
    Unreachable
        When the cluster cannot be reached, is lost on the way, runs another version, or fails in a block.
    """
    import joblib
    from joblib._dask import DaskDistributedBackend

    class Cluster(DaskDistributedBackend):
        def effective_n_jobs(self, n_jobs: int) -> int:  # for a cluster of one core joblib would compute here
            return max(2, int(super().effective_n_jobs(n_jobs)))

    client = _client(address)
    arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
    ended = threading.Event()

    def upcoming() -> Iterator[Any]:
        for call in calls:
            if ended.is_set() or stopped():
                return
            yield joblib.delayed(compute)(call)

    def collect() -> None:
        # In a thread of its own: where the scheduler is gone joblib may wait for ever, and we must not.
        try:
            with joblib.parallel_config(backend=Cluster(client=client, pure=False)):
                pool = joblib.Parallel(return_as="generator_unordered", batch_size=1)
                for result in pool(upcoming()):  # to its end, also after a stop: joblib warns of what is left early
                    arrived.put(result)
        except BaseException as error:
            arrived.put(error)

    threading.Thread(target=collect, daemon=True, name="blocks from a cluster").start()
    try:
        for _ in calls:
            while True:
                if stopped():
                    return
                try:
                    result = arrived.get(timeout=TICK)
                    break
                except queue.Empty:
                    if client.status != "running":
                        raise _lost(address, client, "its scheduler is gone") from None
                    if not client.ncores():
                        raise _lost(address, client, "its last worker is gone") from None
            if result == OTHER_VERSION:
                raise _failure(address, "its workers have another version of this project or of its packages")
            if isinstance(result, BaseException):
                raise _lost(address, client, f"{type(result).__name__}: {result}")
            yield result
    finally:
        ended.set()


def _lost(address: str, client: Any, why: str) -> Unreachable:
    with _lock:
        _clients.pop(address, None)
    threading.Thread(target=_close, args=(client,), daemon=True).start()  # may take its time
    return _failure(address, why)


def _close(client: Any) -> None:
    try:
        client.close(timeout=2)
    except Exception:  # it was lost already
        return


def forget() -> None:
    """Close every connection, and try again what failed before."""
    with _lock:
        while _clients:
            _close(_clients.popitem()[1])
        _failed.clear()
