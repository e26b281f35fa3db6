"""What is wrong, could be sharper or is left open in the papers behind this project: ``python -m bandit_core errata``.

Their words stand in the papers' files. An error comes with a check that puts one question to both versions and can
fail; misprints are there by inspection. What turned out to be no error stays in the list as withdrawn.
"""

from functools import cache

from bandit_core.literature.erratum import KINDS, Check, Erratum, Kind, Outcome
from bandit_core.literature.papers import papers
from bandit_core.spec.errors import InputError, Issue

__all__ = ["KINDS", "Check", "Erratum", "Kind", "Outcome", "errata", "erratum_of"]


@cache
def errata() -> tuple[Erratum, ...]:
    """Every erratum, by paper in the order of their years."""
    by_year = sorted(papers(), key=lambda paper: paper.year)
    return tuple(each.model_copy(update={"paper": paper.cited}) for paper in by_year for each in paper.errata)


def erratum_of(name: str) -> Erratum:
    """The erratum of that name.

    Raises
    ------
    InputError
        When there is none.
    """
    by_name = {erratum.name: erratum for erratum in errata()}
    if name not in by_name:
        raise InputError([Issue("name", name, f"no such erratum; allowed: {', '.join(by_name)}")])
    return by_name[name]
