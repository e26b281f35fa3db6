"""One erratum: what is printed, what should stand there, and a check that anyone can run and that can fail."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Annotated, Any, Literal

from pydantic import Field

from bandit_core.paths import ROOT
from bandit_core.spec.errors import InputError, Issue
from bandit_core.spec.field_types import Frozen

CHECKS = ROOT / "tests" / "errata"
Rule = Literal["equal to", "at most", "at least", "below"]
Kind = Literal["error", "sharpening", "gap", "misprint", "withdrawn"]
KINDS: dict[Kind, str] = {
    "error": "the printed version fails its check, the corrected one passes",
    "sharpening": "what is printed is true, and a stronger statement holds as well",
    "gap": "the paper leaves a choice open; the check shows that the usual choice changes the result",
    "misprint": "a slip that any reader can see; there is nothing to compute, so it comes without a check",
    "withdrawn": "an error that this project claimed and takes back: the paper is right",
}


def _said(value: float) -> str:
    return f"{value:.5g}".replace("inf", "∞")


@dataclass(frozen=True)
class Check:
    """One question that is put to both readings of a place in the same way, so that either may fail it.

    ``value`` turns a reading (a number, a formula, a switch: whatever sets the two apart) into the measured quantity;
    ``wanted`` is what that quantity must be by ``rule``, within the relative ``tolerance``, and comes from neither
    reading. ``sharpens``: the printed version is expected to pass, and the corrected one to come closer.
    """

    measure: str
    rule: Rule
    wanted: float
    value: Callable[[Any], float]
    printed: Any
    corrected: Any
    tolerance: float = 1e-9
    sharpens: bool = False

    def run(self) -> Outcome:
        """Measure both readings."""
        return Outcome(self, float(self.value(self.printed)), float(self.value(self.corrected)))

    def holds(self, value: float) -> bool:
        """Whether a measured quantity is what it must be."""
        slack = self.tolerance * max(abs(self.wanted), 1e-300) if math.isfinite(self.wanted) else 0.0
        return {
            "equal to": abs(value - self.wanted) <= slack,
            "at most": value <= self.wanted + slack,
            "at least": value >= self.wanted - slack,
            "below": value < self.wanted,
        }[self.rule]


@dataclass(frozen=True)
class Outcome:
    """What a check found: the measured quantity as it is when printed, and as it is when corrected."""

    check: Check
    printed: float
    corrected: float

    @property
    def printed_holds(self) -> bool:
        """Whether the printed version passes."""
        return self.check.holds(self.printed)

    @property
    def corrected_holds(self) -> bool:
        """Whether the corrected version passes."""
        return self.check.holds(self.corrected)

    @property
    def confirmed(self) -> bool:
        """Whether the check confirms its entry.

        An error or a gap: the printed version fails and the corrected one passes. A sharpening: both pass, and the
        corrected one comes closer to what is wanted.
        """
        wanted = self.check.wanted
        closer = abs(self.corrected - wanted) < abs(self.printed - wanted)
        return self.corrected_holds and (
            self.printed_holds and closer if self.check.sharpens else not self.printed_holds
        )

    @property
    def words(self) -> str:
        """The finding as one plain sentence."""
        return (
            f"{self.check.measure}: should be {self.check.rule} {_said(self.check.wanted)}; "
            f"as printed {_said(self.printed)} ({'holds' if self.printed_holds else 'does not hold'}), "
            f"corrected {_said(self.corrected)} ({'holds' if self.corrected_holds else 'does not hold'})."
        )


@cache
def checks(author: str) -> ModuleType:
    """The checks of the errata whose names begin with ``author``, a function each: tests that page and command run."""
    path = CHECKS / f"{author}.py"
    spec = importlib.util.spec_from_file_location(f"errata_{author}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if path.exists():
        spec.loader.exec_module(module)
    return module


class Erratum(Frozen):
    """One place of a paper. ``printed``, ``corrected`` and ``why`` are markdown with formulas between dollar signs."""

    name: Annotated[str, Field(pattern="^[a-z]+(-[a-z0-9]+)+$")]
    paper: str = ""
    place: str
    printed: str
    corrected: str
    why: str
    page: str = "explore"  # where its effect can be seen
    kind: Kind = "error"

    @property
    def evidence(self) -> Callable[[], Check] | None:
        """What makes the check, a function that is called as this erratum.

        None for a misprint, which is seen by inspection, and for what is withdrawn: these claim no check.

        Raises
        ------
        InputError
            Where the check is missing.
        """
        if self.kind in ("misprint", "withdrawn"):
            return None
        author, _, name = self.name.replace("-", "_").partition("_")
        made: Callable[[], Check] | None = getattr(checks(author), name, None)
        if made is None:
            raise InputError(
                [Issue(self.name, self.kind, f"needs a check, the function {name} of tests/errata/{author}.py")]
            )
        return made

    def check(self) -> Outcome | None:
        """The result of the check; None where there is none."""
        return None if self.evidence is None else self.evidence().run()

    @property
    def command(self) -> str:
        """The command that runs the check, or prints the entry."""
        return f"python -m bandit_core errata {self.name}"
