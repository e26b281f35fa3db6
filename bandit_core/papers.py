"""The papers: which figures each one has, what it says of them, and which presets draw them again.

One TOML file per paper in ``papers/``, in the order of their ``place``. What a paper says is data; whether it holds is
computed from shipped results by `bandit_core.claims`.
"""

from __future__ import annotations

import difflib
import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from bandit_core.numbers import Frozen, Number
from bandit_core.presets import preset_names
from bandit_core.problems import InvalidInput, Problem, validated

FOLDER = Path(__file__).resolve().parent.parent / "papers"
Reference = str  # "policy or label", or "preset/policy or label" where a figure has several presets


class _Claim(Frozen):
    """What a paper says of a figure: ``says`` in our words, ``basis`` whether it is a sentence of the paper, or
    our reading of its theorems and settings."""

    says: str
    basis: Literal["text", "reading"] = "text"


class Ratio(_Claim):
    """Regret of ``line`` over that of the line without privacy; ``half`` is half a unit of the last printed digit."""

    kind: Literal["ratio"]
    line: Reference
    reported: Number
    half: Number


class Less(_Claim):
    """The first of each pair has the smaller regret, at the horizon or at ``at``; ``rising`` is a chain of pairs."""

    kind: Literal["less"]
    pairs: tuple[tuple[Reference, Reference], ...] = ()
    rising: tuple[Reference, ...] = ()
    at: Annotated[int, Field(gt=0)] | None = None


class Straight(_Claim):
    """Regret is a straight line in V: R^2 ``reported``, ``at_least`` wanted."""

    kind: Literal["straight"]
    reported: Number
    at_least: Number


class Threshold(_Claim):
    """The line with the smallest V has the smallest regret."""

    kind: Literal["threshold"]


class Crossing(_Claim):
    """``line`` has less regret than ``other`` at most times between ``after`` and ``before``, and more at the end."""

    kind: Literal["crossing"]
    line: Reference
    other: Reference
    after: int
    before: int


class Gap(_Claim):
    """The regret of ``line`` above ``other`` does not grow after the first releases of ``line``."""

    kind: Literal["gap"]
    line: Reference
    other: Reference


class Spread(_Claim):
    """Worst minus best run at the horizon: below ``below`` for every line, or at least ``reaches``."""

    kind: Literal["spread"]
    lines: tuple[Reference, ...]
    below: Number | None = None
    reaches: Number | None = None


class Growth(_Claim):
    """In the limit regret grows no faster than t^``at_most``; only the exponent so far can be measured."""

    kind: Literal["growth"]
    line: Reference
    at_most: Number


class Unchecked(_Claim):
    """Nobody checked it, and why."""

    kind: Literal["unchecked"]
    why: str


Claim = Annotated[
    Ratio | Less | Straight | Threshold | Crossing | Gap | Spread | Growth | Unchecked, Field(discriminator="kind")
]


class Figure(Frozen):
    """One figure: ``presets`` draw its panels; ``page`` leads elsewhere where there is nothing to draw."""

    name: str
    title: str
    shows: str
    presets: tuple[str, ...] = ()
    caveat: str = ""
    page: str = ""
    claims: tuple[Claim, ...] = ()


class Paper(Frozen):
    """One paper and its figures."""

    place: int
    name: str = ""
    short: str
    authors: str
    year: int
    title: str
    where: str
    link: str = ""
    about: str
    figures: Annotated[tuple[Figure, ...], Field(min_length=1)]


@cache
def papers() -> tuple[Paper, ...]:
    """Every paper, in the order of ``place``.

    Raises
    ------
    InvalidInput
        When a file says something that is not allowed.
    """
    found = []
    for path in sorted(FOLDER.glob("*.toml")):
        content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        found.append(validated(Paper, {**content, "name": path.stem}, (path.name,)))
    return tuple(sorted(found, key=lambda paper: paper.place))


def figures() -> dict[str, Figure]:
    """Every figure by its name."""
    return {figure.name: figure for paper in papers() for figure in paper.figures}


def paper_of(figure: str) -> Paper:
    """The paper that a figure belongs to."""
    return next(paper for paper in papers() if any(each.name == figure for each in paper.figures))


def reproducible() -> list[str]:
    """Every preset that draws a figure or a panel of one, in the order of the papers."""
    return list(dict.fromkeys(preset for figure in figures().values() for preset in figure.presets))


def presets_of(names: list[str]) -> list[str]:
    """The presets that are meant by names of figures and of presets; all of them without names.

    Raises
    ------
    InvalidInput
        When a name is neither; the message lists what is allowed.
    """
    known = reproducible()
    drawn = {name: list(figure.presets) for name, figure in figures().items() if figure.presets}
    meant: list[str] = []
    problems = []
    for name in names:
        if name in drawn:
            meant += drawn[name]
        elif name in known:
            meant.append(name)
        else:
            allowed = list(dict.fromkeys([*drawn, *known]))
            near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.6)
            hint = f"did you mean {near[0]}? " if near else ""
            if name in preset_names():
                hint = "is a preset, but no figure of a paper; "
            problems.append(Problem("name", name, f"{hint}allowed: {', '.join(allowed)}"))
    if problems:
        raise InvalidInput(problems)
    return list(dict.fromkeys(meant)) if names else known
