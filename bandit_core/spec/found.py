"""What a package finds by itself: one thing a file, under a name that all of its files share."""

import ast
import importlib
import pkgutil
from pathlib import Path
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
