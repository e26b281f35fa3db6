"""What the command ``price`` asks by its options, and the file that the answer goes to."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bandit_core import paths
from bandit_core.export import frames
from bandit_core.export.command_options import PRICE_NUMBERS, share
from bandit_core.spec import notation
from bandit_core.spec.errors import InputError, Issue
from bandit_core.studies.business_case import read_lifts
from bandit_core.studies.price import Price, PriceQuestion, price_question, read_epsilons


def question(options: argparse.Namespace) -> PriceQuestion:
    """What the options ask.

    Raises
    ------
    InputError
        With everything that is wrong.
    """
    numbers: dict[str, Any] = {name: notation.read_number(getattr(options, name)) for name in PRICE_NUMBERS}
    numbers["epsilon"] = read_epsilons(options.epsilon)
    if options.baseline is not None:
        rate = share("baseline", options.baseline)
        numbers |= {"baseline": rate, "lifts": read_lifts(options.lifts) if options.lifts else []}
    for name in ("limits", "purchase"):
        if (text := getattr(options, name)) is not None:
            pair = tuple(notation.read_number(part) for part in text.split(","))
            if len(pair) != 2 or any(isinstance(number, str) for number in pair):
                raise InputError([Issue(name, text, "two numbers with a comma between them, such as 0,50")])
            numbers[name] = pair
    return price_question(options.file, first=options.first, **numbers)


def write(found: Price, out: str | None) -> None:
    """The page to print, or the table.

    Raises
    ------
    InputError
        Where the file cannot be written.
    """

    def page(path: str) -> None:
        html = paths.app_module("ui.your_numbers.one_page").one_page(found)
        Path(path).write_text(html, encoding="utf-8")

    frames.write(found.table, out, picture=page)
