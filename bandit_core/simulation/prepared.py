"""Lines of an experiment, ready to be played, and the identity of their numbers.

What a line's kernel is called with, the code of the kernel, the streams and the checkpoints decide its numbers, and
nothing else does. Two lines that agree in them have the same trials, whatever their policies are called, and share
their blocks.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bandit_core.experiments.experiment import Experiment
from bandit_core.jit.decorators import LIBRARIES, kernel_name, kernel_version
from bandit_core.kernels.streams import streams
from bandit_core.model import Block, KernelCall, Policy, RunSetup, Signal, run_kernel

Digests = dict[int, bytes]  # of arrays that are alive, by their id


@dataclass(frozen=True, eq=False)
class PreparedLine:
    """A line with the call of its kernel, and a digest of the kernel's code and of what it is called with."""

    policy: Policy
    setup: RunSetup
    call: KernelCall
    content: bytes

    @property
    def identity(self) -> bytes:
        """Of what is played here: the same code on the same arguments, compiled by the same libraries."""
        return hashlib.sha256(self.content + LIBRARIES.encode()).digest()

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return kernel_name(self.call.kernel)

    @property
    def version(self) -> str:
        """The version of the kernel's code."""
        return kernel_version(self.call.kernel)

    def key(self, times: np.ndarray, seed: int) -> str:
        """The key of stored blocks: what is played, at which checkpoints, with whose streams."""
        return key_here(self.portable_key(times, seed))

    def portable_key(self, times: np.ndarray, seed: int) -> str:
        """The same whichever libraries compile the code: the key of blocks that ship with the project."""
        content = f"{self.content.hex()} {times.tolist()} {seed} {kernel_version(streams)}"
        return hashlib.sha256(content.encode()).hexdigest()

    def play(self, rows: np.ndarray, times: np.ndarray, signal: Signal) -> Block:
        """One trial per row of streams, see `run_kernel`."""
        return run_kernel(self.call, rows, times, signal)


def key_here(portable: str) -> str:
    """The key of the same blocks as these libraries compute them."""
    return hashlib.sha256(f"{portable} {LIBRARIES}".encode()).hexdigest()


def prepared_line(policy: Policy, setup: RunSetup, digests: Digests | None = None) -> PreparedLine:
    """Ask the policy for the call of its kernel.

    ``digests`` are those of arrays that lines share, for as long as these live; it is filled here.

    Raises
    ------
    TypeError
        When an argument of the kernel is no number, array or tuple of them.
    """
    call = policy.prepare(setup)
    digest = hashlib.sha256(f"{kernel_name(call.kernel)} {kernel_version(call.kernel)}".encode())
    for part in _parts(call.arguments, {} if digests is None else digests):
        digest.update(part)
    return PreparedLine(policy, setup, call, content=digest.digest())


def prepared_lines(experiment: Experiment) -> list[PreparedLine]:
    """All lines of an experiment. Arms that they share are tabled, and read for the identities, once."""
    digests: Digests = {}
    tables = [setup.shared_tables() for setup in experiment.setups]
    pairs = zip(experiment.lines, experiment.setups, strict=True)
    prepared = [prepared_line(line.entry, setup, digests) for line, setup in pairs]
    del tables  # from here on the calls hold the arrays
    return prepared


def _parts(value: Any, digests: Digests) -> Iterator[bytes]:
    """An argument of a kernel as bytes that tell its type, its shape and every bit of it."""
    if isinstance(value, tuple):
        yield f"{type(value).__name__} of {len(value)}: ".encode()
        for each in value:
            yield from _parts(each, digests)
    elif isinstance(value, np.ndarray):
        if id(value) not in digests:
            digests[id(value)] = hashlib.sha256(value.tobytes()).digest()
        yield f"{value.dtype.str} {value.shape} ".encode() + digests[id(value)]
    elif isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        number = np.asarray(value)
        yield number.dtype.str.encode() + number.tobytes()
    else:
        raise TypeError(f"a kernel takes numbers, arrays and tuples of them, not {type(value).__name__}")
