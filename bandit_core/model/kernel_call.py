"""What a kernel gives back, and how a running one is watched and stopped.

What a policy's compiled kernel is called with, and the one way to play it.
"""

import linecache
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from bandit_core.spec.errors import InputError, Issue


@dataclass(frozen=True)
class Block:
    """Regret and pulls of best arms at the checkpoints (trials, checkpoints), and final pulls (trials, arms).

    Where users have features, a pull is best when no arm had a larger mean for that user, and ``error`` is the distance
    of the estimated from the true parameters at the checkpoints (trials, checkpoints): Euclidean, root mean square
    over the arms' parameters.
    """

    regret: np.ndarray
    best_pulls: np.ndarray
    pulls: np.ndarray
    error: np.ndarray | None = None

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, without those that are absent; each has one row per trial."""
        return {name: array for name, array in vars(self).items() if array is not None}

    @property
    def trials(self) -> int:
        """Number of trials in the block."""
        return len(self.regret)


@dataclass(frozen=True)
class Signal:
    """Shared with a running kernel: ``cells[0]`` = 1 asks it to stop, ``cells[1]`` counts the steps done."""

    cells: np.ndarray = field(default_factory=lambda: np.zeros(2, np.int64))

    def stop(self) -> None:
        """Ask the kernel to give up at its next checkpoint."""
        self.cells[0] = 1

    @property
    def stopped(self) -> bool:
        """Whether a stop was asked for."""
        return bool(self.cells[0])

    @property
    def steps(self) -> int:
        """Steps (pulls x trials) done so far."""
        return int(self.cells[1])


class Stopped(Exception):
    """A kernel gave up because its signal asked it to; its block is incomplete and must not be used."""


class Record(NamedTuple):
    """Where a kernel writes: curves (trials, checkpoints), pulls (trials, arms), and the cells of a `Signal`.

    ``error`` has no columns where a kernel estimates no parameters. After the checkpoint of place c a kernel adds the
    steps since the one before to ``signal[1]``, and gives up where ``signal[0]`` is not 0.
    """

    checkpoints: np.ndarray
    regret: np.ndarray
    best_pulls: np.ndarray
    pulls: np.ndarray
    error: np.ndarray
    signal: np.ndarray


@dataclass(frozen=True, eq=False)
class KernelCall:
    """One line of an experiment in the plain numbers that its kernel takes.

    ``kernel(state, *arguments, record)`` plays one trial per row of ``state`` (trials, 8), which it may change, and
    writes to the `Record`. ``arguments`` are numbers, arrays and NamedTuples of them, which it only reads: together
    with the streams, the checkpoints and the code of the kernel they decide every number, and nothing else does.
    ``arms`` is the number of arms, ``lanes`` how many trials the kernel takes at most at once (no number depends on
    it), ``error`` whether it estimates parameters (see `Block`), ``rule`` the rule that it plays and ``watched``
    what the loop of that is called with, for who watches it (see `bandit_core.kernels.play`).
    """

    kernel: Callable[..., None]
    arguments: tuple[Any, ...]
    arms: int
    lanes: int | None = None
    error: bool = False
    rule: Any = None
    watched: tuple[Any, ...] = ()


NAN_INDEX, WRONG_BATCH = -(2**40), -(2**41)  # in place of an arm: why there is none


class RuleError(InputError):
    """A rule did what no rule may; the run has no numbers."""


class NotCompiled(RuleError):
    """A rule cannot be compiled."""


def _not_compiled(rule: str, error: Exception) -> Issue:
    """Why numba cannot compile a rule: the first line of the policy's own file that the error names, if any."""
    text, libraries = str(error), {Path(numba.__file__).parent, Path(__file__).parents[1] / "kernels"}
    reason = next(each for each in text.splitlines() if not each.startswith("Failed in"))
    words = f"cannot be compiled: {reason.rstrip(':.')}. A rule works on numbers and arrays; only `start` makes arrays"
    for file, line, function in re.findall(r'File "([^"]+)", line (\d+):(?:\s+def (\w+))?', text):
        source = linecache.getline(file, int(line))
        if re.match(r"[ \t]+\S", source) and not libraries & {*Path(file).resolve().parents}:  # inside of a function
            return Issue(f"{function} ({file}, line {line})", source.strip(), words)
    return Issue(f"rule {rule}", None, words)


@contextmanager
def compiling(rule: Any) -> Iterator[None]:
    """While a loop with a rule's functions is called, which compiles it.

    Raises
    ------
    NotCompiled
        When that cannot be done.
    """
    try:
        yield
    except numba.NumbaError as error:
        if rule is None:
            raise
        raise NotCompiled([_not_compiled(rule.name, error)]) from error


def _refuse(call: KernelCall, arm: float) -> None:
    issue = {
        NAN_INDEX: ("index", "NaN", "a number for every arm that has responses"),
        WRONG_BATCH: ("choose", "a batch", f"1 to {call.arms} arms, each shown once at least"),
    }.get(int(arm), ("choose", int(arm), f"an arm from 0 to {call.arms - 1}"))
    raise RuleError([Issue(f"{call.rule.name}.{issue[0]}", *issue[1:])])


def run_kernel(call: KernelCall, streams: np.ndarray, checkpoints: np.ndarray, signal: Signal) -> Block:
    """Play one trial per row of ``streams`` (trials, 8), which stay as they are, to the last of ``checkpoints``.

    Raises
    ------
    Stopped
        When the signal asked for a stop.
    RuleError
        When a rule shows an arm that does not exist, has an index of NaN, or a batch of no users, or is not compiled.
    """
    trials, times = len(streams), len(checkpoints)
    regret, best_pulls = np.zeros((trials, times)), np.zeros((trials, times))
    pulls, error = np.zeros((trials, call.arms)), np.zeros((trials, times if call.error else 0))
    state = streams.copy()
    groups = -(-trials // call.lanes) if call.lanes else 1
    for group in np.array_split(np.arange(trials), groups):
        part = slice(group[0], group[-1] + 1)
        record = Record(checkpoints, regret[part], best_pulls[part], pulls[part], error[part], signal.cells)
        with compiling(call.rule):
            call.kernel(state[part], *call.arguments, record)
        for place in np.flatnonzero(np.isnan(pulls[part, 0])):
            _refuse(call, regret[part][place, 0])
        if signal.stopped:
            raise Stopped
    return Block(regret, best_pulls, pulls, error if call.error else None)
