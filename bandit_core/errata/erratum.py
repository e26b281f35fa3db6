"""One erratum: what is printed, what should stand there, and a check that anybody can run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Rule = Literal["equal to", "at most", "at least", "below"]


@dataclass(frozen=True)
class Outcome:
    """What a check found: one measured quantity as it must be, as it is when printed, and as it is when corrected.

    ``corrected`` is None where nothing can take the place of what is printed.
    """

    measure: str
    rule: Rule
    wanted: float
    printed: float
    corrected: float | None
    tolerance: float

    def _holds(self, value: float) -> bool:
        slack = self.tolerance * max(abs(self.wanted), 1e-300) if math.isfinite(self.wanted) else 0.0
        if self.rule == "equal to":
            return abs(value - self.wanted) <= slack
        if self.rule == "at most":
            return value <= self.wanted + slack
        if self.rule == "at least":
            return value >= self.wanted - slack
        return value < self.wanted

    @property
    def printed_holds(self) -> bool:
        """Whether the printed version passes."""
        return self._holds(self.printed)

    @property
    def corrected_holds(self) -> bool:
        """Whether the corrected version passes (nothing to test: yes)."""
        return self.corrected is None or self._holds(self.corrected)

    @property
    def confirmed(self) -> bool:
        """Whether the check confirms the erratum: the printed version fails and the corrected one passes."""
        return self.corrected_holds and not self.printed_holds

    @property
    def words(self) -> str:
        """The finding as one plain sentence."""
        sentence = (
            f"{self.measure}: should be {self.rule} {self.wanted:.5g}; as printed {self.printed:.5g} "
            f"({'holds' if self.printed_holds else 'does not hold'})"
        )
        if self.corrected is None:
            return f"{sentence}."
        return f"{sentence}, corrected {self.corrected:.5g} ({'holds' if self.corrected_holds else 'does not hold'})."


def compare(
    measure: str, rule: Rule, wanted: float, printed: float, corrected: float | None, tolerance: float = 1e-9
) -> Outcome:
    """An outcome; ``tolerance`` is relative to what is wanted."""
    return Outcome(
        measure, rule, float(wanted), float(printed), None if corrected is None else float(corrected), tolerance
    )


@dataclass(frozen=True)
class Erratum:
    """One place of a paper. ``printed``, ``corrected`` and ``why`` are markdown with formulas between dollar signs."""

    name: str
    paper: str
    place: str
    printed: str
    corrected: str
    why: str
    check: Callable[[], Outcome]
    page: str = "explore"  # where its effect can be seen

    @property
    def command(self) -> str:
        """The command that runs the check."""
        return f"python -m bandit_core errata {self.name}"
