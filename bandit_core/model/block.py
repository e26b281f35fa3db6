"""What a kernel gives back, and how a running one is watched and stopped."""

from dataclasses import dataclass, field

import numpy as np


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
