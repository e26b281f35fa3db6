"""Classes that guess together: codes, and who guessed what, in the memory of this process and nowhere else.

Nothing here is written to disk or to a log. A class knows its phones by random tokens only, and an hour after it was
opened it is gone. ``LAB_CLASSROOM=0`` switches classes off.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from bandit_core.simulation import costs

LIFETIME = 3600.0  # seconds
MOST_CLASSES = 100  # of the server at once
UNUSED = 600.0  # seconds without a guess after which a class makes room, where the server is full
MOST_GUESSES = 300  # of a class at one step, one for each phone
MOST_A_SECOND = 150  # guesses of a class: more than a class room sends, far less than a machine can
LETTERS, LENGTH = "ABCDEFGHJKMNPQRSTUVWXYZ23456789", 6  # no signs that look alike; 9 * 10^8 codes


class Refused(Exception):
    """What a class does not take, in words."""


def offered() -> bool:
    """Whether this host lets teachers open classes; what ``LAB_CLASSROOM`` says other than 1 means no."""
    return os.environ.get("LAB_CLASSROOM", "").strip() in ("", "1")


def first_letters() -> str:
    """What codes of this process begin with: of several behind a proxy, each has letters of its own.

    Raises
    ------
    InputError
        Where ``LAB_PROCESS`` or ``LAB_PROCESSES`` is no whole number of at least 1.
    """
    number, count = costs.setting("LAB_PROCESS", 1), costs.setting("LAB_PROCESSES", 1)
    return LETTERS[(number - 1) % count :: count]


@dataclass
class _Class:
    teacher: str
    ends: float
    guesses: dict[int, dict[str, float]] = field(default_factory=dict)  # step -> phone -> guess
    revealed: set[int] = field(default_factory=set)
    second: int = 0
    in_second: int = 0


class Classroom:
    """All classes of a server; any thread may ask. ``clock`` tells seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._classes: dict[str, _Class] = {}

    def __len__(self) -> int:
        """How many classes are in memory."""
        return len(self._classes)

    def open(self, teacher: str) -> str:
        """Open a class for the bearer of this token; its code.

        Raises
        ------
        Refused
            Where the server is full, or this teacher has a class already.
        """
        with self._lock:
            self._forget()
            if any(each.teacher == teacher for each in self._classes.values()):
                raise Refused("You have a class that is open. Close it first.")
            if len(self._classes) >= MOST_CLASSES:
                self._make_room()
            if len(self._classes) >= MOST_CLASSES:
                raise Refused("This server has as many classes as it takes. Try again later.")
            code, first = "", first_letters()
            while not code or code in self._classes:
                code = secrets.choice(first) + "".join(secrets.choice(LETTERS) for _ in range(LENGTH - 1))
            self._classes[code] = _Class(teacher, self._clock() + LIFETIME)
            return code

    def is_open(self, code: str) -> bool:
        """Whether there is such a class (still)."""
        with self._lock:
            return self._find(code) is not None

    def guess(self, code: str, phone: str, step: int, value: float) -> None:
        """Take the guess of a phone at a step, in the place of an earlier one.

        Raises
        ------
        Refused
            Where the class is gone or full, the answer is out, or guesses come in too fast.
        """
        with self._lock:
            found = self._find(code)
            if found is None:
                raise Refused("This class is closed. Your guess was not counted.")
            if step in found.revealed:
                raise Refused("The answer was out before. Your guess was not counted.")
            guesses = found.guesses.setdefault(step, {})
            if phone not in guesses and len(guesses) >= MOST_GUESSES:
                raise Refused(f"This class is full: it takes {MOST_GUESSES} guesses. Yours was not counted.")
            second = int(self._clock())
            found.in_second = found.in_second + 1 if second == found.second else 1
            found.second = second
            if found.in_second > MOST_A_SECOND:
                raise Refused("Too many guesses came at once. Yours was not counted; send it again.")
            guesses[phone] = value

    def guess_of(self, code: str, phone: str, step: int) -> float | None:
        """What this phone guessed, if it did."""
        with self._lock:
            found = self._find(code)
            return found.guesses.get(step, {}).get(phone) if found else None

    def guesses(self, code: str, step: int) -> tuple[float, ...]:
        """What was guessed at a step, sorted: nothing tells whose guess is whose or who came first."""
        with self._lock:
            found = self._find(code)
            return tuple(sorted(found.guesses.get(step, {}).values())) if found else ()

    def is_revealed(self, code: str, step: int) -> bool:
        """Whether the teacher has shown the answer."""
        with self._lock:
            found = self._find(code)
            return found is not None and step in found.revealed

    def reveal(self, code: str, teacher: str, step: int) -> None:
        """Show the answer of a step; from now on its guesses stay as they are. Of others than the teacher, nothing."""
        with self._lock:
            found = self._find(code)
            if found is not None and found.teacher == teacher:
                found.revealed.add(step)

    def again(self, code: str, teacher: str, step: int) -> None:
        """Forget the guesses of a step and ask once more. Of others than the teacher, nothing."""
        with self._lock:
            found = self._find(code)
            if found is not None and found.teacher == teacher:
                found.revealed.discard(step)
                found.guesses.pop(step, None)

    def close(self, code: str, teacher: str) -> None:
        """Forget a class. Of others than its teacher, nothing."""
        with self._lock:
            found = self._find(code)
            if found is not None and found.teacher == teacher:
                del self._classes[code]

    def forget(self) -> None:
        """Let go of classes whose hour is over."""
        with self._lock:
            self._forget()

    def _make_room(self) -> None:
        """Close the oldest class in which nobody has guessed for long: one person can open many, and not fill them."""
        unused = [
            (each.ends, code)
            for code, each in self._classes.items()
            if not any(each.guesses.values()) and each.ends - LIFETIME + UNUSED <= self._clock()
        ]
        if unused:
            del self._classes[min(unused)[1]]

    def _find(self, code: str) -> _Class | None:
        self._forget()
        return self._classes.get(code)

    def _forget(self) -> None:
        now = self._clock()
        for code in [code for code, each in self._classes.items() if each.ends <= now]:
            del self._classes[code]


CLASSES = Classroom()
