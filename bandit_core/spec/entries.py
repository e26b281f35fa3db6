"""Texts of many things of one kind, in a TOML file beside their module: a table for each, with its fields.

``like`` names another entry whose fields it has where it says nothing else. ``$NAME`` stands for a text of the table
``shared``, or for one that depends on the case. Line breaks count as spaces.
"""

import tomllib
from functools import cache
from pathlib import Path
from string import Template
from typing import Any


@cache
def entries(module: str) -> dict[str, dict[str, Any]]:
    """The tables of the file beside a module (its ``__file__``), as they stand there; ``shared`` is among them."""
    return tomllib.loads(Path(module).with_suffix(".toml").read_text(encoding="utf-8"))


def fields_of(module: str, key: str, **values: Any) -> dict[str, Any]:
    """The fields of an entry; ``values`` are those of its $names."""
    every = entries(module)
    entry = dict(every[key])
    while "like" in entry:
        entry = every[entry.pop("like")] | entry
    names = every["shared"] | values
    texts = {name: Template(text).substitute(names) for name, text in entry.items() if isinstance(text, str)}
    return {**entry, **{name: " ".join(text.split()) for name, text in texts.items()}}


def all_fields(module: str) -> dict[str, dict[str, Any]]:
    """The fields of every entry, in the order of the file."""
    return {key: fields_of(module, key) for key in entries(module) if key != "shared"}
