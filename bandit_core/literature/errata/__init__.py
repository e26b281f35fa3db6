"""What is wrong, could be sharper or is left open in the papers behind this project: ``python -m bandit_core errata``.

An error comes with a check that puts one question to both versions and can fail; misprints are there by inspection.
What turned out to be no error stays in the list as withdrawn.
"""

from __future__ import annotations

from functools import cache

from bandit_core.literature.errata.erratum import KINDS, Check, Erratum, Kind, Outcome
from bandit_core.spec.errors import InputError, Issue

__all__ = ["KINDS", "Check", "Erratum", "Kind", "Outcome", "errata", "erratum_of"]


@cache
def errata() -> tuple[Erratum, ...]:
    """Every erratum, by paper in the order of their years."""
    from bandit_core.literature.errata import azize, basu, han, ren, tao, tossou

    return (*tossou.ERRATA, *basu.ERRATA, *ren.ERRATA, *han.ERRATA, *tao.ERRATA, *azize.ERRATA)


def erratum_of(name: str) -> Erratum:
    """The erratum of that name.

    Raises
    ------
    InputError
        When there is none.
    """
    for erratum in errata():
        if erratum.name == name:
            return erratum
    names = ", ".join(erratum.name for erratum in errata())
    raise InputError([Issue("name", name, f"no such erratum; allowed: {names}")])
