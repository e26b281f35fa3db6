"""What a package finds by itself: one thing a file, under a name that all of its files share.

Texts of many things of one kind, in a TOML file beside their module: a table for each, with its fields.

``like`` names another entry whose fields it has where it says nothing else. ``$NAME`` stands for a text of the table
``shared``, or for one that depends on the case. Line breaks count as spaces.
"""

import ast
import importlib
import pkgutil
import tomllib
from functools import cache
from pathlib import Path
from string import Template
from typing import Any


def described(things: Any, module: Any) -> list[Any]:
    """The things of a module, each with what the module's docstring says of it, if it wants to know that.

    The docstring is read from the file where Python has dropped it (``-OO``).
    """
    words = module.__doc__ or ast.get_docstring(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))) or ""
    return [each.described(words) if hasattr(each, "described") else each for each in things]


def found(package: str, name: str) -> list[Any]:
    """``name`` (or each of ``nameS``, its plural) of every module of ``package`` that has it, in the order of files."""
    several = f"{name[:-1]}IES" if name.endswith("Y") else f"{name}S"
    things: list[Any] = []
    for each in pkgutil.iter_modules(importlib.import_module(package).__path__):
        module = importlib.import_module(f"{package}.{each.name}")
        contents = vars(module)
        things += described(contents.get(several, [contents[name]] if name in contents else []), module)
    return things


def distributions(package: str, first: tuple[Any, ...]) -> dict[str, Any]:
    """The distributions of ``package`` by kind: ``first`` those with a fixed place, then all others.

    A distribution without a ``code`` of its own in the kernels' tables gets the next one that is free.
    """
    every = [*first, *(each for each in found(package, "DISTRIBUTION") if each not in first)]
    code = max(each.code for each in first)
    for each in every[len(first) :]:
        code += 1
        each.code = code
    return {each.model_fields["kind"].default: each for each in every}


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
