"""What was read from a file: no one can take the data before its doubts are answered.

Whatever can be read in two ways is a `Doubt`: a question with its readings, of which the first is proposed. Who reads
a file again hands over the answers by the key of each doubt. Page, shell and library ask the same questions.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.found import fields_of

Data = TypeVar("Data")
ROLES = ("option", "outcome", "person", "weight", "rows")  # doubts whose key is an argument of its own


@dataclass(frozen=True)
class Doubt:
    """A question about a file, and what each answer means; without answers, only another file or column helps."""

    key: str
    question: str
    choices: Mapping[str, str]

    def __str__(self) -> str:
        means = [f"{answer!r}" + (f" ({meaning})" if meaning else "") for answer, meaning in self.choices.items()]
        more = [f"{len(means) - 8} more"] if len(means) > 8 else []
        return self.question + (" " + " or ".join(means[:8] + more) if means else "")

    @property
    def shell(self) -> str:
        """What a command takes as an answer, the proposal first; nothing where there is none."""
        some = list(self.choices)[:8]
        if self.key in ROLES:
            return ", or ".join(f"--{self.key} {shlex.quote(each)}" for each in some)
        return ", or ".join(f"--answer {shlex.quote(f'{self.key}={each}')}" for each in some)


@dataclass(frozen=True)
class Reading(Generic[Data]):
    """What a file says, in a sentence; ``data`` only once no doubt is left.

    ``checks`` are what a careful reader would see in the data, ``notes`` how the text was read, and ``roles`` what each
    column stands for, as proposed or said.
    """

    sentence: str
    doubts: tuple[Doubt, ...]
    checks: tuple[str, ...]
    notes: tuple[str, ...] = ()
    asked: tuple[Doubt, ...] = ()  # with those that are answered
    roles: Mapping[str, str] = field(default_factory=dict)
    held: Data | None = None  # nothing while there is a doubt

    @property
    def data(self) -> Data:
        """The data.

        Raises
        ------
        InputError
            With every doubt: its key, its question and the answers to choose from.
        """
        if self.doubts or self.held is None:
            raise InputError([Issue(doubt.key, None, str(doubt)) for doubt in self.doubts])
        return self.held


def column_words(name: str) -> str:
    """A column in words; without a heading it has a number for a name already."""
    return name if name.startswith("column ") else f"column {name}"


class Questions:
    """The questions of one reading, with the answers that are known; ``before`` were those of its text."""

    def __init__(self, answers: Mapping[str, str] | None = None, before: Questions | None = None) -> None:
        self.answers: dict[str, str] = (before.answers if before else {}) | dict(answers or {})
        self.doubts: dict[str, Doubt] = dict(before.doubts) if before else {}
        self.asked: dict[str, Doubt] = dict(before.asked) if before else {}  # also what is answered
        self.notes: dict[str, None] = dict(before.notes) if before else {}
        self.checks: dict[str, None] = dict(before.checks) if before else {}

    def ask(self, key: str, question: str, choices: Mapping[str, str], allowed: Iterable[str] = ()) -> str:
        """The answer to a question; until it is known there is a doubt, and the first choice stands for it.

        Raises
        ------
        InputError
            Where the answer is none of the choices, and not ``allowed`` either.
        """
        self.asked[key] = Doubt(key, question, choices)
        if (given := self.answers.get(key)) is None:
            self.doubts[key] = self.asked[key]
            return next(iter(choices), "")
        if given not in (every := [*choices, *allowed]):
            raise InputError([Issue(key, given, f"one of {', '.join(dict.fromkeys(every[:20]))}")])
        return given

    def put(
        self, question: str, more: Mapping[str, str] | None = None, allowed: Iterable[str] = (), /, **values: object
    ) -> str:
        """Ask the question of that name in reading.toml, with ``more`` answers; ``values`` fill its blanks.

        Where there is a ``column``, ``words`` is it in words.
        """
        said = fields_of(__file__, question, words=column_words(str(values.get("column", ""))), **values)
        return self.ask(said.pop("key", question), said.pop("asks"), {**said, **(more or {})}, allowed)

    def say(self, check: str, /, **values: object) -> None:
        """Say the check of that name in reading.toml."""
        self.check(fields_of(__file__, check, **values)["check"])

    def note(self, *sentences: str) -> None:
        """Say how the file was read."""
        self.notes.update(dict.fromkeys(sentences))

    def check(self, *sentences: str) -> None:
        """Say what a careful reader would see."""
        self.checks.update(dict.fromkeys(sentences))

    def reading(self, sentence: str, make: Callable[[], Data], roles: Mapping[str, str] | None = None) -> Reading[Data]:
        """What was read; ``make`` gives the data where nothing is in doubt.

        Raises
        ------
        InputError
            Where an answer belongs to no question, or ``make`` refuses.
        """
        if strange := [key for key in self.answers if key not in self.asked and key not in ROLES]:
            asked = ", ".join(key for key in self.asked if key not in ROLES) or "none"
            raise InputError([Issue(f"answers[{strange[0]}]", None, f"one of the questions of this file ({asked})")])
        held = None if self.doubts else make()
        doubts, every = tuple(self.doubts.values()), tuple(self.asked.values())
        return Reading(sentence, doubts, tuple(self.checks), tuple(self.notes), every, roles or {}, held)
