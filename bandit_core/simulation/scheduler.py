"""How the runs of one process share its cores: a server has one process and many visitors.

Three gates let blocks of trials in, each as many at once as there are workers: ``SHORT`` for runs that are over at
once, ``MIDDLE`` for seconds, ``LONG`` for all that takes longer. None ever waits for another, and the shorter the runs,
the higher the priority of their threads: so a long run gives way at any moment, in the middle of a trial that takes an
hour, and by the operating system's doing. In ``SHORT`` the run that came first goes first: with equal runs that halves
the mean wait against working on all of them at a time. In the others the run that has had least goes next, so a
hundred million pulls wait a quarter of a second for a hundred billion, not an hour.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

TICK = 0.1  # seconds after which one who waits looks whether it was stopped


@dataclass(eq=False)
class Turn:
    """What one run has had so far: seconds of work that it was let in for, and its blocks inside and outside."""

    used: float = 0.0
    inside: int = 0
    outside: int = 0


class Gate:
    """Lets in the blocks of all runs together; safe from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._going: list[Turn] = []
        self._queue: list[Turn] = []

    @property
    def going(self) -> int:
        """How many runs are inside."""
        return len(self._going)

    @contextmanager
    def run(self, most: float, given_up: Callable[[], bool]) -> Iterator[Turn]:
        """Wait, in order of arrival, until fewer than ``most`` runs are going (or this one is given up)."""
        turn = Turn()
        with self._changed:
            self._queue.append(turn)
            try:
                while not given_up() and (self._queue[0] is not turn or len(self._going) >= most):
                    self._changed.wait(TICK)
            finally:
                self._queue.remove(turn)
            turn.used = min((other.used for other in self._going), default=0.0)
            self._going.append(turn)
            self._changed.notify_all()
        try:
            yield turn
        finally:
            with self._changed:
                self._going.remove(turn)
                self._changed.notify_all()

    @contextmanager
    def block(self, turn: Turn, seconds: float, places: int, given_up: Callable[[], bool]) -> Iterator[bool]:
        """Wait until a block of ``turn`` may be computed; False where it was given up meanwhile.

        ``seconds`` are put down to the run; with 0 the order of arrival alone decides.
        """
        with self._changed:
            turn.outside += 1
            while not given_up() and not self._is_next(turn, places):
                self._changed.wait(TICK)
            turn.outside -= 1
            let_in = not given_up()
            if let_in:
                turn.inside += 1
                turn.used += seconds
            self._changed.notify_all()
        try:
            yield let_in
        finally:
            with self._changed:
                turn.inside -= let_in
                self._changed.notify_all()

    def _is_next(self, turn: Turn, places: int) -> bool:
        if sum(other.inside for other in self._going) >= places:
            return False
        return turn is min((other for other in self._going if other.outside), key=lambda other: other.used)


SHORT, MIDDLE, LONG = Gate(), Gate(), Gate()
NICENESS = {MIDDLE: 5, LONG: 10}  # of the threads that compute
