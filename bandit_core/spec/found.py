"""What a package finds by itself: one thing a file, under a name that all of its files share."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any


def found(package: str, name: str) -> list[Any]:
    """``name`` (or each of ``nameS``, its plural) of every module of ``package`` that has it, in the order of files."""
    several = f"{name[:-1]}IES" if name.endswith("Y") else f"{name}S"
    things: list[Any] = []
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        contents = vars(importlib.import_module(f"{package}.{module.name}"))
        things += contents.get(several, [contents[name]] if name in contents else [])
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
